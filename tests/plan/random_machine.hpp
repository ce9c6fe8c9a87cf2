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
inline const std::vector<std::string> kPackages{"plan-test-a", "plan-test-b"};
std::string folder(Dice& dice);  // below kPlace, one or two deep, by way of a link now and then
std::string file(Dice& dice);
std::string link(Dice& dice);
std::string any(Dice& dice);
}  // namespace names

class RandomMachine {
 public:
  // `root`: "" is the running system.
  explicit RandomMachine(std::string root);

  const std::string& root() const { return root_; }
  bool is_running_system() const { return root_.empty(); }
  // Packages of our own, in a repository of our own, can be installed.
  bool has_packages() const { return has_packages_; }

  // As it was, and then filled anew.
  void reset(Dice& dice);
  // Somebody changes a few things.
  void disturb(Dice& dice);
  // Packages may have been touched.
  void used_packages() { packages_used_ = true; }
  // What is there, for people.
  std::string listing() const;

 private:
  std::string at(const std::string& path) const { return root_ + path; }
  void put_something(const std::string& path, char kind, Dice& dice);
  void keep_accounts();
  void make_repository();

  std::string root_;
  std::vector<std::pair<std::string, std::string>> accounts_;  // files of /etc, with their content
  bool has_packages_ = false;
  bool packages_used_ = false;
};

// Writes a file with the folders that it needs.
void write_text(const std::string& path, const std::string& text);
std::string read_text(const std::string& path);

}  // namespace tests
