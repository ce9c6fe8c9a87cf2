// A store on an empty database, and shorthands for what tests put into it. The implementation is the one that
// is under test (store_under_test.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "backend/domain/placement/recipe_check.hpp"
#include "backend/fleet/placer.hpp"
#include "backend/store/identity/admission.hpp"
#include "backend/store/inventory/recipes.hpp"
#include "backend/store/store.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/store_under_test.hpp"

namespace tests {

// The value, or the end of the test with the error's text.
template <class T>
T must(base::Result<T> result) {
  REQUIRE_MESSAGE(result, result.error().message());
  return std::move(*result);
}
inline void must(base::Result<void> result) {
  REQUIRE_MESSAGE(result, result.error().message());
}

class StoreBench {
 public:
  StoreBench() { open(); }

  backend::store::Store& operator*() { return *store; }
  backend::store::Store* operator->() { return store.get(); }

  // Closes the database, if it is open, and opens it again.
  void open() {
    store.reset();
    store = must(open_another(backend::store::Access::write));
  }
  std::unique_ptr<backend::store::Store> reader() const {
    return must(open_another(backend::store::Access::read_only));
  }
  // One more on the same database: as another thread or process has it.
  base::Result<std::unique_ptr<backend::store::Store>> open_another(backend::store::Access access) const {
    return opener(access);
  }
  std::string stored_bytes() const { return implementation.stored_bytes(folder.path()); }

  static protocol::Handshake handshake(const std::string& instance_id, backend::domain::Tags tags = {}) {
    protocol::Handshake handshake;
    handshake.instance_id = instance_id;
    handshake.app_id = "default";
    handshake.agent_version = "1.2.3";
    handshake.instance_token = "token of " + instance_id;
    handshake.protocol_max = 2;
    handshake.agent_uid = "uid of " + instance_id;
    handshake.tags = std::move(tags);
    return handshake;
  }
  backend::domain::Admission admit(const std::string& instance_id, backend::domain::Tags tags = {}) {
    return admit(handshake(instance_id, std::move(tags)));
  }
  backend::domain::Admission admit(const protocol::Handshake& hello,
                                   const std::optional<backend::domain::Credential>& credential = {}) {
    return must(backend::store::admit(*store, hello, credential, now));
  }
  // With tags of the operator.
  backend::domain::AgentSession join(const std::string& instance_id, const backend::domain::Tags& tags = {}) {
    const auto session = join_saying(instance_id, {});
    if (!tags.empty()) must(store->set_operator_tags(session.instance, tags));
    return session;
  }
  // With tags that the machine sets itself.
  backend::domain::AgentSession join_saying(const std::string& instance_id, backend::domain::Tags tags) {
    const auto admission = admit(instance_id, std::move(tags));
    REQUIRE(admission.verdict == backend::domain::Admission::Verdict::admitted);
    return admission.session;
  }
  void trust(backend::domain::SelfTrust trust) {
    auto app = must(store->find_app("default"));
    app.trust = trust;
    must(store->write_app(app, now));
  }

  // Stores a recipe with these states, as `check_recipe` makes them.
  std::int64_t push(const std::string& name, const std::string& content) {
    const auto checked = backend::domain::check_recipe(content);
    REQUIRE_MESSAGE(checked.problems.empty(), checked.problems[0].message);
    const backend::domain::NewRevision revision{name,           content,        checked.syntax,
                                                checked.digest, checked.states, checked.state_count};
    return must(backend::store::put_revision(*store, revision, now)).revision.revision;
  }
  backend::domain::Assignment assign(const std::string& selector, const std::string& recipe,
                                     std::int64_t order = 0) {
    backend::domain::Assignment assignment;
    assignment.app_id = "default";
    assignment.selector = selector;
    assignment.recipe = recipe;
    assignment.order = order;
    return must(backend::store::add_assignment(*store, assignment, now));
  }

  static protocol::StateLog log(std::uint64_t seq, const std::string& id, bool ok = true,
                                std::int64_t version = 1) {
    protocol::StateLog log;
    log.seq = seq;
    log.id = id;
    log.recipe_version = version;
    log.state_result = ok;
    log.outcome = ok ? "kept" : "failed";
    return log;
  }

  ScratchFolder folder;
  const StoreImplementation& implementation = *store_under_test();
  const backend::store::Opener opener = implementation.opener(folder.path());
  std::unique_ptr<backend::store::Store> store;
  backend::domain::Millis now = 1'800'000'000'000;
};

}  // namespace tests
