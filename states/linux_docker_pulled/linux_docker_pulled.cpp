// linux.docker.pulled: the image that the registry has now.
#include "states/docker/pulling.hpp"
#include "states/state.hpp"

namespace states::linux_docker_pulled {

namespace {

struct Params {
  std::string_view repo;
  std::string_view tag;
  std::string_view username;
  std::string_view password;
  std::string_view email;
  List containers;
};

constexpr auto kParams = param_table(
    param<&Params::repo>("repo", "the image: `[registry/]name`, also with `:tag` or `@sha256:…`").required(),
    param<&Params::tag>("tag", "its tag").fallback("`latest`, or the one in `repo`"),
    param<&Params::username>("username", "user of the registry").fallback("nobody in particular"),
    param<&Params::password>("password", "password of that user").secret().fallback("none"),
    param<&Params::email>("email", "of old recipes; has no effect").fallback("none"),
    param<&Params::containers>("containers",
                               "containers that are stopped and removed when a new image has come; a name "
                               "that does not exist stands for NAME_1, NAME_2, …")
        .fallback("none"));

constexpr std::string_view kName = "linux.docker.pulled";

class Pulled final : public State<Params> {
 public:
  constexpr Pulled()
      : State({.name = kName,
               .summary = "A Docker image as its registry has it",
               .timeout = std::chrono::hours(1)},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<NoSteps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const NoSteps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

docker::WantedImage wanted(const Params& params) {
  return {.reference = *docker::parse_reference(params.repo, params.tag, "repo"),
          .login = {std::string(params.username), std::string(params.password)},
          .containers = params.containers};
}

base::Result<void> Pulled::check(const Params& params) const {
  if (auto reference = docker::parse_reference(params.repo, params.tag, "repo"); !reference)
    return std::move(reference).error();
  for (const std::string_view name : params.containers)
    if (!docker::is_container_name(name))
      return base::Error(base::ErrorCode::invalid,
                         "Illegal value for 'containers': '" + std::string(name) + "'");
  return docker::check_credentials(params.username, params.password);
}

std::vector<Effect> Pulled::touched(const Params& params) const {
  std::vector<Effect> touched{docker::image_effect(wanted(params).reference.text()),
                              {.kind = EffectKind::package, .name = "docker.io"},
                              {.kind = EffectKind::unit, .name = "docker.service", .certain = false}};
  for (const std::string_view name : params.containers)
    touched.push_back(docker::container_effect(name));
  return touched;
}

PlanWith<NoSteps> Pulled::plan(const Params& params, Context& context) const {
  const docker::WantedImage image = wanted(params);
  const std::string reference = image.reference.text();
  if (const Overlay::Entry* earlier = docker::earlier_change(context, docker::image_effect(reference)))
    return Plan::unknown(earlier->state_id, "An earlier state changes the image " + reference);
  docker::Engine engine(context);
  Plan plan;
  const auto answers = docker::plan_engine(engine, kName, plan);
  if (!answers) return Plan::fail(answers.error());
  if (!*answers) {
    plan.verdict = Verdict::change;
    plan.message = "Start Docker, pull " + reference;
    plan.changes.push_back({.what = "image " + reference, .before = "not known yet", .after = "current"});
    plan.effects.push_back(docker::image_effect(reference));
    return plan;
  }
  const auto current = docker::plan_pull(engine, image, plan);
  if (!current) return Plan::fail(current.error());
  if (!*current) return plan;
  return Plan::kept("Image " + reference + " is current (" + docker::short_id((*current)->id) + ")");
}

Applied Pulled::apply(const Params& params, const Plan&, const NoSteps&, ApplyContext& context) const {
  docker::Engine engine(context);
  auto started = docker::ensure_engine(context, engine, kName);
  if (!started) return Applied::failed(started.error());
  auto pulled = docker::pull_image(engine, wanted(params));
  if (!pulled) return Applied::failed(pulled.error(), std::move(started->output));
  return Applied::done(started->before(std::move(pulled->comment)),
                       std::move(started->output) + pulled->output);
}

constexpr Pulled kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_docker_pulled
