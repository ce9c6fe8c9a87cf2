// RacingUser: a process of another user who renames things in a folder of his as fast as he can, and
// ContestedFolder: the folder that he owns, in which the test works as root. Header only, for the tests of
// base/ too. Needs root.
//
// The short form is for every test run. OPSAGENT_SWAP_ROUNDS=100000 makes it the long one.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <climits>

#include "base/fnv.hpp"
#include "base/unique_fd.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tests {

inline constexpr uid_t kRacer = 12345;

// How often each writer is raced.
inline int swap_rounds(int in_every_run) {
  const char* const asked = std::getenv("OPSAGENT_SWAP_ROUNDS");
  return asked ? std::atoi(asked) : in_every_run;
}

// What he puts in the place of other things: all are his, and lead or belong where they should not.
inline constexpr const char* kEvilLink = "evil-link";      // leads to ../outside
inline constexpr const char* kEvilFile = "evil-file";      // says "evil"
inline constexpr const char* kEvilFolder = "evil-folder";  // has evil-mark in it
inline constexpr const char* kSecret = "secret";           // root's, closed to him, but in his folder
inline constexpr const char* kEvilDestination = "../outside";

inline void make_evil() {
  [[maybe_unused]] int done = ::symlink(kEvilDestination, kEvilLink);
  if (const int fd = ::open(kEvilFile, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); fd >= 0) {
    [[maybe_unused]] const ssize_t written = ::write(fd, "evil", 4);
    ::close(fd);
  }
  if (::mkdir(kEvilFolder, 0777) == 0)
    ::close(::open("evil-folder/evil-mark", O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
}

class RacingUser {
 public:
  // `step` is called over and over, in a process of uid kRacer whose current folder is `folder`. It answers
  // whether it has changed something.
  RacingUser(const std::string& folder, const std::function<bool()>& step) {
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mmap failed");
    shared_ = new (memory) Shared();
    child_ = ::fork();
    if (child_ < 0) throw std::runtime_error("fork failed");
    if (child_ > 0) return;
    if (::chdir(folder.c_str()) != 0 || ::setgroups(0, nullptr) != 0 ||
        ::setresgid(kRacer, kRacer, kRacer) != 0 || ::setresuid(kRacer, kRacer, kRacer) != 0 ||
        ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
      ::_exit(1);
    make_evil();
    while (true) {
      if (shared_->hold) {
        shared_->is_held = true;
        while (shared_->hold)
          ::sched_yield();
        make_evil();
        shared_->is_held = false;
      }
      if (step()) ++shared_->swaps;
    }
  }
  ~RacingUser() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::munmap(shared_, sizeof(Shared));
  }
  RacingUser(const RacingUser&) = delete;
  RacingUser& operator=(const RacingUser&) = delete;

  long swaps() const { return shared_->swaps; }

  // He does nothing between these two, so that things can be put back, and looked at.
  void hold() {
    shared_->hold = true;
    while (!shared_->is_held)
      ::sched_yield();
  }
  void release() {
    shared_->hold = false;
    while (shared_->is_held)
      ::sched_yield();
  }

 private:
  struct Shared {
    std::atomic<long> swaps = 0;
    std::atomic<bool> hold = false;
    std::atomic<bool> is_held = false;
  };
  Shared* shared_ = nullptr;
  pid_t child_ = -1;
};

inline bool exchange(const char* one, const char* other) {
  return ::renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) == 0;
}

// He exchanges two names, all the time; while one is missing, the other goes to and fro.
inline std::function<bool()> swapping(std::string one, std::string other) {
  return [=] {
    const auto move = [](const std::string& from, const std::string& to) {
      return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0;
    };
    if (exchange(one.c_str(), other.c_str()) || move(other, one) || move(one, other)) return true;
    make_evil();
    return false;
  };
}

// He knows how temporaries were named once (a hash of the name), and waits for one to appear.
inline std::function<bool()> swapping_computed_scratch(std::string name) {
  return [scratch = ".opsagent-" + base::fnv1a_hex(name) + ".tmp"] {
    const bool done = exchange(scratch.c_str(), kEvilLink);
    if (done && (::unlink(kEvilLink) == 0 || ::rmdir(kEvilLink) == 0)) make_evil();
    return done;
  };
}

// The kernel tells him of every new name in his folder; a temporary is exchanged at once with one of his
// things, or with root's secret.
inline std::function<bool()> swapping_scratch() {
  return [events = -1, turn = 0U]() mutable {
    if (events < 0) {
      events = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
      ::inotify_add_watch(events, ".", IN_CREATE | IN_MOVED_TO);
    }
    alignas(inotify_event) std::array<char, 4096> buffer;
    const ssize_t got = ::read(events, buffer.data(), buffer.size());
    bool done = false;
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      at += static_cast<ssize_t>(sizeof *event + event->len);
      if (event->len == 0 || !std::string_view(event->name).starts_with(".opsagent-")) continue;
      constexpr std::array<const char*, 4> kThings{kEvilLink, kEvilFile, kEvilFolder, kSecret};
      const char* const thing = kThings[turn++ % kThings.size()];
      if (!exchange(event->name, thing)) continue;
      done = true;
      // He cannot make another secret: it goes back.
      if (thing == kSecret)
        exchange(event->name, thing);
      else if (::unlink(thing) == 0 || ::rmdir(thing) == 0)
        make_evil();
    }
    return done;
  };
}

