#include "states/common_gem_package/gem.hpp"

#include <algorithm>
#include <cctype>

#include "base/text.hpp"
#include "states/common_gem_package/specifications.hpp"
#include "states/versions/gem_version.hpp"

namespace states::common_gem_package {

namespace {

using base::Result;
using language_packages::Reason;
using language_packages::Want;

constexpr prerequisites::Prerequisite kNeeded{.module = "common.gem.package",
                                              .program = "gem",
                                              .debian_packages = {"ruby-rubygems", "ruby"},
                                              .rhel_packages = {"rubygems"}};

// gem takes what ends in ".gem" for a file.
bool is_name(std::string_view name) {
  return !name.empty() &&
         (std::isalnum(static_cast<unsigned char>(name.front())) != 0 || name.front() == '_') &&
         language_packages::consists_of(name, "._-") && !name.ends_with(".gem") &&
         std::ranges::any_of(name, [](unsigned char c) { return std::isalpha(c) != 0; });
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

}  // namespace

const prerequisites::Prerequisite& Gem::prerequisite() const {
  return kNeeded;
}

Result<Entry> Gem::read_entry(const Pair& pair) const {
  const std::string_view key = base::trim(pair.key);
  if (!is_name(key)) return language_packages::illegal_name(pair.key);
  Entry entry{.name = std::string(key), .package = std::string(key)};
  language_packages::set_wanted(entry, pair.value);
  if (entry.want == Want::version && !versions::is_gem_requirement(entry.version))
    return language_packages::illegal_name(pair.value);
  return entry;
}

bool Gem::matches(std::string_view version, std::string_view wanted) const {
  return versions::matches_gem_requirement(version, wanted);
}

int Gem::compare(std::string_view a, std::string_view b) const {
  return versions::compare_gem_versions(a, b);
}

// A gem may be there in several versions, or twice in one.
Result<std::vector<Copy>> Gem::installed(const Entry& entry, Context& context) const {
  auto specifications = specifications_of(entry.package, context);
  if (!specifications) return std::move(specifications).error();
  std::vector<Copy> copies;
  for (Specification& specification : *specifications)
    if (entry.want == Want::removed || copies.empty() || copies.back().version != specification.version)
      copies.push_back(
          {.version = std::move(specification.version), .metadata = std::move(specification.path)});
  return copies;
}

Result<base::Command> Gem::command(std::vector<std::string> argv, Context& /*context*/) const {
  base::Command command;
  command.argv = std::move(argv);
  return command;
}

// Not `gem list --remote`, which is content when no source has answered.
std::vector<std::string> Gem::newest_argv(const Entry& entry, Context& /*context*/) const {
  return {"gem", "install", "--explain", "--no-document", entry.name};
}

// "Gems to install:" and a line for each, "  name-1.2.0-x86_64-linux"; what was asked for comes last.
std::optional<std::string> Gem::newest_in(std::string_view output, const Entry& entry) const {
  std::optional<std::string> newest;
  for (std::string_view line : base::split(output, '\n')) {
    line = base::trim(line);
    if (!line.starts_with(entry.name + "-")) continue;
    const std::string_view rest = line.substr(entry.name.size() + 1);
    const std::string_view version = rest.substr(0, rest.find('-'));
    if (versions::is_gem_version(version)) newest = std::string(version);
  }
  return newest;
}

Result<std::vector<std::string>> Gem::install_argv(std::span<const Entry> entries,
                                                   Context& /*context*/) const {
  std::vector<std::string> argv{"gem", "install", "--no-document"};
  for (const Entry& entry : entries) {
    if (!entry.version.empty()) argv.push_back("--version=" + entry.version);
    argv.push_back(entry.name);
  }
  return argv;
}

Result<std::vector<std::string>> Gem::remove_argv(std::span<const Entry> entries,
                                                  Context& /*context*/) const {
  std::vector<std::string> argv{"gem", "uninstall", "--all", "--executables", "--ignore-dependencies"};
  for (const Entry& entry : entries)
    argv.push_back(entry.name);
  return argv;
}

Reason Gem::reason_in(std::string_view output) const {
  if (has(output, "Unable to download data from") || has(output, "SocketError") ||
      has(output, "Errno::ECONN") || has(output, "Net::OpenTimeout") ||
      has(output, "Failed to open TCP connection"))
    return Reason::unreachable;
  // "Could not find a valid gem 'x' (= 9) in any repository"
  if (has(output, "Could not find a valid gem")) return Reason::no_such_version;
  return Reason::other;
}

std::string Gem::telling_line(std::string_view output) const {
  for (std::string_view line : base::split(output, '\n')) {
    line = base::trim(line);
    constexpr std::string_view kError = "ERROR:";
    if (line.starts_with(kError)) return std::string(base::trim(line.substr(kError.size())));
  }
  return {};
}

std::vector<Effect> Gem::effects(Context& /*context*/) const {
  return {{.kind = EffectKind::directory, .name = "/usr/local/bin", .certain = false}};
}

}  // namespace states::common_gem_package
