#include "terminal/command_parser.hpp"

#include <array>
#include <map>
#include <tuple>

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "terminal/option_store.hpp"
#include "tests/support/scratch_folder.hpp"

namespace {

using terminal::CommandRow;
using terminal::CommandTable;
using terminal::OptionRow;
using terminal::Scope;
using terminal::ValueKind;

struct Options : terminal::CommandLine {
  std::string root;
  std::string color;
  std::vector<std::string> tags;
  std::int64_t count = 0;
  bool json = false;
  bool quiet = false;
};

base::Result<void> store_color(Options& options, std::string_view value) {
  if (value != "red" && value != "blue") return terminal::must_be("red or blue", value);
  options.color = value;
  return {};
}

constexpr std::array kOptions{
    OptionRow{.name = "root",
              .letter = 'r',
              .kind = ValueKind::folder,
              .placeholder = "DIR",
              .doc = "where",
              .configurable = true,
              .store = terminal::store_text<&Options::root>},
    OptionRow{.name = "color",
              .kind = ValueKind::text,
              .placeholder = "COLOR",
              .doc = "which",
              .scope = Scope::every,
              .configurable = true,
              .store = terminal::store_by<store_color>},
    OptionRow{.name = "tag",
              .kind = ValueKind::text,
              .placeholder = "TAG",
              .doc = "what",
              .repeatable = true,
              .configurable = true,
              .store = terminal::store_more<&Options::tags>},
    OptionRow{.name = "count",
              .kind = ValueKind::text,
              .placeholder = "N",
              .doc = "how many",
              .configurable = true,
              .store = terminal::store_number<&Options::count, -10, 10>},
    OptionRow{.name = "json",
              .letter = 'j',
              .doc = "for programs",
              .configurable = true,
              .store = terminal::store_flag<&Options::json>},
    OptionRow{.name = "quiet", .letter = 'q', .doc = "less", .store = terminal::store_flag<&Options::quiet>},
    OptionRow{.name = "config",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "from where",
              .store = terminal::store_text<&Options::config>},
    OptionRow{.name = "help",
              .letter = 'h',
              .doc = "this text",
              .scope = Scope::every,
              .store = terminal::store_flag<&Options::help>},
    OptionRow{.name = "version",
              .doc = "show the version",
              .scope = Scope::top,
              .store = terminal::store_flag<&Options::version>},
};

constexpr std::array kPlainCommands{
    CommandRow{.name = "plan",
               .arguments = "FILE",
               .most = 1,
               .options = "root tag count json quiet config",
               .summary = "look"},
    CommandRow{.name = "status", .options = "json", .summary = "say"},
};

constexpr std::array kGroupedCommands{
    CommandRow{.name = "recipe push",
               .arguments = "[NAME] FILE",
               .least = 1,
               .most = 2,
               .options = "root json quiet",
               .summary = "upload"},
    CommandRow{.name = "recipe list", .options = "count", .summary = "list"},
    CommandRow{.name = "agents", .options = "count json", .summary = "list"},
};

constexpr terminal::HelpTexts kTexts{
    .about = "tool works.\n",
    .closing = "Bye.\n",
    .command_column = 10,
    .option_column = 20,
    .top_hint = "lists",
    .command_hint = "explains",
    .commands_hint = "lists commands",
};

// A command first, then its options; a config file. As opsagent.
constexpr CommandTable kPlain{.program = "tool",
                              .default_config = "/nonexistent/tool.conf",
                              .options = kOptions,
                              .commands = kPlainCommands,
                              .help = kTexts};
// Groups of commands, and options before them; no config file. As opsctl.
constexpr CommandTable kGrouped{.program = "tool",
                                .options = kOptions,
                                .commands = kGroupedCommands,
                                .help = kTexts,
                                .options_before_command = true,
                                .counts_arguments_last = true};

constexpr std::array kTopOptions{
    OptionRow{.name = "root",
              .kind = ValueKind::folder,
              .placeholder = "DIR",
              .doc = "where",
              .scope = Scope::top,
              .configurable = true,
              .store = terminal::store_text<&Options::root>},
    OptionRow{.name = "help",
              .letter = 'h',
              .doc = "this text",
              .scope = Scope::every,
              .store = terminal::store_flag<&Options::help>},
};
constexpr std::array kOneCommand{CommandRow{
    .name = "completion", .arguments = "SHELL", .least = 1, .most = 1, .summary = "print a script"}};
// Options only, and one command beside them. As opsbackend.
constexpr CommandTable kServer{.program = "tool",
                               .default_config = "/nonexistent/tool.conf",
                               .options = kTopOptions,
                               .commands = kOneCommand,
                               .help = kTexts,
                               .needs_command = false};

struct Line {
  const CommandTable& table;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment = {};
  std::optional<std::string> config = std::nullopt;

