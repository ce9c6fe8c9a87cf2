#include "states/linux_user/user_home.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/files/folder_walk.hpp"
#include "base/files/private_folder.hpp"
#include "base/text.hpp"
#include "states/files/missing_folders.hpp"
#include "states/files/ownership.hpp"

namespace states::linux_user {

namespace {

constexpr std::string_view kSkeleton = "/etc/skel";
constexpr std::size_t kLargestFirstFile = 16 * 1024 * 1024;
constexpr std::string_view kMade = "made";
constexpr std::string_view kGiven = "given";

std::string note_folder(const Context& context) {
  return context.host.state_dir + "/new-homes";
}

std::string note_path(std::string_view user, const Context& context) {
  return note_folder(context) + "/" + std::string(user);
}

// A thing of /etc/skel that the home has not.
struct FirstFile {
  std::string from;
  std::string to;
  struct stat info {};
  base::Seen seen;
};

base::Result<bool> is_cut_short(const FirstFile& file, const struct stat& found, Context& context) {
  if (!S_ISREG(file.info.st_mode) || !S_ISREG(found.st_mode) || found.st_size >= file.info.st_size)
    return false;
  auto whole = context.tree.read(file.from, kLargestFirstFile);
  if (!whole) return std::move(whole).error();
  return context.tree.has_content(
      file.to, std::string_view(*whole).substr(0, static_cast<std::size_t>(found.st_size)));
}

// Folders before what is in them.
base::Result<std::vector<FirstFile>> first_files(const std::string& home, Context& context) {
  std::vector<FirstFile> missing;
  const auto folder = context.tree.folder(kSkeleton);
  if (!folder) return missing;
  const base::UniqueFd skeleton(::openat(*folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!skeleton) return base::os_error(errno, std::string(kSkeleton));
  const auto visit = [&](const base::WalkEntry& entry) -> base::Result<void> {
    FirstFile file{.from = entry.path(), .info = entry.info};
    if (!S_ISREG(file.info.st_mode) && !S_ISDIR(file.info.st_mode) && !S_ISLNK(file.info.st_mode)) return {};
    file.to = home + file.from.substr(kSkeleton.size());
    const auto found = context.tree.look(file.to);
    if (!found) return found.error();
    if (*found) {
      const auto is_cut = is_cut_short(file, **found, context);
      if (!is_cut) return is_cut.error();
      if (!*is_cut) return {};
    }
    file.seen = base::Seen(*found);
    missing.push_back(std::move(file));
    return {};
  };
  if (auto walked = base::walk_below(skeleton.get(), kSkeleton, context.interrupt, visit); !walked)
    return std::move(walked).error();
  return missing;
}

base::Result<void> put(const FirstFile& file, const base::User& user, ApplyContext& context) {
  const base::Attributes attributes{.uid = user.uid, .gid = user.gid, .mode = file.info.st_mode & 07777};
  if (S_ISDIR(file.info.st_mode)) return context.files.make_folder(file.to, attributes);
  if (S_ISLNK(file.info.st_mode)) {
    const auto leads_to = context.tree.read_link(file.from);
    if (!leads_to) return leads_to.error();
    return context.files.make_link(file.to, file.seen, *leads_to, {.uid = user.uid, .gid = user.gid});
  }
  const auto content = context.tree.read(file.from, kLargestFirstFile);
  if (!content) return content.error();
  return context.files.write_file(file.to, file.seen, *content, attributes);
}

}  // namespace

base::Result<HomePlace> look_at_home(const std::string& home, Context& context) {
  HomePlace place;
  auto found = context.tree.look(home);
  if (!found) return std::move(found).error();
  if (*found) {
    place.exists = true;
    place.seen = base::Seen(**found);
    place.is_folder = S_ISDIR((*found)->st_mode);
    place.mode = (*found)->st_mode & 07777;
    place.owner = files::owner_text((*found)->st_uid, (*found)->st_gid, context);
    return place;
  }
  auto missing = files::missing_folders(home, context);
  if (!missing) return std::move(missing).error();
  place.missing_parents = std::move(*missing);
  return place;
}

bool is_system_folder(std::string_view path) {
  static constexpr std::array<std::string_view, 14> kShared{
      "/",    "/home", "/media", "/mnt",     "/opt",     "/root",    "/run",
      "/srv", "/tmp",  "/var",   "/var/lib", "/var/log", "/var/run", "/var/tmp"};
  static constexpr std::array<std::string_view, 11> kSystem{
      "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/sbin", "/sys", "/usr"};
  if (std::ranges::find(kShared, path) != kShared.end()) return true;
  const std::string_view top = path.substr(0, path.find('/', 1));
  return std::ranges::find(kSystem, top) != kSystem.end();
}

base::Result<void> make_parents(const std::vector<std::string>& folders, ApplyContext& context) {
  for (const std::string& folder : folders)
    if (auto made = context.files.make_folder(folder, {.uid = 0, .gid = 0, .mode = 0755}); !made) return made;
  return {};
}

std::optional<NewHome> noted_home(std::string_view user, const Context& context) {
  constexpr std::size_t kLongest = 8192;
  const auto text = base::read_file(note_path(user, context), kLongest);
  if (!text) return std::nullopt;
  const auto lines = base::split(*text, '\n');
  const bool is_whole = lines.size() == 3 && (lines[0] == kMade || lines[0] == kGiven);
  if (!is_whole || !base::clean_path(lines[1])) return std::nullopt;
  return NewHome{.is_made = lines[0] == kMade, .path = std::string(lines[1])};
}

base::Result<void> note_home(std::string_view user, const NewHome& home, ApplyContext& context) {
  constexpr const char* kContext = "noting which home is to be made";
  if (auto made = base::make_private_folder(note_folder(context)); !made)
    return std::move(made).error().with_context(kContext);
  const std::string text = std::string(home.is_made ? kMade : kGiven) + "\n" + home.path + "\n";
  if (auto written = base::write_durable_file(note_path(user, context), text); !written)
    return std::move(written).error().with_context(kContext);
  return {};
}

base::Result<void> forget_home(std::string_view user, ApplyContext& context) {
  return base::remove_lasting_file(note_path(user, context));
}

base::Result<std::vector<std::string>> missing_first_files(const std::string& home, Context& context) {
  auto missing = first_files(home, context);
  if (!missing) return std::move(missing).error();
  std::vector<std::string> names;
  for (const FirstFile& file : *missing)
    names.push_back(file.to.substr(home.size() + 1));
  return names;
}

base::Result<void> copy_first_files(const std::string& home, const base::User& user, ApplyContext& context) {
  auto missing = first_files(home, context);
  if (!missing) return std::move(missing).error();
  for (const FirstFile& file : *missing)
    if (auto copied = put(file, user, context); !copied) return copied;
  return {};
}

}  // namespace states::linux_user
