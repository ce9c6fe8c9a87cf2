// ScratchFolder: a folder for one test, with shorthands. in_own_mounts(): a test body that may mount things.
// Header only, for the tests of base/ too.
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>

namespace tests {

// A place for thousands of files that need not be on a disk, nor be programs: memory, if there is such a
// place, else where temporary files go.
inline std::string folder_in_memory() {
  const char* const memory = "/dev/shm";
  return ::access(memory, W_OK | X_OK) == 0 ? memory : std::filesystem::temp_directory_path().string();
}

class ScratchFolder {
 public:
  ScratchFolder() : ScratchFolder(std::filesystem::temp_directory_path().string()) {}
  explicit ScratchFolder(const std::string& below) : path_(below + "/opsagent-test-XXXXXX") {
    if (!::mkdtemp(path_.data())) throw std::runtime_error("mkdtemp failed");
    ::chmod(path_.c_str(), 0755);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& below) const { return path_ + "/" + below; }

  // Its folders are made, too.
  void write(const std::string& below, std::string_view content) const {
    std::filesystem::create_directories(std::filesystem::path(*this / below).parent_path());
    std::ofstream(*this / below, std::ios::binary) << content;
  }
  void folder(const std::string& below) const { std::filesystem::create_directories(*this / below); }
  void link(const std::string& below, const std::string& destination) const {
    std::filesystem::create_symlink(destination, *this / below);
  }
  std::string read(const std::string& below) const {
    std::ifstream file(*this / below, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  bool exists(const std::string& below) const {
    return std::filesystem::exists(std::filesystem::symlink_status(*this / below));
  }
  struct stat look(const std::string& below) const {
    struct stat st {};
    if (::lstat((*this / below).c_str(), &st) != 0) throw std::runtime_error("lstat " + below);
    return st;
  }
  mode_t mode(const std::string& below) const { return look(below).st_mode & 07777; }
  // How many entries the folder has.
  std::size_t count(const std::string& below) const {
    std::size_t entries = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(*this / below))
      ++entries;
    return entries;
  }

 private:
  std::string path_;
};

// Runs `body` in a child process with mounts of its own, which go when it ends. `body` answers what went
// wrong, or "". Needs root.
inline std::string in_own_mounts(const std::function<std::string()>& body) {
  int ends[2];
  if (::pipe(ends) != 0) return "pipe failed";
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    std::string wrong;
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      wrong = std::string("no mounts of its own: ") + std::strerror(errno);
    else
      wrong = body();
    wrong.insert(0, "done ");
    const ssize_t written = ::write(ends[1], wrong.data(), wrong.size());
    ::_exit(written < 0);
  }
  ::close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return said.starts_with("done ") ? said.substr(5) : "the child died, status " + std::to_string(status);
}

}  // namespace tests
