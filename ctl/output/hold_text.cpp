#include "ctl/output/hold_text.hpp"

#include "ctl/fields.hpp"

namespace ctl {

namespace {

std::string ending(const base::Value& hold, Instant now) {
  const std::string until = until_text(field(hold, "until"), now);
  const std::string reason = text_field(hold, "reason");
  return (until.empty() ? "" : ", ends " + until) + (reason.empty() ? "" : ": " + reason);
}

}  // namespace

std::string hold_text(const base::Value& instance, Instant now) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  const base::Value& pause = field(instance, "pause");
  bool is_taken = false;
  for (const base::Value& hold : items_field(instance, "holds"))
    is_taken = is_taken || text_field(hold, "origin") == "backend";
  if (pause.is_object()) {
    const bool online = flag_field(instance, "online");
    add("paused by " + text_field(pause, "by") + ending(pause, now) +
        (is_taken ? ""
         : online ? " (the machine has not taken it)"
                  : " (when it comes)"));
  } else if (is_taken && !flag_field(instance, "online")) {
    add("paused as far as it knows: it is resumed when it comes");
  }
  for (const base::Value& hold : items_field(instance, "holds"))
    if (text_field(hold, "origin") == "machine")
      add("held by " + text_field(hold, "by") + " at the machine" + ending(hold, now));
  return text;
}

}  // namespace ctl
