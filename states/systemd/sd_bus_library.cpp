#include "states/systemd/sd_bus_library.hpp"

#include <dlfcn.h>

#include <string>

namespace states::systemd {

namespace {

constexpr const char* kFile = "libsystemd.so.0";

base::Error cannot_load() {
  const char* const reason = ::dlerror();
  return base::Error(base::ErrorCode::unsupported,
                     std::string("cannot load ") + kFile + ": " + (reason ? reason : "unknown reason"));
}

}  // namespace

base::Result<SdBusLibrary> SdBusLibrary::load() {
  // RTLD_NODELETE: the functions stay valid after dlclose().
  void* const handle = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) return cannot_load();
  bool complete = true;
  const auto find = [&]<class Function>(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(::dlsym(handle, name));
    complete = complete && function != nullptr;
  };
  SdBusLibrary library{};
  find(library.bus_new, "sd_bus_new");
  find(library.set_address, "sd_bus_set_address");
  find(library.start, "sd_bus_start");
  find(library.open_system, "sd_bus_open_system");
  find(library.flush_close_unref, "sd_bus_flush_close_unref");
  find(library.process, "sd_bus_process");
  find(library.get_fd, "sd_bus_get_fd");
  find(library.get_events, "sd_bus_get_events");
  find(library.get_timeout, "sd_bus_get_timeout");
  find(library.call_async, "sd_bus_call_async");
  find(library.add_match, "sd_bus_add_match");
  find(library.slot_unref, "sd_bus_slot_unref");
  find(library.path_encode, "sd_bus_path_encode");
  find(library.message_new_method_call, "sd_bus_message_new_method_call");
  find(library.message_append_basic, "sd_bus_message_append_basic");
  find(library.message_append_strv, "sd_bus_message_append_strv");
  find(library.message_append_array, "sd_bus_message_append_array");
  find(library.message_open_container, "sd_bus_message_open_container");
  find(library.message_close_container, "sd_bus_message_close_container");
  find(library.message_get_error, "sd_bus_message_get_error");
  find(library.message_read_basic, "sd_bus_message_read_basic");
  find(library.message_enter_container, "sd_bus_message_enter_container");
  find(library.message_exit_container, "sd_bus_message_exit_container");
  find(library.message_skip, "sd_bus_message_skip");
  find(library.message_ref, "sd_bus_message_ref");
  find(library.message_unref, "sd_bus_message_unref");
  if (!complete) {
    base::Error error = cannot_load();
    ::dlclose(handle);
    return error;
  }
  ::dlclose(handle);
  return library;
}

}  // namespace states::systemd
