// What another user does, in processes of his: he holds files open, he asks for access, he gives access
// lists. Header only, for the tests of base/ too. Needs root.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "base/unique_fd.hpp"

namespace tests {

inline constexpr uid_t kOtherUser = 12345;  // and his group

// A process of his does it; false also when he cannot.
inline bool as_other_user(const std::function<bool()>& act) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    const bool is_he = ::setgroups(0, nullptr) == 0 && ::setresgid(kOtherUser, kOtherUser, kOtherUser) == 0 &&
                       ::setresuid(kOtherUser, kOtherUser, kOtherUser) == 0 &&
                       ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
    ::_exit(is_he && act() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

inline bool other_user_can(const std::string& path, int how) {
  return as_other_user([&] { return ::access(path.c_str(), how) == 0; });
}

// He has a file open for writing, from when this is made to its end.
class HeldOpen {
 public:
  enum class As { descriptor, mapping };  // a shared mapping, its descriptor closed

  HeldOpen(const std::string& path, As how) {
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0)
      throw std::runtime_error("pipe failed");
    child_ = ::fork();
    if (child_ < 0) throw std::runtime_error("fork failed");
    if (child_ == 0) {
      ::close(to[1]);
      hold(path, how, to[0], from[1]);
    }
    ::close(to[0]);
    ::close(from[1]);
    ask_.reset(to[1]);
    answer_.reset(from[0]);
    is_holding_ = answered();
  }
  ~HeldOpen() {
    ask_.reset();  // he ends
    ::waitpid(child_, nullptr, 0);
  }
  HeldOpen(const HeldOpen&) = delete;
  HeldOpen& operator=(const HeldOpen&) = delete;

  bool is_holding() const { return is_holding_; }
  // He writes "evil" to the beginning of what he has open, whatever has its name by now.
  bool write_evil() {
    const char ask = 'w';
    return ::write(ask_.get(), &ask, 1) == 1 && answered();
  }

 private:
  [[noreturn]] static void hold(const std::string& path, As how, int asked, int answers) {
    if (::setgroups(0, nullptr) != 0 || ::setresgid(kOtherUser, kOtherUser, kOtherUser) != 0 ||
        ::setresuid(kOtherUser, kOtherUser, kOtherUser) != 0)
      ::_exit(1);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    void* mapped = MAP_FAILED;
    if (file >= 0 && how == As::mapping) {
      mapped = ::mmap(nullptr, 4, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      ::close(file);
    }
    const bool is_held = how == As::mapping ? mapped != MAP_FAILED : file >= 0;
    char said = is_held ? 'y' : 'n';
    while (::write(answers, &said, 1) == 1 && ::read(asked, &said, 1) == 1) {
      constexpr std::array<char, 4> kEvil{'e', 'v', 'i', 'l'};
      if (how == As::mapping)
        std::copy(kEvil.begin(), kEvil.end(), static_cast<volatile char*>(mapped));
      else if (::pwrite(file, kEvil.data(), kEvil.size(), 0) != 4)
        ::_exit(1);
      said = 'y';
    }
    ::_exit(0);
  }
  bool answered() const {
    char said = 'n';
    return ::read(answer_.get(), &said, 1) == 1 && said == 'y';
  }

  base::UniqueFd ask_;
  base::UniqueFd answer_;
  pid_t child_ = -1;
  bool is_holding_ = false;
};

inline constexpr const char* kAccessList = "system.posix_acl_access";
inline constexpr const char* kDefaultList = "system.posix_acl_default";

// Gives a file or folder a list in which he may do everything, its group may read, others as in 0755. False
// where the file system knows none.
inline bool give_list(const std::string& path, const char* which) {
  struct Entry {
    std::uint16_t tag;
    std::uint16_t bits;
    std::uint32_t id;
  };
  struct {
    std::uint32_t version = 2;
    std::array<Entry, 5> entries{{{1, 7, ~0U}, {2, 7, kOtherUser}, {4, 4, ~0U}, {16, 7, ~0U}, {32, 5, ~0U}}};
  } list;
  return ::setxattr(path.c_str(), which, &list, sizeof list, 0) == 0;
}

inline bool has_list(const std::string& path, const char* which) {
  return ::getxattr(path.c_str(), which, nullptr, 0) >= 0;
}

}  // namespace tests
