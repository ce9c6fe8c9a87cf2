// linux.dir: directories with this owner and mode, on request with all that is below them, or their absence.
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/files/folder_walk.hpp"
#include "states/files/missing_folders.hpp"
#include "states/files/ownership.hpp"
#include "states/files/protected_folders.hpp"
#include "states/files/replacing.hpp"
#include "states/linux_dir/attributes_below.hpp"
#include "states/state.hpp"

namespace states::linux_dir {

namespace {

struct Params {
  List path;
  std::optional<std::string_view> user;
  std::optional<std::string_view> group;
  std::optional<Mode> mode;
  bool recursive = false;
  bool absent = false;
};

constexpr auto kParams = param_table(
    param<&Params::path>("path", "absolute paths of the directories").names().required(),
    param<&Params::user>("user", "owner, name or number").fallback("kept; root when created"),
    param<&Params::group>("group", "group, name or number").fallback("kept; root when created"),
    param<&Params::mode>("mode", "permissions, octal text").fallback("kept; 0755 when created"),
    param<&Params::recursive>("recursive", "apply the given owner and mode to all that is below, too")
        .fallback("false"),
    param<&Params::absent>("absent", "remove it with all that is below; other parameters are ignored")
        .fallback("false"));

constexpr mode_t kNewFolderMode = 0755;

// What is to be done about one of the paths.
struct Item {
  enum class Action { none, impossible, create, update, unlink, remove_tree };
  std::string path;
  Action action = Action::none;
  base::Seen seen;                   // update, unlink, remove_tree: what was there
  std::string comment;               // none, impossible: what there is to say
  std::vector<std::string> folders;  // create: to be made, outermost first, `path` the last
  bool itself = false;               // update: the directory itself …
  bool below = false;                // … and what is below it
  std::string summary;               // update: "owner a:b -> c:d"
  bool follows_update = false;  // update: an earlier path of this state may lead to it, or to one above it
};

struct Steps {
  std::vector<Item> items;
  base::Attributes given;  // nothing for what was not given
};

class Dir final : public State<Params, Steps> {
 public:
  constexpr Dir()
      : State({.name = "linux.dir",
               .summary = "Directories with this owner and mode, or their absence",
               .works_below_root = true},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

// An Item, or a Plan that stops the whole state.
using ItemOrStop = std::variant<Item, Plan>;

// The common part of planning the items of one state.
struct Planning {
  const Params& params;
  Context& context;
  base::Attributes given;
  std::set<std::string> created{};  // by earlier items of this state, without links on their way
  bool has_updates = false;         // among the earlier items
  Plan plan{};                      // changes and effects so far
};

base::Result<void> Dir::check(const Params& params) const {
  for (std::string_view path : params.path) {
    auto clean = base::clean_path(path);
    if (!clean) return std::move(clean).error();
    if (params.absent && files::is_protected_name(*clean))
      return base::Error(base::ErrorCode::invalid, "Refusing to remove " + *clean);
  }
  return {};
}

std::vector<Effect> Dir::touched(const Params& params) const {
  std::vector<Effect> touched;
  for (std::string_view path : params.path)
    if (auto clean = base::clean_path(path))
      touched.push_back(
          {.kind = EffectKind::directory, .name = std::move(*clean), .below = params.recursive});
  return touched;
}

Item impossible(const std::string& path, std::string why) {
  return {.path = path, .action = Item::Action::impossible, .comment = std::move(why)};
}

// The stat of the directory, through a link at its end that root has made; nothing when it is missing.
base::Result<std::optional<struct stat>> look_at_directory(const std::string& path, base::Tree& tree) {
  auto found = tree.look(path);
  if (!found || !*found || S_ISDIR((*found)->st_mode)) return found;
  if (S_ISLNK((*found)->st_mode)) {
    (void)tree.look(tree.real_end(path));  // an earlier state may change what it leads to
    auto opened = tree.folder(path);
    struct stat st {};
    if (opened && ::fstat(*opened, &st) == 0) return std::optional(st);
    if (!opened && opened.error().code() == base::ErrorCode::permission) return std::move(opened).error();
  }
  return base::Error(base::ErrorCode::exists, path + " exists and is not a directory");
}

Item plan_create(const std::string& path, Planning& planning) {
  auto missing = files::missing_folders(path, planning.context);
  if (!missing) return impossible(path, missing.error().message());
  if (std::string why = files::why_locked(path, base::Changing::name, planning.context); !why.empty())
    return impossible(path, std::move(why));
  missing->push_back(path);
  std::erase_if(*missing, [&](const std::string& folder) {
    return !planning.created.insert(planning.context.tree.real_path(folder)).second;
  });
  const Params& params = planning.params;
  const mode_t mode = planning.given.mode.value_or(kNewFolderMode);
  // Who may enter: everybody, or at least the owner. (Of a mode such as 0601 he may not.)
  constexpr mode_t kEverybodyEnters = S_IXUSR | S_IXGRP | S_IXOTH;
  const bool owner_may_enter = (mode & S_IXUSR) != 0;
  for (const std::string& folder : *missing)
    planning.plan.effects.push_back({.kind = EffectKind::directory,
                                     .name = folder,
                                     .owner = std::string(owner_may_enter ? params.user.value_or("") : ""),
                                     .is_open = (mode & kEverybodyEnters) == kEverybodyEnters});
  const std::string owner =
      params.user || params.group
          ? std::string(params.user.value_or("root")) + ":" + std::string(params.group.value_or("root"))
          : files::owner_text(::geteuid(), ::getegid(), planning.context);
  planning.plan.changes.push_back(
      {.what = path, .before = "absent", .after = "directory, " + owner + ", " + files::mode_text(mode)});
  return {.path = path, .action = Item::Action::create, .folders = std::move(*missing)};
}

// Counts what is below and not as wanted, and appends a change that says so.
base::Result<std::size_t> compare_below(const std::string& path, Planning& planning) {
  auto folder = planning.context.tree.folder(path);
  if (!folder) return std::move(folder).error();
  std::size_t others = 0;
  std::string first;
  const auto visit = [&](const base::WalkEntry& entry) -> base::Result<void> {
    if (entry.is_mount || !wanted_below(entry.info, planning.given)) return {};
    if (others++ == 0) first = entry.path();
    return {};
  };
  if (auto walked = base::walk_below(*folder, path, planning.context.interrupt, visit); !walked)
    return std::move(walked).error();
  if (others > 0)
    planning.plan.changes.push_back({.what = entries_text(others) + " below " + path,
                                     .before = "other owner or mode (" + first + (others > 1 ? ", …)" : ")"),
                                     .after = "as " + path});
  return others;
}

Item plan_existing(const std::string& path, const struct stat& found, Planning& planning) {
  const Params& params = planning.params;
  files::Differences own;
  files::compare_attributes(found, planning.given, path, planning.context, own, params.user, params.group);
  Item item{.path = path, .itself = !own.changes.empty(), .summary = std::move(own.summary)};
  std::ranges::move(own.changes, std::back_inserter(planning.plan.changes));
  if (params.recursive) {
    auto others = compare_below(path, planning);
    if (!others) return impossible(path, others.error().message());
    item.below = *others > 0;
  }
  if (!item.itself && !item.below) {
    item.comment = path + " is as wanted";
    return item;
  }
  item.action = Item::Action::update;
  item.seen = base::Seen(found);
  item.follows_update = std::exchange(planning.has_updates, true);
  planning.plan.effects.push_back(
      {.kind = EffectKind::directory, .name = path, .attributes_only = true, .below = item.below});
  return item;
}

// What is below a directory depends on an earlier state: who that is. How much there will be to do is not
// known then.
const Overlay::Entry* planned_below(const std::string& path, Context& context) {
  if (context.overlay.empty()) return nullptr;
  const Overlay::Entry* earlier = context.overlay.below(context.tree.real_path(path));
  const std::string end = context.tree.real_end(path);  // of a link
  return earlier || end.empty() ? earlier : context.overlay.below(end);
}

// Who would create a user or group that is given and has no number yet.
const Overlay::Entry* coming_owner(const Planning& planning) {
  const Params& params = planning.params;
  const Overlay& overlay = planning.context.overlay;
  if (params.user && !planning.given.uid) return overlay.find(EffectKind::user, *params.user);
  if (!params.group || planning.given.gid) return nullptr;
  return overlay.find(EffectKind::group, *params.group);
}

ItemOrStop plan_present(const std::string& path, Planning& planning) {
  const Params& params = planning.params;
  if (!planning.created.empty() && planning.created.contains(planning.context.tree.real_path(path)))
    return plan_create(path, planning);
  if (const Overlay::Entry* earlier = planning.context.overlay.path(path)) {
    const bool as_wanted = earlier->effect.present && earlier->effect.kind == EffectKind::directory &&
                           !params.user && !params.group && !params.mode;
    if (as_wanted) return Item{.path = path, .comment = path + " is as wanted"};
    return Plan::unknown(earlier->state_id, path + " depends on what an earlier state does to it");
  }
  auto found = look_at_directory(path, planning.context.tree);
  if (!found) return impossible(path, found.error().message());
  if (!*found) return plan_create(path, planning);
  if (const Overlay::Entry* earlier = planned_below(path, planning.context); earlier && params.recursive)
    return Plan::unknown(earlier->state_id,
                         "what is below " + path + " depends on what an earlier state does");
  if (const Overlay::Entry* owner = coming_owner(planning); owner && params.recursive)
    return Plan::unknown(owner->state_id, "what is below " + path + " is compared when its owner exists");
  return plan_existing(path, **found, planning);
}

ItemOrStop plan_absent(const std::string& path, Planning& planning) {
  Context& context = planning.context;
  if (const Overlay::Entry* earlier = context.overlay.path(path))
    return Plan::unknown(earlier->state_id, path + " depends on what an earlier state does to it");
  auto found = context.tree.look(path);
  if (!found) return impossible(path, found.error().message());
  if (!*found) return Item{.path = path, .comment = path + " is already absent"};
  const bool is_link = S_ISLNK((*found)->st_mode);
  if (!is_link && !S_ISDIR((*found)->st_mode))
    return impossible(path, path + " exists and is not a directory");
  if (const Overlay::Entry* earlier = planned_below(path, context); earlier && !is_link)
    return Plan::unknown(earlier->state_id,
                         "what is below " + path + " depends on what an earlier state does");
  Change change{.what = path, .before = "a symlink", .after = "absent"};
  if (!is_link) {
    const bool is_marked = !context.plan_salt.empty();
    auto below = files::look_at_removable(path, context.tree, context.interrupt, is_marked);
    if (!below) return impossible(path, below.error().message());
    change.before = "directory, " + entries_text(below->entries);
    if (is_marked) planning.plan.mark += std::to_string(below->mark) + " ";
  }
  if (std::string why = files::why_locked(path, base::Changing::name, context); !why.empty())
    return impossible(path, std::move(why));
  planning.plan.changes.push_back(std::move(change));
  planning.plan.effects.push_back({.kind = EffectKind::directory, .name = path, .present = false});
  return Item{.path = path,
              .action = is_link ? Item::Action::unlink : Item::Action::remove_tree,
              .seen = base::Seen(**found)};
}

std::string describe(const Item& item) {
  switch (item.action) {
    case Item::Action::create:
      return "Create " + item.path;
    case Item::Action::update:
      return "Update " + item.path + (item.summary.empty() ? "" : ": " + item.summary) +
             (item.below ? " (and entries below)" : "");
    case Item::Action::unlink:
    case Item::Action::remove_tree:
      return "Remove " + item.path;
    default:
      return item.comment;
  }
}

PlanWith<Steps> Dir::plan(const Params& params, Context& context) const {
  Planning planning{.params = params, .context = context};
  if (!params.absent) {
    auto resolved = files::resolve_owner(params.user, params.group, params.mode, context);
    if (auto* stop = std::get_if<Plan>(&resolved)) return std::move(*stop);
    planning.given = std::get<base::Attributes>(resolved);
  }
  Steps steps{.given = planning.given};
  std::set<std::string> seen;
  bool changes = false;
  bool fails = false;
  Plan& plan = planning.plan;
  for (std::string_view given : params.path) {
    auto path = base::clean_path(given);
    if (!path) return Plan::fail(path.error());
    // The same by another name is the same.
    if (!seen.insert(params.path.size() > 1 ? context.tree.real_path(*path) : *path).second) continue;
    auto planned = params.absent ? plan_absent(*path, planning) : plan_present(*path, planning);
    if (auto* stop = std::get_if<Plan>(&planned)) return std::move(*stop);
    Item& item = std::get<Item>(planned);
    plan.message += (plan.message.empty() ? "" : "; ") + describe(item);
    fails = fails || item.action == Item::Action::impossible;
    changes = changes || (item.action != Item::Action::impossible && item.action != Item::Action::none);
    steps.items.push_back(std::move(item));
  }
  // What can be done is done even if another path cannot work; apply fails in the end.
  plan.verdict = changes ? Verdict::change : fails ? Verdict::fail : Verdict::kept;
  plan.fails_in_part = changes && fails;
  return {std::move(plan), std::move(steps)};
}

base::Result<std::string> create(const Item& item, base::Attributes attributes, ApplyContext& context) {
  if (!attributes.uid) attributes.uid = ::geteuid();
  if (!attributes.gid) attributes.gid = ::getegid();
  if (!attributes.mode) attributes.mode = kNewFolderMode;
  for (const std::string& folder : item.folders)
    if (auto made = context.files.make_folder(folder, attributes); !made) return std::move(made).error();
  return "Created " + item.path;
}

// What has to be there now: as it was planned, or given to its new owner by an earlier path of this state.
base::Seen seen_by_now(const Item& item, const base::Attributes& given, ApplyContext& context) {
  const base::Seen given_away = item.seen.owned_by(given.uid, given.gid);
  const auto folder = item.follows_update ? context.tree.folder(item.path) : base::Result<int>(-1);
  struct stat st {};
  const bool is_open = folder && *folder >= 0 && ::fstat(*folder, &st) == 0;
  return is_open && given_away.check(&st, item.path) ? given_away : item.seen;
}

base::Result<std::string> update(const Item& item, const base::Attributes& given, ApplyContext& context) {
  std::string comment = "Updated " + item.path + ":";
  base::Seen seen = seen_by_now(item, given, context);
  if (item.itself) {
    if (auto set = context.files.set_folder_attributes(item.path, seen, given); !set)
      return std::move(set).error();
    seen = seen.owned_by(given.uid, given.gid);
    comment += " " + item.summary;
  }
  if (item.below) {
    const auto choose = [&](const struct stat& found) { return wanted_below(found, given); };
    auto changed = context.files.set_attributes_below(item.path, seen, choose, context.interrupt);
    if (!changed) return std::move(changed).error();
    comment +=
        item.itself ? " (" + entries_text(*changed) + " below)" : " " + entries_text(*changed) + " below";
  }
  return comment;
}

base::Result<std::string> remove(const Item& item, ApplyContext& context) {
  auto removed = item.action == Item::Action::unlink
                     ? context.files.remove(item.path, item.seen)
                     : context.files.remove_tree(item.path, item.seen, context.interrupt);
  // Gone already: with a folder above it that this state removed, or by somebody else.
  if (!removed && removed.error().code() != base::ErrorCode::not_found) return std::move(removed).error();
  return "Removed " + item.path;
}

base::Result<std::string> carry_out(const Item& item, const base::Attributes& given, ApplyContext& context) {
  switch (item.action) {
    case Item::Action::impossible:
      return base::Error(base::ErrorCode::invalid, item.comment);
    case Item::Action::create:
      return create(item, given, context);
    case Item::Action::update:
      return update(item, given, context);
    case Item::Action::unlink:
    case Item::Action::remove_tree:
      return remove(item, context);
    case Item::Action::none:
      break;
  }
  return item.comment;
}

Applied Dir::apply(const Params&, const Plan&, const Steps& steps, ApplyContext& context) const {
  std::string comments;
  bool failed = false;
  for (const Item& item : steps.items) {
    auto done = carry_out(item, steps.given, context);
    if (!done && done.error().code() == base::ErrorCode::cancelled) return Applied::failed(done.error());
    failed = failed || !done;
    comments.append(comments.empty() ? "" : "\n\n").append(done ? *done : done.error().message());
  }
  return failed ? Applied::failed(std::move(comments)) : Applied::done(std::move(comments));
}

constexpr Dir kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_dir
