// The conformance kit against the skeletons, and against modules that are broken on purpose.
#include "agent/modules/kit/kit.hpp"

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "agent/modules/kit/skeletons.hpp"
#include "base/programs/process.hpp"
#include "tests/support/module_bench.hpp"

namespace agent::modules {

namespace {

void write_files(const tests::ScratchFolder& scratch, const std::vector<SkeletonFile>& files) {
  for (const SkeletonFile& file : files) {
    scratch.write(file.name, file.text);
    if (file.executable) ::chmod((scratch / file.name).c_str(), 0755);
  }
}

// All that is wrong, a line each: "check: problem".
std::string wrong_with(const std::string& folder, bool applies = true) {
  std::string text;
  for (const Finding& finding :
       check_module(folder, {.applies = applies, .patience = std::chrono::seconds(2)}))
    if (!finding.problem.empty()) {
      text += finding.check + ": " + finding.problem + "\n";
      CHECK_FALSE(finding.mend.empty());
    }
  return text;
}

constexpr const char* kManifest = R"("name": "acme.test", "version": "1.0", "command": ["./run"],
  "schema": {"type": "object", "properties": {"path": {"type": "string"}}})";
constexpr const char* kExample = R"(, "examples": [{"path": "{scratch}/x"}])";

// What a module does that is right; broken ones change a part of it.
constexpr const char* kRight = R"sh(hello
path() { path=${line#*\"path\":\"}; path=${path%%\"*}; }
while next; do
  path
  case $line in
    '{"type":"plan",'*) if [ -e "$path" ]; then kept; else change; fi ;;
    '{"type":"apply",'*) : > "$path"; applied ;;
  esac
done
)sh";

std::string broken(const std::string& script,
                   const std::string& manifest = std::string(kManifest) + kExample) {
  const tests::ScratchFolder scratch;
  write_files(scratch, {{"module.json", "{" + manifest + "}"}, {"run", tests::kShellStart + script, true}});
  return wrong_with(scratch.path());
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("the skeletons pass the conformance kit") {
  for (const char* language : {"sh", "python", "c++"}) {
    CAPTURE(language);
    const tests::ScratchFolder scratch;
    write_files(scratch, skeleton("acme.new", language));
    if (std::string_view(language) == "c++") {
      base::Command build{.argv = {"c++", "-std=c++17", "-o", scratch / "acme.new", scratch / "main.cpp"},
                          .env = base::clean_environment()};
      const auto built = base::run(build);
      REQUIRE(built);
      REQUIRE_MESSAGE(built->ok(), built->output);
    }
    CHECK(wrong_with(scratch.path()) == "");
  }
}

TEST_CASE("each of the broken modules is told what is wrong with it") {
  CHECK(broken(kRight) == "");
  struct Row {
    const char* name;
    std::string found;
    const char* said;
  };
  const std::string right = kRight;
  for (const Row& row : {
           Row{"a manifest with an unknown key", broken(right, std::string(kManifest) + R"(, "tiemout": 5)"),
               "unknown key 'tiemout'; did you mean 'timeout'?"},
           Row{"no example", broken(right, kManifest),
               "it has an example: 'examples' of module.json is empty"},
           Row{"an example that does not fit",
               broken(right, std::string(kManifest) + R"(, "examples": [{"pth": "x"}])"),
               "example 1 fits the schema: Unknown parameter 'pth' of acme.test; did you mean 'path'?"},
           Row{"no hello", broken(replaced(right, "hello\n", "")),
               "it starts and says hello: Module 'acme.test' did not answer in time"},
           Row{"another one's hello",
               broken(replaced(
                   right, "hello\n",
                   "answer '{\"type\":\"hello\",\"protocol\":1,\"module\":\"b\",\"version\":\"1.0\"}'\n")),
               "says that it is 'b'"},
           Row{"it ends after a request",
               broken(replaced(right, "  path\n", "  path\n  echo oh no >&2; exit 4\n")),
               "the plan is answered: Module 'acme.test' exited with status 4 without an answer; it printed: "
               "oh no"},
           Row{"another id", broken(replaced(right, "  path\n", "  path\n  id=5\n")),
               "answered with another id (5)"},
           Row{"two answers",
               broken(replaced(right, "else change; fi", "else x=$(change 4>&1); answer \"$x\n$x\"; fi")),
               "answered twice"},
           Row{"the plan writes",
               broken(replaced(right, "if [ -e \"$path\" ]",
                               "if true 2>/dev/null > \"$path.log\"; [ -e \"$path\" ]")),
               "the plan writes nothing: it wrote to the folder"},
           Row{"it does not converge", broken(replaced(right, ": > \"$path\"; applied", "applied")),
               "after apply the plan says kept: it says something else"},
           Row{"it is late", broken(replaced(right, "  path\n", "  path\n  sleep 30\n")),
               "the plan is answered: Module 'acme.test' did not answer in time"},
           Row{"a malformed request ends it", broken(replaced(right, "  esac", "    *) exit 1 ;;\n  esac")),
               "a malformed request is passed over: it does not answer the next request"},
           Row{"it answers a cancel", broken(replaced(right, "  esac", "    *cancel*) kept ;;\n  esac")),
               "it goes on after a cancel: it "},
           Row{"it prints to descriptor 4",
               broken(replaced(right, "  path\n", "  path\n  answer debugging\n")),
               "the plan is answered: Module 'acme.test' wrote a line to descriptor 4 that is not JSON"},
           Row{"the second apply fails",
               broken(replaced(right, ": > \"$path\"; applied",
                               "if [ -e \"$path\" ]; then exit 7; fi; : > \"$path\"; applied")),
               "apply works again: Module 'acme.test' exited with status 7"},
       }) {
    CAPTURE(row.name);
    CHECK_MESSAGE(row.found.find(row.said) != std::string::npos, row.found);
  }
}

TEST_CASE("with plan only, nothing is applied") {
  const tests::ScratchFolder scratch;
  write_files(scratch, {{"module.json", std::string("{") + kManifest + R"(, "examples": [{"path": ")" +
                                            (scratch / "made") + "\"}]}"},
                        {"run", tests::kShellStart + std::string(kRight), true}});
  CHECK(wrong_with(scratch.path(), false) == "");
  CHECK_FALSE(scratch.exists("made"));
  CHECK(wrong_with(scratch.path(), true) == "");
  CHECK(scratch.exists("made"));
}

}  // namespace agent::modules
