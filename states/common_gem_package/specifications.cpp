#include "states/common_gem_package/specifications.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "base/files/below_root.hpp"
#include "base/text.hpp"
#include "base/tree/tree.hpp"
#include "states/versions/gem_version.hpp"

namespace states::common_gem_package {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::string_view kSuffix = ".gemspec";
constexpr std::size_t kLargestSpecification = 4 * 1024 * 1024;

// In Context::facts: the folders of specifications, with the sorted names in each.
struct Listing {
  explicit Listing(Context& context) : problem(load(context)) {}

  Result<void> load(Context& context);

  std::map<std::string, std::vector<std::string>, std::less<>> names;
  Result<void> problem;  // last: load() fills `names`
};

// "3.1.0": the folders of the ruby that /usr/bin/ruby is, where its name says so; else "".
std::string ruby_interface(Context& context) {
  const std::string program = context.tree.real_end("/usr/bin/ruby");
  const std::string version =
      program.substr(std::min(program.find_last_not_of("0123456789.") + 1, program.size()));
  return version.find('.') == version.npos ? std::string() : version + ".0";
}

std::vector<std::string> specification_folders(Context& context) {
  const std::string& root = context.host.root;
  const std::string interface = ruby_interface(context);
  std::vector<std::string> homes{"/usr/local/share/gems", "/usr/share/gems", "/usr/lib64/gems",
                                 "/usr/share/rubygems-integration/all"};
  const auto add_versions = [&](const std::string& folder) {
    for (const std::string& name : base::names_below(root, folder))
      if (interface.empty() || name == interface) homes.push_back(folder + "/" + name);
  };
  for (const char* folder : {"/var/lib/gems", "/usr/local/lib/ruby/gems", "/usr/lib/ruby/gems",
                             "/usr/lib64/ruby/gems", "/usr/share/rubygems-integration"})
    add_versions(folder);
  for (const std::string& name : base::names_below(root, "/usr/lib"))
    if (name.find("-linux-gnu") != name.npos) {
      add_versions("/usr/lib/" + name + "/ruby/gems");
      add_versions("/usr/lib/" + name + "/rubygems-integration");
    }
  std::vector<std::string> folders;
  for (const std::string& home : homes)
    for (const char* part : {"/specifications", "/specifications/default"})
      folders.push_back(home + part);
  return folders;
}

Result<void> Listing::load(Context& context) {
  for (const std::string& folder : specification_folders(context)) {
    auto opened = context.tree.folder(folder);
    if (!opened && opened.error().code() == ErrorCode::not_found) continue;
    if (!opened) return std::move(opened).error();
    names.emplace(folder, base::names_below(context.host.root, folder));
  }
  return {};
}

// The second line of a specification, "# stub: name 1.0 ruby lib": the name of its file alone does not say
// where a name such as "foo-2" ends.
struct Stub {
  std::string_view name;
  std::string_view version;
};
std::optional<Stub> stub_in(std::string_view text) {
  constexpr std::string_view kStub = "# stub: ";
  const std::size_t at = text.find(kStub);
  if (at == text.npos) return std::nullopt;
  const std::string_view line = text.substr(at + kStub.size(), text.find('\n', at) - at - kStub.size());
  const auto words = base::split_words(line);
  if (words.size() < 2) return std::nullopt;
  return Stub{words[0], words[1]};
}

// "1.2.3-x86_64-linux" is version 1.2.3.
std::string_view version_in(std::string_view rest) {
  return rest.substr(0, rest.find('-'));
}

}  // namespace

Result<std::vector<Specification>> specifications_of(std::string_view gem, Context& context) {
  const auto& listing = context.facts.get<Listing>(context);
  if (!listing.problem) return listing.problem.error();
  const std::string beginning = std::string(gem) + "-";
  std::vector<Specification> found;
  for (const auto& [folder, names] : listing.names)
    for (auto name = std::ranges::lower_bound(names, beginning);
         name != names.end() && name->starts_with(beginning); ++name) {
      const std::string_view rest = std::string_view(*name).substr(beginning.size());
      if (!rest.ends_with(kSuffix) || rest.front() < '0' || rest.front() > '9') continue;
      const std::string path = folder + "/" + *name;
      auto text = context.tree.read(path, kLargestSpecification);
      if (!text && text.error().code() == ErrorCode::not_found) continue;
      // Debian's own are links into other folders of its own.
      if (!text && text.error().code() != ErrorCode::exists) return std::move(text).error();
      const auto stub = text ? stub_in(*text) : std::nullopt;
      if (stub && stub->name != gem) continue;
      found.push_back({.version = std::string(
                           stub ? stub->version : version_in(rest.substr(0, rest.size() - kSuffix.size()))),
                       .path = path});
    }
  std::ranges::stable_sort(found, [](const Specification& a, const Specification& b) {
    return versions::compare_gem_versions(a.version, b.version) > 0;
  });
  return found;
}

}  // namespace states::common_gem_package
