#include "states/language_packages/owner.hpp"

#include "base/files/below_root.hpp"
#include "base/text.hpp"

namespace states::language_packages {

namespace {

constexpr std::string_view kListsFolder = "/var/lib/dpkg/info";
constexpr std::size_t kLargestList = 64 * 1024 * 1024;

bool has_line(std::string_view text, std::string_view line) {
  for (std::size_t at = text.find(line); at != text.npos; at = text.find(line, at + 1)) {
    const bool begins = at == 0 || text[at - 1] == '\n';
    const std::size_t end = at + line.size();
    if (begins && (end == text.size() || text[end] == '\n')) return true;
  }
  return false;
}

std::string deb_that_has(std::string_view path, Context& context) {
  for (const std::string& name : base::names_below(context.host.root, kListsFolder)) {
    if (!name.ends_with(".list")) continue;
    const auto list = context.tree.read(std::string(kListsFolder) + "/" + name, kLargestList);
    if (!list || !has_line(*list, path)) continue;
    const std::string package = name.substr(0, name.size() - std::string_view(".list").size());
    return package.substr(0, package.find(':'));  // without its architecture
  }
  return {};
}

std::string rpm_that_has(std::string_view path, Context& context) {
  base::Command command;
  command.argv = {"rpm", "-q", "--queryformat", "%{NAME}\\n", "-f", "--", std::string(path)};
  command.on_output = [](base::Stream, std::string_view) {};
  const auto asked = context.commands.run(std::move(command));
  if (!asked || !asked->ok()) return {};
  return std::string(base::trim(asked->output.substr(0, asked->output.find('\n'))));
}

}  // namespace

std::string owning_package(std::string_view path, Context& context) {
  return context.host.os.family == base::OsRelease::Family::rhel ? rpm_that_has(path, context)
                                                                 : deb_that_has(path, context);
}

}  // namespace states::language_packages
