// linux.docker.built: an image that is made of a folder with a Dockerfile.
#include <algorithm>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/files/private_folder.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/tree/tree.hpp"
#include "states/docker/begun.hpp"
#include "states/docker/containers.hpp"
#include "states/docker/images.hpp"
#include "states/docker/progress.hpp"
#include "states/linux_docker_built/build_context.hpp"
#include "states/state.hpp"

namespace states::linux_docker_built {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

struct Params {
  std::string_view tag;
  std::string_view path;
  List containers;
  bool force = false;
};

constexpr auto kParams = param_table(
    param<&Params::tag>("tag", "the image: `name` or `name:tag`").required(),
    param<&Params::path>("path", "directory that contains `Dockerfile`").required(),
    param<&Params::containers>("containers",
                               "containers that are stopped and removed when the image has become another; a "
                               "name that does not exist stands for NAME_1, NAME_2, …")
        .fallback("none"),
    param<&Params::force>("force", "build in every round").fallback("false"));

constexpr std::string_view kName = "linux.docker.built";
constexpr std::size_t kLargestDockerfile = 4 * 1024 * 1024;

struct Steps {
  std::string folder;
  std::string dockerfile;  // its hash
};

class Built final : public State<Params, Steps> {
 public:
  constexpr Built()
      : State({.name = kName,
               .summary = "A Docker image that is built of a folder",
               .timeout = std::chrono::hours(1)},
              kParams) {}

