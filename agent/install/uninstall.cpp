#include "agent/install/uninstall.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "agent/control/control_address.hpp"
#include "agent/control/pid_file.hpp"
#include "agent/install/files.hpp"
#include "agent/install/service.hpp"
#include "agent/install/version_removal.hpp"
#include "base/files/file_read.hpp"

namespace agent::install {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// What the agent keeps in its state folder (docs/formats.md). In a folder that the configuration names
// instead of the usual one only these are removed: a wrong state_dir must not cost somebody their files.
constexpr std::array<std::string_view, 41> kStateNames{"apply.cursor",
                                                       "apply.journal",
                                                       "apply.right",
                                                       "apt-lists-refreshed",
                                                       "commands",
                                                       "control.sock",
                                                       "docker-config",
                                                       "downloads",
                                                       "history",
                                                       "identity.pem",
                                                       "identity_source",
                                                       "instance_id",
                                                       "join-token",
                                                       "join_token_id",
                                                       "launch.lock",
                                                       "launch.sock",
                                                       "lock",
                                                       "migrated",
                                                       "modules",
                                                       "must-finish.lock",
                                                       "new-homes",
                                                       "opsagent.pid",
                                                       "pending.key",
                                                       "recipe",
                                                       "remote-files",
                                                       "remote-packages",
                                                       "requirements",
                                                       "retired_authorities",
                                                       "run.cursor",
                                                       "run.journal",
                                                       "run.right",
                                                       "settings",
                                                       "spool",
                                                       "supervisord",
                                                       "tmp",
                                                       "token",
                                                       "update",
                                                       "v1_backends",
                                                       "validate",
                                                       "waits",
                                                       "watch"};
// Who the machine is, and whose releases it trusts.
constexpr std::array<std::string_view, 9> kKeptByReinstall{"identity.pem", "identity_source", "instance_id",
                                                           "migrated",     "join-token",      "join_token_id",
                                                           "pending.key",  "token",           "update"};
constexpr std::array<std::string_view, 2> kKeptOfUpdates{"root.json", "trusted"};

constexpr std::size_t kLargestMarked = 1024 * 1024;

bool is_among(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Files that are being written have this behind their names (base/files/durable_file.hpp).
std::string_view without_suffix(std::string_view name) {
  constexpr std::string_view kScratch = ".new";
  return name.ends_with(kScratch) ? name.substr(0, name.size() - kScratch.size()) : name;
}

// One run of `uninstall`.
class Removal {
 public:
  Removal(const UninstallOptions& options, const Say& say)
      : options_(options), site_(options.site), say_(say), service_(site_, init_of(site_)) {}

  Result<Kept> run() {
    // The other way of installing uses the same state folder and configuration.
    is_packaged_ = is_there(site_.at("/usr/bin/opsagent"));
    for (const Place& place : places()) {
      if (place.is_kept_with_state && (options_.keep_state || is_packaged_)) {
        note_kept_state(place);
        continue;
      }
      if (auto removed = remove(place); !removed) return std::move(removed).error();
    }
    return std::move(kept_);
  }

 private:
  void note_kept_state(const Place& place) {
    const std::string path = path_of(place, site_);
    if (place.kind != Kind::empty_state && is_there(site_.at(path)))
      kept_.push_back(path + (options_.keep_state ? ": as --keep-state asks" : ": the package uses it, too"));
  }

  Result<void> remove(const Place& place) {
    const std::string path = path_of(place, site_);
    const std::string real = site_.at(path);
    const bool is_said_there = place.kind == Kind::service || place.kind == Kind::marked_file;
    if (!is_said_there && is_there(real)) say_("removing " + path);
    switch (place.kind) {
      case Kind::service:
        return remove_service();
      case Kind::file:
        return remove_file(path);
      case Kind::marked_file:
        return remove_marked(path);
      case Kind::log:
        return remove_logs(path);
      case Kind::link:
        return remove_link(path);
      case Kind::scratch:
        return remove_tree(real);
      case Kind::state:
        return remove_state(path);
      case Kind::versions:
        return remove_versions(site_, kept_);
      case Kind::folder:
        return remove_folder(path);
      case Kind::empty_state: {
        auto removed = remove_empty_folder(real);
        return removed ? Result<void>() : Result<void>(std::move(removed).error());
      }
    }
    return {};
  }

  Result<void> remove_service() {
    say_("stopping the service");
    if (auto stopped = service_.stop(); !stopped) return stopped;
    if (auto over = check_daemon_is_gone(); !over) return over;
    say_("removing the service");
    auto kept = service_.remove();
    if (!kept) return std::move(kept).error();
    std::ranges::move(*kept, std::back_inserter(kept_));
    return {};
  }

  Result<void> check_daemon_is_gone() const {
    const auto pid = control::PidFile::holder(control::pid_path(site_.at(site_.state_dir)));
    if (!pid || is_packaged_) return {};
    return Error(ErrorCode::exists, "an agent still runs as process " + std::to_string(*pid) +
                                        ", and not as our service: end it first (opsagent stop)");
  }

  Result<void> remove_file(const std::string& path) {
    if (is_folder(site_.at(path))) {
      kept_.push_back(path + ": it is a folder");
      return {};
    }
    if (auto removed = remove_name(site_.at(path)); !removed) return removed;
    return remove_name(site_.at(path) + ".new");
  }

  // What somebody wrote by hand is theirs.
  Result<void> remove_marked(const std::string& path) {
    const std::string real = site_.at(path);
    if (is_there(real)) {
      const auto text = base::read_file(real, kLargestMarked);
      if (!link_target(real).empty() || !text || !text->starts_with(kBootstrapMark)) {
        kept_.push_back(path + ": the bootstrap script did not write it");
        return remove_name(real + ".new");
      }
    }
    say_("removing " + path);
    return remove_file(path);
  }

  // "opsagent.log", and "opsagent.1.log" as the log calls its older ones.
  Result<void> remove_logs(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = site_.at(path.substr(0, slash));
    const std::string name = path.substr(slash + 1);
    const std::string stem = name.substr(0, name.rfind('.')) + ".";
    for (const std::string& each : names_in(folder)) {
      const bool is_older =
          each.starts_with(stem) && each.ends_with(".log") && each.size() > name.size() &&
          each.substr(stem.size(), each.size() - name.size() - 1).find_first_not_of("0123456789") ==
              std::string::npos;
      if (each != name && !is_older) continue;
      if (auto removed = remove_name(folder + "/" + each); !removed) return removed;
    }
    return {};
  }

  Result<void> remove_link(const std::string& path) {
    for (const std::string& each : {path, path + ".new"}) {
      if (!is_there(site_.at(each))) continue;
      if (link_target(site_.at(each)) == site_.program()) {
        if (auto removed = remove_name(site_.at(each)); !removed) return removed;
      } else {
        kept_.push_back(each + ": it is not a link to " + site_.program());
      }
    }
    return {};
  }

  Result<void> remove_state(const std::string& path) {
    const std::string real = site_.at(path);
    if (!is_there(real)) return {};
    if (!is_folder(real)) {
      kept_.push_back(path + ": it is not a folder");
      return {};
    }
    if (path == kStateFolder) return remove_tree(real);
    for (const std::string& name : names_in(real))
      if (is_among(kStateNames, without_suffix(name)))
        if (auto removed = remove_tree(real + "/" + name); !removed) return removed;
    return remove_folder(path);
  }

  Result<void> remove_folder(const std::string& path) {
    auto removed = remove_empty_folder(site_.at(path));
    if (!removed) return std::move(removed).error();
    if (*removed) return {};
    for (const std::string& name : names_in(site_.at(path)))
      if (name != "versions") kept_.push_back(path + "/" + name + ": we did not put it there");
    return {};
  }

  const UninstallOptions& options_;
  const Site& site_;
  const Say& say_;
  const Service service_;
  bool is_packaged_ = false;
  Kept kept_;
};

// A recipe's command runs below the service: it would be stopped in the middle.
Result<void> check_outside_service(const Site& site) {
  const auto groups = base::read_file("/proc/self/cgroup", 65536);
  if (!site.is_live() || !groups || groups->find("/opsagent.service") == std::string::npos) return {};
  return Error(ErrorCode::unsupported,
               "this runs inside the agent's own service, which has to stop: use 'systemd-run opsagent …'");
}

// Who runs what was installed by a package should hear that, and keep their state.
Result<void> check_installed(const Site& site) {
  if (is_there(site.at(site.prefix)) || own_release()) return {};
  return Error(ErrorCode::not_found,
               site.prefix +
                   " is not there: nothing was installed by 'opsagent install' (a package is "
                   "removed with apt, another place is named by --prefix)");
}

Result<base::UniqueFd> lock_if_there(const Site& site) {
  if (!is_there(site.at(site.prefix))) return base::UniqueFd();
  return lock_prefix(site);
}

Result<void> forget_state(const Site& site) {
  const std::string state = site.at(site.state_dir);
  for (const std::string& name : names_in(state))
    if (is_among(kStateNames, without_suffix(name)) && !is_among(kKeptByReinstall, name))
      if (auto removed = remove_tree(state + "/" + name); !removed) return removed;
  for (const std::string& name : names_in(state + "/update"))
    if (!is_among(kKeptOfUpdates, name))
      if (auto removed = remove_tree(state + "/update/" + name); !removed) return removed;
  return {};
}

}  // namespace

Result<Kept> uninstall(const UninstallOptions& options, const Say& say) {
  if (auto fine = check_stays_inside(options.site); !fine) return std::move(fine).error();
  if (auto fine = check_outside_service(options.site); !fine) return std::move(fine).error();
  if (auto fine = check_installed(options.site); !fine) return std::move(fine).error();
  const auto lock = lock_if_there(options.site);
  if (!lock) return lock.error();
  return Removal(options, say).run();
}

Result<void> reinstall(const Site& site, bool start, const Say& say) {
  if (auto fine = check_outside_service(site); !fine) return fine;
  const update::Layout layout = site.layout();
  const auto current = layout.current();
  if (!current) return current.error().with_context("there is nothing to install anew");
  const std::string release = layout.version_folder(*current);
  const auto manifest = read_manifest(release);
  if (!manifest) return manifest.error();
  // Before anything is taken away.
  if (const auto problems = check_files(release, *manifest); !problems.empty())
    return Error(ErrorCode::invalid,
                 "the installed version is damaged, nothing was changed: " + problems.front());
  {
    const auto lock = lock_prefix(site);
    if (!lock) return lock.error();
    const Service service(site, init_of(site));
    say("stopping the service");
    if (auto stopped = service.stop(); !stopped) return stopped;
    if (const auto pid = control::PidFile::holder(control::pid_path(site.at(site.state_dir))))
      return Error(ErrorCode::exists, "an agent still runs as process " + std::to_string(*pid) +
                                          ", and not as our service: end it first (opsagent stop)");
    say("forgetting all but who this machine is");
    if (auto forgotten = forget_state(site); !forgotten) return forgotten;
    if (auto swept = layout.sweep_staging(); !swept) return swept;
    if (auto alone = layout.keep_only({}); !alone) return alone;
  }
  auto installed = install({.site = site, .release = release, .start = start}, say);
  if (!installed) return std::move(installed).error();
  return {};
}

}  // namespace agent::install
