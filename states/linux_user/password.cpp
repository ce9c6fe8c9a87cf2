#include "states/linux_user/password.hpp"

#include <crypt.h>
#include <shadow.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <vector>

namespace states::linux_user {

namespace {

// The work area of crypt_r, which has the password in it afterwards.
struct WipingDelete {
  void operator()(crypt_data* data) const {
    ::explicit_bzero(data, sizeof *data);
    delete data;
  }
};

// Empty when libcrypt does not accept the setting.
std::string encrypt(std::string_view clear_text, const std::string& setting) {
  const std::unique_ptr<crypt_data, WipingDelete> data(new crypt_data{});
  const char* const hash = ::crypt_r(std::string(clear_text).c_str(), setting.c_str(), data.get());
  return hash && *hash != '*' ? hash : std::string();
}

}  // namespace

bool is_hash(std::string_view text) {
  // A locked account, whatever stands behind it: "!!", "*LK*", "!$6$…". Nobody's password begins so in a
  // recipe: taken for one it would open the account to everybody who knows what a locked entry looks like.
  if (text.starts_with('!') || text.starts_with('*')) return true;
  if (!text.starts_with('$')) return false;
  const std::size_t end = text.find('$', 1);
  if (end == std::string_view::npos || end == 1 || end + 1 == text.size()) return false;
  return std::ranges::all_of(text.substr(1, end - 1),
                             [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); });
}

base::Result<std::optional<std::string>> stored_hash(const std::string& user) {
  constexpr std::size_t kLargest = 64 * 1024;  // a line of the shadow file
  for (std::size_t size = 1024; size <= kLargest; size *= 4) {
    std::vector<char> buffer(size);
    spwd entry{};
    spwd* found = nullptr;
    const int error = ::getspnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (error == ERANGE) continue;
    if (found) return std::optional<std::string>(found->sp_pwdp);
    if (error != 0 && error != ENOENT) return base::os_error(error, "cannot read the password of " + user);
    return std::optional<std::string>();
  }
  return base::Error(base::ErrorCode::limit, "the shadow entry of " + user + " is too long");
}

bool is_password_of(std::string_view clear_text, const std::string& hash) {
  const std::string again = encrypt(clear_text, hash);
  return !again.empty() && again == hash;
}

base::Result<std::string> hash_of(std::string_view clear_text) {
  for (const char* method : {"$y$", "$6$"}) {
    std::array<char, CRYPT_GENSALT_OUTPUT_SIZE> setting{};
    if (!::crypt_gensalt_rn(method, 0, nullptr, 0, setting.data(), static_cast<int>(setting.size())))
      continue;
    if (std::string hash = encrypt(clear_text, setting.data()); !hash.empty()) return hash;
  }
  return base::Error(base::ErrorCode::unsupported, "libcrypt offers no method to hash a password");
}

}  // namespace states::linux_user
