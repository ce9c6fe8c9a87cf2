#include "states/chef/chef.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/programs/ending_text.hpp"
#include "states/programs/option_arguments.hpp"
#include "states/versions/version_prefix.hpp"

namespace states::chef {

namespace {

base::Error illegal(std::string_view param, std::string_view value, std::string_view why = {}) {
  return {base::ErrorCode::invalid, "Illegal value for '" + std::string(param) + "': '" + std::string(value) +
                                        "'" + (why.empty() ? "" : ": " + std::string(why))};
}

// Its name for people, and for messages of it.
std::string_view name_of(std::string_view program) {
  return program.substr(program.rfind('/') + 1);
}

// In PATH, or where the vendors' packages put it.
std::optional<std::string> find_chef(Kind kind) {
  using Places = std::array<std::string_view, 4>;
  constexpr Places kClient{"chef-client", "/opt/chef/bin/chef-client", "cinc-client",
                           "/opt/cinc/bin/cinc-client"};
  constexpr Places kSolo{"chef-solo", "/opt/chef/bin/chef-solo", "cinc-solo", "/opt/cinc/bin/cinc-solo"};
  for (const std::string_view place : kind == Kind::client ? kClient : kSolo)
    if (base::find_program(place)) return std::string(place);
  return std::nullopt;
}

bool has_password(std::string_view place) {
  const std::size_t scheme = place.find("://");
  if (scheme == place.npos) return false;
  const std::string_view authority =
      place.substr(scheme + 3, place.find_first_of("/?#", scheme + 3) - scheme - 3);
  return authority.find('@') != authority.npos;
}

std::vector<std::string> words_of(const Run& run) {
  std::vector<std::string> words = run.words;
  const auto options = programs::option_arguments(run.arguments);
  for (const auto& [name, value] : *options) {
    words.push_back("--" + name);
    if (!value.empty()) words.push_back(value);
  }
  return words;
}

// The version in "Chef Infra Client: 17.10.0", or "Chef: 12.4.1".
base::Result<std::string> installed_version(const std::string& program, ApplyContext& context) {
  auto completed = context.commands.run({program, "--version"});
  if (!completed) return std::move(completed).error();
  const std::string output = base::clean_output(completed->output);
  for (const std::string_view word : base::split_words(output))
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) return std::string(word);
  return base::Error(base::ErrorCode::io, program + " does not say its version");
}

// The last error that it logged: "[2024-05-01T10:00:00+00:00] FATAL: …".
std::string last_error(std::string_view output) {
  std::string found;
  for (const std::string_view line : base::split(output, '\n'))
    for (const std::string_view mark : {"ERROR: ", "FATAL: "}) {
      const std::size_t at = line.find(mark);
      if (at == 0 || (at != line.npos && line[at - 1] == ' ')) found = line.substr(at + mark.size());
    }
  return found.empty() ? std::string(base::last_line(output)) : found;
}

// What it asks for when it has done its work.
std::string remark_of(int exit_code) {
  switch (exit_code) {
    case 35:
      return "; a reboot is scheduled";
    case 36:
      return "; it asks for a reboot now";
    case 37:
      return "; the machine needs a reboot";
    default:
      return {};
  }
}

}  // namespace

base::Result<void> check_place(std::string_view param, std::string_view place) {
  const bool is_word = !place.starts_with('-') &&
                       std::ranges::none_of(place, [](unsigned char c) { return c <= ' ' || c == 0x7f; });
  if (has_password(place))
    return base::Error(base::ErrorCode::invalid,
                       "'" + std::string(param) +
                           "' must not hold a name and password: everybody on the machine can read the "
                           "arguments of a program");
  return is_word ? base::Result<void>() : illegal(param, place);
}

base::Result<void> check_path(std::string_view param, std::string_view path) {
  if (!path.empty() && !base::clean_path(path)) return illegal(param, path, "give an absolute path");
  return check_place(param, path);
}

base::Result<void> check_run(const Run& run) {
  auto options = programs::option_arguments(run.arguments);
  if (!options) return std::move(options).error();
  for (const auto& [name, value] : *options) {
    if (value.starts_with('-')) return illegal("arguments", value);
    if (name == "daemonize" || name == "interval")
      return illegal("arguments", name, "a run must come to an end");
    if (auto fine = has_password(value) ? check_place("arguments", value) : base::Result<void>(); !fine)
      return fine;
  }
  const bool is_version =
      !run.version.starts_with('-') && std::ranges::all_of(run.version, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '+' || c == '~';
      });
  return is_version ? base::Result<void>() : illegal("version", run.version);
}

Plan plan_run(const Run& run, std::string what, Context& context) {
  for (const std::string& word : words_of(run))
    if (context.has_secrets(word))
      return Plan::fail(
          "The parameters must not hold a secret: everybody on the machine can read the arguments of a "
          "program. Put it into Chef's configuration");
  if (!find_chef(run.kind)) {
    if (const Overlay::Entry* earlier = context.overlay.provider(EffectKind::package, "chef"))
      return Plan::unknown(earlier->state_id, "Chef is not installed on this host yet");
    return Plan::fail("Chef is not installed on this host");
  }
  Plan plan{.verdict = Verdict::change, .message = std::move(what)};
  plan.changes.push_back({.what = "chef", .before = "", .after = "run, as in every round"});
  plan.effects.push_back(
      {.kind = EffectKind::anything, .name = run.kind == Kind::client ? "chef-client" : "chef-solo"});
  return plan;
}

Applied apply_run(const Run& run, ApplyContext& context) {
  const auto program = find_chef(run.kind);
  if (!program) return Applied::failed("Chef is not installed on this host");
  if (!run.version.empty()) {
    const auto version = installed_version(*program, context);
    if (!version) return Applied::failed(version.error());
    if (!versions::is_version(*version, run.version))
      return Applied::failed("Chef " + std::string(run.version) + " is wanted, and " + *version +
                             " is installed");
  }
  base::Command command;
  command.argv = {*program};
  std::ranges::move(words_of(run), std::back_inserter(command.argv));
  command.timeout = context.commands.time_left();
  auto completed = context.commands.run(std::move(command));
  if (!completed)
    return Applied::failed(completed.error(), base::clean_output(context.commands.interrupted_output()));
  std::string output = base::clean_output(completed->output);
  const std::string remark = completed->ending == base::Ending::exited ? remark_of(completed->exit_code) : "";
  if (completed->ok() || !remark.empty())
    return Applied::done("Chef run finished" + remark, std::move(output));
  std::string comment = std::string(name_of(*program)) + " failed (" + programs::ending_of(*completed) + ")";
  if (!context.sensitive) comment += ": " + programs::shortened(last_error(output), context);
  return Applied::failed(std::move(comment), std::move(output));
}

}  // namespace states::chef
