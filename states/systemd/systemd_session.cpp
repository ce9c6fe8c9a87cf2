#include "states/systemd/systemd_session.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "states/systemd/message_reader.hpp"
#include "states/systemd/message_writer.hpp"

namespace states::systemd {

namespace {

constexpr const char* kManagerPath = "/org/freedesktop/systemd1";
constexpr const char* kManager = "org.freedesktop.systemd1.Manager";
constexpr const char* kUnit = "org.freedesktop.systemd1.Unit";
constexpr const char* kProperties = "org.freedesktop.DBus.Properties";
constexpr const char* kJobRemoved =
    "type='signal',path='/org/freedesktop/systemd1',interface='org.freedesktop.systemd1.Manager',"
    "member='JobRemoved'";

std::string unit_path(const SdBusLibrary& library, const std::string& unit) {
  char* path = nullptr;
  if (library.path_encode("/org/freedesktop/systemd1/unit", unit.c_str(), &path) < 0) return {};
  std::string copy(path);
  std::free(path);
  return copy;
}

// "cron.service" has its own properties in "org.freedesktop.systemd1.Service".
std::string kind_interface(std::string_view unit) {
  std::string kind(unit.substr(unit.rfind('.') + 1));
  if (!kind.empty()) kind[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(kind[0])));
  return "org.freedesktop.systemd1." + kind;
}

base::Error not_understood() {
  return {base::ErrorCode::io, "systemd's answer was not understood"};
}

base::Result<UnitProperties> read_properties(MessageReader reader) {
  UnitProperties found;
  reader.enter(SD_BUS_TYPE_ARRAY, "{sv}");
  while (reader.enter(SD_BUS_TYPE_DICT_ENTRY, "sv")) {
    const std::string name = reader.text();
    if (name == "Id") {
      found.id = reader.text_variant();
    } else if (name == "LoadState") {
      found.load_state = reader.text_variant();
    } else if (name == "LoadError") {
      found.load_error = reader.error_variant();
    } else if (name == "ActiveState") {
      found.active_state = reader.text_variant();
    } else if (name == "SubState") {
      found.sub_state = reader.text_variant();
    } else if (name == "CanReload") {
      found.can_reload = reader.flag_variant();
    } else if (name == "NeedDaemonReload") {
      found.need_daemon_reload = reader.flag_variant();
    } else if (name == "ActiveEnterTimestampMonotonic") {
      found.active_enter = reader.number_variant();
    } else {
      reader.skip("v");
    }
    reader.leave();
  }
  if (!reader.ok() || found.load_state.empty() || found.active_state.empty()) return not_understood();
  return found;
}

}  // namespace

base::Result<Bus*> SystemdSession::bus() {
  if (!bus_ || bus_->is_lost()) {
    listening_ = false;
    bus_.reset();
    auto connected = Bus::connect();
    if (!connected) return std::move(connected).error();
    bus_ = *std::move(connected);
  }
  return bus_.get();
}

base::Result<UnitProperties> SystemdSession::properties(const std::string& unit, Context& context) {
  // Twice, because a connection of earlier in the round may have been closed by systemd's own restart.
  for (int attempt = 0;; ++attempt) {
    auto connected = bus();
    if (!connected) return std::move(connected).error();
    Bus& bus = **connected;
    auto request = bus.new_call(unit_path(bus.library(), unit).c_str(), kProperties, "GetAll", {kUnit});
    if (!request) return std::move(request).error();
    auto reply = bus.call(*std::move(request), "systemd", context);
    if (reply) return read_properties(MessageReader(bus.library(), reply->get()));
    if (!bus.is_lost() || attempt > 0) return std::move(reply).error();
  }
}

base::Result<Message> SystemdSession::get(const std::string& unit, const char* property, Context& context) {
  auto connected = bus();
  if (!connected) return std::move(connected).error();
  Bus& bus = **connected;
  auto request = bus.new_call(unit_path(bus.library(), unit).c_str(), kProperties, "Get",
                              {kind_interface(unit).c_str(), property});
  if (!request) return request;
  return bus.call(*std::move(request), "systemd", context);
}

