// Live events of the backend, for people and for programs.
#pragma once

#include <string>
#include <string_view>

#include "base/values/value.hpp"
#include "terminal/console.hpp"

namespace ctl {

// A line (or several, for output), each with its newline: "12:00:01 shop/web1  result   changed  motd: …".
// `clock` stands in front. Events that this version does not know are shown as they are.
std::string event_text(std::string_view type, const base::Value& data, std::string_view clock,
                       const terminal::Paint& paint);

// {"id":…,"event":…,"data":…} and a newline.
std::string event_line(std::string_view id, std::string_view type, const base::Value& data);

}  // namespace ctl
