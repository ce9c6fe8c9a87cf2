#include "states/block_devices/md_array.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "states/block_devices/block_device.hpp"

namespace states::block_devices {

namespace {

namespace fs = std::filesystem;

// One line of /sys; "" when it is not there, or cannot be read at this moment.
std::string line_of(const std::string& path) {
  constexpr std::size_t kLargest = 64 * 1024;
  const auto text = base::read_file(path, kLargest);
  return text ? std::string(base::trim(*text)) : std::string();
}

// All members say the same.
std::string uuid_in(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder + "/slaves", ignored)) {
    std::string name = entry.path().filename().string();
    std::ranges::replace(name, '!', '/');
    const std::string path = "/dev/" + name;
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0 || !S_ISBLK(found.st_mode)) continue;
    if (const auto content = read_content({path, found.st_rdev}); content && !content->uuid.empty())
      return content->uuid;
  }
  return {};
}

}  // namespace

base::Result<std::optional<MdArray>> read_array(dev_t number) {
  const std::string folder =
      "/sys/dev/block/" + std::to_string(major(number)) + ":" + std::to_string(minor(number));
  if (::access((folder + "/md").c_str(), F_OK) != 0) return std::optional<MdArray>();
  MdArray array;
  array.level = line_of(folder + "/md/level");
  const std::string state = line_of(folder + "/md/array_state");
  const std::string metadata = line_of(folder + "/md/metadata_version");
  // A container is never more than that: what is made in it runs.
  const bool is_container = metadata.starts_with("external:") && !metadata.starts_with("external:/") &&
                            metadata.find(":-") == metadata.npos;
  if (is_container) array.level = "container";
  if (state.empty() || state == "clear")
    array.activity = MdArray::Activity::none;
  else if (state == "inactive" && !is_container)
    array.activity = MdArray::Activity::inactive;
  else
    array.activity = MdArray::Activity::active;
  array.degraded = base::parse_integer(line_of(folder + "/md/degraded")).value_or(0);
  if (array.activity != MdArray::Activity::none) array.uuid = uuid_in(folder);
  return std::optional(std::move(array));
}

}  // namespace states::block_devices
