#include "states/language_packages/entry.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <unordered_map>

#include "base/text.hpp"

namespace states::language_packages {

base::Error illegal_name(std::string_view value) {
  return base::Error(base::ErrorCode::invalid, "Illegal value for 'name': '" + std::string(value) + "'");
}

void set_wanted(Entry& entry, std::string_view value) {
  value = base::trim(value);
  entry.want = value.empty() || value == "installed" ? Want::installed
               : value == "latest"                   ? Want::latest
               : value == "removed"                  ? Want::removed
                                                     : Want::version;
  if (entry.want == Want::version) entry.version = value;
}

bool consists_of(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || others.find(c) != std::string_view::npos;
  });
}

base::Result<std::vector<Entry>> read_entries(Pairs pairs, const Grammar& grammar) {
  std::vector<Entry> entries;
  std::unordered_map<std::string, std::size_t> places;  // by package; a recipe may have many thousands
  for (const Pair& pair : pairs) {
    auto entry = grammar.read_entry(pair);
    if (!entry) return std::move(entry).error();
    const auto [place, is_new] = places.try_emplace(entry->package, entries.size());
    const Entry* known = is_new ? nullptr : &entries[place->second];
    if (!known) {
      entries.push_back(std::move(*entry));
    } else if (known->want != entry->want || known->version != entry->version || known->tag != entry->tag ||
               known->name != entry->name) {
      return base::Error(base::ErrorCode::invalid,
                         "Package '" + entry->package + "' is given twice with different values");
    }
  }
  return entries;
}

}  // namespace states::language_packages
