#include "agent/install/service.hpp"

#include <algorithm>
#include <array>

#include "agent/install/files.hpp"
#include "base/files/file_read.hpp"
#include "base/programs/process.hpp"
#include "base/text.hpp"

namespace agent::install {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestUnitFile = 256 * 1024;
constexpr const char* kName = "opsagent";
constexpr const char* kUnitName = "opsagent.service";
constexpr const char* kPidFile = "/run/opsagent.pid";  // the script's
// The unit gives the running state a minute; systemd needs a moment more.
constexpr std::chrono::seconds kLongestCall{150};

Result<void> call(std::vector<std::string> argv) {
  const std::string what = base::join(argv, " ");
  const auto done = base::run({.argv = std::move(argv),
                               .env = base::clean_environment(),
                               .timeout = kLongestCall,
                               // A daemon that a script has started may hold the output open.
                               .drain_grace = std::chrono::milliseconds(200)});
  if (!done) return done.error().with_context(what);
  if (done->ok()) return {};
  const std::string said(base::trim(done->output));
  return Error(ErrorCode::io, "'" + what + "' failed" + (said.empty() ? "" : ": " + said));
}

// Lines that begin with a name get another value.
struct Replacement {
  std::string_view name;
  std::string value;
};

Result<std::string> with_lines(std::string_view text, const std::vector<Replacement>& replacements) {
  std::string result;
  std::vector<int> found(replacements.size());
  for (const std::string_view line : base::split(text, '\n')) {
    const auto match = std::ranges::find_if(
        replacements, [&](const Replacement& each) { return line.starts_with(each.name); });
    if (match == replacements.end()) {
      result.append(line);
    } else {
      result.append(match->name).append(match->value);
      ++found[static_cast<std::size_t>(match - replacements.begin())];
    }
    result += '\n';
  }
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] != 1)
      return Error(ErrorCode::invalid,
                   "it should have exactly one line '" + std::string(replacements[i].name) + "…'");
  if (!text.empty() && text.back() == '\n') result.pop_back();  // split() saw an empty line behind it
  return result;
}

// What the launcher has to be told; nothing when all is where it is by default.
std::string launcher_arguments(const Site& site) {
  std::string text;
  if (site.state_dir != kStateFolder) text += " --state-dir " + site.state_dir;
  if (site.prefix != update::kDefaultPrefix) text += " -- --prefix " + site.prefix;
  return text;
}

std::vector<std::string> rc_links(const Site& site) {
  std::vector<std::string> links;
  for (const char level : std::string_view("0123456S")) {
    const std::string folder = site.at(std::string("/etc/rc") + level + ".d");
    for (const std::string& name : names_in(folder))
      if (name.size() == 3 + std::string_view(kName).size() && name.ends_with(kName) &&
          (name[0] == 'S' || name[0] == 'K'))
        links.push_back(folder + "/" + name);
  }
  return links;
}

}  // namespace

Init init_of(const Site& site) {
  if (site.is_live()) return is_there("/run/systemd/system") ? Init::systemd : Init::sysv;
  const bool has = is_there(site.at("/lib/systemd/systemd")) || is_there(site.at("/usr/lib/systemd/systemd"));
  return has ? Init::systemd : Init::sysv;
}

Result<std::string> unit_text(std::string_view package_unit, const Site& site) {
  return with_lines(package_unit, {{"ExecStart=", site.prefix + "/launch" + launcher_arguments(site)},
                                   {"NotifyAccess=", "all"}});
}

Result<std::string> script_text(std::string_view script, const Site& site) {
  return with_lines(script, {{"DAEMON=", site.prefix + "/launch"},
                             {"DAEMON_ARGS=", "\"" + launcher_arguments(site) + "\""}});
}

bool Service::is_ours(const char* path) const {
  const auto text = base::read_file(site_.at(path), kLargestUnitFile);
  if (!text) return false;
  for (const std::string_view line : base::split(*text, '\n'))
    for (const std::string_view name : {"ExecStart=", "DAEMON="})
      if (line.starts_with(name)) {
        const std::vector<std::string_view> words = base::split_words(line.substr(name.size()));
        return !words.empty() && words.front() == site_.prefix + "/launch";
      }
  return false;
}

std::string Service::obstacle() const {
  const char* path = init_ == Init::systemd ? kUnit : kInitScript;
  // A package that was removed, but not purged, leaves its unit masked. That is nobody's any more.
  const bool is_mask = init_ == Init::systemd && link_target(site_.at(path)) == "/dev/null";
  if (is_there(site_.at(path)) && !is_mask && !is_ours(path))
    return std::string(path) + " is there and does not start " + site_.prefix +
           "/launch: remove it first, it is not of this installation";
  for (const char* package :
       {"/usr/lib/systemd/system/opsagent.service", "/lib/systemd/system/opsagent.service"})
    if (is_there(site_.at(package)))
      return std::string(package) +
             " is there: opsagent is installed as a package. Remove that first (apt remove opsagent, or apt "
             "purge opsagent if its state is not to be kept)";
  return {};
}

