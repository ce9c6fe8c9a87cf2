// The options of recipes and assignments.
#include <array>

#include "ctl/options.hpp"
#include "ctl/options/option_values.hpp"
#include "terminal/option_store.hpp"

namespace ctl {

namespace {

using base::Result;
using terminal::must_be;
using terminal::OptionRow;
using terminal::store_by;
using terminal::store_flag;
using terminal::store_more;
using terminal::store_number;
using terminal::store_text;
using terminal::ValueKind;

Result<void> store_revision(Options& options, std::string_view value) {
  const auto number = base::parse_integer(value);
  if (value != "newest" && (!number || *number < 1))
    return must_be("the number of a revision, or newest", value);
  options.revision = value;
  return {};
}

Result<void> store_on_change(Options& options, std::string_view value) {
  return store_word<&Options::on_change>(options, value, "finish kill");
}

constexpr std::int64_t kMonth = 30LL * 24 * 3600;

constexpr std::array kRecipeOptions{
    OptionRow{.name = "module-repo",
              .kind = ValueKind::text,
              .placeholder = "REPO",
              .doc = "where recipes of the app take modules from, unless they name that themselves; none "
                     "takes it back",
              .store = store_text<&Options::module_repo>},
    OptionRow{.name = "module-tag",
              .kind = ValueKind::text,
              .placeholder = "TAG",
              .doc = "its tag",
              .store = store_text<&Options::module_tag>},
    OptionRow{.name = "recipe",
              .kind = ValueKind::text,
              .placeholder = "NAME",
              .doc = "this recipe: assign it instead, or show what it uses",
              .store = store_text<&Options::recipe>},
    OptionRow{.name = "revision",
              .kind = ValueKind::text,
              .placeholder = "N",
              .doc = "this revision; newest follows the recipe (default)",
              .store = store_by<store_revision>},
    OptionRow{.name = "order",
              .kind = ValueKind::text,
              .placeholder = "N",
              .doc = "where it stands among several of a machine, lower ones first (0): recipes run in this "
                     "order, and "
                     "variables of later selectors win",
              .store = store_number<&Options::order, -1'000'000, 1'000'000>},
    OptionRow{.name = "on-change",
              .kind = ValueKind::text,
              .placeholder = "HOW",
              .doc = "what a new version does to the state that is running: finish (default) or kill",
              .choices = "finish kill",
              .store = store_by<store_on_change>},
    OptionRow{.name = "machine",
              .kind = ValueKind::text,
              .placeholder = "NAME",
              .doc = "variables of this machine alone, NAME or APP/NAME",
              .store = store_text<&Options::machine>},
    OptionRow{.name = "round-delay",
              .kind = ValueKind::text,
              .placeholder = "SECONDS",
              .doc = "pause between rounds",
              .store = store_number<&Options::round_delay, 1, kMonth>},
    OptionRow{.name = "owner",
              .kind = ValueKind::text,
              .placeholder = "SCOPE",
              .doc = "the scope that it belongs to (push), or is to; none: tokens without a scope",
              .store = store_text<&Options::owner>},
    OptionRow{.name = "message",
              .letter = 'm',
              .kind = ValueKind::text,
              .placeholder = "TEXT",
              .doc = "what is said about this revision, in 'opsctl recipe list'",
              .store = store_text<&Options::message>},
    OptionRow{.name = "file",
              .letter = 'f',
              .kind = ValueKind::file,
              .placeholder = "PATH",
              .doc = "a file that describes what is to be, or a folder of such; - is standard input; may be "
                     "given several times",
              .repeatable = true,
              .store = store_more<&Options::files>},
    OptionRow{.name = "set",
              .kind = ValueKind::text,
              .placeholder = "NAME",
              .doc = "what all this is called together, for --prune (as the folder is)",
              .store = store_text<&Options::set>},
    OptionRow{.name = "prune",
              .doc = "also remove assignments that this set has made and does not describe any more",
              .store = store_flag<&Options::prune>},
    OptionRow{.name = "dry-run",
              .doc = "show what would change, and change nothing",
              .store = store_flag<&Options::dry_run>},
    OptionRow{.name = "now",
              .doc = "to all machines at once, also where the changes of an app go ring by ring",
              .store = store_flag<&Options::at_once>},
    OptionRow{.name = "canaries",
              .kind = ValueKind::text,
              .placeholder = "N",
              .doc = "how many machines the first ring has (44, or a quarter of fewer than 176)",
              .store = store_number<&Options::canaries, 1, 100'000>},
    OptionRow{.name = "may-fail",
              .kind = ValueKind::text,
              .placeholder = "PERCENT",
              .doc = "the share of the machines that may fail before it stops (2)",
              .store = store_number<&Options::may_fail, 0, 50>},
    OptionRow{.name = "yes", .letter = 'y', .doc = "do not ask", .store = store_flag<&Options::yes>},
};

}  // namespace

std::span<const OptionRow> recipe_option_rows() {
  return kRecipeOptions;
}

}  // namespace ctl
