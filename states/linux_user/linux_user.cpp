// linux.user: an account of the system with these attributes.
#include <algorithm>
#include <filesystem>
#include <set>

#include "base/text.hpp"
#include "states/accounts/account_values.hpp"
#include "states/files/ownership.hpp"
#include "states/linux_user/password.hpp"
#include "states/linux_user/user_home.hpp"
#include "states/programs/tool_sequence.hpp"
#include "states/state.hpp"

namespace states::linux_user {

namespace {

struct Params {
  std::string_view username;
  std::string_view password;  // empty: not managed
  std::optional<std::string_view> fullname;
  std::optional<std::string_view> uid;
  std::optional<std::string_view> gid;
  std::optional<std::string_view> home;
  std::optional<std::string_view> shell;
  bool no_login = false;
  std::optional<List> groups;
  bool system_account = false;
};

constexpr auto kParams = param_table(
    param<&Params::username>("username", "login name").required(),
    param<&Params::password>("password",
                             "a crypt hash, or what begins with ! or * (locked), stored as it is; any other "
                             "text is the clear password")
        .fallback("kept; locked when created")
        .secret(),
    param<&Params::fullname>("fullname", "full name; with commas in it, the whole GECOS field")
        .fallback("kept"),
    param<&Params::uid>("uid", "number of the user").fallback("kept; the system chooses when created"),
    param<&Params::gid>("gid", "primary group, number or name; it must exist")
        .fallback("kept; when created the group of the user's name"),
    param<&Params::home>("home", "home directory; $username is replaced by the login name")
        .fallback("kept; /home/<username> when created"),
    param<&Params::shell>("shell", "login shell").fallback("kept; the system's default when created"),
    param<&Params::no_login>("no-login", "the shell is nologin (or /bin/false); false does not undo it")
        .fallback("false"),
    param<&Params::groups>("groups", "exactly these supplementary groups; [] removes all")
        .names()
        .fallback("kept"),
    param<&Params::system_account>("system-account",
                                   "take the number of a new user from those for the system")
        .fallback("false"));

constexpr std::string_view kHidden = "***";
constexpr std::size_t kLongestPassword = 511;  // libcrypt's

struct Steps {
  std::vector<std::string> argv;     // useradd or usermod; empty when only the password differs
  std::vector<std::string> folders;  // to be made before, outermost first, for root
  bool is_new = false;
  bool make_home = false;                         // usermod does not
  bool own_home = false;                          // useradd leaves a folder that is there alone
  base::Seen seen_home;                           // that folder
  std::optional<NewHome> new_home;                // of a new account, or of one that was left half-way
  std::vector<std::vector<std::string>> repairs;  // of such an account: programs to be run first
  bool set_password = false;
  std::vector<std::string> attributes;  // that are changed: "shell", "password"
  std::string home;
  base::Attributes home_attributes;
};

class User final : public State<Params, Steps> {
 public:
  constexpr User()
      : State({.name = "linux.user", .summary = "An account of the system with these attributes"}, kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

base::Result<std::string> home_path(const Params& params) {
  const std::string name(params.username);
  std::string home(params.home.value_or("/home/" + name));
  for (const std::string_view variable : {std::string_view("${username}"), std::string_view("$username")})
    for (std::size_t at = home.find(variable); at != std::string::npos;
         at = home.find(variable, at + name.size()))
      home.replace(at, variable.size(), name);
  auto clean = base::clean_path(home);
  if (!clean || !accounts::is_passwd_field(home)) return accounts::illegal_value("home", home);
  return clean;
}

base::Result<void> User::check(const Params& params) const {
  using base::Error;
  using base::ErrorCode;
  if (auto name = accounts::check_account_name("username", params.username); !name) return name;
  if (params.uid && !accounts::parse_account_id(*params.uid))
    return Error(ErrorCode::invalid, "Illegal uid '" + std::string(*params.uid) + "'");
  if (params.fullname && !accounts::is_passwd_field(*params.fullname))
    return accounts::illegal_value("fullname", *params.fullname);
  if (auto home = home_path(params); !home) return std::move(home).error();
  if (params.shell && (!accounts::is_passwd_field(*params.shell) || !params.shell->starts_with('/')))
    return accounts::illegal_value("shell", *params.shell);
  if (is_hash(params.password) && !accounts::is_passwd_field(params.password))
    return accounts::illegal_value("password", kHidden);
  if (params.password.size() > kLongestPassword)
    return Error(ErrorCode::invalid, "Parameter 'password' must not be longer than 511 bytes");
  return {};
}

std::vector<Effect> User::touched(const Params& params) const {
  const std::string name(params.username);
  std::vector<Effect> touched{{.kind = EffectKind::user, .name = name},
                              {.kind = EffectKind::group, .name = name}};
  if (params.uid)
    touched.push_back(
        {.kind = EffectKind::user, .name = std::to_string(*accounts::parse_account_id(*params.uid))});
  if (auto home = home_path(params)) touched.push_back({.kind = EffectKind::directory, .name = *home});
  return touched;
}

// The groups that are asked for: by name, with their number unless an earlier state has yet to make them.
struct WantedGroup {
  std::string name;
  std::optional<gid_t> gid;
};
struct WantedGroups {
  std::optional<WantedGroup> primary;
  std::set<std::string> others;
};

std::optional<WantedGroup> find_group(std::string_view text, Context& context) {
  const base::Group* found = context.accounts.group(text);
  if (found) context.overlay.find(EffectKind::group, found->name);  // another number may be planned for it
  const auto number = found ? std::nullopt : accounts::parse_account_id(text);
  if (number) found = context.accounts.group_by_id(*number);
  if (found) return WantedGroup{found->name, found->gid};
  const Overlay::Entry* planned = context.overlay.find(EffectKind::group, text);
  if (!planned || !planned->effect.present) return std::nullopt;
  const std::string& alias = planned->effect.alias;
  if (number) return WantedGroup{alias.empty() ? std::string(text) : alias, number};
  return WantedGroup{std::string(text), accounts::parse_account_id(alias)};
}

std::variant<WantedGroups, Plan> resolve_groups(const Params& params, const base::User* user,
                                                Context& context) {
  WantedGroups wanted;
  std::vector<std::string> missing;
  if (params.gid) {
    wanted.primary = find_group(*params.gid, context);
    if (!wanted.primary) missing.emplace_back(*params.gid);
  }
  // Everybody is in the primary group anyway, whether /etc/group says so once more or not.
  const std::string primary = wanted.primary ? wanted.primary->name
                              : user         ? files::group_text(user->gid, context)
                                             : std::string(params.username);
  for (const std::string_view text : params.groups.value_or(List())) {
    if (text == primary) continue;
    const auto group = find_group(text, context);
    if (!group)
      missing.emplace_back(text);
    else if (group->name != primary)
      wanted.others.insert(group->name);
  }
  if (missing.empty()) return wanted;
  const std::string message = "Group(s) do not exist: " + base::join(missing, ", ");
  for (const std::string& name : missing)
    if (!context.overlay.provider(EffectKind::group, name)) return Plan::fail(message);
  const Overlay::Entry* provider = context.overlay.provider(EffectKind::group, missing.front());
  return Plan::unknown(provider->state_id, message + " yet");
}

base::Result<std::optional<std::string>> wanted_shell(const Params& params, Context& context) {
  using Shell = std::optional<std::string>;
  if (!params.no_login) return params.shell ? Shell(*params.shell) : Shell();
  for (const char* candidate : {"/usr/sbin/nologin", "/sbin/nologin", "/bin/false"}) {
    auto found = context.tree.look(candidate);
    if (!found) return std::move(found).error();
    if (*found) return Shell(candidate);
  }
  return base::Error(base::ErrorCode::not_found, "Neither nologin nor /bin/false exists");
}

// The GECOS field with this full name; its other parts (room, telephone) stay.
std::string gecos_with(std::string_view fullname, const std::string& gecos) {
  if (fullname.find(',') != std::string_view::npos) return std::string(fullname);
  const std::size_t comma = gecos.find(',');
  return std::string(fullname) + (comma == std::string::npos ? "" : gecos.substr(comma));
}

std::string listed(const std::set<std::string>& names, std::string_view separator) {
  return base::join(std::vector<std::string>(names.begin(), names.end()), separator);
}

// What useradd copies into a new home.
void add_first_files(const std::string& home, const Context& context, Plan& plan) {
  std::error_code none;
  std::filesystem::directory_iterator entries(context.host.root + "/etc/skel", none);
  for (; !none && entries != std::filesystem::directory_iterator(); entries.increment(none))
    plan.effects.push_back({.kind = EffectKind::file,
                            .name = home + "/" + entries->path().filename().string(),
                            .certain = false});
}

PlanWith<Steps> plan_new(const Params& params, const WantedGroups& groups,
                         const std::optional<std::string>& shell, Context& context) {
  const std::string name(params.username);
  const std::string home = *home_path(params);
  auto place = look_at_home(home, context);
  if (!place) return Plan::fail(place.error());
  // useradd takes it for missing and cannot make it.
  if (place->exists && !place->is_folder)
    if (const auto end = context.tree.follow(home); !end && end.error().code() == base::ErrorCode::not_found)
      return Plan::fail("User " + name + " cannot be created: " + home + " is a symlink that leads nowhere");
  Steps steps{.argv = {"useradd", "--create-home", "--home-dir=" + home}, .is_new = true, .home = home};
  steps.folders = place->missing_parents;
  steps.own_home = place->is_folder && !is_system_folder(home);
  steps.seen_home = place->seen;
  // What useradd was killed in before has nobody yet who could have put anything there.
  const auto left = noted_home(name, context);
  const bool was_made = left && left->is_made && left->path == home;
  if (!place->exists || steps.own_home) steps.new_home = NewHome{!place->exists || was_made, home};
  steps.set_password = !params.password.empty();
  std::string described = "home " + home;
  const auto option = [&](const char* flag, const std::string& value, const char* word) {
    steps.argv.push_back(flag + ("=" + value));
    described += std::string(", ") + word + " " + value;
  };
  if (params.uid) option("--uid", std::to_string(*accounts::parse_account_id(*params.uid)), "uid");
  if (groups.primary)
    option("--gid", groups.primary->name, "group");
  else if (find_group(name, context))  // useradd refuses to make it a second time
    option("--gid", name, "group");
  if (params.system_account) steps.argv.emplace_back("--system");
  if (shell) option("--shell", *shell, "shell");
  if (params.fullname) option("--comment", std::string(*params.fullname), "name");
  if (!groups.others.empty()) option("--groups", listed(groups.others, ","), "groups");
  steps.argv.insert(steps.argv.end(), {"--", name});

  Plan plan{.verdict = Verdict::change, .message = "Create user " + name};
  plan.changes.push_back({.what = "user " + name, .before = "absent", .after = described});
  if (steps.set_password)
    plan.changes.push_back({.what = "password of " + name, .after = std::string(kHidden)});
  if (steps.own_home)
    plan.changes.push_back({.what = "owner of " + home, .before = place->owner, .after = name});
  const std::string uid =
      params.uid ? std::to_string(*accounts::parse_account_id(*params.uid)) : std::string();
  plan.effects = {{.kind = EffectKind::user, .name = name, .alias = uid},
                  {.kind = EffectKind::directory, .name = home, .owner = name, .is_open = false}};
  if (!uid.empty()) plan.effects.push_back({.kind = EffectKind::user, .name = uid, .alias = name});
  if (!groups.primary && !find_group(name, context))
    plan.effects.push_back({.kind = EffectKind::group, .name = name});
  if (!place->exists) add_first_files(home, context, plan);
  for (const std::string& folder : steps.folders)
    plan.effects.push_back({.kind = EffectKind::directory, .name = folder});
  return {std::move(plan), std::move(steps)};
}

base::Result<bool> password_differs(const Params& params) {
  if (params.password.empty()) return false;
  auto stored = stored_hash(std::string(params.username));
  if (!stored) return std::move(stored).error();
  if (!*stored) return true;
  return is_hash(params.password) ? **stored != params.password : !is_password_of(params.password, **stored);
}

// What an account lacks that a killed or failed run of this state has created: useradd puts its files in
// place one after another, and the home last. Nothing is done to a home that the account has no more.
base::Result<void> finish_new(const base::User& user, bool with_home, Context& context, Plan& plan,
                              Steps& steps) {
  const auto left = noted_home(user.name, context);
  if (!left) return {};
  steps.new_home = left;
  const auto add = [&](std::string what, std::string before, std::string after) {
    plan.changes.push_back({.what = std::move(what), .before = std::move(before), .after = std::move(after)});
  };
  const auto hash = stored_hash(user.name);
  if (!hash) return hash.error();
  if (!*hash) {
    steps.repairs.push_back({"pwconv"});
    add("entry of " + user.name + " in /etc/shadow", "missing", "made by pwconv");
  }
  if (!context.accounts.group_by_id(user.gid)) {
    steps.repairs.push_back({"groupadd", "--gid=" + std::to_string(user.gid), "--", user.name});
    add("group " + user.name, "missing", "gid " + std::to_string(user.gid));
  }
  const auto home = base::clean_path(user.home);
  if (!with_home || !home || *home != left->path || is_system_folder(*home)) return {};
  auto place = look_at_home(*home, context);
  if (!place) return std::move(place).error();
  if (place->exists && !place->is_folder) return {};
  steps.home = *home;
  steps.folders = place->missing_parents;
  steps.seen_home = place->seen;
  steps.home_attributes = {.uid = user.uid, .gid = user.gid, .mode = kNewHomeMode};
  steps.make_home = !place->exists;
  const std::string owner = files::owner_text(user.uid, user.gid, context);
  if (steps.make_home) {
    add("home of " + user.name, "missing", *home);
    plan.effects.push_back(
        {.kind = EffectKind::directory, .name = *home, .owner = user.name, .is_open = false});
  } else if (place->owner != owner || place->mode == 0) {
    steps.own_home = true;
    if (place->mode != 0) steps.home_attributes.mode.reset();
    add("owner of " + *home, place->owner, owner);
    plan.effects.push_back({.kind = EffectKind::directory, .name = *home, .attributes_only = true});
  }
  if (!left->is_made) return {};
  auto missing = missing_first_files(*home, context);
  if (!missing) return std::move(missing).error();
  if (missing->empty()) return {};
  add("first files in " + *home, "incomplete", base::join(*missing, ", "));
  for (const std::string& name : *missing)
    plan.effects.push_back({.kind = EffectKind::file, .name = *home + "/" + name});
  return {};
}

PlanWith<Steps> plan_existing(const Params& params, const base::User& user, const WantedGroups& groups,
                              const std::optional<std::string>& shell, Context& context) {
  Plan plan{.verdict = Verdict::change};
  Steps steps{.argv = {"usermod"}};
  const auto change = [&](const char* flag, const char* what, std::string before, std::string after) {
    if (before == after) return;
    steps.argv.push_back(flag + ("=" + after));
    steps.attributes.emplace_back(what);
    plan.changes.push_back({.what = std::string(what) + " of " + user.name,
                            .before = std::move(before),
                            .after = std::move(after)});
  };
  if (params.fullname) change("--comment", "full name", user.gecos, gecos_with(*params.fullname, user.gecos));
  if (params.uid)
    change("--uid", "uid", std::to_string(user.uid),
           std::to_string(*accounts::parse_account_id(*params.uid)));
  if (groups.primary && groups.primary->gid != user.gid)
    change("--gid", "primary group", files::group_text(user.gid, context), groups.primary->name);
  if (shell) change("--shell", "shell", user.shell, *shell);
  if (params.groups) {
    std::set<std::string> present;
    // Of the primary group it does not matter whether /etc/group lists the user as well; of the one that is
    // primary no longer it does.
    const gid_t primary = groups.primary ? groups.primary->gid.value_or(user.gid) : user.gid;
    for (const base::Group& group : context.accounts.groups_of(user.name))
      if (group.gid != primary) present.insert(group.name);
    change("--groups", "groups", listed(present, ","), listed(groups.others, ","));
  }
  const std::string home = *home_path(params);
  const auto present_home = base::clean_path(user.home);
  const bool moves_home = params.home && (present_home ? *present_home : user.home) != home;
  const std::size_t asked = plan.changes.size();
  if (auto finished = finish_new(user, !moves_home, context, plan, steps); !finished)
    return Plan::fail(finished.error());
  if (plan.changes.size() > asked) steps.attributes.emplace_back("what was missing of a new account");
  if (moves_home) {
    auto place = look_at_home(home, context);
    if (!place) return Plan::fail(place.error());
    change("--home", "home", user.home, home);
    steps.home = home;
    steps.make_home = !place->exists;
    steps.folders = place->missing_parents;
    steps.home_attributes = {.uid = params.uid ? *accounts::parse_account_id(*params.uid) : user.uid,
                             .gid = groups.primary ? groups.primary->gid : user.gid,
                             .mode = kNewHomeMode};
    for (const std::string& folder : steps.folders)
      plan.effects.push_back({.kind = EffectKind::directory, .name = folder});
    if (steps.make_home)
      plan.effects.push_back(
          {.kind = EffectKind::directory, .name = home, .owner = user.name, .is_open = false});
  }
  if (steps.argv.size() == 1) steps.argv.clear();
  auto differs = password_differs(params);
  if (!differs) return Plan::fail(differs.error());
  steps.set_password = *differs;
  if (*differs) {
    steps.attributes.emplace_back("password");
    plan.changes.push_back(
        {.what = "password of " + user.name, .before = std::string(kHidden), .after = std::string(kHidden)});
  }
  if (plan.changes.empty() && steps.new_home) {
    plan.message = "User " + user.name + " is as wanted; forget that it was about to be made";
    plan.is_refresh = true;
    return {std::move(plan), std::move(steps)};
  }
  if (plan.changes.empty()) return Plan::kept("User " + user.name + " is as wanted");
  if (!steps.argv.empty()) steps.argv.insert(steps.argv.end(), {"--", user.name});
  plan.message = "Update user " + user.name;
  // Whoever owns things by this name would own others once it has another number.
  const bool moves = params.uid && *accounts::parse_account_id(*params.uid) != user.uid;
  plan.effects.push_back({.kind = EffectKind::user, .name = user.name, .certain = !moves});
  // usermod gives the home, and what is in it, to the new numbers.
  const bool changes_group = groups.primary && groups.primary->gid != user.gid;
  if (const auto in_use = base::clean_path(params.home ? home : user.home);
      in_use && (moves || changes_group) && !context.tree.real_end(*in_use).empty())
    plan.effects.push_back(
        {.kind = EffectKind::directory, .name = *in_use, .attributes_only = true, .below = true});
  if (moves)
    for (const id_t uid : {user.uid, *accounts::parse_account_id(*params.uid)})
      plan.effects.push_back({.kind = EffectKind::user, .name = std::to_string(uid), .certain = false});
  return {std::move(plan), std::move(steps)};
}

PlanWith<Steps> User::plan(const Params& params, Context& context) const {
  const std::string name(params.username);
  if (const Overlay::Entry* earlier = context.overlay.find(EffectKind::user, name))
    return Plan::unknown(earlier->state_id, "User " + name + " depends on what an earlier state does to it");
  const base::User* user = context.accounts.user(name);
  if (params.uid) {
    const std::string uid = std::to_string(*accounts::parse_account_id(*params.uid));
    if (const Overlay::Entry* earlier = context.overlay.find(EffectKind::user, uid))
      return Plan::unknown(earlier->state_id, "uid " + uid + " depends on what an earlier state does");
    const base::User* owner = context.accounts.user_by_id(*accounts::parse_account_id(*params.uid));
    // Who has it already keeps it: several names for one number are legal, and useradd -o makes them.
    const bool has_it = user && user->uid == *accounts::parse_account_id(*params.uid);
    if (owner && owner->name != name && !has_it)
      return Plan::fail("uid " + std::string(*params.uid) + " is already used by " + owner->name);
  }
  auto resolved = resolve_groups(params, user, context);
  if (auto* stop = std::get_if<Plan>(&resolved)) return std::move(*stop);
  const WantedGroups& groups = std::get<WantedGroups>(resolved);
  auto shell = wanted_shell(params, context);
  if (!shell) return Plan::fail(shell.error());
  return user ? plan_existing(params, *user, groups, *shell, context)
              : plan_new(params, groups, *shell, context);
}

// The hash goes through a pipe: an argument could be read by everybody on the machine.
base::Result<void> set_password(const Params& params, programs::ToolSequence& tools) {
  std::string hash(params.password);
  if (!is_hash(hash)) {
    auto made = hash_of(params.password);
    if (!made) return std::move(made).error();
    hash = std::move(*made);
  }
  base::Command command;
  command.argv = {"chpasswd", "-e"};
  command.input = std::string(params.username) + ":" + hash + "\n";
  return tools.run(std::move(command));
}

base::Result<void> execute(const Params& params, const Steps& steps, ApplyContext& context,
                           programs::ToolSequence& tools) {
  if (steps.is_new && steps.new_home)
    if (auto noted = note_home(params.username, *steps.new_home, context); !noted) return noted;
  for (const std::vector<std::string>& repair : steps.repairs)
    if (auto ran = tools.run(repair); !ran) return ran;
  // Folders first: were we killed in between, the next plan would still find the home to be changed.
  if (auto made = make_parents(steps.folders, context); !made) return made;
  if (steps.make_home)
    if (auto made = context.files.make_folder(steps.home, steps.home_attributes); !made) return made;
  if (!steps.argv.empty()) {
    auto ran = tools.run(steps.argv);
    context.accounts.forget();
    // Whoever makes such an account by hand some day has it as he wants it.
    const bool is_refused = !ran && steps.is_new && !context.accounts.user(params.username);
    if (is_refused) (void)forget_home(params.username, context);
    if (!ran) return ran;
  }
  const base::User* user = context.accounts.user(params.username);
  if (!user)
    return base::Error(base::ErrorCode::not_found,
                       "There is no user " + std::string(params.username) + " after useradd");
  if (steps.own_home)
    if (auto owned = context.files.set_attributes(
            steps.home, steps.seen_home,
            {.uid = user->uid, .gid = user->gid, .mode = steps.home_attributes.mode});
        !owned)
      return owned;
  if (steps.new_home && steps.new_home->is_made && steps.new_home->path == steps.home)
    if (auto copied = copy_first_files(steps.home, *user, context); !copied) return copied;
  if (steps.set_password)
    if (auto set = set_password(params, tools); !set) return set;
  return steps.new_home ? forget_home(params.username, context) : base::Result<void>();
}

Applied User::apply(const Params& params, const Plan&, const Steps& steps, ApplyContext& context) const {
  const std::string name(params.username);
  programs::ToolSequence tools(context.commands, !context.sensitive);
  if (auto done = execute(params, steps, context, tools); !done)
    return Applied::failed(done.error(), tools.output());
  if (steps.is_new)
    return Applied::done(
        "User " + name + " created (uid " + std::to_string(context.accounts.user(name)->uid) + ")",
        tools.output());
  if (steps.attributes.empty()) return Applied::done("User " + name + " is as wanted", tools.output());
  return Applied::done("User " + name + " updated: " + base::join(steps.attributes, ", "), tools.output());
}

constexpr User kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_user
