#include "states/systemd/bus.hpp"

#include <algorithm>
#include <cstdint>

#include "states/systemd/waiting.hpp"

namespace states::systemd {

namespace {

constexpr const char* kPrivateAddress = "unix:path=/run/systemd/private";
constexpr const char* kSystemd = "org.freedesktop.systemd1";
constexpr std::chrono::milliseconds kLongestSleep{60'000};

// sd-bus functions answer a negative errno.
base::Error bus_error(int answer, std::string_view what) {
  return base::os_error(-answer, what);
}

struct Reply {
  const SdBusLibrary& library;
  Message message;
};

int keep_reply(sd_bus_message* message, void* userdata, sd_bus_error*) {
  auto* const reply = static_cast<Reply*>(userdata);
  reply->message.reset(reply->library.message_ref(message));
  return 0;
}

int hand_to_handler(sd_bus_message* message, void* userdata, sd_bus_error*) {
  (*static_cast<std::function<void(sd_bus_message*)>*>(userdata))(message);
  return 0;
}

}  // namespace

base::Result<std::unique_ptr<Bus>> Bus::connect() {
  auto library = SdBusLibrary::load();
  if (!library) return std::move(library).error();
  std::unique_ptr<Bus> bus(new Bus(*library));
  if (auto opened = bus->open(); !opened) return std::move(opened).error();
  return bus;
}

base::Result<void> Bus::open() {
  if (const int made = library_.bus_new(&bus_); made < 0) return bus_error(made, "sd_bus_new");
  is_direct_ = library_.set_address(bus_, kPrivateAddress) >= 0 && library_.start(bus_) >= 0;
  if (is_direct_) return {};
  bus_ = library_.flush_close_unref(bus_);
  if (const int opened = library_.open_system(&bus_); opened < 0)
    return bus_error(opened, "cannot connect to systemd");
  return {};
}

Bus::~Bus() {
  if (signal_slot_) library_.slot_unref(signal_slot_);
  if (bus_) library_.flush_close_unref(bus_);
}

base::Result<Message> Bus::new_call(const char* path, const char* interface, const char* member,
                                    std::initializer_list<const char*> arguments) {
  sd_bus_message* raw = nullptr;
  int answer = library_.message_new_method_call(bus_, &raw, kSystemd, path, interface, member);
  Message message(raw, library_.message_unref);
  for (const char* argument : arguments)
    if (answer >= 0) answer = library_.message_append_basic(raw, SD_BUS_TYPE_STRING, argument);
  if (answer < 0) return bus_error(answer, std::string("calling ") + member + " of systemd");
  return message;
}

base::Result<Message> Bus::call(Message request, std::string_view what, Context& context) {
  Reply reply{library_, Message(nullptr, library_.message_unref)};
  sd_bus_slot* slot = nullptr;
  // Without a time limit of its own: wait_until() has the state's.
  const int sent = library_.call_async(bus_, &slot, request.get(), keep_reply, &reply, UINT64_MAX);
  if (sent < 0) {
    lost_ = true;
    return bus_error(sent, "talking to systemd");
  }
  auto waited = wait_until([&] { return reply.message != nullptr; }, what, context);
  library_.slot_unref(slot);  // a reply that comes after we gave up is dropped
  if (!waited) return std::move(waited).error();
  if (const sd_bus_error* refusal = library_.message_get_error(reply.message.get())) {
    // The library's own answer to calls that are open when the connection ends.
    lost_ = refusal->name == std::string_view(SD_BUS_ERROR_NO_REPLY);
    return base::Error(base::ErrorCode::io, refusal->message ? refusal->message : refusal->name);
  }
  return std::move(reply.message);
}

base::Result<void> Bus::on_signal(const char* rule, std::function<void(sd_bus_message*)> handler) {
  signal_handler_ = std::move(handler);
  // On the system bus every user may send signals that look like systemd's.
  const std::string whole =
      is_direct_ ? std::string(rule) : std::string(rule) + ",sender='" + std::string(kSystemd) + "'";
  const int added = library_.add_match(bus_, &signal_slot_, whole.c_str(), hand_to_handler, &signal_handler_);
  if (added < 0) return bus_error(added, "listening to systemd");
  return {};
}

base::Result<void> Bus::wait_until(const std::function<bool()>& done, std::string_view what,
                                   Context& context) {
  while (!done()) {
    const int processed = library_.process(bus_, nullptr);
    if (processed > 0) continue;
    std::uint64_t due = UINT64_MAX;  // µs of CLOCK_MONOTONIC, which is steady_clock
    const int fd = library_.get_fd(bus_);
    const int events = library_.get_events(bus_);
    const int timed = library_.get_timeout(bus_, &due);
    if (const int failed = std::min({processed, fd, events, timed}); failed < 0) {
      lost_ = true;
      return bus_error(failed, "lost the connection to systemd");
    }
    auto longest = kLongestSleep;
    if (due != UINT64_MAX) {
      const auto left = Clock::time_point(std::chrono::microseconds(due)) - Clock::now();
      longest = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds(0),
                           kLongestSleep);
    }
    if (auto waited = wait_for(fd, static_cast<short>(events), longest, what, context); !waited)
      return waited;
  }
  return {};
}

}  // namespace states::systemd
