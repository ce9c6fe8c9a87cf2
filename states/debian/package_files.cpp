#include "states/debian/package_files.hpp"

#include <set>

#include "base/text.hpp"

namespace states::debian {

namespace {

constexpr std::size_t kLargestList = 64 * 1024 * 1024;

}  // namespace

std::vector<std::string> files_of_package(std::string_view name, std::string_view native_architecture,
                                          base::Tree& tree) {
  // Of packages that may be there for several architectures, the list is named after both.
  const std::string plain(name.substr(0, name.find(':')));
  const std::string other =
      name.size() > plain.size() ? std::string(name) : plain + ":" + std::string(native_architecture);
  auto text = tree.read("/var/lib/dpkg/info/" + plain + ".list", kLargestList);
  if (!text) text = tree.read("/var/lib/dpkg/info/" + other + ".list", kLargestList);
  if (!text) return {};
  const auto lines = base::split(*text, '\n');
  std::set<std::string_view> folders;
  for (const std::string_view line : lines)
    if (line.starts_with('/')) folders.insert(base::split_path(line).folder);
  std::vector<std::string> files;
  for (const std::string_view line : lines)
    if (auto path = base::clean_path(line); path && !folders.contains(line))
      files.push_back(std::move(*path));
  return files;
}

}  // namespace states::debian
