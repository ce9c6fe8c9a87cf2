#include "agent/daemon/status_json.hpp"

#include <unistd.h>

#include "base/utc_text.hpp"
#include "base/values/json_text.hpp"

namespace agent::daemon {

namespace {

using base::JsonText;

void add_connection(JsonText& json, const connection::Connector& connector) {
  const connection::Connector::View& view = connector.view();
  const int version = connector.protocol_version();
  std::string text = view.is_connected ? "connected to " + view.uri : "not connected to " + view.uri;
  if (view.is_connected && version > 0) text += ", protocol version " + std::to_string(version);
  if (!view.is_connected && !view.problem.empty()) text += ": " + view.problem;
  json.key("connection").begin_object().member("connected", view.is_connected).member("uri", view.uri);
  if (version > 0) json.member("protocol", version);
  json.member("since", base::utc_text(view.since)).optional("problem", view.problem);
  json.member("text", text).end_object();
}

void add_backend(JsonText& json, const runtime::DaemonState& live, const runtime::ActiveRecipe& active) {
  json.member("instance_id", live.identity.instance_id).member("app_id", live.identity.app_id);
  if (const identity::Credentials* credentials = live.membership->credentials())
    json.key("certificate")
        .begin_object()
        .member("name", credentials->name.app_id + "/" + credentials->name.instance_id)
        .member("ends", base::utc_text(credentials->not_after))
        .member("renewed_from", base::utc_text(credentials->renew_at()))
        .end_object();
  if (const auto& recipe = active.current())
    json.key("recipe")
        .begin_object()
        .member("version", recipe->version)
        .member("digest", recipe->digest)
        .member("states", active.states())
        .end_object();
  const reports::SpoolDropped dropped = live.spool->dropped();
  json.key("spool")
      .begin_object()
      .member("waiting", live.spool->last_seq() - live.spool->acknowledged())
      .member("bytes", live.spool->bytes())
      .member("dropped", dropped.kept + dropped.others)
      .member("damaged", dropped.damaged)
      .member("last_seq", live.spool->last_seq())
      .end_object();
}

// What is in use, and what is being fetched: a recipe waits for the latter.
void add_modules(JsonText& json, const runtime::RecipeModules& modules, const runtime::ActiveRecipe& active) {
  const runtime::RecipeTypes& used = active.types();
  const runtime::RecipeModules::View& view = modules.view();
  if (used.source == recipe::ModuleSource() && !view.fetching) return;
  json.key("modules").begin_object();
  if (used.source != recipe::ModuleSource())
    json.member("repo", used.source.repo)
        .member("tag", used.source.tag)
        .member("commit", used.commit)
        .optional("signer", used.signer);
  if (view.fetching) {
    json.key("fetching").begin_object();
    json.member("repo", view.fetching->repo).member("tag", view.fetching->tag);
    if (const auto version = active.waiting_version()) json.member("for_version", *version);
    json.optional("progress", view.progress).optional("problem", view.problem);
    if (view.next_attempt) json.member("next_attempt", base::utc_text(*view.next_attempt));
    json.end_object();
  }
  json.end_object();
}

void add_holds(JsonText& json, const std::vector<runtime::Hold>& holds, const runtime::HoldClock& now) {
  if (holds.empty()) return;
  json.key("holds").begin_list();
  for (const runtime::Hold& hold : holds)
    json.begin_object()
        .member("origin", hold.origin == runtime::HoldOrigin::machine ? "machine" : "backend")
        .member("by", hold.by)
        .member("reason", hold.reason)
        .member("since", base::utc_text(hold.since))
        .member("until", base::utc_text(now.wall + hold.left))
        .member("text", hold_text(hold, now))
        .end_object();
  json.end_list();
}

void add_progress(JsonText& json, const runtime::Progress& progress, bool is_held) {
  if (const auto& running = progress.running())
    json.key("running_state")
        .begin_object()
        .member("id", running->id)
        .member("since", running->since)
        .end_object();
  if (const auto& last = progress.last_round()) {
    json.key("last_round")
        .begin_object()
        .member("round", last->end.round)
        .member("version", last->end.version);
    json.member("ended", base::utc_text(last->ended))
        .member("text", runtime::counts_text(last->end))
        .end_object();
  }
  json.optional("held_up_by", progress.held_up_by());
  if (const auto next = progress.next_round(); next && !is_held)
    json.member("next_round", base::utc_text(*next));
}

}  // namespace

std::string status_json(const DaemonView& view) {
  JsonText json;
  json.begin_object().member("running", true).member("pid", ::getpid());
  json.member("version", view.settings.version).member("started", base::utc_text(view.started));
  json.member("stopping", view.is_stopping);
  if (view.live) add_backend(json, *view.live, view.recipe);
  if (view.modules) add_modules(json, *view.modules, view.recipe);
  if (view.connector) add_connection(json, *view.connector);
  const std::vector<runtime::Hold> holds = view.holds.holds();
  add_holds(json, holds, view.holds.now());
  add_progress(json, view.recipe.progress(), !holds.empty());
  return json.end_object().take();
}

}  // namespace agent::daemon
