// common.archive: an archive from a server, extracted into a folder.
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/files/private_folder.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "states/common_archive/extraction.hpp"
#include "states/downloads/download.hpp"
#include "states/downloads/source.hpp"
#include "states/files/missing_folders.hpp"
#include "states/state.hpp"

namespace states::common_archive {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using downloads::Checksum;

struct Params {
  std::string_view source;
  std::string_view path;
  std::optional<std::string_view> checksum;
  List if_path_absent;
};

constexpr auto kParams = param_table(
    param<&Params::source>("source", "https address of the archive, or http with a checksum").required(),
    param<&Params::path>("path", "directory to extract into; created if missing").required(),
    param<&Params::checksum>("checksum",
                             "of the archive: md5, sha1, sha256 or sha512 with a colon and digits, or the "
                             "address of a file with it")
        .fallback("not checked"),
    param<&Params::if_path_absent>("if-path-absent", "extract only if none of these paths exists")
        .fallback("no condition"));

constexpr std::array<std::string_view, 12> kEndings{".tar", ".tgz",    ".tar.gz",  ".gz",
                                                    ".tbz", ".tar.bz", ".tar.bz2", ".bz",
                                                    ".bz2", ".txz",    ".tar.xz",  ".zip"};
constexpr std::size_t kLargestSums = 4 * 1024 * 1024;
constexpr std::size_t kLongestFileName = 255;

struct Steps {
  std::string folder;
  std::vector<std::string> missing_folders;  // on the way to the folder, and itself
  std::optional<Checksum> wanted;
};

class Archive final : public State<Params, Steps> {
 public:
  constexpr Archive()
      : State({.name = "common.archive",
               .summary = "An archive from a server, extracted into a folder",
               .works_below_root = true,
               .timeout = std::chrono::hours(1)},
              kParams) {}

