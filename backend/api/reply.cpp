#include "backend/api/reply.hpp"

#include <algorithm>

#include "base/sha256.hpp"
#include "base/text.hpp"

namespace backend::api {

namespace {

std::string_view title(unsigned status) {
  switch (status) {
    case kBadRequest:
      return "Bad request";
    case kUnauthorized:
      return "Unauthorized";
    case kForbidden:
      return "Forbidden";
    case kNotFound:
      return "Not found";
    case kMethodNotAllowed:
      return "Method not allowed";
    case kConflict:
      return "Conflict";
    case kPreconditionFailed:
      return "Precondition failed";
    case kTooLarge:
      return "Content too large";
    case kUnsupportedMedia:
      return "Unsupported media type";
    case kUnprocessable:
      return "Unprocessable content";
    case kTooManyRequests:
      return "Too many requests";
    case kUnavailable:
      return "Service unavailable";
    case kTimeout:
      return "Gateway timeout";
    case kNoSuchRange:
      return "Range not satisfiable";
    case kUpgradeRequired:
      return "Upgrade required";
    default:
      return "Internal server error";
  }
}

unsigned status_of(base::ErrorCode code, unsigned conflict) {
  switch (code) {
    case base::ErrorCode::invalid:
      return kUnprocessable;
    case base::ErrorCode::not_found:
      return kNotFound;
    case base::ErrorCode::exists:
      return conflict;
    case base::ErrorCode::permission:
      return kForbidden;
    case base::ErrorCode::limit:
    case base::ErrorCode::no_space:
    case base::ErrorCode::read_only:
    case base::ErrorCode::cancelled:
      return kUnavailable;
    case base::ErrorCode::timed_out:
      return kTimeout;
    case base::ErrorCode::unsupported:
      return kConflict;
    case base::ErrorCode::io:
    case base::ErrorCode::internal:
      return kInternal;
  }
  return kInternal;
}

}  // namespace

HttpResponse json_reply(unsigned status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.headers.push_back({"Content-Type", "application/json"});
  response.body = std::move(body);
  return response;
}

HttpResponse json_reply(unsigned status, base::JsonText& json) {
  return json_reply(status, json.take());
}

HttpResponse no_content() {
  HttpResponse response;
  response.status = kNoContent;
  return response;
}

HttpResponse problem(unsigned status, std::string_view detail, const std::vector<ProblemItem>& errors) {
  base::JsonText json;
  json.begin_object().member("type", "about:blank").member("title", title(status));
  json.member("status", status).member("detail", detail);
  if (!errors.empty()) {
    json.key("errors").begin_list();
    for (const ProblemItem& item : errors) {
      json.begin_object().member("message", item.message).optional("field", item.field);
      json.optional("state_id", item.state_id).optional("source", item.source);
      if (item.line > 0) json.member("line", item.line).member("column", item.column);
      json.end_object();
    }
    json.end_list();
  }
  HttpResponse response;
  response.status = status;
  response.headers.push_back({"Content-Type", "application/problem+json"});
  response.body = json.end_object().take();
  return response;
}

HttpResponse problem_of(const base::Error& error, unsigned conflict) {
  return problem(status_of(error.code(), conflict), error.message());
}

std::vector<ProblemItem> items_of(const std::vector<recipe::Problem>& problems) {
  std::vector<ProblemItem> items;
  for (const recipe::Problem& found : problems)
    items.push_back({.message = found.message,
                     .state_id = found.state_id,
                     .line = found.position.line,
                     .column = found.position.column});
  return items;
}

std::string etag(std::int64_t edit, std::string_view body) {
  return "\"" + std::to_string(edit) + "-" + base::sha256_hex(body).substr(0, 32) + "\"";
}

bool names_etag(std::string_view list, std::string_view etag) {
  return std::ranges::any_of(base::split(list, ','), [&](std::string_view part) {
    part = base::trim(part);
    if (part.starts_with("W/")) part.remove_prefix(2);
    return part == "*" || part == etag;
  });
}

void leave_out_known(HttpResponse& response, std::string_view if_none_match) {
  const std::string_view tag = transport::find_header(response.headers, "ETag");
  if (response.status != kOk || tag.empty() || if_none_match.empty() || !names_etag(if_none_match, tag))
    return;
  response.status = kNotModified;
  response.body.clear();
  std::erase_if(response.headers, [](const auto& each) { return each.name == "Content-Type"; });
}

}  // namespace backend::api
