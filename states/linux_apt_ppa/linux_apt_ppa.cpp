// linux.apt.ppa: a personal package archive of Launchpad among apt's sources.
#include <algorithm>
#include <cctype>

#include "states/debian/apt_get.hpp"
#include "states/debian/apt_lists.hpp"
#include "states/files/missing_folders.hpp"
#include "states/linux_apt_ppa/ppa_sources.hpp"
#include "states/prerequisites/prerequisite.hpp"
#include "states/state.hpp"

namespace states::linux_apt_ppa {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

struct Params {
  std::string_view name;
  std::optional<std::string_view> username;
  std::optional<std::string_view> password;
};

constexpr auto kParams =
    param_table(param<&Params::name>("name", "owner/archive, as Launchpad names it").names().required(),
                param<&Params::username>("username", "of a private archive"),
                param<&Params::password>("password", "of a private archive").secret());

constexpr prerequisites::Prerequisite kNeeded{.module = "linux.apt.ppa",
                                              .program = "add-apt-repository",
                                              .debian_packages = {"software-properties-common"},
                                              .rhel_packages = {}};

struct Steps {
  std::string credentials_file;  // "": there are none to write
  std::string credentials;
  base::Seen seen;
  std::vector<std::string> missing_folders;
  bool adds = false;
};

class AptPpa final : public State<Params, Steps> {
 public:
  constexpr AptPpa()
      : State({.name = "linux.apt.ppa",
               .summary = "A personal package archive of Launchpad among apt's sources",
               .family = Family::debian,
               .timeout = std::chrono::hours(1)},
              kParams) {}

