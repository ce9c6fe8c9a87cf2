// Store: all that the backend keeps: rows by subject, and transactions. An implementation (store/sqlite) has
// rows and nothing else. Who may do what is decided in domain/; functions that combine decisions and rows are
// in the folders beside this header (inventory/, history/, identity/) and work on any Store.
//
// Methods block, and are called by one thread: the writer thread for a store that writes, the reader thread
// for a read-only one (whose writing methods fail). Errors by code: `not_found` there is no such thing,
// `exists` it is in the way or was edited meanwhile, `invalid` the input is wrong, anything else: the
// database.
#pragma once

#include <functional>
#include <memory>

#include "backend/domain/access/audit_rules.hpp"
#include "backend/store/rows/app_store.hpp"
#include "backend/store/rows/assignment_store.hpp"
#include "backend/store/rows/audit_store.hpp"
#include "backend/store/rows/history_store.hpp"
#include "backend/store/rows/identity_store.hpp"
#include "backend/store/rows/instance_store.hpp"
#include "backend/store/rows/operator_token_store.hpp"
#include "backend/store/rows/placement_store.hpp"
#include "backend/store/rows/recipe_store.hpp"
#include "backend/store/rows/report_store.hpp"
#include "backend/store/rows/rollout_store.hpp"
#include "backend/store/rows/variable_store.hpp"
#include "base/result.hpp"

namespace backend::store {

class Store : public AppStore,
              public InstanceStore,
              public IdentityStore,
              public OperatorTokenStore,
              public RecipeStore,
              public AssignmentStore,
              public PlacementStore,
              public ReportStore,
              public RolloutStore,
              public AuditStore,
              public HistoryStore,
              public VariableStore {
 public:
  // Runs `work`; if it answers an error, all that it wrote is undone and the error is handed on. The
  // outermost call is a transaction, durable when it returns success, and no other writer comes between its
  // reads and its writes; inside another one it is a savepoint.
  virtual base::Result<void> transact(const std::function<base::Result<void>()>& work) = 0;

  // Writes and syncs as much as a batch of reports may take: whether the disk has room.
  virtual base::Result<void> probe_room(domain::Millis now) = 0;

  // Of add_audit(). In memory: each process that writes has one.
  domain::RefusalLimit& refusals() { return refusals_; }

 private:
  domain::RefusalLimit refusals_;
};

// Opens stores on one database. A writing store makes what is missing and brings it to the present
// schema; a read-only one needs a database that a writing one has opened before, and sees what is committed.
enum class Access { write, read_only };
using Opener = std::function<base::Result<std::unique_ptr<Store>>(Access)>;

}  // namespace backend::store
