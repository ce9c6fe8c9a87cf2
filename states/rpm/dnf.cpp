#include "states/rpm/dnf.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/programs/ending_text.hpp"
#include "states/programs/standard_output.hpp"

namespace states::rpm {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// Longer arguments are refused by the kernel.
constexpr std::size_t kLongestArgument = 100 * 1024;

bool is_size_unit(std::string_view word) {
  return word == "k" || word == "M" || word == "G" || word == "B";
}

// Lines are wrapped where names are long: it is the words that count.
void add_rows(const std::vector<std::string_view>& words, std::vector<RpmRemoval>& removals) {
  constexpr std::size_t kColumns = 5;  // name, architecture, version, repository, size
  for (std::size_t at = 0; at + kColumns <= words.size();) {
    removals.push_back({.name = std::string(words[at]), .version = std::string(words[at + 2])});
    at += kColumns;
    if (at < words.size() && is_size_unit(words[at])) ++at;
  }
}

// "replacing  old.noarch 1.0-1" below what makes it obsolete.
void add_replaced(std::string_view line, std::vector<RpmRemoval>& removals) {
  const auto words = base::split_words(line);
  if (words.size() != 3 || words[0] != "replacing") return;
  const std::string_view name = words[1].substr(0, words[1].rfind('.'));
  removals.push_back({.name = std::string(name), .version = std::string(words[2])});
}

std::vector<std::string> transaction_argv(const DnfTransaction& transaction, const char* answer) {
  std::vector<std::string> argv{dnf_program(), answer};
  argv.insert(argv.end(), transaction.options.begin(), transaction.options.end());
  argv.push_back(transaction.action);
  argv.emplace_back("--");
  argv.insert(argv.end(), transaction.targets.begin(), transaction.targets.end());
  return argv;
}

// dnf ends with 1 where it was not to go on, and where it cannot.
bool was_only_aborted(const base::Completed& done) {
  return done.output.find("Operation aborted") != std::string::npos ||
         done.output.find("Nothing to do.") != std::string::npos;
}

std::string reason_of(std::string_view output) {
  // It says so in a page of text, without the word "Error".
  if (output.find("You have enabled checking of packages via GPG keys") != output.npos)
    return "signatures are to be checked, and no key is known";
  const auto lines = base::split(output, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = base::trim(lines[i]);
    if (!line.starts_with("Error:")) continue;
    const std::string_view reason = base::trim(line.substr(std::string_view("Error:").size()));
    if (!reason.empty()) return std::string(reason);
    // "Problem: problem with installed package x", and in the next line which.
    std::string problem;
    for (std::size_t next = i + 1; next < lines.size() && next <= i + 2; ++next)
      problem.append(problem.empty() ? "" : " ").append(base::trim(lines[next]));
    return problem;
  }
  return std::string(base::last_line(output));
}

Error failure(std::string_view what, const base::Completed& done, const Context& context) {
  const std::string clean = base::clean_output(done.output);
  const std::string why = context.sensitive ? "" : ": " + programs::shortened(reason_of(clean), context);
  return Error(ErrorCode::io, std::string(what) + " failed (" + programs::ending_of(done) + ")" + why);
}

// What a plan runs: dnf wants locks, a log and its history to be writable, although it changes nothing. The
// metadata itself is read where it is.
constexpr const char* kOffline = R"(
mkdir /tmp/cache /tmp/history || exit 125
for each in /var/cache/dnf/*; do
  case $each in *.json | *.pid | *'/*') ;; *) ln -s "$each" /tmp/cache/ ;; esac
done
cp /var/lib/dnf/history.sqlite* /tmp/history/ 2>/dev/null
program=$1
shift
exec "$program" --setopt=logdir=/tmp --setopt=cachedir=/tmp/cache --setopt=persistdir=/tmp/history --cacheonly "$@"
)";

// In Context::notes.
struct ChangedRepositories {
  bool refresh = false;
};

}  // namespace

void note_changed_repositories(Context& context) {
  context.notes.get<ChangedRepositories>().refresh = true;
}

std::string dnf_program() {
  return base::find_program("dnf") ? "dnf" : "yum";
}

std::vector<RpmRemoval> parse_removals(std::string_view table) {
  std::vector<RpmRemoval> removals;
  std::vector<std::string_view> words;
  bool is_removing = false;
  for (const std::string_view line : base::split(table, '\n')) {
    const bool is_heading = !line.empty() && line.front() != ' ' && line.ends_with(':');
    if (is_heading || base::trim(line).empty()) {
      add_rows(words, removals);
      words.clear();
      is_removing = is_heading && line.starts_with("Removing");
    } else if (is_removing) {
      const auto more = base::split_words(line);
      words.insert(words.end(), more.begin(), more.end());
    } else {
      add_replaced(line, removals);
    }
  }
  add_rows(words, removals);
  return removals;
}

Result<std::vector<RpmRemoval>> forecast_removals(const DnfTransaction& transaction, Context& context) {
  const std::vector<std::string> argv = transaction_argv(transaction, "--assumeno");
  base::Command command;
  command.argv = {"/bin/sh", "-c", kOffline, "sh"};
  command.argv.insert(command.argv.end(), argv.begin(), argv.end());
  std::string table;
  programs::collect_standard_output(command, table);
  command.view = base::View::read_only_offline;
  command.private_tmp = true;
  auto done = context.commands.run(std::move(command));
  if (!done) return std::move(done).error();
  if (!done->ok() && !was_only_aborted(*done))
    return failure(dnf_program() + " " + transaction.action, *done, context);
  return parse_removals(base::clean_output(table));
}

void Dnf::add_output(std::string_view text) {
  const std::string clean = base::clean_output(text);
  const std::string_view body = base::trim(clean);
  if (body.empty()) return;
  if (!output_.empty()) output_ += "\n";
  output_.append(body).append("\n");
}

Result<std::string> Dnf::run(std::vector<std::string> argv, bool changes) {
  base::Command command;
  command.argv = std::move(argv);
  command.timeout = std::chrono::hours(24);  // the state's deadline cuts it
  std::string answer;
  if (!changes) programs::collect_standard_output(command, answer);
  const std::string what = command.argv.front();
  auto done = changes ? context_.commands.run_undisturbed(std::move(command))
                      : context_.commands.run(std::move(command));
  if (!done) {
    add_output(context_.commands.interrupted_output());
    return std::move(done).error();
  }
  const bool is_fine = done->ok() || (!changes && was_only_aborted(*done));
  if (changes || !is_fine) add_output(done->output);
  if (changes) forget_rpms(context_);
  if (!is_fine) return failure(what, *done, context_);
  return answer;
}

Result<std::vector<RpmPackage>> Dnf::query(std::vector<std::string> argv,
                                           const std::vector<std::string>& names) {
  if (names.empty()) return std::vector<RpmPackage>();
  argv.insert(argv.end(), {"--queryformat", "%{name}\\t%{arch}\\t%{epoch}\\t%{version}-%{release}", "--"});
  argv.insert(argv.end(), names.begin(), names.end());
  auto output = run(std::move(argv), false);
  if (!output) return std::move(output).error();
  return parse_packages(*output);
}

Result<std::vector<RpmPackage>> Dnf::available(const std::vector<std::string>& names,
                                               const std::vector<std::string>& options, bool refresh) {
  std::vector<std::string> argv{dnf_program(), "-y", "--quiet"};
  argv.insert(argv.end(), options.begin(), options.end());
  if (std::exchange(context_.notes.get<ChangedRepositories>().refresh, false) || refresh)
    argv.emplace_back("--refresh");
  argv.insert(argv.end(), {"repoquery", "--available"});
  return query(std::move(argv), names);
}

Result<std::vector<RpmPackage>> Dnf::providers(const std::vector<std::string>& names,
                                               const std::vector<std::string>& options) {
  std::vector<RpmPackage> found;
  for (const std::string& name : names) {
    std::vector<std::string> argv{dnf_program(), "-y", "--quiet"};
    argv.insert(argv.end(), options.begin(), options.end());
    argv.insert(argv.end(), {"repoquery", "--available", "--whatprovides", name});
    argv.insert(argv.end(), {"--queryformat", "%{name}\\t%{arch}\\t%{epoch}\\t%{version}-%{release}"});
    auto output = run(std::move(argv), false);
    if (!output) return std::move(output).error();
    for (RpmPackage& package : parse_packages(*output)) {
      package.name = name;
      found.push_back(std::move(package));
    }
  }
  return found;
}

Result<std::vector<RpmRemoval>> Dnf::forecast(const DnfTransaction& transaction) {
  auto output = run(transaction_argv(transaction, "--assumeno"), false);
  if (!output) return std::move(output).error();
  return parse_removals(base::clean_output(*output));
}

Result<void> Dnf::commit(const DnfTransaction& transaction, std::span<const std::string> permitted) {
  auto database = installed_rpms(context_);
  if (!database) return std::move(database).error();
  std::string kept;
  for (const RpmPackage& package : (*database)->packages())
    if (std::ranges::find(permitted, package.name) == permitted.end() && package.name != "gpg-pubkey" &&
        kept.size() < kLongestArgument)
      kept.append(kept.empty() ? "" : ",").append(package.name);
  DnfTransaction guarded = transaction;
  if (!kept.empty()) guarded.options.push_back("--setopt=protected_packages=" + kept);
  auto done = run(transaction_argv(guarded, "-y"), true);
  return done ? Result<void>() : Result<void>(std::move(done).error());
}

}  // namespace states::rpm