 private:
  Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
};

std::string_view ppa_of(const Params& params) {
  std::string_view name = params.name;
  if (name.starts_with("ppa:")) name.remove_prefix(std::string_view("ppa:").size());
  return name;
}

Result<void> AptPpa::check(const Params& params) const {
  const std::string_view ppa = ppa_of(params);
  const std::size_t slash = ppa.find('/');
  const auto is_part = [](std::string_view part) {
    return !part.empty() && std::isalnum(static_cast<unsigned char>(part.front())) != 0 &&
           std::ranges::all_of(part, [](unsigned char c) {
             return std::isalnum(c) != 0 || c == '-' || c == '+' || c == '.' || c == '_';
           });
  };
  if (slash == ppa.npos || !is_part(ppa.substr(0, slash)) || !is_part(ppa.substr(slash + 1)))
    return Error(ErrorCode::invalid, "Illegal value for 'name': '" + std::string(params.name) + "'");
  if (params.username.has_value() != params.password.has_value())
    return Error(ErrorCode::invalid, "'username' and 'password' go together");
  for (const auto& word : {params.username, params.password})
    if (word && (word->empty() || word->find_first_of(" \t\n\r") != word->npos))
      return Error(ErrorCode::invalid, "Neither 'username' nor 'password' may have blanks");
  return {};
}

// What apt reads for this address only.
std::string credentials_of(const Params& params) {
  std::string text = "# Written by opsagent: linux.apt.ppa\n";
  for (const char* host : {"private-ppa.launchpadcontent.net", "private-ppa.launchpad.net"})
    text += "machine https://" + std::string(host) + "/" + std::string(ppa_of(params)) + " login " +
            std::string(*params.username) + " password " + std::string(*params.password) + "\n";
  return text;
}

// Adds the file with the credentials, unless it is as wanted.
Result<void> plan_credentials(const Params& params, Steps& steps, Plan& plan, Context& context) {
  if (!params.username) return {};
  std::string name(ppa_of(params));
  std::ranges::replace(name, '/', '-');
  const std::string path = "/etc/apt/auth.conf.d/" + name + ".conf";
  const std::string wanted = credentials_of(params);
  auto found = context.tree.look(path);
  if (!found) return std::move(found).error();
  if (*found && S_ISREG((*found)->st_mode)) {
    auto same = context.tree.has_content(path, wanted);
    if (!same) return std::move(same).error();
    constexpr mode_t kPermissions = 07777;
    if (*same && ((*found)->st_mode & kPermissions) == 0600 && (*found)->st_uid == 0) return {};
  }
  auto missing = files::missing_folders(path, context);
  if (!missing) return std::move(missing).error();
  steps.credentials_file = path;
  steps.credentials = wanted;
  steps.seen = base::Seen(*found);
  steps.missing_folders = std::move(*missing);
  plan.changes.push_back(
      {.what = path, .before = *found ? "another" : "absent", .after = "credentials, root, 0600"});
  plan.effects.push_back({.kind = EffectKind::file, .name = path});
  plan.written = {path};
  return {};
}

PlanWith<Steps> AptPpa::plan(const Params& params, Context& context) const {
  if (context.host.os.id != "ubuntu") return Plan::fail("PPAs exist only for Ubuntu");
  const std::string ppa(ppa_of(params));
  auto configured = is_configured(ppa, context);
  if (!configured) return Plan::fail(configured.error());
  Plan plan;
  Steps steps{.adds = !*configured};
  if (steps.adds) {
    plan.changes.push_back({.what = "PPA " + ppa, .before = "absent", .after = "among apt's sources"});
    if (auto there = prerequisites::plan_program(context, kNeeded, plan); !there)
      return Plan::fail(there.error());
    plan.effects.push_back(
        {.kind = EffectKind::directory, .name = std::string(debian::kAptSourcesFolder), .certain = false});
  }
  if (auto planned = plan_credentials(params, steps, plan, context); !planned)
    return Plan::fail(planned.error());
  if (plan.changes.empty()) return Plan::kept("PPA " + ppa + " is already configured");
  plan.verdict = Verdict::change;
  plan.message = steps.adds ? "Add PPA " + ppa : "Write the credentials of PPA " + ppa;
  return {std::move(plan), std::move(steps)};
}

Result<void> write_credentials(const Steps& steps, ApplyContext& context) {
  for (const std::string& folder : steps.missing_folders)
    if (auto made = context.files.make_folder(folder, {.uid = 0, .gid = 0, .mode = 0755}); !made) return made;
  return context.files.write_file(steps.credentials_file, steps.seen, steps.credentials,
                                  {.uid = 0, .gid = 0, .mode = 0600});
}

Applied AptPpa::apply(const Params& params, const Plan& /*plan*/, const Steps& steps,
                      ApplyContext& context) const {
  const std::string ppa(ppa_of(params));
  if (!steps.credentials_file.empty())
    if (auto written = write_credentials(steps, context); !written) return Applied::failed(written.error());
  if (!steps.adds) return Applied::done("Credentials of PPA " + ppa + " written");
  auto tool = prerequisites::ensure_program(context, kNeeded);
  if (!tool) return Applied::failed(tool.error());
  debian::AptGet apt(context);
  apt.add_output(tool->output);
  // Lists are refreshed by us, when it is known that there is a new source.
  auto added =
      apt.run_program("add-apt-repository", {"add-apt-repository", "--yes", "--no-update", "ppa:" + ppa});
  context.tree.forget();
  auto configured = is_configured(ppa, context);
  if (!configured) return Applied::failed(configured.error(), apt.output());
  if (!added && apt.output().find("does not exist") != std::string::npos)
    return Applied::failed("PPA " + ppa + " not found", apt.output());
  if (!added) return Applied::failed(added.error(), apt.output());
  if (!*configured)
    return Applied::failed("PPA " + ppa + " is not among apt's sources after the run", apt.output());
  debian::mark_lists_stale(context);
  std::string comment = tool->before("PPA " + ppa + " added");
  if (auto refreshed = apt.refresh_lists(); !refreshed) {
    if (refreshed.error().code() != ErrorCode::io) return Applied::failed(refreshed.error(), apt.output());
    comment += "\nWarning: " + refreshed.error().message();
  }
  return Applied::done(std::move(comment), apt.output());
}

constexpr AptPpa kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_apt_ppa
