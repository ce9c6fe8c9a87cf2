// Writing what systemd is sent, value by value: the counterpart of MessageReader.
//
// The first thing that does not work makes all that follows a no-op: the caller asks result() once, at the
// end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/systemd/sd_bus_library.hpp"

namespace states::systemd {

class MessageWriter {
 public:
  MessageWriter(const SdBusLibrary& library, sd_bus_message* message)
      : library_(library), message_(message) {}

  base::Result<void> result(std::string_view member) const {
    if (answer_ < 0) return base::os_error(-answer_, "calling " + std::string(member) + " of systemd");
    return {};
  }

  void open(char type, const char* contents) {
    if (answer_ >= 0) answer_ = library_.message_open_container(message_, type, contents);
  }
  void close() {
    if (answer_ >= 0) answer_ = library_.message_close_container(message_);
  }

  void text(const std::string& value) { basic(SD_BUS_TYPE_STRING, value.c_str()); }
  void flag(bool value) {
    const int number = value ? 1 : 0;
    basic(SD_BUS_TYPE_BOOLEAN, &number);
  }
  void list_of_one(std::string value) {
    char* list[] = {value.data(), nullptr};
    if (answer_ >= 0) answer_ = library_.message_append_strv(message_, list);
  }
  void numbers(const std::vector<std::uint32_t>& values) {
    if (answer_ >= 0)
      answer_ = library_.message_append_array(message_, SD_BUS_TYPE_UINT32, values.data(),
                                              values.size() * sizeof(std::uint32_t));
  }

  // A row of a list of properties.
  void text_property(const char* name, const std::string& value) {
    in_property(name, "s", [&] { text(value); });
  }
  void numbers_property(const char* name, const std::vector<std::uint32_t>& values) {
    in_property(name, "au", [&] { numbers(values); });
  }

 private:
  template <class Write>
  void in_property(const char* name, const char* contents, Write write) {
    open(SD_BUS_TYPE_STRUCT, "sv");
    basic(SD_BUS_TYPE_STRING, name);
    open(SD_BUS_TYPE_VARIANT, contents);
    write();
    close();
    close();
  }
  void basic(char type, const void* value) {
    if (answer_ >= 0) answer_ = library_.message_append_basic(message_, type, value);
  }

  const SdBusLibrary& library_;
  sd_bus_message* message_;
  int answer_ = 0;
};

}  // namespace states::systemd
