#include "update/update_table.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

#include "tests/support/update_play.hpp"

using tests::with_data;
using update::Event;
using update::Phase;
using update::Transition;

namespace {

// Everything that is expected, in the order of the phases. Events of kEverywhere are left out.
constexpr std::string_view kExpected = R"(
requested, begun -> metadata: write_journal report read_documents
requested, failed -> failed: write_journal report_closing
requested, restarted_as_old -> requested: wait_to_begin
requested, restarted_as_new -> failed: write_journal report_closing
metadata, trusted -> downloading: write_journal report download
metadata, is_installed -> verifying: write_journal report verify
metadata, refused -> refused: write_journal report_closing
metadata, failed -> failed: write_journal report_closing
metadata, restarted_as_old -> metadata: read_documents
metadata, restarted_as_new -> failed: write_journal report_closing
downloading, refused -> refused: write_journal report_closing
downloading, downloaded -> verifying: write_journal report verify
downloading, failed -> failed: write_journal report_closing
downloading, restarted_as_old -> metadata: write_journal report read_documents
downloading, restarted_as_new -> failed: write_journal report_closing
verifying, refused -> refused: write_journal report_closing
verifying, verified -> staged: write_journal report adopt
verifying, failed -> failed: write_journal report_closing
verifying, restarted_as_old -> metadata: write_journal report read_documents
verifying, restarted_as_new -> failed: write_journal report_closing
staged, adopted -> draining: write_journal report check_journal
staged, failed -> failed: write_journal report_closing
staged, restarted_as_old -> metadata: write_journal report read_documents
staged, restarted_as_new -> failed: write_journal report_closing
draining, version_found -> draining: wait_to_drain
draining, drain_due -> draining: check_journal
draining, drained -> armed: write_journal report switch_current
draining, failed -> failed: write_journal report_closing
draining, restarted_as_old -> draining: check_version
draining, restarted_as_new -> failed: write_journal report_closing
draining, journal_works -> draining: drain
draining, journal_fails -> draining: wait_to_retry
armed, current_switched -> switched: write_journal report leave
armed, switch_unclear -> armed
armed, failed -> failed: write_journal report_closing
armed, restarted_as_old -> failed: write_journal report_closing
armed, restarted_as_new -> trial: write_journal report wait_for_trial test_itself
armed, unhealthy -> trial: write_note give_up
switched, left -> restarting: write_journal report
switched, restarted_as_old -> failed: write_journal report_closing
switched, restarted_as_new -> trial: write_journal report wait_for_trial test_itself
switched, unhealthy -> trial: write_note give_up
restarting, restarted_as_old -> failed: write_journal report_closing
restarting, restarted_as_new -> trial: write_journal report wait_for_trial test_itself
restarting, unhealthy -> trial: write_note give_up
trial, restarted_as_old -> rolled_back: write_journal report_closing
trial, restarted_as_new -> trial: report wait_for_trial test_itself
trial, welcomed -> trial: write_note
trial, self_tested -> trial: write_note
trial, self_test_timed_out -> trial: write_note test_itself
trial, healthy -> confirmed: write_journal raise_floor report_closing clean
trial, unhealthy -> trial: write_note give_up
confirmed, asked -> requested: write_journal report wait_to_begin
confirmed, restarted_as_old -> confirmed: raise_floor report_closing clean
confirmed, restarted_as_new -> confirmed: raise_floor report_closing clean
confirmed, reported -> confirmed: write_journal
confirmed, not_reported -> confirmed: wait_to_report
confirmed, report_due -> confirmed: report_closing
confirmed, floor_raised -> confirmed
confirmed, floor_not_raised -> confirmed: wait_to_raise_floor
confirmed, floor_due -> confirmed: raise_floor
rolled_back, asked -> requested: write_journal report wait_to_begin
rolled_back, restarted_as_old -> rolled_back: report_closing
rolled_back, restarted_as_new -> rolled_back: report_closing
rolled_back, reported -> rolled_back: write_journal
rolled_back, not_reported -> rolled_back: wait_to_report
rolled_back, report_due -> rolled_back: report_closing
failed, asked -> requested: write_journal report wait_to_begin
failed, restarted_as_old -> failed: report_closing
failed, restarted_as_new -> failed: report_closing
failed, reported -> failed: write_journal
failed, not_reported -> failed: wait_to_report
failed, report_due -> failed: report_closing
refused, asked -> requested: write_journal report wait_to_begin
refused, restarted_as_old -> refused: report_closing
refused, restarted_as_new -> refused: report_closing
refused, reported -> refused: write_journal
refused, not_reported -> refused: wait_to_report
refused, report_due -> refused: report_closing
)";

// In any phase, where the phase has no row of its own; nothing changes.
constexpr std::string_view kEverywhere = R"(
welcomed
trial_over
retry_due
thread_busy: wait_to_retry
current_restored
current_not_restored: wait_to_restore_current
current_due
)";

// "event" or "event: actions" of kEverywhere.
std::string everywhere(Event event) {
  std::istringstream lines{std::string(kEverywhere)};
  for (std::string line; std::getline(lines, line);)
    if (line == name_of(event) || line.starts_with(std::string(name_of(event)) + ":")) return line;
  return "";
}

}  // namespace

