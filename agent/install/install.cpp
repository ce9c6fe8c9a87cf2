#include "agent/install/install.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/control/control_address.hpp"
#include "agent/control/pid_file.hpp"
#include "agent/install/files.hpp"
#include "agent/install/service.hpp"
#include "agent/updater/trust_file.hpp"
#include "base/files/file_read.hpp"
#include "base/files/private_folder.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "update/journal.hpp"

namespace agent::install {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestLauncher = 64UL * 1024 * 1024;

// They stand in a unit and in a shell script.
Result<void> check_path(std::string_view name, std::string_view path) {
  const bool plain = std::ranges::all_of(path, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '.' || c == '_' || c == '-';
  });
  if (plain && path.size() > 1 && path.front() == '/' && path.back() != '/') return {};
  return Error(ErrorCode::invalid, std::string(name) +
                                       " must be an absolute path of letters, digits, '.', '_', '-': '" +
                                       std::string(path) + "' is not");
}

// Whoever can write to the prefix is root at the next start. What is missing is made, in folders of root's.
Result<void> check_way(std::string_view name, const std::string& path) {
  const auto way = base::open_guarded_folder(path);
  if (way || way.error().code() == ErrorCode::not_found) return {};
  return way.error().with_context(name);
}

Result<Manifest> verified(const std::string& release) {
  auto manifest = read_manifest(release);
  if (!manifest) return std::move(manifest).error();
  const std::vector<std::string> problems = check_files(release, *manifest);
  if (!problems.empty())
    return Error(ErrorCode::invalid, "the release in " + release + " is damaged: " + problems.front());
  return manifest;
}

// "<version>-<sha8>": from the archive's hash, or of a release that has its place already.
Result<std::string> name_of(const InstallOptions& options, const Manifest& manifest) {
  if (base::is_sha256_hex(options.sha256))
    return update::Layout::folder_name(manifest.version, options.sha256);
  if (!options.sha256.empty())
    return Error(ErrorCode::invalid, "--sha256 must be the archive's SHA-256: 64 digits, 0-9 and a-f");
  const std::string name = options.release.substr(options.release.rfind('/') + 1);
  if (options.release == options.site.layout().version_folder(name)) return name;
  return Error(ErrorCode::invalid,
               "--sha256 is missing: the SHA-256 of the archive that this was unpacked from");
}

// The release is in versions/NAME, whole.
Result<void> place_release(const InstallOptions& options, const Manifest& manifest, const std::string& name) {
  const update::Layout layout = options.site.layout();
  if (options.release == layout.version_folder(name)) return {};
  const bool is_staged = options.release.starts_with(layout.staging() + "/");
  if (layout.is_complete(name)) {
    const auto there = verified(layout.version_folder(name));
    // It cannot be ours to repair: something may be running from it.
    if (!there)
      return there.error().with_context(
          "this version is installed already, but damaged; run 'opsagent uninstall' first");
    // A second one that was unpacked for nothing goes.
    return is_staged ? layout.adopt(options.release, name) : Result<void>();
  }
  if (is_staged) {
    if (auto synced = sync_release(options.release, manifest); !synced) return synced;
    return layout.adopt(options.release, name);
  }
  const std::string copy = layout.staging() + "/" + name + ".copy";
  if (auto removed = remove_tree(copy); !removed) return removed;
  if (auto copied = copy_release(options.release, manifest, copy); !copied) return copied;
  if (auto synced = sync_release(copy, manifest); !synced) return synced;
  return layout.adopt(copy, name);
}

Result<void> place_launcher(const Site& site, const std::string& version_folder) {
  const auto launcher = base::read_file(version_folder + "/bin/opsagent-launch", kLargestLauncher);
  if (!launcher) return launcher.error();
  auto put = put_file(site.layout().launcher(), *launcher, 0755);
  if (!put) return std::move(put).error();
  return {};
}

// Only where nothing is: somebody else's opsagent stays.
Result<void> place_command(const Site& site) {
  const std::string link = site.at(kCommandLink);
  if (is_there(link)) return {};
  if (auto made = make_folders(link.substr(0, link.rfind('/'))); !made) return made;
  return make_durable_link(link, site.program());
}

// Another version becomes current by hand: what an update has noted must not make the launcher go back.
Result<void> switch_by_hand(const Service& service, const Site& site, const std::string& name) {
  const update::Layout layout = site.layout();
  const auto current = layout.current();
  if (current && *current == name) return {};
  const std::string state = site.at(site.state_dir);
  auto record = update::read_journal(state);  // a damaged one has no say in anything
  if (record && *record && !update::is_closed((*record)->phase)) {
    if (auto stopped = service.stop(); !stopped) return stopped;  // it is the agent's while that runs
    record = update::read_journal(state);
  }
  if (record && *record) {
    update::Record& noted = **record;
    const bool was_open = !update::is_closed(noted.phase);
    if (was_open) {
      noted.phase = update::Phase::failed;
      noted.reason = "version " + name + " was installed by hand";
      noted.retryable = true;
    }
    const bool leads_back =
        (noted.phase == update::Phase::rolled_back || noted.phase == update::Phase::failed) &&
        noted.to == name;
    if (leads_back) noted.from.clear();
    if (was_open || leads_back)
      if (auto written = update::write_journal(state, noted); !written) return written;
  }
  return layout.switch_to(name);
}

