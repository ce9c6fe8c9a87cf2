// linux.apt.repo: a file that tells apt where packages come from.
#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.hpp"
#include "states/debian/apt_lists.hpp"
#include "states/files/marking.hpp"
#include "states/files/ownership.hpp"
#include "states/files/replacing.hpp"
#include "states/files/repository_file.hpp"
#include "states/files/validation.hpp"
#include "states/state.hpp"

namespace states::linux_apt_repo {

namespace {

struct Params {
  std::string_view name;
  std::string_view content;
  List validate;
};

constexpr auto kParams = param_table(
    param<&Params::name>("name", "name of the file in /etc/apt/sources.list.d, with or without suffix")
        .required(),
    param<&Params::content>("content", "text of the file; a newline at its end is added if missing")
        .required()
        .multiline()
        .keep_empty(),
    param<&Params::validate>("validate",
                             "program and arguments that look at new content before it is written; %s is "
                             "the path of a file with it")
        .fallback("not validated"));

// What apply has to do.
struct Steps {
  files::RepositoryFile file;
  std::string leftover;  // to be removed; "": none
  base::Seen seen_leftover;
};

class AptRepo final : public State<Params, Steps> {
 public:
  constexpr AptRepo()
      : State({.name = "linux.apt.repo",
               .summary = "A file that tells apt where packages come from",
               .family = Family::debian,
               .works_below_root = true},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;

  base::Result<void> plan_leftover(const Params& params, Steps& steps, Plan& plan, Context& context) const;
  bool is_wanted(const std::string& path, const Params& params, const Context& context) const;
};

// Apt ignores files with other characters in their names.
base::Result<void> AptRepo::check(const Params& params) const {
  const bool is_legal = std::ranges::all_of(params.name,
                                            [](unsigned char c) {
                                              return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
                                            }) &&
                        params.name.front() != '.';
  if (is_legal) return files::check_validator(params.validate);
  return base::Error(base::ErrorCode::invalid, "Illegal repository name '" + std::string(params.name) + "'");
}

// Whether a text has deb822's form, as its first line says that is neither empty nor a comment: "Types: deb",
// "Enabled: yes", in any case. Of the other form that line has a blank before it has a colon. Apt reads a
// file by its suffix, and all of apt stops at one that is of the other form.
bool is_deb822(std::string_view text) {
  for (std::string_view line : base::split(text, '\n')) {
    line = base::trim(line);
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t end = static_cast<std::size_t>(
        std::ranges::find_if_not(line, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; }) -
        line.begin());
    return end > 0 && end < line.size() && line[end] == ':';
  }
  return false;
}

std::string path_of(const Params& params) {
  std::string path = std::string(debian::kAptSourcesFolder) + "/" + std::string(params.name);
  if (path.ends_with(".list") || path.ends_with(".sources")) return path;
  return path + (is_deb822(params.content) ? ".sources" : ".list");
}

// The same name with the suffix of the other form, where the name leaves that to us: the file of an earlier
// text. Apt would read both. "" where the suffix was given.
std::string other_form_of(const Params& params) {
  if (params.name.ends_with(".list") || params.name.ends_with(".sources")) return {};
  return std::string(debian::kAptSourcesFolder) + "/" + std::string(params.name) +
         (is_deb822(params.content) ? ".list" : ".sources");
}

std::vector<Effect> AptRepo::touched(const Params& params) const {
  std::vector<Effect> touched{{.kind = EffectKind::file, .name = path_of(params)}};
  if (std::string other = other_form_of(params); !other.empty())
    touched.push_back({.kind = EffectKind::file, .name = std::move(other)});
  return touched;
}

// Whether another state of the recipe says what is at this path.
bool AptRepo::is_wanted(const std::string& path, const Params& params, const Context& context) const {
  return std::ranges::any_of(context.recipe, [&](const RecipePart& other) {
    if (other.type == this && &values(*other.params) == &params) return false;
    return std::ranges::any_of(other.type->possible_effects(*other.params), [&](const Effect& effect) {
      return (effect.kind == EffectKind::file || effect.kind == EffectKind::link) && effect.name == path;
    });
  });
}

// Adds the removal of a file that an earlier text of this state was in, if there is one.
base::Result<void> AptRepo::plan_leftover(const Params& params, Steps& steps, Plan& plan,
                                          Context& context) const {
  const std::string path = other_form_of(params);
  if (path.empty()) return {};
  auto looked = context.tree.look(path);
  if (!looked) return std::move(looked).error();
  if (!*looked || S_ISDIR((*looked)->st_mode) || is_wanted(path, params, context)) return {};
  if (std::string why = files::why_locked(path, base::Changing::name, context); !why.empty())
    return base::Error(base::ErrorCode::permission, std::move(why));
  const auto before = S_ISREG((*looked)->st_mode) ? context.tree.read(path, files::kLargestRepositoryDiffed)
                                                  : base::Result<std::string>("");
  plan.changes.push_back(
      {.what = path,
       .before = std::string(files::file_type_name((*looked)->st_mode)),
       .after = "absent: the repository is in " + steps.file.path + ", and apt would read both",
       .diff = before ? files::repository_diff(*before, {}) : std::string()});
  if (auto marked = files::mark_content(path, **looked, context, plan); !marked) return marked;
  plan.message += (plan.message.empty() ? "Remove " : "; remove ") + path + ", which has its older form";
  plan.effects.push_back({.kind = EffectKind::file, .name = path, .present = false});
  steps.leftover = path;
  steps.seen_leftover = base::Seen(*looked);
  return {};
}

PlanWith<Steps> AptRepo::plan(const Params& params, Context& context) const {
  Steps steps{.file = {.path = path_of(params), .content = files::repository_text(params.content)}};
  for (const std::string& path : {steps.file.path, other_form_of(params)})
    if (const Overlay::Entry* earlier = path.empty() ? nullptr : context.overlay.path(path))
      return Plan::unknown(earlier->state_id, path + " depends on what an earlier state does to it");
  Plan plan;
  if (auto planned = files::plan_repository_file(steps.file, plan, context); !planned)
    return Plan::fail(planned.error());
  if (steps.file.write && steps.file.has_new_content)
    if (auto planned = files::plan_validation(steps.file.path, params.validate, context, plan); !planned)
      return Plan::fail(planned.error());
  if (auto planned = plan_leftover(params, steps, plan, context); !planned)
    return Plan::fail(planned.error());
  if (plan.changes.empty()) return Plan::kept("Repository file " + steps.file.path + " is up to date");
  plan.verdict = Verdict::change;
  return {std::move(plan), std::move(steps)};
}

// The new file first: a run that is killed in between leaves both, and the next one goes on.
Applied AptRepo::apply(const Params& params, const Plan& plan, const Steps& steps,
                       ApplyContext& context) const {
  std::string comment;
  if (steps.file.write) {
    if (steps.file.has_new_content)
      if (auto refused =
              files::refused_by_validator(steps.file.path, steps.file.content, params.validate, context))
        return std::move(*refused);
    if (auto written = files::write_repository_file(steps.file, context); !written)
      return Applied::failed(written.error());
    comment = "Repository file " + steps.file.path + " written";
  }
  if (!steps.leftover.empty()) {
    if (auto removed = context.files.remove(steps.leftover, steps.seen_leftover); !removed)
      return Applied::failed(removed.error());
    comment.append(comment.empty() ? "" : "\n\n").append("Removed " + steps.leftover);
  }
  debian::mark_lists_stale(context);
  std::string diffs;
  for (const Change& change : plan.changes)
    diffs += change.diff;
  return Applied::done(std::move(comment), std::move(diffs));
}

constexpr AptRepo kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_apt_repo
