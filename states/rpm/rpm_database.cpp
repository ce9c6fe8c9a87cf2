#include "states/rpm/rpm_database.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/programs/standard_output.hpp"
#include "states/versions/rpm_version.hpp"

namespace states::rpm {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// What rpm prints is for us, not for the live output.
struct Answer {
  std::string rows;
  base::Completed done;
};
Result<Answer> ask_rpm(std::vector<std::string> argv, Context& context) {
  base::Command command;
  command.argv = std::move(argv);
  Answer answer;
  programs::collect_standard_output(command, answer.rows);
  auto done = context.commands.run(std::move(command));
  if (!done) return std::move(done).error();
  answer.done = std::move(*done);
  return answer;
}

// In Context::facts.
struct LoadedDatabase {
  explicit LoadedDatabase(Context& context) : problem(load(context)) {}

  Result<void> load(Context& context) {
    // Where there is no rpm yet, nothing is installed by it.
    if (!base::find_program("rpm")) {
      database.emplace(std::vector<RpmPackage>());
      return {};
    }
    auto asked = ask_rpm({"rpm", "-qa", "--queryformat", kQueryFormat}, context);
    if (!asked) return std::move(asked).error();
    if (!asked->done.ok())
      return Error(ErrorCode::io, "rpm -qa failed: " + std::string(base::last_line(asked->done.output)));
    database.emplace(parse_packages(asked->rows));
    return {};
  }

  std::optional<RpmDatabase> database;
  std::map<std::string, std::vector<RpmPackage>, std::less<>> providers;
  Result<void> problem;  // last: load() fills `database`
};

}  // namespace

std::vector<RpmPackage> parse_packages(std::string_view output) {
  std::vector<RpmPackage> packages;
  for (const std::string_view line : base::split(output, '\n')) {
    const auto fields = base::split(line, '\t');
    if (fields.size() != 4) continue;
    packages.push_back(
        {.name = std::string(fields[0]),
         .architecture = std::string(fields[1]),
         .version = (fields[2] == "0" ? "" : std::string(fields[2]) + ":") + std::string(fields[3])});
  }
  return packages;
}

RpmDatabase::RpmDatabase(std::vector<RpmPackage> packages) : packages_(std::move(packages)) {
  std::ranges::stable_sort(packages_, [](const RpmPackage& a, const RpmPackage& b) {
    if (a.name != b.name) return a.name < b.name;
    return versions::compare_rpm_versions(a.version, b.version) > 0;
  });
}

std::vector<const RpmPackage*> RpmDatabase::find(std::string_view name, std::string_view architecture) const {
  std::vector<const RpmPackage*> found;
  for (const RpmPackage& package : std::ranges::equal_range(packages_, name, {}, &RpmPackage::name))
    if (architecture.empty() || package.architecture == architecture) found.push_back(&package);
  return found;
}

Result<const RpmDatabase*> installed_rpms(Context& context) {
  const auto& loaded = context.facts.get<LoadedDatabase>(context);
  if (!loaded.problem) return loaded.problem.error();
  return &*loaded.database;
}

void forget_rpms(Context& context) {
  context.facts.forget<LoadedDatabase>();
}

Result<std::vector<RpmPackage>> providers_of(const std::string& name, Context& context) {
  auto& loaded = context.facts.get<LoadedDatabase>(context);
  if (!loaded.problem) return loaded.problem.error();
  if (loaded.database->packages().empty()) return std::vector<RpmPackage>();
  if (const auto known = loaded.providers.find(name); known != loaded.providers.end()) return known->second;
  auto asked = ask_rpm({"rpm", "-q", "--whatprovides", "--queryformat", kQueryFormat, "--", name}, context);
  if (!asked) return std::move(asked).error();
  return loaded.providers.emplace(name, parse_packages(asked->rows)).first->second;
}

Result<RpmPackage> package_in_file(const std::string& path, Context& context) {
  auto asked = ask_rpm({"rpm", "-qp", "--nosignature", "--queryformat", kQueryFormat, "--", path}, context);
  if (!asked) return std::move(asked).error();
  auto packages = parse_packages(asked->rows);
  if (!asked->done.ok() || packages.size() != 1)
    return Error(ErrorCode::invalid, path + " is not an rpm package");
  return std::move(packages.front());
}

}  // namespace states::rpm
