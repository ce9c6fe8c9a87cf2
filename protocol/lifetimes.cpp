#include "protocol/lifetimes.hpp"

namespace protocol {

namespace {

using Lifetime = std::optional<std::chrono::seconds>;

// One for each message: a new one without a line does not compile.
struct LifetimeOf {
  Lifetime operator()(const Run&) const { return kCommandLifetime; }
  Lifetime operator()(const Cancel&) const { return kCommandLifetime; }
  Lifetime operator()(const Query&) const { return kCommandLifetime; }
  Lifetime operator()(const OutputSubscribe&) const { return kCommandLifetime; }
  Lifetime operator()(const Settings&) const { return kCommandLifetime; }
  Lifetime operator()(const RunNow&) const { return kCommandLifetime; }
  Lifetime operator()(const AgentUpdate&) const { return kUpdateLifetime; }
  Lifetime operator()(const RecipeMetadata& recipe) const {
    return recipe.plan_only ? Lifetime(kCommandLifetime) : std::nullopt;
  }
  Lifetime operator()(const Welcome&) const { return {}; }
  Lifetime operator()(const AppNotReady&) const { return {}; }
  Lifetime operator()(const WaitList&) const { return {}; }
  Lifetime operator()(const WaitDone&) const { return {}; }
  Lifetime operator()(const Hold&) const { return {}; }  // it says itself how long it lasts
  Lifetime operator()(const CertIssued&) const { return {}; }
  Lifetime operator()(const Authorities&) const { return {}; }
  Lifetime operator()(const Test&) const { return {}; }
  Lifetime operator()(const Ack&) const { return {}; }
  Lifetime operator()(const Nack&) const { return {}; }
  Lifetime operator()(const Goodbye&) const { return {}; }
  Lifetime operator()(const Unknown&) const { return {}; }
};

}  // namespace

Lifetime lifetime_of(const BackendBody& body) {
  return std::visit(LifetimeOf{}, body);
}

}  // namespace protocol
