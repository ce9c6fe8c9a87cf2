#include "backend/server/program.hpp"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include "backend/server/options.hpp"
#include "backend/server/server.hpp"
#include "backend/server/version.hpp"
#include "base/host/notify.hpp"
#include "terminal/command_help.hpp"
#include "terminal/completion.hpp"
#include "terminal/log.hpp"

namespace backend::server {

namespace {

constexpr int kOk = 0;
constexpr int kFailure = 1;
constexpr int kUsage = 2;
// Ten thousand agents and what else is open.
constexpr std::size_t kEnoughDescriptors = 12'000;

// Signals are blocked everywhere and waited for by one thread, which asks the loop to do something about
// them.
class SignalThread {
 public:
  SignalThread() {
    sigemptyset(&set_);
    for (const int signal : {SIGTERM, SIGINT, kWake})
      sigaddset(&set_, signal);
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
  }
  // `first` is called on the signal thread; the second signal ends the process.
  void start(std::function<void()> first) {
    thread_ = std::thread([this, first = std::move(first)] {
      for (int seen = 0;;) {
        int signal = 0;
        if (::sigwait(&set_, &signal) != 0 || signal == kWake) return;
        if (++seen == 1)
          first();
        else
          ::_exit(kFailure);  // what is stored is stored; the rest the agents still have
      }
    });
  }
  ~SignalThread() {
    if (!thread_.joinable()) return;
    ::pthread_kill(thread_.native_handle(), kWake);
    thread_.join();
  }

 private:
  static constexpr int kWake = SIGUSR1;
  sigset_t set_{};
  std::thread thread_;
};

void say(const std::string& text) {
  std::fputs((text + "\n").c_str(), stdout);
  std::fflush(stdout);
}

// Listens, and says so; when that cannot be, the loop has nothing left to do and `status` says so.
transport::Task<> start(Server& server, terminal::Log& log, const base::Notify& notify, int& status) {
  auto starting = server.start();
  const auto started = co_await std::move(starting);
  if (!started) {
    log.error(started.error().message());
    status = kFailure;
    auto draining = server.drain();
    co_await std::move(draining);
    co_return;
  }
  say("data      " + server.data().path());
  const std::string s = server.is_secure() ? "s" : "";
  say("listening http" + s + "://" + server.address() + " (agents: ws" + s + "://" + server.address() +
      "/agent/)");
  say("token     " + server.data().token_file() +
      (server.is_secure() ? ", authority " + server.data().certificate_file() : ""));
  notify.status("listening on " + server.address());
  notify.ready();
}

// The only command.
int print_completion(const Options& options) {
  const auto script = terminal::completion_script(command_table(), options.argument());
  if (script && std::fputs(script->c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return kOk;
  const std::string problem = script                       ? "not all output could be written"
                              : options.argument().empty() ? std::string(options.command->question)
                                                           : script.error().message();
  std::fprintf(stderr, "opsbackend: %s\n", problem.c_str());
  return script ? kFailure : kUsage;
}

int serve(const Options& options, terminal::Log& log) {
  SignalThread signals;
  const std::size_t descriptors = raise_descriptor_limit();
  if (descriptors < kEnoughDescriptors)
    log.warning("only " + std::to_string(descriptors) +
                " files and sockets may be open: not enough for ten thousand agents (see 'ulimit -Hn')");
  transport::Loop loop(1);
  auto opened = Server::open(loop, options, log);
  if (!opened) {
    log.error(opened.error().message());
    return kFailure;
  }
  Server& server = **opened;
  const auto notify = base::Notify::from_environment();
  int status = kOk;
  transport::spawn(loop.get_executor(), start(server, log, notify, status));
  signals.start([&] {
    transport::asio::post(loop, [&] {
      log.info("draining: agents are sent away; once more to end at once");
      notify.stopping();
      transport::spawn(loop.get_executor(), server.drain());
    });
  });
  loop.run();  // until it is drained: then nothing is left to do
  log.info("stopped");
  return status;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  ::umask(077);
  const auto options = parse_options(terminal::process_sources(argc, argv));
  if (!options) {
    std::fprintf(stderr, "opsbackend: %s\n", options.error().message().c_str());
    return kUsage;
  }
  if (options->help || options->version) {
    say(options->help ? terminal::help_text(command_table(), options->command)
                      : "opsbackend " + std::string(version()));
    return kOk;
  }
  if (options->command) return print_completion(*options);
  auto log = terminal::Log::open(options->log_level, options->log_file);
  if (!log) {
    std::fprintf(stderr, "opsbackend: %s\n", log.error().message().c_str());
    return kFailure;
  }
  return serve(*options, *log);
}

}  // namespace backend::server
