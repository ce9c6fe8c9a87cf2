// Pip: Python's packages, for the system's own interpreter.
#pragma once

#include "states/language_packages/ecosystem.hpp"

namespace states::common_pip_package {

using language_packages::Copy;
using language_packages::Entry;

class Pip final : public language_packages::Ecosystem {
 public:
  base::Result<Entry> read_entry(const Pair& pair) const override;
  bool matches(std::string_view version, std::string_view wanted) const override;
  int compare(std::string_view a, std::string_view b) const override;

  std::string_view tool() const override { return "pip"; }
  const prerequisites::Prerequisite& prerequisite() const override;
  base::Result<std::vector<Copy>> installed(const Entry& entry, Context& context) const override;
  base::Result<base::Command> command(std::vector<std::string> argv, Context& context) const override;
  base::Result<std::vector<std::string>> install_argv(std::span<const Entry> entries,
                                                      Context& context) const override;
  base::Result<std::vector<std::string>> remove_argv(std::span<const Entry> entries,
                                                     Context& context) const override;
  std::vector<std::string> mend_argv(const Entry& entry, Context& context) const override;
  language_packages::Reason reason_in(std::string_view output) const override;
  std::string telling_line(std::string_view output) const override;
  std::vector<Effect> effects(Context& context) const override;
};

}  // namespace states::common_pip_package
