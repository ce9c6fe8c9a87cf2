// Rendering: what the states of a recipe of version 2 become on a machine. Short forms become long ones,
// `each` and `include` become many states, expressions and templates become what they are worth.
//
// What comes out are ordinary states, as somebody could have written them, whose values remember where in
// which file they began. One thread, one recipe; it needs no look at the machine.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "recipe/expressions.hpp"
#include "recipe/inputs.hpp"
#include "recipe/variables.hpp"
#include "states/registry.hpp"
#include "templates/uses.hpp"

namespace recipe {

// Of one recipe, with all that is included and rendered in it.
inline constexpr std::size_t kMostStates = 100'000;
inline constexpr std::size_t kMostBytes = 64 * 1024 * 1024;
inline constexpr std::uint64_t kMostSteps = 200'000'000;
// Files may include each other, and each item of a list: how often, and how much text has to be read for
// that.
inline constexpr std::size_t kMostIncludes = 10'000;
inline constexpr std::size_t kMostIncludedBytes = 128 * 1024 * 1024;
// Of all variables: what one that is computed sees of those before it, and what an included file sees, added
// up.
inline constexpr std::size_t kMostVariablesLooked = 500'000;
// Of the processor, for all evaluations. Steps are what people meet: this is for those that take long.
inline constexpr std::chrono::seconds kMostTime{30};
// Of one state: all of them are kept while it is made.
inline constexpr std::size_t kMostExpressions = kMostPieces;
// Finding out where a problem is takes a look at the text.
inline constexpr std::size_t kMostComplaints = 200;

struct RenderedState {
  base::Value value;
  const Source* source = nullptr;
  bool is_off = false;                           // its `when` is false: its parameters were not rendered
  std::vector<base::Member> secret_params = {};  // that were made of a secret
  // Of a check: what depends on the machine. These parameters are left out of `value`.
  bool has_unknown_id = false;
  std::vector<std::string_view> unknown_params = {};
  // What its file, or one that includes it, says for all its states; nothing: only the recipe may.
  std::optional<bool> continues = {};
  std::size_t part = 0;  // of a composed recipe: the one that it is of, from 1; 0: of none
};

class Rendering {
 public:
  using Take = std::function<void(const RenderedState&)>;
  using Complain = std::function<void(std::string message, const Source& source, Position position)>;

  // All that is given stays.
  Rendering(const Inputs& inputs, const Source& recipe, base::Arena& arena, const states::Registry& registry,
            Complain complain);
  ~Rendering();

  // `vars` and `files` of the recipe. False when something is wrong with them.
  bool read_variables(const base::Value& root);
  void read_states(const base::Value& states, const Take& take);

  const std::vector<std::string>& secrets() const { return secrets_; }
  // Every secret that was read, and every text that was made of one.
  std::vector<std::string> take_secrets() { return std::move(secrets_); }
  // The included files, which the states point into.
  std::vector<std::unique_ptr<Source>> take_sources();
  std::vector<ExplainedVariable> take_explained() { return std::move(explained_); }

 private:
  struct Scope;
  struct Pattern;
  struct Form;
  struct Made;
  struct Layer;
  class TemplateFiles;

  using Text = std::string_view;

  // ---- problems
  void complain(std::string message, const Scope& scope, std::uint32_t offset);
  void complain_of(const Piece& piece, const base::Value& text, const templates::Problem& problem,
                   bool is_secret, const Scope& scope);
  void complain_of_template(const Pattern& pattern, const templates::Problem& problem, bool is_secret,
                            const Scope& scope);
  std::string origins_text(const templates::Uses& uses, const Scope& scope) const;
  std::string origin_of(const std::vector<std::string>& path, const Scope& scope) const;
  bool check_names(const templates::Uses& uses, const Scope& scope,
                   const std::function<Position(const templates::Use&)>& place);
  bool check_name(const templates::Use& use, const Scope& scope, std::string& wrong) const;
  // Counts a problem. False: there were so many before it that nobody is shown this one.
  bool is_told() { return ++complaints_ <= kMostComplaints; }

