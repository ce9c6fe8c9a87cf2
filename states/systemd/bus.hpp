// Bus: a connection to systemd over D-Bus, for one thread.
//
// As root it is systemd's own socket, which is there even where no D-Bus daemon is; else the system bus.
// Every wait ends with the state's time and with its cancellation.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/systemd/sd_bus_library.hpp"

namespace states::systemd {

using Message = std::unique_ptr<sd_bus_message, decltype(&::sd_bus_message_unref)>;

class Bus {
 public:
  static base::Result<std::unique_ptr<Bus>> connect();
  ~Bus();
  Bus(const Bus&) = delete;
  Bus& operator=(const Bus&) = delete;

  // A call of org.freedesktop.systemd1 with these texts as its arguments.
  base::Result<Message> new_call(const char* path, const char* interface, const char* member,
                                 std::initializer_list<const char*> arguments = {});

  // Sends it and gives back the reply. What the other side refuses is an Error with its text; after a lost
  // connection is_lost() is true.
  base::Result<Message> call(Message request, std::string_view what, Context& context);

  // From now on `handler` gets the signals of this match rule, while a function of this object waits.
  base::Result<void> on_signal(const char* rule, std::function<void(sd_bus_message*)> handler);

  // Reads and handles what comes until `done`.
  base::Result<void> wait_until(const std::function<bool()>& done, std::string_view what, Context& context);

  bool is_lost() const { return lost_; }
  const SdBusLibrary& library() const { return library_; }

 private:
  explicit Bus(const SdBusLibrary& library) : library_(library) {}
  base::Result<void> open();

  SdBusLibrary library_;
  sd_bus* bus_ = nullptr;
  sd_bus_slot* signal_slot_ = nullptr;
  std::function<void(sd_bus_message*)> signal_handler_;
  bool is_direct_ = false;  // to systemd itself, not by way of the system bus
  bool lost_ = false;
};

}  // namespace states::systemd