// As an update does it that was confirmed. Without release keys there are no updates that it could be for.
Result<void> note_number(const Site& site, std::uint64_t number, const Say& say) {
  if (number == 0) return {};
  const auto noted = updater::raise_floor(site.at(site.state_dir), number);
  if (!noted && noted.error().code() != ErrorCode::not_found)
    say("it cannot be noted that this is release " + std::to_string(number) + ": " + noted.error().message());
  return {};
}

// Whether another version runs: of one that was there before, or of an install that was killed.
bool is_outdated(const Site& site, const std::string& name) {
  const auto pid = control::PidFile::holder(control::pid_path(site.state_dir));
  if (!pid) return false;
  const std::string program = link_target("/proc/" + std::to_string(*pid) + "/exe");
  return program.starts_with(site.prefix + "/") && program != site.layout().program(name);
}

Result<void> start(const Service& service, const Site& site, const std::string& name, bool unit_changed) {
  const bool again = unit_changed || is_outdated(site, name);
  auto started = again ? service.restart() : service.start();
  if (!started)
    return std::move(started).error().with_context(
        "installed, but it did not start; 'opsagent doctor' and the log say why");
  return {};
}

}  // namespace

std::optional<std::string> own_release() {
  std::string program = link_target("/proc/self/exe");
  for (int up = 0; up < 2; ++up) {
    const std::size_t slash = program.rfind('/');
    if (slash == std::string::npos) return std::nullopt;
    program.resize(slash);
  }
  if (!is_there(program + "/" + kManifestName)) return std::nullopt;
  return program;
}

Result<base::UniqueFd> lock_prefix(const Site& site) {
  // The agent takes it for moments, when it clears away what an update has left.
  constexpr std::chrono::seconds kPatience{2};
  return site.layout().lock(kPatience);
}

Result<std::string> install(const InstallOptions& options, const Say& say) {
  const Site& site = options.site;
  if (auto fine = check_path("the prefix", site.prefix); !fine) return std::move(fine).error();
  if (auto fine = check_path("the state folder", site.state_dir); !fine) return std::move(fine).error();
  if (auto fine = check_way("the prefix", site.layout().prefix()); !fine) return std::move(fine).error();
  if (auto fine = check_way("the state folder", site.at(site.state_dir)); !fine)
    return std::move(fine).error();
  if (auto fine = check_stays_inside(site); !fine) return std::move(fine).error();
  const Service service(site, init_of(site));
  if (const std::string why = service.obstacle(); !why.empty()) return Error(ErrorCode::exists, why);
  say("checking the files of the release");
  auto manifest = verified(options.release);
  if (!manifest) return std::move(manifest).error();
  auto name = name_of(options, *manifest);
  if (!name) return name;

  const update::Layout layout = site.layout();
  bool unit_changed = false;
  Result<base::UniqueFd> lock = base::UniqueFd();
  struct Step {
    std::string what;
    std::function<Result<void>()> take;
  };
  const std::vector<Step> steps{
      {"making " + site.prefix,
       [&]() -> Result<void> {
         for (const char* below : {"/versions", "/staging"})
           if (auto made = make_folders(layout.prefix() + below); !made) return made;
         lock = lock_prefix(site);
         return lock ? Result<void>() : Result<void>(lock.error());
       }},
      {"placing " + *name, [&] { return place_release(options, *manifest, *name); }},
      {"placing the launcher", [&] { return place_launcher(site, layout.version_folder(*name)); }},
      {"making it the current version", [&] { return switch_by_hand(service, site, *name); }},
      {"noting which releases are older", [&] { return note_number(site, options.number, say); }},
      {"placing the service",
       [&]() -> Result<void> {
         auto put = service.put(layout.version_folder(*name) + "/share");
         if (!put) return std::move(put).error();
         unit_changed = *put;
         return {};
       }},
      {"enabling the service", [&] { return service.enable(); }},
      {std::string("placing ") + kCommandLink, [&] { return place_command(site); }},
      {options.start ? "starting the service" : "done",
       [&] {
         return options.start && site.is_live() ? start(service, site, *name, unit_changed) : Result<void>();
       }},
  };
  for (const Step& step : steps) {
    say(step.what);
    if (auto taken = step.take(); !taken) return std::move(taken).error();
  }
  return name;
}

}  // namespace agent::install
