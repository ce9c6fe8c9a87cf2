// Reading what a client sent: the members of a JSON body, and the parameters of a list.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/api/reply.hpp"
#include "backend/api/route.hpp"
#include "backend/domain/model.hpp"
#include "base/values/value.hpp"

namespace backend::api {

// A body that is one JSON object. Views into the text that it was read from.
class JsonBody {
 public:
  // The answer to give instead, if it is not such a body.
  static std::variant<JsonBody, HttpResponse> read(std::string_view text);
  const base::Value& root() const { return root_; }

 private:
  std::unique_ptr<base::Arena> arena_;
  base::Value root_;
};

// The members of an object, each asked for once. What is missing, wrong or unknown is collected, so that all
// of it is said at once.
class Fields {
 public:
  explicit Fields(const base::Value& object) : object_(object) {}

  std::string text(std::string_view name);  // required, not empty
  std::string text_or(std::string_view name, std::string_view otherwise);
  std::string one_of(std::string_view name, std::string_view choices, std::string_view otherwise);
  std::int64_t integer_or(std::string_view name, std::int64_t otherwise, std::int64_t least,
                          std::int64_t most);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t least, std::int64_t most);
  bool flag_or(std::string_view name, bool otherwise);
  std::vector<std::string> texts(std::string_view name);
  const base::Value* value(std::string_view name);   // may be absent
  const base::Value* object(std::string_view name);  // required

  void complain(std::string_view field, std::string message);
  // After all were asked for: the answer when something is wrong.
  std::optional<HttpResponse> problems();
  // The same, as what is wrong; empty: nothing.
  std::vector<ProblemItem> problem_items();

 private:
  const base::Value* take(std::string_view name);

  const base::Value object_;  // a view
  std::vector<std::string_view> known_;
  std::vector<ProblemItem> items_;
};

// ?limit= and ?after=
std::variant<domain::PageRequest, HttpResponse> page_of(const Call& call);

// The edit that If-Match names, domain::kAnyEdit with *; 0 with If-None-Match: *; nothing without both.
std::variant<std::optional<domain::Edit>, HttpResponse> expected_edit(const Call& call);

// {"items":[…],"next":…} with `add` writing each item.
template <class T, class Add>
HttpResponse list_reply(const domain::Page<T>& page, Add add) {
  base::JsonText json;
  json.begin_object().key("items").begin_list();
  for (const T& item : page.items)
    add(json, item);
  json.end_list().key("next");
  if (page.next.empty())
    json.null();
  else
    json.value(page.next);
  return json_reply(kOk, json.end_object());
}

}  // namespace backend::api
