// common.svn: a working copy of a Subversion repository.
#include <algorithm>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/checkouts/checkout.hpp"
#include "states/checkouts/locks.hpp"
#include "states/checkouts/proxies.hpp"
#include "states/prerequisites/prerequisite.hpp"
#include "states/state.hpp"

namespace states::common_svn {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using checkouts::Client;
using checkouts::Found;

struct Params {
  std::string_view path;
  std::string_view repo;
  std::string_view revision = "HEAD";
  std::optional<std::string_view> username;
  std::optional<std::string_view> password;
  bool force = false;
  std::optional<std::string_view> user;
};

constexpr auto kParams = param_table(
    param<&Params::path>("path", "folder of the working copy").required(),
    param<&Params::repo>("repo", "address in the repository").required(),
    param<&Params::revision>("revision", "number, {date}, HEAD, BASE, COMMITTED or PREV").fallback("HEAD"),
    param<&Params::username>("username", "name for the server").fallback("the user's own settings"),
    param<&Params::password>("password", "password for the server").secret().fallback("none"),
    param<&Params::force>("force",
                          "check out over files that are there; take the repository's side in conflicts")
        .fallback("false"),
    param<&Params::user>("user", "whom svn runs as, and who owns the working copy").fallback("root"));

constexpr prerequisites::Prerequisite kNeeded{"common.svn", "svn", {"subversion"}, {"subversion"}};

struct Steps {
  std::string path;
  bool is_new = false;
  bool switches = false;  // to another address of the same repository
  std::string before;     // the revision that it was at
};

class Svn final : public State<Params, Steps> {
 public:
  constexpr Svn()
      : State({.name = "common.svn",
               .summary = "A working copy of a Subversion repository",
               .timeout = std::chrono::hours(1)},
              kParams) {}

