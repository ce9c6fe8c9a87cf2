// Who may call what: tokens, roles, and the limit on guessing.
#pragma once

#include <optional>
#include <variant>

#include "backend/api/context.hpp"
#include "backend/api/route.hpp"

namespace backend::api {

// Before anybody calls: the token of <data>/admin.token gets its row, and the good tokens are read.
Task<base::Result<void>> open_access(Context& context);

// Who calls, or the answer to give instead: 401, or 429 to an address that has shown too many wrong tokens. A
// request with a good token is never held up by what others at its address do.
std::variant<Caller, HttpResponse> authenticate(Context& context, const HttpRequest& request);

// The holder of the token that a request shows; nothing when it is not good. Counts nothing.
const Caller* find_caller(Context& context, const HttpRequest& request);

// Notes, seldom, that a token is in use.
Task<> note_use(Context& context, const std::string& token_id);

// 429 when the token takes more than its share (domain/call_limits.hpp); others are not held up by it.
std::optional<HttpResponse> refuse_pace(Context& context, const Caller& caller);
// The same for the room that its bodies and its answers take, with `more` bytes.
std::optional<HttpResponse> refuse_body_room(Context& context, const Caller& caller, std::size_t more);
std::optional<HttpResponse> refuse_answer_room(Context& context, const Caller& caller, std::size_t more);

// When the token ends soon its holder is told, in the header Token-Expires.
void add_expiry(HttpResponse& response, const Caller& caller);

// Milliseconds that do not go back when somebody sets the clock.
domain::Millis steady_millis();

// What the caller's role or scope does not allow; "": it does.
std::string why_refused(const Route& route, const Caller& caller);
std::optional<HttpResponse> refuse_caller(const Route& route, const Caller& caller);

// A refused call in the audit; the store bounds how many.
Task<> note_refusal(Context& context, const Call& call, const HttpRequest& request, std::string detail);

// "10.0.0.1" of "10.0.0.1:5000".
std::string address_of(std::string_view peer);

}  // namespace backend::api
