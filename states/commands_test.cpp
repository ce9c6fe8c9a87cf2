#include "states/commands.hpp"

#include <doctest/doctest.h>

namespace {

using states::Commands;

constexpr std::string_view kSecret = "hunter22-is-long-enough";

// A shell with all that Commands has around it, and what was shown of it live.
struct Shell {
  explicit Shell(const base::Redactor* redactor) : redactor_(redactor) {}

  base::Completed run(const std::string& script, std::size_t keep = 64 * 1024) {
    Commands commands(
        Commands::Clock::now() + std::chrono::seconds(60), interrupt_,
        [this](base::Stream, std::string_view text) { live += text; }, {}, redactor_);
    base::Command command;
    command.argv = {"/bin/sh", "-c", script};
    command.keep_head = command.keep_tail = keep;
    auto completed = commands.run(std::move(command));
    REQUIRE(completed);
    truncated = commands.usage().truncated;
    return *completed;
  }

  std::string live;
  bool truncated = false;

 private:
  base::NoInterrupt interrupt_;
  const base::Redactor* redactor_;
};

}  // namespace

TEST_CASE("no half of a secret is left where output is cut, wherever it stands") {
  base::Redactor redactor;
  redactor.add(kSecret);
  for (int before = 0; before < 40; ++before) {
    Shell shell(&redactor);
    const std::string line = std::string(static_cast<std::size_t>(before), '.') + std::string(kSecret);
    const auto completed =
        shell.run("i=0; while [ $i -lt 40 ]; do printf %s " + line + "; i=$((i+1)); done", 40);
    CHECK(shell.truncated);
    for (const std::string& shown : {completed.output, shell.live}) {
      CHECK(shown.find("hunt") == std::string::npos);
      CHECK(shown.find("ough") == std::string::npos);
    }
  }
}

TEST_CASE("a secret in colours is hidden in what is shown live") {
  base::Redactor redactor;
  redactor.add(kSecret);
  Shell shell(&redactor);
  shell.run(R"(printf 'a \033[1;31mhunter22\033[0m-is-\033[Klong-enough b')");
  CHECK(shell.live == "a *** b");
}

TEST_CASE("output that fits is what the program has written: the state reads it") {
  base::Redactor redactor;
  redactor.add(kSecret);
  Shell shell(&redactor);
  CHECK(shell.run("printf '\\033[1mx\\033[0m " + std::string(kSecret) + "'").output ==
        "\x1b[1mx\x1b[0m " + std::string(kSecret));
  CHECK(shell.live == "x ***");
  CHECK_FALSE(shell.truncated);
}

TEST_CASE("output that fits without its escape sequences is not cut") {
  Shell shell(nullptr);
  const auto completed = shell.run(R"(for i in 1 2 3 4; do printf '\033[1;31m\033[0m%s' $i; done)", 10);
  CHECK(completed.output == "1234");
  CHECK_FALSE(shell.truncated);
}
