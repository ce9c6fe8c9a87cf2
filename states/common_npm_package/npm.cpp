#include "states/common_npm_package/npm.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "states/common_npm_package/global_prefix.hpp"
#include "states/files/working_folder.hpp"
#include "states/versions/npm_version.hpp"

namespace states::common_npm_package {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using language_packages::Reason;
using language_packages::Want;

constexpr std::size_t kLongestName = 214;  // npm's own limit
constexpr std::size_t kLargestManifest = 4 * 1024 * 1024;

constexpr prerequisites::Prerequisite kNeeded{.module = "common.npm.package",
                                              .program = "npm",
                                              .debian_packages = {"npm"},
                                              .rhel_packages = {"npm", "nodejs-npm", "nodejs"}};

bool is_part(std::string_view part) {
  return !part.empty() && part.front() != '.' && part.front() != '_' && part.front() != '-' &&
         language_packages::consists_of(part, "-._~");
}

// "left-pad", "@scope/name"
bool is_name(std::string_view name) {
  if (name.size() > kLongestName || name == "node_modules") return false;
  if (!name.starts_with('@')) return is_part(name);
  const std::size_t slash = name.find('/');
  return slash != name.npos && is_part(name.substr(1, slash - 1)) && is_part(name.substr(slash + 1));
}

// What a registry may call a version: "next". Nothing with a dot, which npm might take for a file.
bool is_tag(std::string_view text) {
  return !text.empty() &&
         ((text.front() >= 'a' && text.front() <= 'z') || (text.front() >= 'A' && text.front() <= 'Z')) &&
         language_packages::consists_of(text, "-_");
}

// Behind "@", so that npm never takes the name for a file, an address or a repository.
std::string spec_of(const Entry& entry) {
  if (!entry.version.empty()) return entry.name + "@" + entry.version;
  return entry.name + "@" + (entry.tag.empty() ? "latest" : entry.tag);
}

std::string version_in(std::string_view manifest) {
  base::Arena arena;
  const auto parsed = base::parse_json(manifest, arena);
  const auto* value = std::get_if<base::Value>(&parsed);
  const base::Value* version = value ? value->find("version") : nullptr;
  return version ? std::string(version->text()) : std::string();
}

bool has_code(std::string_view output, std::string_view code) {
  return output.find("code " + std::string(code)) != output.npos;
}

}  // namespace

const prerequisites::Prerequisite& Npm::prerequisite() const {
  return kNeeded;
}

Result<Entry> Npm::read_entry(const Pair& pair) const {
  const std::string_view key = base::trim(pair.key);
  // "name@1.2"; the first "@" may be that of a scope.
  const std::size_t at = key.rfind('@');
  const bool has_version = at != key.npos && at > 0;
  const std::string_view name = has_version ? key.substr(0, at) : key;
  if (!is_name(name)) return language_packages::illegal_name(pair.key);
  const std::string_view value =
      has_version && base::trim(pair.value).empty() ? key.substr(at + 1) : pair.value;
  if (has_version && value.data() == pair.value.data() && key.substr(at + 1) != base::trim(pair.value))
    return Error(ErrorCode::invalid, "Package '" + std::string(name) + "' is given with two versions: '" +
                                         std::string(key.substr(at + 1)) + "' and '" +
                                         std::string(pair.value) + "'");
  Entry entry{.name = std::string(name), .package = std::string(name)};
  language_packages::set_wanted(entry, value);
  if (entry.want != Want::version || versions::is_npm_range(entry.version)) return entry;
  if (!is_tag(entry.version)) return language_packages::illegal_name(value);
  entry.want = Want::latest;
  entry.tag = std::exchange(entry.version, {});
  return entry;
}

bool Npm::matches(std::string_view version, std::string_view wanted) const {
  return versions::matches_npm_range(version, wanted);
}

int Npm::compare(std::string_view a, std::string_view b) const {
  return versions::compare_npm_versions(a, b);
}

Result<std::vector<Copy>> Npm::installed(const Entry& entry, Context& context) const {
  std::string folder = path_;
  if (folder.empty()) {
    const std::string prefix = global_prefix(context);
    if (prefix.empty()) return std::vector<Copy>();
    folder = (prefix == "/" ? "" : prefix) + "/lib";
  }
  const std::string package = folder + "/node_modules/" + entry.package;
  auto text = context.tree.read(package + "/package.json", kLargestManifest);
  if (!text && text.error().code() == ErrorCode::not_found) return std::vector<Copy>();
  if (!text) return std::move(text).error();
  const std::string version = version_in(*text);
  return std::vector<Copy>{{.version = version.empty() ? "unknown" : version,
                            .metadata = package + "/package.json",
                            .is_broken = version.empty()}};
}

