#include "states/linux_apt_package/remote_file.hpp"

#include <unistd.h>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/files/private_folder.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "states/downloads/download.hpp"
#include "states/linux_apt_package/package_file.hpp"

namespace states::linux_apt_package {

namespace {

// Debian's largest package has a tenth of it.
constexpr std::uint64_t kLargestPackage = std::uint64_t(8) * 1024 * 1024 * 1024;
constexpr std::size_t kLargestNote = 4 * 1024;

std::string note_folder(const Context& context) {
  return context.host.state_dir + "/remote-packages";
}

// Of the address, and of what the file there has to be: another checksum is another file.
std::string hash_of(const Entry& entry) {
  const std::string checksum = entry.checksum ? "#" + entry.checksum->text() : std::string();
  return base::sha256_hex(entry.file + checksum).substr(0, 32);
}

}  // namespace

bool is_remote(const Entry& entry) {
  return entry.want == Want::file && !entry.file.starts_with('/');
}

std::optional<Entry> remembered_file(const Entry& entry, const Context& context) {
  const auto note = base::read_file(note_folder(context) + "/" + hash_of(entry), kLargestNote);
  if (!note) return std::nullopt;
  const auto lines = base::split(*note, '\n');
  if (lines.size() != 3 || lines[0].empty() || lines[1].empty()) return std::nullopt;
  Entry known = entry;
  known.name = std::string(lines[0]);
  known.version = std::string(lines[1]);
  known.relation = Relation::equal;
  return known;
}

RemoteFiles::~RemoteFiles() {
  for (const Kept& kept : kept_)
    ::unlink(kept.entry.file.c_str());
}

base::Result<Entry> RemoteFiles::fetch(const Entry& entry) {
  auto fetched =
      downloads::fetch({.url = entry.file, .checksum = entry.checksum, .limit = kLargestPackage}, context_);
  if (!fetched) return std::move(fetched).error();
  const std::string folder = context_.host.state_dir + "/downloads";
  if (auto made = base::make_private_folder(folder); !made) return std::move(made).error();
  Entry local = entry;
  local.file = folder + "/" + hash_of(entry) + ".deb";
  // With its name among what is to be removed before it is there.
  kept_.push_back({entry, local});
  if (auto written = base::write_durable_file(local.file, fetched->bytes()); !written)
    return std::move(written).error();
  auto read = read_package_file(local, context_);
  if (!read) {
    if (read.error().code() != base::ErrorCode::invalid) return read;
    std::string why = read.error().message();
    if (why.starts_with(local.file))
      why.replace(0, local.file.size(), downloads::shown_url(entry.file, context_));
    return base::Error(base::ErrorCode::invalid, std::move(why));
  }
  kept_.back().entry = *read;
  return read;
}

base::Result<Entry> RemoteFiles::copy(const Entry& entry) {
  auto copied = downloads::OwnCopy::make(entry.file, *entry.checksum, ".deb", context_);
  if (!copied) return std::move(copied).error();
  Entry local = entry;
  local.file = copied->path();
  copies_.push_back(std::move(*copied));
  auto read = read_package_file(local, context_);
  if (!read || (read->name == entry.name && read->version == entry.version)) return read;
  return base::changed_since_planned(entry.file, "it is " + read->name + " " + read->version + " now");
}

void RemoteFiles::remember() const {
  for (const Kept& kept : kept_) {
    // Without the note the file is fetched once more, and that is all.
    if (!base::make_private_folder(note_folder(context_))) return;
    static_cast<void>(base::write_durable_file(note_folder(context_) + "/" + hash_of(kept.asked),
                                               kept.entry.name + "\n" + kept.entry.version + "\n"));
  }
}

}  // namespace states::linux_apt_package
