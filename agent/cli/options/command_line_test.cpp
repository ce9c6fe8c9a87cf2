#include "agent/cli/options/command_line.hpp"

#include <algorithm>
#include <fstream>
#include <map>

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "terminal/command_help.hpp"
#include "tests/support/state_harness.hpp"

namespace {

using agent::cli::Options;

// A command line with an environment and a config file of its own.
struct CommandLine {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
  std::string config;  // the text of the default config file; empty: there is none

  base::Result<Options> parse() const {
    tests::StateHarness scratch;
    const std::string path = scratch.root() + "/opsagent.conf";
    if (!config.empty()) std::ofstream(path) << config;
    return agent::cli::parse_options({.arguments = arguments,
                                      .environment = [this](const char* name) -> const char* {
                                        const auto found = environment.find(name);
                                        return found == environment.end() ? nullptr : found->second.c_str();
                                      },
                                      .default_config = path});
  }
  Options options() const {
    auto parsed = parse();
    if (!parsed) FAIL(parsed.error().message());
    return *parsed;
  }
  std::string problem() const {
    auto parsed = parse();
    return parsed ? "" : parsed.error().message();
  }
};

}  // namespace

TEST_CASE("options may stand before and behind the recipe") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"plan", "web.yaml", "--json", "--root", "/mnt"},
        std::vector<std::string>{"plan", "--json", "--root=/mnt", "web.yaml"},
        std::vector<std::string>{"plan", "--root", "/mnt", "--json", "--", "web.yaml"}}) {
    const Options options = CommandLine{.arguments = arguments}.options();
    CHECK(options.command->name == "plan");
    CHECK(options.argument() == "web.yaml");
    CHECK(options.json);
    CHECK(options.root == "/mnt");
  }
}

TEST_CASE("a lone dash is a recipe on standard input") {
  CHECK(CommandLine{.arguments = {"validate", "-"}}.options().argument() == "-");
}

TEST_CASE("the command line wins over the environment, which wins over the config file") {
  CommandLine line{.arguments = {"run"},
                   .environment = {},
                   .config = "state_dir = /file\nround_delay = 10\nrecipe = /file.yaml\n"};
  CHECK(line.options().state_dir == "/file");
  CHECK(line.options().round_delay == std::chrono::seconds(10));
  line.environment["OPSAGENT_STATE_DIR"] = "/environment";
  line.environment["OPSAGENT_ROUND_DELAY"] = "20";
  CHECK(line.options().state_dir == "/environment");
  line.arguments = {"run", "--state-dir", "/line"};
  CHECK(line.options().state_dir == "/line");
  CHECK(line.options().round_delay == std::chrono::seconds(20));
  CHECK(line.options().recipe == "/file.yaml");
}

TEST_CASE("options that may be given several times merge") {
  const CommandLine line{.arguments = {"apply", "--assume-done", "a", "x.yaml", "--assume-done=b"},
                         .environment = {{"OPSAGENT_ASSUME_DONE", "c"}},
                         .config = "--assume-done=d\nassume_done = e\n"};
  const Options options = line.options();
  CHECK(options.argument() == "x.yaml");
  CHECK(options.assume_done == std::vector<std::string>{"d", "e", "c", "a", "b"});
}

TEST_CASE("flags take words for true and false in environment and config file") {
  CHECK(CommandLine{.arguments = {"plan", "x"}, .environment = {}, .config = "json = yes\n"}.options().json);
  CHECK(CommandLine{.arguments = {"plan", "x"}, .environment = {}, .config = "--json\n"}.options().json);
  CHECK_FALSE(
      CommandLine{.arguments = {"plan", "x"}, .environment = {{"OPSAGENT_JSON", "off"}}, .config = "--json\n"}
          .options()
          .json);
}

TEST_CASE("the original's configuration is understood, and nothing in it is an option of ours by its name") {
  const CommandLine line{
      .arguments = {"run"},
      .environment = {},
      .config = "[global]\ntoken = /etc/t\n[module]\nroot = /var/m\n[runtime]\ndelay = 3\n"};
  const Options options = line.options();
  CHECK(options.root.empty());
  CHECK(options.token_file == "/etc/t");
  CHECK(options.round_delay == std::chrono::seconds(180));
  REQUIRE(options.remarks.size() == 1);
  CHECK(options.remarks[0].find("[module] root") != std::string::npos);
  CHECK(CommandLine{.arguments = {"run"}, .environment = {}, .config = "root = /mnt\n"}
            .options()
            .remarks.empty());
}

