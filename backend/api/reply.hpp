// Replies: JSON documents, and problems as RFC 9457 has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/values/json_text.hpp"
#include "recipe/recipe.hpp"
#include "transport/http.hpp"

namespace backend::api {

using transport::HttpResponse;

inline constexpr unsigned kOk = 200;
inline constexpr unsigned kCreated = 201;
inline constexpr unsigned kNoContent = 204;
inline constexpr unsigned kNotModified = 304;
inline constexpr unsigned kBadRequest = 400;
inline constexpr unsigned kUnauthorized = 401;
inline constexpr unsigned kForbidden = 403;
inline constexpr unsigned kNotFound = 404;
inline constexpr unsigned kMethodNotAllowed = 405;
inline constexpr unsigned kConflict = 409;
inline constexpr unsigned kPreconditionFailed = 412;
inline constexpr unsigned kTooLarge = 413;
inline constexpr unsigned kUnsupportedMedia = 415;
inline constexpr unsigned kNoSuchRange = 416;
inline constexpr unsigned kUnprocessable = 422;
inline constexpr unsigned kUpgradeRequired = 426;
inline constexpr unsigned kTooManyRequests = 429;
inline constexpr unsigned kInternal = 500;
inline constexpr unsigned kUnavailable = 503;
inline constexpr unsigned kTimeout = 504;

HttpResponse json_reply(unsigned status, std::string body);
HttpResponse json_reply(unsigned status, base::JsonText& json);
HttpResponse no_content();

// One of several things that are wrong.
struct ProblemItem {
  std::string message;
  std::string field = {};     // of the body
  std::string state_id = {};  // of a recipe, with its place
  std::size_t line = 0;
  std::size_t column = 0;
  std::string source = {};  // what the caller has called the place: of several files, which one
};

HttpResponse problem(unsigned status, std::string_view detail, const std::vector<ProblemItem>& errors = {});

// What an error of the store or of an agent means to a client. `conflict` is the status for
// ErrorCode::exists: 412 when the client said which edit it had seen.
HttpResponse problem_of(const base::Error& error, unsigned conflict = kConflict);

std::vector<ProblemItem> items_of(const std::vector<recipe::Problem>& problems);

// An ETag, with its quotes: "7-" and a hash of the whole. Edits look at the number only (expected_edit); who
// asks whether there is anything new has to see the rest, too.
std::string etag(std::int64_t edit, std::string_view body);

// As the ETags of If-None-Match name it: * or a list.
bool names_etag(std::string_view list, std::string_view etag);

// 304 instead of what the client has already: for the answer to a GET or HEAD.
void leave_out_known(HttpResponse& response, std::string_view if_none_match);

}  // namespace backend::api
