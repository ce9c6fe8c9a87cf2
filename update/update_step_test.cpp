// What happens beside the steps: a journal that cannot be written, the trial, the way back, how an update is
// closed. Each case is a list of events with the actions that are expected.
#include <algorithm>
#include <array>

#include <doctest/doctest.h>

#include "tests/support/update_play.hpp"
#include "update/update_table.hpp"

using tests::UpdatePlay;
using update::Event;
using update::Phase;

namespace {

update::Record tried(Phase phase, std::uint32_t attempts) {
  update::Record record = tests::update_record(phase);
  record.attempts = attempts;
  return record;
}

update::Step started(Phase phase, const update::Found& found, std::uint32_t attempts = 0) {
  return update::start(tried(phase, attempts), found);
}

constexpr const char* kOld = "1-aa";
constexpr const char* kNew = "2-bb";
constexpr const char* kConfirms = "-> confirmed: write_journal raise_floor report_closing clean";

}  // namespace

// ---- the journal

TEST_CASE("a phase that cannot be written is tried again, and not performed before") {
  struct Case {
    Phase phase;
    Event event;
    std::string waits, goes_on;
  };
  const std::array cases{
      Case{Phase::requested, Event::begun, "-> requested: write_journal wait_to_retry",
           "-> metadata: write_journal report read_documents"},
      Case{Phase::downloading, Event::downloaded, "-> downloading: write_journal wait_to_retry",
           "-> verifying: write_journal report verify"},
      Case{Phase::verifying, Event::refused, "-> verifying: write_journal wait_to_retry",
           "-> refused: write_journal report_closing"},
      Case{Phase::staged, Event::failed, "-> staged: write_journal wait_to_retry",
           "-> failed: write_journal report_closing"},
      Case{Phase::draining, Event::drained, "-> draining: write_journal wait_to_retry",
           "-> armed: write_journal report switch_current"},
      Case{Phase::restarting, Event::restarted_as_new, "-> restarting: write_journal wait_to_retry",
           "-> trial: write_journal report wait_for_trial test_itself"},
      Case{Phase::trial, Event::healthy, "-> trial: write_journal wait_to_retry_soon", kConfirms},
      Case{Phase::trial, Event::restarted_as_old, "-> trial: write_journal wait_to_retry_soon",
           "-> rolled_back: write_journal report_closing"},
  };
  for (const Case& each : cases) {
    CAPTURE(name_of(each.phase));
    CAPTURE(name_of(each.event));
    UpdatePlay play(each.phase);
    const update::Record before = play.record();
    play.is_writable = false;
    CHECK(play.take(each.event) == each.waits);
    CHECK(play.record() == before);
    CHECK(play.take(Event::retry_due) == each.waits);
    play.is_writable = true;
    CHECK(play.take(Event::retry_due) == each.goes_on);
    // Once it is written nothing is left to try.
    const std::string phase(name_of(play.record().phase));
    CHECK(play.take(Event::retry_due) == "-> " + phase);
  }
}

TEST_CASE("why an update ends is kept while it cannot be written") {
  UpdatePlay play(Phase::downloading);
  play.is_writable = false;
  play.take({.event = Event::failed, .why = update::Why{.reason = "no room", .retryable = false}});
  CHECK(play.record().reason.empty());
  play.is_writable = true;
  play.take(Event::retry_due);
  CHECK(play.record().phase == Phase::failed);
  CHECK(play.record().reason == "no room");
  CHECK_FALSE(play.record().retryable);
}

TEST_CASE("a request that cannot be noted is as if nobody had asked") {
  for (const Phase phase : {Phase::confirmed, Phase::rolled_back, Phase::failed, Phase::refused}) {
    UpdatePlay play(phase);
    const update::Progress before = play.progress;
    play.is_writable = false;
    CHECK(play.take(Event::asked) ==
          "-> " + std::string(name_of(phase)) + ": write_journal restore_journal answer_failure");
    CHECK(play.progress == before);
    CHECK(play.take(Event::retry_due) == "-> " + std::string(name_of(phase)));
  }
  UpdatePlay first(update::start(std::nullopt, {.own = kOld, .current = kOld}));
  first.is_writable = false;
  CHECK(first.take(Event::asked) == "-> none: write_journal restore_journal answer_failure");
  CHECK_FALSE(first.progress.record);
}

TEST_CASE("nobody says that something is written when nothing was to be") {
  UpdatePlay play(Phase::metadata);
  CHECK(play.take(Event::written) == "refused");
  CHECK(play.take(Event::not_written) == "refused");
}

