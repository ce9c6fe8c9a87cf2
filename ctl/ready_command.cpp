// `opsctl ready`: the wait between starting a backend and using it.
#include <algorithm>
#include <chrono>
#include <thread>

#include "ctl/api.hpp"
#include "ctl/commands.hpp"
#include "ctl/login_file.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kReadyTimeout{60};
constexpr std::chrono::milliseconds kPause{250};
constexpr std::chrono::seconds kOneTry{5};

struct Try {
  std::string server;  // of the backend that has answered
  std::optional<Error> problem;
  bool unreachable = true;
  bool is_final = false;  // waiting does not help
};

// Everything anew each time: a backend that starts for the first time makes its token and its authority then.
Try try_once(const Options& options, terminal::Console& console) {
  auto login = choose_login(options, login_path());
  if (!login) return {.server = {}, .problem = std::move(login).error()};
  if (!login->token.empty()) console.redactor->add(login->token);
  auto ca = read_ca(login->ca);
  if (!ca) return {.server = {}, .problem = std::move(ca).error()};
  auto api = Api::make(
      {.server = login->server, .token = login->token, .ca = std::move(*ca), .answer_timeout = kOneTry});
  if (!api) return {.server = {}, .problem = std::move(api).error()};
  auto reply = (*api)->send({.path = "/fleet"});
  if (reply) return {.server = login->server, .problem = {}, .unreachable = false};
  const bool is_refused = reply.error().code() == ErrorCode::permission && !(*api)->unreachable();
  return {.server = {},
          .problem = std::move(reply).error(),
          .unreachable = (*api)->unreachable(),
          .is_final = is_refused && !login->token.empty()};
}

}  // namespace

Result<int> ready_command(const Options& options, terminal::Console& console) {
  const auto limit = std::chrono::seconds(options.timeout.value_or(kReadyTimeout.count()));
  const auto deadline = Clock::now() + limit;
  while (true) {
    const Try last = try_once(options, console);
    if (!last.problem) {
      console.out.line("The backend at " + last.server + " is ready.");
      return kOk;
    }
    if (last.is_final || Clock::now() >= deadline) {
      console.complain((last.is_final ? "" : "not ready after " + std::to_string(limit.count()) + " s: ") +
                       last.problem->message());
      return last.unreachable ? kUnreachable : kFailed;
    }
    std::this_thread::sleep_for(
        std::min<Clock::duration>(kPause, std::max<Clock::duration>(deadline - Clock::now(), kPause / 10)));
  }
}

}  // namespace ctl
