// linux.file: a regular file with this content, owner and mode.
#include <unistd.h>

#include "base/diff.hpp"
#include "base/files/others.hpp"
#include "base/text.hpp"
#include "states/downloads/download.hpp"
#include "states/downloads/source.hpp"
#include "states/files/marking.hpp"
#include "states/files/missing_folders.hpp"
#include "states/files/ownership.hpp"
#include "states/files/replacing.hpp"
#include "states/files/validation.hpp"
#include "states/linux_file/remote_content.hpp"
#include "states/state.hpp"

namespace states::linux_file {

namespace {

struct Params {
  std::string_view path;
  std::optional<std::string_view> content;
  std::optional<std::string_view> remote_uri;
  std::optional<std::string_view> user;
  std::optional<std::string_view> group;
  std::optional<Mode> mode;
  List validate;
  bool absent = false;
};

constexpr auto kParams = param_table(
    param<&Params::path>("path", "absolute path of the file").required(),
    param<&Params::content>("content", "the wanted bytes, verbatim; no newline is added")
        .multiline()
        .keep_empty()
        .fallback("existing content is kept; a new file is empty"),
    param<&Params::remote_uri>(
        "remote_uri",
        "https address of the wanted bytes, or http with #sha256=… behind it; wins over "
        "`content`"),
    param<&Params::user>("user", "owner, name or number").fallback("kept; root when created"),
    param<&Params::group>("group", "group, name or number").fallback("kept; root when created"),
    param<&Params::mode>("mode", "permissions, octal text").fallback("kept; 0644 when created"),
    param<&Params::validate>("validate",
                             "program and arguments that look at new content before it is written; %s is "
                             "the path of a file with it")
        .fallback("not validated"),
    param<&Params::absent>("absent", "remove the file; all other parameters are ignored").fallback("false"));

constexpr mode_t kNewFileMode = 0644;
constexpr std::size_t kLargestDiffed = 1024 * 1024;

// What apply has to do.
struct Steps {
  std::string path;
  base::Seen seen;
  std::vector<std::string> missing_folders;  // outermost first
  bool is_new = false;
  bool write = false;  // else only attributes
  bool has_new_content = false;
  base::Attributes attributes;  // complete when writing
  // Content of `remote_uri` that the plan has fetched, with what is known of it.
  std::optional<std::string> fetched;
  downloads::Seen seen_remote;
  downloads::Validators validators;
  bool only_notes = false;  // the file is as wanted, and what the server calls it is noted
  std::string summary;      // of what is updated: "content, mode 0600 -> 0644"
};

class File final : public State<Params, Steps> {
 public:
  constexpr File()
      : State({.name = "linux.file",
               .summary = "A regular file with this content, owner and mode",
               .works_below_root = true},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

// Else the file keeps what is in it.
bool gives_content(const Params& params) {
  return params.content || params.remote_uri;
}

base::Result<void> File::check(const Params& params) const {
  auto clean = base::clean_path(params.path);
  if (!clean) return std::move(clean).error();
  if (*clean == "/") return base::Error(base::ErrorCode::invalid, "/ is a directory");
  if (params.absent) return {};
  if (params.remote_uri)
    if (auto source = downloads::parse_source(*params.remote_uri); !source) return std::move(source).error();
  if (!params.validate.empty() && !gives_content(params))
    return base::Error(base::ErrorCode::invalid,
                       "'validate' looks at new content: it needs 'content' or 'remote_uri'");
  return files::check_validator(params.validate);
}

std::vector<Effect> File::touched(const Params& params) const {
  auto clean = base::clean_path(params.path);
  if (!clean) return {};
  return {{.kind = EffectKind::file, .name = std::move(*clean)}};
}

// A diff for people, unless the content is binary, huge or, by its mode, not for everybody's eyes.
std::string diff_for(const std::string& before, std::string_view after, mode_t mode, const Context& context) {
  if (!context.wants_diffs || (mode & S_IROTH) == 0 || before.size() > kLargestDiffed ||
      after.size() > kLargestDiffed)
    return {};
  if (!base::is_utf8(before) || !base::is_utf8(after)) return {};
  return base::unified_diff(before, after);
}

std::string size_text(std::size_t size) {
  return std::to_string(size) + (size == 1 ? " byte" : " bytes");
}

PlanWith<Steps> plan_absent(const std::string& path, Context& context) {
  auto found = context.tree.look(path);
  if (!found) return Plan::fail(found.error());
  if (!*found) return Plan::kept(path + " is already absent");
  if (S_ISDIR((*found)->st_mode)) return Plan::fail(path + " is a directory");
  if (std::string why = files::why_locked(path, base::Changing::name, context); !why.empty())
    return Plan::fail(std::move(why));
  Plan plan{.verdict = Verdict::change, .message = "Remove " + path};
  plan.changes = {
      {.what = path, .before = std::string(files::file_type_name((*found)->st_mode)), .after = "absent"}};
  plan.effects = {{.kind = EffectKind::file, .name = path, .present = false}};
  if (auto marked = files::mark_content(path, **found, context, plan); !marked)
    return Plan::fail(marked.error());
  return {std::move(plan), {.path = path, .seen = base::Seen(*found)}};
}

PlanWith<Steps> plan_new(const Params& params, const std::string& path, base::Attributes wanted,
                         Context& context) {
  if (params.remote_uri) {
    const auto source = downloads::parse_source(*params.remote_uri);
    if (!source) return Plan::fail(source.error());
    if (auto fine = downloads::check_vouched(source->url, source->checksum.has_value(), context); !fine)
      return Plan::fail(fine.error());
  }
  auto missing = files::missing_folders(path, context);
  if (!missing) return Plan::fail(missing.error());
  if (std::string why = files::why_locked(path, base::Changing::name, context); !why.empty())
    return Plan::fail(std::move(why));
  static const uid_t our_uid = ::geteuid();
  static const gid_t our_gid = ::getegid();
  if (!wanted.uid) wanted.uid = our_uid;
  if (!wanted.gid) wanted.gid = our_gid;
  if (!wanted.mode) wanted.mode = kNewFileMode;
  const std::string_view content = params.remote_uri ? "" : params.content.value_or("");
  const std::string owner =
      params.user || params.group
          ? std::string(params.user.value_or("root")) + ":" + std::string(params.group.value_or("root"))
          : files::owner_text(*wanted.uid, *wanted.gid, context);
  const std::string what = params.remote_uri ? "from " + downloads::shown_url(*params.remote_uri, context)
                                             : size_text(content.size());
  Plan plan{.verdict = Verdict::change, .message = "Create " + path};
  plan.changes.push_back({.what = path,
                          .before = "absent",
                          .after = "file, " + what + ", " + owner + ", " + files::mode_text(*wanted.mode),
                          .diff = diff_for({}, content, *wanted.mode, context)});
  for (const std::string& folder : *missing)
    plan.effects.push_back({.kind = EffectKind::directory,
                            .name = folder,
                            .owner = std::string(params.user.value_or("")),
                            .is_open = (*wanted.mode & S_IROTH) != 0});
  plan.effects.push_back({.kind = EffectKind::file, .name = path});
  plan.written = {path};
  if (auto planned = files::plan_validation(path, params.validate, context, plan); !planned)
    return Plan::fail(planned.error());
  return {std::move(plan),
          {.path = path,
           .missing_folders = std::move(*missing),
           .is_new = true,
           .write = true,
           .has_new_content = true,
           .attributes = wanted}};
}

// Content that the recipe knows by its checksum: what is there says by itself whether it is right.
base::Result<bool> compare_checksum(const downloads::Source& source, const std::string& path,
                                    const struct stat& found, Context& context,
                                    files::Differences& differences) {
  auto same = has_checksum(path, *source.checksum, context);
  if (!same || *same) return same ? base::Result<bool>(false) : std::move(same);
  differences.add(files::Aspect::content, path, size_text(static_cast<std::size_t>(found.st_size)),
                  source.checksum->text() + " from " + downloads::shown_url(source.url, context),
                  std::string());
  return true;
}

// The same for content that a server has.
base::Result<bool> compare_remote(const Params& params, const std::string& path, const struct stat& found,
                                  mode_t mode, Context& context, files::Differences& differences,
                                  Steps& steps) {
  auto source = downloads::parse_source(*params.remote_uri);
  if (!source) return std::move(source).error();
  if (source->checksum) return compare_checksum(*source, path, found, context, differences);
  const std::string& url = source->url;
  auto remote = compare_with_remote(url, path, found, kLargestDiffed, context);
  if (!remote) return std::move(remote).error();
  steps.fetched = std::move(remote->bytes);
  steps.seen_remote = remote->seen;
  steps.validators = remote->validators;
  steps.only_notes = remote->is_same && !remote->is_noted;
  if (remote->is_same) return false;
  std::string diff;
  if (context.wants_diffs && steps.fetched)
    if (auto before = context.tree.read(path, kLargestDiffed))
      diff = diff_for(*before, *steps.fetched, mode & found.st_mode, context);
  differences.add(files::Aspect::content, path, size_text(static_cast<std::size_t>(found.st_size)),
                  remote->size + " from " + downloads::shown_url(url, context), std::move(diff));
  return true;
}

// Adds the change that a file, or a link in its place, needs to have the wanted content. Answers whether it
// needs one.
base::Result<bool> compare_content(const Params& params, const std::string& path, const struct stat& found,
                                   mode_t mode, Context& context, files::Differences& differences,
                                   Steps& steps) {
  using files::Aspect;
  if (S_ISLNK(found.st_mode)) {
    differences.add(Aspect::content, path, "a symlink", "a regular file");
    return true;
  }
  if (params.remote_uri) return compare_remote(params, path, found, mode, context, differences, steps);
  if (!params.content) return false;
  if (static_cast<std::size_t>(found.st_size) == params.content->size()) {
    auto same = context.tree.has_content(path, *params.content);
    if (!same) return std::move(same).error();
    if (*same) return false;
  }
  std::string diff;
  if (context.wants_diffs)
    if (auto before = context.tree.read(path, kLargestDiffed))
      diff = diff_for(*before, *params.content, mode & found.st_mode, context);  // both are in it
  differences.add(Aspect::content, path, size_text(static_cast<std::size_t>(found.st_size)),
                  size_text(params.content->size()), std::move(diff));
  return true;
}

// Whether a file with the right content is written anew all the same: others who have it open could go on
// changing it when they no longer may, or when it runs with another's rights.
bool must_be_new(const Params& params, const struct stat& found, const base::Attributes& wanted) {
  return gives_content(params) &&
         (base::takes_write_access(found, wanted) || base::adds_special_bits(found, wanted));
}

// What one of the others has chosen by putting a file there beforehand, and the recipe would keep: "user",
// "group", "mode"; "" for nothing that matters.
std::string_view left_to_him(const Params& params, mode_t mode) {
  const bool group_matters = (mode & S_IWGRP) != 0 || ((mode & S_IRGRP) != 0 && (mode & S_IROTH) == 0);
  if (!params.user) return "user";
  if (!params.group && group_matters) return "group";
  return !params.mode && (mode & (S_IWGRP | S_IWOTH)) != 0 ? "mode" : "";
}

// Why content is not written to a file as one of the others has left it; "" when it may be. It may be in a
// folder that only root can write to, where root must have given him the file; and in his own folder as long
// as the recipe does not hide the content from anybody: so do recipes that write into a program's folder.
std::string why_not_his(const Params& params, const std::string& path, const struct stat& found, mode_t mode,
                        Context& context) {
  if (!gives_content(params) || !base::is_other(found.st_uid)) return {};
  const std::string_view left = left_to_him(params, mode);
  if (left.empty()) return {};
  (void)context.tree.look(base::split_path(path).folder);  // an earlier state may give it to somebody else
  const auto folder = context.tree.folder(base::split_path(path).folder);
  struct stat in {};
  if (!folder || ::fstat(*folder, &in) != 0 || !base::others_can_write_to(*folder)) return {};
  const bool is_public = !params.mode || (mode & S_IROTH) != 0;
  if (is_public && in.st_uid == found.st_uid) return {};
  return path + " was there already and belongs to " +
         files::owner_text(found.st_uid, found.st_gid, context) +
         ", who may have put it there to get at what is written: give '" + std::string(left) + "', too";
}

// What a change costs besides what it is made for, and whether it can be made at all.
base::Result<void> show_costs(const std::string& path, const struct stat& found,
                              const base::Attributes& wanted, bool is_written, Context& context, Plan& plan) {
  const base::Changing what = is_written ? base::Changing::name : base::Changing::attributes;
  if (std::string why = files::why_locked(path, what, context); !why.empty())
    return base::Error(base::ErrorCode::permission, std::move(why));
  return is_written ? files::show_lost_by_replacing(path, found, wanted, context, plan.changes)
                    : files::show_lost_by_owner(path, found, wanted, context, plan.changes);
}

// The file is as the server has it. What it calls that is noted, so that nothing is sent the next time.
PlanWith<Steps> plan_note(const Params& params, Steps steps, Context& context) {
  Plan plan{.verdict = Verdict::change,
            .message = steps.path + " is as wanted; note which version of " +
                       downloads::shown_url(*params.remote_uri, context) + " it is"};
  plan.is_refresh = true;
  return {std::move(plan), std::move(steps)};
}

PlanWith<Steps> plan_existing(const Params& params, const std::string& path, const struct stat& found,
                              base::Attributes wanted, Context& context) {
  const bool is_link = S_ISLNK(found.st_mode);
  // By another name of the file, an earlier state may have given it another owner, or taken that name away.
  if (const Overlay::Entry* earlier = context.overlay.below(""); earlier && !is_link && found.st_nlink > 1)
    return Plan::unknown(earlier->state_id, path + " has other names, which earlier states may change");
  // As with write(2), other content does not inherit set-user-id and set-group-id bits.
  const mode_t mode = wanted.mode.value_or(is_link ? kNewFileMode : found.st_mode & 01777);
  files::Differences differences;
  Steps steps{.path = path, .seen = base::Seen(found)};
  const auto write = compare_content(params, path, found, mode, context, differences, steps);
  if (!write) return Plan::fail(write.error());
  const bool is_written = *write || must_be_new(params, found, wanted);
  if (is_written) wanted.mode = mode;
  if (!is_link)
    files::compare_attributes(found, wanted, path, context, differences, params.user, params.group);
  if (differences.changes.empty())
    return steps.only_notes ? plan_note(params, std::move(steps), context)
                            : Plan::kept(path + " is as wanted");
  steps.only_notes = false;
  if (is_link && context.tree.leads_through_itself(path))
    return Plan::fail(files::on_its_own_way(path, context));

  Plan plan{.verdict = Verdict::change,
            .message = "Update " + path + " (" + differences.summary + ")",
            .changes = std::move(differences.changes)};
  plan.effects = {{.kind = EffectKind::file, .name = path, .attributes_only = !is_written}};
  if (auto shown = show_costs(path, found, wanted, is_written, context, plan); !shown)
    return Plan::fail(shown.error());
  if (is_written) {
    if (std::string why = why_not_his(params, path, found, mode, context); !why.empty())
      return Plan::fail(std::move(why));
    if (!wanted.uid) wanted.uid = found.st_uid;
    if (!wanted.gid) wanted.gid = found.st_gid;
    plan.written = {path};
    if (*write)
      if (auto planned = files::plan_validation(path, params.validate, context, plan); !planned)
        return Plan::fail(planned.error());
    if (auto marked = files::mark_content(path, found, context, plan); !marked)
      return Plan::fail(marked.error());
  }
  steps.write = is_written;
  steps.has_new_content = *write;
  steps.attributes = wanted;
  steps.summary = std::move(differences.summary);
  return {std::move(plan), std::move(steps)};
}

// The earlier state that may make what a link leads to.
const Overlay::Entry* provider_of_target(const std::string& link, Context& context) {
  if (context.overlay.empty()) return nullptr;
  const auto destination = context.tree.link_destination(link);
  return destination ? context.overlay.provider(EffectKind::file, *destination) : nullptr;
}

// Without content the link is left, and what it leads to gets the attributes, if it is safe to go there.
PlanWith<Steps> plan_link_target(const Params& params, const std::string& link,
                                 const base::Attributes& wanted, Context& context) {
  const auto target = context.tree.followed_path(link);
  if (!target && target.error().code() == base::ErrorCode::not_found) {
    const std::string message = link + " is a symlink that leads nowhere";
    if (const Overlay::Entry* provider = provider_of_target(link, context))
      return Plan::unknown(provider->state_id, message + " yet");
    return Plan::fail(message +
                      ": give 'content' to put a file in its place, or make what it leads to first");
  }
  if (!target) return Plan::fail(target.error());
  if (const Overlay::Entry* earlier = context.overlay.path(*target))
    return Plan::unknown(earlier->state_id, *target + " depends on what an earlier state does to it");
  const auto looked = context.tree.look(*target);
  if (!looked) return Plan::fail(looked.error());
  if (!*looked || !S_ISREG((*looked)->st_mode))
    return Plan::fail(link + " leads to " + *target + ", which is " +
                      std::string(*looked ? files::file_type_name((*looked)->st_mode) : "gone"));
  return plan_existing(params, *target, **looked, wanted, context);
}

PlanWith<Steps> File::plan(const Params& params, Context& context) const {
  auto clean = base::clean_path(params.path);
  if (!clean) return Plan::fail(clean.error());
  const std::string& path = *clean;
  if (const Overlay::Entry* earlier = context.overlay.path(path))
    return Plan::unknown(earlier->state_id, path + " depends on what an earlier state does to it");
  if (params.absent) return plan_absent(path, context);

  auto resolved = files::resolve_owner(params.user, params.group, params.mode, context);
  if (auto* stop = std::get_if<Plan>(&resolved)) return std::move(*stop);
  const base::Attributes& wanted = std::get<base::Attributes>(resolved);
  const auto looked = context.tree.look(path);
  if (!looked) return Plan::fail(looked.error());
  if (!*looked) return plan_new(params, path, wanted, context);
  const struct stat& found = **looked;
  if (S_ISLNK(found.st_mode) && !gives_content(params))
    return plan_link_target(params, path, wanted, context);
  if (!S_ISREG(found.st_mode) && !S_ISLNK(found.st_mode))
    return Plan::fail(path + " is " + std::string(files::file_type_name(found.st_mode)));
  return plan_existing(params, path, found, wanted, context);
}

// A folder on the way to a file gets the file's owner, and may be entered by whoever may read the file.
base::Attributes folder_attributes(const base::Attributes& file) {
  base::Attributes folder = file;
  const mode_t mode = file.mode.value_or(kNewFileMode) & 0777;
  folder.mode = mode | ((mode & 0444) >> 2) | 0700;
  return folder;
}

std::string all_diffs(const Plan& plan) {
  std::string text;
  for (const Change& change : plan.changes)
    text += change.diff;
  return text;
}

// Makes the file what it should be, with this content if it is written.
Applied put(const Params& params, const Plan& plan, const Steps& steps, std::string_view content,
            ApplyContext& context) {
  if (steps.has_new_content)
    if (auto refused = files::refused_by_validator(steps.path, content, params.validate, context))
      return std::move(*refused);
  for (const std::string& folder : steps.missing_folders)
    if (auto made = context.files.make_folder(folder, folder_attributes(steps.attributes)); !made)
      return Applied::failed(made.error());
  if (!steps.write) {
    if (auto set = context.files.set_attributes(steps.path, steps.seen, steps.attributes); !set)
      return Applied::failed(set.error());
  } else if (auto written = context.files.write_file(steps.path, steps.seen, content, steps.attributes);
             !written) {
    return Applied::failed(written.error());
  }
  return Applied::done(
      steps.is_new ? "Created " + steps.path : "Updated " + steps.path + " (" + steps.summary + ")",
      all_diffs(plan));
}

Applied File::apply(const Params& params, const Plan& plan, const Steps& steps, ApplyContext& context) const {
  if (params.absent) {
    if (auto removed = context.files.remove(steps.path, steps.seen); !removed)
      return Applied::failed(removed.error());
    return Applied::done("Removed " + steps.path);
  }
  if (steps.only_notes) {
    const std::string_view text = *params.remote_uri;
    note_remote(std::string(text.substr(0, text.find('#'))), steps.path, steps.seen_remote, steps.validators,
                context);
    return Applied::done(steps.path + " is as wanted");
  }
  if (!params.remote_uri || !steps.write)
    return put(params, plan, steps, params.content.value_or(""), context);
  auto source = downloads::parse_source(*params.remote_uri);
  if (!source) return Applied::failed(source.error());
  const std::string& url = source->url;
  if (steps.fetched) {
    Applied applied = put(params, plan, steps, *steps.fetched, context);
    if (applied.ok()) note_remote(url, steps.path, steps.seen_remote, steps.validators, context);
    return applied;
  }
  auto fetched = downloads::fetch({.url = url, .checksum = source->checksum}, context);
  if (!fetched) return Applied::failed(fetched.error());
  Applied applied = put(params, plan, steps, fetched->bytes(), context);
  if (applied.ok() && !source->checksum)
    note_remote(url, steps.path, {fetched->sha256(), fetched->bytes().size()}, fetched->validators(),
                context);
  return applied;
}

constexpr File kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_file
