#include "states/linux_user/user_home.hpp"

#include <algorithm>
#include <array>

#include "states/files/missing_folders.hpp"
#include "states/files/ownership.hpp"

namespace states::linux_user {

base::Result<HomePlace> look_at_home(const std::string& home, Context& context) {
  HomePlace place;
  auto found = context.tree.look(home);
  if (!found) return std::move(found).error();
  if (*found) {
    place.exists = true;
    place.seen = base::Seen(**found);
    place.is_folder = S_ISDIR((*found)->st_mode);
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

}  // namespace states::linux_user
