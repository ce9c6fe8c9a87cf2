#include "backend/api/routes/visible_pages.hpp"

namespace backend::api {

namespace {

// What a cursor is for: one that another token has got, or of another list, is none.
std::string about(const Call& call) {
  return call.caller.token_id + "\n" + call.http.path;
}

}  // namespace

std::variant<domain::PageRequest, HttpResponse> visible_page_of(const Context& context, const Call& call) {
  auto page = page_of(call);
  auto* wanted = std::get_if<domain::PageRequest>(&page);
  if (!wanted || !call.caller.scope || wanted->after.empty()) return page;
  auto opened = context.seal.open(wanted->after, about(call));
  if (!opened)
    return problem(kBadRequest,
                   "after is not what 'next' said, or is from before the backend was started: begin anew");
  wanted->after = std::move(*opened);
  return page;
}

std::string next_for(const Context& context, const Call& call, const std::string& next) {
  return next.empty() || !call.caller.scope ? next : context.seal.close(next, about(call));
}

}  // namespace backend::api