std::string SystemdSession::result(const std::string& unit, Context& context) {
  auto reply = get(unit, "Result", context);
  return reply ? MessageReader(bus_->library(), reply->get()).text_variant() : std::string();
}

bool SystemdSession::ends_when_done(const std::string& unit, Context& context) {
  auto type = get(unit, "Type", context);
  if (!type || MessageReader(bus_->library(), type->get()).text_variant() != "oneshot") return false;
  auto remains = get(unit, "RemainAfterExit", context);
  return remains && !MessageReader(bus_->library(), remains->get()).flag_variant();
}

void SystemdSession::note_ended_job(sd_bus_message* signal) {
  MessageReader reader(bus_->library(), signal);
  reader.skip("u");
  Job job{.path = reader.text(SD_BUS_TYPE_OBJECT_PATH)};
  reader.skip("s");
  job.result = reader.text();
  if (reader.ok()) ended_jobs_.push_back(std::move(job));
}

base::Result<void> SystemdSession::listen_to_jobs(Bus& bus, Context& context) {
  if (listening_) return {};
  if (auto added = bus.on_signal(kJobRemoved, [this](sd_bus_message* signal) { note_ended_job(signal); });
      !added)
    return added;
  auto request = bus.new_call(kManagerPath, kManager, "Subscribe");
  if (!request) return std::move(request).error();
  auto reply = bus.call(*std::move(request), "systemd", context);
  // A direct connection gets all signals as it is; systemd may say so as a refusal.
  if (!reply && reply.error().code() != base::ErrorCode::io) return std::move(reply).error();
  listening_ = true;
  return {};
}

base::Result<std::string> SystemdSession::run_job(const char* method, const std::string& unit,
                                                  Context& context) {
  auto connected = bus();
  if (!connected) return std::move(connected).error();
  Bus& bus = **connected;
  if (auto listening = listen_to_jobs(bus, context); !listening) return std::move(listening).error();
  auto request = bus.new_call(kManagerPath, kManager, method, {unit.c_str(), "replace"});
  if (!request) return std::move(request).error();
  return queue_and_wait(bus, *std::move(request), unit, context);
}

// The answer to the request is a job.
base::Result<std::string> SystemdSession::queue_and_wait(Bus& bus, Message request, const std::string& unit,
                                                         Context& context) {
  ended_jobs_.clear();
  auto reply = bus.call(std::move(request), unit, context);
  if (!reply) return std::move(reply).error();
  const std::string job = MessageReader(bus.library(), reply->get()).text(SD_BUS_TYPE_OBJECT_PATH);
  if (job.empty()) return not_understood();

  std::string result;
  const auto has_ended = [&] {
    const auto ended = std::ranges::find(ended_jobs_, job, &Job::path);
    if (ended == ended_jobs_.end()) return false;
    result = ended->result;
    return true;
  };
  if (auto waited = bus.wait_until(has_ended, unit, context); !waited) return std::move(waited).error();
  return result;
}

base::Result<std::string> SystemdSession::unit_file_state(const std::string& unit, Context& context) {
  auto connected = bus();
  if (!connected) return std::move(connected).error();
  Bus& bus = **connected;
  auto request = bus.new_call(kManagerPath, kManager, "GetUnitFileState", {unit.c_str()});
  if (!request) return std::move(request).error();
  auto reply = bus.call(*std::move(request), "systemd", context);
  if (!reply) return std::move(reply).error();
  return MessageReader(bus.library(), reply->get()).text();
}

