#include "backend/server/options.hpp"

#include <map>

#include <doctest/doctest.h>

#include "terminal/command_help.hpp"
#include "terminal/completion.hpp"
#include "tests/support/scratch_folder.hpp"

namespace {

using Environment = std::map<std::string, std::string>;

base::Result<backend::server::Options> parse(std::vector<std::string> arguments,
                                             const Environment& environment = {},
                                             const std::string& config = "/nonexistent") {
  return backend::server::parse_options({.arguments = std::move(arguments),
                                         .environment = [&](const char* name) -> const char* {
                                           const auto found = environment.find(name);
                                           return found == environment.end() ? nullptr
                                                                             : found->second.c_str();
                                         },
                                         .default_config = config});
}

}  // namespace

TEST_CASE("command line wins over environment, which wins over the config file") {
  const tests::ScratchFolder scratch;
  scratch.write("conf", "[backend]\nlisten = 127.0.0.1:1\ndata = /one\nallow_v1 = yes\n");
  const auto options =
      parse({"--listen", "127.0.0.1:3"}, {{"OPSBACKEND_LISTEN", "127.0.0.1:2"}, {"OPSBACKEND_DATA", "/two"}},
            scratch / "conf");
  REQUIRE(options);
  CHECK(options->listen == "127.0.0.1:3");
  CHECK(options->data == "/two");
  CHECK(options->allow_v1);
}

TEST_CASE("the server's names add up, wherever they stand") {
  const tests::ScratchFolder scratch;
  scratch.write("conf", "name = a.example\nname = b.example\n");
  const auto options = parse({"--name", "c.example", "--name", "a.example"}, {}, scratch / "conf");
  REQUIRE(options);
  CHECK(options->names == std::vector<std::string>{"a.example", "b.example", "c.example"});
}

TEST_CASE("nothing configured is a whole configuration") {
  const auto options = parse({});
  REQUIRE(options);
  CHECK(options->listen == "127.0.0.1:8963");
  CHECK(options->data == "./opsbackend-data");
  CHECK_FALSE(options->allow_v1);
}

TEST_CASE("mistakes are all named, with what was probably meant") {
  CHECK(parse({"--lisen", "x"}).error().message().find("did you mean '--listen'?") != std::string::npos);
  CHECK(parse({"run"}).error().message().find("takes options only") != std::string::npos);
  CHECK(parse({"--retention-days", "0"}).error().message().find("--retention-days must be") !=
        std::string::npos);
  const tests::ScratchFolder scratch;
  scratch.write("conf", "lisen = x\nreport = some\nlog_level = loud\nlog_level = info\n");
  const std::string all = parse({}, {}, scratch / "conf").error().message();
  CHECK(all.find(":1: unknown option 'lisen'; did you mean 'listen'?") != std::string::npos);
  CHECK(all.find(":2: 'report' must be all or changes, not 'some'") != std::string::npos);
  CHECK(all.find(":3: 'log-level' must be") != std::string::npos);
  CHECK(all.find(":4: 'log-level' is set twice; first in line 3") != std::string::npos);
}

TEST_CASE("the help names every option") {
  const terminal::CommandTable& table = backend::server::command_table();
  const std::string help = terminal::help_text(table, nullptr);
  for (const auto& row : table.options)
    CHECK(help.find("--" + std::string(row.name)) != std::string::npos);
}

TEST_CASE("completion is a command, and needs no other option to be right") {
  const auto options = parse({"completion", "zsh"});
  REQUIRE(options);
  CHECK(options->command->name == "completion");
  CHECK(options->argument() == "zsh");
  CHECK(parse({"completion", "zsh", "--data", "x"})
            .error()
            .message()
            .find("no option '--data' for 'completion'") != std::string::npos);
  const terminal::CommandTable& table = backend::server::command_table();
  for (const char* shell : {"bash", "zsh", "fish"})
    for (const auto& row : table.options)
      CHECK_MESSAGE(
          terminal::completion_script(table, shell)->find(std::string(row.name)) != std::string::npos,
          shell << " " << row.name);
}
