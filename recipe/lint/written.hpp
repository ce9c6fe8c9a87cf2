// How a recipe is written, as rules look at it: its states in order, with module and parameters found in
// either form.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/lint/lint.hpp"
#include "states/state.hpp"

namespace recipe::lint {

struct WrittenState {
  base::Value entry;
  std::string_view id;                      // "" without one
  const states::StateType* type = nullptr;  // null: an include, or nothing that is known
  base::Value params;                       // an object, or nothing
  std::vector<std::string_view> allowed;    // rules that are switched off here

  // A parameter by any of its names; null when it is not there.
  const base::Value* param(std::string_view name) const;
  bool is(std::string_view module) const { return type && type->name() == module; }
  bool has(std::string_view key) const { return entry.find(key) != nullptr; }
};

// One file.
struct Written {
  const Source* source = nullptr;
  int version = 1;
  base::Value root;
  std::vector<WrittenState> states;
  std::vector<std::string_view> allowed;      // in the whole file
  std::set<std::string, std::less<>> secret;  // variables that are made of secrets
};

Written written(const Source& source, const states::Registry& registry, int version);

// Whether a text has an expression that reads a secret, or one of these variables.
bool mentions_secret(std::string_view text, const std::set<std::string, std::less<>>& secret);

// A text without expressions; "" for all else.
std::string_view literal(const base::Value* value);
// The texts of a list, or the one; those with expressions are left out.
std::vector<base::Value> literals(const base::Value* value);
// Whether it says yes, and nothing is computed.
bool is_true(const base::Value* value);
bool is_false(const base::Value* value);

// Where findings go. Of one file at a time.
class Notes {
 public:
  Notes(std::vector<Finding>& findings, const Written& file) : findings_(findings), file_(file) {}
  void begin(const Rule& rule) { rule_ = &rule; }
  // About a value or a key of the state; null: of the file.
  void add(const WrittenState* state, std::uint32_t offset, std::string message);

 private:
  struct Place {
    std::size_t index;
    std::uint32_t offset;
  };
  friend std::vector<Finding> lint(const Recipe&, const Choice&);
  void locate();

  std::vector<Finding>& findings_;
  const Written& file_;
  const Rule* rule_ = nullptr;
  std::vector<Place> places_;
};

// ---- the rules, by subject; rules.cpp has the table

void look_for_unguarded_commands(const Written& file, Notes& notes);
void look_for_piped_downloads(const Written& file, Notes& notes);
void look_for_ends(const Written& file, Notes& notes);
void look_for_world_writable(const Written& file, Notes& notes);
void look_for_special_bits(const Written& file, Notes& notes);
void look_for_readable_secrets(const Written& file, Notes& notes);
void look_for_plain_secrets(const Written& file, Notes& notes);
void look_for_private_keys(const Written& file, Notes& notes);
void look_for_tokens(const Written& file, Notes& notes);
void look_for_passwords_in_urls(const Written& file, Notes& notes);
void look_for_templates_in_content(const Written& file, Notes& notes);
void look_for_unverified_downloads(const Written& file, Notes& notes);
void look_for_latest_packages(const Written& file, Notes& notes);
void look_for_keys_of_version_2(const Written& file, Notes& notes);
void look_for_services_left_alone(const Written& file, Notes& notes);
void look_for_paths_written_twice(const Written& file, Notes& notes);
void look_for_constant_conditions(const Written& file, Notes& notes);
void look_for_unknown_rules(const Written& file, Notes& notes);

}  // namespace recipe::lint
