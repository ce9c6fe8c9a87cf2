#include "agent/updater/candidate.hpp"

#include <sys/utsname.h>

#include "agent/updater/trust_file.hpp"
#include "base/programs/process.hpp"
#include "base/text.hpp"

namespace agent::updater {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// More root documents than that in a row nobody has made in good faith.
constexpr int kMostRoots = 64;

release::Machine this_machine(const Settings& settings) {
  utsname names{};
  ::uname(&names);
  const std::string arch = names.machine;
  return {.arch = arch == "x86_64"    ? "amd64"
                  : arch == "aarch64" ? "arm64"
                                      : arch,
          .channel = settings.channel,
          .version = settings.version};
}

release::Instant clock_now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

// Object stores answer so for what is not there.
bool is_absent(const Error& error) {
  return error.code() == ErrorCode::not_found || error.code() == ErrorCode::permission;
}

// `take` of a document and its signatures; both are fetched once more before a bad signature is believed.
template <class Take>
auto take_signed(ReleaseSource& source, const release::Trust& trust, const std::string& path,
                 ReleaseSource::Signed paper, const Take& take) {
  auto taken = take(paper);
  if (taken || trust.last_refusal() != release::Refusal::bad_signature) return taken;
  const auto again = source.document_again(path);
  return again ? take(*again) : taken;
}

// A root that is believed is kept before anything else is asked: the one before may be a stolen one.
std::optional<StepFailure> follow_roots(const Settings& settings, ReleaseSource& source,
                                        release::Trust& trust) {
  for (int i = 0; i < kMostRoots; ++i) {
    const std::string name = std::to_string(trust.next_root()) + ".root.json";
    const auto next = source.document(name);
    if (!next && is_absent(next.error())) return std::nullopt;
    if (!next) return failed(next.error().with_context(name));
    const auto taken = take_signed(source, trust, name, *next, [&](const ReleaseSource::Signed& paper) {
      return trust.take_root(paper.document, paper.signatures);
    });
    if (!taken) return refused(name + ": " + taken.error().message());
    if (auto stored = store_trust(settings.state_dir, trust); !stored) return failed(stored.error());
  }
  return refused("there are more than " + std::to_string(kMostRoots) + " new root documents");
}

}  // namespace

Attempt<Candidate> read_documents(const Settings& settings, ReleaseSource& source,
                                  const std::string& version) {
  auto trust = load_trust(settings.state_dir);
  if (!trust) return failed(trust.error());
  if (auto stumble = follow_roots(settings, source, *trust)) return *stumble;
  const auto stamp = source.document("timestamp.json");
  if (!stamp) return failed(stamp.error().with_context("timestamp.json"));
  const auto timestamp =
      take_signed(source, *trust, "timestamp.json", *stamp, [&](const ReleaseSource::Signed& paper) {
        return trust->take_timestamp(paper.document, paper.signatures, clock_now());
      });
  if (!timestamp) return refused(timestamp.error().message());
  if (auto stored = store_trust(settings.state_dir, *trust); !stored) return failed(stored.error());
  const release::Machine machine = this_machine(settings);
  const auto offer = trust->choose(*timestamp, machine, version);
  if (!offer) return refused(offer.error().message());
  const auto paper = source.document(offer->path);
  if (!paper) return failed(paper.error().with_context(offer->path));
  auto target =
      take_signed(source, *trust, offer->path, *paper, [&](const ReleaseSource::Signed& signed_paper) {
        return trust->take_release(*offer, signed_paper.document, signed_paper.signatures, machine,
                                   clock_now());
      });
  if (!target) return refused(target.error().message());
  if (auto stored = store_trust(settings.state_dir, *trust); !stored) return failed(stored.error());
  Candidate candidate{.version = offer->version, .release = offer->number, .target = std::move(*target)};
  candidate.folder = update::Layout::folder_name(candidate.version, candidate.target.sha256);
  candidate.is_installed = update::Layout(settings.prefix).is_complete(candidate.folder);
  return candidate;
}

Result<void> run_self_test(const Settings& settings, const std::string& folder, base::Interrupt& interrupt) {
  base::Command command{.argv = {folder + "/bin/opsagent", "self-test", "--quiet"},
                        .env = base::clean_environment(),
                        .timeout = kSelfTestLimit,
                        .interrupt = &interrupt};
  command.argv.insert(command.argv.end(), settings.self_test.begin(), settings.self_test.end());
  const auto ran = base::run(command);
  if (!ran) return ran.error().with_context("its self-test cannot be started");
  if (ran->ok()) return {};
  switch (ran->ending) {
    case base::Ending::timed_out:
      return Error(ErrorCode::timed_out,
                   "its self-test takes longer than " + std::to_string(kSelfTestLimit.count()) + " s");
    case base::Ending::cancelled:
      return Error(ErrorCode::cancelled, "the agent ends");
    case base::Ending::signalled:
      return Error(ErrorCode::invalid, "its self-test was ended by signal " + std::to_string(ran->signal));
    case base::Ending::exited:
      break;
  }
  constexpr std::size_t kMostSaid = 400;
  const std::string said(base::trim(ran->output).substr(0, kMostSaid));
  return Error(ErrorCode::invalid, "its self-test failed" + (said.empty() ? "" : ": " + said));
}

}  // namespace agent::updater
