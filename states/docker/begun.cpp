#include "states/docker/begun.hpp"

#include <array>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/files/private_folder.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"

namespace states::docker {

namespace {

constexpr std::size_t kLargestNote = 1024;
constexpr std::array<std::string_view, 4> kPhases{"none", "begun", "removal", "done"};

std::string key_of(std::string_view what, const Reference& reference, List containers) {
  std::string key = std::string(what) + "\n" + reference.text();
  for (const std::string_view name : containers)
    key.append("\n").append(name);
  return base::sha256_hex(key).substr(0, 32);
}

}  // namespace

Begun::Begun(const Context& context, std::string_view what, const Reference& reference, List containers)
    : folder_(context.host.state_dir + "/docker-begun"),
      path_(folder_ + "/" + key_of(what, reference, containers)),
      is_needed_(!containers.empty()) {}

Begun::Note Begun::read() const {
  const auto text = base::read_file(path_, kLargestNote);
  if (!text) return {};
  const auto words = base::split_words(*text);
  for (std::size_t i = 1; i < kPhases.size(); ++i)
    if (!words.empty() && words[0] == kPhases[i])
      return {.phase = static_cast<Phase>(i), .image = words.size() > 1 ? std::string(words[1]) : ""};
  return {};
}

base::Result<void> Begun::write(Phase phase, std::string_view image) const {
  if (!is_needed_) return {};
  if (auto made = base::make_private_folder(folder_); !made) return std::move(made).error();
  return base::write_durable_file(
      path_, std::string(kPhases[static_cast<std::size_t>(phase)]) + " " + std::string(image) + "\n");
}

}  // namespace states::docker
