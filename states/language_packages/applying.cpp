#include "states/language_packages/applying.hpp"

#include <algorithm>
#include <functional>
#include <span>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/packages/lists.hpp"
#include "states/programs/ending_text.hpp"
#include "states/programs/standard_output.hpp"

namespace states::language_packages {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using Argv = std::function<Result<std::vector<std::string>>(std::span<const Entry>)>;

class Application {
 public:
  Application(const Ecosystem& ecosystem, const Steps& steps, ApplyContext& context)
      : ecosystem_(ecosystem), context_(context), items_(steps.items) {}

  Applied run() {
    auto tool = prerequisites::ensure_program(context_, ecosystem_.prerequisite());
    if (!tool) return Applied::failed(tool.error());
    output_ = tool->output;
    if (auto made = ecosystem_.make_place(context_); !made) return Applied::failed(made.error(), output_);
    if (auto stopped = change_all(); !stopped) return Applied::failed(stopped.error(), output_);
    Applied applied = read_back();
    applied.comment = tool->before(std::move(applied.comment));
    return applied;
  }

 private:
  enum class Kind { question, change };

  // An error only where nothing more is to be tried; all else is in failures_.
  Result<void> change_all() {
    const Argv removal = [&](std::span<const Entry> some) { return ecosystem_.remove_argv(some, context_); };
    const Argv installation = [&](std::span<const Entry> some) {
      return ecosystem_.install_argv(some, context_);
    };
    if (auto done = run_for(entries_with(Action::remove), removal); !done) return done;
    for (Item& item : items_)
      if (item.action == Action::look_up)
        if (auto asked = look_up(item); !asked) return asked;
    for (const Item& item : items_)
      if (item.action == Action::install && item.is_broken)
        if (auto mended = mend(item.entry); !mended) return mended;
    return run_for(entries_with(Action::install), installation);
  }

  std::vector<Entry> entries_with(Action action) const {
    std::vector<Entry> entries;
    for (const Item& item : items_)
      if (item.action == action) entries.push_back(item.entry);
    return entries;
  }

  Result<void> run_for(const std::vector<Entry>& entries, const Argv& argv) {
    std::span<const Entry> rest(entries);
    while (!rest.empty()) {
      const auto batch = rest.first(std::min(rest.size(), ecosystem_.most_at_once()));
      rest = rest.subspan(batch.size());
      if (auto done = run_batch(batch, argv); !done) return done;
    }
    return {};
  }

  Result<void> run_batch(std::span<const Entry> batch, const Argv& argv) {
    auto words = argv(batch);
    if (!words) return std::move(words).error();
    auto done = execute(std::move(*words), Kind::change);
    if (!done) return std::move(done).error();
    if (done->ok()) return {};
    if (ecosystem_.reason_in(done->output) == Reason::unreachable) return unreachable(*done);
    if (batch.size() == 1) {
      failures_.push_back(explain(batch.front(), *done));
      return {};
    }
    for (const Entry& entry : batch)
      if (auto one = run_batch({&entry, 1}, argv); !one) return one;
    return {};
  }

  Result<void> mend(const Entry& entry) {
    std::vector<std::string> words = ecosystem_.mend_argv(entry, context_);
    if (words.empty()) return {};
    auto done = execute(std::move(words), Kind::change);
    if (!done) return std::move(done).error();
    if (!done->ok() && ecosystem_.reason_in(done->output) == Reason::unreachable) return unreachable(*done);
    if (!done->ok()) failures_.push_back(explain(entry, *done));
    return {};
  }

  // Makes an installation of it if there is a newer one.
  Result<void> look_up(Item& item) {
    std::vector<std::string> words = ecosystem_.newest_argv(item.entry, context_);
    if (words.empty()) {
      item.action = Action::install;
      return {};
    }
    auto done = execute(std::move(words), Kind::question);
    if (!done) return std::move(done).error();
    // gem is content when nobody has answered.
    if (ecosystem_.reason_in(done->output) == Reason::unreachable) return unreachable(*done);
    const auto newest = done->ok() ? ecosystem_.newest_in(answer_, item.entry) : std::nullopt;
    if (!newest) {
      failures_.push_back(done->ok() ? item.entry.name + " not found" : explain(item.entry, *done));
      return {};
    }
    note_newest(ecosystem_, item.entry, *newest, context_);
    auto copies = ecosystem_.installed(item.entry, context_);
    if (!copies) return std::move(copies).error();
    if (is_as_wanted(ecosystem_, item.entry, *copies, context_)) return {};
    item.action = Action::install;
    item.entry.version = *newest;
    return {};
  }

  Result<base::Completed> execute(std::vector<std::string> argv, Kind kind) {
    auto command = ecosystem_.command(std::move(argv), context_);
    if (!command) return std::move(command).error();
    command->timeout = std::chrono::hours(24);  // the state's deadline cuts it
    answer_.clear();
    if (kind == Kind::question) programs::collect_standard_output(*command, answer_);
    // What is ended half-way leaves packages that look installed and are not.
    auto done = kind == Kind::change ? context_.commands.run_undisturbed(std::move(*command))
                                     : context_.commands.run(std::move(*command));
    add_output(done ? done->output : context_.commands.interrupted_output());
    forget_what_was_read();
    return done;
  }

