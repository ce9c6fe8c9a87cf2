// Compiled alone: its names are those of other tests.
#include "protocol/codec.hpp"

#include <random>

#include <doctest/doctest.h>

#include "protocol/ids.hpp"
#include "protocol/message_samples.hpp"

namespace protocol {

namespace {

template <class M>
M parsed(std::string_view text) {
  if constexpr (std::constructible_from<AgentBody, M> && !std::constructible_from<BackendBody, M>) {
    const auto message = parse_agent_message(text);
    REQUIRE_MESSAGE(message, message.error().message());
    return std::get<M>(message->body);
  } else {
    const auto message = parse_backend_message(text);
    REQUIRE_MESSAGE(message, message.error().message());
    return std::get<M>(message->body);
  }
}

std::string agent_error(std::string_view text) {
  const auto message = parse_agent_message(text);
  return message ? "" : message.error().message();
}
std::string backend_error(std::string_view text) {
  const auto message = parse_backend_message(text);
  return message ? "" : message.error().message();
}

std::string times(std::size_t count, std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i)
    out += text;
  return out;
}

}  // namespace

TEST_CASE("every message is read as it was written, with all its fields") {
  for (AgentMessage message : agent_samples()) {
    const std::string text = encode(message);
    CAPTURE(text);
    const auto read = parse_agent_message(text);
    REQUIRE_MESSAGE(read, read.error().message());
    CHECK(*read == message);
  }
  for (BackendMessage message : backend_samples()) {
    const std::string text = encode(message);
    CAPTURE(text);
    const auto read = parse_backend_message(text);
    REQUIRE_MESSAGE(read, read.error().message());
    CHECK(*read == message);
  }
}

TEST_CASE("every word of a choice is read as it was written") {
  for (int i = 0; i <= static_cast<int>(RecipeProgress::superseded); ++i) {
    const RecipeStatus status{.recipe_version = 1, .status = static_cast<RecipeProgress>(i)};
    CHECK(parsed<RecipeStatus>(encode(AgentMessage{status})) == status);
  }
  for (std::size_t i = 0; i < kUpdatePhaseWords.size(); ++i) {
    const UpdateStatus status{.action_id = "a", .version = "2", .phase = static_cast<UpdatePhase>(i)};
    const std::string text = encode(AgentMessage{status});
    CHECK(parsed<UpdateStatus>(text) == status);
    CHECK_MESSAGE(text.find("\"phase\":\"" + std::string(kUpdatePhaseWords[i]) + "\"") != std::string::npos,
                  text);
    CHECK(update_phase_of(kUpdatePhaseWords[i]) == status.phase);
  }
  CHECK(backend_error(R"({"code":"Welcome","protocol_version":2,"report":"some"})") ==
        "Welcome.report: must be one of all changes");
  CHECK(agent_error(R"({"code":"UpdateStatus","action_id":"a","version":"2","phase":"told"})") ==
        "UpdateStatus.phase: must be one of requested metadata downloading verifying staged draining armed "
        "switched restarting trial confirmed rolled_back failed refused");
}

