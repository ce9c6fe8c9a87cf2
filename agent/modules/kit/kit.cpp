#include "agent/modules/kit/kit.hpp"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "agent/modules/host/module_process.hpp"
#include "base/host/accounts.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "modules/module_set.hpp"
#include "modules/module_type.hpp"

namespace agent::modules {

namespace {

namespace fs = std::filesystem;
using Clock = ModuleProcess::Clock;
using What = base::Conversation::Heard::What;

constexpr std::string_view kScratch = "{scratch}";

// Reads parameters, and nothing else.
class Parameters final : public ::modules::ModuleType {
 public:
  explicit Parameters(const ::modules::Manifest& manifest) : ModuleType(manifest) {}

  // What the module is told of an example, or what is wrong with it.
  base::Result<std::string> told(std::string_view example) const {
    base::Arena arena;
    auto parsed = base::parse_json(example, arena);
    if (const auto* wrong = std::get_if<base::SyntaxProblem>(&parsed))
      return base::Error(base::ErrorCode::invalid, wrong->message);
    std::vector<states::ParamProblem> problems;
    const auto* params = read_params(std::get<base::Value>(parsed), arena, problems);
    if (!params) return base::Error(base::ErrorCode::invalid, problems.front().message);
    return parameter_json(*params);
  }

  states::Plan make_plan(const states::ParamValues&, states::Context&) const override {
    return states::Plan::fail("the conformance kit reads parameters only");
  }
  states::Applied apply_plan(const states::ParamValues&, const states::Plan&,
                             states::ApplyContext&) const override {
    return states::Applied::failed(std::string("the conformance kit reads parameters only"));
  }
};

// A folder that goes with it.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "opsagent-module-XXXXXX").string();
    if (::mkdtemp(pattern.data())) path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }

  // Names, sizes and times of all that is in it.
  std::string listing() const {
    std::string text;
    std::error_code wrong;
    for (fs::recursive_directory_iterator entry(path_, wrong), end; !wrong && entry != end;
         entry.increment(wrong)) {
      std::error_code ignored;
      text += entry->path().string() + " " + std::to_string(fs::file_size(entry->path(), ignored)) + " " +
              std::to_string(fs::last_write_time(entry->path(), ignored).time_since_epoch().count()) + "\n";
    }
    return text;
  }

 private:
  std::string path_;
};

class Kit {
 public:
  Kit(const std::string& folder, const KitOptions& options, const std::function<void(const Finding&)>& each)
      : folder_(folder), options_(options), each_(each) {}

  std::vector<Finding> run() {
    if (read()) {
      check_start();
      if (process_) check_examples();
    }
    return std::move(findings_);
  }

 private:
  bool note(std::string check, std::string problem = {}, std::string mend = {}) {
    findings_.push_back({std::move(check), std::move(problem), std::move(mend)});
    if (each_) each_(findings_.back());
    return findings_.back().problem.empty();
  }

  bool read() {
    ::modules::ReadModule read = ::modules::read_module(folder_);
    if (!note("the manifest and its schema", base::join(read.problems, "\n"),
              "docs/writing-a-module.md lists what a manifest may have"))
      return false;
    module_ = std::move(read.module);
    type_ = std::make_unique<Parameters>(*module_.manifest);
    if (!module_.manifest->run_as.empty()) {
      const base::User* user = accounts_.user(module_.manifest->run_as);
      if (!note("the user that it runs as",
                user ? "" : "user '" + module_.manifest->run_as + "' does not exist",
                "change 'run_as', or make the user"))
        return false;
      identity_ = accounts_.identity_of(*user);
    }
    return true;
  }

  Clock::time_point deadline() const { return Clock::now() + options_.patience; }

  base::Result<std::unique_ptr<ModuleProcess>> start(Purpose purpose, bool confined = true) {
    printed_.clear();
    return ModuleProcess::start(
        {.module = module_, .purpose = purpose, .identity = identity_, .confined = confined}, deadline(),
        nullptr, output_);
  }

  std::string said(const std::string& problem) const {
    const std::string_view text = base::trim(printed_);
    return text.empty() ? problem : problem + "; it printed: " + base::quote_of(text);
  }

  void check_start() {
    auto process = start(Purpose::plan);
    if (note(
            "it starts and says hello", process ? "" : said(process.error().message()),
            R"(write {"type":"hello","protocol":1,"module":NAME,"version":VERSION,"features":[]} to descriptor 4 first, with the name and version of module.json)"))
      process_ = std::move(*process);
  }

  ModuleProcess::Call call(const std::string& parameter) {
    return {.state_id = "test",
            .parameter = parameter,
            .deadline = deadline(),
            .interrupt = nullptr,
            .output = output_};
  }

  // A process that plans, if the one there is has become useless.
  bool has_process() {
    if (process_ && process_->is_usable()) return true;
    auto process = start(Purpose::plan);
    process_ = process ? std::move(*process) : nullptr;
    return process_ != nullptr;
  }