Result<bool> Service::put(const std::string& share) const {
  const bool is_unit = init_ == Init::systemd;
  const std::string from = share + (is_unit ? "/opsagent.service" : "/opsagent.init");
  const auto found = base::read_file(from, kLargestUnitFile);
  if (!found) return found.error();
  auto text = is_unit ? unit_text(*found, site_) : script_text(*found, site_);
  if (!text) return std::move(text).error().with_context(from);
  const std::string to = site_.at(is_unit ? kUnit : kInitScript);
  if (auto made = make_folders(to.substr(0, to.rfind('/'))); !made) return std::move(made).error();
  return put_file(to, *text, is_unit ? 0644 : 0755);
}

Result<void> Service::enable() const {
  if (init_ == Init::systemd) {
    if (site_.is_live()) {
      if (auto loaded = call({"systemctl", "daemon-reload"}); !loaded) return loaded;
      return call({"systemctl", "--quiet", "enable", kUnitName});
    }
    const std::string link = site_.at(kUnitWanted);
    if (auto made = make_folders(link.substr(0, link.rfind('/'))); !made) return made;
    return make_durable_link(link, kUnit);
  }
  if (site_.is_live() && rc_links(site_).empty()) {
    Result<void> added;
    if (base::find_program("update-rc.d"))
      added = call({"update-rc.d", kName, "defaults"});
    else if (base::find_program("chkconfig"))
      added = call({"chkconfig", "--add", kName});
    if (!added) return added;
  }
  return rc_links(site_).empty() ? put_links() : Result<void>();
}

// As the script's header says; where no program of the system does it.
Result<void> Service::put_links() const {
  struct Level {
    char level;
    const char* name;
  };
  static constexpr std::array kLevels{Level{'0', "K10opsagent"}, Level{'1', "K10opsagent"},
                                      Level{'6', "K10opsagent"}, Level{'2', "S90opsagent"},
                                      Level{'3', "S90opsagent"}, Level{'4', "S90opsagent"},
                                      Level{'5', "S90opsagent"}};
  for (const Level& each : kLevels) {
    const std::string folder = site_.at(std::string("/etc/rc") + each.level + ".d");
    // A machine that has no such folders starts its scripts in another way: not ours to invent.
    if (!is_folder(folder)) continue;
    if (auto made = make_durable_link(folder + "/" + each.name, "../init.d/opsagent"); !made) return made;
  }
  return {};
}

Result<void> Service::start() const {
  if (!site_.is_live()) return {};
  if (init_ == Init::systemd) return call({"systemctl", "start", kUnitName});
  return call({kInitScript, "start"});
}

Result<void> Service::restart() const {
  if (!site_.is_live()) return {};
  if (init_ == Init::systemd) return call({"systemctl", "restart", kUnitName});
  return call({kInitScript, "restart"});
}

Result<void> Service::stop() const {
  if (!site_.is_live()) return {};
  if (init_ == Init::systemd && is_ours(kUnit)) return call({"systemctl", "stop", kUnitName});
  if (init_ == Init::sysv && is_ours(kInitScript)) return call({kInitScript, "stop"});
  return {};
}

Result<std::vector<std::string>> Service::remove() const {
  std::vector<std::string> kept;
  for (const char* path : {kUnit, kInitScript}) {
    if (is_there(site_.at(path)) && !is_ours(path)) {
      kept.push_back(std::string(path) + ": it does not start " + site_.prefix + "/launch");
      continue;
    }
    auto removed = path == kUnit ? remove_unit() : remove_script();
    if (!removed) return std::move(removed).error();
  }
  const std::string overrides = std::string(kUnit) + ".d";
  if (is_there(site_.at(overrides))) kept.push_back(overrides + ": somebody has written it");
  return kept;
}

Result<void> Service::remove_unit() const {
  const bool talks = site_.is_live() && init_ == Init::systemd;
  const bool was_there = is_there(site_.at(kUnit)) || is_there(site_.at(kUnitWanted));
  if (talks && is_there(site_.at(kUnit)))
    if (auto disabled = call({"systemctl", "--quiet", "disable", kUnitName}); !disabled) return disabled;
  for (const char* path : {kUnitWanted, kUnit})
    if (auto removed = remove_name(site_.at(path)); !removed) return removed;
  if (auto removed = remove_name(site_.at(kUnit) + ".new"); !removed) return removed;
  if (!talks) return {};
  if (auto loaded = call({"systemctl", "daemon-reload"}); !loaded) return loaded;
  // It has an opinion on units that failed; of one that it does not know any more it has none.
  if (was_there) (void)call({"systemctl", "reset-failed", kUnitName});
  return {};
}

Result<void> Service::remove_script() const {
  const std::string script = site_.at(kInitScript);
  // While the script is there: what made the links can also take them away, and what it notes elsewhere.
  if (site_.is_live() && is_there(script) && base::find_program("chkconfig") &&
      !base::find_program("update-rc.d"))
    (void)call({"chkconfig", "--del", kName});
  const bool was_there = is_there(script);
  for (const std::string& path : {script, script + ".new", site_.at(kPidFile)})
    if (auto removed = remove_name(path); !removed) return removed;
  // Afterwards, as update-rc.d wants it.
  if (site_.is_live() && was_there && base::find_program("update-rc.d"))
    (void)call({"update-rc.d", kName, "remove"});
  for (const std::string& link : rc_links(site_))
    if (auto removed = remove_name(link); !removed) return removed;
  return {};
}

}  // namespace agent::install