 private:
  Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

docker::Reference reference_of(const Params& params) {
  return *docker::parse_reference(params.tag, "", "tag");
}

Result<void> Built::check(const Params& params) const {
  auto reference = docker::parse_reference(params.tag, "", "tag");
  if (!reference) return std::move(reference).error();
  if (!reference->digest.empty())
    return Error(ErrorCode::invalid, "Illegal value for 'tag': '" + std::string(params.tag) + "'");
  if (auto clean = base::clean_path(params.path); !clean) return std::move(clean).error();
  for (const std::string_view name : params.containers)
    if (!docker::is_container_name(name))
      return Error(ErrorCode::invalid, "Illegal value for 'containers': '" + std::string(name) + "'");
  return {};
}

std::vector<Effect> Built::touched(const Params& params) const {
  std::vector<Effect> touched{docker::image_effect(reference_of(params).text()),
                              {.kind = EffectKind::package, .name = "docker.io"},
                              {.kind = EffectKind::unit, .name = "docker.service", .certain = false}};
  for (const std::string_view name : params.containers)
    touched.push_back(docker::container_effect(name));
  return touched;
}

// The hash of the Dockerfile that the image was last built of, in the agent's state folder. The state is done
// when it is written.
std::string record_path(const Params& params, const Context& context) {
  return context.host.state_dir + "/docker-built/" +
         base::sha256_hex(reference_of(params).text() + "\n" + std::string(params.path)).substr(0, 32);
}

std::string recorded(const Params& params, const Context& context) {
  const auto text = base::read_file(record_path(params, context), 1024);
  return text ? std::string(base::trim(*text)) : std::string();
}

Result<void> record(const Params& params, const std::string& hash, const Context& context) {
  const std::string path = record_path(params, context);
  if (auto made = base::make_private_folder(std::string(base::split_path(path).folder)); !made)
    return std::move(made).error();
  return base::write_durable_file(path, hash + "\n");
}

// In Context::notes: what was built in this round by states that do so in every round.
struct BuiltNow {
  std::vector<std::string> states;
};

docker::Begun begun_of(const Params& params, const Context& context) {
  return {context, "build", reference_of(params), params.containers};
}

// A new image is there, and nobody knows of all of its containers that they have gone.
bool is_unfinished(const docker::Begun::Note& note, const std::optional<docker::Image>& image) {
  return note.phase == docker::Begun::Phase::begun && image && image->id != note.image;
}

Result<std::string> hash_of_dockerfile(const std::string& folder, Context& context) {
  auto text = context.tree.read(folder + "/Dockerfile", kLargestDockerfile);
  if (!text && text.error().code() == ErrorCode::not_found)
    return Error(ErrorCode::not_found, folder + "/Dockerfile not found");
  if (!text) return std::move(text).error();
  return base::sha256_hex(*text);
}

// Why the image is to be built; empty: it is there, and as the Dockerfile says.
Result<std::string> why_build(const Params& params, const std::string& hash,
                              const std::optional<docker::Image>& image, Context& context) {
  if (!image) return std::string("absent");
  const auto& states = context.notes.get<BuiltNow>().states;
  const bool was_built = std::ranges::find(states, std::string(context.state_id)) != states.end();
  if (params.force && !was_built) return std::string("built in every round (force)");
  if (is_unfinished(begun_of(params, context).read(), image)) return std::string("built, and no more");
  const std::string known = recorded(params, context);
  if (known.empty()) return std::string("not known to be built of this Dockerfile");
  return known == hash ? std::string() : std::string("built of another Dockerfile");
}

PlanWith<Steps> Built::plan(const Params& params, Context& context) const {
  const std::string folder = *base::clean_path(params.path);
  const std::string reference = reference_of(params).text();
  if (const Overlay::Entry* earlier = docker::earlier_change(context, docker::image_effect(reference)))
    return Plan::unknown(earlier->state_id, "An earlier state changes the image " + reference);
  if (const Overlay::Entry* earlier = context.overlay.path(folder + "/Dockerfile"))
    return Plan::unknown(earlier->state_id,
                         folder + "/Dockerfile depends on what an earlier state does to it");
  auto hash = hash_of_dockerfile(folder, context);
  if (!hash) {
    const Overlay::Entry* maker = hash.error().code() == ErrorCode::not_found
                                      ? context.overlay.provider(EffectKind::file, folder + "/Dockerfile")
                                      : nullptr;
    return maker ? Plan::unknown(maker->state_id, folder + "/Dockerfile may come from an earlier state")
                 : Plan::fail(hash.error());
  }
  docker::Engine engine(context);
  Plan plan;
  const auto answers = docker::plan_engine(engine, kName, plan);
  if (!answers) return Plan::fail(answers.error());
  std::string why = "not known yet";
  if (*answers) {
    auto image = docker::find_image(engine, reference);
    if (!image) return Plan::fail(image.error());
    auto because = why_build(params, *hash, *image, context);
    if (!because) return Plan::fail(because.error());
    if (because->empty()) return Plan::kept("Image " + reference + " exists");
    why = std::move(*because);
  }
  plan.verdict = Verdict::change;
  plan.message = (*answers ? "Build " : "Start Docker, build ") + reference + " of " + folder;
  plan.changes.push_back(
      {.what = "image " + reference, .before = std::move(why), .after = "built of " + folder});
  plan.effects.push_back(docker::image_effect(reference));
  for (const std::string_view name : params.containers)
    plan.effects.push_back(docker::container_effect(name));
  return {std::move(plan), Steps{.folder = folder, .dockerfile = std::move(*hash)}};
}

// "The command '…' returned a non-zero code: 3" has the program's exit code in it.
Error build_error(const std::string& reference, const Error& why) {
  constexpr std::string_view kCode = "returned a non-zero code: ";
  const std::string& text = why.message();
  const std::size_t at = text.rfind(kCode);
  const auto code =
      at == text.npos ? std::nullopt : base::parse_integer(base::trim(text.substr(at + kCode.size())));
  return {why.code(), "Build of " + reference + " failed" +
                          (code ? " (exit " + std::to_string(*code) + ")" : "") + ": " + text};
}

// Hands the folder to the engine, which builds. By the builder that every engine has: BuildKit wants a client
// of its own.
Result<void> build(const std::string& reference, const std::string& folder, docker::Engine& engine,
                   std::string& output, ApplyContext& context) {
  auto opened = context.tree.follow(folder);
  if (!opened) return std::move(opened).error();
  IgnoreRules rules;
  if (auto text = context.tree.read(folder + "/.dockerignore", kLargestDockerfile))
    rules = IgnoreRules::parse(*text);
  else if (text.error().code() != ErrorCode::not_found)
    return std::move(text).error();
  auto sent = BuildContext::open(std::move(*opened), rules, context.interrupt);
  if (!sent) return std::move(sent).error().with_context(folder);
  docker::Progress progress(context.commands, output);
  Result<void> read;  // what went wrong with the folder counts more than what the engine makes of it
  auto reply =
      engine.call({.method = "POST",
                   .target = "/build?version=1&rm=1&forcerm=1&t=" + docker::percent_encoded(reference),
                   .content_type = "application/x-tar",
                   .upload = [&]() -> Result<std::string> {
                     auto piece = sent->next();
                     if (!piece) read = piece.error();
                     return piece;
                   }},
                  docker::kWork, [&](std::string_view piece) { return progress.take(piece); });
  if (!read) return read;
  if (!reply) return std::move(reply).error();
  if (!reply->ok()) return docker::error_of(*reply);
  return progress.finish();
}

Applied Built::apply(const Params& params, const Plan&, const Steps& steps, ApplyContext& context) const {
  docker::Engine engine(context);
  auto started = docker::ensure_engine(context, engine, kName);
  if (!started) return Applied::failed(started.error());
  std::string output = std::move(started->output);
  const std::string reference = reference_of(params).text();
  const auto fail = [&](const Error& error) { return Applied::failed(error, std::move(output)); };
  auto before = docker::find_image(engine, reference);
  if (!before) return fail(before.error());
  const docker::Begun begun = begun_of(params, context);
  const bool goes_on = is_unfinished(begun.read(), *before);
  if (!goes_on)
    if (auto noted = begun.write(docker::Begun::Phase::begun, *before ? (*before)->id : "-"); !noted)
      return fail(noted.error());
  if (auto done = build(reference, steps.folder, engine, output, context); !done) {
    if (!goes_on) (void)begun.write(docker::Begun::Phase::done, *before ? (*before)->id : "-");
    const ErrorCode code = done.error().code();
    const bool is_end = code == ErrorCode::cancelled || code == ErrorCode::timed_out;
    return fail(is_end ? done.error() : build_error(reference, done.error()));
  }
  auto after = docker::find_image(engine, reference);
  if (after && !*after)
    after = Error(ErrorCode::io, "Build of " + reference + " failed: it is not there afterwards");
  if (!after) return fail(after.error());
  const std::string& id = (*after)->id;
  std::string comment = "Image " + reference + " rebuilt, unchanged";
  if (goes_on || !*before || (*before)->id != id) {
    comment = "Image " + reference + " built (" + docker::short_id(id) + ")";
    const auto dropped = docker::drop_named(engine, params.containers);
    if (!dropped) return fail(dropped.error());
    if (!dropped->empty()) comment += "; dropped: " + base::join(*dropped, ", ");
  }
  if (auto noted = begun.write(docker::Begun::Phase::done, id); !noted) return fail(noted.error());
  // That of before the build: what was written meanwhile is seen in the next round.
  if (auto noted = record(params, steps.dockerfile, context); !noted) return fail(noted.error());
  context.notes.get<BuiltNow>().states.emplace_back(context.state_id);
  return Applied::done(started->before(std::move(comment)), std::move(output));
}

constexpr Built kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_docker_built
