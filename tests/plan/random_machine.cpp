#include "tests/plan/random_machine.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace tests {

namespace fs = std::filesystem;

namespace names {

std::string folder(Dice& dice) {
  std::string path = kPlace;
  for (std::size_t depth = 1 + dice.below(2); depth > 0; --depth)
    path += "/" + (dice.percent(20) ? dice.one_of(kLinks) : dice.one_of(kFolders));
  return path;
}

std::string file(Dice& dice) {
  return (dice.percent(15) ? std::string(kPlace) : folder(dice)) + "/" + dice.one_of(kFiles);
}

std::string link(Dice& dice) {
  return (dice.percent(60) ? std::string(kPlace) : folder(dice)) + "/" + dice.one_of(kLinks);
}

std::string any(Dice& dice) {
  const std::size_t kind = dice.below(10);
  return kind < 5 ? file(dice) : kind < 8 ? folder(dice) : link(dice);
}

std::string file_elsewhere(Dice& dice) {
  if (dice.percent(20)) return folder(dice) + "/home/f1";
  return dice.one_of<std::string>({"/home/new1/f1", "/home/new1/.bashrc", "/home/old/f1", "/etc/timezone",
                                   "/opt/plan-test-a/data", "/opt/plan-test-a/other",
                                   "/etc/plan-conf.d/a.conf", "/opt/plan-test-b/data",
                                   "/etc/apt/sources.list.d/r1.list"});
}

std::string folder_elsewhere(Dice& dice) {
  if (dice.percent(30)) return folder(dice) + "/home";
  return dice.one_of<std::string>(
      {"/home/new1", "/home/new2", "/home/old", "/opt/plan-test-a", "/etc/plan-conf.d"});
}

}  // namespace names

bool has_systemd() {
  return fs::exists("/run/systemd/system");
}

std::string service_path(const std::string& name) {
  return has_systemd() ? "/etc/systemd/system/" + name + ".service" : "/etc/init.d/" + name;
}

std::string service_text(const std::string& name) {
  const bool reloads = name != names::kServices[1];
  if (has_systemd())
    return "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n" +
           std::string(reloads ? "ExecReload=/bin/true\n" : "") + "[Install]\nWantedBy=multi-user.target\n";
  return "#!/bin/sh\n### BEGIN INIT INFO\n# Provides: " + name +
         "\n# Required-Start:\n# Required-Stop:\n# Default-Start: 2 3 4 5\n# Default-Stop: 0 1 6\n### END "
         "INIT INFO\n"
         "running=/run/" +
         name +
         "\ncase $1 in\nstart | restart) : >$running ;;\nstop) rm -f $running ;;\n"
         "status) [ -e $running ] || exit 3 ;;\n" +
         (reloads ? "reload) ;;\n" : "") + "*) exit 3 ;;\nesac\n";
}

