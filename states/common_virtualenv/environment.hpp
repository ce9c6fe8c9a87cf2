// A virtual environment of Python as it is on disk, and what it takes to make one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/language_packages/runner.hpp"
#include "states/prerequisites/prerequisite.hpp"

namespace states::common_virtualenv {

enum class Presence {
  absent,   // nothing is there, or an empty folder
  present,  // its python is there and can be run
  broken,   // it was one, and the python that it leads to is gone
};

// Error: "Not a virtual environment: <path>".
base::Result<Presence> look_at(const std::string& path, const language_packages::Runner& runner,
                               Context& context);

// "3.11.2", as the environment itself says it; "" if it does not.
std::string version_of(const std::string& path, Context& context);

// The packages in it: "six==1.16.0", sorted.
base::Result<std::vector<std::string>> packages_in(const std::string& path, Context& context);

// The absolute path of an interpreter that the recipe names by a path or a name. Errors: "Interpreter <x> not
// found"; that somebody else than root and the runner can change it.
base::Result<std::string> find_interpreter(std::string_view named, const language_packages::Runner& runner,
                                           Context& context);

// What makes an environment with an interpreter: Python's own module where it has one, else virtualenv.
struct Maker {
  const prerequisites::Prerequisite& needed;
  bool is_module = false;  // `<python> -m venv`
};
Maker maker_for(const std::string& interpreter, Context& context);

}  // namespace states::common_virtualenv
