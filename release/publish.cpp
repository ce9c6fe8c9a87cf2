// Releases and timestamps of a repository.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/files/durable_file.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "release/archive.hpp"
#include "release/document_text.hpp"
#include "release/repository.hpp"

namespace release {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestManifest = 1024 * 1024;

struct FileFacts {
  std::uint64_t size = 0;
  std::string sha256;
};

// Reads all of a file; copies it when `to` is open.
Result<FileFacts> read_through(const std::string& path, int to) {
  const base::UniqueFd from(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from) return base::os_error(errno, "opening " + path);
  FileFacts facts;
  base::Sha256 hash;
  std::array<char, 64 * 1024> buffer;
  while (true) {
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::os_error(errno, "reading " + path);
    if (got == 0) break;
    std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    hash.add(bytes);
    facts.size += bytes.size();
    while (to >= 0 && !bytes.empty()) {
      const ssize_t written = ::write(to, bytes.data(), bytes.size());
      if (written >= 0)
        bytes.remove_prefix(static_cast<std::size_t>(written));
      else if (errno != EINTR)
        return base::os_error(errno, "copying " + path);
    }
  }
  facts.sha256 = hash.finish();
  return facts;
}

Result<void> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return base::os_error(errno, "making " + path);
  return base::sync_folder_of(path);
}

// What the manifest and the name of an archive agree on.
struct Described {
  std::string version, os, arch;
};

Result<Described> describe(const std::string& archive, const std::string& name) {
  auto manifest = read_archived(archive, "manifest", kLargestManifest);
  if (!manifest) return std::move(manifest).error().with_context(archive);
  Described described;
  for (const std::string_view line : base::split(*manifest, '\n')) {
    const auto words = base::split_words(line);
    if (words.size() == 2 && words[0] == kProduct) described.version = words[1];
    if (words.size() == 3 && words[0] == "target") {
      described.os = words[1];
      described.arch = words[2];
    }
  }
  if (!is_version(described.version) || !is_word(described.os) || !is_word(described.arch))
    return Error(ErrorCode::invalid,
                 archive + ": the manifest inside does not say \"opsagent VERSION\" and \"target OS ARCH\"");
  const std::string right =
      std::string(kProduct) + "-" + described.version + "-" + described.os + "-" + described.arch + ".tar.gz";
  if (name != right)
    return Error(ErrorCode::invalid, archive + ": by the manifest inside it should have the name " + right);
  return described;
}

Result<void> check_keys(const Root& root, Role role, const Signers& keys) {
  const std::vector<std::string>& ids = root.role(role).keys;
  for (const SigningKey& key : keys)
    if (std::ranges::find(ids, key.public_key().id()) == ids.end())
      return Error(ErrorCode::invalid, "the key " + key.public_key().id() +
                                           " may not sign this: it is not a '" + std::string(name_of(role)) +
                                           "' key of root " + std::to_string(root.version) +
                                           " ('opsctl release check' shows them)");
  return {};
}

}  // namespace

