#include "base/programs/conversation.hpp"

#include <signal.h>

#include <thread>

#include <doctest/doctest.h>

#include "base/text.hpp"

namespace base {

namespace {

using std::chrono::milliseconds;
using What = Conversation::Heard::What;

std::unique_ptr<Conversation> talk_to(const std::string& script, View view = View::all) {
  Command command{.argv = {"/bin/sh", "-c", script}, .env = clean_environment()};
  command.talks = true;
  command.view = view;
  command.term_grace = milliseconds(200);
  auto started = Conversation::start(std::move(command), 1000);
  REQUIRE(started);
  return std::move(*started);
}

Conversation::Heard ask(Conversation& program, std::string_view said,
                        milliseconds within = std::chrono::seconds(10)) {
  return program.exchange(said, Conversation::Clock::now() + within, nullptr, {});
}

}  // namespace

TEST_CASE("a program that talks is told lines and answers lines; what it prints is output") {
  auto program = talk_to("while read -r line <&3; do echo \"printed $line\"; echo \"heard $line\" >&4; done");
  std::string printed;
  const Conversation::Output output = [&](Stream, std::string_view data) { printed += data; };
  for (const char* word : {"one", "two"}) {
    const auto heard = program->exchange(
        std::string(word) + "\n", Conversation::Clock::now() + std::chrono::seconds(10), nullptr, output);
    REQUIRE(heard.what == What::line);
    CHECK(heard.line == "heard " + std::string(word));
  }
  CHECK(printed == "printed one\nprinted two\n");
  CHECK_FALSE(program->has_more());
}

TEST_CASE("a request that is larger than a pipe is told whole") {
  auto program = talk_to("head -c 1000000 <&3 | wc -c >&4; sleep 100");
  const auto heard = ask(*program, std::string(1'000'000, 'x'));
  REQUIRE(heard.what == What::line);
  CHECK(trim(heard.line) == "1000000");
}

TEST_CASE("what becomes of a program that does not answer is told") {
  CHECK(ask(*talk_to("sleep 100"), "x\n", milliseconds(50)).what == What::late);
  CHECK(ask(*talk_to("head -c 3000 /dev/zero >&4; sleep 100"), {}).what == What::too_long);
  CHECK(ask(*talk_to("exec 4>&-; sleep 100"), {}).what == What::silent);
  auto ended = talk_to("exit 3");
  CHECK(ask(*ended, {}).what == What::ended);
  CHECK(ended->ending() == "exited with status 3");
  Command missing{.argv = {"/no/such/program"}, .env = clean_environment()};
  missing.talks = true;
  auto started = Conversation::start(std::move(missing), 1000);
  REQUIRE(started);
  CHECK(ask(**started, {}).what == What::not_started);
  CHECK((*started)->start_failure().message() == "program '/no/such/program' not found");
}

TEST_CASE("letting go of a conversation ends all that the program has started") {
  auto program = talk_to("(setsid sleep 1000) & echo $! >&4; exit 0");
  const auto heard = ask(*program, {});
  REQUIRE(heard.what == What::line);
  const auto pid = static_cast<pid_t>(parse_integer(trim(heard.line)).value_or(0));
  REQUIRE(pid > 0);
  program.reset();
  CHECK(::kill(pid, 0) != 0);
}

TEST_CASE("a program with a read-only view changes nothing, whatever it tries") {
  auto program = talk_to(
      "if true > /tmp/opsagent-view-test || mount -o remount,rw /; then echo wrote >&4; else echo kept >&4; "
      "fi; sleep 100",
      View::read_only_offline);
  const auto heard = ask(*program, {});
  REQUIRE(heard.what == What::line);
  CHECK(heard.line == "kept");
}

}  // namespace base
