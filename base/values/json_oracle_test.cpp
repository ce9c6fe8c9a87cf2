// Our JSON reader against nlohmann's: on thousands of texts, valid and damaged, both accept the same ones and
// read the same values.
#include <random>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "base/values/json.hpp"

namespace {

using nlohmann::json;

std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> kPieces{"a",  "/etc", "\"",   "\\",   "\n",         "\t", "\b",
                                                "\f", "\r",   "ü",    "漢",   "\U0001F600", "{}", ",",
                                                " ",  "é",    "\x01", "\x7f", "0"};
  std::string text;
  for (unsigned i = random() % 8; i > 0; --i)
    text += kPieces[random() % kPieces.size()];
  return text;
}

json random_value(std::mt19937& random, int depth) {
  switch (random() % (depth > 4 ? 6 : 8)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<std::int64_t>(random()) * (random() % 2 == 0 ? 1 : -1) *
             static_cast<int>(random() % 5);
    case 3:
      return static_cast<double>(random()) / 1000.0 - 1e6;
    case 4:
    case 5:
      return random_text(random);
    case 6: {
      json list = json::array();
      for (unsigned i = random() % 4; i > 0; --i)
        list.push_back(random_value(random, depth + 1));
      return list;
    }
    default: {
      json object = json::object();
      for (unsigned i = random() % 4; i > 0; --i)
        object[random_text(random)] = random_value(random, depth + 1);
      return object;
    }
  }
}

// One byte changed, dropped, doubled or added.
std::string damaged(std::string text, std::mt19937& random) {
  static constexpr std::string_view kBytes = "{}[]\",:\\u0de-+.1 tfn\x80\xff\x00";
  if (text.empty()) return text;
  const std::size_t at = random() % text.size();
  switch (random() % 4) {
    case 0:
      text[at] = kBytes[random() % kBytes.size()];
      break;
    case 1:
      text.erase(at, 1);
      break;
    case 2:
      text.insert(at, 1, text[at]);
      break;
    default:
      text.insert(at, 1, kBytes[random() % kBytes.size()]);
      break;
  }
  return text;
}

// Equal keys twice in one object are refused by us and accepted by nlohmann; so are numbers past 64 bits.
bool is_deliberate(const std::string& message) {
  return message.find("stands twice") != std::string::npos ||
         message.find("out of range") != std::string::npos;
}

}  // namespace

TEST_CASE("the JSON reader agrees with nlohmann's on random and damaged texts") {
  std::mt19937 random(20240117);
  unsigned accepted = 0;
  unsigned refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    const json wanted = random_value(random, 0);
    std::string text = wanted.dump(round % 3 == 0 ? 2 : -1, ' ', round % 2 == 0);
    if (round % 2 == 1) text = damaged(std::move(text), random);
    base::Arena arena;
    const auto ours = base::parse_json(text, arena);
    const json theirs = json::parse(text, nullptr, false);
    if (const auto* value = std::get_if<base::Value>(&ours)) {
      ++accepted;
      REQUIRE_MESSAGE(!theirs.is_discarded(), text);
      REQUIRE_MESSAGE(json::parse(base::to_json(*value)) == theirs, text);
    } else {
      ++refused;
      const std::string& message = std::get<base::SyntaxProblem>(ours).message;
      REQUIRE_MESSAGE((theirs.is_discarded() || is_deliberate(message)), text << ": " << message);
    }
  }
  CHECK(accepted > 10'000);
  CHECK(refused > 3'000);
}
