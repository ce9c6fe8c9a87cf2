// What is done when an agent shows that the database was put back from a backup. For the writer thread.
#pragma once

#include <string>
#include <string_view>

#include "backend/store/store.hpp"

namespace backend::store {

// What agents are told now. Inside the transaction that is committed before they are told.
base::Result<std::string> history_mark(Store& store);

// An agent says what it was told last. If that was by a later life of this database, which was put back
// since: rollouts do not go on by themselves, and no app pins a version any more, for what has become of them
// since is not known here; the audit says so. Answers what the log is to say; "": all is well, or it was
// noticed before, or we have never said that.
base::Result<std::string> look_at_mark(Store& store, std::string_view said, const std::string& instance,
                                       domain::Millis now);

}  // namespace backend::store
