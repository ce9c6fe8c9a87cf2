#include "agent/engine/satisfied_waits.hpp"

#include "base/file_read.hpp"
#include "base/json.hpp"
#include "base/tree_writer.hpp"

namespace agent::engine {

namespace {

constexpr std::size_t kLargest = 4 * 1024 * 1024;

}  // namespace

SatisfiedWaits::SatisfiedWaits(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  const auto text = base::read_file(path_, kLargest);
  if (!text) return;
  base::Arena arena;
  const auto parsed = base::parse_json(*text, arena);
  const auto* list = std::get_if<base::Value>(&parsed);
  if (!list) return;
  for (const base::Value& row : list->items()) {
    const base::Value* version = row.find("version");
    const base::Value* id = row.find("id");
    if (version && id) done_[version->as_integer().value_or(0)].emplace(id->text());
  }
}

base::Result<void> SatisfiedWaits::mark_done(std::int64_t version, const std::string& state_id) {
  if (!done_[version].insert(state_id).second) return {};
  return store();
}

bool SatisfiedWaits::is_done(std::int64_t version, std::string_view state_id) const {
  const auto found = done_.find(version);
  return found != done_.end() && found->second.contains(state_id);
}

base::Result<void> SatisfiedWaits::forget_before(std::int64_t version) {
  const auto first_kept = done_.lower_bound(version);
  if (first_kept == done_.begin()) return {};
  done_.erase(done_.begin(), first_kept);
  return store();
}

base::Result<void> SatisfiedWaits::store() const {
  if (path_.empty()) return {};
  std::string json = "[";
  for (const auto& [version, ids] : done_)
    for (const std::string& id : ids)
      json += std::string(json.size() > 1 ? "," : "") + "{\"version\":" + std::to_string(version) +
              ",\"id\":" + base::json_quote(id) + "}";
  auto clean = base::clean_path(path_);
  if (!clean) return std::move(clean).error();
  base::Tree tree;
  base::SyncGroup sync;
  if (auto written = base::TreeWriter(tree, sync).write_file(*clean, json + "]\n", {.mode = 0600}); !written)
    return written;
  return sync.flush();
}

}  // namespace agent::engine