TEST_CASE("a step that finds the thread busy is begun again") {
  UpdatePlay play(Phase::downloading);
  CHECK(play.take({.event = Event::thread_busy, .busy = update::Action::download}) ==
        "-> downloading: wait_to_retry");
  CHECK(play.take(Event::retry_due) == "-> downloading: download");
  CHECK(play.take(Event::retry_due) == "-> downloading");
}

TEST_CASE("a worker is not stopped for an update that cannot be noted") {
  UpdatePlay play(Phase::staged);
  CHECK(play.take(Event::adopted) == "-> draining: write_journal report check_journal");
  CHECK(play.take(Event::journal_fails) == "-> draining: wait_to_retry");
  CHECK(play.take(Event::retry_due) == "-> draining: check_journal");
  CHECK(play.take(Event::journal_fails) == "-> draining: wait_to_retry");
  CHECK(play.take(Event::retry_due) == "-> draining: check_journal");
  CHECK(play.take(Event::journal_works) == "-> draining: drain");
}

TEST_CASE("a drain that was interrupted is repeated after a pause, if the version is there still") {
  UpdatePlay play(started(Phase::draining, {.own = kOld, .current = kOld}));
  CHECK(play.first() == "-> draining: check_version");
  SUBCASE("it is") {
    CHECK(play.take(Event::version_found) == "-> draining: wait_to_drain");
    CHECK(play.take(Event::drain_due) == "-> draining: check_journal");
    CHECK(play.take(Event::journal_works) == "-> draining: drain");
  }
  SUBCASE("it is not") {
    CHECK(play.take(Event::failed) == "-> failed: write_journal report_closing");
  }
}

TEST_CASE("what the documents say is in the record from then on") {
  UpdatePlay play(Phase::metadata);
  update::Record found = play.record();
  found.to = "3-cc";
  found.release = 9;
  found.sha256 = "cc";
  play.is_writable = false;
  play.take({.event = Event::trusted, .record = found});
  CHECK(play.record().to == kNew);
  play.is_writable = true;
  CHECK(play.take(Event::retry_due) == "-> downloading: write_journal report download");
  found.phase = Phase::downloading;
  CHECK(play.record() == found);
}

// ---- the trial

TEST_CASE("a trial ends well when it was welcomed, self-tested and old enough, in any order") {
  std::array order{Event::welcomed, Event::self_tested, Event::trial_over};
  std::ranges::sort(order);
  do {
    UpdatePlay play(started(Phase::trial, {.own = kNew, .current = kNew}, 1));
    CHECK(play.first() == "-> trial: report wait_for_trial test_itself");
    for (std::size_t i = 0; i < order.size(); ++i) {
      CAPTURE(name_of(order[i]));
      const bool is_noted = order[i] != Event::trial_over;
      const std::string taken = play.take(order[i]);
      if (i + 1 < order.size())
        CHECK(taken == (is_noted ? "-> trial: write_note" : "-> trial"));
      else
        CHECK(taken == (is_noted ? "-> confirmed: write_note write_journal raise_floor report_closing clean"
                                 : kConfirms));
    }
    CHECK(play.record().reason.empty());
    CHECK(play.progress.is_being_closed());
  } while (std::ranges::next_permutation(order).found);
}

TEST_CASE("a version on trial notes what the launcher is to say of it") {
  UpdatePlay play(Phase::trial);
  play.take(Event::self_tested);
  CHECK(play.record().reason == update::kNotAccepted);
  CHECK(play.record().retryable);
  play.take(Event::welcomed);
  CHECK(play.record().reason == update::kNotHealthy);
  CHECK_FALSE(play.record().retryable);

  UpdatePlay other(Phase::trial);
  other.take(Event::welcomed);
  other.take(Event::self_tested);
  CHECK(other.record().reason == update::kNotHealthy);
  CHECK_FALSE(other.record().retryable);
}

TEST_CASE("a welcome counts before the trial is noted, and once") {
  UpdatePlay play(Phase::restarting);
  play.is_writable = false;
  CHECK(play.take(Event::restarted_as_new) == "-> restarting: write_journal wait_to_retry");
  CHECK(play.take(Event::welcomed) == "-> restarting");
  play.is_writable = true;
  CHECK(play.take(Event::retry_due) == "-> trial: write_journal report wait_for_trial test_itself");
  CHECK(play.take(Event::welcomed) == "-> trial");
  CHECK(play.take(Event::self_tested) == "-> trial: write_note");
  CHECK(play.take(Event::welcomed) == "-> trial");
  CHECK(play.take(Event::trial_over) == kConfirms);
  CHECK(play.take(Event::welcomed) == "-> confirmed");
}

