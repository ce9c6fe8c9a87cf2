// Mount points: nothing takes their place, and no plan says that something would.
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_file {
extern const StateType& kState;
}
namespace states::linux_dir {
extern const StateType& kState;
}
namespace states::linux_apt_repo {
extern const StateType& kState;
}
namespace states::common_timezone {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using tests::StateHarness;

const bool kNotRoot = ::geteuid() != 0;

// A file with a mount of its own, as container runtimes make them of /etc/hosts. "" or what went wrong.
std::string mount_file(StateHarness& machine, const std::string& path, const std::string& content) {
  machine.write("/outside" + path, content);
  machine.write(path, "below the mount");
  const std::string from = machine.root() + "/outside" + path;
  return ::mount(from.c_str(), (machine.root() + path).c_str(), nullptr, MS_BIND, nullptr) == 0 ? ""
                                                                                                : "no mount";
}

std::string is_refused(StateHarness& machine, const states::StateType& type, const std::string& json,
                       const std::string& path) {
  const states::Plan plan = machine.plan(type, json);
  if (plan.verdict != Verdict::fail) return json + " is not refused by its plan: " + plan.message;
  if (!plan.message.starts_with(path + " is a mount point")) return json + ": " + plan.message;
  return plan.message.ends_with("umount " + path) ? "" : json + " gives no advice: " + plan.message;
}

}  // namespace

TEST_CASE("a file that is a mount point is refused by the plan of whoever would replace or remove it" *
          doctest::skip(kNotRoot)) {
  const std::string wrong = tests::in_own_mounts([]() -> std::string {
    StateHarness machine;
    machine.host().os.family = base::OsRelease::Family::debian;
    machine.write("/usr/share/zoneinfo/Etc/UTC", "TZif UTC");
    for (const char* path : {"/etc/hosts", "/etc/apt/sources.list.d/web.list", "/etc/localtime"})
      if (std::string why = mount_file(machine, path, "old\n"); !why.empty()) return why;
    const std::pair<const states::StateType*, std::pair<const char*, const char*>> rows[] = {
        {&states::linux_file::kState, {R"({"path": "/etc/hosts", "content": "new\n"})", "/etc/hosts"}},
        {&states::linux_file::kState, {R"({"path": "/etc/hosts", "absent": true})", "/etc/hosts"}},
        {&states::linux_apt_repo::kState,
         {R"({"name": "web", "content": "deb x y"})", "/etc/apt/sources.list.d/web.list"}},
        // The old form cannot go.
        {&states::linux_apt_repo::kState,
         {R"({"name": "web", "content": "Types: deb"})", "/etc/apt/sources.list.d/web.list"}},
        {&states::common_timezone::kState, {R"({"name": "Etc/UTC"})", "/etc/localtime"}}};
    for (const auto& [type, row] : rows)
      if (std::string why = is_refused(machine, *type, row.first, row.second); !why.empty()) return why;
    if (machine.read("/etc/hosts") != "old\n") return "changed";
    // What can be done is done: no content, and attributes only.
    if (machine.plan(states::linux_file::kState, R"({"path": "/etc/hosts", "content": "old\n"})").verdict !=
        Verdict::kept)
      return "not kept";
    const auto outcome =
        machine.converge(states::linux_file::kState, R"({"path": "/etc/hosts", "mode": "0600"})");
    if (!outcome.ok || machine.mode("/outside/etc/hosts") != 0600) return "mode: " + outcome.message;
    return {};
  });
  CHECK(wrong == "");
}

TEST_CASE("a file that becomes a mount point after the plan is not changed, and the error says why" *
          doctest::skip(kNotRoot)) {
  const std::string wrong = tests::in_own_mounts([]() -> std::string {
    StateHarness machine;
    machine.write("/etc/hosts", "old");
    machine.write("/outside", "old");
    for (const char* json :
         {R"({"path": "/etc/hosts", "content": "new"})", R"({"path": "/etc/hosts", "absent": true})"}) {
      const auto plan = machine.plan(states::linux_file::kState, json);
      const std::string path = machine.root() + "/etc/hosts";
      // Mounted upon itself it is the same file.
      if (::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0) return "no mount";
      const auto applied = machine.apply(states::linux_file::kState, json, plan);
      ::umount(path.c_str());
      if (applied.ok()) return "applied";
      if (applied.comment.find("/etc/hosts is a mount point") == std::string::npos) return applied.comment;
    }
    return {};
  });
  CHECK(wrong == "");
}

TEST_CASE(
    "linux.dir neither removes a folder with a file that is a mount point, nor changes what is mounted" *
    doctest::skip(kNotRoot)) {
  const std::string wrong = tests::in_own_mounts([]() -> std::string {
    StateHarness machine;
    machine.write("/d/first", "keep", 0600);
    if (std::string why = mount_file(machine, "/d/mounted", "outside"); !why.empty()) return why;
    const auto plan = machine.plan(states::linux_dir::kState, R"({"path": "/d", "absent": true})");
    if (plan.message != "Refusing to remove /d: /d/mounted is a mount point") return plan.message;
    const auto outcome =
        machine.converge(states::linux_dir::kState, R"({"path": "/d", "mode": "0750", "recursive": true})");
    if (!outcome.ok || machine.mode("/d/first") != 0640) return "recursive: " + outcome.message;
    if (machine.mode("/outside/d/mounted") != 0644) return "what is mounted was changed";
    return {};
  });
  CHECK(wrong == "");
}