TEST_CASE("a version 1 message is written as version 1 has it") {
  const auto v1 = [](auto body) {
    if constexpr (std::constructible_from<AgentBody, decltype(body)>)
      return encode(AgentMessage{body, {.mid = "m", .re = "r", .ts = "t"}}, 1);
    else
      return encode(BackendMessage{body, {.mid = "m", .re = "r", .ts = "t"}}, 1);
  };
  CHECK(v1(Handshake{.instance_id = "i-1",
                     .app_id = "a",
                     .agent_version = "1.0",
                     .instance_token = "t",
                     .protocol_max = 2}) ==
        R"({"code":"Handshake","instance_id":"i-1","app_id":"a","agent_version":"1.0","protocol_version":1,)"
        R"("instance_token":"t","init_errors":null,"protocol_max":2})");
  StateLog log = sample<StateLog>();
  log.state_stdout.reset();
  CHECK(v1(log) ==
        R"({"code":"StateLog","instance_id":"i-1","app_id":"app-1","recipe_version":7,"id":"nginx",)"
        R"("stateid":"nginx","state_result":true,"state_comment":"installed\nä","state_stdout":null})");
  // States that have no comment and no output by their nature have neither.
  log.state_comment.clear();
  CHECK(v1(log).find(R"("state_comment":null,"state_stdout":null)") != std::string::npos);
  log.state_stdout = "";
  CHECK(v1(log).find(R"("state_comment":"","state_stdout":"")") != std::string::npos);
  // The answer to Test has its code.
  CHECK(v1(TestAnswer{{.instance_id = "i-1", .agent_version = "1.0"}}).starts_with(R"({"code":"Test",)"));
  CHECK(v1(sample<WaitQuery>()) ==
        R"({"code":"WaitQuery","instance_id":"i-1","app_id":"app-1","recipe_version":7})");
  CHECK(v1(sample<AppNotReady>()) == R"({"code":"AppNotReady"})");
  CHECK(v1(sample<RecipeMetadata>()) ==
        R"({"code":"RecipeMetadata","recipe_version":8,"module":{"repo":"https://git/m","tag":"v1"},)"
        R"("state":[{"id":"a","module":"linux.file","parameter":{"path":"/a"}}]})");
  CHECK(v1(RecipeMetadata{.recipe_version = 9}) == R"({"code":"RecipeMetadata","recipe_version":9})");
  CHECK(v1(sample<WaitList>()) ==
        R"({"code":"WaitList","recipe_version":8,"waited":[{"instance_id":"i-2","state_id":"db",)"
        R"("id":"db","stateid":"db"}]})");
  CHECK(v1(sample<WaitDone>()) ==
        R"({"code":"State","recipe_version":8,"id":"wait-db","stateid":"wait-db"})");
  CHECK(v1(sample<AgentUpdate>()) == R"({"code":"AgentUpdate","version":"1.3.0","url":"https://releases/"})");
  CHECK(v1(Test{}) == R"({"code":"Test"})");
}

TEST_CASE("what a version 1 peer writes is read, in any order, with fields that nobody knows") {
  const auto hello = parsed<Handshake>(
      R"({"init_errors":null,"instance_token":"t","protocol_version":1,"x":{"y":[1]},"agent_version":"0.9",)"
      R"("app_id":"a","code":"Handshake","instance_id":"i-1"})");
  CHECK(hello == Handshake{.instance_id = "i-1",
                           .app_id = "a",
                           .agent_version = "0.9",
                           .protocol_version = 1,
                           .instance_token = "t"});
  CHECK(parsed<Handshake>(
            R"({"code":"Handshake","instance_id":"i","app_id":"","agent_version":"1","protocol_version":1,)"
            R"("init_errors":"a; b"})")
            .init_errors == "a; b");
  const auto log = parsed<StateLog>(
      R"({"code":"StateLog","instance_id":"i","app_id":"a","recipe_version":1,"id":"s","state_result":false,)"
      R"("state_comment":null,"state_stdout":null})");
  CHECK(log == StateLog{.instance_id = "i", .app_id = "a", .recipe_version = 1, .id = "s"});
  CHECK(encode(AgentMessage{log}).find("cause") == std::string::npos);
  CHECK(
      parsed<RecipeMetadata>(R"({"code":"RecipeMetadata","recipe_version":3,"module":null,"state":null})") ==
      RecipeMetadata{.recipe_version = 3});
  CHECK(parsed<RecipeMetadata>(R"({"code":"RecipeMetadata","recipe_version":3,"state":[ ]})").states ==
        Json{"[]"});
  CHECK(parsed<WaitList>(
            R"({"code":"WaitList","recipe_version":3,"waited":[{"instance_id":"i","state_id":"s"}]})")
            .waited == std::vector<StateRef>{{"i", "s"}});
  CHECK(parsed<Unknown>(R"({"code":"Whatever","id":[]})").code == "Whatever");
}

TEST_CASE("a state's id is accepted under each of its names, and refused when they differ") {
  for (const std::string_view name : {"id", "stateid", "state_id"}) {
    const std::string key = "\"" + std::string(name) + "\"";
    CAPTURE(key);
    CHECK(parsed<WaitDone>(R"({"code":"State","recipe_version":1,)" + key + R"(:"w"})").id == "w");
    CHECK(parsed<StateLog>(R"({"code":"StateLog","recipe_version":1,"state_result":true,)" + key + R"(:"w"})")
              .id == "w");
    CHECK(parsed<WaitList>(R"({"code":"WaitList","recipe_version":1,"waited":[{"instance_id":"i",)" + key +
                           R"(:"w"}]})")
              .waited.at(0)
              .state_id == "w");
  }
  CHECK(parsed<WaitDone>(R"({"code":"State","recipe_version":1,"state_id":"w","id":"w"})").id == "w");
  CHECK(backend_error(R"({"code":"State","recipe_version":1,"stateid":"w","id":"v"})") ==
        "State.stateid: differs from the id under another name");
  CHECK(backend_error(R"({"code":"State","recipe_version":1})") == "State.id: is missing");
}

TEST_CASE("a missing or wrong field is named with its message") {
  CHECK(agent_error("{}") == "a message without a code");
  CHECK(agent_error(R"({"code":7})") == "code: text is expected, not a number");
  CHECK(agent_error("[]") == "a message must be an object, not a list");
  CHECK(agent_error(R"({"code":"Handshake","app_id":"a","agent_version":"1","protocol_version":1})") ==
        "Handshake.instance_id: is missing");
  CHECK(agent_error(R"({"code":"StateLog","recipe_version":1,"id":"s","state_result":"yes"})") ==
        "StateLog.state_result: a boolean is expected, not text");
  CHECK(agent_error(R"({"code":"StateLog","recipe_version":"1","id":"s","state_result":true})") ==
        "StateLog.recipe_version: an integer is expected, not text");
  CHECK(
      agent_error(R"({"code":"StateLog","recipe_version":1,"id":"s","state_result":true,"cause":"whim"})") ==
      "StateLog.cause: must be one of new recipe drift trigger refresh");
  CHECK(agent_error(R"({"code":"StateLog","recipe_version":1,"id":"s","state_result":true,"seq":-1})") ==
        "StateLog.seq: is out of range");
  CHECK(agent_error(R"({"code":"StateLog","recipe_version":1,"id":"s","state_result":true,"mid":[]})") ==
        "StateLog.mid: text is expected, not a list");
  CHECK(agent_error(R"({"code":"StateLog","recipe_version":-1,"id":"s","state_result":true})") ==
        "StateLog.recipe_version: must be at least 0");
  CHECK(backend_error(R"({"code":"RecipeMetadata","recipe_version":0})") ==
        "RecipeMetadata.recipe_version: must be at least 1");
  CHECK(backend_error(R"({"code":"RecipeMetadata","recipe_version":1,"state":{}})") ==
        "RecipeMetadata.state: a list is expected, not an object");
  CHECK(backend_error(R"({"code":"RecipeMetadata","recipe_version":1,"vars":[]})") ==
        "RecipeMetadata.vars: an object is expected, not a list");
  CHECK(backend_error(R"({"code":"RecipeMetadata","recipe_version":1,"vars":{"a":")" +
                      std::string(kLargestVariables, 'x') + "\"}}") ==
        "RecipeMetadata.vars: is larger than 524288 bytes");
  CHECK(backend_error(R"({"code":"RecipeMetadata","recipe_version":1,"tags":{"role":7}})") ==
        "RecipeMetadata.tags.role: text is expected, not a number");
  CHECK(backend_error(R"({"code":"RecipeMetadata","recipe_version":1,"tags":{"ro le":"x"}})") ==
        "RecipeMetadata.tags: a key must be made of letters (a to z), digits, '.', '_' and '-'");
  CHECK(backend_error(R"({"code":"RecipeMetadata","recipe_version":1,"module":{"repo":1}})") ==
        "RecipeMetadata.module.repo: text is expected, not a number");
  CHECK(
      backend_error(R"({"code":"WaitList","recipe_version":1,"waited":[{"instance_id":"i","id":"s"},{}]})") ==
      "WaitList.waited[1].instance_id: is missing");
  CHECK(agent_error(R"({"code":"RoundEnd","recipe_version":1,"counts":{"kept":"x"}})") ==
        "RoundEnd.counts.kept: an integer is expected, not text");
}

