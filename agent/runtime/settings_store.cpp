#include "agent/runtime/settings_store.hpp"

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/values/json_text.hpp"

namespace agent::runtime {

namespace {

using base::Result;
using base::Value;

constexpr std::size_t kLargest = 256 * 1024;

void write_settings(base::JsonText& json, std::string_view name, const RemoteSettings& settings) {
  json.key(name).begin_object().key("ws_uris").begin_list();
  for (const std::string& uri : settings.ws_uris)
    json.value(uri);
  json.end_list();
  if (settings.heartbeat) json.member("heartbeat_s", settings.heartbeat->count());
  if (settings.round_delay) json.member("round_delay_s", settings.round_delay->count());
  json.end_object();
}

RemoteSettings read_settings(const Value& object) {
  RemoteSettings settings;
  if (const Value* uris = object.find("ws_uris"))
    for (const Value& uri : uris->items())
      settings.ws_uris.emplace_back(uri.text());
  const auto seconds = [&](std::string_view key) -> std::optional<std::chrono::seconds> {
    const Value* value = object.find(key);
    const auto number = value ? value->as_integer() : std::nullopt;
    constexpr std::int64_t kLongest = 30LL * 24 * 3600;  // what the manager takes from a backend
    if (!number || *number < 1 || *number > kLongest) return std::nullopt;
    return std::chrono::seconds(*number);
  };
  settings.heartbeat = seconds("heartbeat_s");
  settings.round_delay = seconds("round_delay_s");
  return settings;
}

}  // namespace

Result<bool> SettingsStore::load() {
  auto text = base::read_file(path_, kLargest);
  if (!text) {
    if (text.error().code() == base::ErrorCode::not_found) return false;
    return std::move(text).error();
  }
  base::Arena arena;
  const auto parsed = base::parse_json(*text, arena);
  const auto* root = std::get_if<Value>(&parsed);
  if (!root || !root->is_object())
    return base::Error(base::ErrorCode::invalid, path_ + " is damaged; the local configuration is used");
  if (const Value* confirmed = root->find("confirmed")) confirmed_ = read_settings(*confirmed);
  if (!root->find("candidate")) return false;
  if (auto written = write(); !written) return std::move(written).error();
  return true;
}

Result<std::vector<SettingsStore::Dropped>> SettingsStore::drop_uris(const Refuse& refuse) {
  std::vector<Dropped> dropped;
  const auto clean = [&](RemoteSettings& settings) {
    std::erase_if(settings.ws_uris, [&](const std::string& uri) {
      auto why = refuse(uri);
      if (why) dropped.push_back({uri, std::move(*why)});
      return why.has_value();
    });
  };
  clean(confirmed_);
  if (candidate_) clean(*candidate_);
  if (dropped.empty()) return dropped;
  if (auto written = write(); !written) return std::move(written).error();
  return dropped;
}

Result<void> SettingsStore::propose(RemoteSettings candidate) {
  if (candidate.ws_uris.empty()) candidate.ws_uris = confirmed_.ws_uris;
  if (!candidate.heartbeat) candidate.heartbeat = confirmed_.heartbeat;
  if (!candidate.round_delay) candidate.round_delay = confirmed_.round_delay;
  candidate_ = std::move(candidate);
  auto written = write();
  if (!written) candidate_.reset();
  return written;
}

Result<void> SettingsStore::confirm() {
  if (!candidate_) return {};
  confirmed_ = std::move(*candidate_);
  candidate_.reset();
  return write();
}

Result<void> SettingsStore::revert() {
  if (!candidate_) return {};
  candidate_.reset();
  return write();
}

Result<void> SettingsStore::write() const {
  base::JsonText json;
  json.begin_object();
  write_settings(json, "confirmed", confirmed_);
  if (candidate_) write_settings(json, "candidate", *candidate_);
  return base::write_durable_file(path_, json.end_object().take() + "\n");
}

}  // namespace agent::runtime
