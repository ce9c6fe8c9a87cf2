#include "release/trust.hpp"

#include <algorithm>

#include "base/sha256.hpp"
#include "release/document_text.hpp"
#include "release/signatures.hpp"

namespace release {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

std::string in_quotes(std::string_view text) {
  return "'" + std::string(text) + "'";
}

Verdict check_product(std::string_view product, std::string_view document) {
  if (product == kProduct) return {};
  return {Refusal::wrong_product, "the " + std::string(document) + " document is of the product " +
                                      in_quotes(product) + ", not of " + in_quotes(kProduct) +
                                      ": is release_base the right one?"};
}

Verdict check_expiry(Instant expires, Instant now, const std::string& document, std::string_view what_to_do) {
  if (now < expires) return {};
  return {Refusal::expired, "the " + document + " document expired at " + to_text(expires) + ", and it is " +
                                to_text(now) + " now: " + std::string(what_to_do)};
}

bool same_role(const Root& a, const Root& b, Role role) {
  const RoleKeys &left = a.role(role), &right = b.role(role);
  return left.threshold == right.threshold && std::ranges::is_permutation(left.keys, right.keys);
}

}  // namespace

Result<Trust> Trust::open(Memory memory) {
  auto root = parse_root(memory.root);
  if (!root) return std::move(root).error().with_context("the root that this machine trusts");
  if (const Verdict product = check_product(root->product, "root"); !product)
    return Error(ErrorCode::invalid, product.message).with_context("the root that this machine trusts");
  return Trust(std::move(memory), std::move(*root));
}

Error Trust::refuse(Refusal refusal, std::string message) {
  refusal_ = refusal;
  return Error(refusal == Refusal::malformed ? ErrorCode::invalid : ErrorCode::permission,
               std::move(message));
}

std::uint64_t Trust::next_root() const {
  return root_.version + 1;
}

Result<void> Trust::take_root(std::string_view document, std::string_view signatures) {
  const std::string name = "root " + std::to_string(next_root());
  if (Verdict known = judge_untrusted_root(root_, document, signatures); !known)
    return refuse(std::move(known)).with_context(name);
  auto next = parse_root(document);
  if (!next) return refuse(Refusal::malformed, next.error().message()).with_context(name);
  if (Verdict product = check_product(next->product, "root"); !product) return refuse(std::move(product));
  if (next->version != next_root())
    return refuse(Refusal::root_not_next,
                  "after root " + std::to_string(root_.version) + " comes " + std::to_string(next_root()) +
                      ", not " + std::to_string(next->version) +
                      ": each root must be there under its own number ('opsctl release check')");
  if (Verdict both = judge_next_root(root_, *next, document, signatures); !both)
    return refuse(std::move(both)).with_context(name);
  if (!same_role(root_, *next, Role::timestamp)) memory_.timestamp = 0;
  memory_.root = document;
  root_ = std::move(*next);
  refusal_ = Refusal::none;
  return {};
}

Verdict Trust::check_clock(Instant now) const {
  if (now >= memory_.trusted_time) return {};
  return {Refusal::clock_behind, "the clock says " + to_text(now) + ", but it was " +
                                     to_text(memory_.trusted_time) +
                                     " already when an update was last looked for: set the clock"};
}

Result<Timestamp> Trust::take_timestamp(std::string_view document, std::string_view signatures, Instant now) {
  if (Verdict known = judge_signatures(root_, Role::timestamp, document, signatures); !known)
    return refuse(std::move(known)).with_context("timestamp");
  auto timestamp = parse_timestamp(document);
  if (!timestamp) return refuse(Refusal::malformed, timestamp.error().message());
  if (Verdict product = check_product(timestamp->product, "timestamp"); !product)
    return refuse(std::move(product));
  if (Verdict clock = check_clock(now); !clock) return refuse(std::move(clock));
  if (Verdict root = check_expiry(root_.expires, now, "root",
                                  "publish a new root ('opsctl release root rotate'), or set the clock");
      !root)
    return refuse(std::move(root));
  if (Verdict fresh = check_expiry(timestamp->expires, now, "timestamp",
                                   "renew it ('opsctl release timestamp'), or set the clock");
      !fresh)
    return refuse(std::move(fresh));
  if (timestamp->version < memory_.timestamp)
    return refuse(Refusal::timestamp_older,
                  "the timestamp is version " + std::to_string(timestamp->version) + ", and version " +
                      std::to_string(memory_.timestamp) +
                      " was seen before: the release base, or a cache before it, serves old files");
  memory_.timestamp = timestamp->version;
  const Instant certain = std::min(now, timestamp->expires) - kClockSkew;
  memory_.trusted_time = std::max(memory_.trusted_time, certain);
  refusal_ = Refusal::none;
  return timestamp;
}

