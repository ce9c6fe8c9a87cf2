#include "agent/modules/host/module_process.hpp"

#include <algorithm>
#include <utility>

namespace agent::modules {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using What = base::Conversation::Heard::What;

std::string subject(const std::string& name) {
  return "Module '" + name + "' ";
}

// What it does wrong besides being late.
Error wrong(const std::string& name, const std::string& text) {
  return {ErrorCode::invalid, subject(name) + text};
}

base::Command command_for(const ModuleProcess::Start& start) {
  const ::modules::Manifest& manifest = *start.module.manifest;
  base::Command command;
  command.argv = manifest.command;
  command.argv.front() = ::modules::program_of(start.module);
  command.env = base::clean_environment(start.home);
  command.cwd = start.module.folder;
  command.identity = start.identity;
  command.talks = true;
  command.term_grace = kTermTime;
  constexpr std::uint64_t kMega = 1024 * 1024;
  command.limits = base::ProcessLimits{.memory_bytes = manifest.limits.memory_mb * kMega,
                                       .processes = manifest.limits.processes};
  if (start.purpose == Purpose::plan && start.confined)
    command.view = manifest.plan_network ? base::View::read_only : base::View::read_only_offline;
  return command;
}

}  // namespace

Result<std::unique_ptr<ModuleProcess>> ModuleProcess::start(const Start& start, Clock::time_point deadline,
                                                            base::Interrupt* interrupt,
                                                            const Output& output) {
  const std::string& name = start.module.manifest->name;
  auto started = base::Conversation::start(command_for(start), kLongestLine);
  if (!started) return std::move(started).error().with_context(subject(name) + "cannot be started");
  std::unique_ptr<ModuleProcess> process(new ModuleProcess(std::move(*started), name));
  const auto hello_by = std::min(deadline, Clock::now() + kHelloTime);
  const auto heard = process->conversation_->exchange({}, hello_by, interrupt, output);
  if (heard.what == What::late && hello_by < deadline)
    return Error(ErrorCode::timed_out,
                 subject(name) + "did not say hello within " + std::to_string(kHelloTime.count()) + " s");
  if (heard.what != What::line) return process->failure(heard.what);
  if (auto fits = read_hello(heard.line, *start.module.manifest); !fits)
    return wrong(name, fits.error().message());
  return process;
}

Error ModuleProcess::failure(What what) const {
  switch (what) {
    case What::late:
      return {ErrorCode::timed_out, subject(name_) + "did not answer in time"};
    case What::interrupted:
      return {ErrorCode::cancelled, "Cancelled: module '" + name_ + "'"};
    case What::not_started:
      return conversation_->start_failure().with_context(subject(name_) + "cannot be started");
    case What::too_long:
      return wrong(
          name_, "wrote a line of more than " + std::to_string(kLongestLine >> 20) + " MiB to descriptor 4");
    case What::silent:
      return wrong(name_, "closed descriptor 4 without an answer");
    case What::ended:
    case What::line:
      break;
  }
  return wrong(name_, conversation_->ending() + " without an answer");
}

// The time is up, or somebody asked to stop: it is told, and has a moment to say that it has heard.
Error ModuleProcess::give_up(const Call& call, What why) {
  const auto patience = why == What::late ? std::chrono::milliseconds(kCancelTime)
                                          : std::chrono::duration_cast<std::chrono::milliseconds>(kStopTime);
  const auto heard = conversation_->exchange(cancel_line(id_), Clock::now() + patience, nullptr, call.output);
  const bool has_answered =
      heard.what == What::line && (read_planned(heard.line, id_) || read_applied(heard.line, id_));
  is_usable_ = has_answered && !conversation_->has_more();
  return failure(why);
}

Result<std::string_view> ModuleProcess::ask(const std::string& line, const Call& call) {
  if (conversation_->has_more()) {
    is_usable_ = false;
    return wrong(name_, "wrote to descriptor 4 without being asked, after its last answer");
  }
  const auto heard = conversation_->exchange(line, call.deadline, call.interrupt, call.output);
  if (heard.what == What::late || heard.what == What::interrupted) return give_up(call, heard.what);
  if (heard.what != What::line) {
    is_usable_ = false;
    return failure(heard.what);
  }
  return heard.line;
}

Request ModuleProcess::next_request(const Call& call) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(call.deadline - Clock::now());
  return {.id = ++id_,
          .state_id = call.state_id,
          .parameter = call.parameter,
          .time_left = std::max(left, std::chrono::milliseconds(0))};
}

namespace {

// A second answer to the same request may have come with the first; one that comes later is found before the
// next request.
template <class Answer>
Result<Answer> checked(Result<Answer> answer, bool has_more, const std::string& name, bool& is_usable) {
  if (answer && !has_more) return answer;
  is_usable = false;
  if (!answer) return wrong(name, answer.error().message());
  return wrong(name, "answered twice");
}

}  // namespace

Result<Planned> ModuleProcess::plan(const Call& call) {
  auto line = ask(plan_line(next_request(call)), call);
  if (!line) return std::move(line).error();
  auto planned = read_planned(*line, id_);
  return checked(std::move(planned), conversation_->has_more_at_hand(), name_, is_usable_);
}

Result<Done> ModuleProcess::apply(const Call& call, const std::vector<states::Change>& changes) {
  auto line = ask(apply_line(next_request(call), changes), call);
  if (!line) return std::move(line).error();
  auto done = read_applied(*line, id_);
  return checked(std::move(done), conversation_->has_more_at_hand(), name_, is_usable_);
}

}  // namespace agent::modules
