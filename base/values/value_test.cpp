#include "base/values/value.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace base {

TEST_CASE("a value answers only for its own kind") {
  const Value nothing;
  CHECK(nothing.is_null());
  CHECK(nothing.text().empty());
  CHECK(nothing.items().empty());
  CHECK(nothing.members().empty());
  CHECK_FALSE(nothing.find("a"));
  CHECK_FALSE(nothing.as_bool());
  CHECK_FALSE(nothing.as_integer());
  CHECK_FALSE(nothing.as_number());

  const std::vector<Value> items{Value::integer(1), Value::string("b")};
  const Value list = Value::list(items);
  CHECK(list.items().size() == 2);
  CHECK(list.members().empty());
  CHECK(list.text().empty());

  const std::vector<Member> members{{"a", Value::integer(1), 0}, {"b", Value(), 0}};
  const Value object = Value::object(members);
  REQUIRE(object.find("a"));
  CHECK(object.find("a")->as_integer() == 1);
  REQUIRE(object.find("b"));
  CHECK(object.find("b")->is_null());
  CHECK_FALSE(object.find("c"));
  CHECK(object.items().empty());
}

TEST_CASE("scalars are read as booleans where they can be") {
  for (const char* word : {"true", "Yes", "y", "ON", "1"}) {
    CHECK(Value::string(word).as_bool() == true);
    CHECK(Value::plain(word).as_bool() == true);
  }
  for (const char* word : {"false", "No", "n", "OFF", "0"})
    CHECK(Value::plain(word).as_bool() == false);
  CHECK(Value::boolean(true).as_bool() == true);
  CHECK(Value::integer(0).as_bool() == false);
  CHECK_FALSE(Value::integer(2).as_bool());
  CHECK_FALSE(Value::real(1).as_bool());
  CHECK_FALSE(Value::string("").as_bool());
  CHECK_FALSE(Value::string("truee").as_bool());
}

TEST_CASE("scalars are read as numbers where they can be") {
  CHECK(Value::integer(-5).as_integer() == -5);
  CHECK(Value::string("12").as_integer() == 12);
  CHECK_FALSE(Value::real(1.5).as_integer());
  CHECK_FALSE(Value::string("1.5").as_integer());
  CHECK_FALSE(Value::boolean(true).as_integer());
  CHECK(Value::integer(3).as_number() == 3.0);
  CHECK(Value::real(1.5).as_number() == 1.5);
  CHECK(Value::plain("2.5").as_number() == 2.5);
  CHECK_FALSE(Value::string("2.5x").as_number());
  CHECK_FALSE(Value::string("").as_number());
  CHECK_FALSE(Value::string("1e999").as_number());
}

TEST_CASE("texts and numbers are read as lines") {
  Arena arena;
  CHECK(Value::string("a b").as_line(arena) == "a b");
  CHECK(Value::plain("0644").as_line(arena) == "0644");
  CHECK(Value::string("").as_line(arena) == "");
  CHECK(Value::integer(INT64_MIN).as_line(arena) == "-9223372036854775808");
  CHECK(Value::real(0.1).as_line(arena) == "0.1");
  CHECK(Value::real(-1.7976931348623157e308).as_line(arena) == "-1.7976931348623157e+308");
  CHECK_FALSE(Value().as_line(arena));
  CHECK_FALSE(Value::boolean(true).as_line(arena));
  CHECK_FALSE(Value::list({}).as_line(arena));
  CHECK_FALSE(Value::object({}).as_line(arena));
}

TEST_CASE("a builder puts nested lists and objects together") {
  Arena arena;
  ValueBuilder builder(arena, {});
  CHECK(builder.begin_object(0).empty());
  builder.key("a", 1);
  CHECK(builder.begin_list(2).empty());
  CHECK(builder.add(Value::integer(1)).empty());
  CHECK(builder.begin_object(3).empty());
  builder.key("x", 4);
  CHECK(builder.add(Value::boolean(true)).empty());
  CHECK(builder.end_object().empty());
  CHECK(builder.end_list().empty());
  CHECK(builder.last().is_list());
  builder.key("b", 5);
  CHECK(builder.add(Value()).empty());
  CHECK(builder.end_object().empty());

  const Value& root = builder.root();
  REQUIRE(root.members().size() == 2);
  CHECK(root.members()[1].key == "b");
  CHECK(root.members()[1].offset == 5);
  const Value* list = root.find("a");
  REQUIRE(list);
  CHECK(list->offset() == 2);
  REQUIRE(list->items().size() == 2);
  REQUIRE(list->items()[1].find("x"));
  CHECK(list->items()[1].find("x")->as_bool() == true);
}

TEST_CASE("a builder refuses what is too deep, too much or there twice") {
  Arena arena;
  ValueBuilder builder(arena, {.depth = 2, .values = 3});
  CHECK(builder.begin_list(0).empty());
  CHECK(builder.begin_object(1).empty());
  CHECK(builder.begin_list(2) == "nested deeper than 2 levels");
  builder.key("a", 3);
  CHECK(builder.add(Value()).empty());
  builder.key("a", 9);
  CHECK(builder.add(Value()).empty());
  CHECK_FALSE(builder.problem_offset());
  CHECK(builder.end_object() == "the key 'a' stands twice in one object");
  CHECK(builder.problem_offset() == 9u);
  CHECK(builder.add(Value()).empty());
  CHECK(builder.add(Value()) == "more than 3 values");
}

TEST_CASE("kinds have names for people") {
  CHECK(kind_name(Value::Kind::null) == "nothing");
  CHECK(kind_name(Value::Kind::real) == "a number");
  CHECK(kind_name(Value::Kind::plain) == "text");
  CHECK(kind_name(Value::Kind::object) == "an object");
}

}  // namespace base