TEST_CASE("the original's way to be called is understood") {
  const Options options =
      CommandLine{.arguments = {"-l", "/var/log/a.log", "-q", "-d", "start", "--recipe", "x.yaml"}}.options();
  CHECK(options.command->name == "run");
  CHECK(options.log_file == "/var/log/a.log");
  CHECK(options.log_level == terminal::LogLevel::warning);
  CHECK(options.recipe == "x.yaml");
  CHECK(options.background);
  CHECK_FALSE(CommandLine{.arguments = {"-d", "status"}}.options().background);
  CHECK(CommandLine{.arguments = {"-q", "plan", "x"}}.options().quiet);
  CHECK(CommandLine{.arguments = {"start"}}.options().command->name == "run");
  CHECK(CommandLine{.arguments = {"-x", "start"}}.problem() != "");
  CHECK(CommandLine{.arguments = {"-q"}}.problem() != "");
}

TEST_CASE("a config file serves all commands, and is checked whole") {
  CommandLine line{
      .arguments = {"validate", "x"}, .environment = {}, .config = "round_delay = 60\nroot = /mnt\n"};
  CHECK(line.problem() == "");
  line.config = "[main]\nround_delay = soon\nsate_dir = /x\nroot = /a\nroot = /b\n";
  const std::string problem = line.problem();
  CHECK(problem.find(":2: 'round-delay' must be a number of seconds") != std::string::npos);
  CHECK(problem.find(":3: unknown option 'sate-dir'; did you mean 'state-dir'?") != std::string::npos);
  CHECK(problem.find(":5: 'root' is set twice; first in line 4") != std::string::npos);
}

TEST_CASE("a config file that is named must be there") {
  CHECK(CommandLine{.arguments = {"plan", "x", "--config", "/nonexistent/agent.conf"}}.problem().find(
            "/nonexistent/agent.conf") != std::string::npos);
}

TEST_CASE("a mistyped command or option is answered with the nearest one") {
  CHECK(CommandLine{.arguments = {"paln", "x"}}.problem().find("did you mean 'plan'?") != std::string::npos);
  CHECK(CommandLine{.arguments = {"plan", "--josn", "x"}}.problem().find("did you mean '--json'?") !=
        std::string::npos);
  CHECK(CommandLine{.arguments = {"plan", "--state-dri=/x", "x"}}.problem().find(
            "did you mean '--state-dir'?") != std::string::npos);
  CHECK(CommandLine{.arguments = {"plan", "a", "b"}}.problem().find("'b' is one argument too many") !=
        std::string::npos);
  CHECK(CommandLine{.arguments = {"--json", "plan"}}.problem().find("options come behind the command") !=
        std::string::npos);
}

TEST_CASE("a value that an option cannot have is refused with what it can") {
  CHECK(CommandLine{.arguments = {"plan", "x", "--color", "blue"}}.problem() ==
        "--color must be auto, always or never, not 'blue'");
  CHECK(CommandLine{.arguments = {"run", "--round-delay", "0"}}.problem().find("1 to 2592000") !=
        std::string::npos);
  CHECK(CommandLine{.arguments = {"plan", "x", "--root"}}.problem() != "");
  CHECK(CommandLine{.arguments = {"plan", "x"}, .environment = {{"OPSAGENT_COLOR", "blue"}}}.problem() ==
        "OPSAGENT_COLOR must be auto, always or never, not 'blue'");
}

TEST_CASE("help and version need nothing else to be right") {
  CHECK(
      CommandLine{.arguments = {"plan", "--help"}, .environment = {}, .config = "nonsense\n"}.options().help);
  CHECK(CommandLine{.arguments = {"--version"}}.options().version);
  CHECK(CommandLine{.arguments = {"help", "apply"}}.options().command->name == "apply");
}

TEST_CASE("every command's help names its options and shows examples") {
  const terminal::CommandTable& table = agent::cli::command_table();
  for (const terminal::CommandRow& row : table.commands) {
    const std::string help = terminal::help_text(table, &row);
    CHECK(help.find("Usage: opsagent " + std::string(row.name)) == 0);
    CHECK(help.find("Examples:") != std::string::npos);
    for (const terminal::OptionRow& option : table.options)
      CHECK(
          (help.find("--" + std::string(option.name)) != std::string::npos || !table.applies(option, &row)));
  }
}

TEST_CASE("every option that a command of opsagent names exists, and every option belongs to a command") {
  const terminal::CommandTable& table = agent::cli::command_table();
  for (const terminal::CommandRow& row : table.commands) {
    for (const std::string_view name : base::split_words(row.options))
      CHECK_MESSAGE(table.find_option(name), row.name << ": " << name);
    CHECK_MESSAGE((row.run != nullptr), row.name);
    CHECK_MESSAGE((row.least > 0) == !row.question.empty(), row.name);
  }
  for (const terminal::OptionRow& option : table.options)
    CHECK_MESSAGE(
        (option.scope == terminal::Scope::top ||
         std::ranges::any_of(table.commands, [&](const auto& row) { return table.applies(option, &row); })),
        option.name);
}
