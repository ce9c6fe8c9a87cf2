// linux.docker.deploy: files, the image that the registry has now, and containers of it that run.
#include <algorithm>

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "states/docker/pulling.hpp"
#include "states/docker/running.hpp"
#include "states/files/working_folder.hpp"
#include "states/state.hpp"

namespace states::linux_docker_deploy {

namespace {

using Params = docker::ContainerParams;

constexpr auto kParams = param_table(
    param<&Params::container>("container", "the container's name, and its host name").required(),
    param<&Params::image>("image", "the image, as linux.docker.pulled pulls it").required(),
    param<&Params::tag>("tag", "the image's tag").fallback("`latest`, or the one in `image`"),
    param<&Params::username>("username", "user of the registry").fallback("nobody in particular"),
    param<&Params::password>("password", "password of that user").secret().fallback("none"),
    param<&Params::email>("email", "of old recipes; has no effect").fallback("none"),
    param<&Params::files>("files", "path in the container; value: what is in the file").fallback("none"),
    param<&Params::count>("count", "how many; their names are then NAME_1, NAME_2, …").fallback("one, NAME"),
    param<&Params::command>("command", "program and arguments").fallback("the image's"),
    param<&Params::environment>("environment", "names and values").fallback("none"),
    param<&Params::volumes>("volumes",
                            "path of the host, or name of a volume; value: path in the container, with `:ro` "
                            "if it may only read")
        .alias("binds")
        .fallback("none"),
    param<&Params::devices>("devices",
                            "device of the host; value: path in the container, with rights as `:rwm`")
        .fallback("none"),
    param<&Params::port_bindings>("port_bindings",
                                  "port of the container, `80` or `53/udp`; value: port of the host, `8080` "
                                  "or `127.0.0.1:8080`. With a count the second container has the next port, "
                                  "and so on")
        .alias("ports")
        .fallback("none"),
    param<&Params::mem_limit>("mem_limit", "most memory, such as `512m`").fallback("no limit"),
    param<&Params::cpu_shares>("cpu_shares",
                               "processors, such as `0-3`, `0,2` or `1`; a number from 2 on: share of "
                               "processor time, usually 1024")
        .fallback("all"),
    param<&Params::force>("force", "make the containers again in every round").fallback("false"));

constexpr std::string_view kName = "linux.docker.deploy";

class Deploy final : public State<Params> {
 public:
  constexpr Deploy()
      // `force` would make the containers once more.
      : State({.name = kName,
               .summary = "Docker containers of the image that the registry has now, with their files",
               .rereadable = false,
               .timeout = std::chrono::hours(1)},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<NoSteps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const NoSteps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

// A file of the recipe, and where the host has it.
struct HostFile {
  std::string path;
  std::string in_container;
  std::string_view content;
};

std::vector<HostFile> host_files(const Params& params, const std::string& state_dir) {
  std::vector<HostFile> files;
  for (const Pair& pair : params.files) {
    if (pair.key.empty()) continue;
    std::string name(pair.key);
    std::ranges::replace(name, '/', '-');
    files.push_back({state_dir + "/docker-config/" + std::string(params.container) + "/" + name,
                     std::string(pair.key), pair.value});
  }
  return files;
}

// The files become binds of the host's copies, and what is in them a part of the fingerprint.
base::Result<docker::ContainerSpec> spec_of(const Params& params, const std::string& state_dir) {
  Params without_files = params;
  without_files.files = {};
  auto spec = docker::understand(without_files);
  if (!spec) return spec;
  std::string all;
  for (const HostFile& file : host_files(params, state_dir)) {
    const auto clean = base::clean_path(file.in_container);
    if (!clean || *clean != file.in_container || file.in_container == "/" ||
        file.in_container.find(':') != file.in_container.npos)
      return base::Error(base::ErrorCode::invalid, "Illegal value for 'files': '" + file.in_container +
                                                       "': give an absolute path without colons");
    spec->binds.push_back(file.path + ":" + file.in_container);
    all += std::to_string(file.content.size()) + ":" + std::string(file.content);
  }
  if (!all.empty()) spec->files_hash = base::sha256_hex(all);
  return spec;
}

docker::WantedImage image_of(const Params& params, const docker::ContainerSpec& spec) {
  return {.reference = spec.image,
          .login = {std::string(params.username), std::string(params.password)},
          .containers = {&params.container, 1}};
}

base::Result<void> Deploy::check(const Params& params) const {
  if (auto spec = spec_of(params, "/"); !spec) return std::move(spec).error();
  return docker::check_credentials(params.username, params.password);
}

std::vector<Effect> Deploy::touched(const Params& params) const {
  const auto spec = spec_of(params, "/");
  std::vector<Effect> touched{docker::image_effect(spec->image.text()),
                              {.kind = EffectKind::package, .name = "docker.io"},
                              {.kind = EffectKind::unit, .name = "docker.service", .certain = false}};
  for (const std::string& name : spec->names())
    touched.push_back(docker::container_effect(name));
  return touched;
}

constexpr base::Attributes kFileAttributes{.uid = 0, .gid = 0, .mode = 0644};

base::Result<bool> is_right(const HostFile& file, Context& context) {
  auto found = context.tree.look(file.path);
  if (!found) return std::move(found).error();
  if (!*found || !S_ISREG((*found)->st_mode) || ((*found)->st_mode & 07777) != *kFileAttributes.mode ||
      (*found)->st_uid != 0)
    return false;
  return context.tree.has_content(file.path, file.content);
}

base::Result<void> plan_files(const Params& params, Plan& plan, Context& context) {
  for (const HostFile& file : host_files(params, context.host.state_dir)) {
    auto right = is_right(file, context);
    if (!right) return std::move(right).error();
    if (*right) continue;
    plan.verdict = Verdict::change;
    plan.message.append(plan.message.empty() ? "" : "; ").append("Write " + file.in_container);
    plan.changes.push_back({.what = "file " + file.in_container,
                            .before = "another",
                            .after = std::to_string(file.content.size()) + " bytes"});
    plan.written.push_back(file.path);
  }
  return {};
}

PlanWith<NoSteps> Deploy::plan(const Params& params, Context& context) const {
  docker::WantedContainers wanted{.spec = *spec_of(params, context.host.state_dir),
                                  .state_id = std::string(context.state_id),
                                  .force = params.force,
                                  .follow_image = true,
                                  .restart_why = {}};
  const docker::WantedImage image = image_of(params, wanted.spec);
  for (const std::string& name : wanted.spec.names())
    if (const Overlay::Entry* earlier = docker::earlier_change(context, docker::container_effect(name)))
      return Plan::unknown(earlier->state_id, "An earlier state changes the container " + name);
  if (const Overlay::Entry* earlier =
          docker::earlier_change(context, docker::image_effect(image.reference.text())))
    return Plan::unknown(earlier->state_id, "An earlier state changes the image " + image.reference.text());
  Plan plan;
  if (auto planned = plan_files(params, plan, context); !planned) return Plan::fail(planned.error());
  wanted.restart = plan.verdict == Verdict::change;
  wanted.restart_why = "its files changed";
  docker::Engine engine(context);
  const auto answers = docker::plan_engine(engine, kName, plan);
  if (!answers) return Plan::fail(answers.error());
  if (!*answers) {
    plan.verdict = Verdict::change;
    plan.message = "Start Docker, pull " + image.reference.text() + ", then the containers";
    plan.effects = touched(params);
    return plan;
  }
  const auto current = docker::plan_pull(engine, image, plan);
  if (!current) return Plan::fail(current.error());
  if (auto planned = docker::plan_containers(engine, wanted, !*current, plan); !planned)
    return Plan::fail(planned.error());
  return plan;
}

// Answers whether any of them was another before.
base::Result<bool> write_files(const Params& params, ApplyContext& context) {
  bool any = false;
  for (const HostFile& file : host_files(params, context.host.state_dir)) {
    auto right = is_right(file, context);
    if (!right) return std::move(right).error();
    if (*right) continue;
    any = true;
    const std::string folder(base::split_path(file.path).folder);
    if (auto made = files::make_folders(folder, {.uid = 0, .gid = 0, .mode = 0700}, context); !made)
      return std::move(made).error();
    auto found = context.tree.look(file.path);
    if (!found) return std::move(found).error();
    if (auto written = context.files.write_file(file.path, base::Seen(*found), file.content, kFileAttributes);
        !written)
      return std::move(written).error();
  }
  return any;
}

Applied Deploy::apply(const Params& params, const Plan&, const NoSteps&, ApplyContext& context) const {
  docker::Engine engine(context);
  auto started = docker::ensure_engine(context, engine, kName);
  if (!started) return Applied::failed(started.error());
  const auto changed = write_files(params, context);
  if (!changed) return Applied::failed(changed.error(), std::move(started->output));
  const docker::WantedContainers wanted{.spec = *spec_of(params, context.host.state_dir),
                                        .state_id = std::string(context.state_id),
                                        .force = params.force,
                                        .follow_image = true,
                                        .restart = *changed,
                                        .restart_why = "its files changed"};
  auto pulled = docker::pull_image(engine, image_of(params, wanted.spec));
  if (!pulled) return Applied::failed(pulled.error(), std::move(started->output));
  started->output += pulled->output;
  auto done = docker::run_containers(engine, wanted);
  if (!done) return Applied::failed(done.error(), std::move(started->output));
  return std::move(*done).applied(*started, std::move(pulled->comment));
}

constexpr Deploy kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_docker_deploy
