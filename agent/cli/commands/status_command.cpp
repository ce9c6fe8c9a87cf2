// `opsagent status`: what the daemon says of itself.
#include "agent/cli/commands/commands.hpp"
#include "agent/control/control_client.hpp"
#include "base/values/json.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

namespace {

using base::Value;

constexpr std::chrono::seconds kPatience{5};

std::string text_at(const Value& object, std::string_view key, std::string_view otherwise = "") {
  const Value* value = object.find(key);
  if (!value || value->is_null()) return std::string(otherwise);
  return value->is_text() ? std::string(value->text()) : base::to_json(*value);
}

std::string fetching_text(const Value& fetching) {
  std::string text = text_at(fetching, "tag") + " of " + text_at(fetching, "repo");
  if (const std::string version = text_at(fetching, "for_version"); !version.empty())
    text += ", for recipe version " + version;
  for (const char* key : {"progress", "problem"})
    if (const std::string said = text_at(fetching, key); !said.empty()) text += ": " + said;
  if (const std::string next = text_at(fetching, "next_attempt"); !next.empty())
    text += "; next attempt " + next;
  return text;
}

void print(const Value& status, terminal::Console& console) {
  const auto row = [&](std::string name, const std::string& text) {
    constexpr std::size_t kColumn = 13;
    name.resize(kColumn, ' ');
    console.out.line(console.paint(terminal::Style::bold, name) + terminal::printable(text));
  };
  row("daemon", "process " + text_at(status, "pid") + ", version " + text_at(status, "version") + ", since " +
                    text_at(status, "started"));
  // Without a backend the machine has no name, and the recipe is a file.
  const bool has_backend = status.find("instance_id") != nullptr;
  if (has_backend) row("machine", text_at(status, "instance_id") + " of app " + text_at(status, "app_id"));
  if (const Value* connection = status.find("connection")) row("backend", text_at(*connection, "text"));
  if (const Value* certificate = status.find("certificate"))
    row("certificate", text_at(*certificate, "name") + ", ends " + text_at(*certificate, "ends"));
  if (const Value* recipe = status.find("recipe"); recipe && !recipe->is_null())
    row("recipe", "version " + text_at(*recipe, "version") + ", " + text_at(*recipe, "states") + " states");
  else if (has_backend)
    row("recipe", "none yet");
  if (const Value* modules = status.find("modules")) {
    if (modules->find("commit"))
      row("modules", text_at(*modules, "tag") + " of " + text_at(*modules, "repo") + ", commit " +
                         text_at(*modules, "commit"));
    if (const Value* fetching = modules->find("fetching")) row("fetching", fetching_text(*fetching));
  }
  if (const Value* holds = status.find("holds"))
    for (const Value& hold : holds->items())
      row("held", text_at(hold, "text"));
  if (const Value* running = status.find("running_state"); running && !running->is_null())
    row("running", "'" + text_at(*running, "id") + "' since " + text_at(*running, "since"));
  if (const Value* last = status.find("last_round"); last && !last->is_null())
    row("last round", text_at(*last, "text") + ", ended " + text_at(*last, "ended"));
  if (const std::string why = text_at(status, "held_up_by"); !why.empty()) row("held up by", why);
  if (const std::string next = text_at(status, "next_round"); !next.empty()) row("next round", next);
  if (const Value* spool = status.find("spool")) {
    std::string text =
        text_at(*spool, "waiting") + " wait for the backend, " + text_at(*spool, "bytes") + " bytes";
    for (const auto& [key, words] :
         {std::pair("dropped", " were dropped"), std::pair("damaged", " were damaged on disk, and are lost")})
      if (const std::string count = text_at(*spool, key, "0"); count != "0") text += ", " + count + words;
    row("reports", text);
  }
}

}  // namespace

int status_command(const Options& options, terminal::Console& console) {
  auto client = control::ControlClient::connect(options.state_dir);
  auto answer = client ? client->ask(R"({"command":"status"})", kPatience)
                       : base::Result<std::string>(std::move(client).error());
  if (!answer) {
    if (options.json) console.out.json(R"({"running":false})");
    console.complain(answer.error().message());
    return kFailure;
  }
  if (options.json) {
    console.out.json(*answer);
    return kOk;
  }
  base::Arena arena;
  const auto parsed = base::parse_json(*answer, arena);
  if (const auto* status = std::get_if<Value>(&parsed)) print(*status, console);
  return kOk;
}

}  // namespace agent::cli
