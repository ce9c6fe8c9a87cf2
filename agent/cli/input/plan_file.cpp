#include "agent/cli/input/plan_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/files/file_read.hpp"
#include "base/unique_fd.hpp"
#include "base/values/json_text.hpp"

namespace agent::cli {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::string_view kStart = "{\"opsagent_plan\":2,";  // 2: the format's version
constexpr std::string_view kAnyVersion = "{\"opsagent_plan\":";
constexpr std::size_t kLargestPlan = 32 * 1024 * 1024;

std::string text_member(const base::Value& object, std::string_view name) {
  const base::Value* value = object.find(name);
  return value ? std::string(value->text()) : std::string();
}

Result<void> write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return base::os_error(errno, "writing " + path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

PlanFile make_plan_file(const engine::PlanResult& plan, std::string recipe, std::string digest,
                        std::string root, std::string salt) {
  PlanFile file{.recipe = std::move(recipe),
                .digest = std::move(digest),
                .root = std::move(root),
                .salt = std::move(salt)};
  for (const engine::PlannedState& state : plan.states)
    file.states.push_back(
        {.id = state.id,
         .fingerprint = state.fingerprint,
         .verdict = std::string(state.skipped ? "skipped" : engine::verdict_name(state.verdict))});
  return file;
}

std::string to_text(const PlanFile& plan) {
  base::JsonText json;
  json.begin_object().member("opsagent_plan", 2).member("recipe", plan.recipe).member("digest", plan.digest);
  json.member("root", plan.root).member("salt", plan.salt);
  if (plan.modules)
    json.key("modules")
        .begin_object()
        .member("repo", plan.modules->repo)
        .member("tag", plan.modules->tag)
        .member("commit", plan.modules->commit)
        .end_object();
  json.key("states").begin_list();
  for (const PlanFile::State& state : plan.states)
    json.begin_object()
        .member("id", state.id)
        .member("fingerprint", state.fingerprint)
        .member("verdict", state.verdict)
        .end_object();
  return json.end_list().end_object().take() + "\n";
}

Result<PlanFile> parse_plan_file(std::string_view text) {
  if (!text.starts_with(kStart))
    return Error(ErrorCode::unsupported, "this plan was saved by another version of opsagent; plan again");
  base::Arena arena;
  auto parsed = base::parse_json(text, arena);
  if (const auto* wrong = std::get_if<base::SyntaxProblem>(&parsed))
    return Error(ErrorCode::invalid, "the plan is damaged (" + wrong->message + "); plan again");
  const base::Value& root = std::get<base::Value>(parsed);
  PlanFile plan{.recipe = text_member(root, "recipe"),
                .digest = text_member(root, "digest"),
                .root = text_member(root, "root"),
                .salt = text_member(root, "salt")};
  const base::Value* states = root.find("states");
  if (!plan.recipe.starts_with('/') || plan.digest.empty() || plan.salt.empty() || !states ||
      !states->is_list())
    return Error(ErrorCode::invalid, "the plan is damaged; plan again");
  if (const base::Value* modules = root.find("modules"))
    plan.modules = {.repo = text_member(*modules, "repo"),
                    .tag = text_member(*modules, "tag"),
                    .commit = text_member(*modules, "commit")};
  for (const base::Value& state : states->items())
    plan.states.push_back({.id = text_member(state, "id"),
                           .fingerprint = text_member(state, "fingerprint"),
                           .verdict = text_member(state, "verdict")});
  return plan;
}

Result<void> save(const PlanFile& plan, const std::string& path) {
  std::string temporary = path + ".XXXXXX";
  const base::UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));  // 0600
  if (!fd) return base::os_error(errno, "creating " + path);
  auto written = write_all(fd.get(), to_text(plan), path);
  if (written && ::fsync(fd.get()) != 0) written = base::os_error(errno, "writing " + path);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = base::os_error(errno, "creating " + path);
  if (!written) ::unlink(temporary.c_str());
  return written;
}

bool is_plan_file(const std::string& path) {
  // A pipe is not even opened: its writer would take us for the reader, and write into the void.
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return false;
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return false;
  std::array<char, kAnyVersion.size()> start{};
  const ssize_t got = ::read(fd.get(), start.data(), start.size());
  return got > 0 && std::string_view(start.data(), static_cast<std::size_t>(got)) == kAnyVersion;
}

Result<PlanFile> load_plan_file(const std::string& path) {
  auto text = base::read_file(path, kLargestPlan);
  if (!text) return std::move(text).error();
  auto plan = parse_plan_file(*text);
  if (!plan) return std::move(plan).error().with_context(path);
  return plan;
}

std::vector<std::string> expected_plans(const PlanFile& plan) {
  const std::string unknown(engine::verdict_name(states::Verdict::unknown));
  std::vector<std::string> expected;
  for (const PlanFile::State& state : plan.states)
    expected.push_back(state.verdict == unknown ? std::string() : state.fingerprint);
  return expected;
}

}  // namespace agent::cli
