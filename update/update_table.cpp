#include "update/update_table.hpp"

namespace update {

namespace {

using A = Action;
using E = Event;
using P = Phase;

// clang-format off
constexpr std::array kTransitions{
    //          in              comes                  leads to        and there is to do
    // 1 requested: the action id is on disk, and acknowledged
    Transition{P::requested,    E::begun,               P::metadata,    {A::read_documents}},
    Transition{P::requested,    E::failed,              P::failed,      {A::report_closing}},
    Transition{P::requested,    E::restarted_as_old,    P::requested,   {A::wait_to_begin}},
    Transition{P::requested,    E::restarted_as_new,    P::failed,      {A::report_closing}},
    // 2 metadata: done again after a kill
    Transition{P::metadata,     E::trusted,             P::downloading, {A::download}},
    Transition{P::metadata,     E::is_installed,        P::verifying,   {A::verify}},
    Transition{P::metadata,     E::refused,             P::refused,     {A::report_closing}},
    Transition{P::metadata,     E::failed,              P::failed,      {A::report_closing}},
    Transition{P::metadata,     E::restarted_as_old,    P::metadata,    {A::read_documents}},
    Transition{P::metadata,     E::restarted_as_new,    P::failed,      {A::report_closing}},
    // 3 downloading: what is there of it is resumed; where it lies is in the documents
    Transition{P::downloading,  E::downloaded,          P::verifying,   {A::verify}},
    Transition{P::downloading,  E::refused,             P::refused,     {A::report_closing}},
    Transition{P::downloading,  E::failed,              P::failed,      {A::report_closing}},
    Transition{P::downloading,  E::restarted_as_old,    P::metadata,    {A::read_documents}},
    Transition{P::downloading,  E::restarted_as_new,    P::failed,      {A::report_closing}},
    // 4 verifying: again from 2
    Transition{P::verifying,    E::verified,            P::staged,      {A::adopt}},
    Transition{P::verifying,    E::refused,             P::refused,     {A::report_closing}},
    Transition{P::verifying,    E::failed,              P::failed,      {A::report_closing}},
    Transition{P::verifying,    E::restarted_as_old,    P::metadata,    {A::read_documents}},
    Transition{P::verifying,    E::restarted_as_new,    P::failed,      {A::report_closing}},
    // 5 staged: staging is swept; what is in versions/ is complete, and found there
    Transition{P::staged,       E::adopted,             P::draining,    {A::check_journal}},
    Transition{P::staged,       E::failed,              P::failed,      {A::report_closing}},
    Transition{P::staged,       E::restarted_as_old,    P::metadata,    {A::read_documents}},
    Transition{P::staged,       E::restarted_as_new,    P::failed,      {A::report_closing}},
    // 6 draining: the old version goes on and tries again. A worker that has stopped for an update which cannot
    // be noted has stopped for nothing: so the journal is tried before.
    Transition{P::draining,     E::journal_works,       P::draining,    {A::drain}},
    Transition{P::draining,     E::journal_fails,       P::draining,    {A::wait_to_retry}},
    Transition{P::draining,     E::drained,             P::armed,       {A::switch_current}},
    Transition{P::draining,     E::failed,              P::failed,      {A::report_closing}},
    Transition{P::draining,     E::restarted_as_old,    P::draining,    {A::check_version}},
    Transition{P::draining,     E::version_found,       P::draining,    {A::wait_to_drain}},
    Transition{P::draining,     E::drain_due,           P::draining,    {A::check_journal}},
    Transition{P::draining,     E::restarted_as_new,    P::failed,      {A::report_closing}},
    // 7 armed: not switched is interrupted (the launcher says so, if there is one); switched is a trial
    Transition{P::armed,        E::current_switched,    P::switched,    {A::leave}},
    Transition{P::armed,        E::switch_unclear,      P::armed,       {}},
    Transition{P::armed,        E::failed,              P::failed,      {A::report_closing}},
    Transition{P::armed,        E::unhealthy,           P::trial,       {A::write_note, A::give_up}},
    Transition{P::armed,        E::restarted_as_old,    P::failed,      {A::report_closing}},
    Transition{P::armed,        E::restarted_as_new,    P::trial,       {A::wait_for_trial, A::test_itself}},
    // 8 switched
    Transition{P::switched,     E::left,                P::restarting,  {}},
    Transition{P::switched,     E::unhealthy,           P::trial,       {A::write_note, A::give_up}},
    Transition{P::switched,     E::restarted_as_old,    P::failed,      {A::report_closing}},
    Transition{P::switched,     E::restarted_as_new,    P::trial,       {A::wait_for_trial, A::test_itself}},
    // 9 restarting
    Transition{P::restarting,   E::unhealthy,           P::trial,       {A::write_note, A::give_up}},
    Transition{P::restarting,   E::restarted_as_old,    P::failed,      {A::report_closing}},
    Transition{P::restarting,   E::restarted_as_new,    P::trial,       {A::wait_for_trial, A::test_itself}},
    // 10 trial: the launcher counts the attempts, and takes the way back. What it is to say then is noted.
    Transition{P::trial,        E::welcomed,            P::trial,       {A::write_note}},
    Transition{P::trial,        E::self_tested,         P::trial,       {A::write_note}},
    Transition{P::trial,        E::self_test_timed_out, P::trial,       {A::write_note, A::test_itself}},
    Transition{P::trial,        E::healthy,             P::confirmed,   {A::raise_floor, A::report_closing, A::clean}},
    Transition{P::trial,        E::unhealthy,           P::trial,       {A::write_note, A::give_up}},
    Transition{P::trial,        E::restarted_as_old,    P::rolled_back, {A::report_closing}},
    Transition{P::trial,        E::restarted_as_new,    P::trial,       {A::report, A::wait_for_trial, A::test_itself}},
    // 11 confirmed, 13 cleaned: floor, report and cleaning are done again
    Transition{P::confirmed,    E::asked,               P::requested,   {A::wait_to_begin}},
    Transition{P::confirmed,    E::restarted_as_old,    P::confirmed,   {A::raise_floor, A::report_closing, A::clean}},
    Transition{P::confirmed,    E::restarted_as_new,    P::confirmed,   {A::raise_floor, A::report_closing, A::clean}},
    Transition{P::confirmed,    E::floor_not_raised,    P::confirmed,   {A::wait_to_raise_floor}},
    Transition{P::confirmed,    E::floor_raised,        P::confirmed,   {}},
    Transition{P::confirmed,    E::floor_due,           P::confirmed,   {A::raise_floor}},
    Transition{P::confirmed,    E::reported,            P::confirmed,   {}},
    Transition{P::confirmed,    E::not_reported,        P::confirmed,   {A::wait_to_report}},
    Transition{P::confirmed,    E::report_due,          P::confirmed,   {A::report_closing}},
    // 12 rolled back, and the other ends: told, if that was not done
    Transition{P::rolled_back,  E::asked,               P::requested,   {A::wait_to_begin}},
    Transition{P::rolled_back,  E::restarted_as_old,    P::rolled_back, {A::report_closing}},
    Transition{P::rolled_back,  E::restarted_as_new,    P::rolled_back, {A::report_closing}},
    Transition{P::rolled_back,  E::reported,            P::rolled_back, {}},
    Transition{P::rolled_back,  E::not_reported,        P::rolled_back, {A::wait_to_report}},
    Transition{P::rolled_back,  E::report_due,          P::rolled_back, {A::report_closing}},
    Transition{P::failed,       E::asked,               P::requested,   {A::wait_to_begin}},
    Transition{P::failed,       E::restarted_as_old,    P::failed,      {A::report_closing}},
    Transition{P::failed,       E::restarted_as_new,    P::failed,      {A::report_closing}},
    Transition{P::failed,       E::reported,            P::failed,      {}},
    Transition{P::failed,       E::not_reported,        P::failed,      {A::wait_to_report}},
    Transition{P::failed,       E::report_due,          P::failed,      {A::report_closing}},
    Transition{P::refused,      E::asked,               P::requested,   {A::wait_to_begin}},
    Transition{P::refused,      E::restarted_as_old,    P::refused,     {A::report_closing}},
    Transition{P::refused,      E::restarted_as_new,    P::refused,     {A::report_closing}},
    Transition{P::refused,      E::reported,            P::refused,     {}},
    Transition{P::refused,      E::not_reported,        P::refused,     {A::wait_to_report}},
    Transition{P::refused,      E::report_due,          P::refused,     {A::report_closing}},
};

constexpr std::array kPhaseFree{
    // Counts when a trial begins; the timer of one may be late.
    PhaseFreeRow{E::welcomed,             {}},
    PhaseFreeRow{E::trial_over,           {}},
    // step() knows what is tried again.
    PhaseFreeRow{E::retry_due,            {}},
    PhaseFreeRow{E::thread_busy,          {A::wait_to_retry}},
    // The way back goes on while the report of it is written, and after.
    PhaseFreeRow{E::current_restored,     {}},
    PhaseFreeRow{E::current_not_restored, {A::wait_to_restore_current}},
    PhaseFreeRow{E::current_due,          {A::restore_current}},
};
// clang-format on

// By Event, by Action.
constexpr std::array<std::string_view, kEvents> kEventNames{"asked",
                                                            "begun",
                                                            "trusted",
                                                            "is_installed",
                                                            "refused",
                                                            "downloaded",
                                                            "verified",
                                                            "adopted",
                                                            "version_found",
                                                            "drain_due",
                                                            "drained",
                                                            "current_switched",
                                                            "switch_unclear",
                                                            "left",
                                                            "failed",
                                                            "restarted_as_old",
                                                            "restarted_as_new",
                                                            "welcomed",
                                                            "self_tested",
                                                            "self_test_timed_out",
                                                            "trial_over",
                                                            "healthy",
                                                            "unhealthy",
                                                            "written",
                                                            "not_written",
                                                            "journal_works",
                                                            "journal_fails",
                                                            "retry_due",
                                                            "thread_busy",
                                                            "reported",
                                                            "not_reported",
                                                            "report_due",
                                                            "floor_raised",
                                                            "floor_not_raised",
                                                            "floor_due",
                                                            "current_restored",
                                                            "current_not_restored",
                                                            "current_due"};
constexpr std::array<std::string_view, kActions> kActionNames{"write_journal",
                                                              "write_note",
                                                              "restore_journal",
                                                              "check_journal",
                                                              "report",
                                                              "report_closing",
                                                              "answer_failure",
                                                              "read_documents",
                                                              "download",
                                                              "verify",
                                                              "adopt",
                                                              "check_version",
                                                              "drain",
                                                              "switch_current",
                                                              "leave",
                                                              "test_itself",
                                                              "give_up",
                                                              "raise_floor",
                                                              "restore_current",
                                                              "clean",
                                                              "wait_to_begin",
                                                              "wait_to_drain",
                                                              "wait_to_retry",
                                                              "wait_to_retry_soon",
                                                              "wait_for_trial",
                                                              "wait_to_report",
                                                              "wait_to_raise_floor",
                                                              "wait_to_restore_current"};
static_assert(!kEventNames.back().empty() && !kActionNames.back().empty());

}  // namespace

std::span<const Transition> transitions() {
  return kTransitions;
}

std::span<const PhaseFreeRow> phase_free_rows() {
  return kPhaseFree;
}

std::string_view name_of(Event event) {
  return kEventNames[static_cast<std::size_t>(event)];
}

std::string_view name_of(Action action) {
  return kActionNames[static_cast<std::size_t>(action)];
}

}  // namespace update
