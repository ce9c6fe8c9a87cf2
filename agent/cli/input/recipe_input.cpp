#include "agent/cli/input/recipe_input.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

#include "agent/cli/output/event_json.hpp"
#include "base/files/way.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

void show_problems(const recipe::Loaded& loaded, const std::string& path, terminal::Console& console) {
  const std::string name = path == "-" ? "<stdin>" : path;
  console.out.flush();
  for (const recipe::Problem& warning : loaded.warnings)
    console.err.line(console.paint_errors(terminal::Style::yellow, "warning:") + " " +
                     terminal::printable(describe(warning, name)));
  for (const recipe::Problem& problem : loaded.problems)
    console.err.line(terminal::printable(describe(problem, name)));
  console.err.flush();
}

std::shared_ptr<const recipe::Recipe> usable_recipe(recipe::Loaded loaded, const std::string& path,
                                                    const Options& options, terminal::Console& console) {
  if (options.json && !loaded.recipe)
    console.out.json(problems_json(path, loaded.problems, loaded.warnings));
  else
    show_problems(loaded, path, console);
  return std::move(loaded.recipe);
}

base::Result<std::string> absolute_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (!real) return base::os_error(errno, path);
  return std::string(real.get());
}

base::Result<std::string> root_path(const std::string& root) {
  if (root.find_first_not_of('/') == std::string::npos) return std::string();
  auto way = base::walk_way(root);
  if (!way) return std::move(way).error().with_context("--root");
  struct stat there {};
  struct stat top {};
  if (::fstat(way->end.get(), &there) != 0 || ::stat("/", &top) != 0)
    return base::os_error(errno, "--root: " + root);
  if (there.st_dev == top.st_dev && there.st_ino == top.st_ino)
    return base::Error(base::ErrorCode::invalid, "--root: " + root +
                                                     " is this machine itself, under another name; leave "
                                                     "--root out if that is meant");
  return std::move(way->path);
}

base::Result<states::Host> make_host(const std::string& root, const std::string& state_dir) {
  states::Host host;
  host.state_dir = state_dir;
  auto path = root_path(root);
  if (!path) return std::move(path).error();
  host.root = std::move(*path);
  host.os = base::read_os_release(host.root);
  return host;
}

}  // namespace agent::cli
