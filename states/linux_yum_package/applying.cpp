#include "states/linux_yum_package/applying.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "states/downloads/local_file.hpp"
#include "states/packages/lists.hpp"
#include "states/versions/rpm_version.hpp"

namespace states::linux_yum_package {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using rpm::RpmPackage;
using rpm::RpmRemoval;

class Application {
 public:
  Application(const Params& params, const Steps& steps, ApplyContext& context)
      : params_(params), context_(context), steps_(steps), dnf_(context) {}

  Applied run() {
    if (!base::find_program(rpm::dnf_program()))
      return Applied::failed("Cannot run linux.yum.package: 'dnf' is missing");
    if (!params_.verify_gpg) dnf_.add_output("verify-gpg is false: signatures of packages are not checked");
    if (auto done = change(); !done) return Applied::failed(done.error(), dnf_.output());
    return read_back();
  }

 private:
  Result<void> change() {
    for (Item& item : steps_.items)
      if (item.action == Action::install && item.entry.want == Want::file)
        if (auto taken = take_file(item.entry); !taken) return taken;
    if (auto chosen = choose(); !chosen) return chosen;
    const auto transactions = transactions_for(steps_.items, params_);
    std::vector<RpmRemoval> unnamed;
    for (const rpm::DnfTransaction& transaction : transactions) {
      auto removals = dnf_.forecast(transaction);
      if (!removals) return std::move(removals).error();
      for (RpmRemoval& removal : unnamed_among(*removals, steps_.items))
        if (std::ranges::find(unnamed, removal) == unnamed.end()) unnamed.push_back(std::move(removal));
    }
    if (auto checked = check_again(unnamed); !checked) return checked;
    std::vector<std::string> permitted = names_of(unnamed);
    for (const Item& item : steps_.items)
      if (item.entry.want == Want::removed) permitted.push_back(item.entry.name);
    steps_.unnamed = std::move(unnamed);
    for (const rpm::DnfTransaction& transaction : transactions)
      if (auto done = dnf_.commit(transaction, permitted); !done) return done;
    return {};
  }

  // A package file is still only ours to change, or becomes a copy that is what the recipe says.
  Result<void> take_file(Entry& entry) {
    if (!entry.checksum) return downloads::check_local(entry.file, std::nullopt, context_);
    auto copied = downloads::OwnCopy::make(entry.file, *entry.checksum, ".rpm", context_);
    if (!copied) return std::move(copied).error();
    auto package = rpm::package_in_file(copied->path(), context_);
    if (!package) return std::move(package).error();
    if (package->name != entry.name || package->version != entry.version)
      return base::changed_since_planned(entry.file,
                                         "it is " + package->name + " " + package->version + " now");
    entry.file = copied->path();
    copies_.push_back(std::move(*copied));
    return {};
  }

  // The machine and the repositories may have changed since the plan, which people have seen.
  Result<void> check_again(const std::vector<RpmRemoval>& unnamed) const {
    if (auto checked = check_removals(steps_.items, unnamed, params_.allow_removals); !checked)
      return checked;
    if (!steps_.unnamed) return {};
    const std::vector<std::string> planned = names_of(*steps_.unnamed);
    std::vector<std::string> more = names_of(unnamed);
    std::erase_if(more,
                  [&](const std::string& name) { return std::ranges::find(planned, name) != planned.end(); });
    if (more.empty()) return {};
    return base::changed_since_planned("What dnf would remove", "now also " + packages::bounded_list(more));
  }

  bool needs_choice(const Item& item) const {
    return (item.action == Action::install && item.entry.want != Want::file) ||
           item.action == Action::look_up;
  }

  // Which versions to install. Unknown names and versions end it before anything is removed.
  Result<void> choose() {
    std::vector<std::string> names;
    bool wants_latest = false;
    for (const Item& item : steps_.items)
      if (needs_choice(item)) {
        names.push_back(item.entry.whole_name());
        wants_latest = wants_latest || item.entry.want == Want::latest;
      }
    if (names.empty()) return {};
    auto offered = dnf_.available(names, options_for(params_), wants_latest);
    if (!offered) return std::move(offered).error();
    std::vector<std::string> unlisted;
    for (const Item& item : steps_.items)
      if (needs_choice(item) && candidates_for(item.entry, *offered).empty())
        unlisted.push_back(item.entry.whole_name());
    if (!unlisted.empty()) {
      auto provided = dnf_.providers(unlisted, options_for(params_));
      if (!provided) return std::move(provided).error();
      provided_ = std::move(*provided);
    }
    return choose_from(*offered);
  }

