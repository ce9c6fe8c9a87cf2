// common.git: a working copy of a git repository, at a branch, tag or commit.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/checkouts/checkout.hpp"
#include "states/checkouts/locks.hpp"
#include "states/prerequisites/prerequisite.hpp"
#include "states/state.hpp"

namespace states::common_git {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using checkouts::Client;
using checkouts::Found;

struct Params {
  std::string_view path;
  std::string_view repo;
  std::optional<std::string_view> revision;
  std::optional<std::string_view> ssh_key_file;
  bool force = false;
  std::optional<std::string_view> user;
};

constexpr auto kParams = param_table(
    param<&Params::path>("path", "work tree").required(),
    param<&Params::repo>("repo", "address of the repository, or a path").required(),
    param<&Params::revision>("revision", "branch (kept in step), tag or commit")
        .alias("branch")
        .fallback("the repository's default branch"),
    param<&Params::ssh_key_file>("ssh-key-file", "private key for ssh").fallback("the user's own keys"),
    param<&Params::force>("force", "discard local modifications and commits").fallback("false"),
    param<&Params::user>("user", "whom git runs as, and who owns the work tree").fallback("root"));

constexpr prerequisites::Prerequisite kNeeded{"common.git", "git", {"git"}, {"git"}};

// The setting of a work tree that says so while it is cloned.
constexpr std::string_view kCloning = "opsagent.cloning";

enum class Kind { branch, tag, commit };

// What the work tree should be at.
struct Target {
  Kind kind = Kind::branch;
  std::string name;  // of the branch or tag; "" for the default branch, when it was not asked for yet
  std::string id;    // the commit, where it is known
};

struct Steps {
  std::string path;
  bool is_new = false;
  std::string before;  // the commit that it was at; "" for none
};

class Git final : public State<Params, Steps> {
 public:
  constexpr Git()
      : State({.name = "common.git",
               .summary = "A working copy of a git repository",
               .timeout = std::chrono::hours(1)},
              kParams) {}