 private:
  Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

bool is_address(std::string_view text) {
  return text.find("://") != std::string_view::npos;
}

std::string shown_name(std::string_view name) {
  return name.empty() ? "the address names no file" : std::string(name);
}

Result<void> Archive::check(const Params& params) const {
  if (auto fine = downloads::check_url(params.source); !fine) return fine;
  const std::string name = downloads::file_name_in(params.source);
  const bool is_known = std::ranges::any_of(kEndings, [&](std::string_view ending) {
    return name.size() > ending.size() &&
           base::equal_ignoring_case(std::string_view(name).substr(name.size() - ending.size()), ending);
  });
  if (!is_known) return Error(ErrorCode::invalid, "Unsupported archive type: " + shown_name(name));
  if (auto clean = base::clean_path(params.path); !clean) return std::move(clean).error();
  for (const std::string_view path : params.if_path_absent)
    if (auto clean = base::clean_path(path); !clean) return std::move(clean).error();
  if (!params.checksum) return {};
  if (is_address(*params.checksum)) return downloads::check_url(*params.checksum);
  auto sum = downloads::parse_checksum(*params.checksum);
  return sum ? Result<void>() : Result<void>(std::move(sum).error());
}

std::vector<Effect> Archive::touched(const Params& params) const {
  auto clean = base::clean_path(params.path);
  if (!clean) return {};
  return {{.kind = EffectKind::directory, .name = std::move(*clean), .certain = false}};
}

// Where the sum of what was extracted last is kept: "<path>/-<name>.cksum" without slashes, as the original
// agent calls it.
std::string record_path(const std::string& folder, const std::string& name, const Context& context) {
  std::string file = (folder == "/" ? "" : context.host.root + folder) + "/-" + name + ".cksum";
  std::ranges::replace(file, '/', '-');
  if (file.size() > kLongestFileName) file = base::sha256_hex(file) + ".cksum";
  return context.host.state_dir + "/watch/" + file;
}

// In the place of the sum while an extraction is at work. An agent that is killed leaves it.
constexpr std::string_view kBegun = "begun";

struct Record {
  std::optional<Checksum> sum{};
  bool is_begun = false;  // what is in the folder may be half of another archive
};
Record recorded(const std::string& folder, const std::string& name, const Context& context) {
  const auto text = base::read_file(record_path(folder, name, context), 1024);
  if (!text) return {};
  if (*text == kBegun) return {.is_begun = true};
  auto sum = downloads::parse_checksum(*text);
  return {.sum = sum ? std::optional(std::move(*sum)) : std::nullopt};
}

// Whether the archive may be believed, whoever is on the way to it and to its checksum.
Result<void> check_vouched(const Params& params, const Context& context) {
  if (params.checksum && is_address(*params.checksum))
    if (auto fine = downloads::check_vouched(*params.checksum, false, context, "give the digits themselves");
        !fine)
      return fine;
  return downloads::check_vouched(params.source, params.checksum.has_value(), context, "give 'checksum'");
}

// In Context::notes: what was extracted in this round by states that do so in every round.
struct Extracted {
  std::vector<std::string> done;
};
std::string key_of(const Params& params, const Context& context) {
  return std::string(context.state_id) + "\n" + std::string(params.source) + "\n" + std::string(params.path);
}

// The sum that the recipe asks for; a file of sums is fetched each time.
Result<std::optional<Checksum>> wanted_sum(const Params& params, const std::string& name, Context& context) {
  if (!params.checksum) return std::optional<Checksum>();
  if (!is_address(*params.checksum)) {
    auto sum = downloads::parse_checksum(*params.checksum);
    if (!sum) return std::move(sum).error();
    return std::optional(std::move(*sum));
  }
  const std::string url(*params.checksum);
  auto sums = downloads::fetch_text(url, kLargestSums, context);
  if (!sums) return std::move(sums).error();
  auto sum = downloads::find_checksum(*sums, name);
  if (!sum) return std::move(sum).error().with_context(downloads::shown_url(url, context));
  return std::optional(std::move(*sum));
}

// Whether one of the guards exists, whatever it is; a plan when that cannot be told yet.
std::variant<bool, Plan> is_guarded(const Params& params, Context& context) {
  for (const std::string_view path : params.if_path_absent) {
    auto clean = base::clean_path(path);
    if (!clean) return Plan::fail(clean.error());
    if (const Overlay::Entry* earlier = context.overlay.path(*clean)) {
      if (earlier->effect.present) return true;
      continue;
    }
    auto found = context.tree.look(*clean);
    if (!found) return Plan::fail(found.error());
    if (*found) return true;
  }
  return false;
}

// Why it is extracted; empty: it need not be.
struct Decision {
  std::string why;
  std::optional<Checksum> wanted{};
};

Result<Decision> decide(const Params& params, bool guarded, bool is_there, const std::string& folder,
                        const std::string& name, Context& context) {
  const bool has_guard = !params.if_path_absent.empty();
  const Record last = recorded(folder, name, context);
  if (has_guard && guarded && !params.checksum && !last.is_begun) return Decision{};
  if (auto fine = check_vouched(params, context); !fine) return std::move(fine).error();
  auto wanted = wanted_sum(params, name, context);
  if (!wanted) return std::move(wanted).error();
  Decision decision{.wanted = std::move(*wanted)};
  if (last.is_begun) {
    decision.why = "the last extraction did not come to its end";
  } else if (has_guard && !guarded) {
    decision.why = "none of if-path-absent exists";
  } else if (!params.checksum) {
    const auto& done = context.notes.get<Extracted>().done;
    if (std::ranges::find(done, key_of(params, context)) == done.end())
      decision.why = "extracted in every round, because there is neither a checksum nor if-path-absent";
  } else {
    const bool is_another = last.sum && *last.sum != *decision.wanted;
    // With a guard that holds, an archive of which nothing is known is taken for the right one.
    if (has_guard ? is_another : !is_there || !last.sum || is_another)
      decision.why = last.sum ? "the checksum is another" : "not extracted yet";
  }
  return decision;
}

PlanWith<Steps> Archive::plan(const Params& params, Context& context) const {
  auto clean = base::clean_path(params.path);
  if (!clean) return Plan::fail(clean.error());
  const std::string& folder = *clean;
  const std::string name = downloads::file_name_in(params.source);
  const Overlay::Entry* earlier = context.overlay.path(folder);
  if (earlier && !earlier->effect.present)
    return Plan::unknown(earlier->state_id, folder + " depends on what an earlier state does to it");
  auto found = context.tree.look(folder);
  if (!found) return Plan::fail(found.error());
  if (*found && S_ISLNK((*found)->st_mode) && !context.tree.folder(folder))
    return Plan::fail(folder + " is a symlink that leads to no directory, or that others could change");
  if (*found && !S_ISDIR((*found)->st_mode) && !S_ISLNK((*found)->st_mode))
    return Plan::fail(folder + " exists and is not a directory");
  auto guarded = is_guarded(params, context);
  if (auto* stop = std::get_if<Plan>(&guarded)) return std::move(*stop);
  auto decision = decide(params, std::get<bool>(guarded), found->has_value(), folder, name, context);
  if (!decision) return Plan::fail(decision.error());
  if (decision->why.empty()) return Plan::kept(name + " is already extracted");

  Steps steps{.folder = folder, .wanted = std::move(decision->wanted)};
  if (!*found && !(earlier && earlier->effect.present)) {
    auto missing = files::missing_folders(folder, context);
    if (!missing) return Plan::fail(missing.error());
    steps.missing_folders = std::move(*missing);
    steps.missing_folders.push_back(folder);
  }
  Plan plan{.verdict = Verdict::change, .message = "Extract " + name + " to " + folder};
  plan.changes = {{.what = "files below " + folder,
                   .before = decision->why,
                   .after = "as in " + downloads::shown_url(params.source, context)}};
  for (const std::string& path : steps.missing_folders)
    plan.effects.push_back({.kind = EffectKind::directory, .name = path});
  plan.effects.push_back({.kind = EffectKind::directory, .name = folder, .certain = false, .below = true});
  return {std::move(plan), std::move(steps)};
}

Result<void> write_record(const std::string& path, std::string_view text) {
  if (auto made = base::make_private_folder(std::string(base::split_path(path).folder)); !made)
    return std::move(made).error();
  return base::write_durable_file(path, text);
}

Applied Archive::apply(const Params& params, const Plan&, const Steps& steps, ApplyContext& context) const {
  const std::string name = downloads::file_name_in(params.source);
  auto fetched = downloads::fetch({.url = std::string(params.source), .checksum = steps.wanted}, context);
  if (!fetched) return Applied::failed(fetched.error());
  const ArchiveLimits limits;
  const auto members = check_archive(fetched->bytes(), limits, context);
  if (!members) return Applied::failed(members.error());
  const std::string record = record_path(steps.folder, name, context);
  if (auto begun = write_record(record, kBegun); !begun) return Applied::failed(begun.error());
  for (const std::string& folder : steps.missing_folders)
    if (auto made = context.files.make_folder(folder, {.uid = ::geteuid(), .gid = ::getegid(), .mode = 0755});
        !made)
      return Applied::failed(made.error());
  if (auto done = extract_archive(fetched->bytes(), steps.folder, limits, context); !done)
    return Applied::failed(done.error());
  if (steps.wanted) {
    if (auto written = write_record(record, steps.wanted->hex); !written)
      return Applied::failed(written.error());
  } else {
    ::unlink(record.c_str());  // nobody has said what it was to be
  }
  context.notes.get<Extracted>().done.push_back(key_of(params, context));
  return Applied::done(name + " extracted to " + steps.folder + " (" + std::to_string(*members) +
                       (*members == 1 ? " entry)" : " entries)"));
}

constexpr Archive kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::common_archive