TEST_CASE("a number that is too large to be counted on from is refused with its field") {
  constexpr std::string_view kMost = "9007199254740991", kMore = "9007199254740992";
  struct Row {
    std::string_view before, field;
    bool is_agents;
  };
  for (const Row& row :
       {Row{R"({"code":"Handshake","instance_id":"i","agent_version":"1","protocol_version":1,)",
            "recipe_version", true},
        Row{R"({"code":"Handshake","instance_id":"i","agent_version":"1","protocol_version":1,)", "last_seq",
            true},
        Row{R"({"code":"StateLog","id":"s","state_result":true,)", "recipe_version", true},
        Row{R"({"code":"StateLog","id":"s","state_result":true,"recipe_version":1,)", "seq", true},
        Row{R"({"code":"StateLog","id":"s","state_result":true,"recipe_version":1,)", "duration_ms", true},
        Row{R"({"code":"RoundEnd","recipe_version":1,)", "round", true},
        Row{R"({"code":"WaitQuery",)", "recipe_version", true},
        Row{R"({"code":"RecipeStatus","status":"running",)", "recipe_version", true},
        Row{R"({"code":"RecipeMetadata",)", "recipe_version", false},
        Row{R"({"code":"Welcome","protocol_version":2,)", "ack_seq", false},
        Row{R"({"code":"Welcome","protocol_version":2,)", "epoch", false},
        Row{R"({"code":"Goodbye",)", "retry_after_ms", false}, Row{R"({"code":"Ack",)", "ack_seq", false}}) {
    const auto text = [&](std::string_view number) {
      return std::string(row.before) + "\"" + std::string(row.field) + "\":" + std::string(number) + "}";
    };
    CAPTURE(text(kMore));
    CHECK(
        (row.is_agents ? bool(parse_agent_message(text(kMost))) : bool(parse_backend_message(text(kMost)))));
    const std::string wrong = row.is_agents ? agent_error(text(kMore)) : backend_error(text(kMore));
    CHECK(wrong.ends_with("." + std::string(row.field) + ": is out of range"));
  }
  CHECK(backend_error(R"({"code":"Goodbye","retry_after_ms":-9007199254740992})") ==
        "Goodbye.retry_after_ms: is out of range");
}

