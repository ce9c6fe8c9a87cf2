// linux.rpm.key: keys whose signatures rpm believes.
#include <algorithm>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "base/tree/tree.hpp"
#include "states/programs/standard_output.hpp"
#include "states/programs/tool_sequence.hpp"
#include "states/rpm/rpm_database.hpp"
#include "states/state.hpp"

namespace states::linux_rpm_key {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestKeyFile = 4 * 1024 * 1024;

struct Params {
  std::string_view path;
};

constexpr auto kParams =
    param_table(param<&Params::path>("path", "file with one public key or more, a local path or file://")
                    .names()
                    .required());

struct Steps {
  std::string path;
  std::vector<std::string> all;  // of the keys in the file
  std::vector<std::string> ids;  // of those that rpm does not have
};

class RpmKey final : public State<Params, Steps> {
 public:
  constexpr RpmKey()
      : State({.name = "linux.rpm.key",
               .summary = "Keys whose signatures rpm believes",
               .family = Family::rhel},
              kParams) {}

 private:
  Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params&) const override { return {}; }
};

Result<std::string> path_of(const Params& params) {
  std::string_view path = params.path;
  if (path.starts_with("file://")) path.remove_prefix(std::string_view("file://").size());
  if (path.find("://") != path.npos)
    return Error(ErrorCode::invalid,
                 "Cannot download " + std::string(path) +
                     ": this state does not fetch keys; let an earlier state fetch it and give "
                     "its local path");
  return base::clean_path(path);
}

Result<void> RpmKey::check(const Params& params) const {
  auto path = path_of(params);
  return path ? Result<void>() : Result<void>(std::move(path).error());
}

// The short ids of the keys in a file, as rpm names them: "a1b2c3d4". gpg reads it and writes nothing: its
// folder is in memory.
Result<std::vector<std::string>> keys_in(const std::string& path, std::string text, Context& context) {
  base::Command command;
  command.argv = {"gpg", "--homedir", "/tmp", "--batch", "--no-autostart", "--with-colons", "--show-keys"};
  command.input = std::move(text);
  command.view = base::View::read_only_offline;
  command.private_tmp = true;
  std::string rows;
  programs::collect_standard_output(command, rows);
  auto asked = context.commands.run(std::move(command));
  if (!asked) return std::move(asked).error();
  std::vector<std::string> ids;
  for (const std::string_view line : base::split(rows, '\n')) {
    const auto fields = base::split(line, ':');
    constexpr std::size_t kIdField = 4, kShortId = 8;
    if (fields.size() <= kIdField || fields[0] != "pub" || fields[kIdField].size() < kShortId) continue;
    std::string id(fields[kIdField].substr(fields[kIdField].size() - kShortId));
    std::ranges::transform(id, id.begin(),
                           [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
    ids.push_back(std::move(id));
  }
  if (ids.empty())
    return Error(ErrorCode::invalid, path + " is not a public key: " +
                                         std::string(base::last_line(base::clean_output(asked->output))));
  return ids;
}

Result<std::string> read_key_file(const std::string& path, Context& context) {
  auto text = context.tree.read(path, kLargestKeyFile);
  if (!text && text.error().code() == ErrorCode::not_found)
    return Error(ErrorCode::not_found, "File " + path + " not found");
  return text;
}

// Those of them that rpm does not have. Each is a package "gpg-pubkey" with the id as its version.
Result<std::vector<std::string>> missing_of(const std::vector<std::string>& ids, Context& context) {
  auto database = rpm::installed_rpms(context);
  if (!database) return std::move(database).error();
  std::vector<std::string> missing;
  const auto known = (*database)->find("gpg-pubkey");
  for (const std::string& id : ids)
    if (std::ranges::none_of(known,
                             [&](const rpm::RpmPackage* key) { return key->version.starts_with(id + "-"); }))
      missing.push_back(id);
  return missing;
}

PlanWith<Steps> RpmKey::plan(const Params& params, Context& context) const {
  auto path = path_of(params);
  if (!path) return Plan::fail(path.error());
  if (const Overlay::Entry* earlier = context.overlay.path(*path))
    return Plan::unknown(earlier->state_id, *path + " depends on what an earlier state does to it");
  auto text = read_key_file(*path, context);
  auto ids = text ? keys_in(*path, std::move(*text), context)
                  : Result<std::vector<std::string>>(std::move(text).error());
  if (!ids) {
    const Overlay::Entry* maker = ids.error().code() == ErrorCode::not_found
                                      ? context.overlay.provider(EffectKind::file, *path)
                                      : nullptr;
    return maker ? Plan::unknown(maker->state_id, *path + " may come from an earlier state")
                 : Plan::fail(ids.error());
  }
  auto missing = missing_of(*ids, context);
  if (!missing) return Plan::fail(missing.error());
  if (missing->empty())
    return Plan::kept((ids->size() == 1 ? "Key " : "Keys ") + base::join(*ids, ", ") + " already imported");
  Plan plan{.verdict = Verdict::change, .message = "Import " + *path};
  for (const std::string& id : *missing)
    plan.changes.push_back({.what = "key " + id, .before = "absent", .after = "imported"});
  return {std::move(plan),
          Steps{.path = std::move(*path), .all = std::move(*ids), .ids = std::move(*missing)}};
}

Applied RpmKey::apply(const Params& /*params*/, const Plan& /*plan*/, const Steps& steps,
                      ApplyContext& context) const {
  // What has been looked at is what is imported, whatever is at the path by now.
  auto text = read_key_file(steps.path, context);
  if (!text) return Applied::failed(text.error());
  auto now = keys_in(steps.path, *text, context);
  if (!now) return Applied::failed(now.error());
  if (*now != steps.all)
    return Applied::failed(base::changed_since_planned(steps.path, "it has other keys now"));
  base::Command command;
  command.argv = {"rpm", "--import", base::kScriptPath};
  command.script = std::move(*text);
  programs::ToolSequence tools(context.commands, !context.sensitive);
  if (auto done = tools.run(std::move(command)); !done) return Applied::failed(done.error(), tools.output());
  rpm::forget_rpms(context);
  auto missing = missing_of(steps.ids, context);
  if (!missing) return Applied::failed(missing.error(), tools.output());
  if (!missing->empty())
    return Applied::failed("Not imported by rpm: " + base::join(*missing, ", "), tools.output());
  return Applied::done((steps.ids.size() == 1 ? "Key " : "Keys ") + base::join(steps.ids, ", ") + " imported",
                       tools.output());
}

constexpr RpmKey kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_rpm_key