base::Result<std::vector<std::string>> SystemdSession::links_of(const std::string& unit, bool runtime,
                                                                Context& context) {
  auto connected = bus();
  if (!connected) return std::move(connected).error();
  Bus& bus = **connected;
  auto request = bus.new_call(kManagerPath, kManager, "GetUnitFileLinks", {unit.c_str()});
  if (!request) return std::move(request).error();
  MessageWriter writer(bus.library(), request->get());
  writer.flag(runtime);
  if (auto written = writer.result("GetUnitFileLinks"); !written) return std::move(written).error();
  auto reply = bus.call(*std::move(request), "systemd", context);
  if (!reply) return std::move(reply).error();
  MessageReader reader(bus.library(), reply->get());
  std::vector<std::string> links = reader.texts();
  if (!reader.ok()) return not_understood();
  return links;
}

base::Result<bool> SystemdSession::change_unit_file(const char* method, const std::string& unit, bool runtime,
                                                    Context& context) {
  auto connected = bus();
  if (!connected) return std::move(connected).error();
  Bus& bus = **connected;
  auto request = bus.new_call(kManagerPath, kManager, method);
  if (!request) return std::move(request).error();
  const bool takes_force =
      method == std::string_view("EnableUnitFiles") || method == std::string_view("MaskUnitFiles");
  MessageWriter writer(bus.library(), request->get());
  writer.list_of_one(unit);
  writer.flag(runtime);
  if (takes_force) writer.flag(false);
  if (auto written = writer.result(method); !written) return std::move(written).error();
  auto reply = bus.call(*std::move(request), unit, context);
  if (!reply) return std::move(reply).error();
  if (method != std::string_view("EnableUnitFiles")) return true;
  return MessageReader(bus.library(), reply->get()).flag();
}

base::Result<void> SystemdSession::start_scope(const std::string& scope, const std::string& description,
                                               std::span<const pid_t> processes, Context& context) {
  auto connected = bus();
  if (!connected) return std::move(connected).error();
  Bus& bus = **connected;
  if (auto listening = listen_to_jobs(bus, context); !listening) return listening;
  auto request = bus.new_call(kManagerPath, kManager, "StartTransientUnit", {scope.c_str(), "fail"});
  if (!request) return std::move(request).error();
  const std::vector<std::uint32_t> pids(processes.begin(), processes.end());
  MessageWriter writer(bus.library(), request->get());
  writer.open(SD_BUS_TYPE_ARRAY, "(sv)");
  writer.text_property("Description", description);
  writer.text_property("CollectMode", "inactive-or-failed");
  writer.numbers_property("PIDs", pids);
  writer.close();
  writer.open(SD_BUS_TYPE_ARRAY, "(sa(sv))");  // units that come with it: none
  writer.close();
  if (auto written = writer.result("StartTransientUnit"); !written) return written;
  auto ended = queue_and_wait(bus, *std::move(request), scope, context);
  if (!ended) return std::move(ended).error();
  if (*ended != "done") return base::Error(base::ErrorCode::io, scope + ": job " + *ended);
  return {};
}

base::Result<void> SystemdSession::attach(const std::string& scope, std::span<const pid_t> processes,
                                          Context& context) {
  auto connected = bus();
  if (!connected) return std::move(connected).error();
  Bus& bus = **connected;
  auto request = bus.new_call(kManagerPath, kManager, "AttachProcessesToUnit", {scope.c_str(), ""});
  if (!request) return std::move(request).error();
  MessageWriter writer(bus.library(), request->get());
  writer.numbers({processes.begin(), processes.end()});
  if (auto written = writer.result("AttachProcessesToUnit"); !written) return written;
  auto reply = bus.call(*std::move(request), scope, context);
  if (!reply) return std::move(reply).error();
  return {};
}

base::Result<void> SystemdSession::reload_definitions(Context& context) {
  auto connected = bus();
  if (!connected) return std::move(connected).error();
  auto request = (*connected)->new_call(kManagerPath, kManager, "Reload");
  if (!request) return std::move(request).error();
  auto reply = (*connected)->call(*std::move(request), "systemd's daemon-reload", context);
  if (!reply) return std::move(reply).error().with_context("daemon-reload");
  return {};
}

}  // namespace states::systemd
