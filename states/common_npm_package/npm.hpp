// Npm: packages of JavaScript, for the whole machine or in one folder.
#pragma once

#include <string>

#include "states/language_packages/ecosystem.hpp"
#include "states/language_packages/runner.hpp"

namespace states::common_npm_package {

using language_packages::Copy;
using language_packages::Entry;

class Npm final : public language_packages::Ecosystem {
 public:
  // `path`: a clean_path; packages go to <path>/node_modules. "": the machine's own.
  explicit Npm(std::string path = {}) : path_(std::move(path)) {}

  base::Result<Entry> read_entry(const Pair& pair) const override;
  bool matches(std::string_view version, std::string_view wanted) const override;
  int compare(std::string_view a, std::string_view b) const override;

  std::string_view tool() const override { return "npm"; }
  std::string_view place() const override { return path_; }
  const prerequisites::Prerequisite& prerequisite() const override;
  base::Result<std::vector<Copy>> installed(const Entry& entry, Context& context) const override;
  base::Result<void> check_place(Context& context) const override;
  base::Result<void> make_place(ApplyContext& context) const override;
  base::Result<base::Command> command(std::vector<std::string> argv, Context& context) const override;
  std::vector<std::string> newest_argv(const Entry& entry, Context& context) const override;
  std::optional<std::string> newest_in(std::string_view output, const Entry& entry) const override;
  base::Result<std::vector<std::string>> install_argv(std::span<const Entry> entries,
                                                      Context& context) const override;
  base::Result<std::vector<std::string>> remove_argv(std::span<const Entry> entries,
                                                     Context& context) const override;
  language_packages::Reason reason_in(std::string_view output) const override;
  std::string telling_line(std::string_view output) const override;
  std::vector<Effect> effects(Context& context) const override;

 private:
  base::Result<language_packages::Runner> runner(Context& context) const;
  std::vector<std::string> argv(std::string_view action, Context& context) const;

  std::string path_;
};

}  // namespace states::common_npm_package
