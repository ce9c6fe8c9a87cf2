// Compiled alone: its names are those of other tests.
#include "agent/reports/spool.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

namespace {

using namespace agent::reports;
namespace fs = std::filesystem;
using Entry = Spool::Entry;

constexpr std::size_t kAll = 1'000'000;
constexpr std::size_t kAllBytes = 1'000'000'000;

std::unique_ptr<Spool> open(const std::string& folder, SpoolLimits limits = {}) {
  auto spool = Spool::open(folder, limits);
  if (!spool) FAIL(spool.error().message());
  return std::move(*spool);
}

std::vector<Entry> reports(std::initializer_list<const char*> payloads) {
  std::vector<Entry> entries;
  for (const char* payload : payloads)
    entries.push_back({.payload = payload});
  return entries;
}

std::vector<std::string> payloads(Spool& spool, std::uint64_t after = 0) {
  std::vector<std::string> all;
  for (SpoolRecord& record : spool.read_after(after, kAll, kAllBytes))
    all.push_back(std::move(record.payload));
  return all;
}

bool is_readable(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 1;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("attack: what was made since the spool was opened, and never read, no backend can have") {
  const tests::ScratchFolder scratch;
  {
    auto spool = open(scratch / "spool");
    CHECK(spool->offered_seq() == 0);
    REQUIRE(spool->append(reports({"a", "b", "c"})));
    CHECK(spool->offered_seq() == 0);
    CHECK(spool->read_after(0, 2, 1 << 20).size() == 2);
    CHECK(spool->offered_seq() == 2);
  }
  auto spool = open(scratch / "spool");
  CHECK(spool->offered_seq() == 3);  // a killed run may have sent them
  REQUIRE(spool->append(reports({"d", "e", "f", "g", "h"})));
  CHECK(spool->last_seq() == 8);
  CHECK(spool->offered_seq() == 3);
  spool->acknowledge(8);
  CHECK(spool->offered_seq() == 3);
}

TEST_CASE("reports come out of the spool in order, numbered, until they are acknowledged") {
  const tests::ScratchFolder scratch;
  auto spool = open(scratch / "spool");
  REQUIRE(spool->append(reports({"a", "b"})));
  REQUIRE(spool->append(reports({"c"})));
  CHECK(payloads(*spool) == Texts{"a", "b", "c"});
  CHECK(payloads(*spool, 1) == Texts{"b", "c"});
  CHECK(spool->last_seq() == 3);
  spool->acknowledge(2);
  CHECK(payloads(*spool) == Texts{"c"});
  CHECK(spool->acknowledged() == 2);
  spool->acknowledge(1);  // late
  CHECK(spool->acknowledged() == 2);
  CHECK(scratch.mode("spool") == 0700);
  for (const auto& entry : fs::directory_iterator(scratch / "spool"))
    CHECK(scratch.mode("spool/" + entry.path().filename().string()) == 0600);
}

TEST_CASE("a reader of the spool says how much it wants, and gets at least one") {
  const tests::ScratchFolder scratch;
  auto spool = open(scratch / "spool");
  REQUIRE(spool->append(reports({"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "b", "c"})));
  CHECK(spool->read_after(0, 2, kAllBytes).size() == 2);
  CHECK(spool->read_after(0, kAll, 1).size() == 1);
  CHECK(spool->read_after(1, kAll, 60).size() == 2);
  CHECK(spool->read_after(3, kAll, kAllBytes).empty());
}

TEST_CASE("whoever waits for reports is woken by an append") {
  const tests::ScratchFolder scratch;
  auto spool = open(scratch / "spool");
  CHECK_FALSE(is_readable(spool->appended_fd()));
  REQUIRE(spool->append(reports({"a"})));
  CHECK(is_readable(spool->appended_fd()));
  CHECK(payloads(*spool).size() == 1);
  CHECK_FALSE(is_readable(spool->appended_fd()));
}

TEST_CASE("a spool that is opened again has what was not acknowledged, and goes on counting") {
  const tests::ScratchFolder scratch;
  std::string uid;
  {
    auto spool = open(scratch / "spool");
    uid = spool->uid();
    CHECK(uid.size() == 32);
    REQUIRE(spool->append(reports({"a", "b", "c"})));
    spool->acknowledge(2);
  }
  {
    auto spool = open(scratch / "spool");
    CHECK(spool->uid() == uid);
    CHECK(payloads(*spool) == Texts{"c"});
    spool->acknowledge(3);
  }
  auto spool = open(scratch / "spool");
  CHECK(payloads(*spool).empty());
  CHECK(spool->last_seq() == 3);
  REQUIRE(spool->append(reports({"d"})));
  CHECK(spool->read_after(0, 1, kAllBytes).at(0).seq == 4);
}

TEST_CASE("numbers that are lost get a new owner, and so do those that the backend has seen more of") {
  const tests::ScratchFolder scratch;
  auto spool = open(scratch / "spool");
  const std::string first = spool->uid();
  REQUIRE(spool->append(reports({"a"})));
  REQUIRE(spool->renew_uid());
  const std::string second = spool->uid();
  CHECK(second != first);
  spool.reset();
  spool = open(scratch / "spool");
  CHECK(spool->uid() == second);
  CHECK(payloads(*spool) == Texts{"a"});
  spool.reset();
  for (const auto& entry : fs::directory_iterator(scratch / "spool"))
    if (entry.path().extension() == ".spool") fs::remove(entry.path());
  CHECK(open(scratch / "spool")->uid() != second);
}

TEST_CASE("a spool has one owner at a time") {
  const tests::ScratchFolder scratch;
  auto spool = open(scratch / "spool");
  CHECK_FALSE(Spool::open(scratch / "spool"));
  spool.reset();
  CHECK(Spool::open(scratch / "spool"));
}

TEST_CASE("a report whose key is known is not added again, not even after it was acknowledged and reopened") {
  const tests::ScratchFolder scratch;
  const std::vector<Entry> twice{{.key = "k1", .payload = "a"}, {.key = "k1", .payload = "again"}};
  {
    auto spool = open(scratch / "spool", {.segment_bytes = 1});  // a file per append
    for (int i = 0; i < 5; ++i)
      REQUIRE(spool->append(reports({"x"})));
    REQUIRE(spool->append(twice));
    CHECK(spool->last_seq() == 6);
    CHECK(spool->knows("k1"));
    CHECK_FALSE(spool->knows("k2"));
    spool->acknowledge(6);
    CHECK(scratch.count("spool") <= 4);  // two files, marks and uid
  }
  auto spool = open(scratch / "spool");
  CHECK(spool->knows("k1"));
  REQUIRE(spool->append(twice));
  CHECK(spool->last_seq() == 6);
}

TEST_CASE("a tail that is torn at any byte costs the torn report only, and no number is used twice") {
  const tests::ScratchFolder scratch;
  const std::string file = "spool/00000000000000000001.spool";
  {
    auto spool = open(scratch / "spool");
    REQUIRE(spool->append(reports({"first", "second"})));
  }
  const std::uintmax_t whole = fs::file_size(scratch / file);
  {
    auto spool = open(scratch / "spool");
    REQUIRE(spool->append(reports({"third, which will be torn"})));
  }
  const std::string bytes = scratch.read(file);
  REQUIRE(bytes.size() > whole + 23);
  for (std::size_t length = whole; length < bytes.size(); ++length) {
    for (const bool zeros : {false, true}) {  // as file systems leave a size that was written before its data
      const tests::ScratchFolder torn;
      fs::copy(scratch / "spool", torn / "spool");
      torn.write(file, bytes.substr(0, length) + (zeros ? std::string(bytes.size() - length, '\0') : ""));
      auto spool = open(torn / "spool");
      CHECK(payloads(*spool) == Texts{"first", "second"});
      CHECK(spool->take_problems().size() == (length > whole || zeros));
      const std::uint64_t next = spool->last_seq() + 1;
      CHECK(next >= (length > whole || zeros ? 4U : 3U));
      REQUIRE(spool->append(reports({"fourth"})));
      spool.reset();
      spool = open(torn / "spool");
      CHECK(payloads(*spool) == Texts{"first", "second", "fourth"});
      CHECK(spool->last_seq() == next);
    }
  }
}

TEST_CASE("a spool that was killed while it made a file opens") {
  const tests::ScratchFolder scratch;
  {
    auto spool = open(scratch / "spool");
    REQUIRE(spool->append(reports({"a"})));
  }
  for (const char* torn : {"", "opsagent sp", "opsagent spool 1\n"}) {
    const tests::ScratchFolder copy;
    fs::copy(scratch / "spool", copy / "spool");
    copy.write("spool/00000000000000000002.spool", torn);
    for (const char* added : {"b", "c"}) {
      auto spool = open(copy / "spool");
      REQUIRE(spool->append(reports({added})));
    }
    auto spool = open(copy / "spool");
    CHECK(payloads(*spool) == Texts{"a", "b", "c"});
    CHECK(spool->last_seq() >= 3);
  }
}

namespace {

const char* const kFirstFile = "spool/00000000000000000001.spool";

// As a disk does it.
void flip_a_bit(const tests::ScratchFolder& scratch, const std::string& file, std::size_t at) {
  std::string bytes = scratch.read(file);
  bytes.at(at) ^= 1;
  scratch.write(file, bytes);
}

bool says(const std::vector<std::string>& problems, std::string_view text) {
  return problems.size() == 1 && problems[0].find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("damage in the middle of a spool costs the record that it is in, is said and counted once") {
  const tests::ScratchFolder whole;
  const Texts all{"a", "b", "c, the third", "d", "e", "f"};
  {
    auto spool = open(whole / "spool", {.segment_bytes = 150});
    for (const std::string& text : all)
      REQUIRE(spool->append(std::vector<Entry>{{.key = "key of " + text, .payload = text}}));
  }
  REQUIRE(whole.count("spool") >= 4);  // two segments, uid and marks
  const std::string bytes = whole.read(kFirstFile);
  const std::size_t start = bytes.find("key of c, the third") - 23;
  const std::size_t end = bytes.find("key of d") - 23;
  for (std::size_t at = start; at < end; ++at) {
    CAPTURE(at);
    const tests::ScratchFolder scratch;
    fs::copy(whole / "spool", scratch / "spool");
    flip_a_bit(scratch, kFirstFile, at);
    for (const bool is_first : {true, false}) {
      auto spool = open(scratch / "spool");
      CHECK(payloads(*spool) == Texts{"a", "b", "d", "e", "f"});
      CHECK(spool->last_seq() == 6);
      CHECK(spool->dropped().damaged == 1);
      const auto problems = spool->take_problems();
      if (is_first)
        CHECK(says(problems, "a report is lost, number 3"));
      else
        CHECK(problems.empty());
      // What was lost may be reported again, the others are known.
      CHECK_FALSE(spool->knows("key of c, the third"));
      CHECK(spool->knows("key of d"));
      REQUIRE(spool->append(std::vector<Entry>{{.key = "key of d", .payload = "again"}}));
      CHECK(spool->last_seq() == 6);
    }
  }
}

TEST_CASE("damage anywhere in a spool's older file is said, and loses no more than it touches") {
  const tests::ScratchFolder whole;
  {
    auto spool = open(whole / "spool", {.segment_bytes = 1500});
    for (int i = 1; i <= 100; ++i)
      REQUIRE(spool->append(reports({("report " + std::to_string(i)).c_str()})));
  }
  const std::string bytes = whole.read(kFirstFile);
  std::mt19937 random(15);
  for (int run = 0; run < 200; ++run) {
    const std::size_t from = random() % bytes.size();
    const std::size_t size = std::min<std::size_t>(1 + random() % 200, bytes.size() - from);
    CAPTURE(from);
    CAPTURE(size);
    const tests::ScratchFolder scratch;
    fs::copy(whole / "spool", scratch / "spool");
    std::string damaged = bytes;
    const bool zeros = run % 2 == 0;
    for (std::size_t at = from; at < from + size; ++at)
      damaged[at] = zeros ? '\0' : static_cast<char>(random());
    if (damaged == bytes) continue;
    scratch.write(kFirstFile, damaged);
    auto spool = open(scratch / "spool");
    CHECK(spool->take_problems().size() >= 1);
    std::set<std::string> expected;
    for (int i = 1; i <= 100; ++i) {
      const std::string text = "report " + std::to_string(i);
      std::string record;
      append_record(record, static_cast<std::uint64_t>(i), Importance::normal, "", text);
      const std::size_t at = bytes.find(record);
      const bool is_touched = at != std::string::npos && at < from + size && from < at + record.size();
      if (!is_touched) expected.insert(text);
    }
    const Texts found = payloads(*spool);
    for (const std::string& text : expected)
      CHECK(std::ranges::find(found, text) != found.end());
    CHECK(found.size() + spool->dropped().damaged >= 100);
    CHECK(spool->dropped().damaged <= 100 - expected.size());
    CHECK(spool->last_seq() == 100);
  }
}

TEST_CASE("a spool's older file that is empty, or short, is said") {
  for (const std::size_t size : {0U, 17U + 5U}) {
    const tests::ScratchFolder scratch;
    {
      auto spool = open(scratch / "spool", {.segment_bytes = 1});
      for (const char* text : {"a", "b", "c"})
        REQUIRE(spool->append(reports({text})));
    }
    scratch.write(kFirstFile, scratch.read(kFirstFile).substr(0, size));
    auto spool = open(scratch / "spool");
    CHECK(payloads(*spool) == Texts{"b", "c"});
    CHECK(says(spool->take_problems(), "a report is lost, number 1"));
    CHECK(spool->dropped().damaged == 1);
  }
}

TEST_CASE("damage to what was acknowledged loses nothing, and says so") {
  const tests::ScratchFolder scratch;
  {
    auto spool = open(scratch / "spool");
    REQUIRE(spool->append(reports({"a", "b", "c"})));
    spool->acknowledge(2);
  }
  flip_a_bit(scratch, kFirstFile, scratch.read(kFirstFile).find("a", 30));
  auto spool = open(scratch / "spool");
  CHECK(payloads(*spool) == Texts{"c"});
  CHECK(says(spool->take_problems(), "no report that the backend does not have is lost"));
  CHECK(spool->dropped().damaged == 0);
}

TEST_CASE("a report that cannot be read any more when it is to be sent is said and counted, once") {
  const tests::ScratchFolder scratch;
  auto spool = open(scratch / "spool");
  REQUIRE(spool->append(reports({"a", "bbbb", "c"})));
  // In place: the spool has the file open.
  const std::size_t at = scratch.read(kFirstFile).find("bbbb");
  std::fstream file(scratch / kFirstFile, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file.put('x').flush();
  CHECK(payloads(*spool) == Texts{"a", "c"});
  CHECK(payloads(*spool) == Texts{"a", "c"});
  CHECK(says(spool->take_problems(), "report 2 is lost"));
  CHECK(spool->dropped().damaged == 1);
  spool->acknowledge(3);
  spool.reset();
  spool = open(scratch / "spool");
  CHECK(spool->dropped().damaged == 1);
}

TEST_CASE("a full spool drops the oldest kept results first, and others only when no kept one is left") {
  const tests::ScratchFolder scratch;
  const SpoolLimits limits{.most_bytes = 64 * 1024, .segment_bytes = 4 * 1024};
  auto spool = open(scratch / "spool", limits);
  const std::string filling(400, '.');
  const auto add = [&](Importance importance, int from, int to) {
    for (int i = from; i < to; ++i)
      REQUIRE(spool->append(
          std::vector<Entry>{{importance, importance == Importance::kept ? "" : std::to_string(i),
                              std::to_string(i) + filling}}));
  };
  const auto count = [&](Importance importance) {
    std::uint64_t found = 0;
    for (const SpoolRecord& record : spool->read_after(0, kAll, kAllBytes))
      found += record.importance == importance;
    return found;
  };
  for (int i = 0; i < 50; ++i) {
    add(Importance::kept, i, i + 1);
    add(Importance::normal, i, i + 1);
  }
  CHECK(spool->dropped().kept == 0);
  add(Importance::normal, 50, 110);
  CHECK(count(Importance::normal) == 110);
  const std::uint64_t some_kept = count(Importance::kept);
  CHECK(some_kept < 50);
  CHECK(spool->dropped().kept == 50 - some_kept);
  CHECK(spool->dropped().others == 0);
  // The newest of them are left.
  for (const SpoolRecord& record : spool->read_after(0, kAll, kAllBytes))
    if (record.importance == Importance::kept) CHECK(std::stoul(record.payload) >= 50 - some_kept);

  spool.reset();
  spool = open(scratch / "spool", limits);
  CHECK(spool->dropped().kept == 50 - some_kept);
  CHECK(count(Importance::kept) == some_kept);

  add(Importance::normal, 110, 300);
  CHECK(count(Importance::kept) == 0);
  CHECK(spool->dropped().kept == 50);
  CHECK(spool->dropped().others == 300 - count(Importance::normal));
  CHECK(spool->dropped().others > 0);
  CHECK(spool->bytes() <= limits.most_bytes);
  // The newest are there, without a gap.
  const auto left = spool->read_after(0, kAll, kAllBytes);
  for (std::size_t i = 1; i < left.size(); ++i)
    CHECK(left[i].seq == left[i - 1].seq + 1);
  CHECK(left.back().seq == spool->last_seq());
  CHECK(spool->last_seq() == 350);
}

TEST_CASE("only kept results fill a spool too, in its newest file too") {
  const tests::ScratchFolder scratch;
  auto spool = open(scratch / "spool", {.most_bytes = 4096, .segment_bytes = 1024 * 1024});
  for (int i = 0; i < 100; ++i)
    REQUIRE(spool->append(std::vector<Entry>{{Importance::kept, "", std::string(300, 'k')}}));
  CHECK(spool->bytes() <= 4096);
  CHECK(spool->dropped().kept + payloads(*spool).size() == 100);
  CHECK_FALSE(payloads(*spool).empty());
  const auto refused = spool->append(std::vector<Entry>{{.payload = std::string(5000, 'x')}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == base::ErrorCode::limit);
}

TEST_CASE("acknowledged reports make room before anything is dropped") {
  const tests::ScratchFolder scratch;
  auto spool = open(scratch / "spool", {.most_bytes = 64 * 1024, .segment_bytes = 4 * 1024});
  for (int i = 0; i < 100; ++i) {
    REQUIRE(spool->append(std::vector<Entry>(10, {.payload = std::string(400, 'x')})));
    if (i % 3 == 0) spool->acknowledge(spool->last_seq());
  }
  CHECK(spool->dropped().others == 0);
  CHECK(spool->bytes() < 32 * 1024);
}

TEST_CASE("whoever reads while others append sees every report once and in order") {
  const tests::ScratchFolder scratch;
  auto spool = open(scratch / "spool", {.most_bytes = 1024 * 1024, .segment_bytes = 16 * 1024});
  constexpr std::uint64_t kReports = 2000;
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < kReports; i += 5)
      if (!spool->append(std::vector<Entry>(5, {.payload = std::string(50, 'x')}))) return;
  });
  std::uint64_t seen = 0;
  bool in_order = true;
  while (seen < kReports && in_order) {
    pollfd waiting{spool->appended_fd(), POLLIN, 0};
    REQUIRE(::poll(&waiting, 1, 10'000) == 1);
    for (bool more = true; more;) {
      const auto records = spool->read_after(seen, 7, kAllBytes);
      more = !records.empty();
      for (const SpoolRecord& record : records)
        in_order = in_order && record.seq == ++seen;
      spool->acknowledge(seen);
      (void)spool->bytes();
    }
  }
  writer.join();
  CHECK(in_order);
  CHECK(seen == kReports);
}

TEST_CASE("kill -9 at any moment loses no report that append() took, doubles none and reuses no number") {
  const tests::ScratchFolder scratch;
  const SpoolLimits limits{.most_bytes = 4 * 1024 * 1024, .segment_bytes = 2 * 1024};
  std::mt19937 random(std::random_device{}());
  std::map<std::string, std::uint64_t> taken;  // key and the number it was read with
  std::uint64_t highest = 0;
  int batches = 0;
  int next = 0;
  for (int kill = 0; kill < 100; ++kill) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      auto spool = Spool::open(scratch / "spool", limits);
      if (!spool) ::_exit(1);
      for (int i = next;; i += 3) {
        std::vector<Entry> batch;
        for (int k = i; k < i + 3; ++k)
          batch.push_back(
              {.key = std::to_string(k), .payload = std::string(static_cast<std::size_t>(k % 300), 'p')});
        if (!(*spool)->append(batch)) ::_exit(2);
        if (::write(ends[1], &i, sizeof i) != sizeof i) ::_exit(3);
        if (i % 7 == 0 && (*spool)->last_seq() > 20) (*spool)->acknowledge((*spool)->last_seq() - 20);
      }
    }
    ::close(ends[1]);
    int confirmed = -1;
    REQUIRE(::read(ends[0], &confirmed, sizeof confirmed) == sizeof confirmed);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));
    const int first = confirmed;
    for (int i = 0; ::read(ends[0], &i, sizeof i) == sizeof i;)
      confirmed = i;
    ::close(ends[0]);
    batches += (confirmed - first) / 3 + 1;

    auto spool = open(scratch / "spool", limits);
    std::set<std::string> held;
    std::uint64_t before = 0;
    for (const SpoolRecord& record : spool->read_after(0, kAll, kAllBytes)) {
      CHECK(record.seq > before);
      before = record.seq;
      CHECK(held.insert(record.key).second);
      const auto [known, is_new] = taken.emplace(record.key, record.seq);
      CHECK(known->second == record.seq);
      if (is_new) CHECK(record.seq > highest);
    }
    CHECK(spool->last_seq() >= before);
    // Those that were not acknowledged: at least the last 20.
    for (int k = std::max(first, confirmed + 3 - 20); k < confirmed + 3; ++k)
      CHECK_MESSAGE(held.contains(std::to_string(k)), k << " of " << confirmed);
    highest = spool->last_seq();
    // As recovery does it: what was under way comes again, unless it is known.
    next = confirmed + 3;
  }
  MESSAGE(batches << " batches were confirmed before 100 kills");
}

TEST_CASE("on a full disk append says so, adds nothing, and works again when there is room") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root to mount a small file system");
    return;
  }
  const tests::ScratchFolder scratch;
  const std::string wrong = tests::in_own_mounts([&]() -> std::string {
    if (::mount("tmpfs", scratch.path().c_str(), "tmpfs", 0, "size=256k") != 0) return "no tmpfs";
    auto opened = Spool::open(scratch / "spool");
    if (!opened) return opened.error().message();
    Spool& spool = **opened;
    if (!spool.append(reports({"first"}))) return "no first append";
    scratch.write("ballast", std::string(150 * 1024, 'x'));
    const std::vector<Entry> large(2, {.payload = std::string(60 * 1024, 'y')});
    const auto refused = spool.append(large);
    if (refused) return "the disk was not full";
    if (refused.error().code() != base::ErrorCode::no_space) return refused.error().message();
    if (payloads(spool) != Texts{"first"} || spool.last_seq() != 1) return "something was added";
    fs::remove(scratch / "ballast");
    if (const auto added = spool.append(large); !added) return added.error().message();
    opened->reset();
    auto again = Spool::open(scratch / "spool");
    if (!again) return again.error().message();
    if ((*again)->last_seq() != 3 || payloads(**again).size() != 3) return "not as it was";
    return "";
  });
  CHECK(wrong == "");
}