Result<Target> Repository::add_file(const std::string& archive, std::string& version) const {
  const std::string name = archive.substr(archive.rfind('/') + 1);
  auto described = describe(archive, name);
  if (!described) return std::move(described).error();
  if (version.empty()) version = described->version;
  if (version != described->version)
    return Error(ErrorCode::invalid, archive + " is of version " + described->version + ", not " + version);
  Target target{
      .os = described->os, .arch = described->arch, .size = 0, .sha256 = {}, .path = "files/" + name};
  const std::string place = folder_ + "/" + target.path, scratch = place + ".new";
  ::unlink(scratch.c_str());
  const base::UniqueFd to(
      ::open(scratch.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!to) return base::os_error(errno, "creating " + scratch);
  auto facts = read_through(archive, to.get());
  if (facts && (::fchmod(to.get(), 0644) != 0 || ::fsync(to.get()) != 0))
    facts = base::os_error(errno, "writing " + scratch);
  if (facts && ::access(place.c_str(), F_OK) == 0) {
    const auto there = read_through(place, -1);
    // One that no release names is left over from a publication that failed.
    if (!there || (there->sha256 != facts->sha256 && is_named(target.path)))
      facts = Error(ErrorCode::exists, place +
                                           " is there with another content, and what was published never "
                                           "changes: make a new version");
  }
  if (facts && ::rename(scratch.c_str(), place.c_str()) != 0)
    facts = base::os_error(errno, "making " + place);
  if (!facts) {
    ::unlink(scratch.c_str());
    return std::move(facts).error();
  }
  if (auto synced = base::sync_folder_of(place); !synced) return std::move(synced).error();
  target.size = facts->size;
  target.sha256 = facts->sha256;
  return target;
}

bool Repository::is_named(const std::string& path) const {
  const auto names = names_in("releases");
  return !names || std::ranges::any_of(*names, [&](const std::string& name) {
    if (name.ends_with(".sig") || name.ends_with(".new")) return false;
    const auto text = read("releases/" + name);
    return !text || text->find("\"" + path + "\"") != std::string::npos;
  });
}

Result<std::uint64_t> Repository::next_number(const Timestamp& timestamp) const {
  std::uint64_t highest = timestamp.offers.empty() ? 0 : timestamp.offers.back().number;
  auto names = names_in("releases");  // "7.json", "7.json.draft" …
  if (!names) return std::move(names).error();
  for (const std::string& name : *names)
    if (const auto number = base::parse_integer(name.substr(0, name.find('.'))); number && *number > 0)
      highest = std::max(highest, static_cast<std::uint64_t>(*number));
  return highest + 1;
}

Result<Timestamp> Repository::current_timestamp(const std::vector<Root>& roots) const {
  auto text = read_if_there("timestamp.json");
  if (!text) return std::move(text).error();
  Timestamp none;
  none.version = 0;
  if (!*text) return none;
  auto signatures = read("timestamp.json.sig");
  if (!signatures) return std::move(signatures).error();
  // By an earlier root too: the one that replaces a timestamp key comes before the timestamp of the new key.
  const bool known = std::ranges::any_of(roots, [&](const Root& root) {
    return static_cast<bool>(judge_signatures(root, Role::timestamp, **text, *signatures));
  });
  if (!known)
    return Error(ErrorCode::permission,
                 folder_ +
                     "/timestamp.json is not signed as it should be: somebody has changed it. Bring it back "
                     "from a backup; its version must not fall");
  return parse_timestamp(**text);
}

Result<Verdict> Repository::judge_offer(const Root& root, const Offer& offer) const {
  auto document = read(offer.path);
  if (!document) return std::move(document).error();
  auto signatures = read(offer.path + ".sig");
  if (!signatures) return std::move(signatures).error();
  if (base::sha256_hex(*document) != offer.sha256)
    return Verdict{Refusal::hash_differs, offer.path + " is not what was published"};
  return judge_signatures(root, Role::release, *document, *signatures);
}

// Agents everywhere lose what is left out here: only what is known to be bad, and only if that is asked for.
Result<std::vector<std::string>> Repository::vet_offers(const Root& root, std::vector<Offer>& offers,
                                                        bool drop) const {
  std::vector<std::string> dropped;
  std::vector<Offer> good;
  for (Offer& offer : offers) {
    const std::string name = "release " + std::to_string(offer.number) + " (" + offer.version + ")";
    auto verdict = judge_offer(root, offer);
    if (!verdict)
      return std::move(verdict).error().with_context(
          "nothing was published, for " + name +
          " is on offer and cannot be read: bring it back, or withdraw it ('opsctl release withdraw')");
    if (*verdict) {
      good.push_back(std::move(offer));
      continue;
    }
    if (!drop)
      return Error(ErrorCode::permission, "nothing was published, for agents would refuse " + name +
                                              ", which is on offer: " + verdict->message +
                                              ". Bring it back, or leave it out with --drop");
    dropped.push_back(name + ": " + verdict->message);
  }
  offers = std::move(good);
  return dropped;
}

Result<std::vector<std::string>> Repository::expired_offers(const std::vector<Offer>& offers,
                                                            Instant now) const {
  std::vector<std::string> expired;
  for (const Offer& offer : offers) {
    auto document = read(offer.path);
    if (!document) return std::move(document).error();
    const auto release = parse_release(*document);
    if (release && release->expires <= now)
      expired.push_back("release " + std::to_string(offer.number) + " (" + offer.version +
                        ") is on offer, but expired at " + to_text(release->expires) +
                        ": publish the version again, or withdraw it");
  }
  return expired;
}

Result<Stamped> Repository::put_timestamp(const std::vector<Root>& roots, Timestamp timestamp,
                                          const Signers& keys, const Stamp& wish) const {
  Stamped stamped;
  ++timestamp.version;
  timestamp.expires = wish.expires;
  auto dropped = vet_offers(roots.back(), timestamp.offers, wish.drop);
  if (!dropped) return std::move(dropped).error();
  auto expired = expired_offers(timestamp.offers, wish.now);
  if (!expired) return std::move(expired).error();
  stamped.dropped = std::move(*dropped);
  stamped.expired = std::move(*expired);
  std::ranges::sort(timestamp.offers, {}, &Offer::number);
  const std::string document = write(timestamp);
  if (auto fine = parse_timestamp(document); !fine) return std::move(fine).error();
  auto placed = place("timestamp.json", document, {}, keys, {{&roots.back(), Role::timestamp}});
  if (!placed) return std::move(placed).error();
  stamped.timestamp = std::move(timestamp);
  stamped.document = std::move(*placed);
  return stamped;
}

Result<Release> Repository::make_release(const Publication& publication, const Timestamp& timestamp) const {
  for (const char* each : {"/files", "/releases"})
    if (auto made = make_folder(folder_ + each); !made) return std::move(made).error();
  Release release;
  release.version = publication.version;
  release.channel = publication.channel;
  release.min_from = publication.min_from;
  release.expires = publication.expires;
  for (const std::string& archive : publication.archives) {
    auto target = add_file(archive, release.version);
    if (!target) return std::move(target).error();
    release.targets.push_back(std::move(*target));
  }
  auto number = next_number(timestamp);
  if (!number) return std::move(number).error();
  release.number = *number;
  if (auto fine = parse_release(write(release)); !fine) return std::move(fine).error();
  return release;
}

Result<Published> Repository::publish(const Publication& publication, const Signers& release_keys,
                                      const Signers& timestamp_keys, Instant now) {
  auto held = lock();
  if (!held) return std::move(held).error();
  auto all = roots();
  if (!all) return std::move(all).error();
  const Root& root = all->back();
  if (root.expires <= now)
    return Error(ErrorCode::invalid, "root " + std::to_string(root.version) + " expired at " +
                                         to_text(root.expires) +
                                         ": make the next first ('opsctl release root rotate')");
  // Before anything is written: a release without its timestamp is half the work.
  if (auto fit = check_keys(root, Role::release, release_keys); !fit) return std::move(fit).error();
  if (auto fit = check_keys(root, Role::timestamp, timestamp_keys); !fit) return std::move(fit).error();
  auto timestamp = current_timestamp(*all);
  if (!timestamp) return std::move(timestamp).error();
  auto release = make_release(publication, *timestamp);
  if (!release) return std::move(release).error();
  const std::string document = write(*release);
  const std::string name = "releases/" + std::to_string(release->number) + ".json";
  std::erase_if(timestamp->offers, [&](const Offer& offer) {
    return offer.channel == release->channel && offer.version == release->version;
  });
  std::vector<std::string> dropped;
  if (!timestamp_keys.empty()) {
    auto vetted = vet_offers(root, timestamp->offers, publication.drop);
    if (!vetted) return std::move(vetted).error();
    dropped = std::move(*vetted);
  }
  auto placed = place(name, document, {}, release_keys, {{&root, Role::release}});
  if (!placed) return std::move(placed).error();
  Published published{
      .release = *release, .release_document = std::move(*placed), .timestamp_document = {}, .dropped = {}};
  if (!published.release_document.missing.empty() || timestamp_keys.empty()) return published;

  timestamp->offers.push_back(
      {release->channel, release->version, release->number, base::sha256_hex(document), name});
  auto stamped =
      put_timestamp(*all, std::move(*timestamp), timestamp_keys,
                    {.expires = publication.timestamp_expires, .now = now, .drop = publication.drop});
  if (!stamped) return std::move(stamped).error();
  published.timestamp_document = std::move(stamped->document);
  published.dropped = std::move(dropped);
  return published;
}

Result<Offer> Repository::offer_for(const std::string& version) const {
  auto listed = list();
  if (!listed) return std::move(listed).error();
  const auto found = std::find_if(listed->rbegin(), listed->rend(),
                                  [&](const Listed& each) { return each.release.version == version; });
  if (found == listed->rend())
    return Error(ErrorCode::not_found,
                 "there is no release of version " + version + " ('opsctl release list')");
  const Release& release = found->release;
  return Offer{release.channel, release.version, release.number, base::sha256_hex(write(release)),
               "releases/" + std::to_string(release.number) + ".json"};
}

Result<Stamped> Repository::stamp(const Signers& keys, const Stamp& wish) {
  auto held = lock();
  if (!held) return std::move(held).error();
  auto all = roots();
  if (!all) return std::move(all).error();
  auto timestamp = current_timestamp(*all);
  if (!timestamp) return std::move(timestamp).error();
  if (!wish.offer.empty()) {
    auto offer = offer_for(wish.offer);
    if (!offer) return std::move(offer).error();
    auto verdict = judge_offer(all->back(), *offer);
    if (!verdict) return std::move(verdict).error();
    if (!*verdict) return Error(ErrorCode::permission, std::move(verdict->message));
    std::erase_if(timestamp->offers, [&](const Offer& each) {
      return each.channel == offer->channel && each.version == wish.offer;
    });
    timestamp->offers.push_back(std::move(*offer));
  }
  return put_timestamp(*all, std::move(*timestamp), keys, wish);
}

Result<Stamped> Repository::withdraw(const std::string& version, const Signers& keys, const Stamp& wish) {
  auto held = lock();
  if (!held) return std::move(held).error();
  auto all = roots();
  if (!all) return std::move(all).error();
  auto timestamp = current_timestamp(*all);
  if (!timestamp) return std::move(timestamp).error();
  if (std::erase_if(timestamp->offers, [&](const Offer& each) { return each.version == version; }) == 0)
    return Error(ErrorCode::not_found, "version " + version + " is not on offer ('opsctl release list')");
  return put_timestamp(*all, std::move(*timestamp), keys, wish);
}

}  // namespace release
