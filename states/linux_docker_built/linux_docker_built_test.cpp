#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "base/interrupt.hpp"
#include "states/linux_docker_built/build_context.hpp"
#include "states/state.hpp"
#include "tests/support/apt_machine.hpp"
#include "tests/support/download_bench.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_docker_built {
extern const StateType& kState;
}

namespace {

using states::linux_docker_built::BuildContext;
using states::linux_docker_built::IgnoreRules;
using states::linux_docker_built::kState;
using tests::shell;
using tests::StateHarness;

// What a real tar makes of the folder as the engine would get it.
std::string listed(StateHarness& machine, const std::string& rules = {}) {
  tests::Flag stop;
  base::UniqueFd folder(::open((machine.root() + "/f").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  auto context = BuildContext::open(std::move(folder), IgnoreRules::parse(rules), stop);
  if (!context) return context.error().message();
  std::string tar;
  for (;;) {
    auto piece = context->next();
    if (!piece) return piece.error().message();
    if (piece->empty()) break;
    tar += *piece;
  }
  machine.write("/tar", tar);
  return shell("rm -rf " + machine.root() + "/out; mkdir " + machine.root() + "/out; tar -xpf " +
               machine.root() + "/tar -C " + machine.root() + "/out && cd " + machine.root() +
               "/out && find . -mindepth 1 -printf '%P %y %m %l\\n' | sort");
}

}  // namespace

TEST_CASE("linux.docker.built: a folder is sent as tar reads it, links as links, long names whole") {
  StateHarness machine;
  const std::string deep = std::string(90, 'd') + "/" + std::string(90, 'e');
  shell("mkdir -p " + machine.root() + "/f/" + deep + " && cd " + machine.root() +
        "/f && printf one >a && chmod 4755 a && ln -s /etc/shadow link && ln -s " + std::string(150, 'x') +
        " far && mkfifo pipe && head -c 100000 /dev/zero | tr '\\0' z >" + deep + "/file && chmod 600 " +
        deep + "/file && chmod 755 . " + std::string(90, 'd') + " " + deep);
  CHECK(listed(machine) == "a f 4755 \n" + std::string(90, 'd') + " d 755 \n" + deep + " d 755 \n" + deep +
                               "/file f 600 \nfar l 777 " + std::string(150, 'x') +
                               "\nlink l 777 /etc/shadow");
  CHECK(machine.read("/out/" + deep + "/file") == std::string(100'000, 'z'));
  CHECK(machine.read("/out/a") == "one");
}

TEST_CASE(
    "linux.docker.built: whoever swaps a folder for a link while it is sent gets nothing of the machine") {
  StateHarness machine;
  shell("mkdir -p " + machine.root() + "/f/sub && printf secret >" + machine.root() +
        "/secret && printf mine >" + machine.root() + "/f/sub/secret && printf x >" + machine.root() +
        "/f/a");
  tests::Flag stop;
  base::UniqueFd folder(::open((machine.root() + "/f").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  auto context = BuildContext::open(std::move(folder), {}, stop);
  REQUIRE(context);
  shell("cd " + machine.root() + "/f && rm -r sub && ln -s .. sub");
  std::string tar, problem;
  while (problem.empty()) {
    auto piece = context->next();
    if (!piece) problem = piece.error().message();
    if (!piece || piece->empty()) break;
    tar += *piece;
  }
  CHECK(problem.starts_with("reading sub/secret"));
  CHECK(tar.find("secret\n") == std::string::npos);
  // Nor does the engine wait for ever for a FIFO in a file's place, or get more than was announced.
  shell("cd " + machine.root() + "/f && rm sub && mkdir sub && mkfifo sub/secret");
  base::UniqueFd again(::open((machine.root() + "/f").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  CHECK(BuildContext::open(std::move(again), {}, stop)->members() == 2);
}

TEST_CASE("linux.docker.built: .dockerignore excludes, and takes back") {
  const auto rules = IgnoreRules::parse(
      "# a "
      "remark\n*.md\n!README.md\n/build\n**/*.o\nsrc/**/test\nlogs/?.txt\n\n./tmp/\n[ab].c\n!build/keep\n");
  for (const char* path : {"a.md", "build", "build/x", "x.o", "a/b/x.o", "src/test", "src/a/b/test",
                           "src/test/deep/file", "logs/1.txt", "tmp", "tmp/x", "a.c", "b.c"})
    CHECK_MESSAGE(rules.ignores(path), path);
  for (const char* path : {"README.md", "sub/a.md", "sub/build", "build/keep", "build/keep/x", "src/tests",
                           "logs/10.txt", "c.c", "Dockerfile", ".dockerignore"})
    CHECK_MESSAGE(!rules.ignores(path), path);
  CHECK_FALSE(rules.may_skip_folders());
  CHECK(IgnoreRules::parse("*\n").ignores("anything"));
  CHECK_FALSE(IgnoreRules::parse("*\n").ignores("Dockerfile"));
  // Patterns that would take a naive matcher for ever.
  std::string many, path;
  for (int i = 0; i < 60; ++i)
    many += "**/", path += "a/";
  CHECK_FALSE(IgnoreRules::parse(many + "z\n").ignores(path + "b"));
}

TEST_CASE("linux.docker.built refuses what is no name or path, before anything runs") {
  StateHarness machine;
  const auto problem = [&](const std::string& tag, const std::string& path, const std::string& more = {}) {
    return machine.problems(kState, R"({"tag": ")" + tag + R"(", "path": ")" + path + "\"" + more + "}");
  };
  CHECK(machine.problems(kState, R"({"tag": "x"})") == "Missing parameter 'path'");
  CHECK(machine.problems(kState, R"({"path": "/x"})") == "Missing parameter 'tag'");
  CHECK(problem("shop/web:1.5", "/srv/web", R"(, "containers": ["web"], "force": true)") == "");
  for (const char* tag : {"-x", "A B",
                          "x@sha256:"
                          "0000",
                          "$(id)", "../x"})
    CHECK_FALSE_MESSAGE(problem(tag, "/srv/web").empty(), tag);
  for (const char* path : {"relative", "-x", "/a/../b"})
    CHECK_FALSE_MESSAGE(problem("web", path).empty(), path);
  CHECK(problem("web", "/srv", R"(, "containers": ["-f"])") == "Illegal value for 'containers': '-f'");
}
