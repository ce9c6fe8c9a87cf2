// Reading what systemd sends, value by value.
//
// The first thing that is not as expected makes all that follows a no-op: the caller asks ok() once, at the
// end.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "states/systemd/sd_bus_library.hpp"

namespace states::systemd {

class MessageReader {
 public:
  MessageReader(const SdBusLibrary& library, sd_bus_message* message)
      : library_(library), message_(message) {}

  bool ok() const { return ok_; }
  // False at the end of the list.
  bool enter(char type, const char* contents) {
    if (!ok_) return false;
    const int entered = library_.message_enter_container(message_, type, contents);
    ok_ = entered >= 0;
    return entered > 0;
  }
  void leave() {
    if (ok_) ok_ = library_.message_exit_container(message_) >= 0;
  }
  void skip(const char* types) {
    if (ok_) ok_ = library_.message_skip(message_, types) >= 0;
  }

  std::string text(char type = SD_BUS_TYPE_STRING) {
    const char* value = nullptr;
    return basic(type, &value) && value ? value : std::string();
  }
  bool flag() {
    int value = 0;
    return basic(SD_BUS_TYPE_BOOLEAN, &value) && value != 0;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> all;
    if (!enter(SD_BUS_TYPE_ARRAY, "s")) return all;
    const char* value = nullptr;
    while (ok_ && library_.message_read_basic(message_, SD_BUS_TYPE_STRING, &value) > 0)
      all.emplace_back(value);
    leave();
    return all;
  }
  std::string text_variant() {
    return in_variant("s", [&] { return text(); });
  }
  bool flag_variant() {
    return in_variant("b", [&] { return flag(); });
  }
  std::uint64_t number_variant() {
    return in_variant("t", [&] {
      std::uint64_t value = 0;
      return basic(SD_BUS_TYPE_UINT64, &value) ? value : 0;
    });
  }
  // The text of an error that systemd gives as (name, text).
  std::string error_variant() {
    return in_variant("(ss)", [&] {
      enter(SD_BUS_TYPE_STRUCT, "ss");
      (void)text();
      std::string message = text();
      leave();
      return message;
    });
  }

 private:
  template <class Read>
  std::invoke_result_t<Read> in_variant(const char* contents, Read read) {
    enter(SD_BUS_TYPE_VARIANT, contents);
    auto value = read();
    leave();
    return value;
  }
  bool basic(char type, void* value) {
    if (ok_) ok_ = library_.message_read_basic(message_, type, value) > 0;
    return ok_;
  }

  const SdBusLibrary& library_;
  sd_bus_message* message_;
  bool ok_ = true;
};

}  // namespace states::systemd