 private:
  Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

Result<void> Git::check(const Params& params) const {
  if (auto clean = base::clean_path(params.path); !clean) return std::move(clean).error();
  if (auto fine = checkouts::check_value("repo", params.repo); !fine) return fine;
  if (params.revision) {
    if (auto fine = checkouts::check_value("revision", *params.revision); !fine) return fine;
    // git check-ref-format(1); what a name may not have would be an expression or a pattern.
    if (params.revision->find_first_of(" ~^:?*[\\") != std::string_view::npos ||
        params.revision->find("..") != std::string_view::npos ||
        params.revision->find("@{") != std::string_view::npos)
      return Error(ErrorCode::invalid,
                   "Illegal value for 'revision': '" + std::string(*params.revision) + "'");
  }
  if (params.ssh_key_file) {
    if (auto clean = base::clean_path(*params.ssh_key_file); !clean) return std::move(clean).error();
    return checkouts::check_value("ssh-key-file", *params.ssh_key_file);
  }
  return {};
}

std::vector<Effect> Git::touched(const Params& params) const {
  std::vector<Effect> touched = prerequisites::possible_packages(kNeeded);
  if (auto clean = base::clean_path(params.path))
    touched.push_back({.kind = EffectKind::directory, .name = std::move(*clean), .certain = false});
  return touched;
}

// A word for the shell that git hands GIT_SSH_COMMAND to.
std::string quoted(std::string_view word) {
  std::string text = "'";
  for (const char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// Answers git's question for a name and a password. As a header, git would send them to other hosts, too,
// when this one redirects.
constexpr const char* kLogin =
    "!login() { test \"$1\" = get && printf 'username=%s\\npassword=%s\\n' \"$OPSAGENT_GIT_USER\" "
    "\"$OPSAGENT_GIT_PASSWORD\"; }; login";

// A password goes by the environment, which only its user sees: arguments everybody does, and git writes the
// address that it is given into the work tree.
std::vector<std::string> environment_for(const Params& params, const std::string& path,
                                         const checkouts::Address& address) {
  std::string ssh = "ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new";
  if (params.ssh_key_file) ssh += " -i " + quoted(*params.ssh_key_file) + " -o IdentitiesOnly=yes";
  std::vector<std::pair<std::string, std::string>> settings{{"safe.directory", path},
                                                            {"submodule.recurse", "false"},
                                                            {"advice.detachedHead", "false"},
                                                            {"gc.auto", "0"}};
  if (!address.user.empty()) {
    const std::string host = address.plain.substr(0, address.plain.find('/', address.plain.find("://") + 3));
    settings.emplace_back("credential.helper", "");  // none that would keep it
    settings.emplace_back("credential." + host + ".helper", kLogin);
  }
  std::vector<std::string> environment{
      "GIT_TERMINAL_PROMPT=0",  "GIT_ASKPASS=/bin/false",
      "GIT_OPTIONAL_LOCKS=0",   "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh",
      "GIT_SSH_COMMAND=" + ssh, "GIT_CONFIG_COUNT=" + std::to_string(settings.size())};
  if (!address.user.empty())
    environment.insert(environment.end(),
                       {"OPSAGENT_GIT_USER=" + address.user, "OPSAGENT_GIT_PASSWORD=" + address.password});
  for (std::size_t i = 0; i < settings.size(); ++i) {
    environment.push_back("GIT_CONFIG_KEY_" + std::to_string(i) + "=" + settings[i].first);
    environment.push_back("GIT_CONFIG_VALUE_" + std::to_string(i) + "=" + settings[i].second);
  }
  return environment;
}

bool is_hex(std::string_view text) {
  return text.size() >= 4 && text.size() <= 64 &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

// One repository and one work tree, with a git that may ask and change them.
class Repository {
 public:
  Repository(const Params& params, const std::string& path, const runners::Runner& runner, Context& context)
      : params_(params),
        path_(path),
        address_(checkouts::split_address(params.repo)),
        git_("git", runner, environment_for(params, path, address_), context) {}

  const std::string& repo() const { return address_.plain; }
  const std::string& output() const { return git_.output(); }

  // The commit that the work tree is at; "" for none.
  Result<std::string> head() { return ask({"rev-parse", "-q", "--verify", "HEAD^{commit}"}); }
  // The branch that it is on; "" for none.
  Result<std::string> branch() { return ask({"symbolic-ref", "-q", "--short", "HEAD"}); }
  Result<bool> has_this_origin() {
    auto url = ask({"config", "--get", "remote.origin.url"});
    if (!url) return std::move(url).error();
    return *url == address_.plain;
  }
  // The commit that a name stands for here; "" when it is none.
  Result<std::string> commit_of(const std::string& name) {
    return ask({"rev-parse", "-q", "--verify", name + "^{commit}"});
  }

  // What the revision is, as the server says.
  Result<Target> find() {
    const std::string wanted(params_.revision.value_or(""));
    std::vector<std::string> arguments{"ls-remote", "--symref", "--", address_.plain, "HEAD"};
    if (!wanted.empty())
      arguments.insert(arguments.end(),
                       {"refs/heads/" + wanted, "refs/tags/" + wanted, "refs/tags/" + wanted + "^{}"});
    auto said = git_.try_to(std::move(arguments));
    if (!said) return std::move(said).error();
    if (!said->ok()) return explained("ls-remote", *said);
    return read_target(wanted, said->output);
  }

  // Makes it a repository with this origin, if it is none. `is_new`: there was nothing in the folder.
  Result<void> prepare(bool is_new) {
    if (auto begun = run("init", {"init", "-q", path_}, false); !begun) return begun;
    auto has = git_.ask({"-C", path_, "config", "--get", "remote.origin.url"});
    if (!has) return std::move(has).error();
    if (has->empty()) {
      if (is_new)
        if (auto noted = run("config", {"config", std::string(kCloning), "true"}); !noted) return noted;
      if (auto added = run("remote", {"config", "remote.origin.url", address_.plain}); !added) return added;
      return run("remote", {"config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"});
    }
    if (*has == address_.plain) return {};
    return run("remote", {"config", "remote.origin.url", address_.plain});
  }

  // Whether what is here is a clone that has not come to its end: what is in the work tree then is what git
  // has written so far.
  Result<bool> is_cloning() {
    auto said = ask({"config", "--get", std::string(kCloning)});
    if (!said) return std::move(said).error();
    return *said == "true";
  }
  Result<void> has_cloned() { return run("config", {"config", "--unset", std::string(kCloning)}); }
  void overwrite() { overwrites_ = true; }

  // Fetches what the target needs, and answers its commit.
  Result<std::string> fetch(const Target& target) {
    std::vector<std::string> arguments{"fetch", "-q", "--no-recurse-submodules", "origin",
                                       "+refs/heads/*:refs/remotes/origin/*"};
    if (target.kind == Kind::tag)
      arguments.push_back((params_.force ? "+" : "") + ("refs/tags/" + target.name) + ":refs/tags/" +
                          target.name);
    if (target.kind == Kind::commit) {
      auto known = commit_of(target.name);
      if (!known || !known->empty()) return known;
    }
    if (auto fetched = run("fetch", std::move(arguments)); !fetched) return std::move(fetched).error();
    auto id = commit_of(target.kind == Kind::branch ? "refs/remotes/origin/" + target.name
                        : target.kind == Kind::tag  ? "refs/tags/" + target.name
                                                    : target.name);
    if (!id || !id->empty()) return id;
    // A commit that no branch leads to: some servers give it to whoever asks by its full name.
    if (target.kind == Kind::commit) {
      auto asked = git_.run({"-C", path_, "fetch", "-q", "--no-recurse-submodules", "origin", target.name});
      if (!asked) return std::move(asked).error();
      id = commit_of(target.name);
      if (!id || !id->empty()) return id;
    }
    return not_found();
  }

  // Switches the work tree to what was fetched.
  Result<void> check_out(const Target& target, const std::string& id, const std::string& present_branch,
                         bool is_new) {
    if (target.kind != Kind::branch) return switch_to({"checkout", "-q", "--detach", id});
    const std::string remote = "refs/remotes/origin/" + target.name;
    if (params_.force || is_new)
      return switch_to({"checkout", "-q", "-B", target.name, "--track", "origin/" + target.name});
    if (present_branch != target.name) {
      auto here = commit_of("refs/heads/" + target.name);
      if (!here) return std::move(here).error();
      if (here->empty())
        return switch_to({"checkout", "-q", "-b", target.name, "--track", "origin/" + target.name});
      if (auto switched = switch_to({"checkout", "-q", target.name, "--"}); !switched) return switched;
    }
    return switch_to({"merge", "-q", "--ff-only", remote});
  }

 private:
  Result<std::string> ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"-C", path_});
    return git_.ask(std::move(arguments));
  }

  Result<void> run(std::string_view action, std::vector<std::string> arguments, bool inside = true) {
    if (inside) arguments.insert(arguments.begin(), {"-C", path_});
    auto done = git_.run(std::move(arguments));
    if (!done) return std::move(done).error();
    if (done->ok()) return {};
    return explained(action, *done);
  }

  Result<void> switch_to(std::vector<std::string> arguments) {
    const std::string action = arguments.front();
    if (overwrites_ && action == "checkout") arguments.insert(arguments.begin() + 1, "-f");
    arguments.insert(arguments.begin(), {"-C", path_});
    auto done = git_.run(std::move(arguments));
    if (!done) return std::move(done).error();
    if (done->ok()) return {};
    if (auto blocked = what_blocks(base::clean_output(done->output)); !blocked.empty())
      return Error(ErrorCode::exists, "Local changes block the update: " + blocked);
    return git_.failure(action, *done);
  }

  // The files that git names, each on a line of its own with a tab; or that there are commits.
  static std::string what_blocks(const std::string& said) {
    if (said.find("Not possible to fast-forward") != std::string::npos ||
        said.find("refusing to merge unrelated histories") != std::string::npos)
      return "commits that are not in the repository";
    if (said.find("would be overwritten by") == std::string::npos) return {};
    constexpr std::size_t kMostNamed = 20;
    std::vector<std::string> files;
    for (const std::string_view line : base::split(std::string_view(said), '\n'))
      if (line.starts_with('\t') && files.size() < kMostNamed) files.emplace_back(base::trim(line));
    return files.empty() ? "files that are not in the repository" : base::join(files, ", ");
  }

  Result<Target> read_target(const std::string& wanted, std::string_view output) const {
    std::string branch_id, tag_id, peeled_id, head_id, default_branch;
    for (const std::string_view line : base::split(output, '\n')) {
      const std::size_t tab = line.find('\t');
      if (tab == std::string_view::npos) continue;
      const std::string_view id = line.substr(0, tab);
      const std::string_view name = base::trim(line.substr(tab + 1));
      constexpr std::string_view kSymbolic = "ref: refs/heads/";
      if (name == "HEAD" && id.starts_with(kSymbolic))
        default_branch = id.substr(kSymbolic.size());
      else if (name == "HEAD")
        head_id = id;
      else if (name == "refs/heads/" + wanted)
        branch_id = id;
      else if (name == "refs/tags/" + wanted)
        tag_id = id;
      else if (name == "refs/tags/" + wanted + "^{}")
        peeled_id = id;
    }
    if (wanted.empty()) {
      if (default_branch.empty() || head_id.empty())
        return Error(ErrorCode::not_found, "Revision 'HEAD' not found in " + address_.plain);
      return Target{Kind::branch, default_branch, head_id};
    }
    if (!branch_id.empty()) return Target{Kind::branch, wanted, branch_id};
    if (!tag_id.empty()) return Target{Kind::tag, wanted, peeled_id.empty() ? tag_id : peeled_id};
    if (is_hex(wanted)) return Target{Kind::commit, wanted, {}};
    return not_found();
  }

  Error not_found() const {
    return {ErrorCode::not_found, "Revision '" + std::string(params_.revision.value_or("HEAD")) +
                                      "' not found in " + address_.plain};
  }

  Error explained(std::string_view action, const base::Completed& completed) const {
    for (const std::string_view sign :
         {"Authentication failed", "Permission denied (publickey", "could not read Username",
          "could not read Password", "terminal prompts disabled", "The requested URL returned error: 403"})
      if (completed.output.find(sign) != std::string::npos)
        return {ErrorCode::permission, "Authentication failed for " + address_.plain};
    return git_.failure(action, completed);
  }

  const Params& params_;
  const std::string path_;
  const checkouts::Address address_;
  Client git_;
  bool overwrites_ = params_.force;  // files of the work tree
};

// A key that the user of the state cannot read.
Result<void> check_key(const Params& params, const runners::Runner& runner, Context& context) {
  if (!params.ssh_key_file) return {};
  const std::string path(*params.ssh_key_file);
  auto found = context.tree.follow(path);
  struct stat st {};
  bool is_readable = found && ::fstat(found->get(), &st) == 0 && S_ISREG(st.st_mode);
  if (is_readable && runner.identity && runner.identity->uid != 0) {
    const auto& groups = runner.identity->groups;
    const bool in_group =
        st.st_gid == runner.identity->gid || std::ranges::find(groups, st.st_gid) != groups.end();
    is_readable = st.st_uid == runner.identity->uid ? (st.st_mode & S_IRUSR) != 0
                  : in_group                        ? (st.st_mode & S_IRGRP) != 0
                                                    : (st.st_mode & S_IROTH) != 0;
  }
  if (is_readable) return {};
  return Error(ErrorCode::not_found,
               "Key file " + path + " not readable" + (runner.identity ? " for " + runner.name : ""));
}

// Whether the work tree is there already, as far as can be told without the server.
Result<bool> is_there(const Params& params, Repository& repository, const std::string& head) {
  if (!params.revision || head.empty() || params.force) return false;
  const std::string wanted(*params.revision);
  auto origin = repository.has_this_origin();
  if (!origin || !*origin) return origin;
  auto branch = repository.branch();
  if (!branch) return std::move(branch).error();
  if (!branch->empty()) return false;
  if (wanted.size() >= 40 && is_hex(wanted)) return base::equal_ignoring_case(wanted, head);
  auto as_branch = repository.commit_of("refs/remotes/origin/" + wanted);
  if (!as_branch) return std::move(as_branch).error();
  if (!as_branch->empty()) return false;
  auto tag = repository.commit_of("refs/tags/" + wanted);
  if (!tag) return std::move(tag).error();
  return *tag == head;
}

bool is_at(const Target& target, const std::string& head, const std::string& branch) {
  if (head.empty()) return false;
  if (target.kind == Kind::branch) return head == target.id && branch == target.name;
  if (target.kind == Kind::tag) return head == target.id && branch.empty();
  return branch.empty() && head.size() >= target.name.size() &&
         base::equal_ignoring_case(std::string_view(head).substr(0, target.name.size()), target.name);
}

std::string revision_text(const Params& params) {
  return params.revision ? " at " + std::string(*params.revision) : std::string();
}

// What was found out of a work tree that is there, or why nothing is to be done.
PlanWith<Steps> plan_update(const Params& params, const std::string& path, const runners::Runner& runner,
                            Plan plan, Context& context) {
  Repository repository(params, path, runner, context);
  auto head = repository.head();
  if (!head) return Plan::fail(head.error());
  auto there = is_there(params, repository, *head);
  if (!there) return Plan::fail(there.error());
  if (*there) return Plan::kept(path + " is at " + checkouts::short_id(*head));
  auto target = repository.find();
  if (!target) return Plan::fail(target.error());
  auto branch = repository.branch();
  if (!branch) return Plan::fail(branch.error());
  auto origin = repository.has_this_origin();
  if (!origin) return Plan::fail(origin.error());
  // A tag that has moved is followed only with force.
  if (target->kind == Kind::tag && !params.force) {
    auto here = repository.commit_of("refs/tags/" + target->name);
    if (!here) return Plan::fail(here.error());
    if (!here->empty()) target->id = *here;
  }
  const bool at = is_at(*target, *head, *branch);
  if (at && *origin) return Plan::kept(path + " is at " + checkouts::short_id(*head));
  plan.verdict = Verdict::change;
  plan.message = "Update " + path + revision_text(params);
  if (!*origin)
    plan.changes.push_back({.what = "origin of " + path, .before = "another", .after = repository.repo()});
  const std::string wanted = target->id.empty() ? target->name : checkouts::short_id(target->id);
  if (!at)
    plan.changes.push_back({.what = path,
                            .before = head->empty() ? "no commit" : checkouts::short_id(*head),
                            .after = wanted + (target->kind == Kind::branch ? " on " + target->name : "")});
  plan.effects.push_back({.kind = EffectKind::directory, .name = path, .certain = false, .below = true});
  return {std::move(plan), {.path = path, .before = *head}};
}

PlanWith<Steps> Git::plan(const Params& params, Context& context) const {
  auto clean = base::clean_path(params.path);
  if (!clean) return Plan::fail(clean.error());
  auto runner = runners::run_as(params.user, std::nullopt, context);
  if (auto* stop = std::get_if<Plan>(&runner)) return std::move(*stop);
  const auto& as = std::get<runners::Runner>(runner);
  if (auto readable = check_key(params, as, context); !readable) {
    if (const Overlay::Entry* earlier = context.overlay.path(*params.ssh_key_file))
      return Plan::unknown(earlier->state_id, readable.error().message() + " yet");
    return Plan::fail(readable.error());
  }
  auto found = checkouts::look_at(*clean, ".git", as, context);
  if (auto* stop = std::get_if<Plan>(&found)) return std::move(*stop);
  const Found what = std::get<Found>(found);
  if (what == Found::other_files)
    return Plan::fail(*clean + " exists, is not empty and not a git repository");
  Plan plan;
  auto has_git = prerequisites::plan_program(context, kNeeded, plan);
  if (!has_git) return Plan::fail(has_git.error());
  if (what == Found::working_copy && *has_git)
    return plan_update(params, *clean, as, std::move(plan), context);
  plan.verdict = Verdict::change;
  const std::string repo = checkouts::split_address(params.repo).plain;
  const bool is_new = what != Found::working_copy;
  plan.message = (is_new ? "Clone " + repo + " to " : "Update ") + *clean + revision_text(params);
  plan.changes.push_back({.what = *clean,
                          .before = is_new ? "absent" : "cannot be told without git",
                          .after = "clone of " + repo + revision_text(params)});
  if (auto planned = checkouts::plan_folder(*clean, params.user, context, plan); !planned)
    return Plan::fail(planned.error());
  return {std::move(plan), {.path = *clean, .is_new = is_new}};
}

// Brings it about, and answers the commit that the work tree is at then.
Result<std::string> update(Repository& repository, const Steps& steps, ApplyContext& context) {
  auto target = repository.find();
  if (!target) return std::move(target).error();
  auto freed =
      checkouts::remove_dead_locks(steps.path, ".git",
                                   {"index.lock", "HEAD.lock", "shallow.lock", "config.lock",
                                    "packed-refs.lock", "ORIG_HEAD.lock", "FETCH_HEAD.lock", "refs/*.lock"},
                                   context);
  if (!freed) return std::move(freed).error();
  if (auto prepared = repository.prepare(steps.is_new); !prepared) return std::move(prepared).error();
  auto clones = repository.is_cloning();
  if (!clones) return std::move(clones).error();
  if (*clones) repository.overwrite();
  auto id = repository.fetch(*target);
  if (!id) return id;
  auto branch = repository.branch();
  if (!branch) return branch;
  const bool is_new = steps.before.empty();
  if (auto done = repository.check_out(*target, *id, *branch, is_new); !done) return std::move(done).error();
  if (*clones)
    if (auto noted = repository.has_cloned(); !noted) return std::move(noted).error();
  return repository.head();
}

Applied Git::apply(const Params& params, const Plan&, const Steps& steps, ApplyContext& context) const {
  auto runner = runners::run_as(params.user, std::nullopt, context);
  if (auto* stop = std::get_if<Plan>(&runner)) return Applied::failed(stop->message);
  const auto& as = std::get<runners::Runner>(runner);
  auto installed = prerequisites::ensure_program(context, kNeeded);
  if (!installed) return Applied::failed(installed.error());
  if (auto made = checkouts::make_folder(steps.path, ".git", as, context); !made)
    return Applied::failed(made.error());
  Repository repository(params, steps.path, as, context);
  auto id = update(repository, steps, context);
  std::string output = installed->output + repository.output();
  if (!id) return Applied::failed(id.error(), std::move(output));
  const std::string now = checkouts::short_id(*id);
  std::string comment = steps.is_new ? "Cloned " + repository.repo() + " to " + steps.path + " at " + now
                        : steps.before == *id
                            ? steps.path + " is at " + now
                            : steps.path + " updated " +
                                  (steps.before.empty() ? "" : checkouts::short_id(steps.before) + " ") +
                                  "-> " + now;
  return Applied::done(installed->before(std::move(comment)), std::move(output));
}

constexpr Git kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::common_git
