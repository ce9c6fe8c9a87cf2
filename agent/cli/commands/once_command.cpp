// `opsagent once list` and `once forget`: what states of recipes have done once, by their `once` keys.
#include "agent/cli/commands/commands.hpp"
#include "agent/engine/control/once_store.hpp"
#include "base/utc_text.hpp"
#include "base/values/json_text.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

namespace {

std::string to_json(const std::vector<engine::DoneOnce>& all) {
  base::JsonText json;
  json.begin_object().key("done").begin_list();
  for (const engine::DoneOnce& each : all)
    json.begin_object()
        .member("id", each.id)
        .member("key", each.key)
        .member("at", base::utc_text(each.at))
        .member("root", each.root)
        .end_object();
  return json.end_list().end_object().take();
}

}  // namespace

int once_list_command(const Options& options, terminal::Console& console) {
  auto all = engine::OnceStore(options.state_dir).list();
  if (!all) {
    console.complain(all.error().message());
    return kFailure;
  }
  if (options.json) {
    console.out.json(to_json(*all));
    return kOk;
  }
  for (const engine::DoneOnce& each : *all)
    console.out.line(base::utc_text(each.at) + "  " +
                     console.paint(terminal::Style::bold, terminal::printable(each.id)) + "  " +
                     terminal::printable(each.key) +
                     (each.root.empty() ? std::string() : "  below " + terminal::printable(each.root)));
  if (all->empty()) console.out.line("No state has done anything once.");
  return kOk;
}

int once_forget_command(const Options& options, terminal::Console& console) {
  const std::string& id = options.arguments[0];
  const std::string key = options.arguments.size() > 1 ? options.arguments[1] : std::string();
  auto forgotten = engine::OnceStore(options.state_dir).forget(id, key);
  if (!forgotten) {
    console.complain(forgotten.error().message());
    return kFailure;
  }
  if (*forgotten == 0) {
    console.complain("nothing is remembered of a state '" + id + "'" +
                     (key.empty() ? std::string() : " with the key '" + key + "'") +
                     "; see 'opsagent once list'");
    return kFailure;
  }
  console.out.line("Forgotten: it is done again by the next round that has it.");
  return kOk;
}

}  // namespace agent::cli
