#include "states/linux_yum_package/entry.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <unordered_map>

#include "base/text.hpp"
#include "states/downloads/source.hpp"
#include "states/versions/rpm_version.hpp"

namespace states::linux_yum_package {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::array<std::string_view, 14> kArchitectures{"noarch", "x86_64",  "i386",    "i486",  "i586",
                                                          "i686",   "aarch64", "armv7hl", "ppc64", "ppc64le",
                                                          "s390x",  "s390",    "riscv64", "ia64"};

Error illegal(std::string_view value) {
  return Error(ErrorCode::invalid, "Illegal value for 'name': '" + std::string(value) + "'");
}

bool is_alnum(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// Neither an option, nor a pattern, nor a path or an address.
bool is_package_name(std::string_view name) {
  return !name.empty() && (is_alnum(name.front()) || name.front() == '_') &&
         std::ranges::all_of(name, [](char c) {
           return is_alnum(c) || std::string_view("+-._").find(c) != std::string_view::npos;
         });
}

Result<Entry> read_file(const Pair& pair, std::string_view file) {
  for (const std::string_view remote : {"http:", "https:", "ftp:"})
    if (file.starts_with(remote))
      return Error(ErrorCode::invalid,
                   "Cannot download " + std::string(file) +
                       ": this state does not fetch package files; let an earlier state fetch it "
                       "and give its local path");
  auto source = downloads::parse_local(file);
  if (!source) return std::move(source).error();
  return Entry{.name = std::string(pair.key),
               .want = Want::file,
               .file = std::move(source->url),
               .checksum = std::move(source->checksum)};
}

Result<Entry> read_entry(const Pair& pair) {
  std::string_view value = base::trim(pair.value);
  if (downloads::without_checksum(value).ends_with(".rpm")) return read_file(pair, value);
  if (!is_package_name(pair.key)) return illegal(pair.key);
  Entry entry{.name = std::string(pair.key)};
  const std::size_t dot = pair.key.rfind('.');
  if (dot != pair.key.npos &&
      std::ranges::find(kArchitectures, pair.key.substr(dot + 1)) != kArchitectures.end()) {
    entry.architecture = pair.key.substr(dot + 1);
    entry.name.resize(dot);
  }
  if (value.empty() || value == "installed") return entry;
  entry.want = value == "latest"                         ? Want::latest
               : value == "removed" || value == "purged" ? Want::removed
                                                         : Want::version;
  if (entry.want != Want::version) return entry;
  const bool has_operator = !value.starts_with("!=") && !value.starts_with("==");
  if (has_operator) entry.relation = versions::take_relation(value);
  value = base::trim(value);
  if (!versions::is_rpm_version(value)) return illegal(pair.value);
  entry.version = value;
  return entry;
}

bool same(const Entry& a, const Entry& b) {
  return a.want == b.want && a.relation == b.relation && a.version == b.version && a.file == b.file &&
         a.checksum == b.checksum;
}

}  // namespace

Result<Request> read_request(Pairs pairs) {
  Request request;
  std::unordered_map<std::string, std::size_t> first;  // of each name; a recipe may have many thousands
  const auto is_file = [](const Entry& entry) { return entry.want == Want::file; };
  for (const Pair& pair : pairs) {
    auto entry = read_entry(pair);
    if (!entry) return std::move(entry).error();
    const auto [place, is_new] = first.try_emplace(entry->whole_name(), request.entries.size());
    const Entry* known = is_new ? nullptr : &request.entries[place->second];
    if (!known || (is_file(*known) && is_file(*entry)))
      request.entries.push_back(std::move(*entry));
    else if (!same(*known, *entry))
      return Error(ErrorCode::invalid,
                   "Package '" + entry->whole_name() + "' is given twice with different values");
  }
  if (std::ranges::none_of(request.entries, is_file)) return request;
  for (const Entry& entry : request.entries)
    if (!is_file(entry)) request.skipped.push_back(entry.whole_name());
  std::erase_if(request.entries, [&](const Entry& entry) { return !is_file(entry); });
  return request;
}

bool is_satisfied(const Entry& entry, std::string_view version) {
  const int order = versions::compare_rpm_versions(version, entry.version);
  if (entry.relation) return versions::holds(*entry.relation, order);
  for (const std::string_view whole : {version, versions::without_rpm_epoch(version)}) {
    if (!whole.starts_with(entry.version)) continue;
    if (whole.size() == entry.version.size()) return true;
    if (std::string_view(".-+~^:").find(whole[entry.version.size()]) != std::string_view::npos) return true;
  }
  return order == 0;
}

std::string version_text(const Entry& entry) {
  if (!entry.relation) return entry.version;
  constexpr std::array<std::string_view, 6> kSigns{"=", "!=", "<", "<=", ">", ">="};
  return std::string(kSigns[static_cast<std::size_t>(*entry.relation)]) + " " + entry.version;
}

}  // namespace states::linux_yum_package
