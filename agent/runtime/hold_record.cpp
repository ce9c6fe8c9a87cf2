#include "agent/runtime/hold_record.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/utc_text.hpp"
#include "base/values/json_text.hpp"
#include "protocol/ids.hpp"

namespace agent::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

milliseconds millis_of(std::chrono::system_clock::time_point at) {
  return std::chrono::duration_cast<milliseconds>(at.time_since_epoch());
}

std::optional<std::int64_t> number_at(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value ? value->as_integer() : std::nullopt;
}

std::optional<std::string> text_at(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  if (!value || !value->is_text() || !protocol::problem_of_id(value->text()).empty()) return std::nullopt;
  return std::string(value->text());
}

std::optional<Hold> read_hold(const Value& object, HoldOrigin origin) {
  auto by = text_at(object, "by");
  auto reason = text_at(object, "reason");
  const auto since = number_at(object, "since_ms");
  const auto left = number_at(object, "left_ms");
  constexpr std::int64_t kLongest = protocol::kLongestHold * 1000;
  if (!by || !reason || !since || !left || *left < 0 || *left > kLongest) return std::nullopt;
  return Hold{.origin = origin,
              .by = std::move(*by),
              .reason = std::move(*reason),
              .since = std::chrono::system_clock::time_point(milliseconds(*since)),
              .left = milliseconds(*left)};
}

constexpr std::pair<HoldOrigin, const char*> kOrigins[] = {{HoldOrigin::machine, "machine"},
                                                           {HoldOrigin::backend, "backend"}};

}  // namespace

HoldClock read_hold_clock() {
  constexpr std::size_t kLargest = 4096;
  HoldClock clock{.wall = std::chrono::system_clock::now()};
  if (const auto boot = base::read_file("/proc/sys/kernel/random/boot_id", kLargest))
    clock.boot_id = base::trim(*boot);
  timespec since{};
  ::clock_gettime(CLOCK_BOOTTIME, &since);
  clock.since_boot = std::chrono::duration_cast<milliseconds>(seconds(since.tv_sec) +
                                                              std::chrono::nanoseconds(since.tv_nsec));
  return clock;
}

std::string hold_path(const std::string& state_dir) {
  return state_dir + "/hold";
}

std::string to_record(const std::vector<Hold>& holds, const HoldClock& now) {
  base::JsonText json;
  json.begin_object().member("boot_id", now.boot_id).member("since_boot_ms", now.since_boot.count());
  json.member("wall_ms", millis_of(now.wall).count());
  for (const Hold& hold : holds)
    for (const auto& [origin, key] : kOrigins)
      if (hold.origin == origin)
        json.key(key)
            .begin_object()
            .member("by", hold.by)
            .member("reason", hold.reason)
            .member("since_ms", millis_of(hold.since).count())
            .member("left_ms", hold.left.count())
            .end_object();
  return json.end_object().take() + "\n";
}

Result<std::vector<Hold>> from_record(std::string_view text, const HoldClock& now) {
  const Error damaged(ErrorCode::invalid, "the record of holds is damaged");
  base::Arena arena;
  const auto parsed = base::parse_json(text, arena);
  const auto* root = std::get_if<Value>(&parsed);
  if (!root || !root->is_object()) return damaged;
  const auto boot_id = text_at(*root, "boot_id");
  const auto since_boot = number_at(*root, "since_boot_ms");
  const auto wall = number_at(*root, "wall_ms");
  if (!boot_id || !since_boot || !wall) return damaged;
  const bool is_same_boot =
      !boot_id->empty() && *boot_id == now.boot_id && milliseconds(*since_boot) <= now.since_boot;
  const milliseconds passed = is_same_boot
                                  ? now.since_boot - milliseconds(*since_boot)
                                  : std::max(millis_of(now.wall) - milliseconds(*wall), milliseconds(0));
  std::vector<Hold> holds;
  for (const auto& [origin, key] : kOrigins) {
    const Value* object = root->find(key);
    if (!object) continue;
    auto hold = object->is_object() ? read_hold(*object, origin) : std::nullopt;
    if (!hold) return damaged;
    if (hold->left <= passed) continue;
    hold->left -= passed;
    holds.push_back(std::move(*hold));
  }
  return holds;
}

Hold hold_of_damage(const HoldClock& now, const std::string& why) {
  return {.origin = HoldOrigin::machine,
          .by = "opsagent",
          .reason = why.substr(0, 200) + "; nobody knows whether the machine was held",
          .since = now.wall,
          .left = seconds(protocol::kDefaultHold)};
}

std::vector<Hold> read_holds(const std::string& state_dir, const HoldClock& now) {
  std::error_code error;
  if (!std::filesystem::is_directory(state_dir, error)) return {};  // no daemon can have kept one there
  auto text = base::read_file(hold_path(state_dir), kLargestHoldRecord);
  if (!text && text.error().code() == ErrorCode::not_found) return {};
  if (!text) return {hold_of_damage(now, "the record of holds cannot be read")};
  auto holds = from_record(*text, now);
  if (!holds) return {hold_of_damage(now, holds.error().message())};
  return std::move(*holds);
}

std::string hold_text(const Hold& hold, const HoldClock& now) {
  const bool is_local = hold.origin == HoldOrigin::machine;
  std::string text = (is_local ? "held by " : "paused by ") + (hold.by.empty() ? "somebody" : hold.by);
  if (!is_local) text += " through the backend";
  text += " until " + base::utc_text(now.wall + hold.left);
  if (!hold.reason.empty()) text += ": " + hold.reason;
  return text;
}

std::string refusal_text(const std::vector<Hold>& holds, const HoldClock& now) {
  std::string text;
  for (const Hold& hold : holds) {
    if (!text.empty()) text += "; and ";
    text += hold_text(hold, now) + (hold.origin == HoldOrigin::machine
                                        ? " ('opsagent hold --end' on the machine ends it)"
                                        : " ('opsctl agent resume' ends it)");
  }
  return text.empty() ? text : "this machine is " + text;
}

std::vector<protocol::MachineHold> to_protocol(const std::vector<Hold>& holds, const HoldClock& now) {
  std::vector<protocol::MachineHold> told;
  for (const Hold& hold : holds)
    told.push_back({.is_local = hold.origin == HoldOrigin::machine,
                    .by = hold.by,
                    .reason = hold.reason,
                    .since = base::utc_text(hold.since),
                    .until = base::utc_text(now.wall + hold.left)});
  return told;
}

}  // namespace agent::runtime