Verdict Trust::check_number(std::uint64_t number, const std::string& sha256) const {
  if (number < memory_.floor)
    return {Refusal::below_floor, "release " + std::to_string(number) + " is older than release " +
                                      std::to_string(memory_.floor) +
                                      ", which this machine has confirmed: to go back, publish the older "
                                      "version again, under a new number"};
  const auto seen = memory_.seen.find(number);
  if (seen != memory_.seen.end() && seen->second != sha256)
    return {Refusal::release_changed, "release " + std::to_string(number) +
                                          " was seen before with another content: a number is used once; "
                                          "publish under a new number, and find out who signed this one"};
  return {};
}

Result<Offer> Trust::choose(const Timestamp& timestamp, const Machine& machine, std::string_view version) {
  if (!version.empty() && !is_version(version))
    return refuse(Refusal::bad_version, in_quotes(version.substr(0, 80)) +
                                            " is not a version: it must be like 1.4.0 or 1.4.0-rc.1");
  const Offer *found = nullptr, *elsewhere = nullptr;
  for (const Offer& offer : timestamp.offers) {
    if (!version.empty() && offer.version != version) continue;
    const Offer*& place = offer.channel == machine.channel ? found : elsewhere;
    if (!place || place->number < offer.number) place = &offer;
  }
  const std::string wanted = version.empty() ? "no release" : "version " + std::string(version);
  if (!found && elsewhere && !version.empty())
    return refuse(Refusal::wrong_channel, wanted + " is on offer in the channel " +
                                              in_quotes(elsewhere->channel) + ", and this machine follows " +
                                              in_quotes(machine.channel) +
                                              ": publish it there, or set the option channel");
  if (!found)
    return refuse(Refusal::version_unknown,
                  wanted + " is " + (version.empty() ? "on offer" : "not on offer") + " in the channel " +
                      in_quotes(machine.channel) +
                      ": it was never published or has been withdrawn ('opsctl release list')");
  if (Verdict number = check_number(found->number, found->sha256); !number) return refuse(std::move(number));
  refusal_ = Refusal::none;
  return *found;
}

Verdict Trust::check_release(const Release& release, const Offer& offer, const Machine& machine,
                             Instant now) const {
  if (Verdict product = check_product(release.product, "release"); !product) return product;
  if (release.channel != machine.channel || offer.channel != machine.channel)
    return {Refusal::wrong_channel, "the release document is of the channel " + in_quotes(release.channel) +
                                        ", and this machine follows " + in_quotes(machine.channel) +
                                        ": publish it there, or set the option channel"};
  if (release.version != offer.version)
    return {Refusal::version_unknown, "the release document is of version " + release.version +
                                          ", though the timestamp says " + offer.version +
                                          ": publish the release again"};
  if (release.number != offer.number)
    return {Refusal::release_changed, "the release document has the number " +
                                          std::to_string(release.number) + ", though the timestamp says " +
                                          std::to_string(offer.number) + ": publish the release again"};
  if (Verdict number = check_number(release.number, offer.sha256); !number) return number;
  if (Verdict clock = check_clock(now); !clock) return clock;
  if (Verdict fresh = check_expiry(release.expires, now, "release",
                                   "publish the version again ('opsctl release publish'), or set the clock");
      !fresh)
    return fresh;
  if (release.min_from.empty() || machine.version.empty()) return {};
  if (!is_version(machine.version))
    return {Refusal::bad_version, in_quotes(machine.version) +
                                      ", which runs here, is not a version, and the release wants at least " +
                                      release.min_from + ": install a released version first"};
  if (compare_versions(machine.version, release.min_from) < 0)
    return {Refusal::too_old_to_update, "version " + release.version + " can be reached from " +
                                            release.min_from + " on, and " + machine.version +
                                            " runs here: update to a version between them first"};
  return {};
}

Result<Target> Trust::take_release(const Offer& offer, std::string_view document, std::string_view signatures,
                                   const Machine& machine, Instant now) {
  const std::string name = "release " + std::to_string(offer.number);
  if (base::sha256_hex(document) != offer.sha256)
    return refuse(
        Refusal::hash_differs,
        "the document of " + name +
            " is not the one that the timestamp names: it was changed, or a cache serves an old one");
  if (Verdict known = judge_signatures(root_, Role::release, document, signatures); !known)
    return refuse(std::move(known)).with_context(name);
  auto release = parse_release(document);
  if (!release) return refuse(Refusal::malformed, release.error().message());
  if (Verdict fits = check_release(*release, offer, machine, now); !fits) return refuse(std::move(fits));
  const auto target = std::ranges::find_if(release->targets, [&](const Target& each) {
    return each.os == machine.os && each.arch == machine.arch;
  });
  if (target == release->targets.end())
    return refuse(Refusal::wrong_target, "version " + release->version + " is not made for " + machine.os +
                                             " " + machine.arch + ": publish it with an archive for that");
  memory_.seen[release->number] = offer.sha256;
  while (memory_.seen.size() > kMostSeen)
    memory_.seen.erase(memory_.seen.begin());
  refusal_ = Refusal::none;
  return *target;
}

void Trust::raise_floor(std::uint64_t number) {
  memory_.floor = std::max(memory_.floor, number);
}

}  // namespace release
