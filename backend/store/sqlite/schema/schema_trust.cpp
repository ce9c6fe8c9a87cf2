// A step of the schema: what machines are relied on for.
#include <algorithm>
#include <vector>

#include "backend/domain/json_text.hpp"
#include "backend/domain/placement/placement.hpp"
#include "backend/domain/selectors/selector.hpp"
#include "backend/store/sqlite/schema/schema.hpp"

namespace backend::store::sqlite {

using base::Result;

namespace {

// excluded: an operator goes on without the machine: since when (0: not), and why.
// wished_name: that the machine asked for and was not given.
// pending: since when the machine waits until an operator approves it; 0: it does not.
// name_pattern: the names that a join token lets machines choose; '': none, the backend makes them.
constexpr std::string_view kTrustColumns = R"sql(
ALTER TABLE instances ADD COLUMN excluded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instances ADD COLUMN excluded_why TEXT NOT NULL DEFAULT '';
ALTER TABLE instances ADD COLUMN wished_name TEXT NOT NULL DEFAULT '';
ALTER TABLE instances ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;
CREATE INDEX instances_pending ON instances (pending) WHERE pending <> 0;
ALTER TABLE join_tokens ADD COLUMN needs_approval INTEGER NOT NULL DEFAULT 0;
ALTER TABLE apps ADD COLUMN trust_self_reported TEXT NOT NULL DEFAULT 'off';
ALTER TABLE join_tokens ADD COLUMN name_pattern TEXT NOT NULL DEFAULT '';
CREATE INDEX enrolments_key ON enrolments (app_id, key_hash);
)sql";

// Calls `take` for each row.
template <class Take>
Result<void> each_row(Query& rows, const Take& take) {
  while (true) {
    auto row = rows.next();
    if (!row) return std::move(row).error();
    if (!*row) return {};
    take();
  }
}

// The selectors that decide something in an app. One that cannot be read any more decides nothing.
struct Selectors {
  std::vector<domain::Selector> of_app;  // of its assignments, and of waits in what its machines run
  std::vector<domain::Selector> scopes;  // of operators' tokens

  static void add(std::vector<domain::Selector>& list, std::string_view text) {
    if (auto selector = domain::Selector::parse(text)) list.push_back(selector->strict());
  }
  bool use_facts() const {
    const auto uses = [](const domain::Selector& each) { return each.uses_facts(); };
    return std::ranges::any_of(of_app, uses) || std::ranges::any_of(scopes, uses);
  }
};

Result<Selectors> read_selectors(Database& database, const std::string& app_id) {
  Selectors found;
  Query assigned(database, "SELECT selector FROM assignments WHERE app_id=?", app_id);
  auto done = each_row(assigned, [&] { Selectors::add(found.of_app, assigned.view(0)); });
  if (!done) return std::move(done).error();
  Query placed(database,
               "SELECT states FROM placements p WHERE has_waits AND EXISTS (SELECT 1 FROM instances i WHERE "
               "i.placement=p.id AND i.app_id=?)",
               app_id);
  done = each_row(placed, [&] {
    if (const auto states = domain::read_states(placed.view(0)))
      for (const domain::WaitState& wait : (*states)->waits)
        for (const domain::WaitTarget& target : wait.targets)
          if (target.selector) found.of_app.push_back(*target.selector);
  });
  if (!done) return std::move(done).error();
  Query tokens(database, "SELECT scope FROM tokens WHERE revoked=0 AND scope<>''");
  done = each_row(tokens, [&] { Selectors::add(found.scopes, tokens.view(0)); });
  if (!done) return std::move(done).error();
  return found;
}

// The least with which every selector means the machines that it meant before.
Result<domain::SelfTrust> needed_trust(Database& database, const std::string& app_id) {
  using domain::SelfTrust;
  auto selectors = read_selectors(database, app_id);
  if (!selectors) return std::move(selectors).error();
  SelfTrust needed = SelfTrust::off;
  const auto need = [&](SelfTrust trust) { needed = std::max(needed, trust); };
  if (std::ranges::any_of(selectors->of_app, &domain::Selector::uses_self_reported)) need(SelfTrust::named);
  const bool with_facts = selectors->use_facts();
  Query rows(database,
             std::string("SELECT i.instance_id, i.agent_tags, i.operator_tags, ") +
                 (with_facts ? "f.facts FROM instances i LEFT JOIN facts f ON f.instance=i.id"
                             : "NULL FROM instances i") +
                 " WHERE i.app_id=?",
             app_id);
  auto done = each_row(rows, [&] {
    domain::Instance instance;
    instance.app_id = app_id;
    instance.instance_id = rows.view(0);
    instance.agent_tags = domain::read_tags(rows.view(1));
    instance.operator_tags = domain::read_tags(rows.view(2));
    if (!rows.is_null(3)) instance.facts = rows.view(3);
    for (const auto* list : {&selectors->of_app, &selectors->scopes})
      for (const domain::Selector& each : *list) {
        const bool before = each.matches_under(instance, SelfTrust::all);
        for (const SelfTrust trust : {SelfTrust::off, SelfTrust::named})
          if (each.matches_under(instance, trust) != before)
            need(trust == SelfTrust::off ? SelfTrust::named : SelfTrust::all);
      }
  });
  if (!done) return std::move(done).error();
  return needed;
}

// Until now the tags that agents bring along counted as the operator's do. Apps in which somebody depends on
// that go on so, until an administrator turns it off; what that would change is shown by 'opsctl app show'.
Result<void> keep_trusting(Database& database) {
  std::vector<std::string> apps;
  {
    Query rows(database, "SELECT app_id FROM apps");
    if (auto done = each_row(rows, [&] { apps.push_back(rows.text(0)); }); !done) return done;
  }
  for (const std::string& app : apps) {
    auto trust = needed_trust(database, app);
    if (!trust) return std::move(trust).error();
    auto set =
        database.run("UPDATE apps SET trust_self_reported=? WHERE app_id=?", domain::name_of(*trust), app);
    if (!set) return std::move(set).error();
  }
  return {};
}

}  // namespace

SchemaStep trust_step() {
  return {.sql = kTrustColumns, .compute = keep_trusting};
}

}  // namespace backend::store::sqlite
