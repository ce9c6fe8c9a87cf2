#include "agent/updater/trust_file.hpp"

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"

namespace agent::updater {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestMemory = 4 * release::kLargestDocument;

std::string memory_path(const std::string& state_dir) {
  return state_dir + "/update/trusted";
}

Result<release::Memory> pinned(const std::string& state_dir) {
  const std::string path = state_dir + "/update/root.json";
  auto root = base::read_file(path, release::kLargestDocument);
  if (!root && root.error().code() == ErrorCode::not_found)
    return Error(ErrorCode::not_found, "this machine has no release keys (" + path +
                                           "): put the root document there that 'opsctl release root' made");
  if (!root) return std::move(root).error();
  return release::Memory{.root = std::move(*root)};
}

}  // namespace

Result<release::Trust> load_trust(const std::string& state_dir) {
  const std::string path = memory_path(state_dir);
  const auto text = base::read_file(path, kLargestMemory);
  if (!text && text.error().code() != ErrorCode::not_found) return text.error();
  auto memory = text ? release::parse_memory(*text) : pinned(state_dir);
  if (!memory) return text ? std::move(memory).error().with_context(path) : std::move(memory).error();
  return release::Trust::open(std::move(*memory));
}

Result<void> store_trust(const std::string& state_dir, const release::Trust& trust) {
  return base::write_durable_file(memory_path(state_dir), to_text(trust.memory()));
}

Result<void> raise_floor(const std::string& state_dir, std::uint64_t number) {
  auto trust = load_trust(state_dir);
  if (!trust) return std::move(trust).error();
  if (trust->memory().floor >= number) return {};
  trust->raise_floor(number);
  return store_trust(state_dir, *trust);
}

}  // namespace agent::updater
