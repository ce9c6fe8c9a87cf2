#include "states/docker/progress.hpp"

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/json/json_document.hpp"

namespace states::docker {

namespace {

constexpr std::size_t kLongestLine = 1024 * 1024;
constexpr std::size_t kLargestLog = 256 * 1024;

}  // namespace

base::Result<void> Progress::take(std::string_view piece) {
  held_ += piece;
  for (std::size_t end = 0; (end = held_.find('\n')) != held_.npos;) {
    std::string line = held_.substr(0, end);
    held_.erase(0, end + 1);
    if (auto taken = take_line(std::move(line)); !taken) return taken;
  }
  if (held_.size() > kLongestLine)
    return base::Error(base::ErrorCode::limit, "the engine sends a line of more than 1 MiB");
  return {};
}

base::Result<void> Progress::finish() {
  if (auto taken = take_line(std::move(held_)); !taken) return taken;
  held_.clear();
  if (!error_.empty()) return base::Error(base::ErrorCode::io, error_);
  return {};
}

base::Result<void> Progress::take_line(std::string line) {
  if (base::trim(line).empty()) return {};
  auto document = json::JsonDocument::parse(std::move(line));
  if (!document) return std::move(document).error();
  const base::Value& root = document->root();
  if (std::string error = json::find_text(root, {"errorDetail", "message"}); !error.empty())
    error_ = std::move(error);
  else if (error = json::find_text(root, {"error"}); !error.empty())
    error_ = std::move(error);
  if (const std::string built = json::find_text(root, {"stream"}); !built.empty()) show(built);
  // Bars that fill are no lines.
  const base::Value* detail = root.find("progressDetail");
  if (const std::string status = json::find_text(root, {"status"});
      !status.empty() && (!detail || detail->members().empty())) {
    const std::string id = json::find_text(root, {"id"});
    show((id.empty() ? "" : id + ": ") + status + "\n");
  }
  return {};
}

void Progress::show(std::string_view text) {
  const std::string clean = base::clean_output(text);
  if (const std::string_view line = base::last_line(clean); !line.empty()) {
    last_line_ = line;
    commands_.tell(line);
  }
  if (log_.size() < kLargestLog) log_ += clean;
}

}  // namespace states::docker
