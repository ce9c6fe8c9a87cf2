// Inputs: what the expressions and templates of a recipe are filled in with on a machine. docs/recipes.md has
// the language.
//
// Whoever loads a recipe fills them: the command line from its options, the daemon from what the backend has
// sent and from the facts. Everything is a copy, so an Inputs may be kept and loaded with again.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace recipe {

// Variables that come from one place.
struct VariableLayer {
  std::string origin;  // for people: "--var", "site.yaml", "the machine"
  std::string values;  // an object, JSON or YAML: {"port": 81}
};

// Where ${{ secret('name') }} comes from. An Error must not say what is in the secret.
class SecretSource {
 public:
  virtual ~SecretSource() = default;
  virtual base::Result<std::string> secret(std::string_view name) = 0;
};

// Where `include`, `template_file` and the includes of templates come from. Names are relative to the
// recipe's folder and clean: without "..", never absolute.
class FileSource {
 public:
  virtual ~FileSource() = default;
  virtual base::Result<std::string> file(std::string_view name) = 0;
};

struct Inputs {
  // The machine is not known: the recipe is only checked, as `validate` and the backend do it. What depends
  // on facts, tags, app, agent, instance, secrets or on variables without a value is unknown then, and no
  // error.
  bool is_check = false;
  // A recipe of version 1 is taken as far as it can be: unknown parameters and equal ids are warnings, and a
  // state that cannot be used is an UnusableState. Recipes that say "version: 2" are checked whole all the
  // same.
  bool compat_v1 = false;
  // From weak to strong. All are stronger than the recipe's own `vars`. Mappings are merged deep, all else is
  // replaced.
  std::vector<VariableLayer> vars;
  std::string facts = {};                        // a JSON object; "": there are none
  std::map<std::string, std::string> tags = {};  // as they are in effect
  std::string app = {};
  std::string instance = {};
  std::map<std::string, std::string> agent = {};  // "version" …
  std::shared_ptr<SecretSource> secrets = {};     // null: there are none
  std::shared_ptr<FileSource> files = {};         // null: only those that travel in the recipe
  // The recipe is several that a backend has put together: each that it includes is one of them, and what its
  // states say of other states is about its own.
  bool is_composed = false;
  std::string explain = {};  // the id of a state whose variables are wanted; Loaded has them
};

// What is given to every recipe besides its variables, by the name that expressions have for it.
inline constexpr std::string_view kGivenNames[] = {"vars", "facts", "tags", "app", "instance", "agent"};

// A variable that a state uses.
struct ExplainedVariable {
  std::string name;    // "vars.port"
  std::string value;   // JSON; "(secret)", "(not there)", "(unknown)"
  std::string origin;  // "the recipe, line 4"; "" for facts and other things that are given
};

// The kinds of facts that there are; agent/facts gathers them, docs/recipes.md has them.
inline constexpr std::string_view kFactNames[] = {
    "agent",  "cloud",  "cpu",     "disks", "domain",   "fqdn", "hostname",      "interfaces",
    "kernel", "memory", "network", "os",    "packages", "tags", "virtualization"};

// What a recipe's expressions and templates read.
struct UsedVariables {
  struct Use {
    std::vector<std::string> path;  // vars.db.port: "vars", "db", "port"; as far as it is known from the text
    std::string file = {};          // "": the recipe itself; else the included file or template
    std::size_t line = 0;           // of the first use
    bool may_be_missing = false;    // every use says what holds if it is not there
  };
  std::vector<Use> uses;             // each path once, in the order of the text
  std::vector<std::string> secrets;  // the names that are written down; others may be computed
  bool has_expressions = false;      // false: the recipe needs no Inputs
  bool has_computed_files = false;   // which files it names is not all known from the text

  bool reads(std::string_view given) const;  // "facts": whether anything of it is read
};

// Reads nothing but the text and, if given, the files that it names. An Error is the first thing that is
// wrong with the syntax of the document, of an expression or of a template. `name` decides the syntax by its
// ending.
base::Result<UsedVariables> used_variables(std::string_view name, std::string text,
                                           FileSource* files = nullptr);

}  // namespace recipe
