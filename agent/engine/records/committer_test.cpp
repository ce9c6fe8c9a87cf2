#include "agent/engine/records/committer.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <atomic>

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

namespace agent::engine {

namespace {

StateResult changed(std::string id, std::string path) {
  return {.id = std::move(id), .outcome = Outcome::changed, .written = {std::move(path)}};
}

// A disk that is full until it is told otherwise.
class FullSpool final : public ReportSink {
 public:
  base::Result<void> append(std::span<const Event> events) override {
    if (is_full) return base::Error(base::ErrorCode::no_space, "the disk is full");
    for (const Event& event : events)
      if (const auto* result = std::get_if<StateResult>(&event))
        (result->outcome == Outcome::kept ? kept : others)++;
    return {};
  }
  bool knows(const std::string&) const override { return false; }
  std::atomic<bool> is_full = true;
  std::atomic<std::size_t> kept = 0;
  std::atomic<std::size_t> others = 0;
};

}  // namespace

TEST_CASE("a sync that fails speaks for what was written before it, also of a state that still runs") {
  const tests::ScratchFolder at;
  // A journal that can be written and not synced.
  if (::mknod((at / "journal").c_str(), S_IFCHR | 0600, ::makedev(1, 3)) != 0 ||
      !Journal::open(at / "journal")) {
    MESSAGE("skipped: needs root to make a device");
    return;
  }
  auto journal = Journal::open(at / "journal");
  REQUIRE(journal);
  base::Channel<Event> out{16};
  base::SyncGroup sync;
  Committer committer(out, sync, journal->get());
  const std::uint64_t at_start = committer.failed_syncs();  // of "late", which has written its file already
  REQUIRE((*journal)->begin({.id = "early"}));
  committer.submit(changed("early", "/early"), at_start);
  committer.flush();
  CHECK(std::get<StateResult>(*out.pop()).outcome == Outcome::failed);
  std::filesystem::remove(at / "journal");
  REQUIRE((*journal)->unfinished());  // from here on syncs succeed
  committer.submit(changed("late", "/late"), at_start);
  committer.submit(changed("next", "/next"), committer.failed_syncs());
  committer.flush();
  CHECK(std::get<StateResult>(*out.pop()).outcome == Outcome::failed);
  CHECK(std::get<StateResult>(*out.pop()).outcome == Outcome::changed);
  CHECK(committer.take_unsynced().size() == 2);
  // What cannot be put on record is kept by the committer.
  std::vector<std::string> files;
  const auto take = [&](bool is_noted) {
    committer.take_doubtful_files([&](const std::string& path) {
      files.push_back(path);
      return is_noted;
    });
  };
  take(false);
  take(true);
  take(true);
  CHECK(files == std::vector<std::string>{"/early", "/late", "/early", "/late"});
}

TEST_CASE("a spool that takes nothing for long costs results of kept states, and stops nobody") {
  base::Channel<Event> out{64};
  base::SyncGroup sync;
  FullSpool spool;
  constexpr std::size_t kKept = 40'000;
  std::size_t told = 0;
  std::string text;
  {
    Committer committer(out, sync, nullptr, &spool);
    const auto read = [&] {
      while (auto event = out.try_pop())
        if (const auto* notice = std::get_if<Notice>(&*event))
          text = notice->text;
        else
          ++told;
    };
    for (std::size_t i = 0; i < kKept; ++i) {
      committer.submit(StateResult{.id = "k", .outcome = Outcome::kept});
      if (i % 10'000 == 0) committer.submit(StateResult{.id = "c", .outcome = Outcome::changed});
      read();
    }
    spool.is_full = false;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (spool.others < 4 && std::chrono::steady_clock::now() < deadline) {
      read();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(spool.others == 4);
    CHECK(spool.kept < kKept);
    out.close();
  }
}

}  // namespace agent::engine