  // Tools replace folders whose descriptors the tree has kept.
  void forget_what_was_read() {
    context_.facts.clear();
    context_.tree.forget();
  }

  void add_output(std::string_view printed) {
    const std::string clean = base::clean_output(printed);
    const std::string_view body = base::trim(clean);
    if (body.empty()) return;
    if (!output_.empty()) output_ += "\n";
    output_.append(body).append("\n");
  }

  // What the tool said, unless it may not be quoted.
  std::string quoted(const base::Completed& done) const {
    const std::string line =
        context_.sensitive
            ? std::string()
            : programs::shortened(ecosystem_.telling_line(base::clean_output(done.output)), context_);
    return line.empty() ? std::string() : ": " + line;
  }

  Error unreachable(const base::Completed& done) const {
    return Error(ErrorCode::io, "Registry not reachable" + quoted(done));
  }

  std::string explain(const Entry& entry, const base::Completed& done) const {
    const Reason reason = ecosystem_.reason_in(done.output);
    const bool has_version = !entry.version.empty() || !entry.tag.empty();
    if (reason == Reason::no_such_version && has_version)
      return "Version " + (entry.version.empty() ? entry.tag : entry.version) + " of " + entry.name +
             " not found" + quoted(done);
    if (reason != Reason::other) return entry.name + " not found" + quoted(done);
    return std::string(ecosystem_.tool()) + " failed for " + entry.name + " (" + programs::ending_of(done) +
           ")" + quoted(done);
  }

  Applied read_back() {
    std::vector<std::string> wrong;
    Report report;
    for (const Item& item : items_) {
      auto copies = ecosystem_.installed(item.entry, context_);
      if (!copies) return Applied::failed(copies.error(), output_);
      // The newest is what an installation that went well has brought.
      if (item.entry.want == Want::latest && item.action == Action::install && failures_.empty() &&
          !copies->empty())
        note_newest(ecosystem_, item.entry, copies->front().version, context_);
      report.add(ecosystem_, item, versions_of(*copies));
      Entry wanted = item.entry;
      if (wanted.want == Want::latest) wanted.version.clear();
      if (!is_as_wanted(ecosystem_, wanted, *copies, context_))
        wrong.push_back(item.entry.name + " (" +
                        (copies->empty() ? "absent" : base::join(versions_of(*copies), ", ")) + ")");
    }
    const std::string done = report.text(items_);
    if (!failures_.empty())
      return Applied::failed(base::join(failures_, "; ") + (report.has_changes() ? "\n" + done : ""),
                             output_);
    if (!wrong.empty())
      return Applied::failed("Not as wanted after the run: " + base::join(wrong, ", "), output_);
    return Applied::done(done, output_);
  }

  // "Installed: a (1.0); upgraded: b (1.0 -> 2.0); …", by what is on disk now.
  class Report {
   public:
    void add(const Ecosystem& ecosystem, const Item& item, const std::vector<std::string>& now) {
      const std::string& name = item.entry.name;
      if (now == item.before) {
        kept_.push_back(name);
      } else if (now.empty()) {
        removed_.push_back(name);
      } else if (item.before.empty()) {
        installed_.push_back(name + " (" + base::join(now, ", ") + ")");
      } else {
        const bool is_older = ecosystem.compare(now.front(), item.before.front()) < 0;
        (is_older ? downgraded_ : upgraded_)
            .push_back(name + " (" + base::join(item.before, ", ") + " -> " + base::join(now, ", ") + ")");
      }
    }
    bool has_changes() const {
      return !(installed_.empty() && upgraded_.empty() && downgraded_.empty() && removed_.empty());
    }
    std::string text(const std::vector<Item>& items) const {
      if (!has_changes()) return kept_message(items);
      std::string text;
      packages::append_list(text, "installed:", installed_);
      packages::append_list(text, "upgraded:", upgraded_);
      packages::append_list(text, "downgraded:", downgraded_);
      packages::append_list(text, "removed:", removed_);
      packages::append_list(text, "already as wanted:", kept_);
      packages::capitalise(text);
      return text;
    }

   private:
    std::vector<std::string> installed_, upgraded_, downgraded_, removed_, kept_;
  };

  const Ecosystem& ecosystem_;
  ApplyContext& context_;
  std::vector<Item> items_;  // a copy: what is looked up may turn out to be installed
  std::string output_;
  std::string answer_;  // to the last question
  std::vector<std::string> failures_;
};

}  // namespace

Applied apply_packages(const Ecosystem& ecosystem, const Steps& steps, ApplyContext& context) {
  return Application(ecosystem, steps, context).run();
}

}  // namespace states::language_packages
