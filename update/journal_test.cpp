#include "update/journal.hpp"

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

using tests::ScratchFolder;
using update::Phase;
using update::Record;

namespace {

Record sample() {
  return {.phase = Phase::trial,
          .action_id = "a1b2",
          .version = "1.4.0",
          .from = "1.3.0-0a1b2c3d",
          .to = "1.4.0-4e5f6071",
          .release = 7,
          .sha256 = std::string(64, 'a'),
          .attempts = 2,
          .deadline = std::chrono::seconds(90),
          .reason = "because of this",
          .retryable = true,
          .is_reported = true};
}

}  // namespace

TEST_CASE("a record is read as it was written") {
  CHECK(*update::parse_record(to_text(sample())) == sample());
  CHECK(*update::parse_record(to_text(Record())) == Record());
}

TEST_CASE("every phase has a name that leads back to it") {
  for (int i = 0; i <= static_cast<int>(Phase::refused); ++i) {
    const auto phase = static_cast<Phase>(i);
    CHECK(protocol::update_phase_of(name_of(phase)) == phase);
    CHECK(is_closed(phase) == (phase == Phase::confirmed || phase == Phase::rolled_back ||
                               phase == Phase::failed || phase == Phase::refused));
  }
  CHECK_FALSE(protocol::update_phase_of("finished"));
}

TEST_CASE("a reason with line breaks is one line, and not longer than it should be") {
  Record record = sample();
  record.reason = "first\nphase confirmed\r" + std::string(5000, 'x');
  const auto read = update::parse_record(to_text(record));
  REQUIRE(read);
  CHECK(read->phase == Phase::trial);
  CHECK(read->reason.starts_with("first phase confirmed x"));
  CHECK(read->reason.size() == update::kLongestReason);
}

TEST_CASE("what was read is what would be written: nothing changes when it is noted again") {
  std::string text = to_text(sample());
  const std::string reason = "because of this";
  SUBCASE("a longer reason, of a later version, is cut at once") {
    text.replace(text.find(reason), reason.size(), std::string(3000, 'x'));
    const auto read = update::parse_record(text);
    REQUIRE(read);
    CHECK(read->reason == std::string(update::kLongestReason, 'x'));
    CHECK(*update::parse_record(to_text(*read)) == *read);
  }
  SUBCASE("a control character is damage") {
    for (const std::string at : {"a1b2", "1.4.0\n", "aaaa", "because"})
      for (const char c : {'\t', '\r', '\0', '\x7f'}) {
        std::string changed = text;
        changed.insert(changed.find(at) + 1, 1, c);
        CHECK_FALSE(update::parse_record(changed));
      }
  }
}

TEST_CASE("keys of later versions are kept") {
  std::string text = to_text(sample());
  text.insert(text.rfind("end\n"), "flavour plain vanilla\n");
  auto read = update::parse_record(text);
  REQUIRE(read);
  CHECK(read->others == "flavour plain vanilla\n");
  read->attempts = 3;
  CHECK(to_text(*read).find("\nflavour plain vanilla\nend\n") != std::string::npos);
}

TEST_CASE("a journal that is not whole is damaged: cut anywhere, doubled, or with values out of range") {
  const std::string text = to_text(sample());
  for (std::size_t length = 0; length < text.size(); ++length)
    CHECK_FALSE(update::parse_record(text.substr(0, length)));
  CHECK_FALSE(update::parse_record(text + text));
  const auto with = [&](const std::string& line, const std::string& instead) {
    std::string changed = text;
    changed.replace(changed.find(line), line.size(), instead);
    return update::parse_record(changed);
  };
  CHECK_FALSE(with("phase trial", "phase dessert"));
  CHECK_FALSE(with("attempts 2", "attempts -1"));
  CHECK_FALSE(with("attempts 2\n", ""));
  CHECK_FALSE(with("attempts 2", "attempts 2\nattempts 2"));
  CHECK_FALSE(with("deadline 90", "deadline 0"));
  CHECK_FALSE(with("reported yes", "reported maybe"));
  CHECK_FALSE(with("to 1.4.0-4e5f6071", "to ../../etc"));
  CHECK_FALSE(with("to 1.4.0-4e5f6071", "to"));
  CHECK_FALSE(with("opsagent-update 1", "opsagent-update 2"));
}

TEST_CASE("the journal lies in a folder that only its owner sees; none is no error, a damaged one is") {
  const ScratchFolder state;
  CHECK_FALSE(update::read_journal(state.path())->has_value());
  REQUIRE(update::write_journal(state.path(), sample()));
  CHECK(state.mode("update") == 0700);
  CHECK(state.mode("update/journal") == 0600);
  CHECK(**update::read_journal(state.path()) == sample());
  REQUIRE(update::write_journal(state.path(), Record()));
  CHECK(**update::read_journal(state.path()) == Record());
  CHECK(state.count("update") == 1);
  state.write("update/journal", "rubbish");
  CHECK(update::read_journal(state.path()).error().code() == base::ErrorCode::invalid);
  CHECK_FALSE(update::write_journal(state / "missing", sample()));
}
