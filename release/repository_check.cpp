// Looking at a repository: what there is, and whether an agent would believe it.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "release/document_text.hpp"
#include "release/repository.hpp"
#include "release/trust.hpp"

namespace release {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// The same checks as of what is downloaded.
Result<void> check_archive(const std::string& path, const Target& target) {
  const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return base::os_error(errno, "opening " + path);
  base::Sha256 hash;
  std::uint64_t size = 0;
  std::array<char, 64 * 1024> buffer;
  while (size <= target.size) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::os_error(errno, "reading " + path);
    if (got == 0) break;
    hash.add({buffer.data(), static_cast<std::size_t>(got)});
    size += static_cast<std::size_t>(got);
  }
  if (size != target.size)
    return Error(ErrorCode::invalid,
                 target.path + " has another size than was signed: bring back the archive");
  if (hash.finish() != target.sha256)
    return Error(ErrorCode::invalid,
                 target.path + " has another hash than was signed: bring back the archive");
  return {};
}

std::string describe(const Root& root) {
  std::string text = "root " + std::to_string(root.version) + ", expires " + to_text(root.expires);
  for (const RoleKeys& role : root.roles) {
    text += "; " + std::string(name_of(role.role)) + ": " + std::to_string(role.threshold) + " of";
    for (const std::string& id : role.keys)
      text += " " + id.substr(0, 16);
  }
  return text;
}

}  // namespace

Result<std::vector<Listed>> Repository::list() const {
  std::vector<Listed> all;
  auto names = names_in("releases");
  if (!names) return std::move(names).error();
  Timestamp timestamp;
  if (auto text = read_if_there("timestamp.json"); text && *text) {
    auto parsed = parse_timestamp(**text);
    if (!parsed) return std::move(parsed).error();
    timestamp = std::move(*parsed);
  }
  for (const std::string& name : *names) {
    if (!name.ends_with(".json")) continue;
    auto text = read("releases/" + name);
    if (!text) return std::move(text).error();
    auto release = parse_release(*text);
    if (!release) return std::move(release).error().with_context("releases/" + name);
    const bool is_offered =
        std::ranges::find(timestamp.offers, release->number, &Offer::number) != timestamp.offers.end();
    all.push_back({.release = std::move(*release), .is_offered = is_offered});
  }
  std::ranges::sort(all, {}, [](const Listed& each) { return each.release.number; });
  return all;
}

std::vector<Checked> Repository::check(const std::string& pinned, Instant now,
                                       std::chrono::seconds margin) const {
  std::vector<Checked> lines;
  const auto good = [&](std::string text) { lines.push_back({true, std::move(text)}); };
  const auto bad = [&](const Error& error) { lines.push_back({false, error.message()}); };

  auto all = roots(pinned);
  if (!all) return bad(all.error()), lines;
  for (const Root& root : *all)
    good(describe(root));
  const auto ends_soon = [&](Instant expires) { return expires > now && expires <= now + margin; };
  if (ends_soon(all->back().expires))
    bad(Error(ErrorCode::invalid, "root " + std::to_string(all->back().version) + " expires soon, at " +
                                      to_text(all->back().expires) +
                                      ": make the next ('opsctl release root rotate')"));
  auto trust = Trust::open(Memory{.root = write(all->back())});
  if (!trust) return bad(trust.error()), lines;

  auto document = read("timestamp.json"), signatures = read("timestamp.json.sig");
  if (!document) return bad(document.error()), lines;
  if (!signatures) return bad(signatures.error()), lines;
  auto timestamp = trust->take_timestamp(*document, *signatures, now);
  if (!timestamp) return bad(timestamp.error()), lines;
  good("timestamp " + std::to_string(timestamp->version) + ", expires " + to_text(timestamp->expires) + ", " +
       std::to_string(timestamp->offers.size()) + " on offer");

  for (const Offer& offer : timestamp->offers) {
    auto text = read(offer.path), sig = read(offer.path + ".sig");
    if (!text || !sig) {
      bad(text ? sig.error() : text.error());
      continue;
    }
    auto release = parse_release(*text);
    if (!release) {
      bad(release.error().with_context(offer.path));
      continue;
    }
    if (ends_soon(release->expires))
      bad(Error(ErrorCode::invalid, "release " + std::to_string(offer.number) + " (" + offer.version +
                                        ") expires soon, at " + to_text(release->expires) +
                                        ": publish the version again, or withdraw it"));
    for (const Target& target : release->targets) {
      const Machine machine{.os = target.os, .arch = target.arch, .channel = offer.channel, .version = ""};
      const std::string name = "release " + std::to_string(offer.number) + ", " + offer.channel + " " +
                               offer.version + ", " + target.os + " " + target.arch;
      auto taken = trust->take_release(offer, *text, *sig, machine, now);
      if (!taken) {
        bad(taken.error().with_context(name));
      } else if (auto fine = check_archive(folder_ + "/" + taken->path, *taken); !fine) {
        bad(fine.error().with_context(name));
      } else {
        good(name + ", expires " + to_text(release->expires));
      }
    }
  }
  return lines;
}

}  // namespace release
