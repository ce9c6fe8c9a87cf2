#include "modules/module_set.hpp"

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "modules/closed_tree.hpp"
#include "tests/support/other_user.hpp"
#include "tests/support/scratch_folder.hpp"

namespace modules {

namespace {

void write_module(const tests::ScratchFolder& scratch, const std::string& folder, const std::string& name) {
  scratch.write("modules/" + folder + "/run", "#!/bin/sh\n");
  ::chmod((scratch / ("modules/" + folder + "/run")).c_str(), 0755);
  scratch.write("modules/" + folder + "/module.json",
                R"({"name": ")" + name + R"(", "version": "1.0", "command": ["./run"],
                "schema": {"type": "object", "description": "What it is for."}})");
}

std::string said(const ModuleSet::Read& read) {
  return base::join(read.problems, "\n");
}

}  // namespace

TEST_CASE("a folder of modules is read by its manifests") {
  const tests::ScratchFolder scratch;
  write_module(scratch, "b", "acme.b");
  write_module(scratch, "a", "acme.a");
  scratch.write("modules/a/README.md", "# The page\n");
  scratch.write("modules/shared/library.sh", "");
  scratch.write("compat.txt", ">= 99\n");
  const ModuleSet::Read read = ModuleSet::read(scratch.path());
  CHECK(said(read).empty());
  REQUIRE(read.set.modules().size() == 2);
  CHECK(read.set.modules()[0].manifest->name == "acme.a");
  CHECK(read.set.modules()[0].page == "# The page\n");
  CHECK(read.set.find("acme.b")->page == "What it is for.");
  CHECK(read.set.find("acme.c") == nullptr);
  CHECK(read.set.compat().refusal("0.1.0") == "modules are not compatible with agent 0.1.0: needs >= 99");
}

TEST_CASE("a repository with compat.txt and no modules is a set of none") {
  const tests::ScratchFolder scratch;
  scratch.write("compat.txt", ">= 0.1\n");
  const ModuleSet::Read read = ModuleSet::read(scratch.path());
  CHECK(said(read).empty());
  CHECK(read.set.modules().empty());
}

TEST_CASE("all problems of all modules are said at once") {
  const tests::ScratchFolder scratch;
  write_module(scratch, "a", "acme.a");
  write_module(scratch, "b", "acme.a");
  write_module(scratch, "c", "acme.c");
  std::filesystem::remove(scratch / "modules/c/run");
  write_module(scratch, "d", "acme.d");
  ::chmod((scratch / "modules/d/run").c_str(), 0644);
  scratch.write("modules/e/module.json", "{");
  scratch.write("compat.txt", "nonsense");
  const std::string problems = said(ModuleSet::read(scratch.path()));
  CHECK(problems.find("compat.txt:1:1: 'nonsense'") != std::string::npos);
  CHECK(problems.find("b/module.json: the name 'acme.a' is used twice") != std::string::npos);
  CHECK(problems.find("c/run, does not exist") != std::string::npos);
  CHECK(problems.find("is not executable; chmod +x " + (scratch / "modules/d/run")) != std::string::npos);
  CHECK(problems.find("e/module.json:1:2:") != std::string::npos);
}

TEST_CASE("a module with a native state's name is refused unless it is said to win") {
  const tests::ScratchFolder scratch;
  write_module(scratch, "file", "linux.file");
  const ModuleSet::Read read = ModuleSet::read(scratch.path());
  std::vector<std::string> problems;
  CHECK(without_replaced(states::native_states(), read.set, {}, problems).size() ==
        states::native_states().size());
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].find("'linux.file' is the name of the native state 'linux.file'") != std::string::npos);
  CHECK(problems[0].ends_with("--module-wins linux.file"));
  problems.clear();
  const std::vector<std::string> winners{"linux.file"};
  CHECK(without_replaced(states::native_states(), read.set, winners, problems).size() ==
        states::native_states().size() - 1);
  CHECK(problems.empty());
}

TEST_CASE("a folder that others can change, anywhere in it, is refused") {
  if (::geteuid() != 0) return;
  const tests::ScratchFolder scratch;
  write_module(scratch, "a", "acme.a");
  const std::string run = scratch / "modules/a/run";
  const std::string folder = scratch / "modules/a";
  REQUIRE(closed_tree(scratch.path()));
  const auto refused = [&](const std::string& named) {
    auto tree = closed_tree(scratch.path());
    return !tree && tree.error().message().find(named) != std::string::npos;
  };
  SUBCASE("a program that everybody may write") {
    ::chmod(run.c_str(), 0777);
    CHECK(refused(run + " can be changed by others"));
  }
  SUBCASE("a program that another user owns") {
    REQUIRE(::chown(run.c_str(), tests::kOtherUser, 0) == 0);
    CHECK(refused(run));
  }
  SUBCASE("a folder that everybody may write to") {
    ::chmod(folder.c_str(), 0777);
    CHECK(refused(folder));
  }
  SUBCASE("the folder itself") {
    REQUIRE(::chown(scratch.path().c_str(), tests::kOtherUser, 0) == 0);
    CHECK_FALSE(closed_tree(scratch.path()));
  }
  SUBCASE("a link that leads out of it") {
    scratch.link("modules/a/shell", "/bin/sh");
    CHECK(refused("is a link that leads out of"));
  }
  SUBCASE("a link that stays in it is fine") {
    scratch.link("modules/a/again", "run");
    CHECK(closed_tree(scratch.path()));
  }
}

}  // namespace modules
