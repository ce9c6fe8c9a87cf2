#include "backend/api/routes/reads.hpp"

#include "backend/api/access.hpp"
#include "backend/api/changes.hpp"

namespace backend::api {

namespace {

constexpr const char* kAction = "recipe.read";

}  // namespace

Task<base::Result<void>> note_read(Context& context, const Call& call, std::string recipe,
                                   std::int64_t revision, std::string how) {
  using Verdict = domain::ReadLimit::Verdict;
  const std::string& token = call.caller.token_id;
  const std::string thing = recipe + "@" + std::to_string(revision);
  if (context.reads.take(token, thing, steady_millis()) != Verdict::note) co_return base::Result<void>();
  std::string detail = "revision " + std::to_string(revision) + (how.empty() ? "" : ", by " + how);
  if (const std::uint64_t missed = context.reads.take_missed(token); missed > 0)
    detail += " (and " + std::to_string(missed) + " more reads before it)";
  auto writing =
      context.store.write([actor = call.actor, recipe = std::move(recipe), detail = std::move(detail)](
                              store::Store& store) { return audit(store, actor, kAction, recipe, detail); });
  auto noted = co_await std::move(writing);
  if (!noted) context.reads.forget(token, thing);
  co_return noted;
}

Task<> note_missed_reads(Context& context) {
  const auto all = context.reads.take_all_missed();
  for (const auto& [token, missed] : all) {
    auto writing = context.store.write([object = "token " + token, count = missed](store::Store& store) {
      return audit(store, {.name = "opsbackend", .from = ""}, kAction, object,
                   std::to_string(count) + " more that were not noted one by one");
    });
    const auto noted = co_await std::move(writing);
    if (!noted) context.log.warning("reads of recipes were not noted: " + noted.error().message());
  }
}

}  // namespace backend::api
