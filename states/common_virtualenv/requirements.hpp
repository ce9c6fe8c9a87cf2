// The file of requirements of an environment, and what is remembered of it.
//
// pip changes nothing in an environment in which it has installed the same file before, as long as the file
// names packages only, and the packages are still there. So this is remembered, and such a state starts no
// program. A file that refers to others, to folders or to addresses is looked at by pip in every round.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/language_packages/runner.hpp"
#include "states/param.hpp"

namespace states::common_virtualenv {

struct Requirements {
  std::string file;         // a clean_path
  std::string fingerprint;  // of what is in it, of the options of pip, and of the packages in the environment
  bool names_packages_only = false;
};

// Errors: "Requirements file <f> not found"; that somebody else than root and the runner can change it.
base::Result<Requirements> read_requirements(std::string_view file, const std::string& environment,
                                             List search_dirs, const language_packages::Runner& runner,
                                             Context& context);

// Whether the text, a file of requirements, has nothing but names with versions.
bool names_packages_only(std::string_view text);

// Whether pip has been through with exactly this: in this round, or ever, if it names packages only.
bool is_satisfied(const Requirements& requirements, const std::string& environment, Context& context);
// `requirements` as read after pip has succeeded.
void remember(const Requirements& requirements, const std::string& environment, ApplyContext& context);

}  // namespace states::common_virtualenv
