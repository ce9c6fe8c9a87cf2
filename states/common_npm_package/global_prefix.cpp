#include "states/common_npm_package/global_prefix.hpp"

#include <map>
#include <optional>

#include "base/text.hpp"
#include "base/tree/tree.hpp"

namespace states::common_npm_package {

namespace {

constexpr std::size_t kLargestConfig = 1024 * 1024;

// A setting of an npmrc. One that depends on the environment counts as none.
std::optional<std::string> setting(const std::string& file, std::string_view name, Context& context) {
  const auto text = context.tree.read(file, kLargestConfig);
  if (!text) return std::nullopt;
  std::optional<std::string> found;
  for (std::string_view line : base::split(*text, '\n')) {
    line = base::trim(line);
    const std::size_t equals = line.find('=');
    if (equals == line.npos || base::trim(line.substr(0, equals)) != name) continue;
    std::string_view value = base::trim(line.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    if (value.find("${") == value.npos && !value.empty()) found = std::string(value);
  }
  return found;
}

std::string folder_of(const std::string& path) {
  return std::string(base::split_path(path).folder);
}

std::string program_end(const char* name, Context& context) {
  for (const char* folder : {"/usr/local/bin/", "/usr/bin/"})
    if (std::string end = context.tree.real_end(folder + std::string(name)); !end.empty()) return end;
  return {};
}

}  // namespace

std::string global_prefix(Context& context) {
  // <npm's folder>/bin/npm-cli.js
  const std::string program = program_end("npm", context);
  if (program.empty()) return {};
  const std::string builtin = folder_of(folder_of(program)) + "/npmrc";
  const std::string node = program_end("node", context);
  const std::string fallback = node.empty() ? "/usr" : folder_of(folder_of(node));
  const std::string global =
      setting(builtin, "globalconfig", context).value_or((fallback == "/" ? "" : fallback) + "/etc/npmrc");
  for (const std::string& file : {std::string("/root/.npmrc"), global, builtin})
    if (const auto prefix = setting(file, "prefix", context))
      if (auto clean = base::clean_path(*prefix)) return std::move(*clean);
  return fallback;
}

}  // namespace states::common_npm_package
