// The rules of a .dockerignore file: which files of a folder are no part of what is sent to the engine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace states::linux_docker_built {

class IgnoreRules {
 public:
  // One pattern a line: "*", "?", "[a-z]" within a name, "**" for any folders, "!" takes back. "#" begins a
  // remark. The last pattern that fits counts; one that fits a folder fits all below it.
  static IgnoreRules parse(std::string_view text);

  // `path`: relative, "src/a.c". The Dockerfile and .dockerignore themselves are always sent.
  bool ignores(std::string_view path) const;
  // Nothing below an ignored folder can be taken back, so it need not be looked into.
  bool may_skip_folders() const { return !takes_back_; }

 private:
  struct Rule {
    std::vector<std::string> parts;
    bool takes_back = false;
  };
  std::vector<Rule> rules_;
  bool takes_back_ = false;
};

}  // namespace states::linux_docker_built
