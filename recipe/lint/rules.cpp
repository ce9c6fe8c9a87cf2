// The table of rules. docs/lint.md has the same; a test holds the two together.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "recipe/lint/written.hpp"

namespace recipe::lint {

namespace {

constexpr std::array kRules{
    Rule{.name = "command-without-guard",
         .finds = "a command that nothing keeps from running in every round",
         .reason = "It runs again every few minutes, and every round reports a change.",
         .fix =
             "say when there is nothing to do (creates, removes, unless, only_if), what counts as a change "
             "(changed_when), or run it once or on_change_of",
         .look = look_for_unguarded_commands},
    Rule{.name = "constant-condition",
         .finds = "a `when` that is always true, or never",
         .reason = "A state that never runs looks like one that does.",
         .fix = "take out the condition, or the state",
         .look = look_for_constant_conditions},
    Rule{.name = "latest-package",
         .finds = "a package that is to be the latest",
         .reason = "It changes when the repository does, on all machines in the same hour.",
         .fix = "say `installed`, or a version",
         .is_asked_for = true,
         .look = look_for_latest_packages},
    Rule{.name = "password-in-url",
         .finds = "an address with a password in it",
         .reason = "The recipe's text is kept and sent in clear; addresses also show in lists of processes.",
         .fix = "take the password out, or from secret('NAME')",
         .look = look_for_passwords_in_urls},
    Rule{.name = "path-written-twice",
         .finds = "two states that write the same path",
         .reason = "Each undoes what the other one did, in every round.",
         .fix = "make one state of the two, or give them conditions that exclude each other",
         .look = look_for_paths_written_twice},
    Rule{.name = "piped-download",
         .finds = "a download that is handed to a shell as it comes",
         .reason = "Whoever controls the server, or the way to it, runs what he likes as root; half a "
                   "download runs, "
                   "too.",
         .fix = "fetch it with linux.file or common.archive and a checksum, and run the file",
         .look = look_for_piped_downloads},
    Rule{.name = "private-key",
         .finds = "a private key in the recipe",
         .reason = "The recipe's text is kept and sent in clear: in git, in the backend, on disk.",
         .fix = "use ${{ secret('NAME') }}, and replace the key: it is known",
         .look = look_for_private_keys},
    Rule{.name = "secret-in-plain-text",
         .finds = "a password, token or key that is written down",
         .reason = "The recipe's text is kept and sent in clear: in git, in the backend, on disk.",
         .fix = "use ${{ secret('NAME') }}, and replace what was written down: it is known",
         .look = look_for_plain_secrets},
    Rule{.name = "secret-others-can-read",
         .finds = "a file with a secret in it that every user can read",
         .reason = "Any program that runs on the machine, as any user, has the secret.",
         .fix = "give it mode \"0600\" (or \"0640\" with a group)",
         .look = look_for_readable_secrets},
    Rule{.name = "service-not-restarted",
         .finds = "a service whose configuration is written, and that does not notice",
         .reason = "It goes on with the old configuration until somebody restarts it.",
         .fix = "give the service restart_on or reload_on with the id of that state, or watch with its path",
         .look = look_for_services_left_alone},
    Rule{.name = "setuid",
         .finds = "a file that runs with its owner's or group's rights",
         .reason = "Whoever can run it has these rights; a mistake in it is a way to root.",
         .fix = "take the first digit of the mode away, or allow the rule where it is meant",
         .look = look_for_special_bits},
    Rule{.name = "states-never-reached",
         .finds = "states behind a command that ends the machine, or that always fails",
         .reason = "The round ends there: the states behind it do not run in it.",
         .fix = "put the command last, or behind once or on_change_of",
         .look = look_for_ends},
    Rule{.name = "template-in-content",
         .finds = "plain `content` that looks like a template",
         .reason = "`content` is written as it stands, with its {{ … }}.",
         .fix = "write `template` instead of `content`, or ${{ … }}",
         .look = look_for_templates_in_content},
    Rule{.name = "token-in-plain-text",
         .finds = "what looks like an access key of a known service",
         .reason = "Such keys are searched for by machines; whoever has the text has the account.",
         .fix = "use ${{ secret('NAME') }}, and replace the key: it is known",
         .look = look_for_tokens},
    Rule{.name = "unknown-rule",
         .finds = "a rule under `_lint` that does not exist",
         .reason = "It switches nothing off.",
         .fix = "correct the name; 'opsagent lint --rules' lists them",
         .look = look_for_unknown_rules},
    Rule{.name = "unverified-download",
         .finds = "something that is fetched over http or git:// without a checksum",
         .reason = "Everybody on the way can send something else; agents refuse most of it.",
         .fix = "use https, or add the checksum (#sha256=… or `checksum`)",
         .look = look_for_unverified_downloads},
    Rule{.name = "version-2-key",
         .finds = "a key of version 2 in a recipe of version 1",
         .reason = "It is passed over: the state runs in every round, the expression is text.",
         .fix = "say `version: 2` at the recipe's top, or take it out",
         .look = look_for_keys_of_version_2},
    Rule{.name = "world-writable",
         .finds = "a file or folder that every user can write to",
         .reason = "Any user can change it, or replace what is in it.",
         .fix = "take the write bit of others away (\"0664\", a folder \"0775\"), or make a folder sticky "
                "(\"1777\")",
         .look = look_for_world_writable},
};

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

const Rule* find_rule(std::string_view name) {
  const auto found = std::ranges::find(kRules, name, &Rule::name);
  return found == kRules.end() ? nullptr : &*found;
}

void look_for_unknown_rules(const Written& file, Notes& notes) {
  std::vector<std::string_view> names;
  for (const Rule& rule : kRules)
    names.push_back(rule.name);
  const auto check = [&](const WrittenState* state, const base::Value* given) {
    for (const base::Value& name : literals(given))
      if (!find_rule(name.text()))
        notes.add(state, name.offset(),
                  "there is no rule '" + base::cut_text(name.text(), 64) + "'" +
                      base::did_you_mean(name.text(), names));
  };
  check(nullptr, file.root.find("_lint"));
  for (const WrittenState& state : file.states)
    check(&state, state.entry.find("_lint"));
}

}  // namespace recipe::lint