// Whom npm runs as: the owner of the folder, where nobody else can change what npm reads and writes in it.
Result<language_packages::Runner> Npm::runner(Context& context) const {
  auto runner = language_packages::runner_in(path_, context);
  if (!runner) return runner;
  for (const char* name : {"/.npmrc", "/package.json", "/package-lock.json", "/node_modules"}) {
    auto found = context.tree.look(path_ + name);
    if (!found) return std::move(found).error();
    if (!*found) continue;
    // A user who lets his group write to what is his does so with his own rights, not with the agent's.
    const bool is_his = runner->uid != ::geteuid() && (*found)->st_uid == runner->uid;
    if (is_his && ((*found)->st_mode & S_IWOTH) == 0) continue;
    if (auto owned = language_packages::check_owned_way(path_ + name, runner->uid, context); !owned)
      return std::move(owned).error();
  }
  return runner;
}

Result<void> Npm::check_place(Context& context) const {
  if (path_.empty()) return {};
  auto runner = this->runner(context);
  return runner ? Result<void>() : Result<void>(std::move(runner).error());
}

Result<void> Npm::make_place(ApplyContext& context) const {
  if (path_.empty()) return {};
  auto runner = language_packages::runner_in(path_, context);
  if (!runner) return std::move(runner).error();
  return files::make_folders(path_, runner->folder_attributes(), context);
}

Result<base::Command> Npm::command(std::vector<std::string> argv, Context& context) const {
  base::Command command;
  command.argv = std::move(argv);
  if (path_.empty()) return command;
  auto runner = this->runner(context);
  if (!runner) return std::move(runner).error();
  runner->prepare(command);
  return command;
}

std::vector<std::string> Npm::argv(std::string_view action, Context& context) const {
  std::vector<std::string> argv{"npm", std::string(action)};
  if (path_.empty()) argv.emplace_back("--global");
  // What is read here and what npm does is the same place.
  argv.push_back("--prefix=" + (path_.empty() ? global_prefix(context) : path_));
  for (const char* option :
       {"--no-fund", "--no-audit", "--no-progress", "--no-update-notifier", "--loglevel=warn"})
    argv.emplace_back(option);
  return argv;
}

std::vector<std::string> Npm::newest_argv(const Entry& entry, Context& context) const {
  std::vector<std::string> words = argv("view", context);
  words.insert(words.end(), {"--", spec_of({.name = entry.name, .tag = entry.tag}), "version"});
  return words;
}

std::optional<std::string> Npm::newest_in(std::string_view output, const Entry& /*entry*/) const {
  std::string_view line = base::last_line(output);
  if (line.size() >= 2 && line.front() == '\'' && line.back() == '\'') line = line.substr(1, line.size() - 2);
  return versions::is_npm_version(line) ? std::optional(std::string(line)) : std::nullopt;
}

Result<std::vector<std::string>> Npm::install_argv(std::span<const Entry> entries, Context& context) const {
  std::vector<std::string> words = argv("install", context);
  words.emplace_back("--");
  for (const Entry& entry : entries)
    words.push_back(spec_of(entry));
  return words;
}

Result<std::vector<std::string>> Npm::remove_argv(std::span<const Entry> entries, Context& context) const {
  std::vector<std::string> words = argv("uninstall", context);
  words.emplace_back("--");
  for (const Entry& entry : entries)
    words.push_back(entry.name);
  return words;
}

Reason Npm::reason_in(std::string_view output) const {
  if (has_code(output, "E404")) return Reason::no_such_package;
  if (has_code(output, "ETARGET") || has_code(output, "ENOVERSIONS")) return Reason::no_such_version;
  for (const char* code : {"ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EAI_AGAIN", "ENETUNREACH",
                           "EHOSTUNREACH", "ERR_SOCKET_TIMEOUT", "CERT_HAS_EXPIRED", "E503"})
    if (has_code(output, code)) return Reason::unreachable;
  return Reason::other;
}

// "npm ERR! …" of old ones, "npm error …" of newer ones. The first lines have codes.
std::string Npm::telling_line(std::string_view output) const {
  std::string code;
  for (std::string_view line : base::split(output, '\n')) {
    line = base::trim(line);
    std::string_view said;
    for (const std::string_view beginning : {"npm ERR! ", "npm error "})
      if (line.starts_with(beginning)) said = base::trim(line.substr(beginning.size()));
    if (said.empty()) continue;
    const bool is_code = said.starts_with("code ") || said.starts_with("syscall ") ||
                         said.starts_with("errno ") || said.starts_with("path ");
    if (!is_code) return std::string(said.starts_with("404 ") ? base::trim(said.substr(4)) : said);
    if (code.empty()) code = said;
  }
  return code;
}

std::vector<Effect> Npm::effects(Context& context) const {
  if (!path_.empty()) return {{.kind = EffectKind::directory, .name = path_}};
  const std::string prefix = global_prefix(context);
  if (prefix.empty()) return {};
  return {{.kind = EffectKind::directory, .name = (prefix == "/" ? "" : prefix) + "/bin", .certain = false}};
}

}  // namespace states::common_npm_package
