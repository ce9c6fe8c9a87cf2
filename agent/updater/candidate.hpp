// The blocking steps of an update, from the documents to a folder in versions/: one function each. Any thread
// but the loop's, one at a time; all can be interrupted when the agent ends. What they leave behind when they
// are killed is found or swept by the next attempt.
#pragma once

#include <functional>
#include <string>

#include "agent/updater/attempt.hpp"
#include "agent/updater/release_source.hpp"
#include "agent/updater/settings.hpp"
#include "base/interrupt.hpp"
#include "release/documents.hpp"

namespace agent::updater {

// What the documents say about the version that was asked for.
struct Candidate {
  std::string version;
  std::uint64_t release = 0;
  release::Target target;
  std::string folder;         // its name in versions/
  bool is_installed = false;  // it is there already
};

// Step 2: root chain, timestamp, release; all checks. What was learnt is on disk when it returns.
Attempt<Candidate> read_documents(const Settings& settings, ReleaseSource& source,
                                  const std::string& version);

// What is in versions/ already and does not pass its self-test was damaged there: unless it is in use
// (`current`, or `own`, that runs) it goes, to be fetched anew.
void distrust_installed(const Settings& settings, Candidate& candidate, const std::string& own,
                        base::Interrupt& interrupt);

// Step 3: free space first; continues what is there of it.
Attempt<std::monostate> fetch_archive(const Settings& settings, ReleaseSource& source,
                                      const Candidate& candidate,
                                      const std::function<void(int percent)>& progress);

// Step 4: size and hash, unpacked beneath staging/, its own self-test.
Attempt<std::monostate> verify_archive(const Settings& settings, const Candidate& candidate,
                                       base::Interrupt& interrupt);

// Step 5: into versions/, on disk.
Attempt<std::monostate> adopt_version(const Settings& settings, const Candidate& candidate);

// `opsagent self-test` of the version in this folder; kSelfTestLimit at most.
inline constexpr std::chrono::seconds kSelfTestLimit{10};
base::Result<void> run_self_test(const Settings& settings, const std::string& folder,
                                 base::Interrupt& interrupt);

}  // namespace agent::updater
