// fleet-load: thousands of simulated agents in one process, told what to do by lines on standard input and
// answering with a JSON object per line, whose "event" is in brackets here. bench/fleet/run drives it.
//
// - tls CA_FILE TOKEN: from now on with TLS; agents without a certificate enrol with the token first
// - certify N HOST PORT APP: each gets its certificate, and no more [certified, once all have it]
// - connect N HOST PORT APP: a few hundred at a time [connected, once all are welcome]
// - enrol N HOST PORT APP: all at once, by new names: certificate, then handshake [enrolled, once all are
//   welcome or have had their time]
// - reconnect: all leave, and connect again [connected]
// - expect: note when each agent gets the next recipe [arrived, once all have it]
// - report N: N results from each agent [reported, once all are acknowledged]
// - trust CA_FILE: from now on backends are known by these
// - authority N: note when so many have a certificate of another authority [renewed, once all have it]
// - storm: note when all have lost their connection and are back [back]
// - state [state]
// - nats N HOST PORT BYTES: the same fan-out through a nats-server [nats]
// - quit
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <sstream>

#include "base/values/json.hpp"
#include "bench/fleet/nats_fan_out.hpp"
#include "bench/fleet/simulated_agent.hpp"

namespace fleet {

namespace {

constexpr std::size_t kConnectingAtOnce = 400;  // below the kernel's queue of connections to accept
// After this a storm of enrolments is over, with those who are not welcome as failures.
constexpr std::int64_t kLongestStormNs = 180'000'000'000;

double seconds_since(std::int64_t start) {
  return static_cast<double>(now_ns() - start) / 1e9;
}

class Load final : public Fleet {
 public:
  explicit Load(Poller& a_poller) : Fleet(a_poller) {}

  void command(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    std::size_t number = 0;
    words >> verb;
    if (verb == "tls") {
      std::string authority_file;
      words >> authority_file >> join_token;
      secure(authority_file);
    } else if (verb == "connect" || verb == "certify" || verb == "enrol") {
      words >> number >> host >> port >> app;
      prefix = verb == "enrol" ? "new" : "sim";
      make_agents(number);
      certifying_ = verb == "certify";
      if (verb == "enrol")
        enrol();
      else
        connect();
    } else if (verb == "reconnect") {
      for (const auto& agent : agents_)
        agent->leave();
      connect();
    } else if (verb == "trust") {
      std::string authority_file;
      words >> authority_file;
      secure(authority_file);
    } else if (verb == "authority") {
      words >> renewals_wanted_;
      renewed_ = 0;
      renewal_start_ = now_ns();
    } else if (verb == "expect") {
      arrivals_.clear();
      expecting_ = true;
    } else if (verb == "report") {
      words >> number;
      report(number);
    } else if (verb == "storm") {
      storm_ = true;
      lost_before_ = lost_connections;
    } else if (verb == "state") {
      std::printf(
          "{\"event\":\"state\",\"welcome\":%zu,\"connecting\":%zu,\"acknowledged\":%llu,\"refused\":%llu,"
          "\"lost\":%llu,\"failed_attempts\":%llu,\"full_handshakes\":%llu,\"resumed_handshakes\":%llu,"
          "\"slowest_handshake_s\":%.3f,\"problem\":%s}\n",
          welcome, connecting, static_cast<unsigned long long>(results_acknowledged),
          static_cast<unsigned long long>(refused), static_cast<unsigned long long>(lost_connections),
          static_cast<unsigned long long>(failed_attempts), static_cast<unsigned long long>(full_handshakes),
          static_cast<unsigned long long>(resumed_handshakes),
          static_cast<double>(slowest_handshake_ns) / 1e9, base::json_quote(first_problem).c_str());
    } else if (verb == "nats") {
      std::size_t bytes = 0;
      words >> number >> host >> port >> bytes;
      nats(number, bytes);
    } else if (verb == "quit") {
      poller.stop();
    } else {
      std::printf("{\"event\":\"error\",\"text\":\"unknown command\"}\n");
    }
    std::fflush(stdout);
  }

  void welcomed(SimulatedAgent&) override {
    if (next_ < agents_.size()) agents_[next_++]->connect();
    if (welcome != agents_.size()) return;
    if (enrol_start_ != 0) tell_enrolled();
    if (connect_start_ != 0) {
      std::printf("{\"event\":\"connected\",\"agents\":%zu,\"seconds\":%.3f}\n", welcome,
                  seconds_since(connect_start_));
      connect_start_ = 0;
    }
    if (storm_ && lost_connections - lost_before_ >= agents_.size()) {
      std::printf("{\"event\":\"back\",\"agents\":%zu,\"at_ns\":%lld,\"refused\":%llu}\n", welcome,
                  static_cast<long long>(now_ns()), static_cast<unsigned long long>(refused));
      storm_ = false;
    }
    std::fflush(stdout);
  }

  void certified(SimulatedAgent& agent) override {
    if (!certifying_) return agent.connect();
    if (next_ < agents_.size()) agents_[next_++]->connect();
    if (++certified_ < agents_.size()) return;
    certifying_ = false;
    std::printf("{\"event\":\"certified\",\"agents\":%zu,\"seconds\":%.3f,\"failed_attempts\":%llu}\n",
                certified_, seconds_since(connect_start_), static_cast<unsigned long long>(failed_attempts));
    std::fflush(stdout);
    connect_start_ = 0;
  }

