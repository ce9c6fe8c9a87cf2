#include "agent/runtime/old_backends.hpp"

#include <algorithm>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"

namespace agent::runtime {

namespace {

constexpr std::size_t kLargestList = 256 * 1024;

}  // namespace

void OldBackends::load() {
  uris_.clear();
  const auto text = base::read_file(path_, kLargestList);
  if (!text) return;
  for (const std::string_view line : base::split(*text, '\n'))
    if (!line.empty() && uris_.size() < kMost) uris_.emplace_back(line);
}

bool OldBackends::contains(std::string_view uri) const {
  return std::ranges::find(uris_, uri) != uris_.end();
}

base::Result<void> OldBackends::note(const std::string& uri, bool speaks_version_1) {
  if (contains(uri) == speaks_version_1) return {};
  std::erase(uris_, uri);
  if (speaks_version_1) uris_.push_back(uri);
  if (uris_.size() > kMost) uris_.erase(uris_.begin());
  std::string text;
  for (const std::string& each : uris_)
    text += each + "\n";
  if (auto written = base::write_durable_file(path_, text); !written)
    return std::move(written).error().with_context("which backends speak version 1");
  return {};
}

}  // namespace agent::runtime
