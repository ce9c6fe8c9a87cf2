#include "states/linux_apt_package/applying.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "states/linux_apt_package/choosing.hpp"
#include "states/linux_apt_package/wording.hpp"

namespace states::linux_apt_package {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kMostAnswers = 1024 * 1024;  // all of a machine's answers are a tenth of that

bool needs_lists(const Item& item) {
  return item.action == Action::install || item.entry.want == Want::latest;
}

std::vector<std::string> names_with(const std::vector<Item>& items, Action action) {
  std::vector<std::string> names;
  for (const Item& item : items)
    if (item.action == action) names.push_back(item.entry.name);
  return names;
}

// One application of a plan.
class Application {
 public:
  Application(const Params& params, const Steps& steps, ApplyContext& context, debian::AptPatience patience)
      : params_(params), context_(context), steps_(steps), apt_(context, patience) {}

  Applied run() {
    const auto changed = change();
    if (!changed) {
      Error error = changed.error();
      // The reason may lie further back than the installation that failed.
      if (!refresh_problem_.empty() && error.code() != ErrorCode::cancelled)
        error = Error(error.code(), error.message() + "\n" + refresh_problem_);
      return Applied::failed(error, apt_.output());
    }
    return read_back();
  }

 private:
  Result<void> change() {
    const bool refreshes = std::ranges::any_of(steps_.items, needs_lists);
    if (refreshes)
      if (auto refreshed = refresh(); !refreshed) return refreshed;
    auto chosen = choose(steps_.items, params_.repo.value_or(""), context_);
    if (!chosen) return std::move(chosen).error();
    for (const auto& [action, verb] :
         {std::pair(Action::remove, "remove"), std::pair(Action::purge, "purge")})
      if (const auto names = names_with(steps_.items, action); !names.empty())
        if (auto done = apt_.run(verb, names); !done) return done;
    if (chosen->targets.empty()) return {};
    if (auto answered = load_debconf_answers(); !answered) return answered;
    return install(*chosen);
  }

  // A mirror that fails is not the end: what is needed may be there, or in the lists of yesterday.
  Result<void> refresh() {
    auto refreshed = apt_.refresh_lists(unauthenticated());
    if (refreshed || refreshed.error().code() != ErrorCode::io) return refreshed;
    refresh_problem_ = refreshed.error().message();
    return {};
  }

  Result<void> load_debconf_answers() {
    if (!params_.deb_conf_file) return {};
    auto path = base::clean_path(*params_.deb_conf_file);
    if (!path) return std::move(path).error();
    if (auto checked = check_debconf_file(*path, context_); !checked) return checked;
    // Not by name: what is there now may be a link, or a FIFO that would be waited for without end.
    auto answers = context_.tree.read(*path, kMostAnswers);
    if (!answers) return std::move(answers).error().with_context("debconf file " + *path);
    // Not by its name: perl's <> takes a name that ends with a bar for a command.
    return apt_.run_program("debconf-set-selections", {"debconf-set-selections"}, std::move(*answers));
  }

  Result<void> install(const Chosen& chosen) {
    std::vector<std::string> options;
    if (params_.repo) options.push_back("--target-release=" + std::string(*params_.repo));
    if (chosen.downgrades) options.emplace_back("--allow-downgrades");
    if (unauthenticated()) options.emplace_back("--allow-unauthenticated");
    if (!params_.verify_gpg)
      apt_.add_output(unauthenticated() ? "verify-gpg is false: unauthenticated packages are accepted"
                                        : "verify-gpg: false is not honoured: the agent's configuration does "
                                          "not permit unauthenticated packages");
    return apt_.run("install", chosen.targets, options);
  }

  bool unauthenticated() const { return !params_.verify_gpg && context_.host.allow_unauthenticated_packages; }

  Applied read_back() {
    debian::forget_packages(context_);
    auto now = debian::installed_packages(context_);
    if (!now) return Applied::failed(now.error(), apt_.output());
    std::vector<std::string> wrong;
    for (const Item& item : steps_.items)
      if (const debian::DpkgPackage* package = find_package(**now, item.entry);
          !is_as_wanted(item.entry, package))
        wrong.push_back(item.entry.name + " (" + found_text(package) + ")");
    if (!wrong.empty())
      return Applied::failed("Not as wanted after the run: " + base::join(wrong, ", "), apt_.output());
    std::string comment = report(steps_, **now);
    const bool only_lists = names_with(steps_.items, Action::none).size() == steps_.items.size();
    if (only_lists && refresh_problem_.empty()) comment += "; package lists refreshed";
    if (!refresh_problem_.empty()) comment += "\nWarning: " + refresh_problem_;
    return Applied::done(std::move(comment), apt_.output());
  }

  const Params& params_;
  ApplyContext& context_;
  Steps steps_;  // a copy: the items get the versions that are chosen
  debian::AptGet apt_;
  std::string refresh_problem_;  // of a refresh that failed
};

}  // namespace

Applied apply_packages(const Params& params, const Steps& steps, ApplyContext& context,
                       debian::AptPatience patience) {
  return Application(params, steps, context, patience).run();
}

}  // namespace states::linux_apt_package