TEST_CASE("a machine that is too busy for the self-test says nothing about the version") {
  UpdatePlay play(Phase::trial);
  const update::Input late{.event = Event::self_test_timed_out, .why = update::Why{.reason = "too slow"}};
  CHECK(play.take(late) == "-> trial: write_note test_itself");
  CHECK(play.record().reason == "too slow");
  CHECK(play.record().retryable);
  CHECK(play.take(late) == "-> trial: write_note test_itself");
  CHECK(play.take(Event::self_tested) == "-> trial: write_note");
}

TEST_CASE("a trial that went well is confirmed as soon as the journal can be written") {
  UpdatePlay play(Phase::trial);
  play.take(Event::self_tested);
  play.take(Event::welcomed);
  play.is_writable = false;
  CHECK(play.take(Event::trial_over) == "-> trial: write_journal wait_to_retry_soon");
  SUBCASE("when the pause is over") {
    play.is_writable = true;
    CHECK(play.take(Event::retry_due) == kConfirms);
  }
  SUBCASE("when it is welcomed once more, and then the pause means nothing") {
    CHECK(play.take(Event::welcomed) == "-> trial: write_journal wait_to_retry_soon");
    play.is_writable = true;
    CHECK(play.take(Event::welcomed) == kConfirms);
    CHECK(play.take(Event::retry_due) == "-> confirmed");
  }
}

TEST_CASE("a version that cannot stay gives up, and nothing makes it healthy any more") {
  UpdatePlay play(Phase::trial);
  play.take(Event::welcomed);
  const update::Input bad{.event = Event::unhealthy, .why = update::Why{.reason = "no self-test"}};
  CHECK(play.take(bad) == "-> trial: write_note give_up");
  CHECK(play.record().attempts == update::kGivenUp);
  CHECK(play.record().reason == "no self-test");
  CHECK_FALSE(play.record().retryable);
  const update::Record noted = play.record();
  for (const Event event :
       {Event::self_tested, Event::self_test_timed_out, Event::trial_over, Event::welcomed})
    CHECK(play.take(event) == "-> trial");
  CHECK(play.record() == noted);
}

TEST_CASE("a version on trial that cannot read the state folder gives up at its start") {
  for (const Phase phase : {Phase::armed, Phase::switched, Phase::restarting, Phase::trial}) {
    UpdatePlay play(started(phase, {.own = kNew, .current = kNew, .problem = "no recipe"}, 1));
    CHECK(play.first() == "-> trial: write_note give_up");
    CHECK(play.record().reason == "no recipe");
    CHECK(play.record().attempts == update::kGivenUp);
    CHECK_FALSE(play.record().retryable);
  }
  // It is nothing that the version before could go back from.
  UpdatePlay old(started(Phase::metadata, {.own = kOld, .current = kOld, .problem = "no recipe"}));
  CHECK(old.first() == "-> metadata: read_documents");
  UpdatePlay confirmed(started(Phase::confirmed, {.own = kNew, .current = kNew, .problem = "no recipe"}));
  CHECK(confirmed.first() == "-> confirmed: raise_floor report_closing clean");
}

// ---- the way back

TEST_CASE("the version before that is started in a trial closes the update, and leads 'current' back") {
  struct Case {
    Phase phase;
    std::string current;
    std::uint32_t attempts;
    std::string first, reason;
  };
  const std::string restores = "restore_current write_journal report_closing";
  const std::array cases{
      Case{Phase::armed, kOld, 0, "-> failed: write_journal report_closing", "interrupted before the switch"},
      Case{Phase::armed, kNew, 0, "-> failed: " + restores,
           "the launcher could not write the update journal"},
      Case{Phase::switched, kNew, 0, "-> failed: " + restores,
           "the launcher could not write the update journal"},
      Case{Phase::restarting, kNew, 1, "-> failed: " + restores,
           "the launcher could not write the update journal"},
      Case{Phase::trial, kNew, 1, "-> rolled_back: " + restores,
           "the launcher could not write the update journal"},
      Case{Phase::trial, kOld, 2, "-> rolled_back: write_journal report_closing",
           "the launcher could not write the update journal"},
  };
  for (const Case& each : cases) {
    CAPTURE(name_of(each.phase));
    UpdatePlay play(started(each.phase, {.own = kOld, .current = each.current}, each.attempts));
    CHECK(play.first() == each.first);
    CHECK(play.record().reason == each.reason);
    CHECK(play.record().retryable);
  }
  // A program from another place cannot be what 'current' leads to.
  UpdatePlay elsewhere(started(Phase::armed, {.own = "", .current = kNew}));
  CHECK(elsewhere.first() == "-> failed: write_journal report_closing");
}

