// ModuleProcess: one running process of a module, which plans or applies, one request at a time.
//
// It says hello when it is started, and stays for further requests. Whatever it does wrong is an Error that
// says what, and it must be let go of then, which ends it with all that it has started. One thread at a time.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "agent/modules/host/lines.hpp"
#include "base/interrupt.hpp"
#include "base/programs/conversation.hpp"
#include "base/result.hpp"
#include "modules/module_set.hpp"

namespace agent::modules {

enum class Purpose { plan, apply };

// How long a module has to say hello: an interpreter on a busy machine.
inline constexpr std::chrono::seconds kHelloTime{10};
// What a module has after its deadline: to hear of it and to answer, and then from TERM to KILL. Together
// less than the second by which it may delay others.
inline constexpr std::chrono::milliseconds kCancelTime{400};
inline constexpr std::chrono::milliseconds kTermTime{300};
// What it has when somebody asks to stop, as other programs have: to leave nothing half done.
inline constexpr std::chrono::seconds kStopTime{5};

class ModuleProcess {
 public:
  using Clock = base::Conversation::Clock;
  using Output = base::Conversation::Output;

  struct Start {
    const ::modules::Module& module;
    Purpose purpose = Purpose::plan;
    std::optional<base::Identity> identity;  // of the manifest's `run_as`
    std::string home = "/root";              // of that user
    bool confined = true;  // false: a plan sees the machine as an apply does; for the conformance kit
  };
  // Starts it and hears its hello, by the deadline.
  static base::Result<std::unique_ptr<ModuleProcess>> start(const Start& start, Clock::time_point deadline,
                                                            base::Interrupt* interrupt, const Output& output);

  struct Call {
    std::string_view state_id;
    std::string_view parameter;
    Clock::time_point deadline;
    base::Interrupt* interrupt = nullptr;
    const Output& output;
  };
  // ErrorCode::timed_out and ErrorCode::cancelled when the time was up or somebody asked to stop.
  base::Result<Planned> plan(const Call& call);
  base::Result<Done> apply(const Call& call, const std::vector<states::Change>& changes);

  // Whether it can be asked again: after an error only if it has answered the cancel in time.
  bool is_usable() const { return is_usable_; }

  base::Conversation& conversation() { return *conversation_; }

 private:
  ModuleProcess(std::unique_ptr<base::Conversation> conversation, std::string name)
      : conversation_(std::move(conversation)), name_(std::move(name)) {}

  base::Result<std::string_view> ask(const std::string& line, const Call& call);
  base::Error give_up(const Call& call, base::Conversation::Heard::What why);
  base::Error failure(base::Conversation::Heard::What what) const;
  Request next_request(const Call& call);

  std::unique_ptr<base::Conversation> conversation_;
  const std::string name_;
  std::uint64_t id_ = 0;
  bool is_usable_ = true;
};

}  // namespace agent::modules