class ContestedFolder : public ScratchFolder {
 public:
  ContestedFolder() : ScratchFolder(folder_in_memory()) { prepare(); }
  explicit ContestedFolder(const std::string& root) : ScratchFolder(root) { prepare(); }

  std::string home(const std::string& below) const { return *this / ("home/" + below); }

  // What root has made at a place of his, so that there is something to be changed.
  void give_file(const std::string& below, std::string_view content) const {
    clear(below);
    const base::UniqueFd file(
        ::open(home(below).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!file || ::write(file.get(), content.data(), content.size()) < 0) return;
    [[maybe_unused]] const int given = ::fchown(file.get(), kRacer, kRacer);
  }
  void give_folder(const std::string& below) const {
    clear(below);
    [[maybe_unused]] const int made = ::mkdir(home(below).c_str(), 0755);
    give(below);
  }
  void give_link(const std::string& below, const std::string& destination) const {
    clear(below);
    [[maybe_unused]] const int made = ::symlink(destination.c_str(), home(below).c_str());
    give(below);
  }
  // Whatever it is by now.
  void clear(const std::string& below) const {
    if (::unlink(home(below).c_str()) == 0 || errno == ENOENT) return;
    std::error_code ignored;
    std::filesystem::remove_all(home(below), ignored);
  }

  // What is wrong in his folder: something of his belongs to root, or root's secret to him. "" if nothing.
  std::string stolen() const {
    std::error_code failed;
    for (std::filesystem::directory_iterator at(*this / "home", failed), end; !failed && at != end;
         at.increment(failed)) {
      const std::string name = at->path().filename().string();
      if (std::string wrong = look_at(name); !wrong.empty()) return wrong;
      if (name.starts_with(".opsagent-")) left_.push_back(name);
    }
    return {};
  }
  // All that is outside his folder, to be compared.
  std::string outside() const {
    std::string all = std::to_string(count("outside")) + " " + std::to_string(count("outside/sub")) + " ";
    for (const char* path : {"outside", "outside/f", "outside/sub", "outside/sub/keep"}) {
      const struct stat st = look(path);
      for (const long value : {long(st.st_mode), long(st.st_uid), long(st.st_gid), long(st.st_ino),
                               long(st.st_ctim.tv_sec), long(st.st_ctim.tv_nsec)})
        all += std::to_string(value) + " ";
    }
    return all + read("outside/f");
  }
  // Puts back what was moved or removed, and takes away what is in his way.
  void restore() const {
    for (const std::string& name : left_)
      clear(name);
    left_.clear();
    // Where it should be: it may have another name, under which it is cleared with what had that name.
    if (!exists("home/secret/secret")) {
      clear(kSecret);
      if (::mkdir(home(kSecret).c_str(), 0700) == 0) write("home/secret/secret", "secret");
    }
    struct stat st {};
    for (const auto& [name, type] :
         {std::pair{kEvilLink, S_IFLNK}, std::pair{kEvilFile, S_IFREG}, std::pair{kEvilFolder, S_IFDIR}})
      if (::lstat(home(name).c_str(), &st) == 0 &&
          ((st.st_mode & S_IFMT) != mode_t(type) || st.st_uid != kRacer))
        clear(name);
  }

 private:
  void prepare() {
    write("outside/f", "precious");
    write("outside/sub/keep", "precious");
    folder("home");
    if (::chown((*this / "home").c_str(), kRacer, kRacer) != 0) throw std::runtime_error("chown");
    restore();
  }
  void give(const std::string& below) const {
    [[maybe_unused]] const int given = ::lchown(home(below).c_str(), kRacer, kRacer);
  }

  // By descriptor: what is judged is what is looked at, however fast it is swapped.
  std::string look_at(const std::string& name) const {
    const base::UniqueFd fd(::open(home(name).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat st {};
    if (!fd || ::fstat(fd.get(), &st) != 0) return {};
    const std::string by_descriptor = "/proc/self/fd/" + std::to_string(fd.get());
    if (S_ISLNK(st.st_mode)) {
      std::array<char, PATH_MAX> to{};
      const ssize_t size = ::readlinkat(fd.get(), "", to.data(), to.size());
      const bool is_his = size > 0 && std::string_view(to.data(), std::size_t(size)) == kEvilDestination;
      return is_his && st.st_uid != kRacer ? name + " is a link of his that belongs to root" : "";
    }
    if (S_ISREG(st.st_mode)) {
      std::array<char, 8> text{};
      const base::UniqueFd file(::open(by_descriptor.c_str(), O_RDONLY | O_CLOEXEC));
      const ssize_t size = ::read(file.get(), text.data(), text.size());
      const bool is_his = size > 0 && std::string_view(text.data(), std::size_t(size)) == "evil";
      return is_his && st.st_uid != kRacer ? name + " is a file of his that belongs to root" : "";
    }
    if (!S_ISDIR(st.st_mode)) return {};
    if (::faccessat(fd.get(), "evil-mark", F_OK, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != kRacer)
      return name + " is a folder of his that belongs to root";
    if (::faccessat(fd.get(), "secret", F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
        (st.st_uid != 0 || (st.st_mode & 0777) != 0700))
      return name + " is root's secret, and open to him";
    return {};
  }

  mutable std::vector<std::string> left_;  // temporaries, which he has moved away
};

}  // namespace tests
