#include "agent/runtime/backend_history.hpp"

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "protocol/ids.hpp"

namespace agent::runtime {

namespace {

constexpr std::size_t kLargestFile = 4096;

}  // namespace

void BackendHistory::load() {
  const auto text = base::read_file(path_, kLargestFile);
  if (!text) return;
  // What no backend would read is not said to one.
  const std::string_view line = base::trim(*text);
  if (!line.empty() && protocol::problem_of_id(line).empty()) text_ = line;
}

base::Result<void> BackendHistory::keep(std::string text) {
  if (text == text_) return {};
  text_ = std::move(text);
  return base::write_durable_file(path_, text_ + "\n");
}

}  // namespace agent::runtime
