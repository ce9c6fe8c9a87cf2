#include "ctl/output/event_text.hpp"

#include <doctest/doctest.h>

#include "base/values/json.hpp"

namespace {

std::string shown(std::string_view type, const std::string& json) {
  base::Arena arena;
  const auto parsed = base::parse_json(json, arena);
  return ctl::event_text(type, std::get<base::Value>(parsed), "12:00:01", terminal::Paint(false));
}

}  // namespace

TEST_CASE("each kind of event is a line that says what happened where") {
  CHECK(shown("presence", R"({"app_id":"shop","instance_id":"web1","online":true,"agent_version":"1.2"})") ==
        "12:00:01 shop/web1  presence  online  agent 1.2\n");
  CHECK(shown("presence", R"({"app_id":"shop","instance_id":"web1","online":false})") ==
        "12:00:01 shop/web1  presence  offline\n");
  CHECK(shown("hold", R"({"app_id":"shop","instance_id":"web1","pause":{"by":"alice","reason":"disk",)"
                      R"("until":"2026-03-01T12:00:00.000Z"}})") ==
        "12:00:01 shop/web1  hold      paused by alice until 2026-03-01T12:00:00.000Z: disk\n");
  CHECK(shown("hold", R"({"app_id":"shop","instance_id":"web1","pause":null})") ==
        "12:00:01 shop/web1  hold      resumed\n");
  CHECK(
      shown("hold", R"({"app_id":"shop","instance_id":"web1","holds":[{"origin":"machine","by":"root"}]})") ==
      "12:00:01 shop/web1  hold      held by root at the machine\n");
  CHECK(
      shown(
          "result",
          R"({"app_id":"shop","instance_id":"web1","state_id":"motd","outcome":"changed","comment":"written"})") ==
      "12:00:01 shop/web1  result    changed  motd: written\n");
  CHECK(
      shown(
          "result",
          R"({"app_id":"shop","instance_id":"web1","state_id":"motd","outcome":"changed","cause":"drift","comment":"written"})") ==
      "12:00:01 shop/web1  result    changed  motd (drift): written\n");
  CHECK(
      shown(
          "recipe",
          R"({"app_id":"shop","instance_id":"web1","recipe_version":7,"status":"rejected","errors":["no such module"]})") ==
      "12:00:01 shop/web1  recipe    version 7 rejected: no such module\n");
  CHECK(
      shown(
          "round",
          R"({"app_id":"shop","instance_id":"web1","counts":{"kept":3,"failed":0},"not_reached":2,"duration_ms":1500,"drift":["motd"]})") ==
      "12:00:01 shop/web1  round     kept=3, 2 not reached  in 1.5 s  drifted: motd\n");
  CHECK(
      shown(
          "wait",
          R"({"app_id":"shop","instance_id":"web1","state_id":"db-up","waiting_for":[{"instance_id":"db1","state_id":"pg"}]})") ==
      "12:00:01 shop/web1  wait      db-up waits for db1/pg\n");
  CHECK(shown("wait", R"({"app_id":"shop","instance_id":"web1","state_id":"db-up","waiting_for":[]})") ==
        "12:00:01 shop/web1  wait      db-up: satisfied\n");
  CHECK(
      shown(
          "update",
          R"({"app_id":"shop","instance_id":"web1","version":"1.4","phase":"failed","error":"no space"})") ==
      "12:00:01 shop/web1  update    1.4  failed: no space\n");
}

TEST_CASE("live output has a line per line, and cannot play with the terminal") {
  CHECK(
      shown(
          "output",
          R"({"app_id":"shop","instance_id":"web1","id":"apt","stream":"stdout","data":"a\n\u001b[2Jb\n"})") ==
      "12:00:01 shop/web1  output    apt | a\n"
      "12:00:01 shop/web1  output    apt | \\x1b[2Jb\n");
}

TEST_CASE("a rollout is of an app, and says why it stopped") {
  CHECK(
      shown(
          "rollout",
          R"({"app_id":"shop","id":"r1","version":"1.4","state":"stopped","ring":1,"rings":4,"reason":"two"})") ==
      "12:00:01 shop  rollout   1.4  stopped, ring 1 of 4: two  (r1)\n");
}

TEST_CASE("an event of a newer backend is shown as it is") {
  CHECK(shown("tide", R"({"app_id":"shop","instance_id":"web1","wave":2})") ==
        "12:00:01 shop/web1  tide      {\"app_id\":\"shop\",\"instance_id\":\"web1\",\"wave\":2}\n");
}

TEST_CASE("events that were missed are admitted") {
  CHECK(shown("gap", "{}").find("missed") != std::string::npos);
}

TEST_CASE("an event for programs is one JSON document on one line") {
  base::Arena arena;
  const std::string json = R"({"online":true})";
  const auto parsed = base::parse_json(json, arena);
  CHECK(ctl::event_line("7", "presence", std::get<base::Value>(parsed)) ==
        "{\"id\":\"7\",\"event\":\"presence\",\"data\":{\"online\":true}}\n");
  const base::Value turned = base::Value::string("a\u202Eb");
  CHECK(ctl::event_line("7", "x", turned) == "{\"id\":\"7\",\"event\":\"x\",\"data\":\"a\\u202eb\"}\n");
}
