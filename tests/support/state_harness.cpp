#include "tests/support/state_harness.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "base/sha256.hpp"
#include "base/values/json.hpp"

namespace tests {

namespace fs = std::filesystem;

namespace {

std::string make_scratch() {
  std::string pattern = (fs::temp_directory_path() / "opsagent-test-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
  ::chmod(pattern.c_str(), 0755);
  return pattern;
}

class NobodyWaits final : public states::Waits {
 public:
  bool is_done(std::string_view) override { return false; }
  base::Result<void> wait(std::string_view, Deadline) override {
    return base::Error(base::ErrorCode::unsupported, "nobody to wait for in this test");
  }
};

}  // namespace

struct StateHarness::Session {
  explicit Session(StateHarness& harness)
      : interrupt(harness.interrupt ? *harness.interrupt : none),
        commands(states::Commands::Clock::now() + harness.timeout, interrupt, harness.live, {},
                 harness.redactor),
        context{{.state_id = harness.state_id,
                 .host = harness.host_,
                 .tree = harness.tree_,
                 .accounts = harness.accounts_,
                 .overlay = harness.overlay_,
                 .commands = commands,
                 .interrupt = interrupt,
                 .facts = harness.facts_,
                 .notes = harness.notes_,
                 .waits = waits,
                 .watch_triggered = harness.watch_triggered,
                 .watch_changed = harness.watch_changed,
                 .watch_reacted = harness.watch_reacted,
                 .orders = &harness.orders,
                 .sensitive = harness.sensitive,
                 .plans_only = harness.plans_only,
                 .redactor = harness.redactor,
                 .recipe = harness.recipe_},
                harness.writer_} {}
  base::NoInterrupt none;
  base::Interrupt& interrupt;
  states::Commands commands;
  NobodyWaits waits;
  states::ApplyContext context;
};

StateHarness::StateHarness() : folder_(make_scratch()), tree_(folder_), accounts_(), writer_(tree_, sync_) {
  host_.root = folder_;
  host_.os = base::read_os_release();
  host_.state_dir = folder_ + "/state";
}

StateHarness::StateHarness(RunningSystem)
    : folder_(make_scratch()), tree_(), accounts_(), writer_(tree_, sync_) {
  host_.os = base::read_os_release();
  host_.state_dir = folder_ + "/state";
}

StateHarness::~StateHarness() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

const states::ParamValues* StateHarness::read(const states::StateType& type, std::string_view json,
                                              std::string& problems) {
  auto parsed = base::parse_json(arena_.copy(json), arena_);
  if (auto* wrong = std::get_if<base::SyntaxProblem>(&parsed))
    throw std::runtime_error("bad JSON in test: " + wrong->message);
  std::vector<states::ParamProblem> found;
  const states::ParamValues* params = type.read_params(std::get<base::Value>(parsed), arena_, found);
  for (const auto& problem : found)
    problems.append(problems.empty() ? "" : "\n").append(problem.message);
  return params;
}

std::string StateHarness::problems(const states::StateType& type, std::string_view json) {
  std::string found;
  (void)read(type, json, found);
  return found;
}

void StateHarness::add_to_recipe(const states::StateType& type, std::string_view json) {
  std::string found;
  const states::ParamValues* params = read(type, json, found);
  if (!params) throw std::runtime_error("bad parameters in test: " + found);
  recipe_.push_back({&type, params});
}

states::Plan StateHarness::plan(const states::StateType& type, std::string_view json) {
  std::string found;
  const states::ParamValues* params = read(type, json, found);
  if (!params) return states::Plan::fail(found);
  Session session(*this);
  tree_.foresee(overlay_.empty() ? nullptr : &overlay_);
  facts_.clear();
  accounts_.forget();
  return type.make_plan(*params, session.context);
}

states::Applied StateHarness::apply(const states::StateType& type, std::string_view json,
                                    const states::Plan& plan) {
  std::string found;
  const states::ParamValues* params = read(type, json, found);
  if (!params) return states::Applied::failed(found);
  Session session(*this);
  tree_.foresee(nullptr);
  return type.apply_plan(*params, plan, session.context);
}

StateHarness::Outcome StateHarness::converge(const states::StateType& type, std::string_view json) {
  Outcome outcome;
  const states::Plan first = plan(type, json);
  outcome.first = first.verdict;
  outcome.message = first.message;
  outcome.ok = first.verdict == states::Verdict::kept;
  if (first.verdict != states::Verdict::change) return outcome;
  states::Applied applied = apply(type, json, first);
  outcome.message = applied.comment;
  outcome.output = applied.output;
  outcome.ok = applied.ok();
  outcome.changed = applied.ok() && !applied.changed_nothing;
  std::string ignored;
  if (!applied.ok() || !type.rereadable_with(*read(type, json, ignored))) return outcome;
  const bool triggered = std::exchange(watch_triggered, false);
  states::Orders ordered = std::exchange(orders, {});
  const states::Plan again = plan(type, json);
  watch_triggered = triggered;
  orders = std::move(ordered);
  if (again.verdict != states::Verdict::kept) {
    outcome.ok = false;
    outcome.message = "did not converge: " + again.message;
    for (const states::Change& change : again.changes)
      outcome.message += "; " + change.what + ": " + change.before + " -> " + change.after;
  }
  return outcome;
}

void StateHarness::write(const std::string& path, std::string_view content, mode_t mode) {
  fs::create_directories(fs::path(folder_ + path).parent_path());
  std::ofstream(folder_ + path, std::ios::binary) << content;
  ::chmod((folder_ + path).c_str(), mode);
}

std::string StateHarness::read(const std::string& path) const {
  std::ifstream file(folder_ + path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool StateHarness::exists(const std::string& path) const {
  struct stat st {};
  return ::lstat((folder_ + path).c_str(), &st) == 0;
}

mode_t StateHarness::mode(const std::string& path) const {
  struct stat st {};
  return ::lstat((folder_ + path).c_str(), &st) == 0 ? st.st_mode & 07777 : 0;
}

std::string StateHarness::snapshot() const {
  std::vector<std::string> rows;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    struct stat st {};
    ::lstat(entry.path().c_str(), &st);
    std::ostringstream row;
    row << entry.path().string() << ' ' << std::oct << st.st_mode << std::dec << ' ' << st.st_uid << ' '
        << st.st_gid << ' ' << st.st_mtim.tv_sec << '.' << st.st_mtim.tv_nsec << ' ';
    if (S_ISREG(st.st_mode)) row << base::sha256_hex(read(entry.path().string().substr(folder_.size())));
    if (S_ISLNK(st.st_mode)) row << fs::read_symlink(entry.path()).string();
    rows.push_back(row.str());
  }
  std::ranges::sort(rows);
  std::string all;
  for (const std::string& row : rows)
    all += row + "\n";
  return all;
}

}  // namespace tests
