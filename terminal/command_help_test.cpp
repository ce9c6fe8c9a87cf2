#include "terminal/command_help.hpp"

#include <array>

#include <doctest/doctest.h>

#include "terminal/completion.hpp"

namespace {

using terminal::CommandRow;
using terminal::CommandTable;
using terminal::OptionRow;
using terminal::Scope;
using terminal::ValueKind;

constexpr std::array kHelpOptions{
    OptionRow{.name = "root",
              .letter = 'r',
              .kind = ValueKind::folder,
              .placeholder = "DIR",
              .doc = "where it is [a:b]"},
    OptionRow{.name = "how",
              .kind = ValueKind::text,
              .placeholder = "HOW",
              .doc = "fast|slow",
              .choices = "fast slow"},
    OptionRow{.name = "server",
              .kind = ValueKind::text,
              .placeholder = "HOST:PORT",
              .doc = "whom to ask",
              .scope = Scope::every,
              .configurable = true},
    OptionRow{.name = "help", .letter = 'h', .doc = "show this text", .scope = Scope::every},
    OptionRow{.name = "version", .doc = "show the version", .scope = Scope::top},
};
constexpr std::array kHelpCommands{
    CommandRow{.name = "recipe push",
               .arguments = "FILE",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::file,
               .options = "root how",
               .summary = "upload a recipe",
               .description = "Sends it.\n\nIt's stored.",
               .examples = "tool recipe push web.yaml"},
    CommandRow{.name = "top", .summary = "watch", .examples = "tool top"},
};
constexpr CommandTable kHelpTable{.program = "tool",
                                  .options = kHelpOptions,
                                  .commands = kHelpCommands,
                                  .help = {.about = "tool works.\n",
                                           .closing = "Bye.\n",
                                           .command_column = 16,
                                           .option_column = 22,
                                           .summary_first = true,
                                           .top_hint = "lists"},
                                  .options_before_command = true};

}  // namespace

TEST_CASE("help lists commands and options, each where it applies") {
  CHECK(terminal::help_text(kHelpTable, nullptr) ==
        "tool works.\n"
        "\nCommands:\n"
        "  recipe push   upload a recipe\n"
        "  top           watch\n"
        "\nOptions for all commands:\n"
        "      --server HOST:PORT whom to ask\n"
        "  -h, --help          show this text\n"
        "      --version       show the version\n"
        "\nBye.\n");
  CHECK(terminal::help_text(kHelpTable, kHelpTable.find_command("recipe push")) ==
        "Usage: tool recipe push FILE [OPTIONS]\n"
        "\nUpload a recipe.\n"
        "\nSends it.\n\nIt's stored.\n"
        "\nOptions:\n"
        "  -r, --root DIR      where it is [a:b]\n"
        "      --how HOW       fast|slow\n"
        "\nOptions for all commands:\n"
        "      --server HOST:PORT whom to ask\n"
        "  -h, --help          show this text\n"
        "\nExamples:\n"
        "  tool recipe push web.yaml\n");
}

TEST_CASE("a group has a help of its own, and other words have none") {
  CHECK(terminal::group_help(kHelpTable, "recipe") ==
        "Usage: tool recipe COMMAND [OPTIONS]\n\nCommands:\n"
        "  recipe push FILE                upload a recipe\n"
        "\n'tool recipe COMMAND --help' explains a command.\n");
  CHECK(terminal::group_help(kHelpTable, "top").empty());
}

TEST_CASE("the reference page has the options once, with their variables, and a section for each command") {
  CHECK(terminal::reference_sections(kHelpTable) ==
        "## Options for all commands\n"
        "\n| option | what it does |\n|---|---|\n"
        "| `--server HOST:PORT` | whom to ask; `TOOL_SERVER` |\n"
        "| `--help`, `-h` | show this text |\n"
        "\n## recipe push\n\n`tool recipe push FILE`: upload a recipe.\n"
        "\nSends it.\n\nIt's stored.\n"
        "\n| option | what it does |\n|---|---|\n"
        "| `--root DIR`, `-r` | where it is [a:b] |\n"
        "| `--how HOW` | fast\\|slow |\n"
        "\n```sh\ntool recipe push web.yaml\n```\n"
        "\n## top\n\n`tool top`: watch.\n"
        "\n```sh\ntool top\n```\n");
}

TEST_CASE("completion scripts know commands, options and what their values can be") {
  const std::string bash = *terminal::completion_script(kHelpTable, "bash");
  CHECK(bash.find("compgen -W 'recipe top --help --version'") != std::string::npos);
  CHECK(bash.find("--root|-r) compopt -o filenames; COMPREPLY=($(compgen -d") != std::string::npos);
  CHECK(bash.find("--how) COMPREPLY=($(compgen -W 'fast slow'") != std::string::npos);
  CHECK(bash.find("compgen -W '--root --how --server --help'") != std::string::npos);
  const std::string zsh = *terminal::completion_script(kHelpTable, "zsh");
  CHECK(zsh.find("'--root[where it is \\[a\\:b\\]]:DIR:_files -/'") != std::string::npos);
  CHECK(zsh.find("'--server[whom to ask]:HOST\\:PORT:'") != std::string::npos);
  CHECK(zsh.find("'*:FILE:_files'") != std::string::npos);
  const std::string fish = *terminal::completion_script(kHelpTable, "fish");
  CHECK(fish.find("-l how -x -a 'fast slow' -d 'fast|slow'") != std::string::npos);
  CHECK(fish.find("-l root -s r -x -a '(__fish_complete_directories)'") != std::string::npos);
  CHECK(terminal::completion_script(kHelpTable, "csh").error().message() ==
        "there is no completion for 'csh'; there is for bash, zsh and fish");
}
