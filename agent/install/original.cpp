#include "agent/install/original.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "agent/install/files.hpp"
#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/files/private_folder.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace agent::install {

namespace {

using base::Result;

constexpr std::size_t kLargestOfOriginal = 1024 * 1024;
constexpr std::size_t kLargestTokenFile = 64 * 1024;
constexpr std::size_t kMostRecords = 100'000;
constexpr std::size_t kDigits = 32;  // of an MD5 sum

constexpr std::array<std::string_view, 5> kSections{"global", "userdata", "network", "module", "runtime"};
// No option of ours has these names.
constexpr std::array<std::string_view, 20> kOnlyOriginal{
    "token",       "logfile",      "log_path",     "delay",      "conf_path", "config_path", "envroot",
    "env_root",    "package_path", "scripts_path", "pidfile",    "haltfile",  "watch",       "base_remote",
    "gpg_key_uri", "proc",         "proc_count",   "clone_dump", "mod_repo",  "mod_tag"};

struct Line {
  std::string section;
  std::string name;
  std::string value;
  std::string_view raw;
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  std::string section;
  for (const std::string_view raw : base::split(text, '\n')) {
    Line line{.section = {}, .name = {}, .value = {}, .raw = raw};
    const std::string_view trimmed = base::trim(raw);
    if (trimmed.starts_with('[') && trimmed.ends_with(']')) {
      section = lower(base::trim(trimmed.substr(1, trimmed.size() - 2)));
    } else if (!trimmed.empty() && !trimmed.starts_with('#') && !trimmed.starts_with(';')) {
      const std::size_t equals = trimmed.find_first_of("=:");
      line.name = lower(base::trim(trimmed.substr(0, equals)));
      if (equals != std::string_view::npos) line.value = base::trim(trimmed.substr(equals + 1));
    }
    line.section = section;
    lines.push_back(std::move(line));
  }
  return lines;
}

bool is_of_original(const Line& line) {
  return std::ranges::find(kSections, line.section) != kSections.end();
}

// In our words; "": it means nothing to us.
std::string ours(const Line& line) {
  if (line.value.empty()) return {};
  if (line.section == "userdata" && (line.name == "ws_uri" || line.name == "app_id"))
    return line.name + " = " + line.value;
  if (line.section == "global" && line.name == "token") return "token_file = " + line.value;
  if (line.section == "global" && line.name == "logfile") return "log_file = " + line.value;
  if (line.name == "delay" && (line.section == "global" || line.section == "runtime")) {
    constexpr std::int64_t kLongest = 30LL * 24 * 60;
    const auto minutes = base::parse_integer(line.value);
    if (minutes && *minutes > 0 && *minutes <= kLongest)
      return "round_delay = " + std::to_string(*minutes * 60);
  }
  return {};
}

// A file that nobody but root can have put there, and no way around it: it becomes ours.
Result<std::string> read_guarded(const std::string& path, std::size_t limit) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return base::os_error(errno, "reading " + path);
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return base::os_error(errno, "reading " + path);
  if (!S_ISREG(st.st_mode)) return base::Error(base::ErrorCode::invalid, path + " is no file");
  if (st.st_uid != ::geteuid() || (st.st_mode & 022) != 0)
    return base::Error(base::ErrorCode::permission, path + " can be changed by others");
  return base::read_all(fd.get(), limit, path);
}

bool is_md5(std::string_view text) {
  return text.size() == kDigits &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<bool> adopt_token(const std::string& from, const std::string& to) {
  if (is_there(to) || !is_there(from)) return false;
  auto token = read_guarded(from, kLargestTokenFile);
  if (!token) return std::move(token).error();
  if (base::trim(*token).empty()) return false;
  // Byte by byte: the backend knows it so.
  if (auto written = base::write_durable_file(to, *token); !written) return std::move(written).error();
  return true;
}

}  // namespace

std::optional<OriginalConfig> read_original_config(std::string_view text) {
  const std::vector<Line> lines = lines_of(text);
  const bool is_original = std::ranges::any_of(lines, [](const Line& line) {
    return is_of_original(line) && std::ranges::find(kOnlyOriginal, line.name) != kOnlyOriginal.end();
  });
  if (!is_original) return std::nullopt;
  OriginalConfig config;
  for (const Line& line : lines) {
    if (line.name.empty() || !is_of_original(line)) {
      config.text.append(line.raw).append("\n");
      continue;
    }
    if (line.section == "global" && line.name == "token") config.token_file = line.value;
    if (line.section == "global" && line.name == "conf_path") config.state_dir = line.value;
    const std::string said = ours(line);
    if (said.empty()) config.ignored.push_back("[" + line.section + "] " + line.name);
    config.text.append(said).append("\n");
  }
  return config;
}