  base::Result<Options> parse() const {
    return terminal::parse_command_line<Options>(
        table, {.arguments = arguments,
                .environment = [this](const char* name) -> const char* {
                  const auto found = environment.find(name);
                  return found == environment.end() ? nullptr : found->second.c_str();
                },
                .default_config = config});
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

// What came out, in one line: "plan root=/a json [x y]".
std::string shown(const Options& options) {
  std::string text(options.command ? options.command->name : "-");
  if (!options.group.empty()) text += " group=" + options.group;
  if (!options.root.empty()) text += " root=" + options.root;
  if (!options.color.empty()) text += " color=" + options.color;
  if (options.count != 0) text += " count=" + std::to_string(options.count);
  if (!options.tags.empty()) text += " tags=" + base::join(options.tags, ",");
  for (const auto& [is_set, name] :
       {std::pair(options.json, " json"), std::pair(options.quiet, " quiet"),
        std::pair(options.help, " help"), std::pair(options.version, " version")})
    if (is_set) text += name;
  if (!options.arguments.empty()) text += " [" + base::join(options.arguments, " ") + "]";
  return text;
}

}  // namespace

TEST_CASE("all ways to write an option") {
  const std::pair<std::vector<std::string>, std::string> kCases[] = {
      {{"plan", "x"}, "plan [x]"},
      {{"plan", "--root", "/a", "x"}, "plan root=/a [x]"},
      {{"plan", "--root=/a", "x"}, "plan root=/a [x]"},
      {{"plan", "--root=a=b", "x"}, "plan root=a=b [x]"},
      {{"plan", "-r", "/a", "x"}, "plan root=/a [x]"},
      {{"plan", "-r/a", "x"}, "plan root=/a [x]"},
      {{"plan", "-r=/a", "x"}, "plan root==/a [x]"},
      {{"plan", "x", "-jq"}, "plan json quiet [x]"},
      {{"plan", "x", "-jqr", "/a"}, "plan root=/a json quiet [x]"},
      {{"plan", "x", "-jr/a"}, "plan root=/a json [x]"},
      {{"plan", "x", "--json=false"}, "plan [x]"},
      {{"plan", "x", "--json="}, "plan json [x]"},
      {{"plan", "x", "--json", "--json=no", "--json=yes"}, "plan json [x]"},
      {{"plan", "--root", "/a", "--root", "/b"}, "plan root=/b"},
      {{"plan", "--tag", "a", "--tag=b"}, "plan tags=a,b"},
      {{"plan", "--count", "-5"}, "plan count=-5"},
      {{"plan", "--root", "--json"}, "plan root=--json"},
      {{"plan", "--root", "--", "x"}, "plan root=-- [x]"},
      {{"plan", "--root=", "x"}, "plan root=x"},
      {{"plan", "--", "--json"}, "plan [--json]"},
      {{"plan", "--json", "--", "--"}, "plan json [--]"},
      {{"plan", "-"}, "plan [-]"},
      {{"plan", ""}, "plan []"},
      {{}, "-"},
      {{"--version"}, "- version"},
      {{"-h"}, "- help"},
      {{"help"}, "- help"},
      {{"help", "status", "whatever"}, "status help"},
      {{"help", "nonsense"}, "- help"},
  };
  for (const auto& [arguments, expected] : kCases)
    CHECK_MESSAGE((shown(Line{kPlain, arguments}.options()) == expected), base::join(arguments, " "));
}

TEST_CASE("commands in groups, with options before and behind them") {
  const std::pair<std::vector<std::string>, std::string> kCases[] = {
      {{"agents"}, "agents"},
      {{"--color", "red", "agents", "--json"}, "agents color=red json"},
      {{"--color=red", "recipe", "push", "a", "-q", "b"}, "recipe push color=red quiet [a b]"},
      {{"recipe", "push", "--", "-x"}, "recipe push [-x]"},
      {{"recipe", "--help"}, "- group=recipe help"},
      {{"recipe", "push", "--help"}, "recipe push help"},
      {{"agents", "too", "many", "--help"}, "agents help [too many]"},
      {{"--version", "agents"}, "- version [agents]"},
      {{"agents", "--version"}, "agents"},
      {{"--help"}, "- help"},
  };
  for (const auto& [arguments, expected] : kCases)
    CHECK_MESSAGE((shown(Line{kGrouped, arguments}.options()) == expected), base::join(arguments, " "));
}

TEST_CASE("every mistake on the command line is named, with what to do") {
  const std::tuple<const CommandTable*, std::vector<std::string>, std::string> kCases[] = {
      {&kPlain, {"paln"}, "there is no command 'paln'; did you mean 'plan'?\n'tool --help' lists commands"},
      {&kPlain,
       {"plan", "--jsno"},
       "there is no option '--jsno' for 'plan'; did you mean '--json'?\n'tool plan --help' explains"},
      {&kPlain, {"plan", "-x"}, "there is no option '-x' for 'plan'\n'tool plan --help' explains"},
      {&kPlain, {"plan", "-jx"}, "there is no option '-x' for 'plan'\n'tool plan --help' explains"},
      {&kPlain, {"plan", "-5"}, "there is no option '-5' for 'plan'\n'tool plan --help' explains"},
      {&kPlain,
       {"plan", "--version"},
       "there is no option '--version' for 'plan'\n'tool plan --help' explains"},
      {&kPlain,
       {"status", "--root", "x"},
       "there is no option '--root' for 'status'\n'tool status --help' explains"},
      {&kPlain, {"plan", "--root"}, "--root: 1 required  missing\n'tool plan --help' explains"},
      {&kPlain, {"plan", "-jr"}, "--root: 1 required  missing\n'tool plan --help' explains"},
      {&kPlain, {"plan", "--bogus", "--root="}, "--root: 1 required  missing\n'tool plan --help' explains"},
      {&kPlain, {"plan", "a", "b"}, "'b' is one argument too many\n'tool plan --help' explains"},
      {&kPlain,
       {"--json", "plan"},
       "there is no option '--json'; options come behind the command\n'tool --help' lists"},
      {&kPlain, {"--help", "plan"}, "the command comes first: tool plan …\n'tool --help' lists"},
      {&kPlain,
       {"plan", "--count", "11", "--color", "green"},
       "--color must be red or blue, not 'green'\n--count must be a number from -10 to 10, not '11'"},
      {&kPlain, {"plan", "--json=maybe"}, "--json must be true or false, not 'maybe'"},
      {&kPlain, {"plan", "--root", ""}, "--root needs a value"},
      {&kGrouped, {"recipe"}, "what with it? tool recipe push|list\n'tool --help' lists"},
      {&kGrouped,
       {"recipe", "psuh"},
       "there is no command 'recipe psuh'; did you mean 'recipe push'?\nthere is: tool recipe "
       "push|list\n'tool --help' lists"},
      {&kGrouped, {"--json", "agents"}, "'--json' cannot stand before the command\n'tool --help' lists"},
      {&kGrouped,
       {"recipe", "push"},
       "something is missing: tool recipe push [NAME] FILE\n'tool recipe push --help' explains"},
      {&kGrouped, {"agents", "x"}, "'x' is one argument too many\n'tool agents --help' explains"},
      {&kGrouped,
       {"agents", "x", "--count", "y"},
       "--count must be a number from -10 to 10, not 'y'\n'tool agents --help' explains"},
      {&kServer, {"run"}, "tool takes options only, not 'run'\n'tool --help' lists"},
      {&kServer,
       {"--root", "/a", "run", "--bogus"},
       "tool takes options only, not 'run'\n'tool --help' lists"},
      {&kServer, {"--rot", "x"}, "there is no option '--rot'; did you mean '--root'?\n'tool --help' lists"},
      {&kServer, {"--"}, "there is no option '--'\n'tool --help' lists"},
      {&kServer,
       {"completion", "--root", "x"},
       "there is no option '--root' for 'completion'\n'tool completion --help' explains"},
  };
  for (const auto& [table, arguments, expected] : kCases)
    CHECK_MESSAGE((Line{*table, arguments}.problem() == expected), base::join(arguments, " "));
}

TEST_CASE("a program without commands takes its options, and its one command") {
  CHECK(shown(Line{kServer, {"--root", "/a"}}.options()) == "- root=/a");
  CHECK(shown(Line{kServer, {}, {{"TOOL_ROOT", "/b"}}}.options()) == "- root=/b");
  CHECK(shown(Line{kServer, {"completion", "bash"}}.options()) == "completion [bash]");
}

TEST_CASE("the command line wins over the environment, the environment over the file, and lists add up") {
  const tests::ScratchFolder scratch;
  scratch.write("conf", "root = /file\ncount = 3\ntag = a\n--tag=b\njson = yes\n");
  Line line{kPlain, {"plan"}, {}, scratch / "conf"};
  CHECK(shown(line.options()) == "plan root=/file count=3 tags=a,b json");
  line.environment = {
      {"TOOL_ROOT", "/environment"}, {"TOOL_TAG", "c"}, {"TOOL_JSON", "off"}, {"TOOL_COUNT", ""}};
  CHECK(shown(line.options()) == "plan root=/environment count=3 tags=a,b,c");
  line.arguments = {"plan", "--root", "/line", "--tag", "d", "--json"};
  CHECK(shown(line.options()) == "plan root=/line count=3 tags=a,b,c,d json");
  line.arguments = {"status"};  // what is for other commands is passed over
  CHECK(shown(line.options()) == "status");
}

TEST_CASE("what only the command line may say is unknown elsewhere") {
  const tests::ScratchFolder scratch;
  scratch.write("conf", "quiet = yes\n");
  const Line line{kPlain, {"plan"}, {{"TOOL_QUIET", "maybe"}}, scratch / "conf"};
  CHECK(line.problem() == (scratch / "conf") + ":1: unknown option 'quiet'");
}

TEST_CASE("a config file is checked whole, and a broken one does not stand in the way of help") {
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "conf";
  scratch.write("conf", "count = many\nrot = /a\n--root\njson = no\njson = yes\n");
  CHECK(Line{kPlain, {"status"}, {}, path}.problem() ==
        path + ":1: 'count' must be a number from -10 to 10, not 'many'\n" + path +
            ":2: unknown option 'rot'; did you mean 'root'?\n" + path + ":3: 'root' needs a value\n" + path +
            ":5: 'json' is set twice; first in line 4");
  CHECK(shown(Line{kPlain, {"status", "--help"}, {}, path}.options()) == "status help");
  CHECK(shown(Line{kPlain, {"--version"}, {}, path}.options()) == "- version");
}

TEST_CASE("a config file that is named must be there, and one that is too large is refused") {
  const tests::ScratchFolder scratch;
  CHECK(Line{kPlain, {"plan"}, {}, scratch / "none"}.problem() == "");
  CHECK(Line{kPlain, {"plan", "--config", scratch / "none"}}.problem().find(scratch / "none") !=
        std::string::npos);
  CHECK(Line{kPlain, {"plan"}, {{"TOOL_CONFIG", scratch / "none"}}}.problem().find(scratch / "none") !=
        std::string::npos);
  scratch.write("large", std::string(2 * 1024 * 1024, '#'));
  CHECK(Line{kPlain, {"plan"}, {}, scratch / "large"}.problem() != "");
}

TEST_CASE(
    "wrong values of the environment are told by the variable's name, also where there is no config file") {
  CHECK(Line{kPlain, {"plan"}, {{"TOOL_COLOR", "green"}}}.problem() ==
        "TOOL_COLOR must be red or blue, not 'green'");
  CHECK(Line{kGrouped, {"agents"}, {{"TOOL_COLOR", "green"}}}.problem() ==
        "TOOL_COLOR must be red or blue, not 'green'\n'tool agents --help' explains");
  CHECK(shown(Line{kPlain, {"status"}, {{"TOOL_COUNT", "many"}}}.options()) == "status");
}

TEST_CASE("relative paths are made absolute, wherever they were given") {
  const tests::ScratchFolder scratch;
  scratch.write("conf", "root = from/file\n");
  const auto root = [&](std::vector<std::string> arguments, const char* environment,
                        const std::string& folder) {
    auto parsed = terminal::parse_command_line<Options>(
        kPlain, {.arguments = std::move(arguments),
                 .environment = [environment](const char* name) -> const char* {
                   return std::string_view(name) == "TOOL_ROOT" ? environment : nullptr;
                 },
                 .default_config = scratch / "conf",
                 .folder = folder});
    return parsed ? parsed->root : parsed.error().message();
  };
  CHECK(root({"plan"}, nullptr, "/here") == "/here/from/file");
  CHECK(root({"plan"}, "from/environment", "/here") == "/here/from/environment");
  const std::pair<const char*, const char*> kCases[] = {{"a", "/here/a"},       {"./a/b", "/here/a/b"},
                                                        {"../a", "/here/../a"}, {".", "/here"},
                                                        {"/a", "/a"},           {"-", "-"}};
  for (const auto& [given, meant] : kCases)
    CHECK(root({"plan", "--root", given}, nullptr, "/here") == meant);
  CHECK(root({"plan", "--root", "a"}, nullptr, "/") == "/a");
  CHECK(root({"plan", "--root", "a"}, nullptr, "") == "a");
  CHECK(Line{kPlain, {"plan", "--tag", "a"}}.options().tags.front() == "a");
}
