// Pages of lists of which a token with a scope sees some rows. Neither how full a page is nor its cursor
// tells of the others: hidden rows are passed over until the page is full, and the cursor is sealed.
//
// read_visible() is for a store's thread, the others are the loop's.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "backend/api/callers/visibility.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"

namespace backend::api {

// As page_of(), and for a scope the cursor is opened. 400: it is none that this caller got from this list.
std::variant<domain::PageRequest, HttpResponse> visible_page_of(const Context& context, const Call& call);
// The cursor as this caller may have it.
std::string next_for(const Context& context, const Call& call, const std::string& next);

// One call looks through so many rows, and asks the store so often, at most: a scope that reaches nobody must
// not read the whole database. The page is then short, or empty, and has a next one.
inline constexpr std::size_t kMostLookedThrough = 10'000;
inline constexpr std::size_t kMostParts = 10;

// `list` is Result<Page<Row>>(PageRequest); `keep` is Result<vector<Row>>(vector<Row>), those that can be
// seen; `cursor_of` and `size_of` are of one row: where a page that ends with it goes on, and its bytes.
template <class Row, class List, class Keep, class CursorOf, class SizeOf>
base::Result<domain::Page<Row>> read_visible(const Scope& scope, const domain::PageRequest& page, List list,
                                             Keep keep, CursorOf cursor_of, SizeOf size_of) {
  if (!scope) return list(page);
  domain::Page<Row> seen;
  domain::PageRequest part{.after = page.after, .limit = domain::kLargestPage};
  std::size_t looked = 0, parts = 0, bytes = 0;
  do {
    auto some = list(part);
    if (!some) return std::move(some).error();
    part.after = std::move(some->next);
    looked += some->items.size();
    auto kept = keep(std::move(some->items));
    if (!kept) return std::move(kept).error();
    for (Row& row : *kept) {
      bytes += size_of(row);
      seen.items.push_back(std::move(row));
      if (seen.items.size() < page.limit && bytes < domain::kMostPageBytes) continue;
      seen.next = cursor_of(seen.items.back());
      return seen;
    }
  } while (!part.after.empty() && looked < kMostLookedThrough && ++parts < kMostParts);
  seen.next = std::move(part.after);
  return seen;
}
template <class Row, class List, class Keep, class CursorOf>
base::Result<domain::Page<Row>> read_visible(const Scope& scope, const domain::PageRequest& page, List list,
                                             Keep keep, CursorOf cursor_of) {
  return read_visible<Row>(scope, page, std::move(list), std::move(keep), std::move(cursor_of),
                           [](const Row&) { return std::size_t{0}; });
}

// The rows for which `sees` (Result<bool>(const Row&)) says yes.
template <class Row, class Sees>
base::Result<std::vector<Row>> only(std::vector<Row> rows, Sees sees) {
  std::vector<Row> kept;
  for (Row& row : rows) {
    auto has = sees(row);
    if (!has) return std::move(has).error();
    if (*has) kept.push_back(std::move(row));
  }
  return kept;
}

// Those whose machines can be seen; `set_of` says what each is for.
template <class Row, class SetOf>
base::Result<std::vector<Row>> only_visible(store::Store& store, const Scope& scope, std::vector<Row> rows,
                                            SetOf set_of) {
  std::vector<MachineSet> sets;
  for (const Row& row : rows)
    sets.push_back(set_of(row));
  auto visible = visible_sets(store, scope, sets);
  if (!visible) return std::move(visible).error();
  std::vector<Row> kept;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if ((*visible)[i]) kept.push_back(std::move(rows[i]));
  return kept;
}

}  // namespace backend::api
