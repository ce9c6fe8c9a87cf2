#include "update/machine.hpp"

#include <algorithm>
#include <array>

namespace update {

namespace {

using E = Event;
using P = Phase;
using T = Todo;

// clang-format off
constexpr std::array kTransitions{
    //          in              comes               leads to        and there is to do
    // 1 requested: the action id is on disk, and acknowledged
    Transition{P::requested,    E::begun,             P::metadata,    T::read_documents},
    Transition{P::requested,    E::failed,            P::failed,      T::tell},
    Transition{P::requested,    E::restarted_as_old,  P::requested,   T::acknowledge},
    Transition{P::requested,    E::restarted_as_new,  P::failed,      T::tell},
    // 2 metadata: done again after a kill
    Transition{P::metadata,     E::trusted,           P::downloading, T::download},
    Transition{P::metadata,     E::is_installed,      P::verifying,   T::verify},
    Transition{P::metadata,     E::refused,           P::refused,     T::tell},
    Transition{P::metadata,     E::failed,            P::failed,      T::tell},
    Transition{P::metadata,     E::restarted_as_old,  P::metadata,    T::read_documents},
    Transition{P::metadata,     E::restarted_as_new,  P::failed,      T::tell},
    // 3 downloading: what is there of it is resumed; where it lies is in the documents
    Transition{P::downloading,  E::downloaded,        P::verifying,   T::verify},
    Transition{P::downloading,  E::refused,           P::refused,     T::tell},
    Transition{P::downloading,  E::failed,            P::failed,      T::tell},
    Transition{P::downloading,  E::restarted_as_old,  P::metadata,    T::read_documents},
    Transition{P::downloading,  E::restarted_as_new,  P::failed,      T::tell},
    // 4 verifying: again from 3
    Transition{P::verifying,    E::verified,          P::staged,      T::adopt},
    Transition{P::verifying,    E::refused,           P::refused,     T::tell},
    Transition{P::verifying,    E::failed,            P::failed,      T::tell},
    Transition{P::verifying,    E::restarted_as_old,  P::metadata,    T::read_documents},
    Transition{P::verifying,    E::restarted_as_new,  P::failed,      T::tell},
    // 5 staged: staging is swept; what is in versions/ is complete, and found there
    Transition{P::staged,       E::adopted,           P::draining,    T::drain},
    Transition{P::staged,       E::failed,            P::failed,      T::tell},
    Transition{P::staged,       E::restarted_as_old,  P::metadata,    T::read_documents},
    Transition{P::staged,       E::restarted_as_new,  P::failed,      T::tell},
    // 6 draining: the old version goes on and tries again
    Transition{P::draining,     E::drained,           P::armed,       T::switch_current},
    Transition{P::draining,     E::failed,            P::failed,      T::tell},
    Transition{P::draining,     E::restarted_as_old,  P::draining,    T::drain},
    Transition{P::draining,     E::restarted_as_new,  P::failed,      T::tell},
    // 7 armed: not switched is interrupted (the launcher says so, if there is one); switched is a trial
    Transition{P::armed,        E::current_switched,  P::switched,    T::leave},
    Transition{P::armed,        E::failed,            P::failed,      T::tell},
    Transition{P::armed,        E::restarted_as_old,  P::failed,      T::tell},
    Transition{P::armed,        E::restarted_as_new,  P::trial,       T::watch_health},
    // 8 switched
    Transition{P::switched,     E::left,              P::restarting,  T::nothing},
    Transition{P::switched,     E::restarted_as_old,  P::failed,      T::tell},
    Transition{P::switched,     E::restarted_as_new,  P::trial,       T::watch_health},
    // 9 restarting
    Transition{P::restarting,   E::restarted_as_old,  P::failed,      T::tell},
    Transition{P::restarting,   E::restarted_as_new,  P::trial,       T::watch_health},
    // 10 trial: the launcher counts the attempts, and takes the way back
    Transition{P::trial,        E::healthy,           P::confirmed,   T::settle},
    Transition{P::trial,        E::unhealthy,         P::trial,       T::give_up},
    Transition{P::trial,        E::restarted_as_old,  P::rolled_back, T::tell},
    Transition{P::trial,        E::restarted_as_new,  P::trial,       T::watch_health},
    // 11 confirmed, 13 cleaned: floor, report and cleaning are done again
    Transition{P::confirmed,    E::asked,             P::requested,   T::acknowledge},
    Transition{P::confirmed,    E::restarted_as_old,  P::confirmed,   T::settle},
    Transition{P::confirmed,    E::restarted_as_new,  P::confirmed,   T::settle},
    // 12 rolled back, and the other ends: told, if that was not done
    Transition{P::rolled_back,  E::asked,             P::requested,   T::acknowledge},
    Transition{P::rolled_back,  E::restarted_as_old,  P::rolled_back, T::tell},
    Transition{P::rolled_back,  E::restarted_as_new,  P::rolled_back, T::tell},
    Transition{P::failed,       E::asked,             P::requested,   T::acknowledge},
    Transition{P::failed,       E::restarted_as_old,  P::failed,      T::tell},
    Transition{P::failed,       E::restarted_as_new,  P::failed,      T::tell},
    Transition{P::refused,      E::asked,             P::requested,   T::acknowledge},
    Transition{P::refused,      E::restarted_as_old,  P::refused,     T::tell},
    Transition{P::refused,      E::restarted_as_new,  P::refused,     T::tell},
};
// clang-format on

}  // namespace

std::span<const Transition> transitions() {
  return kTransitions;
}

std::optional<Step> step(Phase phase, Event event) {
  const auto found = std::ranges::find_if(
      kTransitions, [&](const Transition& row) { return row.from == phase && row.event == event; });
  if (found == kTransitions.end()) return std::nullopt;
  return Step{found->to, found->todo};
}

Event event_of_start(bool runs_new_version) {
  return runs_new_version ? Event::restarted_as_new : Event::restarted_as_old;
}

}  // namespace update
