// `opsctl module`: what the module repository of an app, or of a recipe, has.
#include "ctl/commands/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/show.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

// Of the recipe that --recipe names, else of the app.
Request request_for(const Options& options) {
  Request request;
  if (options.recipe.empty()) {
    request.path = "/apps/" + path_part(app_of(options)) + "/modules";
    return request;
  }
  request.path = "/recipes/" + path_part(options.recipe) + "/modules";
  if (!options.revision.empty() && options.revision != "newest")
    request.parameters.emplace_back("revision", options.revision);
  return request;
}

Result<void> check_options(const Options& options) {
  if (!options.recipe.empty() && !options.app.empty())
    return Error(ErrorCode::invalid, "--app or --recipe, not both");
  if (options.recipe.empty() && !options.revision.empty())
    return Error(ErrorCode::invalid, "--revision is of a recipe: name that with --recipe");
  return {};
}

void show_source(Session& session, const Value& root) {
  session.console.out.line(terminal::printable("Repository " + text_field(root, "module.repo") + ", tag " +
                                               text_field(root, "module.tag") + ", commit " +
                                               text_field(root, "module.commit")));
  if (const std::string warning = text_field(root, "warning"); !warning.empty())
    session.console.warn(terminal::printable(warning));
}

std::string marks_of(const Value& parameter) {
  std::string marks;
  if (flag_field(parameter, "required")) marks = "required";
  if (flag_field(parameter, "secret")) marks += marks.empty() ? "secret" : ", secret";
  return marks;
}

}  // namespace

Result<int> module_list_command(Session& session) {
  if (auto fine = check_options(session.options); !fine) return std::move(fine).error();
  auto reply = session.api.send(request_for(session.options));
  if (!reply) return std::move(reply).error();
  const Value& root = reply->document.root();
  if (show_document(session, root)) return kOk;
  show_source(session, root);
  Table table({"MODULE", "VERSION", "PLANS", "SUMMARY"});
  for (const Value& each : items_field(root, "items"))
    table.add({{text_field(each, "name")},
               {text_field(each, "version")},
               {flag_field(each, "supports_plan") ? "yes" : "no"},
               {text_field(each, "summary")}});
  if (table.empty())
    session.console.out.line("It has no modules: recipes use the native states only.");
  else
    show_table(session, table);
  return kOk;
}

Result<int> module_show_command(Session& session) {
  if (auto fine = check_options(session.options); !fine) return std::move(fine).error();
  Request request = request_for(session.options);
  request.path += "/" + path_part(session.options.arguments.front());
  auto reply = session.api.send(request);
  if (!reply) return std::move(reply).error();
  const Value& root = reply->document.root();
  if (show_document(session, root)) return kOk;
  session.console.out.line(terminal::printable(text_field(root, "name") + " " + text_field(root, "version") +
                                               ": " + text_field(root, "summary")));
  show_source(session, root);
  Table table({"PARAMETER", "TYPE", "", "DEFAULT", "MEANING"});
  for (const Value& each : items_field(root, "parameters"))
    table.add({{text_field(each, "name")},
               {text_field(each, "type")},
               {marks_of(each)},
               {text_field(each, "default")},
               {text_field(each, "doc")}});
  if (!table.empty()) show_table(session, table);
  if (const std::string page = text_field(root, "page"); !page.empty())
    session.console.out.line("\n" + terminal::printable(page, true));
  return kOk;
}

}  // namespace ctl
