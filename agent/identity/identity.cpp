#include "agent/identity/identity.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "agent/metadata/metadata.hpp"
#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/token.hpp"
#include "protocol/ids.hpp"

namespace agent::identity {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestIdentity = 64 * 1024;
constexpr std::size_t kTokenBytes = 32;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// The file's one line; nothing when there is no such file.
Result<std::string> read_line(const std::string& path) {
  auto text = base::read_file(path, kLargestIdentity);
  if (!text) {
    if (text.error().code() == ErrorCode::not_found) return std::string();
    return std::move(text).error();
  }
  return std::string(base::trim(*text));
}

// As we make them: so many hexadecimal digits and a newline.
bool is_ours(std::string_view token, std::size_t random_bytes) {
  return token.size() == 2 * random_bytes &&
         std::ranges::all_of(token, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// A token of the original is the whole file, byte by byte: the backend may have it with its newline.
Result<std::string> read_or_make_token(const std::string& path, std::size_t random_bytes) {
  auto text = base::read_file(path, kLargestIdentity);
  if (!text && text.error().code() != ErrorCode::not_found) return std::move(text).error();
  const std::string line(text ? base::trim(*text) : std::string_view());
  if (is_ours(line, random_bytes)) return line;
  if (!line.empty()) {
    if (!base::is_utf8(*text))
      return Error(ErrorCode::invalid, path + " is not text in UTF-8, and so cannot be said to a backend");
    return text;
  }
  std::string made = base::random_hex(random_bytes);
  if (auto written = base::write_durable_file(path, made + "\n"); !written) return std::move(written).error();
  return made;
}

// The name up to the first dot, as `hostname -s` has it, with what may not stand in an id replaced.
std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  std::string id(name.data());
  id.resize(std::min(id.find('.'), id.size()));
  std::ranges::replace_if(
      id, [](char c) { return !is_letter_or_digit(c); }, '-');
  return id;
}

Result<std::string> instance_id(const IdentityOptions& options) {
  const auto checked = [](std::string id, std::string_view from) -> Result<std::string> {
    if (auto fine = check_instance_id(id); !fine) return std::move(fine).error().with_context(from);
    return id;
  };
  if (!options.instance_id.empty()) return checked(options.instance_id, "instance_id");
  const std::string path = options.state_dir + "/instance_id";
  auto kept = read_line(path);
  if (!kept) return kept;
  if (!kept->empty()) return checked(std::move(*kept), path);
  std::string found = options.announced_id;
  if (!check_instance_id(found) && options.use_cloud_init) found = metadata::cloud_init_instance_id({});
  if (!check_instance_id(found)) found = host_name();
  if (!check_instance_id(found))
    return Error(ErrorCode::invalid, "this machine has no name that could be its id; set instance_id");
  // Kept: the machine stays the one that it was when somebody renames the host.
  if (auto written = base::write_durable_file(path, found + "\n"); !written)
    return std::move(written).error();
  return found;
}

}  // namespace

Result<void> check_instance_id(std::string_view id) {
  if (const std::string_view wrong = protocol::problem_of_name(id); !wrong.empty())
    return Error(ErrorCode::invalid, std::string(wrong));
  return {};
}

Result<Identity> load_identity(const IdentityOptions& options) {
  Identity identity{.app_id = options.app_id};
  if (auto fine = check_instance_id(identity.app_id); !fine)
    return std::move(fine).error().with_context("app_id");
  const auto keep = [](std::string& field, Result<std::string> read) -> Result<void> {
    if (!read) return std::move(read).error();
    field = std::move(*read);
    return {};
  };
  const std::string token_file =
      options.token_file.empty() ? options.state_dir + "/token" : options.token_file;
  if (auto done = keep(identity.instance_id, instance_id(options)); !done) return std::move(done).error();
  if (auto done = keep(identity.token, read_or_make_token(token_file, kTokenBytes)); !done)
    return std::move(done).error();
  if (const auto boot = base::read_file("/proc/sys/kernel/random/boot_id", kLargestIdentity))
    identity.boot_id = base::trim(*boot);
  return identity;
}

}  // namespace agent::identity
