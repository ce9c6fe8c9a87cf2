#include "backend/telemetry/event_log.hpp"

#include <doctest/doctest.h>

using backend::telemetry::EventFilter;
using backend::telemetry::EventLog;

namespace {

std::vector<std::string> data_after(const EventLog& log, backend::telemetry::EventId id) {
  std::vector<std::string> data;
  for (const auto& event : log.after(id, 100))
    data.push_back(event->data);
  return data;
}

}  // namespace

TEST_CASE("a watcher continues after the event that it saw last") {
  transport::Loop loop;
  EventLog log(loop.get_executor(), {});
  CHECK(log.newest() == 0);
  CHECK(log.has_all_after(0));
  for (const char* data : {"1", "2", "3"})
    log.publish("result", "a", "i", data);
  CHECK(log.newest() == 3);
  CHECK(data_after(log, 1) == std::vector<std::string>{"2", "3"});
  CHECK(data_after(log, 3).empty());
  CHECK(log.after(0, 2).size() == 2);
  CHECK_FALSE(log.has_all_after(4));  // an id of a process that ran before this one
}

TEST_CASE("the ring is bounded in events and in bytes, and says what it has lost") {
  transport::Loop loop;
  EventLog few(loop.get_executor(), {.events = 2, .bytes = 1'000'000});
  for (const char* data : {"1", "2", "3"})
    few.publish("result", "a", "i", data);
  CHECK_FALSE(few.has_all_after(0));
  CHECK(few.has_all_after(1));
  CHECK(data_after(few, 0) == std::vector<std::string>{"2", "3"});

  EventLog small(loop.get_executor(), {.events = 1000, .bytes = 4096});
  for (int i = 0; i < 10; ++i)
    small.publish("result", "a", "i", std::string(1500, 'x'));
  CHECK(small.after(0, 100).size() == 2);
  small.publish("result", "a", "i", std::string(10'000, 'y'));
  CHECK(small.after(0, 100).size() == 1);  // the newest is always there
  CHECK(small.newest() == 11);
}

TEST_CASE("a filter takes what it names, and output only when asked") {
  const backend::telemetry::Event result{1, "result", "shop", "web1", "{}"};
  const backend::telemetry::Event output{2, "output", "shop", "web1", "{}"};
  CHECK(EventFilter{}.wants(result));
  CHECK_FALSE(EventFilter{}.wants(output));
  CHECK(EventFilter{.output = true}.wants(output));
  CHECK_FALSE(EventFilter{.app_id = "bank"}.wants(result));
  CHECK(EventFilter{.app_id = "shop", .instance_id = "web1"}.wants(result));
  CHECK_FALSE(EventFilter{.instance_id = "web2"}.wants(result));
  CHECK_FALSE(EventFilter{.types = {"round", "wait"}}.wants(result));
  CHECK(EventFilter{.types = {"round", "result"}}.wants(result));
}