  void check_examples() {
    const auto& examples = module_.manifest->examples;
    if (!note("it has an example", examples.empty() ? "'examples' of module.json is empty" : "",
              R"(add parameters that work anywhere, such as "examples": [{"path": "{scratch}/x"}])"))
      return;
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const Scratch scratch;
      std::string example = examples[i];
      for (std::size_t at = 0; (at = example.find(kScratch, at)) != std::string::npos;
           at += scratch.path().size())
        example.replace(at, kScratch.size(), scratch.path());
      const std::string name = "example " + std::to_string(i + 1);
      auto parameter = type_->told(example);
      if (!note(name + " fits the schema", parameter ? "" : parameter.error().message(),
                "change the example, or the schema"))
        continue;
      if (module_.manifest->supports_plan && !check_plan(name, *parameter, scratch)) continue;
      if (i == 0 && module_.manifest->supports_plan) check_manners(*parameter);
      if (options_.applies) check_apply(name, *parameter);
    }
  }

  bool check_plan(const std::string& name, const std::string& parameter, const Scratch& scratch) {
    auto planned = process_->plan(call(parameter));
    if (!note(name + ": the plan is answered", planned ? "" : said(planned.error().message()),
              "answer each request once, with its id, within its deadline_ms; print to stdout, not to "
              "descriptor 4"))
      return false;
    note(name + ": it can be planned here",
         planned->verdict == states::Verdict::fail ? "it says: " + planned->message : "",
         "an example must work on any machine; put what it needs below {scratch}");
    // Where it could write: what it does when it is not kept from it.
    auto unconfined = start(Purpose::plan, false);
    const std::string before = scratch.listing();
    if (unconfined) (void)(*unconfined)->plan(call(parameter));
    return note(name + ": the plan writes nothing",
                scratch.listing() == before ? "" : "it wrote to the folder of the example while it planned",
                "write in 'apply' only; the agent plans with all file systems read-only");
  }

  // How it takes what is not a plain request.
  void check_manners(const std::string& parameter) {
    check_unknown_parameter();
    check_after("a malformed request is passed over", "{\"type\":\n[1,2]\n{\"type\":\"dance\",\"id\":900}\n",
                parameter,
                "pass over lines that are not JSON, or of a type that you do not know, and read the next");
    check_cancel(parameter);
  }

  void check_unknown_parameter() {
    if (!has_process()) return;
    auto planned = process_->plan(call(R"({"no-such-parameter":"x"})"));
    note("a parameter that it does not know does not end it", planned ? "" : said(planned.error().message()),
         "answer 'fail' with a message; a module of a newer recipe must not crash the older one");
  }

  // The bytes are sent before a request, which must be answered as if they had not been.
  void check_after(const std::string& check, std::string_view bytes, const std::string& parameter,
                   const std::string& mend) {
    if (!has_process()) return;
    const Request request{
        .id = kRawId, .state_id = "test", .parameter = parameter, .time_left = options_.patience};
    const auto heard = process_->conversation().exchange(std::string(bytes) + plan_line(request), deadline(),
                                                         nullptr, output_);
    std::string problem;
    if (heard.what != What::line)
      problem = "it does not answer the next request";
    else if (auto planned = read_planned(heard.line, kRawId); !planned)
      problem = "it " + planned.error().message();
    note(check, problem.empty() ? "" : said(problem), mend);
    if (!problem.empty()) process_ = nullptr;
  }

  void check_cancel(const std::string& parameter) {
    if (!has_process()) return;
    const Request request{
        .id = kRawId, .state_id = "test", .parameter = parameter, .time_left = options_.patience};
    const auto first = process_->conversation().exchange(plan_line(request) + cancel_line(kRawId), deadline(),
                                                         nullptr, output_);
    const bool is_answered = first.what == What::line && read_planned(first.line, kRawId);
    if (!note("a cancelled request is answered, once",
              is_answered ? "" : said("it does not answer the cancelled request"),
              "answer what was asked, at once after a cancel; there is no answer to the cancel itself")) {
      process_ = nullptr;
      return;
    }
    check_after("it goes on after a cancel", {}, parameter,
                "a cancel for what is answered already means nothing: read the next line");
  }

  void check_apply(const std::string& name, const std::string& parameter) {
    auto process = start(Purpose::apply);
    if (!note(name + ": it starts for apply", process ? "" : said(process.error().message()), "as above"))
      return;
    for (const char* time : {"", " again"}) {
      printed_.clear();
      auto done = (*process)->apply(call(parameter), {});
      const std::string problem = !done      ? done.error().message()
                                  : done->ok ? ""
                                             : "it says: " + done->message;
      if (!note(name + ": apply works" + time, problem.empty() ? "" : said(problem),
                "applying what is there already must succeed, too"))
        return;
      if (!module_.manifest->supports_plan) continue;
      if (!has_process()) return;
      auto planned = process_->plan(call(parameter));
      const bool kept = planned && planned->verdict == states::Verdict::kept;
      if (!note(name + ": after apply" + time + " the plan says kept",
                kept      ? ""
                : planned ? "it says something else"
                          : said(planned.error().message()),
                "plan must look at what apply makes: the state would fail with 'did not converge'"))
        return;
    }
  }

  static constexpr std::uint64_t kRawId = 1'000'000;  // of requests that the process does not count

  const std::string& folder_;
  const KitOptions& options_;
  const std::function<void(const Finding&)>& each_;
  std::vector<Finding> findings_;
  base::Accounts accounts_;
  std::optional<base::Identity> identity_;
  ::modules::Module module_;
  std::unique_ptr<Parameters> type_;
  std::unique_ptr<ModuleProcess> process_;  // that plans
  std::string printed_;
  ModuleProcess::Output output_ = [this](base::Stream, std::string_view data) {
    constexpr std::size_t kMost = 4096;
    printed_.append(data.substr(0, kMost - std::min(kMost, printed_.size())));
  };
};

}  // namespace

std::vector<Finding> check_module(const std::string& folder, const KitOptions& options,
                                  const std::function<void(const Finding&)>& each) {
  return Kit(folder, options, each).run();
}

}  // namespace agent::modules
