#include "states/common_virtualenv/requirements.hpp"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/tree/tree.hpp"
#include "states/common_virtualenv/environment.hpp"
#include "states/files/working_folder.hpp"

namespace states::common_virtualenv {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestFile = 4 * 1024 * 1024;
constexpr std::size_t kLargestRecord = 128;

// In Context::notes: the fingerprints that pip has been through with in this round.
struct DoneInRound {
  std::set<std::string> fingerprints;
};

std::string record_folder(const Host& host) {
  return host.state_dir + "/requirements";
}

std::string record_path(const std::string& environment, const Host& host) {
  return record_folder(host) + "/" + base::sha256_hex(environment);
}

std::string_view without_comment(std::string_view line) {
  if (line.starts_with('#')) return {};
  const std::size_t comment = line.find(" #");
  return base::trim(line.substr(0, comment));
}

}  // namespace

bool names_packages_only(std::string_view text) {
  return std::ranges::all_of(base::split(text, '\n'), [](std::string_view line) {
    line = without_comment(base::trim(line));
    return line.empty() || (line.front() != '-' && line.find_first_of("/@\\$") == line.npos &&
                            line.find(".whl") == line.npos && line.find(".zip") == line.npos &&
                            line.find(".tar") == line.npos);
  });
}

Result<Requirements> read_requirements(std::string_view file, const std::string& environment,
                                       List search_dirs, const language_packages::Runner& runner,
                                       Context& context) {
  auto clean = base::clean_path(file);
  if (!clean) return std::move(clean).error();
  auto text = context.tree.read(*clean, kLargestFile);
  if (!text && text.error().code() == ErrorCode::not_found)
    return Error(ErrorCode::not_found, "Requirements file " + *clean + " not found");
  if (!text) return std::move(text).error();
  if (auto owned = language_packages::check_owned_way(*clean, runner.uid, context); !owned)
    return std::move(owned).error();
  auto packages = packages_in(environment, context);
  if (!packages) return std::move(packages).error();
  base::Sha256 fingerprint;
  const auto add = [&](std::string_view part) {
    fingerprint.add(std::to_string(part.size()) + ":");
    fingerprint.add(part);
  };
  add(environment);
  add(*text);
  for (const std::string_view folder : search_dirs)
    add(folder);
  for (const std::string& package : *packages)
    add(package);
  return Requirements{.file = std::move(*clean),
                      .fingerprint = fingerprint.finish(),
                      .names_packages_only = names_packages_only(*text)};
}

bool is_satisfied(const Requirements& requirements, const std::string& environment, Context& context) {
  if (context.notes.get<DoneInRound>().fingerprints.contains(requirements.fingerprint)) return true;
  if (!requirements.names_packages_only) return false;
  const auto record = context.tree.read(record_path(environment, context.host), kLargestRecord);
  return record && base::trim(*record) == requirements.fingerprint;
}

// If it cannot be written, pip is only run again the sooner. It is removed first: what is new needs no
// temporary, which no journal would tell of.
void remember(const Requirements& requirements, const std::string& environment, ApplyContext& context) {
  context.notes.get<DoneInRound>().fingerprints.insert(requirements.fingerprint);
  if (!requirements.names_packages_only) return;
  const base::Attributes folder{.uid = ::geteuid(), .gid = ::getegid(), .mode = 0700};
  if (!files::make_folders(record_folder(context.host), folder, context)) return;
  const std::string record = record_path(environment, context.host);
  if (context.files.remove(record, base::Seen::anything()))
    static_cast<void>(context.files.write_file(record, base::Seen::anything(),
                                               requirements.fingerprint + "\n", {.mode = 0600}));
}

}  // namespace states::common_virtualenv
