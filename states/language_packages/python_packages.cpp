#include "states/language_packages/python_packages.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "base/files/below_root.hpp"
#include "base/text.hpp"
#include "base/tree/tree.hpp"

namespace states::language_packages {

namespace {

using base::Result;

constexpr std::string_view kDistInfo = ".dist-info";
constexpr std::string_view kEggInfo = ".egg-info";
constexpr std::string_view kSystemPython = "/usr/bin/python3";

// In Context::facts.
struct PythonFolders {
  std::map<std::string, std::vector<PythonPackage>, std::less<>> packages;
};

// "Flask-2.0.1.dist-info", "PyYAML-6.0.egg-info", "foo-1.0-py3.11.egg-info". What pip is about to throw away
// begins with "~".
std::optional<PythonPackage> read_name(const std::string& folder, const std::string& name) {
  const std::string_view suffix = name.ends_with(kDistInfo)  ? kDistInfo
                                  : name.ends_with(kEggInfo) ? kEggInfo
                                                             : std::string_view();
  if (suffix.empty() || name.starts_with('~')) return std::nullopt;
  const std::string_view stem = std::string_view(name).substr(0, name.size() - suffix.size());
  const std::size_t dash = stem.find('-');
  if (dash == 0 || dash == std::string_view::npos) return std::nullopt;
  std::string_view version = stem.substr(dash + 1);
  if (const std::size_t python = version.find("-py"); python != version.npos && suffix == kEggInfo)
    version = version.substr(0, python);
  return PythonPackage{.name = normalised_python_name(stem.substr(0, dash)),
                       .version = std::string(version),
                       .metadata = folder + "/" + name};
}

Result<bool> is_there(const std::string& path, Context& context) {
  auto found = context.tree.look(path);
  if (!found) return std::move(found).error();
  return found->has_value();
}

}  // namespace

std::string normalised_python_name(std::string_view name) {
  std::string normal;
  for (const char c : name) {
    if (c != '.' && c != '-' && c != '_')
      normal += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!normal.ends_with('-'))
      normal += '-';
  }
  return normal;
}

Result<const std::vector<PythonPackage>*> python_packages_in(const std::string& folder, Context& context) {
  auto& known = context.facts.get<PythonFolders>().packages;
  if (const auto found = known.find(folder); found != known.end()) return &found->second;
  // By the tree, which knows what earlier states of a plan do to it.
  auto opened = context.tree.folder(folder);
  if (!opened && opened.error().code() != base::ErrorCode::not_found) return std::move(opened).error();
  std::vector<PythonPackage> packages;
  if (opened)
    for (const std::string& name : base::names_below(context.host.root, folder))
      if (auto package = read_name(folder, name)) packages.push_back(std::move(*package));
  std::ranges::stable_sort(packages, {}, &PythonPackage::name);
  return &known.emplace(folder, std::move(packages)).first->second;
}

// A wheel's list of files is written when all of them are there. The distribution's packages need none.
Result<bool> is_python_package_whole(const PythonPackage& package, Context& context) {
  if (!package.metadata.ends_with(kDistInfo)) return true;
  auto has_metadata = is_there(package.metadata + "/METADATA", context);
  if (!has_metadata || !*has_metadata) return has_metadata;
  const bool is_ours = !package.metadata.starts_with("/usr/") || package.metadata.starts_with("/usr/local/");
  if (!is_ours) return true;
  return is_there(package.metadata + "/RECORD", context);
}

std::string python_version_of(const std::string& interpreter, Context& context) {
  const std::string program = context.tree.real_end(interpreter);
  constexpr std::string_view kName = "python";
  const std::size_t at = program.rfind(kName);
  if (at == std::string::npos) return {};
  const std::string version = program.substr(at + kName.size());
  const bool is_version = !version.empty() && version.find_first_not_of("0123456789.") == version.npos;
  return is_version ? version : std::string();
}

std::vector<std::string> system_python_folders(Context& context) {
  const std::string version = python_version_of(std::string(kSystemPython), context);
  if (version.empty()) return {};
  const std::string python = "/python" + version;
  return {"/usr/local/lib" + python + "/dist-packages", "/usr/local/lib64" + python + "/site-packages",
          "/usr/local/lib" + python + "/site-packages", "/usr/lib/python3/dist-packages",
          "/usr/lib" + python + "/dist-packages",       "/usr/lib64" + python + "/site-packages",
          "/usr/lib" + python + "/site-packages"};
}

bool is_python_externally_managed(Context& context) {
  const std::string version = python_version_of(std::string(kSystemPython), context);
  return std::ranges::any_of(std::array{"/usr/lib", "/usr/lib64"}, [&](const char* library) {
    const auto found = context.tree.look(library + std::string("/python") + version + "/EXTERNALLY-MANAGED");
    return found && *found;
  });
}

}  // namespace states::language_packages
