// Who may say what: one table for each side, code by role. The sessions look here before anything else is
// done about a message, and nowhere else. A message that has no row does not compile.
//
// After the end of a connection (superseded, drained, Goodbye, closed) nothing is heard at all: the sessions'
// step() sees to that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "protocol/messages.hpp"

namespace protocol {

enum class Verdict : std::uint8_t {
  no,     // the connection is closed
  yes,    //
  skip,   // dropped, with a line in the log: it is of version 2, and the peer has not shown that it speaks it
  join,   // only with a join token
  renew,  // only without one
  as_v1,  // yes, and it shows that the backend speaks version 1
};

// What an agent is to the backend.
enum class AgentRole : std::uint8_t {
  stranger,   // has shown no certificate, and only certificates count here
  claimant,   // has shown no certificate, but its instance_token may do
  known,      // has shown a certificate, or was told AppNotReady: may shake hands, no more
  judged,     // its handshake is being looked at
  enrolling,  // its join token is being looked at, or was answered
  version_1,  // accepted, and speaks version 1
  version_2,  // accepted by its instance_token
  certified,  // accepted by its certificate
};
inline constexpr std::size_t kAgentRoles = 8;

// What the backend is to an agent.
enum class BackendRole : std::uint8_t {
  unasked,    // the handshake is not sent yet
  undecided,  // it was sent, and nothing says which version the backend speaks
  version_1,
  version_2,
};
inline constexpr std::size_t kBackendRoles = 4;

using AgentRow = std::array<Verdict, kAgentRoles>;
using BackendRow = std::array<Verdict, kBackendRoles>;

namespace permissions {

using enum Verdict;

template <class Message>
consteval std::nullptr_t no_row() {
  static_assert(sizeof(Message) == 0, "a message without a row in protocol/permissions.hpp");
  return nullptr;
}
template <class Message>
inline constexpr auto kFromAgent = no_row<Message>();
template <class Message>
inline constexpr auto kFromBackend = no_row<Message>();

// clang-format off
//                                                                 stranger claimant known judged enrolling version_1 version_2 certified
template <> inline constexpr AgentRow kFromAgent<Handshake>    = {{ no,      yes,     yes,  no,    no,       no,       no,       no    }};
template <> inline constexpr AgentRow kFromAgent<CertRequest>  = {{ join,    join,    no,   no,    no,       skip,     no,       renew }};
template <> inline constexpr AgentRow kFromAgent<StateLog>     = {{ no,      no,      no,   no,    no,       yes,      yes,      yes   }};
template <> inline constexpr AgentRow kFromAgent<WaitQuery>    = {{ no,      no,      no,   no,    no,       yes,      yes,      yes   }};
template <> inline constexpr AgentRow kFromAgent<TestAnswer>   = {{ no,      no,      no,   no,    no,       yes,      yes,      yes   }};
template <> inline constexpr AgentRow kFromAgent<RecipeStatus> = {{ no,      no,      no,   no,    no,       skip,     yes,      yes   }};
template <> inline constexpr AgentRow kFromAgent<StateOutput>  = {{ no,      no,      no,   no,    no,       skip,     yes,      yes   }};
template <> inline constexpr AgentRow kFromAgent<RoundEnd>     = {{ no,      no,      no,   no,    no,       skip,     yes,      yes   }};
template <> inline constexpr AgentRow kFromAgent<PlanResult>   = {{ no,      no,      no,   no,    no,       skip,     yes,      yes   }};
template <> inline constexpr AgentRow kFromAgent<UpdateStatus> = {{ no,      no,      no,   no,    no,       skip,     yes,      yes   }};
template <> inline constexpr AgentRow kFromAgent<Facts>        = {{ no,      no,      no,   no,    no,       skip,     yes,      yes   }};
template <> inline constexpr AgentRow kFromAgent<QueryResult>  = {{ no,      no,      no,   no,    no,       skip,     yes,      yes   }};
template <> inline constexpr AgentRow kFromAgent<HoldStatus>   = {{ no,      no,      no,   no,    no,       skip,     yes,      yes   }};
template <> inline constexpr AgentRow kFromAgent<Ack>          = {{ no,      no,      no,   no,    no,       skip,     yes,      yes   }};
template <> inline constexpr AgentRow kFromAgent<Nack>         = {{ no,      no,      no,   no,    no,       skip,     yes,      yes   }};
template <> inline constexpr AgentRow kFromAgent<Goodbye>      = {{ no,      no,      no,   no,    no,       skip,     yes,      yes   }};
template <> inline constexpr AgentRow kFromAgent<Unknown>      = {{ no,      no,      no,   no,    no,       yes,      yes,      yes   }};

//                                                                        unasked undecided version_1 version_2
template <> inline constexpr BackendRow kFromBackend<Welcome>         = {{ no,     yes,      yes,      no  }};
template <> inline constexpr BackendRow kFromBackend<AppNotReady>     = {{ no,     yes,      yes,      yes }};
template <> inline constexpr BackendRow kFromBackend<RecipeMetadata>  = {{ no,     as_v1,    yes,      yes }};
template <> inline constexpr BackendRow kFromBackend<WaitList>        = {{ no,     as_v1,    yes,      yes }};
template <> inline constexpr BackendRow kFromBackend<WaitDone>        = {{ no,     as_v1,    yes,      yes }};
template <> inline constexpr BackendRow kFromBackend<AgentUpdate>     = {{ no,     as_v1,    yes,      yes }};
template <> inline constexpr BackendRow kFromBackend<Test>            = {{ no,     yes,      yes,      yes }};
template <> inline constexpr BackendRow kFromBackend<Query>           = {{ no,     skip,     skip,     yes }};
template <> inline constexpr BackendRow kFromBackend<Run>             = {{ no,     skip,     skip,     yes }};
template <> inline constexpr BackendRow kFromBackend<Cancel>          = {{ no,     skip,     skip,     yes }};
template <> inline constexpr BackendRow kFromBackend<OutputSubscribe> = {{ no,     skip,     skip,     yes }};
template <> inline constexpr BackendRow kFromBackend<Settings>        = {{ no,     skip,     skip,     yes }};
template <> inline constexpr BackendRow kFromBackend<Hold>            = {{ no,     skip,     skip,     yes }};
template <> inline constexpr BackendRow kFromBackend<RunNow>          = {{ no,     skip,     skip,     yes }};
template <> inline constexpr BackendRow kFromBackend<CertIssued>      = {{ no,     skip,     skip,     yes }};
template <> inline constexpr BackendRow kFromBackend<Authorities>     = {{ no,     skip,     skip,     yes }};
template <> inline constexpr BackendRow kFromBackend<Ack>             = {{ no,     skip,     skip,     yes }};
template <> inline constexpr BackendRow kFromBackend<Nack>            = {{ no,     yes,      yes,      yes }};
template <> inline constexpr BackendRow kFromBackend<Goodbye>         = {{ no,     yes,      yes,      yes }};
template <> inline constexpr BackendRow kFromBackend<Unknown>         = {{ no,     yes,      yes,      yes }};
// clang-format on

}  // namespace permissions

// The table's word on a message; `join` and `renew` have become yes or no.
Verdict verdict_on(const AgentBody& body, AgentRole role);
Verdict verdict_on(const BackendBody& body, BackendRole role);

}  // namespace protocol
