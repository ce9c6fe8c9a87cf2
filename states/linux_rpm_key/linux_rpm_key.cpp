// linux.rpm.key: keys whose signatures rpm believes.
#include <algorithm>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "base/tree/tree.hpp"
#include "states/downloads/local_file.hpp"
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

// The fingerprints of the keys in a text, 40 hexadecimal digits or more each: of the 32 bits that rpm calls a
// key by, anybody makes another key with the same in a minute. gpg reads it and writes nothing: its folder is
// in memory. `whose`: for the error where there are none.
Result<std::vector<std::string>> keys_in(const std::string& whose, std::string text, Context& context) {
  base::Command command;
  command.argv = {"gpg", "--homedir", "/tmp", "--batch", "--no-autostart", "--with-colons", "--show-keys"};
  command.input = std::move(text);
  command.view = base::View::read_only_offline;
  command.private_tmp = true;
  std::string rows;
  programs::collect_standard_output(command, rows);
  auto asked = context.commands.run(std::move(command));
  if (!asked) return std::move(asked).error();
  std::vector<std::string> fingerprints;
  bool is_primary = false;  // what comes is about a key, and not about one below it
  for (const std::string_view line : base::split(rows, '\n')) {
    const auto fields = base::split(line, ':');
    if (fields.empty()) continue;
    constexpr std::size_t kFingerprint = 9, kShortest = 40;
    if (fields[0] == "pub" || fields[0] == "sub") is_primary = fields[0] == "pub";
    if (fields[0] != "fpr" || !is_primary || fields.size() <= kFingerprint) continue;
    if (fields[kFingerprint].size() < kShortest) continue;
    std::string fingerprint(fields[kFingerprint]);
    std::ranges::transform(fingerprint, fingerprint.begin(),
                           [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
    fingerprints.push_back(std::move(fingerprint));
    is_primary = false;
  }
  if (fingerprints.empty())
    return Error(ErrorCode::invalid, whose + " is not a public key: " +
                                         std::string(base::last_line(base::clean_output(asked->output))));
  return fingerprints;
}

Result<std::string> read_key_file(const std::string& path, Context& context) {
  if (auto found = context.tree.look(path); found && *found)
    if (auto fine = downloads::check_local(path, std::nullopt, context); !fine)
      return std::move(fine).error();
  auto text = context.tree.read(path, kLargestKeyFile);
  if (!text && text.error().code() == ErrorCode::not_found)
    return Error(ErrorCode::not_found, "File " + path + " not found");
  return text;
}

// In Context::facts: the fingerprints of the keys that rpm has.
struct KnownKeys {
  std::optional<std::vector<std::string>> fingerprints;
};

// Each is a package "gpg-pubkey" with the key itself as its description; its version is a part of the key's
// id.
Result<std::vector<std::string>> keys_of_rpm(Context& context) {
  auto& known = context.facts.get<KnownKeys>().fingerprints;
  if (known) return *known;
  auto database = rpm::installed_rpms(context);
  if (!database) return std::move(database).error();
  if ((*database)->find("gpg-pubkey").empty()) return known.emplace();
  base::Command command;
  command.argv = {"rpm", "-q", "gpg-pubkey", "--queryformat", "%{DESCRIPTION}\n"};
  std::string text;
  programs::collect_standard_output(command, text);
  auto asked = context.commands.run(std::move(command));
  if (!asked) return std::move(asked).error();
  if (!asked->ok())
    return Error(ErrorCode::io, "rpm -q gpg-pubkey failed: " +
                                    std::string(base::last_line(base::clean_output(asked->output))));
  auto fingerprints = keys_in("What rpm has as gpg-pubkey", std::move(text), context);
  if (!fingerprints) return fingerprints;
  return known.emplace(std::move(*fingerprints));
}

// Those of them that rpm does not have.
Result<std::vector<std::string>> missing_of(const std::vector<std::string>& wanted, Context& context) {
  auto known = keys_of_rpm(context);
  if (!known) return known;
  std::vector<std::string> missing;
  for (const std::string& key : wanted)
    if (std::ranges::find(*known, key) == known->end()) missing.push_back(key);
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
  context.facts.forget<KnownKeys>();
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
