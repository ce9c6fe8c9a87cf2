#include "agent/runtime/wait_store.hpp"

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/values/json.hpp"

namespace agent::runtime {

namespace {

constexpr std::size_t kLargestWaitsFile = 4 * 1024 * 1024;

}  // namespace

void WaitStore::load() {
  const auto text = base::read_file(path_, kLargestWaitsFile);
  if (!text) return;
  base::Arena arena;
  const auto parsed = base::parse_json(*text, arena);
  const auto* list = std::get_if<base::Value>(&parsed);
  if (!list) return;
  for (const base::Value& row : list->items()) {
    const base::Value* version = row.find("version");
    const base::Value* id = row.find("id");
    if (version && id) waits_.mark_done(version->as_integer().value_or(0), std::string(id->text()));
  }
}

base::Result<void> WaitStore::mark_done(std::int64_t version, const std::string& state_id) {
  if (!waits_.mark_done(version, state_id)) return {};
  return write();
}

base::Result<void> WaitStore::forget_all_but(std::int64_t version) {
  if (!waits_.forget_all_but(version)) return {};
  return write();
}

base::Result<void> WaitStore::forget(std::int64_t version) {
  if (!waits_.forget(version)) return {};
  return write();
}

base::Result<void> WaitStore::forget_all() {
  if (!waits_.forget_all()) return {};
  return write();
}

base::Result<void> WaitStore::write() const {
  std::string json = "[";
  for (const auto& [version, ids] : waits_.all())
    for (const std::string& id : ids)
      json += std::string(json.size() > 1 ? "," : "") + "{\"version\":" + std::to_string(version) +
              ",\"id\":" + base::json_quote(id) + "}";
  return base::write_durable_file(path_, json + "]\n");
}

}  // namespace agent::runtime
