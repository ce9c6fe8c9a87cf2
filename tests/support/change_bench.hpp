// For tests of rollouts of recipes and assignments over a real database: machines that are given versions and
// report how they went, without sockets.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/rollouts/change_rollout.hpp"
#include "backend/rollouts/rollout_step.hpp"
#include "backend/store/transaction.hpp"
#include "tests/support/store_bench.hpp"

namespace tests {

class ChangeBench : public StoreBench {
 public:
  static std::string recipe(const std::string& text, const std::string& id = "a") {
    return "states:\n- {id: " + id + ", module: meta.comment, parameter: {comment: " + text + "}}\n";
  }
  void join_all(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      join_one("m" + std::to_string(i));
  }
  void join_one(const std::string& name) {
    sessions[name] = join(name);
    must(backend::fleet::place_instance(*store, sessions[name].instance));
  }
  // "web" with revision 1 is everybody's, who has converged with it.
  void begin(std::size_t count) {
    push("web", recipe("one"));
    assign("*", "web");
    join_all(count);
    for (const auto& [name, session] : sessions)
      converge(name);
  }
  // Pushes and lets it go out; the error, if it is refused, is left in `refused`.
  std::optional<backend::rollouts::PlacedChange> roll_out(const std::string& content,
                                                          backend::rollouts::ChangeTerms terms = in_rings()) {
    refused.clear();
    auto placed =
        backend::store::in_transaction(*store, [&]() -> base::Result<backend::rollouts::PlacedChange> {
          const std::int64_t revision = push("web", content);
          return backend::rollouts::place_change(
              *store, {.app_id = "default",
                       .selector = "*",
                       .change = {.recipe = "web", .from_revision = revision - 1, .to_revision = revision},
                       .created_by = "ann",
                       .owner = "",
                       .terms = terms,
                       .now = now});
        });
    if (!placed) {
      refused = placed.error().message();
      return std::nullopt;
    }
    if (placed->rollout) id = placed->rollout->id;
    return std::move(*placed);
  }
  static backend::rollouts::ChangeTerms in_rings() {
    backend::rollouts::ChangeTerms terms;
    terms.pace = backend::domain::ChangePace::in_rings;
    terms.jitter_s = 0;
    return terms;
  }
  static backend::rollouts::ChangeTerms at_once() {
    backend::rollouts::ChangeTerms terms;
    terms.pace = backend::domain::ChangePace::at_once;
    return terms;
  }
  // One step; the database is a new one each time. Answers who was given another version.
  std::set<std::string> step(std::int64_t passed_s = 0) {
    open();
    now += passed_s * 1000;
    news = must(backend::rollouts::step_rollouts(*store, now, watch));
    std::set<std::string> given;
    for (const backend::fleet::Delivery& delivery : news.deliveries)
      for (const backend::fleet::PlacedVersion& each : delivery.changed)
        given.insert(each.instance_id);
    return given;
  }

  backend::domain::Instance machine(const std::string& name) {
    return must(store->find_instance("default", name));
  }
  // The text of its recipe.
  bool runs(const std::string& name, const std::string& text) {
    const auto placement = machine(name).placement;
    return placement != 0 &&
           must(store->find_placement(placement)).states.find("\"" + text + "\"") != std::string::npos;
  }
  std::size_t count_running(const std::string& text) {
    std::size_t count = 0;
    for (const auto& [name, session] : sessions)
      count += runs(name, text) ? 1 : 0;
    return count;
  }

  void send(const std::string& name, backend::domain::Report report) {
    std::visit([&](auto& body) { body.seq = ++seq[name]; }, report);
    const std::vector<backend::domain::Report> reports{std::move(report)};
    must(store->store_reports(sessions[name], reports, now));
  }
  void converge(const std::string& name, std::int64_t version = 0) {
    protocol::RecipeStatus status;
    status.recipe_version = version == 0 ? machine(name).recipe_version : version;
    status.status = protocol::RecipeProgress::converged;
    send(name, status);
  }
  void fail(const std::string& name, const std::string& state = "a", std::int64_t version = 0) {
    if (version == 0) version = machine(name).recipe_version;
    protocol::StateLog result = log(0, state, false, version);
    result.state_comment = "no such file";
    send(name, result);
    protocol::RecipeStatus status;
    status.recipe_version = version;
    status.status = protocol::RecipeProgress::failed;
    send(name, status);
  }
  void leave(const std::string& name) { must(store->set_offline(sessions[name], now)); }
  void come(const std::string& name) {
    sessions[name] = admit(handshake(name)).session;
    must(backend::fleet::place_instance(*store, sessions[name].instance));
  }

  backend::domain::Rollout rollout() { return must(store->find_rollout(id)); }
  std::string state() { return std::string(backend::domain::name_of(rollout().state)); }
  std::vector<std::string> in_phase(const std::string& phase) {
    std::vector<std::string> names;
    for (const auto& each :
         must(store->list_rollout_targets(rollout(), phase, {"", backend::domain::kLargestPage})).items)
      names.push_back(each.instance_id);
    return names;
  }
  void command(backend::rollouts::RolloutCommand what) {
    must(backend::rollouts::command_rollout(*store, id, what, "ann", now));
  }

  std::map<std::string, backend::domain::AgentSession> sessions;
  std::map<std::string, std::uint64_t> seq;
  backend::rollouts::Watch watch;
  backend::rollouts::RolloutNews news;
  std::string id, refused;
};

}  // namespace tests
