// The update journal, as a disk gives it back: the agent and the launcher act upon what it says.
#include "tests/fuzz/fuzz.hpp"
#include "update/journal.hpp"
#include "update/launcher/launcher_decision.hpp"
#include "update/layout.hpp"

using fuzz::require;
using update::Layout;

namespace {

// Whatever was noted, the launcher starts nothing but a folder of versions/ that is there.
void check_decision(const update::Record& record, const std::optional<std::string>& current) {
  const update::launcher::DiskState sight{.record = record,
                                          .journal_problem = {},
                                          .current = current,
                                          .current_problem = {},
                                          .complete = {"1.3.0-aaaaaaaa"},
                                          .last_end = {}};
  for (const update::launcher::Decision& made :
       {update::launcher::decide(sight), update::launcher::decide_after_deadline(sight)}) {
    for (const std::string& name : {made.start, made.start_uncounted, made.switch_to.value_or("")})
      require(name.empty() || Layout::is_name(name), "a folder has a name that leads nowhere else");
    if (!made.write) continue;
    const auto noted = update::parse_record(update::to_text(*made.write));
    require(noted && *noted == *made.write, "what the launcher notes is read as it was written");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto record = update::parse_record(fuzz::text_of(data, size));
  if (!record) {
    require(!record.error().message().empty(), "a refusal says why");
    return 0;
  }
  const auto again = update::parse_record(update::to_text(*record));
  require(again && *again == *record, "a record is read as it was written");
  for (const std::string& name : {record->from, record->to})
    require(name.empty() || Layout::is_name(name), "a folder has a name that leads nowhere else");
  for (const std::optional<std::string>& current :
       {std::optional<std::string>(), std::optional(record->from), std::optional(record->to)})
    if (!current || !current->empty()) check_decision(*record, current);
  return 0;
}