std::string remark_about(const OriginalConfig& config) {
  if (config.ignored.empty()) return {};
  std::string names;
  for (const std::string& name : config.ignored)
    names += (names.empty() ? "" : ", ") + name;
  return "the configuration is the original OpsAgent's; this means nothing here: " + names;
}

bool is_original_cron_line(std::string_view line) {
  const std::string_view text = base::trim(line);
  if (text.empty() || text.starts_with('#')) return false;
  return text.find("/opt/visualops/") != std::string_view::npos ||
         text.find("/var/lib/visualops/") != std::string_view::npos ||
         text.find("/etc/init.d/opsagentd") != std::string_view::npos;
}

FoundOriginal find_original(const Site& site) {
  FoundOriginal found;
  found.has_script = is_there(site.at(kOriginalScript));
  for (const char* folder : {"/etc", "/etc/rc.d"})
    for (const std::string& level : names_in(site.at(folder))) {
      if (!level.starts_with("rc") || !level.ends_with(".d")) continue;
      const std::string way = std::string(folder) + "/" + level;
      // "/etc/rc0.d" may be a link to "/etc/rc.d/rc0.d": each once.
      if (!is_folder(site.at(way))) continue;
      for (const std::string& name : names_in(site.at(way)))
        if (name.size() > 3 && (name[0] == 'S' || name[0] == 'K') && name.substr(3) == "opsagentd")
          found.links.push_back(way + "/" + name);
    }
  std::vector<std::string> crontabs{"/var/spool/cron/crontabs/root", "/var/spool/cron/root", "/etc/crontab"};
  for (const std::string& name : names_in(site.at("/etc/cron.d")))
    crontabs.push_back("/etc/cron.d/" + name);
  for (const std::string& path : crontabs) {
    const auto text = base::read_file(site.at(path), kLargestOfOriginal);
    if (text && std::ranges::any_of(base::split(*text, '\n'), is_original_cron_line))
      found.crontabs.push_back(path);
  }
  if (const auto text = base::read_file(site.at(kConfig), kLargestOfOriginal))
    found.has_config = read_original_config(*text).has_value();
  found.has_state = is_folder(site.at(kOriginalState));
  return found;
}

std::vector<pid_t> original_processes() {
  std::vector<pid_t> processes;
  for (const std::string& name : names_in("/proc")) {
    const auto pid = base::parse_integer(name);
    if (!pid || *pid == ::getpid()) continue;
    const auto command = base::read_file("/proc/" + name + "/cmdline", kLargestOfOriginal);
    if (!command) continue;
    // The interpreter of its virtualenv, or another one with its program.
    const auto words = base::split(*command, '\0');
    const std::string home = std::string(kOriginalHome) + "/";
    for (std::size_t i = 0; i < std::min<std::size_t>(words.size(), 2); ++i)
      if (words[i].starts_with(home)) {
        processes.push_back(static_cast<pid_t>(*pid));
        break;
      }
  }
  return processes;
}

Result<Adopted> adopt_state(const std::string& from, const std::string& token_file,
                            const std::string& state_dir) {
  Adopted adopted;
  const auto guarded = base::open_guarded_folder(from);
  if (!guarded && guarded.error().code() != base::ErrorCode::not_found)
    return guarded.error().with_context("the original's state");
  auto token = adopt_token(token_file.empty() ? from + "/token" : token_file, state_dir + "/token");
  if (token)
    adopted.token = *token;
  else
    adopted.problems.push_back(token.error().message());
  if (!guarded) return adopted;
  const std::string records = state_dir + "/watch";
  for (const std::string& name : names_in(from + "/watch")) {
    if (!name.ends_with(".cksum") || adopted.watch_records >= kMostRecords) continue;
    const std::string to = records + "/" + name;
    if (is_there(to)) continue;
    auto text = read_guarded(from + "/watch/" + name, kLargestOfOriginal);
    // Without a sum there is nothing that it has reacted to.
    if (text && base::trim(*text).empty()) continue;
    if (text && !is_md5(base::trim(*text)))
      text = base::Error(base::ErrorCode::invalid, from + "/watch/" + name + " is no watch record");
    if (!text) {
      adopted.problems.push_back(text.error().message());
      continue;
    }
    if (auto made = base::make_private_folder(records); !made) return std::move(made).error();
    if (auto written = base::write_durable_file(to, base::trim(*text)); !written)
      return std::move(written).error();
    ++adopted.watch_records;
  }
  return adopted;
}

}  // namespace agent::install