TEST_CASE("every (phase, event) has one row or is refused") {
  std::set<std::pair<Phase, Event>> rows;
  for (const Transition& row : update::transitions())
    CHECK_MESSAGE(rows.emplace(row.from, row.event).second, name_of(row.from), " ", name_of(row.event));
  for (const update::PhaseFreeRow& row : update::phase_free_rows())
    CHECK_MESSAGE(!everywhere(row.event).empty(), name_of(row.event));
  std::size_t refused = 0;
  for (int phase = 0; phase < tests::kUpdatePhases; ++phase)
    for (int i = 0; i < update::kEvents; ++i) {
      const auto event = static_cast<Event>(i);
      tests::UpdatePlay play(static_cast<Phase>(phase));
      const update::Progress before = play.progress;
      const bool is_expected =
          rows.contains({static_cast<Phase>(phase), event}) || !everywhere(event).empty();
      CAPTURE(name_of(static_cast<Phase>(phase)));
      CAPTURE(name_of(event));
      CHECK((play.take(event) != "refused") == is_expected);
      if (is_expected) continue;
      ++refused;
      CHECK(play.progress == before);
    }
  CHECK(rows.size() == 79);
  CHECK(refused > rows.size());
}

TEST_CASE("every phase and every event: the next phase, and what is done, in order") {
  std::string all = "\n";
  for (int phase = 0; phase < tests::kUpdatePhases; ++phase)
    for (int i = 0; i < update::kEvents; ++i) {
      const auto event = static_cast<Event>(i);
      const std::string from(name_of(static_cast<Phase>(phase)));
      tests::UpdatePlay play(static_cast<Phase>(phase));
      const std::string taken = play.take(event);
      if (taken == "refused") continue;
      const std::string same = everywhere(event);
      const std::string actions = same.substr(std::min(same.size(), name_of(event).size()));
      if (same.empty() || taken != "-> " + from + actions)
        all += from + ", " + std::string(name_of(event)) + " " + taken + "\n";
    }
  CHECK(all == kExpected);
}

TEST_CASE("an update that goes well walks the specification's steps") {
  const std::vector<std::pair<Event, std::string>> way{
      {Event::asked, "-> requested: write_journal report wait_to_begin"},
      {Event::begun, "-> metadata: write_journal report read_documents"},
      {Event::trusted, "-> downloading: write_journal report download"},
      {Event::downloaded, "-> verifying: write_journal report verify"},
      {Event::verified, "-> staged: write_journal report adopt"},
      {Event::adopted, "-> draining: write_journal report check_journal"},
      {Event::journal_works, "-> draining: drain"},
      {Event::drained, "-> armed: write_journal report switch_current"},
      {Event::current_switched, "-> switched: write_journal report leave"},
      {Event::left, "-> restarting: write_journal report"},
      {Event::restarted_as_new, "-> trial: write_journal report wait_for_trial test_itself"},
      {Event::self_tested, "-> trial: write_note"},
      {Event::welcomed, "-> trial: write_note"},
      {Event::trial_over, "-> confirmed: write_journal raise_floor report_closing clean"},
      {Event::floor_raised, "-> confirmed"},
      {Event::reported, "-> confirmed: write_journal"},
  };
  tests::UpdatePlay play(Phase::confirmed);  // the one before
  for (const auto& [event, expected] : way) {
    update::Input input = with_data(event);
    if (event == Event::trusted) input.record = tests::update_record(Phase::metadata);
    CHECK(play.take(input) == expected);
  }
  CHECK(play.record().is_reported);
  CHECK_FALSE(play.progress.is_being_closed());
}

TEST_CASE("the first update of a machine begins as one after another does") {
  tests::UpdatePlay play(update::start(std::nullopt, {.own = "1-aa", .current = "1-aa"}));
  CHECK(play.first() == "-> none: clean");
  CHECK(play.take(Event::welcomed) == "-> none");
  CHECK(play.take(Event::begun) == "refused");
  CHECK(play.take(Event::reported) == "refused");
  CHECK(play.take(Event::asked) == "-> requested: write_journal report wait_to_begin");
  CHECK(play.record().version == "3");
}

TEST_CASE("only what is closed gives way to another update") {
  for (int i = 0; i < tests::kUpdatePhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    CHECK((tests::UpdatePlay(phase).take(Event::asked) != "refused") == is_closed(phase));
  }
}

TEST_CASE("a start finds a way on from every phase, as the version that can be running there") {
  for (int i = 0; i < tests::kUpdatePhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    CHECK_MESSAGE(tests::UpdatePlay(phase).take(Event::restarted_as_old) != "refused", name_of(phase));
    // Before the switch the new version does not run, unless somebody starts it by hand.
    const std::string as_new = tests::UpdatePlay(phase).take(Event::restarted_as_new);
    REQUIRE_MESSAGE(as_new != "refused", name_of(phase));
    if (phase < Phase::armed) CHECK(as_new == "-> failed: write_journal report_closing");
  }
}

TEST_CASE("everything but a trial can fail, and what is closed stays closed") {
  for (const Transition& row : update::transitions()) {
    if (row.event == Event::failed) CHECK(row.to == Phase::failed);
    if (row.event == Event::refused) CHECK(row.to == Phase::refused);
    if (is_closed(row.from) && row.event != Event::asked) CHECK(row.to == row.from);
    if (row.to == Phase::confirmed && row.from != Phase::confirmed) CHECK(row.event == Event::healthy);
  }
  CHECK(tests::UpdatePlay(Phase::trial).take(Event::failed) == "refused");
}

TEST_CASE("from everywhere some closing phase can be reached") {
  for (int i = 0; i < tests::kUpdatePhases; ++i) {
    std::set<Phase> reached{static_cast<Phase>(i)};
    for (std::size_t before = 0; before != reached.size();) {
      before = reached.size();
      for (const Transition& row : update::transitions())
        if (reached.contains(row.from) && row.event != Event::asked) reached.insert(row.to);
    }
    CHECK(std::ranges::any_of(reached, [](Phase phase) { return is_closed(phase); }));
  }
}
