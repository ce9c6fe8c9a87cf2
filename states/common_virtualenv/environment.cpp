#include "states/common_virtualenv/environment.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/files/below_root.hpp"
#include "base/text.hpp"
#include "base/tree/tree.hpp"
#include "states/language_packages/python_packages.hpp"

namespace states::common_virtualenv {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestConfig = 64 * 1024;
constexpr std::string_view kSystemPython = "/usr/bin/python3";

bool is_file(const std::string& path, Context& context) {
  const auto found = context.tree.look(path);
  return found && *found;
}

// Whether an interpreter has all that `-m venv` needs: Debian has it in a package of its own.
bool has_venv_module(const std::string& interpreter, Context& context) {
  const std::string version = language_packages::python_version_of(interpreter, context);
  const std::string end = context.tree.real_end(interpreter);
  const std::string prefix(base::split_path(base::split_path(end).folder).folder);
  return std::ranges::any_of(std::array{"/lib", "/lib64"}, [&](const char* folder) {
    std::string library = (prefix == "/" ? "" : prefix) + folder;
    library += "/python" + version;
    return is_file(library + "/venv/__init__.py", context) &&
           is_file(library + "/ensurepip/__init__.py", context);
  });
}

bool has_system_venv(Context& context) {
  return has_venv_module(std::string(kSystemPython), context);
}

constexpr prerequisites::Prerequisite kModule{.module = "common.virtualenv",
                                              .program = "python3",
                                              .debian_packages = {"python3-venv"},
                                              .rhel_packages = {"python3"},
                                              .is_there = has_system_venv};
constexpr prerequisites::Prerequisite kProgram{.module = "common.virtualenv",
                                               .program = "virtualenv",
                                               .debian_packages = {"virtualenv"},
                                               .rhel_packages = {"python3-virtualenv"}};

bool is_empty_folder(const std::string& path, Context& context) {
  return base::names_below(context.host.root, path).empty();
}

}  // namespace

Result<Presence> look_at(const std::string& path, const language_packages::Runner& runner, Context& context) {
  auto found = context.tree.look(path);
  if (!found) return std::move(found).error();
  if (!*found) return Presence::absent;
  const Error none(ErrorCode::exists, "Not a virtual environment: " + path);
  if (!S_ISDIR((*found)->st_mode)) return none;
  const std::string python = path + "/bin/python";
  auto name = context.tree.look(python);
  if (!name) return std::move(name).error();
  if (!*name) return is_empty_folder(path, context) ? Result(Presence::absent) : Result<Presence>(none);
  auto end = context.tree.follow(python, runner.uid);
  if (!end && end.error().code() != ErrorCode::not_found) return std::move(end).error();
  if (!end) return Presence::broken;
  struct stat st {};
  const bool can_run = ::fstat(end->get(), &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IXUSR) != 0;
  return can_run ? Presence::present : Presence::broken;
}

std::string version_of(const std::string& path, Context& context) {
  const auto config = context.tree.read(path + "/pyvenv.cfg", kLargestConfig);
  if (!config) return language_packages::python_version_of(path + "/bin/python", context);
  for (const std::string_view line : base::split(*config, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == line.npos) continue;
    const std::string_view name = base::trim(line.substr(0, equals));
    if (name == "version" || name == "version_info") return std::string(base::trim(line.substr(equals + 1)));
  }
  return {};
}

Result<std::vector<std::string>> packages_in(const std::string& path, Context& context) {
  std::vector<std::string> packages;
  for (const char* library : {"/lib", "/lib64"}) {
    const std::string folder = path + library;
    const auto found = context.tree.look(folder);
    if (!found || !*found || !S_ISDIR((*found)->st_mode)) continue;  // lib64 is a link to lib
    for (const std::string& name : base::names_below(context.host.root, folder)) {
      if (!name.starts_with("python")) continue;
      auto there = language_packages::python_packages_in(folder + "/" + name + "/site-packages", context);
      if (!there) return std::move(there).error();
      for (const auto& package : **there)
        packages.push_back(package.name + "==" + package.version);
    }
  }
  std::ranges::sort(packages);
  return packages;
}

Result<std::string> find_interpreter(std::string_view named, const language_packages::Runner& runner,
                                     Context& context) {
  const Error none(ErrorCode::not_found, "Interpreter " + std::string(named) + " not found");
  std::string path(named);
  if (named.find('/') == named.npos) {
    auto found = base::find_program(named);
    if (!found) return none;
    path = std::move(*found);
  }
  auto clean = base::clean_path(path);
  if (!clean) return std::move(clean).error();
  auto end = context.tree.follow(*clean, runner.uid);
  if (!end && end.error().code() != ErrorCode::not_found) return std::move(end).error();
  struct stat st {};
  if (!end || ::fstat(end->get(), &st) != 0 || !S_ISREG(st.st_mode) || (st.st_mode & S_IXUSR) == 0)
    return none;
  auto owned = language_packages::check_owned_way(*clean, runner.uid, context);
  return owned ? std::move(clean) : Result<std::string>(std::move(owned).error());
}

Maker maker_for(const std::string& interpreter, Context& context) {
  if (has_venv_module(interpreter, context)) return {kModule, true};
  const bool is_system =
      context.tree.real_end(interpreter) == context.tree.real_end(std::string(kSystemPython));
  return is_system ? Maker{kModule, true} : Maker{kProgram, false};
}

}  // namespace states::common_virtualenv
