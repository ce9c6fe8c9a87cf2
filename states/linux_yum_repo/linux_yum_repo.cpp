// linux.yum.repo: a file that tells dnf where packages come from, or a package that brings one.
#include <algorithm>
#include <cctype>

#include "base/tree/tree.hpp"
#include "states/downloads/local_file.hpp"
#include "states/files/repository_file.hpp"
#include "states/rpm/dnf.hpp"
#include "states/state.hpp"
#include "states/versions/rpm_version.hpp"

namespace states::linux_yum_repo {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

struct Params {
  std::string_view name;
  std::optional<std::string_view> content;
  std::optional<std::string_view> rpm_url;
  std::optional<std::string_view> rpm_key;
};

constexpr auto kParams = param_table(
    param<&Params::name>("name", "name of the file in /etc/yum.repos.d, with or without .repo").required(),
    param<&Params::content>("content", "text of the file; wins over rpm-url").multiline().keep_empty(),
    param<&Params::rpm_url>("rpm-url", "package file that brings the repository, a local path or file://")
        .alias("rpm_url"),
    param<&Params::rpm_key>("rpm-key", "has no effect: keys are imported by linux.rpm.key").alias("rpm_key"));

struct Steps {
  files::RepositoryFile file;
  std::string package_file;  // to be installed; "": the text is to be written
};

class YumRepo final : public State<Params, Steps> {
 public:
  constexpr YumRepo()
      : State({.name = "linux.yum.repo",
               .summary = "A file that tells dnf where packages come from",
               .family = Family::rhel,
               .timeout = std::chrono::hours(1)},
              kParams) {}

 private:
  Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

std::string path_of(const Params& params) {
  const std::string path = "/etc/yum.repos.d/" + std::string(params.name);
  return path.ends_with(".repo") ? path : path + ".repo";
}

Result<std::string> package_path(std::string_view url) {
  if (url.starts_with("file://")) url.remove_prefix(std::string_view("file://").size());
  if (url.find("://") != url.npos)
    return Error(ErrorCode::invalid,
                 "Cannot download " + std::string(url) +
                     ": this state does not fetch package files; let an earlier state fetch it "
                     "and give its local path");
  return base::clean_path(url);
}

Result<void> YumRepo::check(const Params& params) const {
  const bool is_legal = std::ranges::all_of(params.name,
                                            [](unsigned char c) {
                                              return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
                                            }) &&
                        params.name.front() != '.';
  if (!is_legal)
    return Error(ErrorCode::invalid, "Illegal repository name '" + std::string(params.name) + "'");
  if (!params.content && !params.rpm_url)
    return Error(ErrorCode::invalid, "Neither 'content' nor 'rpm-url' given");
  if (params.content) return {};
  auto path = package_path(*params.rpm_url);
  return path ? Result<void>() : Result<void>(std::move(path).error());
}

std::vector<Effect> YumRepo::touched(const Params& params) const {
  if (!params.content) return {{.kind = EffectKind::anything}};
  return {{.kind = EffectKind::file, .name = path_of(params)}};
}

PlanWith<Steps> plan_text(const Params& params, Context& context) {
  Steps steps{.file = {.path = path_of(params), .content = files::repository_text(*params.content)}};
  if (const Overlay::Entry* earlier = context.overlay.path(steps.file.path))
    return Plan::unknown(earlier->state_id, steps.file.path + " depends on what an earlier state does to it");
  Plan plan;
  if (auto planned = files::plan_repository_file(steps.file, plan, context); !planned)
    return Plan::fail(planned.error());
  if (plan.changes.empty()) return Plan::kept("Repository file " + steps.file.path + " is up to date");
  plan.verdict = Verdict::change;
  return {std::move(plan), std::move(steps)};
}

// Whether the package, or a newer one, is there.
Result<bool> is_installed(const rpm::RpmPackage& package, Context& context) {
  auto database = rpm::installed_rpms(context);
  if (!database) return std::move(database).error();
  const auto found = (*database)->find(package.name);
  return !found.empty() && versions::compare_rpm_versions(found.front()->version, package.version) >= 0;
}

PlanWith<Steps> plan_package(const Params& params, Context& context) {
  auto path = package_path(*params.rpm_url);
  if (!path) return Plan::fail(path.error());
  auto found = context.tree.look(*path);
  const Overlay::Entry* earlier = context.overlay.path(*path);
  if (!earlier && !found) return Plan::fail(found.error());
  if (!earlier && !*found) earlier = context.overlay.provider(EffectKind::file, *path);
  if (earlier)
    return Plan::unknown(earlier->state_id, *path + " depends on what an earlier state does to it");
  if (!*found) return Plan::fail("Package file " + *path + " does not exist");
  if (auto fine = downloads::check_local(*path, std::nullopt, context); !fine)
    return Plan::fail(fine.error());
  auto package = rpm::package_in_file(*path, context);
  if (!package) return Plan::fail(package.error());
  auto installed = is_installed(*package, context);
  if (!installed) return Plan::fail(installed.error());
  const std::string what = package->name + " (" + package->version + ")";
  if (*installed) return Plan::kept("Repository package " + what + " is installed");
  Plan plan{.verdict = Verdict::change, .message = "Install repository package " + what};
  plan.changes.push_back({.what = "package " + package->name,
                          .before = "absent, or older",
                          .after = package->version + " from " + *path});
  plan.effects.push_back({.kind = EffectKind::package, .name = package->name});
  return {std::move(plan), Steps{.package_file = std::move(*path)}};
}

PlanWith<Steps> YumRepo::plan(const Params& params, Context& context) const {
  return params.content ? plan_text(params, context) : plan_package(params, context);
}

Applied apply_package(const std::string& path, ApplyContext& context) {
  if (!base::find_program(rpm::dnf_program()))
    return Applied::failed("Cannot run linux.yum.repo: 'dnf' is missing");
  if (auto fine = downloads::check_local(path, std::nullopt, context); !fine)
    return Applied::failed(fine.error());
  auto package = rpm::package_in_file(path, context);
  if (!package) return Applied::failed(package.error());
  rpm::Dnf dnf(context);
  if (auto done = dnf.commit({.action = "install", .targets = {path}, .options = {}}, {}); !done)
    return Applied::failed(done.error(), dnf.output());
  auto installed = is_installed(*package, context);
  if (!installed) return Applied::failed(installed.error(), dnf.output());
  if (!*installed) return Applied::failed("Not as wanted after the run: " + package->name, dnf.output());
  return Applied::done("Repository package " + package->name + " (" + package->version + ") installed",
                       dnf.output());
}

// dnf looks at the time of a repository's file: what it knows of the repository is asked anew.
Applied YumRepo::apply(const Params& /*params*/, const Plan& plan, const Steps& steps,
                       ApplyContext& context) const {
  if (!steps.package_file.empty()) return apply_package(steps.package_file, context);
  if (auto written = files::write_repository_file(steps.file, context); !written)
    return Applied::failed(written.error());
  rpm::note_changed_repositories(context);
  std::string diffs;
  for (const Change& change : plan.changes)
    diffs += change.diff;
  return Applied::done("Repository file " + steps.file.path + " written", std::move(diffs));
}

constexpr YumRepo kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_yum_repo
