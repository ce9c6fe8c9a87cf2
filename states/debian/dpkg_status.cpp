#include "states/debian/dpkg_status.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "base/files/below_root.hpp"
#include "base/text.hpp"

namespace states::debian {

namespace {

constexpr std::string_view kStatusFile = "/var/lib/dpkg/status";
constexpr std::string_view kUpdatesFolder = "/var/lib/dpkg/updates";
constexpr std::size_t kLargestStatus = 512 * 1024 * 1024;  // real ones have a few MiB

struct StateName {
  std::string_view name;
  DpkgState state;
};
constexpr std::array kStateNames{
    StateName{"not-installed", DpkgState::not_installed},
    StateName{"config-files", DpkgState::config_files},
    StateName{"half-installed", DpkgState::half_installed},
    StateName{"unpacked", DpkgState::unpacked},
    StateName{"half-configured", DpkgState::half_configured},
    StateName{"triggers-awaited", DpkgState::triggers_awaited},
    StateName{"triggers-pending", DpkgState::triggers_pending},
    StateName{"installed", DpkgState::installed},
};

// The value of `line` if it is the field `name` (lower case), whose letters may be of any case.
std::optional<std::string_view> field(std::string_view line, std::string_view name) {
  if (line.size() <= name.size() || line[name.size()] != ':') return std::nullopt;
  if (!base::equal_ignoring_case(line.substr(0, name.size()), name)) return std::nullopt;
  return base::trim(line.substr(name.size() + 1));
}

// "install ok installed": what is wanted, whether an error was left behind, what is.
void read_state(DpkgPackage& package, std::string_view text) {
  const auto words = base::split_words(text);
  if (words.size() != 3) return;
  package.is_held = words[0] == "hold";
  package.needs_reinstall = words[1] == "reinstreq";
  for (const StateName& known : kStateNames)
    if (known.name == words[2]) package.state = known.state;
}

void read_line(DpkgPackage& package, std::string_view line) {
  switch (line.front()) {
    case 'P':
    case 'p':
      if (const auto value = field(line, "package")) package.name = *value;
      break;
    case 'A':
    case 'a':
      if (const auto value = field(line, "architecture")) package.architecture = *value;
      break;
    case 'V':
    case 'v':
      if (const auto value = field(line, "version")) package.version = *value;
      break;
    case 'S':
    case 's':
      if (const auto value = field(line, "status")) read_state(package, *value);
      break;
    default:
      break;
  }
}

auto key_of(const DpkgPackage& package) {
  return std::tie(package.name, package.architecture);
}

// The files of an interrupted dpkg, oldest first: they are named by number, with leading zeros.
std::vector<std::string> pending_updates(const std::string& root) {
  std::vector<std::string> names = base::names_below(root, kUpdatesFolder);
  std::erase_if(names, [](const std::string& name) {
    return !std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
  });
  return names;
}

// What is kept in Context::facts.
struct LoadedStatus {
  explicit LoadedStatus(Context& context) : problem(load(context)) {}

  base::Result<void> load(Context& context) {
    auto text = context.tree.read(kStatusFile, kLargestStatus);
    if (!text) return std::move(text).error().with_context("reading the package database");
    status.add(*text);
    for (const std::string& name : pending_updates(context.host.root)) {
      auto update = context.tree.read(std::string(kUpdatesFolder) + "/" + name, kLargestStatus);
      // Merged and removed by a dpkg at work since we looked.
      if (!update && update.error().code() == base::ErrorCode::not_found) continue;
      if (!update) return std::move(update).error().with_context("reading the package database");
      status.add(*update);
    }
    return {};
  }

  DpkgStatus status;
  base::Result<void> problem;  // last: load() fills `status`
};

}  // namespace

std::string_view dpkg_state_name(DpkgState state) {
  for (const StateName& known : kStateNames)
    if (known.state == state) return known.name;
  return "unknown";
}

void DpkgStatus::add(std::string_view text) {
  DpkgPackage current;
  const auto finish = [&] {
    if (!current.name.empty()) {
      current.name = arena_.copy(current.name);
      current.version = arena_.copy(current.version);
      // Thousands of packages share a handful of architectures.
      const bool same = !packages_.empty() && packages_.back().architecture == current.architecture;
      current.architecture = same ? packages_.back().architecture : arena_.copy(current.architecture);
      packages_.push_back(current);
    }
    current = {};
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (base::trim(line).empty())
      finish();
    else
      read_line(current, line);  // a continuation line begins with a blank, and so is no field
  }
  finish();

  // Of paragraphs for the same package the last one counts: sort it to the front of its kind.
  std::ranges::reverse(packages_);
  std::ranges::stable_sort(packages_, {}, key_of);
  const auto repeated = std::ranges::unique(packages_, {}, key_of);
  packages_.erase(repeated.begin(), repeated.end());
  native_ = {};
  if (const DpkgPackage* dpkg = find("dpkg"); dpkg && dpkg->architecture != "all")
    native_ = dpkg->architecture;
}

bool DpkgStatus::is_of(const DpkgPackage& package, std::string_view architecture) const {
  if (architecture.empty() || architecture == "native") architecture = native_;
  return architecture.empty() || architecture == "any" || package.architecture == architecture ||
         package.architecture == "all" || package.architecture.empty();
}

const DpkgPackage* DpkgStatus::find(std::string_view name, std::string_view architecture) const {
  const DpkgPackage* best = nullptr;
  for (const DpkgPackage& package : std::ranges::equal_range(packages_, name, {}, &DpkgPackage::name))
    if (is_of(package, architecture) && (!best || package.state > best->state)) best = &package;
  return best;
}

base::Result<const DpkgStatus*> installed_packages(Context& context) {
  const auto& loaded = context.facts.get<LoadedStatus>(context);
  if (!loaded.problem) return loaded.problem.error();
  return &loaded.status;
}

bool is_dpkg_unfinished(const Host& host) {
  return !pending_updates(host.root).empty();
}

void forget_packages(Context& context) {
  context.facts.forget<LoadedStatus>();
}

}  // namespace states::debian