void write_text(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

namespace {

constexpr uid_t kOld = 61500;  // a user who is there from the start

int run(const std::string& command) {
  return std::system(("{ " + command + "; } >/dev/null 2>&1").c_str());
}

}  // namespace

RandomMachine::RandomMachine(std::string root) : root_(std::move(root)) {
  if (is_running_system()) {
    run("useradd --uid 61500 --user-group --create-home old");
    keep_accounts();
    make_repository();
    return;
  }
  write_text(at("/etc/os-release"), "ID=debian\n");
  write_text(at("/etc/passwd"), "root:x:0:0:root:/root:/bin/sh\nold:x:61500:61500::/home/old:/bin/sh\n");
  write_text(at("/etc/group"), "root:x:0:\nold:x:61500:\n");
  for (const char* zone : {"Europe/Berlin", "Etc/UTC"})
    write_text(at("/usr/share/zoneinfo/") + zone, std::string("TZif2 ") + zone);
}

void RandomMachine::keep_accounts() {
  for (const char* name : {"passwd", "group", "shadow", "gshadow", "subuid", "subgid"})
    if (const std::string path = at("/etc/") + name; fs::exists(path))
      accounts_.emplace_back(path, read_text(path));
}

// Two packages with a file each, in a repository on this machine.
void RandomMachine::make_repository() {
  const std::string place = "/var/tmp/plan-test";
  for (const std::string& name : names::kPackages) {
    const std::string tree = place + "/" + name;
    write_text(tree + "/opt/" + name + "/data", name + "\n");
    if (name == names::kPackages[0]) {
      write_text(tree + "/etc/plan-conf.d/a.conf", "one\n");
      const std::string service =
          has_systemd() ? "/lib/systemd/system/plan-svc-2.service" : service_path(names::kServices[1]);
      write_text(tree + service, service_text(names::kServices[1]));
      fs::permissions(tree + service, fs::perms(0755));
    } else {
      write_text(tree + "/DEBIAN/postinst", "#!/bin/sh\nid pkg >/dev/null 2>&1 || useradd --system pkg\n");
      fs::permissions(tree + "/DEBIAN/postinst", fs::perms(0755));
    }
    write_text(tree + "/DEBIAN/control", "Package: " + name +
                                             "\nVersion: 1\nArchitecture: all\nMaintainer: test "
                                             "<test@example.invalid>\nDescription: for a test\n");
    if (run("dpkg-deb --build " + tree + " " + place + "/" + name + ".deb") != 0) return;
  }
  write_text("/etc/apt/sources.list.d/plan-test.list", "deb [trusted=yes] copy:" + place + " ./\n");
  has_packages_ =
      run("cd " + place + " && dpkg-scanpackages . > Packages") == 0 && run("apt-get update") == 0;
}

// One thing at a path, in the place of whatever is there.
void RandomMachine::put_something(const std::string& path, char kind, Dice& dice) {
  std::error_code ignored;
  const std::string real = at(path);
  if (!fs::is_directory(fs::path(real).parent_path(), ignored)) return;
  if (fs::is_symlink(fs::path(real).parent_path(), ignored) && kind == 'd') return;
  fs::remove_all(real, ignored);
  if (kind == 'd') {
    fs::create_directory(real, ignored);
    ::chmod(real.c_str(), dice.percent(12) ? dice.one_of<mode_t>({0777, 0777, 02755, 01777, 0700}) : 0755);
  } else if (kind == 'l') {
    const std::string target = dice.percent(15)   ? "nowhere"
                               : dice.percent(10) ? "../" + dice.one_of(names::kFolders)
                               : dice.percent(10) ? names::file(dice)
                               : dice.percent(50) ? names::folder(dice)
                                                  : dice.one_of(names::kFolders);
    fs::create_symlink(target, real, ignored);
  } else if (dice.percent(2)) {
    ::mkfifo(real.c_str(), 0644);
  } else {
    const std::string other = at(names::file(dice));
    const bool is_second_name = dice.percent(4) && fs::is_regular_file(fs::symlink_status(other, ignored));
    if (is_second_name) fs::create_hard_link(other, real, ignored);
    if (!fs::exists(fs::symlink_status(real, ignored))) write_text(real, dice.one_of(names::kContents));
    ::chmod(real.c_str(), dice.percent(30) ? dice.one_of<mode_t>({0600, 0600, 0755, 04755, 0666}) : 0644);
  }
  if (::geteuid() == 0 && dice.percent(12) && ::lchown(real.c_str(), kOld, kOld) != 0) std::abort();
}

void RandomMachine::reset(Dice& dice) {
  std::error_code ignored;
  for (const char* path : {"/srv/t", "/made", "/home/new1", "/home/new2", "/var/lib/plan-test-state",
                           "/etc/localtime", "/etc/timezone"})
    fs::remove_all(at(path), ignored);
  for (const char* name : {"r1", "r2"})
    fs::remove(at("/etc/apt/sources.list.d/") + name + ".list", ignored);
  if (is_running_system()) {
    for (const char* user : {"root", "old", "new1", "new2"})
      fs::remove(std::string("/var/spool/cron/crontabs/") + user, ignored);
    for (const auto& [path, text] : accounts_)
      write_text(path, text);
  }
  if (packages_used_)
    for (const std::string& name : names::kPackages)
      run("dpkg --purge " + name);
  packages_used_ = false;
  for (const char* path : {"/opt/plan-test-a", "/opt/plan-test-b", "/etc/plan-conf.d", "/home/old"})
    fs::remove_all(at(path), ignored);
  if (is_running_system()) {
    fs::create_directories("/home/old");
    if (::chown("/home/old", kOld, kOld) != 0) std::abort();
    if (std::exchange(services_used_, false)) reset_services();
  }
  fs::create_directories(at(names::kPlace));
  fs::create_directories(at("/home"));

  const std::string place = names::kPlace;
  for (const auto* kind : {&names::kFolders, &names::kLinks, &names::kFiles})
    for (const std::string& name : *kind)
      if (dice.percent(60)) put_something(place + "/" + name, name[0], dice);
  for (int i = 0; i < 8; ++i) {
    const std::string path = names::any(dice);
    put_something(path, path[path.rfind('/') + 1], dice);
  }
}

void RandomMachine::reset_services() {
  if (has_systemd()) {
    for (const std::string& name : names::kServices)
      run("systemctl stop " + name + "; systemctl unmask " + name + "; systemctl disable " + name);
  } else {
    run("rm -f /run/plan-svc-* /etc/rc?.d/*plan-svc-*");
  }
  std::error_code ignored;
  fs::remove(service_path(names::kServices[2]), ignored);
  write_text(service_path(names::kServices[0]), service_text(names::kServices[0]));
  fs::permissions(service_path(names::kServices[0]), fs::perms(0755));
  if (has_systemd()) run("systemctl daemon-reload");
}

void RandomMachine::disturb(Dice& dice) {
  for (std::size_t i = 1 + dice.below(4); i > 0; --i) {
    const std::string path = names::any(dice);
    put_something(path, dice.percent(90) ? path[path.rfind('/') + 1] : dice.one_of<char>({'d', 'l', 'f'}),
                  dice);
  }
}

std::string RandomMachine::listing() const {
  std::string text;
  for (const char* place : {names::kPlace, "/home", "/made", "/opt", "/etc/plan-conf.d"})
    list(at(place), text);
  return text;
}

void RandomMachine::list(const std::string& folder, std::string& text) const {
  std::error_code ignored;
  for (fs::recursive_directory_iterator at_entry(folder, ignored), end; at_entry != end;
       at_entry.increment(ignored)) {
    struct stat st {};
    if (::lstat(at_entry->path().c_str(), &st) != 0) continue;
    text += "  " + at_entry->path().string().substr(root_.size()) + " uid " + std::to_string(st.st_uid);
    char mode[16];
    std::snprintf(mode, sizeof mode, " %04o", static_cast<unsigned>(st.st_mode & 07777));
    text += mode;
    if (S_ISLNK(st.st_mode)) text += " -> " + fs::read_symlink(at_entry->path()).string();
    if (S_ISREG(st.st_mode)) text += " = " + read_text(at_entry->path());
    if (!text.ends_with('\n')) text += "\n";
  }
}

}  // namespace tests