  // ---- what is given
  bool read_given();
  bool read_layers();
  bool read_own_variables(const base::Value& vars, Scope& scope, const base::Value& strong);
  void set(Scope& scope, Text name, const base::Value& value);
  std::optional<base::Value> resolve(const std::vector<std::string>& path, const Scope& scope) const;
  base::Value unknown(std::uint32_t offset) const;
  bool is_unknown(const base::Value& value) const;
  bool is_secret(const base::Value& value) const;
  bool holds_secret(const base::Value& value) const;
  bool holds_unknown(const base::Value& value) const;
  templates::Answer<std::string> secret_of(Text name, bool is_after_secret);
  bool is_told_by_secret(Text name, bool is_after_secret) const;
  void note_names_of_secrets(const templates::Uses& uses);
  base::Value merge(const base::Value& weak, const base::Value& strong);
  base::Value as_secret(const base::Value& value);
  void add_secret(Text text);
  base::Result<std::string> file(const std::string& name);

  // The parsed template of a file, by its name in the recipe's folder.
  templates::Answer<std::shared_ptr<const templates::Template>> template_of(const std::string& name);

  // ---- patterns: texts with their expressions parsed
  Pattern pattern_of(const base::Value& value, Scope& scope, bool& is_fine);
  Pattern template_pattern(const base::Value& value, Scope& scope, bool& is_fine);
  Made make(const Pattern& pattern, Scope& scope);
  Made make_text(const Pattern& pattern, Scope& scope);
  Made make_template(const Pattern& pattern, Scope& scope);
  static std::chrono::nanoseconds thread_time();
  bool count(const templates::Used& used, std::size_t bytes, const Scope& scope, std::uint32_t offset);

  // ---- entries of `states`
  void entry(const base::Value& value, Scope& scope);
  std::optional<Form> form_of(const base::Value& value, Scope& scope);
  bool read_module(const base::Value& value, Form& form, Scope& scope);
  bool read_parameter(const base::Value& value, Form& form, Scope& scope);
  void for_each(const Pattern* each, Scope& scope, const std::function<void(Scope&)>& use);
  std::optional<bool> holds(const Pattern& when, Scope& scope, bool& is_unknown);
  bool count_state(const base::Value& entry, const Scope& scope);
  void state(const Form& form, Scope& scope);
  std::optional<base::Value> id_of(const Form& form, const base::Value& parameter, RenderedState& rendered,
                                   Scope& scope);
  void include(const base::Value& value, Scope& scope);
  bool count_include(const Scope& scope, std::uint32_t offset);
  bool count_included(const Source& source, const Scope& scope, std::uint32_t offset);
  void include_file(const base::Value& name, const Pattern* vars, Scope& scope);
  const Source* included(const std::string& name, const base::Value& at, Scope& scope);
  void explain(const Form& form, const Scope& scope);

  const Inputs& inputs_;
  const Source& recipe_;
  base::Arena& arena_;
  const states::Registry& registry_;
  const Complain complain_;
  const Take* take_ = nullptr;
  std::map<std::string, std::shared_ptr<const templates::Template>, std::less<>> templates_;
  std::map<std::string, std::string, std::less<>> own_files_;
  std::map<std::string, std::unique_ptr<Source>, std::less<>> sources_;
  std::map<std::string, std::unique_ptr<TemplateFiles>, std::less<>> template_folders_;
  std::map<std::string, std::string, std::less<>> read_secrets_;
  // Where the texts, lists and mappings are that were made of a secret. Of these the keys and the size may
  // tell of it, too.
  std::unordered_set<const void*> secret_places_;
  std::set<std::string, std::less<>> written_secret_names_;  // that stand in the recipe for all to read
  std::vector<std::string> secrets_;
  std::string secret_problem_;  // why one could not be had
  std::vector<Layer> given_layers_;
  std::vector<ExplainedVariable> explained_;
  std::unique_ptr<Scope> top_;
  std::uint64_t steps_left_ = kMostSteps;
  std::size_t bytes_left_ = kMostBytes;
  std::size_t states_ = 0;
  std::size_t includes_ = 0;
  std::size_t included_bytes_ = 0;
  std::size_t files_read_ = 0;
  const std::chrono::nanoseconds begun_ = thread_time();
  std::size_t variables_looked_ = 0;
  std::size_t expressions_ = 0;  // of the state that is read
  std::size_t complaints_ = 0;
  bool is_full_ = false;  // a limit was passed: nothing more is rendered
};

// What a state is about: its first parameter that must be given, or the first of those given that name
// things. Null: there is none.
const states::Param* main_parameter(const states::StateType& type, const base::Value& parameter);

// Whether an entry of `states` is as it has always been: rendering would change nothing.
bool is_ordinary(const base::Value& entry, bool has_expressions);

}  // namespace recipe
