#include "states/debian/apt_transaction.hpp"

#include <algorithm>
#include <cctype>

#include "base/text.hpp"
#include "states/debian/apt_get.hpp"
#include "states/debian/apt_reader.hpp"

namespace states::debian {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// The guard is a line of shell: nothing else may get into it, whatever a database says.
bool is_plain_name(std::string_view name) {
  constexpr std::string_view kMore = "+-._:";
  return std::ranges::all_of(name, [&](unsigned char c) {
    return std::isalnum(c) != 0 || kMore.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

}  // namespace

std::vector<std::string> AptTransaction::arguments() const {
  std::vector<std::string> all = options;
  if (purges && !installs.empty()) all.emplace_back("--purge");
  all.emplace_back("--");
  all.insert(all.end(), installs.begin(), installs.end());
  // Among packages to be installed a dash behind the name says that it is to be removed.
  for (const std::string& name : removals)
    all.push_back(installs.empty() ? name : name + "-");
  return all;
}

std::vector<AptRemoval> parse_removals(std::string_view output) {
  std::vector<AptRemoval> removed;
  for (const std::string_view line : base::split(output, '\n')) {
    const auto words = base::split_words(line);
    if (words.size() < 2) continue;
    if (words[0] == "Inst") {
      std::erase_if(removed, [&](const AptRemoval& removal) { return removal.name == words[1]; });
    } else if (words[0] == "Remv" || words[0] == "Purg") {
      std::string_view version = words.size() > 2 ? words[2] : std::string_view();
      if (version.starts_with('[')) version.remove_prefix(1);
      if (version.ends_with(']')) version.remove_suffix(1);
      removed.push_back({std::string(words[1]), std::string(version)});
    }
  }
  return removed;
}

Result<std::vector<AptRemoval>> forecast_removals(const AptTransaction& transaction, Context& context) {
  // Without the logs of how it came to its solution, which it would write even now.
  std::vector<std::string> argv{"apt-get",
                                "--simulate",
                                "-q",
                                "-y",
                                "-o",
                                "Debug::NoLocking=1",
                                "-o",
                                "Dir::Log::Planner=",
                                "-o",
                                "Dir::Log::Solver=",
                                std::string(transaction.action())};
  const auto arguments = transaction.arguments();
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto done = ask_apt(context, std::move(argv), AptAccess::read_only);
  if (!done) return std::move(done).error();
  if (!done->ok())
    return Error(ErrorCode::io, failure_text("apt-get --simulate " + std::string(transaction.action()), *done,
                                             !context.sensitive));
  return parse_removals(done->output);
}

std::vector<std::string> removal_guard(std::span<const std::string> permitted,
                                       std::string_view native_architecture) {
  if (permitted.empty()) return {"--no-remove"};
  // Of each package apt says: name, version and architecture as it is, …, and what is done. The first word of
  // the guard is the name under which apt knows which form of that it wants.
  std::string guard =
      "while read -r name version architecture rest; do "
      "case $rest in *' **REMOVE**') ;; *) continue;; esac; "
      "case $architecture in " +
      std::string(native_architecture.empty() || !is_plain_name(native_architecture) ? "all"
                                                                                     : native_architecture) +
      "|all|-) ;; *) name=$name:$architecture;; esac; "
      "case ' ";
  for (const std::string& name : permitted)
    if (is_plain_name(name)) guard.append(name).append(" ");
  guard +=
      "' in *\" $name \"*) ;; *) more=\"$more $name\";; esac; done; "
      "[ -z \"$more\" ] || { echo \"E: This would now also remove$more, which was not planned\" >&2; exit 1; "
      "}";
  return {"-o", "DPkg::Tools::Options::while::Version=3", "-o", "DPkg::Pre-Install-Pkgs::=" + guard};
}

}  // namespace states::debian
