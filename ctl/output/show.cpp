#include "ctl/output/show.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/document_text.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

using base::Error;
using base::ErrorCode;
using base::Result;
using terminal::Style;

namespace {

std::string_view without_app(std::string_view instance) {
  const std::size_t slash = instance.find('/');
  return slash == std::string_view::npos ? instance : instance.substr(slash + 1);
}

// A value of a selector; a * in it stands for any text.
std::string selector_value(std::string_view text) {
  const bool is_word = std::ranges::all_of(text, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '*';
  });
  return is_word && !text.empty() ? std::string(text) : "\"" + std::string(text) + "\"";
}

}  // namespace

std::string named_app(const Options& options) {
  if (!options.app.empty() || options.instances.empty()) return options.app;
  const std::string& first = options.instances.front();
  return first.substr(0, first.find('/') == std::string::npos ? 0 : first.find('/'));
}

std::string app_of(const Options& options) {
  const std::string named = named_app(options);
  return named.empty() ? "default" : named;
}

Machine machine_of(std::string_view argument, const Options& options) {
  const std::size_t slash = argument.find('/');
  if (slash == std::string_view::npos) return {.app = app_of(options), .instance = std::string(argument)};
  return {.app = std::string(argument.substr(0, slash)), .instance = std::string(argument.substr(slash + 1))};
}

std::string selector_of(const Options& options) {
  std::vector<std::string> names;
  for (const std::string& instance : options.instances)
    names.push_back(selector_value(without_app(instance)));
  std::string machines;
  if (names.size() == 1) machines = "instance=" + names.front();
  if (names.size() > 1) machines = "instance in (" + base::join(names, ", ") + ")";
  if (machines.empty() || options.selector.empty()) return machines + options.selector;
  return machines + " and (" + options.selector + ")";
}

Result<std::string> required_selector(const Options& options) {
  std::string selector = selector_of(options);
  if (!selector.empty()) return selector;
  return Error(ErrorCode::invalid,
               "which machines? --selector SELECTOR or --instance ID; --selector '*' is all of them");
}

Parameters machine_parameters(const Options& options) {
  Parameters parameters;
  if (options.instances.size() == 1) {
    const Machine machine = machine_of(options.instances.front(), options);
    parameters.emplace_back("app", machine.app);
    parameters.emplace_back("instance", machine.instance);
    if (!options.selector.empty()) parameters.emplace_back("selector", options.selector);
    return parameters;
  }
  if (const std::string app = options.instances.empty() ? options.app : app_of(options); !app.empty())
    parameters.emplace_back("app", app);
  if (const std::string selector = selector_of(options); !selector.empty())
    parameters.emplace_back("selector", selector);
  return parameters;
}

Result<std::string> object_from(std::span<const std::string> arguments) {
  std::string text = "{";
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error(ErrorCode::invalid, "'" + argument + "' is neither KEY=TEXT nor KEY:=JSON");
    const bool is_json = argument[equals - 1] == ':';
    const std::string_view value = std::string_view(argument).substr(equals + 1);
    if (is_json && equals == 1) return Error(ErrorCode::invalid, "'" + argument + "' has no KEY before ':='");
    if (is_json) {
      base::Arena arena;
      const auto parsed = base::parse_json(value, arena);
      if (const auto* problem = std::get_if<base::SyntaxProblem>(&parsed))
        return Error(ErrorCode::invalid, "'" + argument + "' is not JSON behind ':=': " + problem->message);
    }
    text +=
        (text.size() > 1 ? "," : "") + base::json_quote(argument.substr(0, equals - (is_json ? 1 : 0))) + ":";
    text += is_json ? std::string(value) : base::json_quote(value);
  }
  return text + "}";
}

bool show_document(Session& session, const base::Value& value) {
  switch (session.options.format) {
    case Format::table:
      return false;
    case Format::json:
      session.console.out.write(pretty_json(value));
      return true;
    case Format::yaml:
      session.console.out.write(yaml_text(value));
      return true;
  }
  return false;
}

void show_table(Session& session, const Table& table) {
  const std::size_t width = output_width();
  session.console.out.write(table.text(session.console.paint, width));
  const std::vector<std::string> left_out = table.left_out(width);
  if (left_out.empty()) return;
  const std::string note = terminal::wrap(
      "no room for " + base::join(left_out, ", ") + ": a wider terminal, '| less -S' or -o json shows them)",
      "(", " ", width);
  for (const std::string_view line : base::split(note, '\n'))
    session.console.out.line(session.console.paint(Style::dim, line));
}

void show_list(Session& session, const Listing& listing, Table table,
               const std::function<std::vector<Cell>(const base::Value&)>& row, std::string_view none) {
  if (session.options.format != Format::table) {
    std::vector<base::Member> members{{.key = "items", .value = base::Value::list(listing.items)}};
    members.push_back(
        {.key = "next", .value = listing.next.empty() ? base::Value() : base::Value::string(listing.next)});
    show_document(session, base::Value::object(members));
    return;
  }
  for (const base::Value& item : listing.items)
    table.add(row(item));
  if (table.empty())
    session.console.out.line(none);
  else
    show_table(session, table);
  if (!listing.next.empty())
    session.console.warn("there are more than these " + std::to_string(listing.items.size()) +
                         ": --limit N shows more");
}

void show_warnings(Session& session, const base::Value& answer) {
  for (const base::Value& warning : items_field(answer, "warnings"))
    session.console.warn(terminal::printable(text_of(warning)));
  const auto rejections = items_field(answer, "rejections");
  for (const base::Value& each : rejections)
    session.console.warn(
        terminal::printable(text_field(each, "app_id") + "/" + text_field(each, "instance_id") +
                            " is rejected, and keeps what it has: " + text_field(each, "reason")));
  const auto all = static_cast<std::size_t>(number_field(answer, "rejected"));
  if (all > rejections.size())
    session.console.warn(count_text(all - rejections.size(), "more machine") + " rejected");
}

Cell outcome_cell(std::string_view outcome) {
  if (outcome == "kept" || outcome == "skipped") return {std::string(outcome), Style::dim};
  if (outcome == "changed") return {std::string(outcome), Style::yellow};
  return {outcome == "timed_out" ? "timed out" : std::string(outcome), Style::red};
}

Cell status_cell(std::string_view status) {
  if (status == "converged") return {std::string(status), Style::green};
  if (status == "failed" || status == "rejected") return {std::string(status), Style::red};
  if (status == "running" || status == "accepted") return {std::string(status), Style::yellow};
  return {std::string(status), Style::dim};
}

std::string count_text(std::size_t number, std::string_view what) {
  return std::to_string(number) + " " + std::string(what) + (number == 1 ? "" : "s");
}

}  // namespace ctl
