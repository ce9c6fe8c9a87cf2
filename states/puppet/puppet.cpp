#include "states/puppet/puppet.hpp"

#include <algorithm>
#include <cctype>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/debian/apt_get.hpp"
#include "states/programs/ending_text.hpp"
#include "states/programs/option_arguments.hpp"
#include "states/versions/version_prefix.hpp"

namespace states::puppet {

namespace {

constexpr const char* kVendors = "/opt/puppetlabs/bin/puppet";  // of Puppet's own packages, not in PATH

bool is_puppet_there(Context&) {
  return base::find_program("puppet") || base::find_program(kVendors);
}

prerequisites::Prerequisite needed(std::string_view module) {
  return {module, "puppet", {"puppet-agent", "puppet"}, {"puppet-agent", "puppet"}, is_puppet_there};
}

std::string program() {
  return base::find_program("puppet") ? "puppet" : kVendors;
}

// The first error that it told; those about single facts do not end a run.
std::string first_error(std::string_view output) {
  for (const std::string_view line : base::split(output, '\n'))
    if (line.starts_with("Error: ") && !line.starts_with("Error: Facter: "))
      return std::string(line.substr(7));
  return std::string(base::last_line(output));
}

base::Result<std::string> installed_version(ApplyContext& context) {
  auto completed = context.commands.run({program(), "--version"});
  if (!completed) return std::move(completed).error();
  return std::string(base::last_line(base::clean_output(completed->output)));
}

}  // namespace

base::Result<std::vector<std::string>> arguments_of(Pairs arguments) {
  auto options = programs::option_arguments(arguments);
  if (!options) return std::move(options).error();
  std::vector<std::string> words;
  for (const auto& [name, value] : *options)
    words.push_back("--" + name + (value.empty() ? "" : "=" + value));
  return words;
}

base::Result<void> check_version(std::string_view version) {
  const bool fine = !version.starts_with('-') && std::ranges::all_of(version, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '+' || c == '~';
  });
  if (fine) return {};
  return base::Error(base::ErrorCode::invalid, "Illegal value for 'version': '" + std::string(version) + "'");
}

base::Result<void> plan(const Run& run, Plan& plan, Context& context) {
  for (const std::string& argument : run.arguments)
    if (context.has_secrets(argument))
      return base::Error(
          base::ErrorCode::invalid,
          "'arguments' must not hold a secret: everybody on the machine can read the arguments of "
          "a program. Put it into puppet.conf or hiera");
  auto planned = prerequisites::plan_program(context, needed(run.module), plan);
  if (!planned) return std::move(planned).error();
  return {};
}

base::Result<prerequisites::Installation> ensure(const Run& run, ApplyContext& context) {
  auto installed = prerequisites::ensure_program(context, needed(run.module));
  if (!installed || run.version.empty()) return installed;
  auto version = installed_version(context);
  if (!version) return std::move(version).error();
  if (versions::is_version(*version, run.version)) return installed;
  const std::string wanted(run.version);
  debian::AptGet runner(context);
  const bool is_debian = context.host.os.family == base::OsRelease::Family::debian;
  const auto done =
      // What it needs may go along; nothing that is installed has to go for it.
      is_debian ? runner.commit({.installs = {"puppet-agent=" + wanted + "*"}}, {})
                : runner.run_program("dnf install", {"dnf", "-y", "install", "puppet-agent-" + wanted + "*"});
  if (!done && (done.error().code() == base::ErrorCode::cancelled ||
                done.error().code() == base::ErrorCode::timed_out))
    return done.error();
  version = installed_version(context);
  if (!version) return std::move(version).error();
  if (!versions::is_version(*version, run.version))
    return base::Error(base::ErrorCode::not_found,
                       "Puppet " + wanted + " is not available; " + *version + " is installed");
  installed->comment.append(installed->comment.empty() ? "" : "\n\n").append("Installed Puppet " + *version);
  installed->output += runner.output();
  return installed;
}

base::Result<bool> run(const Run& run, std::vector<std::string> words, const std::string& last,
                       std::string& output, ApplyContext& context) {
  base::Command command;
  command.argv = {program()};
  std::ranges::move(words, std::back_inserter(command.argv));
  command.argv.insert(command.argv.end(), run.arguments.begin(), run.arguments.end());
  if (!last.empty()) command.argv.push_back(last);
  auto completed = context.commands.run(std::move(command));
  if (!completed) return std::move(completed).error();
  const std::string said = base::clean_output(completed->output);
  output.append(output.empty() ? "" : "\n\n").append(said);
  constexpr int kNothingChanged = 0;
  constexpr int kChanged = 2;
  const bool exited = completed->ending == base::Ending::exited;
  if (said.find("Puppet configuration client already in progress") != said.npos &&
      !(exited && completed->exit_code == kChanged))
    return base::Error(base::ErrorCode::exists, "Another run of Puppet is in progress");
  if (exited && completed->exit_code == kNothingChanged) return false;
  if (exited && completed->exit_code == kChanged) return true;
  return base::Error(base::ErrorCode::io, "Puppet failed (" + programs::ending_of(*completed) + ")" +
                                              (context.sensitive ? "" : ": " + first_error(said)));
}

Applied run_once(const Run& wanted, std::vector<std::string> words, ApplyContext& context) {
  auto installed = ensure(wanted, context);
  if (!installed) return Applied::failed(installed.error());
  std::string output = std::move(installed->output);
  const auto changed = run(wanted, std::move(words), {}, output, context);
  if (!changed) return Applied::failed(changed.error(), std::move(output));
  return Applied::done(
      installed->before(std::string("Puppet run finished: ") + (*changed ? "changes" : "no changes")),
      std::move(output));
}

std::vector<std::string> agent_words() {
  return {"agent",     "--onetime",   "--no-daemonize",       "--no-splay",   "--no-usecacheonfailure",
          "--verbose", "--show_diff", "--detailed-exitcodes", "--color=false"};
}

}  // namespace states::puppet
