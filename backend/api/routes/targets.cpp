#include "backend/api/routes/targets.hpp"

#include "backend/api/callers/self_reports.hpp"
#include "backend/api/callers/visibility.hpp"

namespace backend::api {

namespace {

using Found = std::vector<Target>;

base::Result<Found> read_targets(store::Store& store, const Scope& scope, const std::string& app_id,
                                 const domain::Selector& selector) {
  auto instances = read_meant(store, scope, app_id, selector);
  if (!instances) return std::move(instances).error();
  Found found;
  for (domain::Instance& instance : *instances)
    found.push_back(
        {instance.key, std::move(instance.instance_id), instance.placement, instance.recipe_version});
  return found;
}

// Answers that are still being waited for.
struct Gathering {
  explicit Gathering(const transport::asio::any_io_executor& executor) : arrived(executor) {}
  std::vector<base::Result<fleet::Answer>> answers;
  std::size_t open = 0;
  transport::Wake arrived;
};

transport::Task<> ask_one(std::shared_ptr<Gathering> all, std::size_t index,
                          transport::Task<base::Result<fleet::Answer>> question) {
  all->answers[index] = co_await std::move(question);
  if (--all->open == 0) all->arrived.notify();
}

}  // namespace

base::Result<std::vector<domain::Instance>> read_meant(store::Store& store, const Scope& scope,
                                                       const std::string& app_id,
                                                       const domain::Selector& selector) {
  if (auto app = find_visible_app(store, scope, app_id); !app) return std::move(app).error();
  if (auto fine = check_self_report(store, app_id, selector); !fine) return std::move(fine).error();
  const domain::Selector strict = selector.strict();
  std::vector<domain::Instance> found;
  domain::PageRequest page{.limit = domain::kLargestPage};
  do {
    auto some = store.list_instances({.app_id = app_id}, &strict, page);
    if (!some) return std::move(some).error();
    for (domain::Instance& instance : some->items)
      if (!instance.is_out()) found.push_back(std::move(instance));
    page.after = some->next;
  } while (!page.after.empty());
  return found;
}

transport::Task<base::Result<Targets>> find_targets(Context& context, const Caller& caller,
                                                    std::string app_id, domain::Selector selector) {
  auto reading = context.store.read(
      caller.token_id, [scope = caller.scope, app_id = std::move(app_id), selector = std::move(selector)](
                           store::Store& store) { return read_targets(store, scope, app_id, selector); });
  auto found = co_await std::move(reading);
  if (!found) co_return std::move(found).error();
  Targets targets;
  for (Target& target : *found) {
    if (context.fleet.is_connected(target.key))
      targets.connected.push_back(std::move(target));
    else
      targets.not_connected.push_back(std::move(target.instance_id));
  }
  co_return targets;
}

transport::Task<std::vector<base::Result<fleet::Answer>>> ask_all(Context&,
                                                                  const std::vector<Target>& targets,
                                                                  AskOne ask) {
  const auto executor = co_await transport::asio::this_coro::executor;
  auto all = std::make_shared<Gathering>(executor);
  all->answers.assign(targets.size(), base::Error(base::ErrorCode::internal, "not asked"));
  all->open = targets.size();
  for (std::size_t i = 0; i < targets.size(); ++i)
    transport::spawn(executor, ask_one(all, i, ask(targets[i])));
  while (all->open > 0)
    co_await all->arrived.wait();
  co_return std::move(all->answers);
}

}  // namespace backend::api
