#include "states/linux_apt_package/package_file.hpp"

#include "base/text.hpp"
#include "states/debian/apt_get.hpp"

namespace states::linux_apt_package {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// The value of a field in the output of `dpkg-deb -f`; empty if it is not there.
std::string_view field(std::string_view output, std::string_view name) {
  for (const std::string_view line : base::split(output, '\n'))
    if (line.size() > name.size() && line[name.size()] == ':' && line.starts_with(name))
      return base::trim(line.substr(name.size() + 1));
  return {};
}

}  // namespace

Result<Entry> read_package_file(const Entry& entry, Context& context) {
  base::Command command;
  command.argv = {"dpkg-deb", "-f", entry.file, "Package", "Version", "Architecture"};
  command.env = debian::apt_environment();
  command.on_output = [](base::Stream, std::string_view) {};
  auto done = context.commands.run(command);
  if (!done) return std::move(done).error();
  const std::string_view name = field(done->output, "Package");
  const std::string_view version = field(done->output, "Version");
  if (!done->ok() || name.empty() || version.empty())
    return Error(ErrorCode::invalid, entry.file + " is not a Debian package: " +
                                         debian::failure_text("dpkg-deb", *done, !context.sensitive));
  Entry read = entry;
  read.name = std::string(name);
  const std::string_view architecture = field(done->output, "Architecture");
  if (!architecture.empty() && architecture != "all") read.name.append(":").append(architecture);
  read.version = std::string(version);
  read.relation = Relation::equal;
  return read;
}

}  // namespace states::linux_apt_package
