#include "states/common_pip_package/pip.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.hpp"
#include "states/language_packages/pip_output.hpp"
#include "states/language_packages/python_packages.hpp"
#include "states/versions/python_version.hpp"

namespace states::common_pip_package {

namespace {

using base::Result;
using language_packages::Want;

constexpr std::string_view kPip = "pip";

// Not by a name in PATH: what answers to "pip" there may be anybody's. "-I": neither the working folder nor
// packages of the user's own count.
std::vector<std::string> pip_argv(std::string_view action) {
  return {"/usr/bin/python3",
          "-I",
          "-m",
          "pip",
          std::string(action),
          "--disable-pip-version-check",
          "--no-input",
          "--root-user-action=ignore"};
}

// pip from 22.1 on knows --root-user-action; older ones are on older systems.
bool knows_root_user_action(Context& context) {
  const Entry pip{.name = std::string(kPip), .package = std::string(kPip)};
  const auto copies = Pip().installed(pip, context);
  return copies && !copies->empty() &&
         versions::compare_python_versions(copies->front().version, "22.1") >= 0;
}

std::vector<std::string> prepared(std::string_view action, Context& context) {
  std::vector<std::string> argv = pip_argv(action);
  if (!knows_root_user_action(context)) argv.pop_back();
  if (language_packages::is_python_externally_managed(context)) argv.emplace_back("--break-system-packages");
  return argv;
}

bool is_pip_there(Context& context) {
  const Entry pip{.name = std::string(kPip), .package = std::string(kPip)};
  const auto copies = Pip().installed(pip, context);
  return copies && !copies->empty();
}

constexpr prerequisites::Prerequisite kNeeded{.module = "common.pip.package",
                                              .program = "pip3",
                                              .debian_packages = {"python3-pip"},
                                              .rhel_packages = {"python3-pip"},
                                              .is_there = is_pip_there};

bool is_name(std::string_view name) {
  const auto is_end = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (name.empty() || !is_end(name.front()) || !is_end(name.back())) return false;
  // pip takes what is named like an archive for a file.
  for (const std::string_view ending :
       {".whl", ".zip", ".gz", ".tgz", ".tar", ".bz2", ".tbz", ".xz", ".txz", ".tlz", ".lz", ".lzma"})
    if (name.size() > ending.size() &&
        base::equal_ignoring_case(name.substr(name.size() - ending.size()), ending))
      return false;
  return language_packages::consists_of(name, "._-");
}

// "[socks,http2]"
bool are_extras(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']')) return false;
  const auto extras = base::split(text.substr(1, text.size() - 2), ',');
  return !extras.empty() &&
         std::ranges::all_of(extras, [](std::string_view extra) { return is_name(base::trim(extra)); });
}

std::string requirement_of(const Entry& entry) {
  if (entry.version.empty()) return entry.name;
  return entry.name + (versions::is_python_version(entry.version) ? "==" : "") + entry.version;
}

}  // namespace

const prerequisites::Prerequisite& Pip::prerequisite() const {
  return kNeeded;
}

Result<Entry> Pip::read_entry(const Pair& pair) const {
  const std::string_view key = base::trim(pair.key);
  const std::size_t bracket = std::min(key.find('['), key.size());
  const std::string_view name = base::trim(key.substr(0, bracket));
  const std::string_view extras = key.substr(bracket);
  if (!is_name(name) || (!extras.empty() && !are_extras(extras)))
    return language_packages::illegal_name(pair.key);
  Entry entry{.name = std::string(name) + std::string(extras),
              .package = language_packages::normalised_python_name(name)};
  language_packages::set_wanted(entry, pair.value);
  if (entry.want == Want::version && !versions::is_python_version(entry.version) &&
      !versions::is_python_specifier(entry.version))
    return language_packages::illegal_name(pair.value);
  return entry;
}

bool Pip::matches(std::string_view version, std::string_view wanted) const {
  return versions::matches_python_specifier(version, wanted);
}

int Pip::compare(std::string_view a, std::string_view b) const {
  return versions::compare_python_versions(a, b);
}

Result<std::vector<Copy>> Pip::installed(const Entry& entry, Context& context) const {
  std::vector<Copy> copies;
  for (const std::string& folder : language_packages::system_python_folders(context)) {
    auto packages = language_packages::python_packages_in(folder, context);
    if (!packages) return std::move(packages).error();
    for (const auto& package :
         std::ranges::equal_range(**packages, entry.package, {}, &language_packages::PythonPackage::name)) {
      auto is_whole = language_packages::is_python_package_whole(package, context);
      if (!is_whole) return std::move(is_whole).error();
      copies.push_back({.version = package.version, .metadata = package.metadata, .is_broken = !*is_whole});
    }
  }
  // Programs get the first one, whatever is behind it.
  if (copies.size() > 1 && entry.want != Want::removed) copies.resize(1);
  return copies;
}

Result<base::Command> Pip::command(std::vector<std::string> argv, Context& /*context*/) const {
  base::Command command;
  command.argv = std::move(argv);
  return command;
}

Result<std::vector<std::string>> Pip::install_argv(std::span<const Entry> entries, Context& context) const {
  std::vector<std::string> argv = prepared("install", context);
  if (std::ranges::any_of(entries, [](const Entry& entry) { return entry.want == Want::latest; }))
    argv.emplace_back("--upgrade");
  argv.emplace_back("--");
  for (const Entry& entry : entries)
    argv.push_back(requirement_of(entry));
  return argv;
}

Result<std::vector<std::string>> Pip::remove_argv(std::span<const Entry> entries, Context& context) const {
  std::vector<std::string> argv = prepared("uninstall", context);
  argv.emplace_back("--yes");
  argv.emplace_back("--");
  for (const Entry& entry : entries)
    argv.push_back(entry.package);
  return argv;
}

// Over what is there: pip can remove nothing of which it has no list. What the package depends on comes with
// the installation that follows.
std::vector<std::string> Pip::mend_argv(const Entry& entry, Context& context) const {
  std::vector<std::string> argv = prepared("install", context);
  argv.insert(argv.end(), {"--ignore-installed", "--no-deps", "--", requirement_of(entry)});
  return argv;
}

language_packages::Reason Pip::reason_in(std::string_view output) const {
  return language_packages::pip_reason(output);
}

std::string Pip::telling_line(std::string_view output) const {
  return language_packages::pip_telling_line(output);
}

// Packages bring programs, too.
std::vector<Effect> Pip::effects(Context& context) const {
  std::vector<Effect> effects{{.kind = EffectKind::directory, .name = "/usr/local/bin", .certain = false}};
  for (std::string& folder : language_packages::system_python_folders(context))
    if (const auto found = context.tree.look(folder); folder.starts_with("/usr/local") && found && *found)
      effects.push_back({.kind = EffectKind::directory, .name = std::move(folder), .certain = false});
  return effects;
}

}  // namespace states::common_pip_package
