// Uses: what a template reads of the variables that it is given, as far as its text says.
#pragma once

#include <string>
#include <vector>

#include "templates/templates.hpp"

namespace templates {

struct Use {
  std::vector<std::string> path;  // "vars", "db", "port" for vars.db.port and vars['db'].port
  std::size_t line, column;       // from 1, in the template's file
  bool may_be_missing = false;    // it is asked whether it is there, or what holds if not
};

struct Uses {
  std::vector<Use> variables;          // in the order of the text; a path may stand there more than once
  std::vector<std::string> secrets;    // names in secret('…')
  std::vector<std::string> templates;  // names that are included or imported
  bool has_computed_secrets = false;   // besides, whose names the text does not have
  bool has_computed_templates = false;
};

Uses uses_of(const Template& given);

}  // namespace templates
