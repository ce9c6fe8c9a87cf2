// RandomMachine: where a case happens. Below a root of its own, or the running system, which must be a
// scratch machine then (tests/container).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/plan/dice.hpp"

namespace tests {

// Few names, so that states meet each other. "d" are mostly folders, "l" links to folders, "f" files.
namespace names {
inline constexpr const char* kPlace = "/srv/t";
inline const std::vector<std::string> kFolders{"d1", "d2", "d3"};
inline const std::vector<std::string> kLinks{"l1", "l2"};
inline const std::vector<std::string> kFiles{"f1", "f2"};
inline const std::vector<std::string> kContents{"one\n", "two\n", "three\n"};
// The first brings files under its own name and another, and a service; the second makes a user, "pkg".
inline const std::vector<std::string> kPackages{"plan-test-a", "plan-test-b"};
// The first is there from the start, the second comes with a package, the third is written by recipes.
inline const std::vector<std::string> kServices{"plan-svc-1", "plan-svc-2", "plan-svc-3"};
std::string folder(Dice& dice);  // below kPlace, one or two deep, by way of a link now and then
std::string file(Dice& dice);
std::string link(Dice& dice);
std::string any(Dice& dice);
// What packages, accounts and other states have to do with, too.
std::string file_elsewhere(Dice& dice);
std::string folder_elsewhere(Dice& dice);
}  // namespace names

// A service that does nothing: a unit where systemd runs, else an init script. The second one cannot reload.
bool has_systemd();
std::string service_path(const std::string& name);
std::string service_text(const std::string& name);

class RandomMachine {
 public:
  // `root`: "" is the running system.
  explicit RandomMachine(std::string root);

  const std::string& root() const { return root_; }
  bool is_running_system() const { return root_.empty(); }
  // Packages of our own, in a repository of our own, can be installed.
  bool has_packages() const { return has_packages_; }
  bool has_services() const { return is_running_system(); }

  // As it was, and then filled anew.
  void reset(Dice& dice);
  // Somebody changes a few things.
  void disturb(Dice& dice);
  // Packages may have been touched.
  void used_packages() { packages_used_ = true; }
  // Services may have been touched.
  void used_services() { services_used_ = true; }
  // What is there, for people.
  std::string listing() const;

 private:
  std::string at(const std::string& path) const { return root_ + path; }
  void list(const std::string& folder, std::string& text) const;
  void put_something(const std::string& path, char kind, Dice& dice);
  void keep_accounts();
  void make_repository();
  void reset_services();

  std::string root_;
  std::vector<std::pair<std::string, std::string>> accounts_;  // files of /etc, with their content
  bool has_packages_ = false;
  bool packages_used_ = false;
  bool services_used_ = true;
};

// Writes a file with the folders that it needs.
void write_text(const std::string& path, const std::string& text);
std::string read_text(const std::string& path);

}  // namespace tests