 private:
  Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// As svn calls it; old recipes have one of them misspelt.
std::string revision_of(const Params& params) {
  std::string revision(params.revision);
  if (is_number(revision) || revision.starts_with('{')) return revision;
  std::ranges::transform(revision, revision.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return revision == "COMMITED" ? "COMMITTED" : revision;
}

Result<void> Svn::check(const Params& params) const {
  if (auto clean = base::clean_path(params.path); !clean) return std::move(clean).error();
  if (auto fine = checkouts::check_value("repo", params.repo); !fine) return fine;
  if (params.repo.find("://") == std::string_view::npos)
    return Error(ErrorCode::invalid, "Illegal value for 'repo': '" + std::string(params.repo) +
                                         "': an address such as https://… or file:///…");
  if (params.username)
    if (auto fine = checkouts::check_value("username", *params.username); !fine) return fine;
  if (params.password &&
      params.password->find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos)
    return Error(ErrorCode::invalid, "Illegal value for 'password': it has more than one line");
  const std::string revision = revision_of(params);
  const bool is_date = revision.size() > 2 && revision.starts_with('{') && revision.ends_with('}') &&
                       revision.find_first_not_of("0123456789-:TZ+. ", 1) == revision.size() - 1;
  for (const char* known : {"HEAD", "BASE", "COMMITTED", "PREV"})
    if (revision == known) return {};
  if (is_number(revision) || is_date) return {};
  return Error(ErrorCode::invalid, "Illegal value for 'revision': '" + std::string(params.revision) + "'");
}

std::vector<Effect> Svn::touched(const Params& params) const {
  std::vector<Effect> touched = prerequisites::possible_packages(kNeeded);
  if (auto clean = base::clean_path(params.path))
    touched.push_back({.kind = EffectKind::directory, .name = std::move(*clean), .certain = false});
  return touched;
}

// In Context::notes: states with PREV that have gone back in this round.
struct WentBack {
  std::vector<std::string> states;
};

// What `svn info --xml` says; texts as they are in XML.
struct Info {
  std::string url, root, revision, changed;
};

std::string between(std::string_view text, std::string_view begin, std::string_view end,
                    std::size_t from = 0) {
  const std::size_t at = text.find(begin, from);
  if (at == std::string_view::npos) return {};
  const std::size_t first = at + begin.size();
  const std::size_t last = text.find(end, first);
  return last == std::string_view::npos ? std::string() : std::string(text.substr(first, last - first));
}

std::string without_entities(std::string text) {
  for (const auto& [entity, character] : {std::pair<std::string_view, std::string_view>{"&lt;", "<"},
                                          {"&gt;", ">"},
                                          {"&quot;", "\""},
                                          {"&apos;", "'"},
                                          {"&amp;", "&"}})
    for (std::size_t at = text.find(entity); at != std::string::npos; at = text.find(entity, at + 1))
      text.replace(at, entity.size(), character);
  return text;
}

Info read_info(std::string_view xml) {
  const std::size_t entry = std::min(xml.find("<entry"), xml.size());
  const std::size_t commit = std::min(xml.find("<commit"), xml.size());
  return {.url = without_entities(between(xml, "<url>", "</url>")),
          .root = without_entities(between(xml, "<root>", "</root>")),
          .revision = between(xml, "revision=\"", "\"", entry),
          .changed = between(xml, "revision=\"", "\"", commit)};
}

// An "@" in an address or a path would be read as the beginning of a revision.
std::string pegged(const std::string& target) {
  return target.find('@') == std::string::npos ? target : target + "@";
}

class Repository {
 public:
  Repository(const Params& params, const std::string& path, const runners::Runner& runner, Context& context)
      : params_(params),
        path_(path),
        address_(checkouts::split_address(params.repo)),
        context_(context),
        svn_("svn", runner, {}, context) {
    while (address_.plain.size() > 1 && address_.plain.ends_with('/'))
      address_.plain.pop_back();
  }

  const std::string& repo() const { return address_.plain; }
  const std::string& output() const { return svn_.output(); }

  Result<Info> here() {
    auto xml = svn_.try_to({"info", "--xml", "--non-interactive", "--", pegged(path_)});
    if (!xml) return std::move(xml).error();
    if (!xml->ok()) return svn_.failure("info", *xml);
    return read_info(xml->output);
  }
  // Not so after a checkout or an update that was killed: such a working copy has its new revision from the
  // beginning, and the files only at the end.
  Result<bool> is_whole() {
    auto xml = svn_.try_to({"status", "--xml", "--non-interactive", "--depth", "empty", "--", pegged(path_)});
    if (!xml) return std::move(xml).error();
    if (!xml->ok()) return svn_.failure("status", *xml);
    return xml->output.find("item=\"incomplete\"") == std::string::npos;
  }
  Result<Info> there(const std::string& revision) {
    auto xml =
        svn_.try_to(with_login({"info", "--xml", "-r", revision, "--", pegged(address_.plain)}), password());
    if (!xml) return std::move(xml).error();
    if (!xml->ok()) return explained("info", *xml);
    return read_info(xml->output);
  }

  Result<void> bring(const Steps& steps) {
    std::vector<std::string> arguments{steps.is_new     ? "checkout"
                                       : steps.switches ? "switch"
                                                        : "update",
                                       "-r", revision_of(params_)};
    if (params_.force) arguments.emplace_back("--force");
    if (params_.force && !steps.is_new) arguments.insert(arguments.end(), {"--accept", "theirs-full"});
    arguments.emplace_back("--");
    if (steps.is_new || steps.switches) arguments.push_back(pegged(address_.plain));
    // svn takes the last target of a checkout and a switch as it is written.
    arguments.push_back(steps.is_new || steps.switches ? path_ : pegged(path_));
    auto done = svn_.run(with_login(arguments), password());
    const auto says = [&](const char* code) { return done->output.find(code) != std::string::npos; };
    if (done && !done->ok() && (says("E155004") || says("E155037")) &&
        !checkouts::is_worked_in(path_, ".svn", context_)) {
      // Somebody was ended half-way, and has left his locks, or work to be done. (Locks of somebody who is at
      // work would be taken away, too.)
      auto cleaned = svn_.run({"cleanup", "--non-interactive", "--", pegged(path_)});
      if (!cleaned) return std::move(cleaned).error();
      done = svn_.run(with_login(arguments), password());
    }
    if (!done) return std::move(done).error();
    if (!done->ok()) return explained(arguments.front(), *done);
    if (const std::string files = conflicts(done->output); !files.empty())
      return Error(ErrorCode::exists, "Local changes are in conflict with the repository: " + files);
    return {};
  }

 private:
  std::vector<std::string> with_login(std::vector<std::string> arguments) const {
    std::vector<std::string> login{"--non-interactive", "--no-auth-cache"};
    const std::string name(params_.username.value_or(address_.user));
    if (!name.empty()) login.insert(login.end(), {"--username", name});
    if (!password().empty()) login.emplace_back("--password-from-stdin");
    // svn does not look at the environment for a proxy. One with a password is left to svn's own settings:
    // arguments are for everybody to see.
    if (const auto proxy = checkouts::proxy_for(address_.plain, context_.host.downloads);
        proxy && !proxy->has_login) {
      for (const std::string& setting : {"http-proxy-host=" + proxy->host, "http-proxy-port=" + proxy->port,
                                         "http-proxy-exceptions=" + context_.host.downloads.no_proxy})
        login.insert(login.end(), {"--config-option", "servers:global:" + setting});
    }
    arguments.insert(arguments.begin() + 1, login.begin(), login.end());
    return arguments;
  }
  std::string password() const { return std::string(params_.password.value_or(address_.password)); }

  // The files whose conflicts nobody has resolved: "Text conflicts: 1", and not "0 remaining (and 1
  // resolved)".
  static std::string conflicts(const std::string& output) {
    const std::size_t summary = output.find("Summary of conflicts:");
    if (summary == std::string::npos) return {};
    bool remain = false;
    for (const std::string_view line : base::split(std::string_view(output).substr(summary), '\n'))
      if (const std::size_t at = line.find(" conflicts: "); at != std::string_view::npos)
        remain = remain || !line.substr(at + 12).starts_with("0 ");
    if (!remain) return {};
    std::vector<std::string> files;
    for (const std::string_view line : base::split(std::string_view(output), '\n'))
      if (line.starts_with("C    ") || line.starts_with("   C "))
        files.emplace_back(base::trim(line.substr(4)));
    return files.empty() ? "see the output" : base::join(files, ", ");
  }

  Error explained(std::string_view action, const base::Completed& completed) const {
    for (const std::string_view code : {"E170001", "E215004",
                                        "E170013: Unable to connect to a repository at URL "
                                        "with these credentials"})
      if (completed.output.find(code) != std::string::npos)
        return {ErrorCode::permission, "Authentication failed for " + address_.plain};
    if (completed.output.find("E160006") != std::string::npos)
      return {ErrorCode::not_found,
              "Revision '" + std::string(params_.revision) + "' not found in " + address_.plain};
    return svn_.failure(action, completed);
  }

  const Params& params_;
  const std::string path_;
  checkouts::Address address_;
  Context& context_;
  Client svn_;
};

// Whether the working copy has what the revision asks for, without its address.
Result<bool> is_at(const std::string& revision, const Info& here, Repository& repository,
                   const Context& context, const WentBack& went_back) {
  if (is_number(revision)) return here.revision == revision;
  if (revision == "BASE" || revision == "COMMITTED") return true;
  if (revision == "PREV")
    return std::ranges::find(went_back.states, std::string(context.state_id)) != went_back.states.end();
  auto there = repository.there(revision);
  if (!there) return std::move(there).error();
  const auto wanted = base::parse_integer(there->changed), at = base::parse_integer(here.revision);
  // What has changed elsewhere in the repository is no reason to do anything.
  if (revision == "HEAD") return wanted && at && *wanted <= *at;
  return here.revision == there->revision;
}

PlanWith<Steps> plan_update(const Params& params, const std::string& path, const runners::Runner& runner,
                            Plan plan, Context& context) {
  Repository repository(params, path, runner, context);
  auto here = repository.here();
  if (!here) return Plan::fail(here.error());
  Steps steps{.path = path, .before = here->revision};
  // svn writes an address in its own way: capitals in a host's name, blanks.
  std::string address = repository.repo();
  if (here->url != address)
    if (const auto there = repository.there("HEAD"); there && !there->url.empty()) address = there->url;
  steps.switches = here->url != address;
  const std::string& root = here->root;
  if (steps.switches && address != root && !address.starts_with(root + "/"))
    return Plan::fail(path + " is a working copy of " + here->url);
  auto at = is_at(revision_of(params), *here, repository, context, context.notes.get<WentBack>());
  if (!at) return Plan::fail(at.error());
  auto whole = repository.is_whole();
  if (!whole) return Plan::fail(whole.error());
  if (*at && *whole && !steps.switches) return Plan::kept(path + " is at r" + here->revision);
  plan.verdict = Verdict::change;
  plan.message = "Update " + path + " to " + std::string(params.revision);
  if (steps.switches)
    plan.changes.push_back({.what = "address of " + path, .before = here->url, .after = repository.repo()});
  if (!*at || !*whole)
    plan.changes.push_back({.what = path,
                            .before = "r" + here->revision + (*whole ? "" : ", in part"),
                            .after = std::string(params.revision)});
  plan.effects.push_back({.kind = EffectKind::directory, .name = path, .certain = false, .below = true});
  return {std::move(plan), std::move(steps)};
}

PlanWith<Steps> Svn::plan(const Params& params, Context& context) const {
  auto clean = base::clean_path(params.path);
  if (!clean) return Plan::fail(clean.error());
  auto runner = runners::run_as(params.user, std::nullopt, context);
  if (auto* stop = std::get_if<Plan>(&runner)) return std::move(*stop);
  const auto& as = std::get<runners::Runner>(runner);
  auto found = checkouts::look_at(*clean, ".svn", as, context);
  if (auto* stop = std::get_if<Plan>(&found)) return std::move(*stop);
  const Found what = std::get<Found>(found);
  if (what == Found::other_files && !params.force)
    return Plan::fail(*clean + " exists, is not empty and not a working copy");
  Plan plan;
  auto has_svn = prerequisites::plan_program(context, kNeeded, plan);
  if (!has_svn) return Plan::fail(has_svn.error());
  if (what == Found::working_copy && *has_svn)
    return plan_update(params, *clean, as, std::move(plan), context);
  const bool is_new = what != Found::working_copy;
  const std::string repo = checkouts::split_address(params.repo).plain;
  plan.verdict = Verdict::change;
  plan.message = (is_new ? "Check out " + repo + " to " : "Update ") + *clean;
  plan.changes.push_back({.what = *clean,
                          .before = !is_new ? "cannot be told without svn"
                                    : what == Found::other_files
                                        ? "other files, which stay unless they differ"
                                        : "absent",
                          .after = "working copy of " + repo + " at " + std::string(params.revision)});
  if (auto planned = checkouts::plan_folder(*clean, params.user, context, plan); !planned)
    return Plan::fail(planned.error());
  return {std::move(plan), {.path = *clean, .is_new = is_new}};
}

Applied Svn::apply(const Params& params, const Plan&, const Steps& steps, ApplyContext& context) const {
  auto runner = runners::run_as(params.user, std::nullopt, context);
  if (auto* stop = std::get_if<Plan>(&runner)) return Applied::failed(stop->message);
  const auto& as = std::get<runners::Runner>(runner);
  auto installed = prerequisites::ensure_program(context, kNeeded);
  if (!installed) return Applied::failed(installed.error());
  if (auto made = checkouts::make_folder(steps.path, ".svn", as, context); !made)
    return Applied::failed(made.error());
  Repository repository(params, steps.path, as, context);
  const auto done = repository.bring(steps);
  std::string output = installed->output + repository.output();
  if (!done) return Applied::failed(done.error(), std::move(output));
  const auto here = repository.here();
  if (!here) return Applied::failed(here.error(), std::move(output));
  if (revision_of(params) == "PREV") context.notes.get<WentBack>().states.emplace_back(context.state_id);
  std::string comment =
      steps.is_new ? "Checked out " + repository.repo() + " to " + steps.path + " at r" + here->revision
      : steps.before == here->revision ? steps.path + " is at r" + here->revision
                                       : steps.path + " updated r" + steps.before + " -> r" + here->revision;
  return Applied::done(installed->before(std::move(comment)), std::move(output));
}

constexpr Svn kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::common_svn