TEST_CASE("a machine has two holds at most, and what they say is bounded, visible text") {
  const auto status = [](const std::string& holds) {
    return R"({"code":"HoldStatus","holds":[)" + holds + "]}";
  };
  const std::string one = R"({"origin":"machine","by":"root","until":"2024-05-01T18:00:00Z"})";
  CHECK(parse_agent_message(status(one + "," + one)));
  CHECK(agent_error(status(one + "," + one + "," + one)) == "HoldStatus.holds: there are more than 2");
  CHECK(agent_error(status(R"({"origin":"moon","until":"x"})")).find("must be one of backend machine") !=
        std::string::npos);
  CHECK(agent_error(status(R"({"origin":"machine","by":"a\u0007","until":"x"})")).find("control character") !=
        std::string::npos);
  CHECK(backend_error(R"({"code":"Hold","on":true,"reason":")" + std::string(257, 'x') + "\"}")
            .find("longer than 256 bytes") != std::string::npos);
  CHECK(backend_error(R"({"code":"Hold"})") == "Hold.on: is missing");
}

TEST_CASE("ids are bounded, visible text") {
  CHECK(problem_of_id("web-1_ä/ü.example") == "");
  CHECK(problem_of_id(std::string(256, 'a')) == "");
  CHECK(problem_of_id(std::string(257, 'a')) == "is longer than 256 bytes");
  for (const std::string_view bad : {"a\nb", "a\x7f", "\x1b[31m"})
    CHECK(problem_of_id(bad) == "has a control character in it");
  CHECK(problem_of_id(std::string_view("a\0b", 3)) == "has a control character in it");
  for (const std::string_view bad : {"a\u202eb", "\u200f", "\u2066x", "\ufeffx", "\u0085"})
    CHECK(problem_of_id(bad) == "has an invisible character in it");
  CHECK(problem_of_id("\xff") == "is not valid UTF-8");
  CHECK(
      agent_error(R"({"code":"Handshake","instance_id":"a\nb","agent_version":"1","protocol_version":1})") ==
      "Handshake.instance_id: must be made of letters (a to z), digits, '.', '_' and '-'");
  CHECK(agent_error(R"({"code":"Handshake","instance_id":"","agent_version":"1","protocol_version":1})") ==
        "Handshake.instance_id: is empty");
  CHECK(backend_error(R"({"code":"State","recipe_version":1,"id":")" + std::string(300, 'x') + R"("})") ==
        "State.id: is longer than 256 bytes");
}

