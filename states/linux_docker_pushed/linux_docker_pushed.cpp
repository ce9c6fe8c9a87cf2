// linux.docker.pushed: an image that a registry has, made of a container if one is named.
#include <algorithm>

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "states/docker/begun.hpp"
#include "states/docker/containers.hpp"
#include "states/docker/images.hpp"
#include "states/docker/pulling.hpp"
#include "states/state.hpp"

namespace states::linux_docker_pushed {

namespace {

struct Params {
  std::string_view repository;
  std::string_view tag;
  std::string_view container;
  std::string_view message;
  std::string_view author;
  std::string_view username;
  std::string_view password;
  std::string_view email;
  List dep_containers;
};

constexpr auto kParams = param_table(
    param<&Params::repository>("repository", "where to: `[registry/]name`, also with `:tag`").required(),
    param<&Params::tag>("tag", "the tag").fallback("`latest`, or the one in `repository`"),
    param<&Params::container>("container", "a container whose present state becomes the image")
        .fallback("the image of this name that is here"),
    param<&Params::message>("message", "remark in an image that is made of a container").fallback("none"),
    param<&Params::author>("author", "author of such an image").fallback("none"),
    param<&Params::username>("username", "user of the registry").fallback("nobody in particular"),
    param<&Params::password>("password", "password of that user").secret().fallback("none"),
    param<&Params::email>("email", "of old recipes; has no effect").fallback("none"),
    param<&Params::dep_containers>("dep_containers",
                                   "containers that are stopped and removed when something new was pushed; a "
                                   "name that does not exist stands for NAME_1, NAME_2, …")
        .fallback("none"));

constexpr std::string_view kName = "linux.docker.pushed";

class Pushed final : public State<Params> {
 public:
  constexpr Pushed()
      : State({.name = kName,
               .summary = "A Docker image that its registry has",
               .timeout = std::chrono::hours(1)},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<NoSteps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const NoSteps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

docker::Reference reference_of(const Params& params) {
  return *docker::parse_reference(params.repository, params.tag, "repository");
}

docker::Login login_of(const Params& params) {
  return {std::string(params.username), std::string(params.password)};
}

base::Error illegal(std::string_view param, std::string_view value) {
  return {base::ErrorCode::invalid,
          "Illegal value for '" + std::string(param) + "': '" + std::string(value) + "'"};
}

base::Result<void> Pushed::check(const Params& params) const {
  auto reference = docker::parse_reference(params.repository, params.tag, "repository");
  if (!reference) return std::move(reference).error();
  if (!reference->digest.empty()) return illegal("repository", params.repository);
  if (!params.container.empty() && !docker::is_container_name(params.container))
    return illegal("container", params.container);
  for (const std::string_view name : params.dep_containers)
    if (!docker::is_container_name(name)) return illegal("dep_containers", name);
  return docker::check_credentials(params.username, params.password);
}

std::vector<Effect> Pushed::touched(const Params& params) const {
  std::vector<Effect> touched{docker::image_effect(reference_of(params).text()),
                              {.kind = EffectKind::package, .name = "docker.io"},
                              {.kind = EffectKind::unit, .name = "docker.service", .certain = false}};
  for (const std::string_view name : params.dep_containers)
    touched.push_back(docker::container_effect(name));
  return touched;
}

// What a commit of the container would hold, as a hash: its image, and what it has changed since.
struct Committable {
  std::string id;
  std::string hash;
};
base::Result<Committable> look_at_container(docker::Engine& engine, std::string_view name) {
  auto containers = docker::list_containers(engine);
  if (!containers) return std::move(containers).error();
  const docker::Container* found = docker::find_container(*containers, name);
  if (!found) return base::Error(base::ErrorCode::not_found, "Container " + std::string(name) + " not found");
  auto changes = engine.get("/containers/" + docker::percent_encoded(found->id) + "/changes");
  if (!changes) return std::move(changes).error();
  std::vector<std::string> lines;  // in whatever order the engine has found them
  for (const base::Value& change : changes->root().items())
    lines.push_back(base::to_json(change));
  std::ranges::sort(lines);
  return Committable{found->id, base::sha256_hex(found->image_id + "\n" + base::join(lines, "\n"))};
}

// What there is to do, and the reason why it cannot be done.
struct Situation {
  std::optional<Committable> container;
  std::optional<docker::Image> image;  // that is here under the name
  bool commit = false;
  bool push = false;
  bool is_unfinished = false;  // it was pushed, and not all of dep_containers have gone
  std::string digest;          // of what the registry has; "" for nothing
};
docker::Begun begun_of(const Params& params, docker::Engine& engine) {
  return {engine.context(), "push", reference_of(params), params.dep_containers};
}

base::Result<Situation> look(const Params& params, docker::Engine& engine) {
  const docker::Reference reference = reference_of(params);
  Situation found;
  auto image = docker::find_image(engine, reference.text());
  if (!image) return std::move(image).error();
  found.image = std::move(*image);
  if (!params.container.empty()) {
    auto container = look_at_container(engine, params.container);
    if (!container) return std::move(container).error();
    found.commit = !found.image || found.image->commit_label != container->hash;
    found.container = std::move(*container);
  } else if (!found.image) {
    return base::Error(base::ErrorCode::not_found, "Image " + reference.text() + " not found");
  }
  if (auto login = docker::check_login(engine, reference, login_of(params)); !login)
    return std::move(login).error();
  auto digest = docker::registry_digest(engine, reference, login_of(params));
  // A registry that has no such image says that it is not found, or, to strangers, that they may not know.
  // One that does not answer may well have it: nothing is new then, and no container has to go.
  const bool is_absent = !digest && (digest.error().code() == base::ErrorCode::not_found ||
                                     digest.error().code() == base::ErrorCode::permission);
  if (!digest && !is_absent)
    return std::move(digest).error().with_context("Push of " + reference.text() + " refused");
  if (digest) found.digest = std::move(*digest);
  found.push = found.commit || found.digest.empty() || !found.image->has_digest(found.digest);
  const docker::Begun::Note note = begun_of(params, engine).read();
  found.is_unfinished =
      !found.push && note.image == found.image->id &&
      (note.phase == docker::Begun::Phase::begun || note.phase == docker::Begun::Phase::removal);
  return found;
}

PlanWith<NoSteps> Pushed::plan(const Params& params, Context& context) const {
  const std::string reference = reference_of(params).text();
  if (const Overlay::Entry* earlier = docker::earlier_change(context, docker::image_effect(reference)))
    return Plan::unknown(earlier->state_id, "An earlier state changes the image " + reference);
  if (!params.container.empty())
    if (const Overlay::Entry* earlier =
            docker::earlier_change(context, docker::container_effect(params.container)))
      return Plan::unknown(earlier->state_id,
                           "An earlier state changes the container " + std::string(params.container));
  docker::Engine engine(context);
  Plan plan;
  const auto answers = docker::plan_engine(engine, kName, plan);
  if (!answers) return Plan::fail(answers.error());
  if (!*answers) {
    plan.verdict = Verdict::change;
    plan.message = "Start Docker, push " + reference;
    return plan;
  }
  const auto found = look(params, engine);
  if (!found) return Plan::fail(found.error());
  if (!found->push && !found->is_unfinished)
    return Plan::kept(reference + " is already pushed (" + found->digest + ")");
  plan.verdict = Verdict::change;
  for (const std::string_view name : params.dep_containers)
    plan.effects.push_back(docker::container_effect(name));
  if (found->is_unfinished) {
    plan.message = "Remove what is left of dep_containers: " + reference + " was pushed";
    plan.changes.push_back({.what = reference + " in its registry",
                            .before = "pushed, and no more",
                            .after = "dep_containers removed"});
    return plan;
  }
  if (found->commit) {
    plan.message = "Commit " + std::string(params.container) + " as " + reference + "; ";
    plan.changes.push_back({.what = "image " + reference,
                            .before = found->image ? docker::short_id(found->image->id) : "absent",
                            .after = "container " + std::string(params.container) + " as it is now"});
    plan.effects.push_back(docker::image_effect(reference));
  }
  plan.message += "Push " + reference;
  plan.changes.push_back({.what = reference + " in its registry",
                          .before = found->digest.empty() ? "absent" : found->digest,
                          .after = "the image that is here"});
  return plan;
}

base::Result<void> commit(const Params& params, const Committable& container, docker::Engine& engine) {
  const docker::Reference reference = reference_of(params);
  std::string target = "/commit?container=" + docker::percent_encoded(container.id) +
                       "&repo=" + docker::percent_encoded(reference.name) +
                       "&tag=" + docker::percent_encoded(reference.tag);
  if (!params.message.empty()) target += "&comment=" + docker::percent_encoded(params.message);
  if (!params.author.empty()) target += "&author=" + docker::percent_encoded(params.author);
  const std::string body = R"({"Labels":{)" + base::json_quote(docker::kCommitLabel) + ":" +
                           base::json_quote(container.hash) + "}}";
  return engine.act({.method = "POST", .target = target, .body = body});
}

// Pushes what is here under the name. Answers the digest that the registry has for it then, which must be
// that of the image: a registry that says otherwise has something else, or lies.
base::Result<std::string> push_image(const Params& params, docker::Engine& engine, std::string& output) {
  const docker::Reference reference = reference_of(params);
  if (auto done = docker::push(engine, reference, login_of(params), output); !done)
    return base::Error(done.error().code(),
                       "Push of " + reference.text() + " refused: " + done.error().message());
  auto digest = docker::registry_digest(engine, reference, login_of(params));
  if (!digest) return std::move(digest).error().with_context(reference.text());
  auto image = docker::find_image(engine, reference.text());
  if (!image) return std::move(image).error();
  if (*image && (*image)->has_digest(*digest)) return digest;
  return base::Error(base::ErrorCode::invalid,
                     reference.text() + " was pushed, and its registry says that it has something else (" +
                         *digest + "): somebody has pushed at the same time, or the registry lies");
}

Applied Pushed::apply(const Params& params, const Plan&, const NoSteps&, ApplyContext& context) const {
  docker::Engine engine(context);
  auto started = docker::ensure_engine(context, engine, kName);
  if (!started) return Applied::failed(started.error());
  std::string output = std::move(started->output);
  const docker::Reference reference = reference_of(params);
  auto found = look(params, engine);
  if (!found) return Applied::failed(found.error(), std::move(output));
  if (!found->push && !found->is_unfinished)
    return Applied::done(started->before(reference.text() + " is already pushed (" + found->digest + ")"));
  if (found->commit)
    if (auto done = commit(params, *found->container, engine); !done)
      return Applied::failed(done.error().with_context("Cannot commit " + std::string(params.container)),
                             std::move(output));
  auto image = docker::find_image(engine, reference.text());
  if (image && !*image)
    image = base::Error(base::ErrorCode::not_found, "Image " + reference.text() + " not found");
  if (!image) return Applied::failed(image.error(), std::move(output));
  const std::string& id = (*image)->id;
  // What is new is told by the image that is here: a registry may say today that it has one thing, and
  // tomorrow another.
  using Phase = docker::Begun::Phase;
  const docker::Begun begun = begun_of(params, engine);
  const docker::Begun::Note note = begun.read();
  const bool was_done = note.phase == Phase::done && note.image == id;
  std::string comment = reference.text() + " was pushed already";
  bool is_new = found->is_unfinished;
  if (found->push) {
    if (!was_done)
      if (auto noted = begun.write(Phase::begun, id); !noted)
        return Applied::failed(noted.error(), std::move(output));
    const auto digest = push_image(params, engine, output);
    if (!digest) return Applied::failed(digest.error(), std::move(output));
    comment = reference.text() + " pushed (" + *digest + ")";
    is_new = !was_done && *digest != found->digest;
  }
  if (is_new) {
    if (auto noted = begun.write(Phase::removal, id); !noted)
      return Applied::failed(noted.error(), std::move(output));
    const auto dropped = docker::drop_named(engine, params.dep_containers);
    if (!dropped) return Applied::failed(dropped.error(), std::move(output));
    if (!dropped->empty()) comment += "; dropped: " + base::join(*dropped, ", ");
  }
  if (auto noted = begun.write(Phase::done, id); !noted)
    return Applied::failed(noted.error(), std::move(output));
  return Applied::done(started->before(std::move(comment)), std::move(output));
}

constexpr Pushed kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_docker_pushed
