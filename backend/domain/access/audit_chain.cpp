#include "backend/domain/access/audit_chain.hpp"

#include "base/sha256.hpp"

namespace backend::domain {

std::string chain_after(std::string_view previous, const AuditRow& row) {
  std::string text(previous);
  // Each field with its length before it: no content of one can look like the beginning of another.
  const auto add = [&](std::string_view field) {
    text += std::to_string(field.size());
    text += ':';
    text += field;
    text += ',';
  };
  add(std::to_string(row.id));
  add(std::to_string(row.at));
  for (const std::string* field : {&row.actor, &row.from, &row.action, &row.object, &row.detail, &row.result})
    add(*field);
  return base::sha256_hex(text);
}

}  // namespace backend::domain
