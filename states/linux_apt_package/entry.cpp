#include "states/linux_apt_package/entry.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <unordered_map>

#include "base/text.hpp"
#include "states/debian/debian_version.hpp"
#include "states/downloads/source.hpp"

namespace states::linux_apt_package {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

struct Operator {
  std::string_view text;
  Relation relation;
};
// Longer ones first.
constexpr std::array kOperators{Operator{"<=", Relation::less_equal}, Operator{">=", Relation::greater_equal},
                                Operator{"<", Relation::less}, Operator{">", Relation::greater},
                                Operator{"=", Relation::equal}};

Error illegal(std::string_view value) {
  return Error(ErrorCode::invalid, "Illegal value for 'name': '" + std::string(value) + "'");
}

bool is_alnum(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool is_one_of(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

// What dpkg takes for a package name, with an architecture behind a colon or not. Neither an option nor a
// pattern is one.
bool is_package_name(std::string_view name) {
  const std::size_t colon = name.find(':');
  const std::string_view package = name.substr(0, colon);
  if (package.empty() || !is_alnum(package.front())) return false;
  if (!std::ranges::all_of(package, [](char c) { return is_alnum(c) || is_one_of(c, "+-._"); })) return false;
  if (colon == std::string_view::npos) return true;
  const std::string_view architecture = name.substr(colon + 1);
  return !architecture.empty() && is_alnum(architecture.front()) &&
         std::ranges::all_of(architecture, [](char c) { return is_alnum(c) || c == '-'; });
}

Result<Entry> read_file_entry(const Pair& pair) {
  const auto is_remote = [&](std::string_view scheme) { return pair.value.starts_with(scheme); };
  auto source = is_remote("http:") || is_remote("https:") || is_remote("ftp:")
                    ? downloads::parse_source(pair.value)
                    : downloads::parse_local(pair.value);
  if (!source) return std::move(source).error();
  return Entry{.name = std::string(pair.key),
               .want = Want::file,
               .file = std::move(source->url),
               .checksum = std::move(source->checksum)};
}

bool same(const Entry& a, const Entry& b) {
  return a.want == b.want && a.relation == b.relation && a.version == b.version && a.file == b.file &&
         a.checksum == b.checksum;
}

}  // namespace

Result<Entry> read_entry(const Pair& pair) {
  const std::string_view value = base::trim(pair.value);
  if (downloads::without_checksum(value).ends_with(".deb")) return read_file_entry({pair.key, value});
  if (!is_package_name(pair.key)) return illegal(pair.key);
  Entry entry{.name = std::string(pair.key)};
  if (value.empty() || value == "installed") return entry;
  entry.want = value == "latest"    ? Want::latest
               : value == "removed" ? Want::removed
               : value == "purged"  ? Want::purged
                                    : Want::version;
  if (entry.want != Want::version) return entry;
  std::string_view version = value;
  for (const Operator& known : kOperators)
    if (version.starts_with(known.text)) {
      entry.relation = known.relation;
      version = base::trim(version.substr(known.text.size()));
      break;
    }
  if (!debian::is_debian_version(version)) return illegal(pair.value);
  entry.version = std::string(version);
  return entry;
}

Result<Request> read_request(Pairs pairs) {
  Request request;
  std::unordered_map<std::string, std::size_t> first;  // of each name; a recipe may have many thousands
  for (const Pair& pair : pairs) {
    auto entry = read_entry(pair);
    if (!entry) return std::move(entry).error();
    const auto [place, is_new] = first.try_emplace(entry->name, request.entries.size());
    const Entry* known = is_new ? nullptr : &request.entries[place->second];
    // Of files only the labels are equal.
    if (!known || (entry->want == Want::file && known->want == Want::file)) {
      request.entries.push_back(std::move(*entry));
    } else if (!same(*known, *entry)) {
      return Error(ErrorCode::invalid, "Package '" + entry->name + "' is given twice with different values");
    }
  }
  const auto is_file = [](const Entry& entry) { return entry.want == Want::file; };
  if (std::ranges::none_of(request.entries, is_file)) return request;
  for (const Entry& entry : request.entries)
    if (!is_file(entry)) request.skipped.push_back(entry.name);
  std::erase_if(request.entries, [&](const Entry& entry) { return !is_file(entry); });
  return request;
}

bool is_satisfied(const Entry& entry, std::string_view version) {
  const int order = debian::compare_debian_versions(version, entry.version);
  switch (entry.relation) {
    case Relation::equal:
      return order == 0;
    case Relation::less:
      return order < 0;
    case Relation::less_equal:
      return order <= 0;
    case Relation::greater:
      return order > 0;
    case Relation::greater_equal:
      return order >= 0;
    case Relation::matching:
      break;
  }
  for (const std::string_view whole : {version, debian::without_epoch(version)}) {
    if (!whole.starts_with(entry.version)) continue;
    if (whole.size() == entry.version.size()) return true;
    if (is_one_of(whole[entry.version.size()], ".-+~:")) return true;
  }
  return order == 0;
}

std::string version_text(const Entry& entry) {
  for (const Operator& known : kOperators)
    if (known.relation == entry.relation) return std::string(known.text) + " " + entry.version;
  return entry.version;
}

}  // namespace states::linux_apt_package
