#include "ctl/output/failure_text.hpp"

#include <algorithm>

#include "ctl/fields.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

std::string failure_text(const base::Value& instance) {
  const base::Value& failed = field(instance, "failed_state");
  std::string errors;
  for (const base::Value& error : items_field(instance, "errors"))
    errors.append(errors.empty() ? "" : "; ").append(text_of(error));
  if (!failed.is_object()) return errors;
  std::string text = "state '" + text_field(failed, "state_id") + "'";
  const std::string outcome = text_field(failed, "outcome");
  if (outcome == "timed_out") text += " timed out";
  if (outcome == "cancelled") text += " was cancelled";
  const std::string comment = text_field(failed, "comment");
  if (!comment.empty()) return text + ": " + terminal::join_lines(comment, "; ");
  return errors.empty() ? text : text + ": " + errors;
}

std::string failure_command(const base::Value& instance) {
  const std::string machine =
      shell_word(text_field(instance, "app_id") + "/" + text_field(instance, "instance_id"));
  const std::string state = text_field(instance, "failed_state.state_id");
  if (state.empty()) return "opsctl agent show " + machine;
  return "opsctl results -i " + machine + " --state " + shell_word(state) + " --verbose";
}

base::Result<Listing> list_failures(Api& api, Parameters parameters, std::size_t limit) {
  auto failures = api.list("/failures", std::move(parameters), limit);
  if (!failures && failures.error().code() == base::ErrorCode::not_found) return Listing();
  return failures;
}

std::string shell_word(std::string_view text) {
  const bool is_plain = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./:=@%+,").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (is_plain) return std::string(text);
  std::string quoted = "'";
  for (const char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace ctl
