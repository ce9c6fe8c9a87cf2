// AptMachine: the scratch machine with a real apt and dpkg and a repository made by the test, for the tests
// of package modules. Only in the suite "system".
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include "base/programs/process.hpp"
#include "base/text.hpp"
#include "tests/support/state_harness.hpp"

namespace tests {

// A shell is fine here: these are the test's own words.
inline std::string shell(const std::string& script) {
  base::Command command;
  command.argv = {"/bin/sh", "-ec", script};
  command.env = base::clean_environment();
  const auto done = base::run(command);
  REQUIRE(done);
  REQUIRE_MESSAGE(done->ok(), script << "\n" << done->output);
  return std::string(base::trim(done->output));
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

inline void put(const std::string& path, std::string_view content,
                std::filesystem::perms mode = std::filesystem::perms(0644)) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << content;
  std::filesystem::permissions(path, mode);
}

struct Package {
  std::string name;
  std::string version;
  std::string fields{};    // more lines of the control file
  std::string postinst{};  // lines of a script
  std::string config{};    // lines of a debconf script
  std::string templates{};
};

// The file of a package that holds little more than its name.
inline std::string build(const Package& package, const std::string& folder) {
  const std::string work = "/tmp/build-" + package.name;
  std::filesystem::remove_all(work);
  put(work + "/DEBIAN/control", "Package: " + package.name + "\nVersion: " + package.version +
                                    "\nArchitecture: all\nMaintainer: Nobody <nobody@example.org>\n" +
                                    package.fields + "Description: made by a test\n");
  put(work + "/etc/" + package.name + ".conf", "version " + package.version + "\n");
  put(work + "/DEBIAN/conffiles", "/etc/" + package.name + ".conf\n");
  const auto executable = std::filesystem::perms(0755);
  if (!package.postinst.empty())
    put(work + "/DEBIAN/postinst", "#!/bin/sh\nset -e\n" + package.postinst, executable);
  if (!package.config.empty())
    put(work + "/DEBIAN/config", "#!/bin/sh\nset -e\n" + package.config, executable);
  if (!package.templates.empty()) put(work + "/DEBIAN/templates", package.templates);
  std::filesystem::create_directories(folder);
  shell("dpkg-deb --build --root-owner-group " + work + " " + folder);
  std::filesystem::remove_all(work);
  const std::size_t colon = package.version.find(':');
  return folder + "/" + package.name + "_" +
         (colon == std::string::npos ? package.version : package.version.substr(colon + 1)) + "_all.deb";
}

inline constexpr auto kRepo = "/srv/test-repo";
inline constexpr auto kSources = "/etc/apt/sources.list.d/test.list";

// The scratch machine with one repository of ours, and nothing of it installed. "copy:" and not "file:": apt
// reads the index of the latter in place, and lists could never be out of date.
class AptMachine : public StateHarness {
 public:
  AptMachine() : StateHarness(RunningSystem{}) {
    REQUIRE_MESSAGE(std::filesystem::exists("/etc/opsagent-scratch"), "these tests change the machine");
    clean();
    std::filesystem::create_directories(kRepo);
    put(kSources, "deb [trusted=yes] copy:" + std::string(kRepo) + " ./\n");
  }
  ~AptMachine() { clean(); }

  // Puts packages in the repository.
  void offer(std::initializer_list<Package> packages) {
    for (const Package& package : packages)
      build(package, kRepo);
    index(kRepo);
  }
  static void index(const std::string& repo) {
    shell("cd " + repo + " && dpkg-scanpackages --multiversion . 2>/dev/null >Packages");
  }
  // As if the last refresh had been long ago.
  static void age_lists() {
    shell("touch -d '3 hours ago' /var/lib/apt/lists/partial " + std::string(kSources) +
          " /etc/apt/sources.list /etc/apt/sources.list.d");
  }

  // "installed 1.0", "config-files 1.0", "" as dpkg itself says.
  static std::string found(const std::string& name) {
    const std::string said =
        shell("dpkg-query -W -f '${db:Status-Status} ${Version}' " + name + " 2>/dev/null || true");
    return said == "not-installed" ? std::string() : said;  // as it still says of what others ask for
  }

 private:
  static void clean() {
    shell(
        "rm -rf /srv/* /etc/apt/sources.list.d/* /var/lib/apt/lists/* /var/cache/apt/*.bin; "
        "dpkg --force-all --purge $(dpkg-query -W -f '${Package}\\n' 't-*' 2>/dev/null) >/dev/null 2>&1 || "
        "true; "
        "rm -f /var/lib/dpkg/updates/0*");
  }
};

// Another process that holds a lock as package managers do, until the object goes or release() is called.
class LockHolder {
 public:
  explicit LockHolder(const char* path) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int fd = ::open(path, O_RDWR | O_CREAT, 0640);
      struct flock lock {};
      lock.l_type = F_WRLCK;
      if (::fcntl(fd, F_SETLK, &lock) != 0) ::_exit(1);
      (void)!::write(ready[1], "x", 1);
      ::pause();
      ::_exit(0);
    }
    name_ = "process " + std::to_string(pid_) + " (states_tests)";
    char byte = 0;
    ::close(ready[1]);
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    ::close(ready[0]);
  }
  ~LockHolder() { release(); }
  void release() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  const std::string& name() const { return name_; }

 private:
  pid_t pid_ = -1;
  std::string name_;
};

}  // namespace tests
