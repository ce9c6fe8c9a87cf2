// Server-sent events: text/event-stream of the HTML standard, 9.2.
#include <utility>

#include "base/text.hpp"
#include "transport/http.hpp"

namespace transport {
namespace {

std::string one_line(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (c != '\n' && c != '\r' && c != '\0') result += c;
  return result;
}

}  // namespace

std::string format_event(std::string_view id, std::string_view event, std::string_view data) {
  std::string text;
  if (!id.empty()) text += "id: " + one_line(id) + "\n";
  if (!event.empty() && event != "message") text += "event: " + one_line(event) + "\n";
  // CR and CRLF end a line for the reader too, so they become the LF that they mean.
  std::string_view rest = data;
  while (true) {
    const std::size_t end = rest.find_first_of("\r\n");
    text.append("data: ").append(rest.substr(0, end)).append("\n");
    if (end == std::string_view::npos) break;
    rest.remove_prefix(rest.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
  return text += "\n";
}

EventParser::Outcome EventParser::feed(std::string_view bytes,
                                       const std::function<bool(const ServerEvent&)>& sink) {
  for (const char c : bytes) {
    const bool second_of_crlf = c == '\n' && after_return_;
    after_return_ = c == '\r';
    if (second_of_crlf) continue;
    if (c != '\n' && c != '\r') {
      line_ += c;
      if (line_.size() + event_.data.size() > max_event_) return Outcome::too_large;
      continue;
    }
    const std::string line = std::exchange(line_, {});
    if (!line.empty()) {
      take_line(line);
    } else if (!dispatch(sink)) {
      return Outcome::stopped;
    }
  }
  return Outcome::more;
}

void EventParser::take_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "data") {
    event_.data.append(has_data_ ? "\n" : "").append(value);
    has_data_ = true;
  } else if (name == "event") {
    event_.event = value;
  } else if (name == "id" && value.find('\0') == std::string_view::npos) {
    last_id_ = value;
  }
}

bool EventParser::dispatch(const std::function<bool(const ServerEvent&)>& sink) {
  ServerEvent event = std::exchange(event_, {});
  if (!std::exchange(has_data_, false)) return true;
  event.id = last_id_;
  if (event.event.empty()) event.event = "message";
  return sink(event);
}

}  // namespace transport
