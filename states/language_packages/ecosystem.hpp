// Ecosystem: a language's package tool (pip, npm, gem), as the frame in planning.hpp and applying.hpp sees
// it.
//
// One object stands for one state: it has the parameters that say where packages are. Used on the worker's
// thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/programs/process.hpp"
#include "base/result.hpp"
#include "states/context.hpp"
#include "states/language_packages/entry.hpp"
#include "states/plan.hpp"
#include "states/prerequisites/prerequisite.hpp"

namespace states::language_packages {

// One copy of a package that is installed.
struct Copy {
  std::string version;
  std::string metadata;    // the path of what says so
  bool is_broken = false;  // an installation that was ended half-way
};

// Why a tool failed, as far as its output tells.
enum class Reason { other, unreachable, no_such_package, no_such_version };

class Ecosystem : public Grammar {
 public:
  virtual std::string_view tool() const = 0;  // "pip"
  // Names this place among others in which the tool installs: "", or a folder.
  virtual std::string_view place() const { return {}; }
  virtual const prerequisites::Prerequisite& prerequisite() const = 0;

  // The copies of a package, that which programs get first; from files, nothing is started.
  virtual base::Result<std::vector<Copy>> installed(const Entry& entry, Context& context) const = 0;

  // Checks, and in `apply` makes, what is to be there before the tool runs.
  virtual base::Result<void> check_place(Context& /*context*/) const { return {}; }
  virtual base::Result<void> make_place(ApplyContext& /*context*/) const { return {}; }

  // Who runs the tool, and with which environment.
  virtual base::Result<base::Command> command(std::vector<std::string> argv, Context& context) const = 0;

  // What asks the registry for the newest version, and how its output says it (nothing: there is none). Where
  // argv is empty, an installation finds out by itself.
  virtual std::vector<std::string> newest_argv(const Entry& /*entry*/, Context& /*context*/) const {
    return {};
  }
  virtual std::optional<std::string> newest_in(std::string_view /*output*/, const Entry& /*entry*/) const {
    return std::nullopt;
  }

  // What installs these, or removes them, at once. A Want::latest with a version is to be that one.
  virtual base::Result<std::vector<std::string>> install_argv(std::span<const Entry> entries,
                                                              Context& context) const = 0;
  virtual base::Result<std::vector<std::string>> remove_argv(std::span<const Entry> entries,
                                                             Context& context) const = 0;
  // What must run before that to mend what was installed half-way; "" as the first word: nothing.
  virtual std::vector<std::string> mend_argv(const Entry& /*entry*/, Context& /*context*/) const {
    return {};
  }
  // How many packages one run of the tool can take.
  virtual std::size_t most_at_once() const { return 50; }

  virtual Reason reason_in(std::string_view output) const = 0;
  // The line of the output that says most.
  virtual std::string telling_line(std::string_view output) const = 0;

  // What has become of files that the tool's packages may bring or take.
  virtual std::vector<Effect> effects(Context& context) const = 0;
};

}  // namespace states::language_packages