  void recipe_arrived(SimulatedAgent&, const protocol::RecipeMetadata& recipe) override {
    if (!expecting_) return;
    arrivals_.push_back(now_ns());
    if (arrivals_.size() < agents_.size()) return;
    expecting_ = false;
    std::sort(arrivals_.begin(), arrivals_.end());
    std::printf(
        "{\"event\":\"arrived\",\"agents\":%zu,\"bytes\":%zu,\"p50_ns\":%lld,\"p99_ns\":%lld,\"last_ns\":%"
        "lld}\n",
        arrivals_.size(), recipe.states ? recipe.states->text.size() : 0,
        static_cast<long long>(percentile(arrivals_, 0.5)),
        static_cast<long long>(percentile(arrivals_, 0.99)), static_cast<long long>(arrivals_.back()));
    std::fflush(stdout);
  }

  void renewed(SimulatedAgent&) override {
    if (++renewed_ != renewals_wanted_) return;
    std::printf("{\"event\":\"renewed\",\"agents\":%zu,\"seconds\":%.3f}\n", renewed_,
                seconds_since(renewal_start_));
    std::fflush(stdout);
  }

  void all_acknowledged(SimulatedAgent&) override {
    if (report_start_ == 0) return;
    for (const auto& agent : agents_)
      if (!agent->all_acknowledged()) return;
    std::printf("{\"event\":\"reported\",\"results\":%llu,\"seconds\":%.3f}\n",
                static_cast<unsigned long long>(results_acknowledged - acknowledged_before_),
                seconds_since(report_start_));
    std::fflush(stdout);
    report_start_ = 0;
  }

 private:
  void secure(const std::string& authority_file) {
    auto made = TlsCommon::make(authority_file);
    if (made)
      tls = std::move(*made);
    else
      std::printf("{\"event\":\"error\",\"text\":%s}\n", base::json_quote(made.error().message()).c_str());
  }

  void make_agents(std::size_t number) {
    while (agents_.size() < number)
      agents_.push_back(std::make_unique<SimulatedAgent>(*this, agents_.size()));
    for (const auto& agent : agents_)
      if (tls && !agent->prepare()) std::printf("{\"event\":\"error\",\"text\":\"making keys failed\"}\n");
  }

  void connect() {
    connect_start_ = now_ns();
    for (next_ = 0; next_ < std::min(agents_.size(), kConnectingAtOnce); ++next_)
      agents_[next_]->connect();
  }

  void enrol() {
    enrol_start_ = now_ns();
    next_ = agents_.size();
    for (const auto& agent : agents_)
      agent->connect();
    poller.at(enrol_start_ + kLongestStormNs, [this] {
      if (enrol_start_ != 0) tell_enrolled();
    });
  }

  void tell_enrolled() {
    std::printf(
        "{\"event\":\"enrolled\",\"agents\":%zu,\"seconds\":%.3f,\"failures\":%zu,\"retries\":%llu,"
        "\"slowest_handshake_s\":%.3f,\"problem\":%s}\n",
        agents_.size(), seconds_since(enrol_start_), agents_.size() - welcome,
        static_cast<unsigned long long>(failed_attempts), static_cast<double>(slowest_handshake_ns) / 1e9,
        base::json_quote(first_problem).c_str());
    std::fflush(stdout);
    enrol_start_ = 0;
  }

  void report(std::uint64_t results) {
    report_start_ = now_ns();
    acknowledged_before_ = results_acknowledged;
    for (const auto& agent : agents_)
      agent->report(results);
  }

  void nats(std::size_t subscribers, std::size_t bytes) {
    nats_ = std::make_unique<NatsFanOut>(poller, host, port);
    nats_->subscribe(subscribers, [this, bytes] {
      nats_->publish(bytes, [](const std::vector<std::int64_t>& times) {
        std::printf(
            "{\"event\":\"nats\",\"subscribers\":%zu,\"p50_ns\":%lld,\"p99_ns\":%lld,\"last_ns\":%lld}\n",
            times.size(), static_cast<long long>(percentile(times, 0.5)),
            static_cast<long long>(percentile(times, 0.99)), static_cast<long long>(times.back()));
        std::fflush(stdout);
      });
    });
  }

  std::vector<std::unique_ptr<SimulatedAgent>> agents_;
  std::unique_ptr<NatsFanOut> nats_;
  std::size_t next_ = 0;
  std::int64_t connect_start_ = 0;
  std::int64_t enrol_start_ = 0;
  bool certifying_ = false;
  std::size_t certified_ = 0;
  std::int64_t report_start_ = 0;
  std::uint64_t acknowledged_before_ = 0;
  std::size_t renewals_wanted_ = 0, renewed_ = 0;
  std::int64_t renewal_start_ = 0;
  bool expecting_ = false;
  std::vector<std::int64_t> arrivals_;
  bool storm_ = false;
  std::uint64_t lost_before_ = 0;
};

class CommandLines final : public Watcher {
 public:
  explicit CommandLines(Load& load) : load_(load) {
    ::fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    load_.poller.add(STDIN_FILENO, EPOLLIN, *this);
  }

  void ready(std::uint32_t) override {
    char buffer[4096];
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (got == 0) return load_.poller.stop();
    if (got < 0) return;
    text_.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = text_.find('\n')) != std::string::npos;) {
      const std::string line = text_.substr(0, end);
      text_.erase(0, end + 1);
      load_.command(line);
    }
  }

 private:
  Load& load_;
  std::string text_;
};

}  // namespace

}  // namespace fleet

int main() {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  fleet::Poller poller;
  fleet::Load load(poller);
  const fleet::CommandLines lines(load);
  poller.run();
}
