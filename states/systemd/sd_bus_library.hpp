// The functions of libsystemd that we use, loaded when a service is first looked at.
//
// Linked the usual way, libsystemd and the five libraries behind it cost every start of the agent about 1 ms
// of processor time and 65 page faults (a third of a small program's start), also for recipes without a
// service and on machines without systemd. Where systemd runs, its library is there.
#pragma once

#include <systemd/sd-bus.h>

#include "base/result.hpp"

namespace states::systemd {

struct SdBusLibrary {
  decltype(&::sd_bus_new) bus_new;
  decltype(&::sd_bus_set_address) set_address;
  decltype(&::sd_bus_start) start;
  decltype(&::sd_bus_open_system) open_system;
  decltype(&::sd_bus_flush_close_unref) flush_close_unref;
  decltype(&::sd_bus_process) process;
  decltype(&::sd_bus_get_fd) get_fd;
  decltype(&::sd_bus_get_events) get_events;
  decltype(&::sd_bus_get_timeout) get_timeout;
  decltype(&::sd_bus_call_async) call_async;
  decltype(&::sd_bus_add_match) add_match;
  decltype(&::sd_bus_slot_unref) slot_unref;
  decltype(&::sd_bus_path_encode) path_encode;
  decltype(&::sd_bus_message_new_method_call) message_new_method_call;
  decltype(&::sd_bus_message_append_basic) message_append_basic;
  decltype(&::sd_bus_message_append_strv) message_append_strv;
  decltype(&::sd_bus_message_append_array) message_append_array;
  decltype(&::sd_bus_message_open_container) message_open_container;
  decltype(&::sd_bus_message_close_container) message_close_container;
  decltype(&::sd_bus_message_get_error) message_get_error;
  decltype(&::sd_bus_message_read_basic) message_read_basic;
  decltype(&::sd_bus_message_enter_container) message_enter_container;
  decltype(&::sd_bus_message_exit_container) message_exit_container;
  decltype(&::sd_bus_message_skip) message_skip;
  decltype(&::sd_bus_message_ref) message_ref;
  decltype(&::sd_bus_message_unref) message_unref;

  // Loads the library, which then stays for as long as the process lives. Cheap when it is there already.
  static base::Result<SdBusLibrary> load();
};

}  // namespace states::systemd
