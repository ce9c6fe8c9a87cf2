#include "states/docker/pulling.hpp"

#include "base/text.hpp"
#include "states/docker/begun.hpp"
#include "states/docker/containers.hpp"

namespace states::docker {

namespace {

base::Error cannot_pull(base::Error why, const WantedImage& wanted) {
  if (why.message().starts_with("Login to ")) return why;
  return std::move(why).with_context("Cannot pull " + wanted.reference.text());
}

// The digest of what the registry has. Its answer to wrong credentials is told as one about the login.
base::Result<std::string> current_digest(Engine& engine, const WantedImage& wanted) {
  if (!wanted.reference.digest.empty()) return wanted.reference.digest;
  auto digest = registry_digest(engine, wanted.reference, wanted.login);
  if (digest) return digest;
  if (digest.error().code() == base::ErrorCode::permission || !wanted.login.user.empty())
    if (auto login = check_login(engine, wanted.reference, wanted.login); !login)
      return std::move(login).error();
  return digest;
}

// A new image has come, and nobody knows of all of its containers that they have gone.
bool is_unfinished(const Begun::Note& note, const std::optional<Image>& image) {
  return note.phase == Begun::Phase::begun && image && image->id != note.image;
}

}  // namespace

base::Result<void> check_credentials(std::string_view user, std::string_view password) {
  if (user.empty() == password.empty()) return {};
  return base::Error(base::ErrorCode::invalid, user.empty()
                                                   ? "Missing parameter 'username': there is a password"
                                                   : "Missing parameter 'password': there is a user name");
}

base::Result<std::optional<Image>> plan_pull(Engine& engine, const WantedImage& wanted, Plan& plan) {
  const std::string reference = wanted.reference.text();
  auto image = find_image(engine, reference);
  if (!image) return cannot_pull(std::move(image).error(), wanted);
  auto digest = current_digest(engine, wanted);
  if (!digest) return cannot_pull(std::move(digest).error(), wanted);
  const bool is_current = *image && (*image)->has_digest(*digest);
  const Begun begun(engine.context(), "pull", wanted.reference, wanted.containers);
  if (is_current && !is_unfinished(begun.read(), *image)) return image;
  plan.verdict = Verdict::change;
  plan.message.append(plan.message.empty() ? "" : "; ")
      .append(is_current ? "Finish what was begun with the new " + reference : "Pull " + reference);
  if (is_current)
    plan.changes.push_back(
        {.what = "image " + reference, .before = "pulled, and no more", .after = "its containers removed"});
  else
    plan.changes.push_back({.what = "image " + reference,
                            .before = *image ? short_id((*image)->id) : "absent",
                            .after = *digest});
  plan.effects.push_back(image_effect(reference));
  auto containers = list_containers(engine);
  if (!containers) return std::move(containers).error();
  for (const std::string& name : named(*containers, wanted.containers)) {
    plan.changes.push_back({.what = "container " + name, .before = "present", .after = "removed"});
    plan.effects.push_back(container_effect(name));
  }
  return std::optional<Image>();
}

base::Result<Pulled> pull_image(Engine& engine, const WantedImage& wanted) {
  const std::string reference = wanted.reference.text();
  Pulled pulled;
  auto before = find_image(engine, reference);
  if (!before) return cannot_pull(std::move(before).error(), wanted);
  if (auto login = check_login(engine, wanted.reference, wanted.login); !login)
    return std::move(login).error();
  const Begun begun(engine.context(), "pull", wanted.reference, wanted.containers);
  const bool goes_on = is_unfinished(begun.read(), *before);
  if (!goes_on)
    if (auto noted = begun.write(Begun::Phase::begun, *before ? (*before)->id : "-"); !noted)
      return std::move(noted).error();
  if (auto done = pull(engine, wanted.reference, wanted.login, pulled.output); !done) {
    // Nothing has come: what somebody else brings about later is not ours to finish.
    if (!goes_on) (void)begun.write(Begun::Phase::done, *before ? (*before)->id : "-");
    return cannot_pull(std::move(done).error(), wanted);
  }
  auto after = find_image(engine, reference);
  if (!after) return cannot_pull(std::move(after).error(), wanted);
  if (!*after)
    return base::Error(base::ErrorCode::io, "Cannot pull " + reference + ": it is not there afterwards");
  if (*before && (*before)->id == (*after)->id && !goes_on) {
    if (auto noted = begun.write(Begun::Phase::done, (*after)->id); !noted) return std::move(noted).error();
    pulled.comment = "Image " + reference + " is current (" + short_id((*after)->id) + ")";
    return pulled;
  }
  pulled.is_new = true;
  pulled.comment = "New image " + reference + " (" + (*before ? short_id((*before)->id) + " -> " : "") +
                   short_id((*after)->id) + ")";
  auto dropped = drop_named(engine, wanted.containers);
  if (!dropped) return std::move(dropped).error();
  if (!dropped->empty()) pulled.comment += "; dropped: " + base::join(*dropped, ", ");
  if (auto noted = begun.write(Begun::Phase::done, (*after)->id); !noted) return std::move(noted).error();
  if (*before && (*before)->id != (*after)->id) remove_if_unused(engine, (*before)->id);
  return pulled;
}

}  // namespace states::docker
