// LoopDevice: a block device for one test, from a file in memory or on disk. Needs root.
#pragma once

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "base/sha256.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tests {

// What a shell command prints, without the newline at its end. `ok`: whether it succeeded.
inline std::string shell_output(const std::string& command, bool& ok) {
  std::string said;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (!pipe) throw std::runtime_error("popen failed");
  char buffer[4096];
  for (std::size_t got = 0; (got = ::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    said.append(buffer, got);
  ok = ::pclose(pipe) == 0;
  while (said.ends_with('\n'))
    said.pop_back();
  return said;
}

inline std::string run_or_fail(const std::string& command) {
  bool ok = false;
  std::string said = shell_output(command, ok);
  if (!ok) throw std::runtime_error(command + ": " + said);
  return said;
}

class LoopDevice {
 public:
  explicit LoopDevice(int megabytes) {
    const std::string file = folder_ / "disk";
    const int image = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (image < 0 || ::ftruncate(image, static_cast<off_t>(megabytes) << 20) != 0)
      throw std::runtime_error("no image for a loop device");
    const int control = ::open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    // Others look for a free one, too.
    for (int tries = 0; tries < 50 && path_.empty(); ++tries) {
      const int number = ::ioctl(control, LOOP_CTL_GET_FREE);
      const std::string path = "/dev/loop" + std::to_string(number);
      fd_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
      if (fd_ >= 0 && ::ioctl(fd_, LOOP_SET_FD, image) == 0) {
        path_ = path;
      } else {
        ::close(fd_);
        ::usleep(20'000);
      }
    }
    ::close(control);
    ::close(image);
    if (path_.empty()) throw std::runtime_error("no free loop device");
    loop_info64 info{};
    std::snprintf(reinterpret_cast<char*>(info.lo_file_name), LO_NAME_SIZE, "%s", file.c_str());
    ::ioctl(fd_, LOOP_SET_STATUS64, &info);
  }
  ~LoopDevice() {
    ::ioctl(fd_, LOOP_CLR_FD, 0);
    ::close(fd_);
  }
  LoopDevice(const LoopDevice&) = delete;

  const std::string& path() const { return path_; }
  // As blkid(8) reads it from the device.
  std::string value(const std::string& tag) const {
    bool ok = false;
    return shell_output("blkid -p -o value -s " + tag + " " + path_, ok);
  }
  std::string hash() const { return base::sha256_hex(folder_.read("disk")); }

  // Why there can be none here; "" when there can.
  static std::string why_not() {
    const int control = ::open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (control < 0) return "loop devices need root and /dev/loop-control";
    const int number = ::ioctl(control, LOOP_CTL_GET_FREE);
    ::close(control);
    const std::string path = "/dev/loop" + std::to_string(number);
    return number >= 0 && ::access(path.c_str(), W_OK) == 0 ? "" : "no free loop device";
  }

 private:
  ScratchFolder folder_{folder_in_memory()};
  std::string path_;
  int fd_ = -1;
};

// A device that is mounted in another mount namespace, for as long as this lives.
class ElsewhereMounted {
 public:
  explicit ElsewhereMounted(const std::string& device) {
    const std::string folder = folder_ / "mnt";
    folder_.folder("mnt");
    int ready[2];
    if (::pipe(ready) != 0) throw std::runtime_error("pipe failed");
    child_ = ::fork();
    if (child_ == 0) {
      const bool done = ::unshare(CLONE_NEWNS) == 0 &&
                        ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                        ::mount(device.c_str(), folder.c_str(), "ext2", 0, nullptr) == 0;
      const char said = done ? 'y' : 'n';
      if (::write(ready[1], &said, 1) != 1) ::_exit(1);
      for (;;)
        ::pause();
    }
    char said = 'n';
    if (::read(ready[0], &said, 1) != 1 || said != 'y') throw std::runtime_error("cannot mount " + device);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~ElsewhereMounted() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  ElsewhereMounted(const ElsewhereMounted&) = delete;

 private:
  ScratchFolder folder_;
  pid_t child_ = -1;
};

}  // namespace tests