TEST_CASE("what is not acceptable JSON closes with 1007, what is no such message with 1002") {
  const auto code = [](std::string_view text) -> unsigned {
    const auto message = parse_agent_message(text);
    return message ? 0 : close_code(message.error());
  };
  CHECK(code("") == 1007);
  CHECK(code("{") == 1007);
  CHECK(code("{\"code\":\"\xff\"}") == 1007);
  CHECK(code(R"({"code":"Ack","code":"Ack"})") == 1007);
  CHECK(code(R"({"code":"Ack","ack_seq":9223372036854775808})") == 1007);
  CHECK(code(R"({"code":"Ack","x":1e999})") == 1007);
  CHECK(code(times(100'000, "[")) == 1007);
  CHECK(code(R"({"code":"X","x":)" + times(63, "[") + times(63, "]") + "}") == 0);
  CHECK(code(R"({"code":"X","x":)" + times(64, "[") + times(64, "]") + "}") == 1007);
  CHECK(code("[" + times(1'000'000, "0,") + "0]") == 1007);
  CHECK(code(R"({"code":"Ack","ack_seq":"1"})") == 1002);
  CHECK(close_code(base::Error(base::ErrorCode::limit, "too large")) == 1009);
}

// Damaged texts: whatever comes out is an error or a message that can be written and read again.
TEST_CASE("a damaged message is refused or read, and never does harm") {
  std::mt19937 random(20240501);
  std::vector<std::string> texts;
  for (const AgentMessage& message : agent_samples())
    texts.push_back(encode(message));
  for (const BackendMessage& message : backend_samples())
    texts.push_back(encode(message));
  const auto below = [&](std::size_t limit) { return random() % limit; };
  constexpr std::string_view kBytes = "{}[]\",:0-1e.\\un\xc3\xa4 \n";

  std::size_t refused = 0, read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = texts[below(texts.size())];
    for (std::size_t damage = 1 + below(3); damage > 0; --damage) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text[at] = kBytes[below(kBytes.size())];
          break;
        case 1:
          text.erase(at, 1 + below(8));
          break;
        case 2:
          text.insert(at, 1 + below(3), kBytes[below(kBytes.size())]);
          break;
        default:
          text[at] = static_cast<char>(below(256));
      }
      if (text.empty()) text = "{}";
    }
    if (const auto message = parse_agent_message(text)) {
      ++read;
      const auto again = parse_agent_message(encode(*message));
      REQUIRE_MESSAGE(again, text);
      REQUIRE(*again == *message);
    } else {
      ++refused;
    }
    if (const auto message = parse_backend_message(text)) {
      const auto again = parse_backend_message(encode(*message));
      REQUIRE_MESSAGE(again, text);
      REQUIRE(*again == *message);
    }
  }
  CHECK(refused > 1000);
  CHECK(read > 1000);
}

}  // namespace protocol
