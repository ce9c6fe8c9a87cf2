// The audit: who did what, and whether anybody has touched the record of it.
#include "base/values/json_text.hpp"
#include "ctl/audit_chain.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/show.hpp"
#include "ctl/time_text.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;
using terminal::Style;

constexpr std::size_t kScreenful = 50;

Cell result_cell(std::string_view result) {
  return {std::string(result), result == "denied" ? Style::red : Style::dim};
}

Result<int> list_audit(Session& session) {
  auto rows = session.api.list("/audit", {}, session.options.limit.value_or(kScreenful));
  if (!rows) return std::move(rows).error();
  const Instant at = now();
  show_list(
      session, *rows, Table({">ID", "WHEN", "WHO", "FROM", "ACTION", "WHAT", "RESULT", "DETAIL"}),
      [&](const Value& each) {
        return std::vector<Cell>{{text_field(each, "id")},
                                 {age_text(field(each, "at"), at)},
                                 {text_field(each, "actor")},
                                 {text_field(each, "from")},
                                 {text_field(each, "action")},
                                 {text_field(each, "object")},
                                 result_cell(text_field(each, "result")),
                                 {text_field(each, "detail")}};
      },
      "nothing has been done yet");
  return kOk;
}

// Page by page, from the oldest: the whole of it may be larger than memory.
Result<bool> check_all(Session& session, AuditChain& chain) {
  std::string after;
  while (true) {
    Request request{.path = "/audit", .parameters = {{"order", "oldest"}, {"limit", "1000"}}};
    if (!after.empty()) request.parameters.emplace_back("after", after);
    auto reply = session.api.send(request);
    if (!reply) return std::move(reply).error();
    const Value& root = reply->document.root();
    for (const Value& row : items_field(root, "items"))
      if (!chain.take(row)) return false;
    const std::string next = text_field(root, "next");
    if (next.empty()) return chain.finish(field(root, "head"));
    if (next == after) return Error(ErrorCode::internal, "the backend gave the same page twice: /audit");
    after = next;
  }
}

Result<int> verify_audit(Session& session) {
  AuditChain chain(session.options.head);
  auto intact = check_all(session, chain);
  if (!intact) return std::move(intact).error();
  const int status = *intact ? kOk : kFailed;
  base::JsonText json;
  json.begin_object().member("rows", chain.rows()).member("intact", *intact).member("head", chain.head());
  if (!*intact) json.member("problem", chain.problem());
  if (chain.bad_row() != 0) json.member("bad_row", chain.bad_row());
  const Document document(json.end_object().take());
  if (show_document(session, document.root())) return status;
  if (*intact)
    session.console.out.line(count_text(chain.rows(), "row") + ", chain intact, head " + chain.head());
  else
    session.console.complain(
        terminal::printable("after " + count_text(chain.rows(), "good row") + ": " + chain.problem()));
  return status;
}

}  // namespace

Result<int> audit_command(Session& session) {
  if (session.options.arguments.empty()) {
    if (session.options.head.empty()) return list_audit(session);
    return Error(ErrorCode::invalid, "--head is for 'opsctl audit verify'");
  }
  if (session.options.arguments.front() == "verify") return verify_audit(session);
  return Error(ErrorCode::invalid, "'" + session.options.arguments.front() +
                                       "' is nothing to do with the audit; there is: opsctl audit [verify]");
}

}  // namespace ctl
