// What commands share: which machines are meant, and how answers are shown.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ctl/api.hpp"
#include "ctl/options.hpp"
#include "ctl/output/table.hpp"

namespace ctl {

// ---- which machines

struct Machine {
  std::string app;
  std::string instance;
};

// The app that --app or an --instance APP/ID names; "" when neither does.
std::string named_app(const Options& options);
std::string app_of(const Options& options);  // the same, or 'default'
// "web1" or "shop/web1".
Machine machine_of(std::string_view argument, const Options& options);
// --selector and --instance together; "" when neither is given.
std::string selector_of(const Options& options);
// The same, for what must not hit all machines by accident.
base::Result<std::string> required_selector(const Options& options);

// What lists and streams of many machines are asked for: one machine by its name, others by a selector.
Parameters machine_parameters(const Options& options);

// KEY=TEXT and KEY:=JSON as the text of a JSON object.
base::Result<std::string> object_from(std::span<const std::string> arguments);

// ---- answers

// As JSON or YAML if that was asked for; false: it is for people, and the caller shows it.
bool show_document(Session& session, const base::Value& value);
// The list as a document, or as a table with a row per item. `none` is said when there is nothing.
void show_list(Session& session, const Listing& listing, Table table,
               const std::function<std::vector<Cell>(const base::Value&)>& row, std::string_view none);

// On a terminal that is too narrow for all of it, it says which columns are missing.
void show_table(Session& session, const Table& table);

// What the backend warns of ("warnings"), and the machines that it could not place ("rejections"): on
// standard error, whatever the format.
void show_warnings(Session& session, const base::Value& answer);

Cell outcome_cell(std::string_view outcome);  // in the colour that it deserves
Cell status_cell(std::string_view status);

// "1 machine", "3 machines"
std::string count_text(std::size_t number, std::string_view what);

}  // namespace ctl