TEST_CASE("a way back that was interrupted is finished") {
  for (const Phase phase : {Phase::rolled_back, Phase::failed}) {
    const std::string name(name_of(phase));
    UpdatePlay play(started(phase, {.own = kOld, .current = kNew}, 3));
    CHECK(play.first() == "-> " + name + ": clean restore_current report_closing");
    CHECK(play.take(Event::current_not_restored) == "-> " + name + ": wait_to_restore_current");
    CHECK(play.progress.is_current_due);
    CHECK(play.take(Event::current_due) == "-> " + name + ": restore_current");
    CHECK(play.take(Event::current_restored) == "-> " + name);
    CHECK_FALSE(play.progress.is_current_due);
    CHECK(play.take(Event::current_due) == "-> " + name);
    // Nothing is open for somebody else.
    UpdatePlay other(started(phase, {.own = "3-cc", .current = kNew}, 3));
    CHECK(other.first() == "-> " + name + ": clean report_closing");
  }
}

TEST_CASE("an update that begins is not led back by the one before") {
  UpdatePlay play(started(Phase::rolled_back, {.own = kOld, .current = kNew}, 3));
  play.take(Event::current_not_restored);
  play.take(Event::reported);
  CHECK(play.take(Event::asked) == "-> requested: write_journal report wait_to_begin");
  CHECK(play.take(Event::current_due) == "-> requested");
}

TEST_CASE("the new version that is started too early ends the update") {
  for (int i = 0; i < static_cast<int>(Phase::armed); ++i) {
    UpdatePlay play(started(static_cast<Phase>(i), {.own = kNew, .current = kNew}));
    CHECK(play.first() == "-> failed: write_journal report_closing");
    CHECK(play.record().reason == "the new version was started before it was to be tried");
    CHECK(play.record().retryable);
  }
}

// ---- how an update is closed

TEST_CASE("the closing report is written once, and tried until it is") {
  for (const Phase phase : {Phase::confirmed, Phase::rolled_back, Phase::failed, Phase::refused}) {
    const std::string name(name_of(phase));
    UpdatePlay play(phase);
    CHECK(play.progress.is_being_closed());
    CHECK(play.take(Event::not_reported) == "-> " + name + ": wait_to_report");
    CHECK(play.take(Event::report_due) == "-> " + name + ": report_closing");
    play.is_writable = false;
    CHECK(play.take(Event::reported) == "-> " + name + ": write_journal wait_to_report");
    CHECK(play.progress.is_being_closed());
    CHECK(play.take(Event::report_due) == "-> " + name + ": report_closing");
    play.is_writable = true;
    CHECK(play.take(Event::reported) == "-> " + name + ": write_journal");
    CHECK_FALSE(play.progress.is_being_closed());
    CHECK(play.take(Event::report_due) == "-> " + name);
  }
}

TEST_CASE("what was reported is not reported again after a start") {
  for (const Phase phase : {Phase::confirmed, Phase::rolled_back, Phase::failed, Phase::refused}) {
    update::Record record = tests::update_record(phase);
    record.is_reported = true;
    UpdatePlay play(update::start(record, {.own = kOld, .current = kOld}));
    CHECK(play.first() == (phase == Phase::confirmed ? "-> confirmed: raise_floor clean"
                                                     : "-> " + std::string(name_of(phase)) + ": clean"));
    CHECK(play.record() == record);
  }
}

TEST_CASE("a confirmed version raises the floor, and tries until it is raised") {
  UpdatePlay play(started(Phase::confirmed, {.own = kNew, .current = kNew}));
  CHECK(play.first() == "-> confirmed: raise_floor report_closing clean");
  CHECK(play.take(Event::reported) == "-> confirmed: write_journal");
  CHECK(play.progress.is_being_closed());
  CHECK(play.take(Event::floor_not_raised) == "-> confirmed: wait_to_raise_floor");
  CHECK(play.progress.is_being_closed());
  CHECK(play.take(Event::floor_due) == "-> confirmed: raise_floor");
  CHECK(play.take(Event::floor_raised) == "-> confirmed");
  CHECK_FALSE(play.progress.is_being_closed());

  // A version that was installed by hand has no number.
  update::Record unnumbered = tests::update_record(Phase::confirmed);
  unnumbered.release = 0;
  CHECK(UpdatePlay(update::start(unnumbered, {.own = kNew, .current = kNew})).first() ==
        "-> confirmed: report_closing clean");
}
