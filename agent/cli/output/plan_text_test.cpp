#include "agent/cli/output/plan_text.hpp"

#include <doctest/doctest.h>

#include "terminal/wrap.hpp"

using namespace agent;

namespace {

using agent::cli::plan_block;
using states::Verdict;

const engine::PlannedState kFile{
    .id = "motd",
    .module = "linux.file",
    .verdict = Verdict::change,
    .message = "Change /etc/motd",
    .changes = {{.what = "content of /etc/motd",
                 .before = "6 bytes",
                 .after = "3 bytes",
                 .diff = "@@ -1 +1 @@\n-hello\n+hi\n"},
                {.what = "mode of /etc/motd", .before = "0600", .after = "0644"}}};

}  // namespace

TEST_CASE("a planned change is shown with what, before, after and an indented diff") {
  CHECK(plan_block(kFile, terminal::Paint(false)) ==
        "~ motd  linux.file\n"
        "    Change /etc/motd\n"
        "    content of /etc/motd: 6 bytes -> 3 bytes\n"
        "        @@ -1 +1 @@\n"
        "        -hello\n"
        "        +hi\n"
        "    mode of /etc/motd: 0600 -> 0644\n");
}

TEST_CASE("colours mark what goes and what comes") {
  const std::string text = plan_block(kFile, terminal::Paint(true));
  CHECK(text.find("\x1b[31m-hello\x1b[0m") != std::string::npos);
  CHECK(text.find("\x1b[32m+hi\x1b[0m") != std::string::npos);
  CHECK(text.find("\x1b[33m~\x1b[0m \x1b[1mmotd\x1b[0m") != std::string::npos);
}

TEST_CASE("symbols tell creation, removal, change, failure and uncertainty apart") {
  using agent::cli::change_symbol;
  CHECK(change_symbol({{.what = "/a", .before = "absent", .after = "file"}}) == '+');
  CHECK(change_symbol({{.what = "package x", .before = "", .after = "1.0"}}) == '+');
  CHECK(change_symbol({{.what = "/a", .before = "file", .after = "absent"}}) == '-');
  CHECK(change_symbol(
            {{.what = "/a", .before = "", .after = "x"}, {.what = "b", .before = "1", .after = "2"}}) == '~');
  CHECK(plan_block({.id = "u", .module = "linux.user", .verdict = Verdict::fail, .message = "No such group"},
                   terminal::Paint(false)) == "x u  linux.user\n    No such group\n");
  CHECK(plan_block({.id = "s",
                    .module = "linux.service",
                    .verdict = Verdict::unknown,
                    .message = "Not installed yet",
                    .depends_on = "nginx"},
                   terminal::Paint(false)) ==
        "? s  linux.service\n    Not installed yet\n    known once 'nginx' is applied\n");
}

TEST_CASE("the counts say what is to be done and nothing that is zero") {
  using agent::cli::counts_line;
  CHECK(
      counts_line({.change = 2, .unknown = 1, .fail = 1, .kept = 7, .skipped = 3}, terminal::Paint(false)) ==
      "Plan: 2 to change, 1 not known yet, 1 cannot work, 7 kept, 3 skipped.");
  CHECK(counts_line({.kept = 7}, terminal::Paint(false)) == "Plan: nothing to do, 7 kept.");
  CHECK(counts_line({}, terminal::Paint(false)) == "Plan: nothing to do.");
}

TEST_CASE("the exit status is 0 for nothing to do, 2 for changes or uncertainty, 1 for failure") {
  using agent::cli::PlanCounts;
  CHECK(PlanCounts{.kept = 3, .skipped = 1}.exit_status() == 0);
  CHECK(PlanCounts{.change = 1, .kept = 3}.exit_status() == 2);
  CHECK(PlanCounts{.unknown = 1}.exit_status() == 2);
  CHECK(PlanCounts{.change = 1, .fail = 1}.exit_status() == 1);
}

TEST_CASE("text from files cannot play with the terminal") {
  engine::PlannedState state = kFile;
  state.changes[0].diff =
      "+\x1b]0;owned\x07\n+\xc2\x9b"
      "31m\n";
  const std::string text = plan_block(state, terminal::Paint(false));
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("+\\x1b]0;owned\\x07\n") != std::string::npos);
  CHECK(text.find("+\\x9b31m\n") != std::string::npos);
  CHECK(terminal::printable("Grüße\tä") == "Grüße\tä");
}

TEST_CASE("what needs root says so, and so does the top of a plan that another user has made") {
  engine::PlannedState state = kFile;
  CHECK(plan_block(state, terminal::Paint(false)).find("needs root") == std::string::npos);
  state.needs_root = true;
  CHECK(plan_block(state, terminal::Paint(false)).find("needs root: apply it as root\n") !=
        std::string::npos);
  CHECK(cli::not_root_line("bob", terminal::Paint(false)).starts_with("Planned as bob, not as root:"));
}

TEST_CASE("text is filled to the width, and colours take no room") {
  CHECK(terminal::wrap("one two three", "- ", "  ", 9) == "- one two\n  three");
  CHECK(terminal::wrap("\x1b[1mone\x1b[0m two", "", "", 7) == "\x1b[1mone\x1b[0m two");
  CHECK(terminal::join_lines("a\n\nb\n", "; ") == "a; b");
  CHECK(terminal::wrap("averyverylongword x", "", "", 5) == "averyverylongword\nx");
}
