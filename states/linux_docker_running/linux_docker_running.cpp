// linux.docker.running: containers that run as the recipe describes them.
#include "base/text.hpp"
#include "states/docker/running.hpp"
#include "states/state.hpp"

namespace states::linux_docker_running {

namespace {

using Params = docker::ContainerParams;

constexpr auto kParams = param_table(
    param<&Params::container>("container", "the container's name, and its host name").required(),
    param<&Params::image>("image", "the image, which must be here: nothing is pulled").required(),
    param<&Params::tag>("tag", "the image's tag").fallback("`latest`, or the one in `image`"),
    param<&Params::count>("count", "how many; their names are then NAME_1, NAME_2, …").fallback("one, NAME"),
    param<&Params::command>("command", "program and arguments").fallback("the image's"),
    param<&Params::entry_point>("entry_point", "what runs the command").fallback("the image's"),
    param<&Params::environment>("environment", "names and values").fallback("none"),
    param<&Params::volumes>(
        "volumes",
        "path of the host, or name of a volume; value: path in the container, with `:ro` if it may only read")
        .alias("binds")
        .fallback("none"),
    param<&Params::files>("files", "path in the container; value: the file of the host that is seen there")
        .fallback("none"),
    param<&Params::devices>("devices",
                            "device of the host; value: path in the container, with rights as `:rwm`")
        .fallback("none"),
    param<&Params::port_bindings>(
        "port_bindings",
        "port of the container, `80` or `53/udp`; value: port of the host, `8080` or `127.0.0.1:8080`. With "
        "a count the second container has the next port, and so on")
        .alias("ports")
        .fallback("none"),
    param<&Params::mem_limit>("mem_limit", "most memory, such as `512m`").fallback("no limit"),
    param<&Params::cpu_shares>(
        "cpu_shares",
        "processors, such as `0-3`, `0,2` or `1`; a number from 2 on: share of processor time, usually 1024")
        .fallback("all"),
    param<&Params::publish_all_ports>("publish_all_ports", "give the image's ports to free ports of the host")
        .fallback("false"),
    param<&Params::links>("links", "another container; value: the name by which this one knows it")
        .fallback("none"),
    param<&Params::force>("force", "make the containers again in every round").fallback("false"),
    param<&Params::watch>("watch", "files; when one has changed, the containers are restarted")
        .fallback("nothing is watched"),
    param<&Params::username>("username", "of old recipes; has no effect").fallback("none"),
    param<&Params::password>("password", "of old recipes; has no effect").secret().fallback("none"),
    param<&Params::email>("email", "of old recipes; has no effect").fallback("none"));

constexpr std::string_view kName = "linux.docker.running";

class Running final : public State<Params> {
 public:
  constexpr Running()
      // `force` would make the containers once more.
      : State({.name = kName,
               .summary = "Docker containers that run as described",
               .rereadable = false,
               .watches_files = true},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<NoSteps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const NoSteps& steps,
                ApplyContext& context) const override;
  WatchRequest watch(const Params& params) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

base::Result<void> Running::check(const Params& params) const {
  auto spec = docker::understand(params);
  if (!spec) return std::move(spec).error();
  for (const std::string_view path : params.watch.paths)
    if (!path.starts_with('/'))
      return base::Error(base::ErrorCode::invalid, "Illegal value for 'watch': '" + std::string(path) + "'");
  return {};
}

WatchRequest Running::watch(const Params& params) const {
  return {.paths = params.watch.paths, .first_counts = false, .always = params.watch.always};
}

std::vector<Effect> Running::touched(const Params& params) const {
  std::vector<Effect> touched{{.kind = EffectKind::package, .name = "docker.io"},
                              {.kind = EffectKind::unit, .name = "docker.service", .certain = false}};
  for (const std::string& name : docker::understand(params)->names())
    touched.push_back(docker::container_effect(name));
  return touched;
}

docker::WantedContainers wanted(const Params& params, const Context& context) {
  docker::WantedContainers wanted{.spec = *docker::understand(params),
                                  .state_id = std::string(context.state_id),
                                  .force = params.force,
                                  .restart = context.watch_triggered,
                                  .restart_why = {}};
  const std::string changed = base::join(context.watch_changed, ", ");
  wanted.restart_why = changed.empty() ? "watch" : "changed: " + changed;
  return wanted;
}

// A file that is to be seen in a container and is not there: the engine would make a folder of its name.
std::string missing_file(const Params& params, Context& context) {
  for (const Pair& file : params.files) {
    if (file.key.empty() || file.value.empty()) continue;
    auto opened = context.tree.follow(file.value);
    if (!opened && opened.error().code() == base::ErrorCode::not_found) return std::string(file.value);
  }
  return {};
}

PlanWith<NoSteps> Running::plan(const Params& params, Context& context) const {
  const docker::WantedContainers want = wanted(params, context);
  for (const std::string& name : want.spec.names())
    if (const Overlay::Entry* earlier = docker::earlier_change(context, docker::container_effect(name)))
      return Plan::unknown(earlier->state_id, "An earlier state changes the container " + name);
  const std::string image = want.spec.image.text();
  if (const Overlay::Entry* earlier = docker::earlier_change(context, docker::image_effect(image)))
    return Plan::unknown(earlier->state_id, "An earlier state brings the image " + image);
  if (const std::string missing = missing_file(params, context); !missing.empty()) {
    if (const Overlay::Entry* earlier = context.overlay.provider(EffectKind::file, missing))
      return Plan::unknown(earlier->state_id, missing + " is not there yet");
    return Plan::fail("File " + missing + " does not exist");
  }
  docker::Engine engine(context);
  Plan plan;
  const auto answers = docker::plan_engine(engine, kName, plan);
  if (!answers) return Plan::fail(answers.error());
  if (!*answers) {
    plan.verdict = Verdict::change;
    plan.message = "Start Docker, then the containers";
    for (const std::string& name : want.spec.names()) {
      plan.changes.push_back(
          {.what = "container " + name, .before = "not known yet", .after = "running, " + image});
      plan.effects.push_back(docker::container_effect(name));
    }
    return plan;
  }
  if (auto planned = docker::plan_containers(engine, want, false, plan); !planned)
    return Plan::fail(planned.error());
  return plan;
}

Applied Running::apply(const Params& params, const Plan&, const NoSteps&, ApplyContext& context) const {
  if (const std::string missing = missing_file(params, context); !missing.empty())
    return Applied::failed("File " + missing + " does not exist");
  docker::Engine engine(context);
  auto started = docker::ensure_engine(context, engine, kName);
  if (!started) return Applied::failed(started.error());
  auto done = docker::run_containers(engine, wanted(params, context));
  if (!done) return Applied::failed(done.error(), std::move(started->output));
  return std::move(*done).applied(*started);
}

constexpr Running kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_docker_running
