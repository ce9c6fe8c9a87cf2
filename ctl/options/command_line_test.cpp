#include "ctl/options/command_line.hpp"

#include <map>

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "ctl/commands/commands.hpp"
#include "terminal/command_help.hpp"
#include "terminal/completion.hpp"

namespace {

using ctl::Options;

struct CommandLine {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment = {};

  base::Result<Options> parse() const {
    return ctl::parse_options(
        {.arguments = arguments, .environment = [this](const char* name) -> const char* {
           const auto found = environment.find(name);
           return found == environment.end() ? nullptr : found->second.c_str();
         }});
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

TEST_CASE("commands of two words, with options before and behind") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"-o", "json", "recipe", "push", "web", "web.yaml", "--wait"},
        std::vector<std::string>{"--format=json", "recipe", "push", "--wait", "web", "web.yaml"},
        std::vector<std::string>{"recipe", "push", "web", "-ojson", "-w", "--", "web.yaml"}}) {
    const Options options = CommandLine{arguments}.options();
    CHECK(options.command->name == "recipe push");
    CHECK(options.arguments == std::vector<std::string>{"web", "web.yaml"});
    CHECK(options.format == ctl::Format::json);
    CHECK(options.wait);
  }
}

TEST_CASE("the command line wins over the environment") {
  CHECK(CommandLine{{"agents"}, {{"OPSCTL_SERVER", "http://a"}}}.options().server == "http://a");
  CHECK(CommandLine{{"agents", "--server", "http://b"}, {{"OPSCTL_SERVER", "http://a"}}}.options().server ==
        "http://b");
  CHECK(CommandLine{{"agents"}, {{"OPSCTL_FORMAT", "xml"}}}.problem().starts_with(
      "OPSCTL_FORMAT must be table, json or yaml"));
}

TEST_CASE("mistakes are answered with what was probably meant") {
  CHECK(CommandLine{{"agent"}}.problem().starts_with("what with it? opsctl agent show|tag|forget"));
  CHECK(CommandLine{{"agnets"}}.problem().find("did you mean 'agents'?") != std::string::npos);
  CHECK(CommandLine{{"recipe", "pusch", "x"}}.problem().find("did you mean 'recipe push'?") !=
        std::string::npos);
  CHECK(CommandLine{{"agents", "--onlin"}}.problem().find("did you mean '--online'?") != std::string::npos);
  CHECK(CommandLine{{"agents", "x"}}.problem().find("one argument too many") != std::string::npos);
  CHECK(CommandLine{{"agent", "show"}}.problem().find("opsctl agent show INSTANCE") != std::string::npos);
  CHECK(CommandLine{{"agents", "--limit", "0"}}.problem().find("--limit must be a number from 1 on") !=
        std::string::npos);
  CHECK(CommandLine{{"watch", "--wait"}}.problem().find("there is no option '--wait' for 'watch'") !=
        std::string::npos);
}

TEST_CASE("help needs no arguments") {
  CHECK(CommandLine{{"agent", "show", "--help"}}.options().help);
  CHECK(CommandLine{{"recipe", "--help"}}.options().group == "recipe");
  CHECK(CommandLine{{"--help"}}.options().help);
  CHECK(CommandLine{{"--version"}}.options().version);
}

TEST_CASE("every option that a command names exists, and every option belongs to a command") {
  const terminal::CommandTable& table = ctl::command_table();
  for (const terminal::CommandRow& command : table.commands) {
    for (const std::string_view name : base::split_words(command.options))
      CHECK_MESSAGE(table.find_option(name), command.name << ": " << name);
    CHECK_MESSAGE((command.run != nullptr), command.name);
    CHECK_MESSAGE(command.least <= command.most, command.name);
  }
  for (const terminal::OptionRow& row : table.options)
    CHECK_MESSAGE((row.scope == terminal::Scope::top ||
                   std::ranges::any_of(table.commands,
                                       [&](const auto& command) { return table.applies(row, &command); })),
                  row.name);
}

TEST_CASE("the examples of the help are accepted") {
  for (const terminal::CommandRow& command : ctl::command_rows())
    for (const std::string_view example : base::split(command.examples, '\n')) {
      if (example.find_first_of("'|>$<;") != std::string_view::npos || !example.starts_with("opsctl "))
        continue;
      CommandLine line;
      for (const std::string_view word : base::split_words(example.substr(7)))
        line.arguments.emplace_back(word);
      CHECK_MESSAGE(line.problem() == "", example);
    }
}

TEST_CASE("help, completion and reference know every command and option") {
  const terminal::CommandTable& table = ctl::command_table();
  const std::string reference = ctl::reference_page();
  const std::string top_help = terminal::help_text(table, nullptr);
  for (const terminal::CommandRow& command : table.commands) {
    CHECK_MESSAGE(top_help.find("  " + std::string(command.name) + " ") != std::string::npos, command.name);
    CHECK_MESSAGE(reference.find("## " + std::string(command.name) + "\n") != std::string::npos,
                  command.name);
    const std::string help = terminal::help_text(table, &command);
    for (const terminal::OptionRow& row : table.options)
      CHECK((help.find("--" + std::string(row.name)) != std::string::npos) >= table.applies(row, &command));
  }
  for (const char* shell : {"bash", "zsh", "fish"})
    for (const terminal::OptionRow& row : table.options)
      CHECK_MESSAGE(
          terminal::completion_script(table, shell)->find(std::string(row.name)) != std::string::npos,
          shell << " " << row.name);
  CHECK_FALSE(terminal::completion_script(table, "tcsh"));
}
