// opsctl doctor: the installation against docs/security.md.
#include <algorithm>

#include "base/values/json_text.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/doctor.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/show.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::ErrorCode;
using base::Result;
using base::Value;
using terminal::printable;
using terminal::Style;

constexpr int kFound = 2;
// What the command answers inside for that: 2 means wrong usage everywhere else.
constexpr int kFoundInside = 102;

Result<std::vector<Finding>> examine(Session& session) {
  auto tokens = session.api.list("/tokens", {}, kMostRows);
  if (!tokens) return std::move(tokens).error();
  auto apps = session.api.list("/apps", {}, kMostRows);
  if (!apps) return std::move(apps).error();
  auto installation = session.api.send({.path = "/installation"});
  if (!installation && installation.error().code() != ErrorCode::not_found)
    return std::move(installation).error();
  return find_faults(installation ? installation->document.root() : Value(), tokens->items, apps->items,
                     now());
}

void add_findings(base::JsonText& json, std::string_view name, const std::vector<Finding>& all, bool notes) {
  json.key(name).begin_list();
  for (const Finding& each : all)
    if (each.is_note == notes)
      json.begin_object()
          .member("check", each.check)
          .member("what", each.what)
          .member("advice", each.advice)
          .end_object();
  json.end_list();
}

void show_finding(Session& session, const Finding& finding) {
  terminal::Console& console = session.console;
  console.out.line(
      (finding.is_note ? console.paint(Style::dim, "note     ") : console.paint(Style::yellow, "finding  ")) +
      printable(finding.what));
  console.out.line("         " + printable(finding.advice));
}

Result<int> doctor_command(Session& session) {
  auto found = examine(session);
  if (!found) return std::move(found).error();
  const auto count = static_cast<std::size_t>(std::ranges::count(*found, false, &Finding::is_note));
  const int status = count == 0 ? kOk : kFoundInside;
  base::JsonText json;
  json.begin_object().member("ok", count == 0);
  add_findings(json, "findings", *found, false);
  add_findings(json, "notes", *found, true);
  const Document document(json.end_object().take());
  if (show_document(session, document.root())) return status;
  for (const bool notes : {false, true})
    for (const Finding& each : *found)
      if (each.is_note == notes) show_finding(session, each);
  session.console.out.line(count == 0 ? "Nothing is wrong." : count_text(count, "finding") + ".");
  return status;
}

}  // namespace

int doctor_run(const terminal::CommandLine& line, terminal::Console& console) {
  Options options = static_cast<const Options&>(line);
  if (options.json) options.format = Format::json;
  const int status = run_with_server(doctor_command, options, console);
  if (status == kFoundInside) return kFound;
  return status == kOk ? kOk : kFailed;
}

}  // namespace ctl
