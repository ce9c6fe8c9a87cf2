// linux.puppet.apply: manifests of Puppet, applied in every round.
#include "base/text.hpp"
#include "states/puppet/puppet.hpp"
#include "states/state.hpp"

namespace states::linux_puppet_apply {

namespace {

struct Params {
  List manifests;
  Pairs arguments;
  std::string_view version;
};

constexpr auto kParams = param_table(
    param<&Params::manifests>("manifests", "files, by absolute paths; applied one after the other")
        .required(),
    param<&Params::arguments>("arguments", "options of `puppet apply`, without dashes; value: the option's")
        .fallback("none"),
    param<&Params::version>("version", "version of Puppet, or its beginning").fallback("any"));

class PuppetApply final : public State<Params> {
 public:
  constexpr PuppetApply()
      : State({.name = "linux.puppet.apply",
               .summary = "Manifests of Puppet, applied in every round",
               .rereadable = false},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<NoSteps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const NoSteps& steps,
                ApplyContext& context) const override;
};

puppet::Run run_of(const Params& params) {
  return {"linux.puppet.apply", *puppet::arguments_of(params.arguments), params.version};
}

base::Result<void> PuppetApply::check(const Params& params) const {
  for (const std::string_view manifest : params.manifests)
    if (!base::clean_path(manifest))
      return base::Error(base::ErrorCode::invalid,
                         "Illegal value for 'manifests': '" + std::string(manifest) + "'");
  if (auto arguments = puppet::arguments_of(params.arguments); !arguments)
    return std::move(arguments).error();
  return puppet::check_version(params.version);
}

// Where the manifest is, without links that others could change.
base::Result<std::string> find_manifest(std::string_view manifest, Context& context) {
  auto real = context.tree.followed_path(*base::clean_path(manifest));
  if (real || real.error().code() != base::ErrorCode::not_found) return real;
  return base::Error(base::ErrorCode::not_found, "Manifest " + std::string(manifest) + " not found");
}

PlanWith<NoSteps> PuppetApply::plan(const Params& params, Context& context) const {
  Plan plan{.verdict = Verdict::change};
  for (const std::string_view manifest : params.manifests) {
    const std::string path(manifest);
    const auto found = find_manifest(manifest, context);
    if (!found) {
      if (const Overlay::Entry* earlier = context.overlay.provider(EffectKind::file, path))
        return Plan::unknown(earlier->state_id, path + " is not there yet");
      return Plan::fail(found.error());
    }
    plan.message.append(plan.message.empty() ? "Apply " : ", ").append(path);
    plan.changes.push_back({.what = "manifest " + path, .before = "", .after = "applied, as in every round"});
  }
  if (auto planned = puppet::plan(run_of(params), plan, context); !planned)
    return Plan::fail(planned.error());
  plan.effects.push_back({.kind = EffectKind::anything, .name = "puppet apply"});
  return plan;
}

Applied PuppetApply::apply(const Params& params, const Plan&, const NoSteps&, ApplyContext& context) const {
  const puppet::Run run = run_of(params);
  auto installed = puppet::ensure(run, context);
  if (!installed) return Applied::failed(installed.error());
  std::string output = std::move(installed->output);
  std::string comment;
  for (const std::string_view manifest : params.manifests) {
    const auto path = find_manifest(manifest, context);
    if (!path) return Applied::failed(path.error(), std::move(output));
    const auto changed =
        puppet::run(run, {"apply", "--detailed-exitcodes", "--color=false"}, *path, output, context);
    if (!changed) return Applied::failed(changed.error(), std::move(output));
    comment.append(comment.empty() ? "" : "\n\n")
        .append("Manifest " + std::string(manifest) + " applied: " + (*changed ? "changes" : "no changes"));
  }
  return Applied::done(installed->before(std::move(comment)), std::move(output));
}

constexpr PuppetApply kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_puppet_apply