  Result<void> choose_from(const std::vector<RpmPackage>& offered) {
    std::vector<std::string> unknown, problems;
    for (Item& item : steps_.items) {
      if (!needs_choice(item)) continue;
      const auto candidates = candidates_for(item.entry, offered);
      if (candidates.empty()) {
        const bool is_provided =
            std::ranges::find(provided_, item.entry.whole_name(), &RpmPackage::name) != provided_.end();
        // Of what is installed, or only provided, there need not be anything newer.
        if (item.entry.want == Want::latest && !item.before.empty()) {
          note_newest(item.entry, item.before, context_);
          item.action = Action::none;
        } else if (!is_provided || item.entry.want == Want::version) {
          unknown.push_back(item.entry.whole_name());
        }
        continue;
      }
      choose_one(item, candidates, problems);
    }
    if (!unknown.empty())
      problems.insert(problems.begin(), "Unknown package(s): " + base::join(unknown, ", "));
    if (problems.empty()) return {};
    return Error(ErrorCode::not_found, base::join(problems, "\n"));
  }

  void choose_one(Item& item, const std::vector<const RpmPackage*>& candidates,
                  std::vector<std::string>& problems) {
    const auto chosen = std::ranges::find_if(candidates, [&](const RpmPackage* package) {
      return item.entry.want != Want::version || is_satisfied(item.entry, package->version);
    });
    if (chosen == candidates.end()) {
      problems.push_back("Version " + version_text(item.entry) + " of " + item.entry.whole_name() +
                         " is not available (available: " + listed(candidates) + ")");
      return;
    }
    const RpmPackage& package = **chosen;
    if (item.entry.want == Want::latest) {
      note_newest(item.entry, package.version, context_);
      const bool is_newest =
          !item.before.empty() && versions::compare_rpm_versions(item.before, package.version) >= 0;
      item.action = is_newest ? Action::none : Action::install;
    }
    item.target = package.name + "-" + package.version + "." + package.architecture;
  }

  // Newest first.
  static std::vector<const RpmPackage*> candidates_for(const Entry& entry,
                                                       const std::vector<RpmPackage>& offered) {
    std::vector<const RpmPackage*> candidates;
    for (const RpmPackage& package : offered)
      if (package.name == entry.name &&
          (entry.architecture.empty() || package.architecture == entry.architecture))
        candidates.push_back(&package);
    std::ranges::stable_sort(candidates, [](const RpmPackage* a, const RpmPackage* b) {
      return versions::compare_rpm_versions(a->version, b->version) > 0;
    });
    return candidates;
  }

  static std::string listed(const std::vector<const RpmPackage*>& candidates) {
    constexpr std::size_t kMostListed = 5;
    std::vector<std::string> versions;
    for (const RpmPackage* package : candidates)
      if (versions.size() < kMostListed) versions.push_back(package->version);
    return base::join(versions, ", ");
  }

  Applied read_back() {
    rpm::forget_rpms(context_);
    std::vector<std::string> wrong, installed, upgraded, downgraded, removed, kept, unnamed;
    for (const Item& item : steps_.items) {
      const std::string name = item.entry.whole_name();
      auto now = installed_for(item.entry, context_);
      if (!now) return Applied::failed(now.error(), dnf_.output());
      const std::string version = now->empty() ? std::string() : now->front().version;
      if (!is_as_wanted(item.entry, *now, context_))
        wrong.push_back(name + " (" + (version.empty() ? "absent" : version) + ")");
      else if (item.action == Action::remove)
        removed.push_back(name);
      else if (version == item.before)
        kept.push_back(name);
      else if (item.before.empty())
        installed.push_back(name + " (" + version + ")");
      else
        (versions::compare_rpm_versions(version, item.before) < 0 ? downgraded : upgraded)
            .push_back(name + " (" + item.before + " -> " + version + ")");
    }
    if (!wrong.empty())
      return Applied::failed("Not as wanted after the run: " + base::join(wrong, ", "), dnf_.output());
    if (steps_.unnamed && !steps_.unnamed->empty())
      unnamed = {packages::bounded_list(names_of(*steps_.unnamed))};
    std::string text;
    packages::append_list(text, "installed:", installed);
    packages::append_list(text, "upgraded:", upgraded);
    packages::append_list(text, "downgraded:", downgraded);
    packages::append_list(text, "removed:", removed);
    packages::append_list(text, "removed also:", unnamed);
    if (text.empty()) return Applied::done(kept_message(steps_), dnf_.output());
    packages::append_list(text, "already as wanted:", kept);
    packages::append_list(text, "skipped:", steps_.skipped);
    packages::capitalise(text);
    return Applied::done(std::move(text), dnf_.output());
  }

  const Params& params_;
  ApplyContext& context_;
  Steps steps_;  // a copy: the items get the versions that are chosen
  rpm::Dnf dnf_;
  std::vector<downloads::OwnCopy> copies_;
  std::vector<RpmPackage> provided_;  // for names of no package, by these names
};

}  // namespace

Applied apply_packages(const Params& params, const Steps& steps, ApplyContext& context) {
  return Application(params, steps, context).run();
}

}  // namespace states::linux_yum_package
