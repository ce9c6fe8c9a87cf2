#include "states/docker/running.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/text.hpp"
#include "states/docker/images.hpp"

namespace states::docker {

namespace {

// What is to be done with one container.
enum class Act { keep, create, recreate, restart, drop };
struct Decision {
  Act act = Act::keep;
  std::string name;
  std::string id;   // of what is there
  std::string why;  // of recreate, restart and drop
  std::size_t index = 0;
};

// `image_id`: of the image that containers have to be made from; "": of any.
Decision decide_one(const WantedContainers& wanted, const std::string& image_id, const Container* found,
                    const std::string& name, std::size_t index) {
  Decision decision{.act = Act::create, .name = name, .index = index};
  if (!found) return decision;
  decision.id = found->id;
  decision.act = Act::recreate;
  if (wanted.force)
    decision.why = "force";
  else if (!found->is_running)
    decision.why = found->status.empty() ? "it does not run" : found->status;
  else if (!found->fingerprint.empty() && found->fingerprint != wanted.spec.fingerprint(wanted.state_id))
    decision.why = "parameters changed";
  else if (!found->fingerprint.empty() && !image_id.empty() && found->image_id != image_id)
    decision.why = "its image changed";
  else if (wanted.restart) {
    decision.act = Act::restart;
    decision.why = wanted.restart_why;
  } else {
    decision.act = Act::keep;
  }
  return decision;
}

// "web_2" of "web"; "web" itself, too.
bool has_form_of(std::string_view name, std::string_view of) {
  if (!name.starts_with(of)) return false;
  name.remove_prefix(of.size());
  return name.empty() ||
         (name.size() > 1 && name[0] == '_' && base::parse_integer(name.substr(1)).has_value());
}

std::vector<Decision> decide(const WantedContainers& wanted, const std::string& image_id,
                             const std::vector<Container>& containers) {
  std::vector<Decision> decisions;
  const std::vector<std::string> names = wanted.spec.names();
  // First what has to go: it may hold a port.
  for (const Container& container : containers)
    if (container.made_for == wanted.spec.name && has_form_of(container.name, wanted.spec.name) &&
        std::ranges::find(names, container.name) == names.end())
      decisions.push_back(
          {.act = Act::drop, .name = container.name, .id = container.id, .why = "not wanted any more"});
  for (std::size_t index = 0; index < names.size(); ++index)
    decisions.push_back(
        decide_one(wanted, image_id, find_container(containers, names[index]), names[index], index));
  return decisions;
}

std::string describe(const Decision& decision, bool is_done) {
  switch (decision.act) {
    case Act::keep:
      return decision.name + " is running";
    case Act::create:
      return is_done ? decision.name + " created" : "Create " + decision.name;
    case Act::recreate:
      return (is_done ? decision.name + " re-created" : "Create " + decision.name + " again") + " (" +
             decision.why + ")";
    case Act::restart:
      return (is_done ? decision.name + " restarted" : "Restart " + decision.name) + " (" + decision.why +
             ")";
    case Act::drop:
      return (is_done ? decision.name + " removed" : "Remove " + decision.name) + " (" + decision.why + ")";
  }
  return {};
}

// Made, started, and still running two seconds later.
base::Result<void> create(Engine& engine, const WantedContainers& wanted, const Decision& decision,
                          std::string& output) {
  auto id = create_container(engine, decision.name, wanted.spec.json(decision.index, wanted.state_id));
  if (!id) return std::move(id).error();
  if (auto started = start_container(engine, *id); !started) {
    // What never ran must not be in the way of the next attempt.
    (void)drop_container(engine, *id);
    return started;
  }
  for (int tries = 0; tries < 8; ++tries) {
    ::usleep(250'000);
    auto code = exit_code_of(engine, *id);
    if (!code) return std::move(code).error();
    if (!*code) continue;
    output += last_output(engine, *id);
    return base::Error(base::ErrorCode::io, "exited immediately (code " + std::to_string(**code) + ")");
  }
  return {};
}

base::Result<void> do_one(Engine& engine, const WantedContainers& wanted, Decision& decision,
                          std::string& output) {
  if (decision.act == Act::restart) {
    if (restart_container(engine, decision.id)) return {};
    decision.act = Act::recreate;  // a file that was bound into it may be gone
  }
  if (decision.act == Act::recreate || decision.act == Act::drop)
    if (auto dropped = drop_container(engine, decision.id); !dropped) return dropped;
  if (decision.act == Act::recreate || decision.act == Act::create)
    return create(engine, wanted, decision, output);
  return {};
}

base::Result<std::string> followed_image(Engine& engine, const WantedContainers& wanted) {
  if (!wanted.follow_image) return std::string();
  auto image = find_image(engine, wanted.spec.image.text());
  if (!image) return std::move(image).error();
  return *image ? (*image)->id : std::string();
}

base::Result<void> check_image(Engine& engine, const WantedContainers& wanted) {
  const std::string reference = wanted.spec.image.text();
  auto image = find_image(engine, reference);
  if (!image) return std::move(image).error();
  if (*image) return {};
  return base::Error(base::ErrorCode::not_found, "Image " + reference + " is not available locally");
}

// "web exited immediately (code 3)", "web: Conflict. …".
base::Error about(const std::string& name, base::Error why) {
  const bool exited = why.message().starts_with("exited ");
  return {why.code(), name + (exited ? " " : ": ") + why.message()};
}

}  // namespace

base::Result<void> plan_containers(Engine& engine, const WantedContainers& wanted, bool image_to_come,
                                   Plan& plan) {
  auto containers = list_containers(engine);
  if (!containers) return std::move(containers).error();
  const auto image_id = followed_image(engine, wanted);
  if (!image_id) return image_id.error();
  bool creates = false;
  std::string kept;
  for (const Decision& decision : decide(wanted, *image_id, *containers)) {
    if (decision.act == Act::keep && !image_to_come) {
      kept.append(kept.empty() ? "" : "; ").append(describe(decision, true));
      continue;
    }
    Decision shown = decision;
    if (shown.act == Act::keep || shown.act == Act::restart)
      shown = {.act = Act::create, .name = decision.name};
    creates = creates || shown.act == Act::create || shown.act == Act::recreate;
    plan.verdict = Verdict::change;
    plan.message.append(plan.message.empty() ? "" : "; ")
        .append(describe(image_to_come ? shown : decision, false));
    plan.changes.push_back({.what = "container " + decision.name,
                            .before = decision.id.empty()             ? "absent"
                                      : decision.act == Act::recreate ? decision.why
                                                                      : "running",
                            .after = decision.act == Act::drop ? "removed"
                                     : decision.act == Act::restart
                                         ? "restarted (" + decision.why + ")"
                                         : "running, " + wanted.spec.image.text()});
    plan.effects.push_back(container_effect(decision.name));
  }
  if (creates && !image_to_come)
    if (auto there = check_image(engine, wanted); !there) return there;
  if (plan.verdict == Verdict::kept) plan.message = kept;
  return {};
}

base::Result<ContainersDone> run_containers(Engine& engine, const WantedContainers& wanted) {
  auto containers = list_containers(engine);
  if (!containers) return std::move(containers).error();
  const auto image_id = followed_image(engine, wanted);
  if (!image_id) return image_id.error();
  std::vector<Decision> decisions = decide(wanted, *image_id, *containers);
  const auto makes = [](const Decision& one) { return one.act == Act::create || one.act == Act::recreate; };
  // Before anything is removed.
  if (std::ranges::any_of(decisions, makes))
    if (auto there = check_image(engine, wanted); !there) return std::move(there).error();
  ContainersDone done;
  for (Decision& decision : decisions) {
    const auto made = do_one(engine, wanted, decision, done.output);
    if (!made && (made.error().code() == base::ErrorCode::cancelled ||
                  made.error().code() == base::ErrorCode::timed_out))
      return made.error();
    if (!made)
      done.failure.append(done.failure.empty() ? "" : "\n\n")
          .append(about(decision.name, made.error()).message());
    else
      done.comment.append(done.comment.empty() ? "" : "\n\n").append(describe(decision, true));
  }
  return done;
}

Applied ContainersDone::applied(const prerequisites::Installation& engine, std::string before) && {
  std::string text = std::move(before);
  for (const std::string* part : {&failure, &comment})
    if (!part->empty()) text.append(text.empty() ? "" : "\n\n").append(*part);
  if (!failure.empty()) return Applied::failed(std::move(text), engine.output + output);
  return Applied::done(engine.before(std::move(text)), engine.output + output);
}

}  // namespace states::docker
