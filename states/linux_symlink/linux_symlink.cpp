// linux.symlink: a symbolic link with this destination and owner.
//
// The names are those of the wire: `target` is the link, `source` is what it points to.
#include <unistd.h>

#include <climits>

#include "states/files/ownership.hpp"
#include "states/files/replacing.hpp"
#include "states/state.hpp"

namespace states::linux_symlink {

namespace {

struct Params {
  std::optional<std::string_view> source;
  std::string_view target;
  std::optional<std::string_view> user;
  std::optional<std::string_view> group;
  std::optional<std::string_view> mode;
  bool absent = false;
};

constexpr auto kParams = param_table(
    param<&Params::source>("source",
                           "what the link points to, stored as it is; may be relative, need not exist")
        .fallback("required unless `absent`"),
    param<&Params::target>("target", "absolute path of the link itself").required(),
    param<&Params::user>("user", "owner of the link, name or number").fallback("kept; root when created"),
    param<&Params::group>("group", "group of the link, name or number").fallback("kept; root when created"),
    param<&Params::mode>("mode", "accepted and ignored: links have no mode").fallback("ignored"),
    param<&Params::absent>("absent", "remove the link; all other parameters are ignored").fallback("false"));

// What apply has to do. A link that has the wrong owner is made anew, too: whoever owned it may have put one
// there that leads elsewhere since it was looked at.
struct Steps {
  std::string path;
  base::Seen seen;
  bool is_new = false;
  base::Attributes attributes;  // complete when making
  std::string summary;          // of what is updated: "destination a -> b"
};

class Symlink final : public State<Params, Steps> {
 public:
  constexpr Symlink()
      : State({.name = "linux.symlink",
               .summary = "A symbolic link with this destination and owner",
               .works_below_root = true},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

base::Error invalid(std::string message) {
  return {base::ErrorCode::invalid, std::move(message)};
}

base::Result<void> Symlink::check(const Params& params) const {
  auto clean = base::clean_path(params.target);
  if (!clean) return std::move(clean).error();
  if (*clean == "/") return invalid("/ exists and is not a symlink");
  if (params.absent) return {};
  if (!params.source) return invalid("Missing parameter 'source'");
  if (params.source->find('\0') != std::string_view::npos || params.source->size() >= PATH_MAX)
    return invalid("Illegal source: it must not contain NUL and must be shorter than 4096 bytes");
  return {};
}

std::vector<Effect> Symlink::touched(const Params& params) const {
  auto clean = base::clean_path(params.target);
  if (!clean) return {};
  return {{.kind = EffectKind::link, .name = std::move(*clean)}};
}

std::string not_a_link(const std::string& path) {
  return path + " exists and is not a symlink";
}

PlanWith<Steps> plan_absent(const std::string& path, Context& context) {
  auto found = context.tree.look(path);
  if (!found) return Plan::fail(found.error());
  if (!*found) return Plan::kept(path + " is already absent");
  if (!S_ISLNK((*found)->st_mode)) return Plan::fail(not_a_link(path));
  auto destination = context.tree.read_link(path);
  if (!destination) return Plan::fail(destination.error());
  if (std::string why = files::why_locked(path, base::Changing::name, context); !why.empty())
    return Plan::fail(std::move(why));
  Plan plan{.verdict = Verdict::change, .message = "Remove " + path};
  plan.changes = {{.what = path, .before = "link to " + *destination, .after = "absent"}};
  plan.effects = {{.kind = EffectKind::link, .name = path, .present = false}};
  return {std::move(plan), {.path = path, .seen = base::Seen(*found)}};
}

// Nothing when the folder of the link is there, or would be.
std::optional<Plan> missing_folder(std::string_view path, Context& context) {
  const std::string folder(base::split_path(path).folder);
  const Overlay::Entry* planned = context.overlay.path(folder);
  if (planned && planned->effect.present) return std::nullopt;
  auto opened = context.tree.folder(folder);
  if (opened) return std::nullopt;
  if (opened.error().code() != base::ErrorCode::not_found) return Plan::fail(opened.error());
  const std::string message = "Directory " + folder + " does not exist";
  if (const Overlay::Entry* provider = context.overlay.provider(EffectKind::directory, folder))
    return Plan::unknown(provider->state_id, message + " yet");
  return Plan::fail(message);
}

std::string wanted_owner(const Params& params, const base::Attributes& wanted, Context& context) {
  const auto name = [](std::optional<std::string_view> given, const std::string& other) {
    return given ? std::string(*given) : other;
  };
  return name(params.user, files::user_text(wanted.uid.value_or(::geteuid()), context)) + ":" +
         name(params.group, files::group_text(wanted.gid.value_or(::getegid()), context));
}

PlanWith<Steps> plan_new(const Params& params, const std::string& path, base::Attributes wanted,
                         Context& context) {
  if (auto stop = missing_folder(path, context)) return std::move(*stop);
  if (std::string why = files::why_locked(path, base::Changing::name, context); !why.empty())
    return Plan::fail(std::move(why));
  if (!wanted.uid) wanted.uid = ::geteuid();
  if (!wanted.gid) wanted.gid = ::getegid();
  Plan plan{.verdict = Verdict::change, .message = "Create " + path + " -> " + std::string(*params.source)};
  plan.changes = {
      {.what = path,
       .before = "absent",
       .after = "link to " + std::string(*params.source) + ", " + wanted_owner(params, wanted, context)}};
  plan.effects = {{.kind = EffectKind::link, .name = path}};
  plan.written = {path};
  return {std::move(plan), {.path = path, .is_new = true, .attributes = wanted}};
}

PlanWith<Steps> Symlink::plan(const Params& params, Context& context) const {
  auto clean = base::clean_path(params.target);
  if (!clean) return Plan::fail(clean.error());
  const std::string& path = *clean;
  if (const Overlay::Entry* earlier = context.overlay.path(path))
    return Plan::unknown(earlier->state_id, path + " depends on what an earlier state does to it");
  if (params.absent) return plan_absent(path, context);

  auto resolved = files::resolve_owner(params.user, params.group, std::nullopt, context);
  if (auto* stop = std::get_if<Plan>(&resolved)) return std::move(*stop);
  base::Attributes wanted = std::get<base::Attributes>(resolved);
  auto looked = context.tree.look(path);
  if (!looked) return Plan::fail(looked.error());
  if (!*looked) return plan_new(params, path, wanted, context);
  const struct stat& found = **looked;
  if (!S_ISLNK(found.st_mode)) return Plan::fail(not_a_link(path));
  auto destination = context.tree.read_link(path);
  if (!destination) return Plan::fail(destination.error());

  files::Differences differences;
  if (*destination != *params.source)
    differences.add(files::Aspect::destination, path, *destination, std::string(*params.source));
  files::compare_attributes(found, wanted, path, context, differences, params.user, params.group);
  if (differences.changes.empty()) return Plan::kept(path + " is as wanted");
  if (std::string why = files::why_locked(path, base::Changing::name, context); !why.empty())
    return Plan::fail(std::move(why));
  if (*destination != *params.source && context.tree.leads_through_itself(path))
    return Plan::fail(files::on_its_own_way(path, context));

  Plan plan{.verdict = Verdict::change,
            .message = "Update " + path + " (" + differences.summary + ")",
            .changes = std::move(differences.changes)};
  plan.effects = {{.kind = EffectKind::link, .name = path}};
  plan.written = {path};
  if (!wanted.uid) wanted.uid = found.st_uid;
  if (!wanted.gid) wanted.gid = found.st_gid;
  return {std::move(plan),
          {.path = path,
           .seen = base::Seen(found),
           .attributes = wanted,
           .summary = std::move(differences.summary)}};
}

Applied Symlink::apply(const Params& params, const Plan&, const Steps& steps, ApplyContext& context) const {
  if (params.absent) {
    if (auto removed = context.files.remove(steps.path, steps.seen); !removed)
      return Applied::failed(removed.error());
    return Applied::done("Removed " + steps.path);
  }
  auto done = context.files.make_link(steps.path, steps.seen, *params.source, steps.attributes);
  if (!done) return Applied::failed(done.error());
  return Applied::done(steps.is_new ? "Created " + steps.path + " -> " + std::string(*params.source)
                                    : "Updated " + steps.path + " (" + steps.summary + ")");
}

constexpr Symlink kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_symlink
