#include "states/linux_apt_package/applying.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "states/downloads/local_file.hpp"
#include "states/linux_apt_package/choosing.hpp"
#include "states/linux_apt_package/remote_file.hpp"
#include "states/linux_apt_package/removals.hpp"
#include "states/linux_apt_package/wording.hpp"
#include "states/packages/lists.hpp"

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
      : params_(params), context_(context), steps_(steps), apt_(context, patience), files_(context) {}

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
    if (auto fetched = fetch_files(); !fetched) return fetched;
    const bool refreshes = std::ranges::any_of(steps_.items, needs_lists);
    if (refreshes)
      if (auto refreshed = refresh(); !refreshed) return refreshed;
    auto chosen = look_up();
    if (!chosen) return std::move(chosen).error();
    const auto options = install_options(params_, *chosen, context_.host);
    auto stages = arrange(steps_.items, *chosen, options, [&](const debian::AptTransaction& transaction) {
      return apt_.forecast(transaction);
    });
    if (!stages) return std::move(stages).error();
    if (auto checked = check_again(stages->unnamed); !checked) return checked;
    steps_.unnamed = std::move(stages->unnamed);
    if (!chosen->targets.empty()) {
      remark_on_signatures();
      if (auto answered = load_debconf_answers(); !answered) return answered;
    }
    const auto permitted = permitted_names(steps_.items, *steps_.unnamed);
    for (const debian::AptTransaction& run : stages->runs)
      if (auto done = apt_.commit(run, permitted); !done) return done;
    return {};
  }

  // Package files of servers come first: nothing changes unless all of them can be had.
  Result<void> fetch_files() {
    for (Item& item : steps_.items) {
      if (item.action != Action::install || item.entry.want != Want::file) continue;
      if (!is_remote(item.entry)) {
        if (auto taken = take_local(item.entry); !taken) return taken;
        continue;
      }
      auto entry = files_.fetch(item.entry);
      if (!entry) return std::move(entry).error();
      auto status = debian::installed_packages(context_);
      if (!status) return std::move(status).error();
      drop_native_architecture(*entry, **status);
      item.entry = std::move(*entry);
      const debian::DpkgPackage* package = find_package(**status, item.entry);
      item.is_present = package && package->is_present();
      if (package && package->is_installed()) item.before = package->version;
      if (is_as_wanted(item.entry, package)) item.action = Action::none;
    }
    return {};
  }

  // A file of this machine is still only ours to change, or becomes a copy that is what the recipe says.
  Result<void> take_local(Entry& entry) {
    if (!entry.checksum) return downloads::check_local(entry.file, std::nullopt, context_);
    auto copied = files_.copy(entry);
    if (!copied) return std::move(copied).error();
    entry.file = std::move(copied->file);
    return {};
  }

  Result<Chosen> look_up() {
    debian::AptCache cache(context_, params_.repo.value_or(""), debian::AptAccess::writable);
    auto candidates = cache.candidates(names_to_look_up(steps_.items));
    if (!candidates) return std::move(candidates).error();
    return choose(steps_.items, *candidates, cache);
  }

  // The machine and the lists may have changed since the plan, which people have seen.
  Result<void> check_again(const std::vector<debian::AptRemoval>& unnamed) const {
    if (auto checked = check_removals(steps_.items, unnamed, params_.allow_removals); !checked)
      return checked;
    if (!steps_.unnamed) return {};
    const std::vector<std::string> planned = names_of(*steps_.unnamed);
    std::vector<std::string> more = names_of(unnamed);
    std::erase_if(more,
                  [&](const std::string& name) { return std::ranges::find(planned, name) != planned.end(); });
    if (more.empty()) return {};
    return base::changed_since_planned("What apt would remove", "now also " + packages::bounded_list(more));
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

  void remark_on_signatures() {
    if (params_.verify_gpg) return;
    apt_.add_output(unauthenticated() ? "verify-gpg is false: unauthenticated packages are accepted"
                                      : "verify-gpg: false is not honoured: the agent's configuration does "
                                        "not permit unauthenticated packages");
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
    files_.remember();
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
  RemoteFiles files_;
  std::string refresh_problem_;  // of a refresh that failed
};

}  // namespace

Applied apply_packages(const Params& params, const Steps& steps, ApplyContext& context,
                       debian::AptPatience patience) {
  return Application(params, steps, context, patience).run();
}

}  // namespace states::linux_apt_package
