// The text of mdadm.conf, and one array in it. Text only; nothing is read or written here.
//
// What is not that array's entry is kept byte for byte: comments, other arrays, lines that go on in the next.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace states::linux_raid {

// An array by its device or its UUID; either is enough.
struct ArrayName {
  std::string device;
  std::string uuid;  // in any of the ways that it is written: only its digits count; "" for none
  // Whether another path is the same device; may be empty.
  std::function<bool(const std::string& path)> is_device{};
};

bool has_array(std::string_view conf, const ArrayName& array);

// The whole file with this entry in the place of the array's first one, at the end if it has none. Others of
// the same array go.
std::string put_array(std::string_view conf, const ArrayName& array, std::string_view line);

// The line that `mdadm --detail --brief` prints, with the device under the name that the recipe has for it;
// "" when there is none.
std::string array_line(std::string_view printed, std::string_view device);

}  // namespace states::linux_raid
