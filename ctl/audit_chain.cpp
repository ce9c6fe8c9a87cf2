#include "ctl/audit_chain.hpp"

#include "base/sha256.hpp"
#include "ctl/fields.hpp"
#include "ctl/time_text.hpp"

namespace ctl {

namespace {

void add_field(std::string& text, std::string_view field) {
  text.append(std::to_string(field.size())).append(":").append(field).append(",");
}

}  // namespace

bool AuditChain::fail(std::int64_t row, std::string problem) {
  bad_row_ = row;
  problem_ = std::move(problem);
  return false;
}

bool AuditChain::take(const base::Value& row) {
  const std::int64_t id = number_field(row, "id");
  const auto at = instant_of(field(row, "at"));
  std::string text = chain_;
  add_field(text, std::to_string(id));
  add_field(text, std::to_string(at ? at->time_since_epoch().count() : 0));
  for (const std::string_view name : {"actor", "from", "action", "object", "detail", "result"})
    add_field(text, text_field(row, name));
  std::string chain = base::sha256_hex(text);
  if (chain != text_field(row, "chain")) {
    if (id > last_ + 1)
      return fail(id, "row " + std::to_string(id) + " does not follow row " + std::to_string(last_) +
                          ": what was between them is missing");
    return fail(id, "row " + std::to_string(id) + " is not as it was written, or not where it was");
  }
  chain_ = std::move(chain);
  last_ = id;
  ++rows_;
  if (chain_ == noted_) saw_noted_ = true;
  return true;
}

bool AuditChain::finish(const base::Value& head) {
  const std::int64_t newest = number_field(head, "id");
  if (newest != last_)
    return fail(0, "the newest row is " + std::to_string(last_) + ", and there was a row " +
                       std::to_string(newest) + ": the end is missing");
  if (last_ != 0 && text_field(head, "chain") != chain_)
    return fail(last_, "the chain ends in another way than the backend remembers");
  if (!saw_noted_)
    return fail(0, "the head that was noted, " + noted_ +
                       ", is not in this chain: rows were removed, or all of it was written anew");
  return true;
}

}  // namespace ctl
