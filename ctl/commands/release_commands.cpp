// opsctl release: keys, roots, releases, timestamps. What is done is in release/repository.hpp.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/utc_text.hpp"
#include "base/values/json_text.hpp"
#include "ctl/api.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/output/document_text.hpp"
#include "ctl/output/table.hpp"
#include "ctl/release_keys.hpp"
#include "ctl/time_text.hpp"
#include "release/repository.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using release::Role;

constexpr std::string_view kRootLife = "365d", kReleaseLife = "90d", kTimestampLife = "48h";
constexpr std::string_view kExpirySoon = "14d";  // time enough to publish again, or to fetch the root keys

release::Instant clock_now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

Result<release::Instant> expiry(const std::string& given, std::string_view life, std::string_view option) {
  auto duration = parse_duration(given.empty() ? life : std::string_view(given), option);
  if (!duration) return std::move(duration).error();
  return clock_now() + *duration;
}

void say_key(terminal::Console& console, const release::PublicKey& key) {
  console.out.line("id      " + key.id());
  console.out.line("public  " + key.text());
}

// Where a document went, and what is still to be done. `then`: after the last signature.
void say_placed(terminal::Console& console, const release::Placed& placed, std::string_view then = {}) {
  for (const std::string& each : placed.left_out)
    console.warn("left out, agents would refuse it: " + each);
  if (placed.missing.empty()) {
    console.out.line(placed.path + " is published.");
  } else if (placed.missing == "unknown") {
    console.out.line("Signed: " + placed.path +
                     ".sig. Bring it back to the release base, and run 'opsctl release sign' on it there.");
  } else {
    console.out.line(placed.path + " must be signed by " + placed.missing + ".");
    console.out.line("Next: opsctl release sign " + placed.path + " --key FILE");
    if (!then.empty()) console.out.line(then);
  }
}

void say_dropped(terminal::Console& console, const std::vector<std::string>& dropped) {
  for (const std::string& each : dropped)
    console.warn("not on offer any more: " + each);
}

Result<int> show_stamped(terminal::Console& console, Result<release::Stamped> stamped) {
  if (!stamped) return std::move(stamped).error();
  say_dropped(console, stamped->dropped);
  say_placed(console, stamped->document);
  console.out.line("Timestamp " + std::to_string(stamped->timestamp.version) + ", expires " +
                   base::utc_text(stamped->timestamp.expires).substr(0, 19) + "Z, " +
                   std::to_string(stamped->timestamp.offers.size()) + " on offer.");
  for (const std::string& each : stamped->expired)
    console.warn(each);
  return stamped->expired.empty() ? kOk : kFailed;
}

Result<int> create_key(const std::string& file, KeyFiles& files, terminal::Console& console) {
  for (const std::string& each : {file, file + ".pub"})
    if (::access(each.c_str(), F_OK) == 0)
      return Error(ErrorCode::exists, each + " is there already; a key is never overwritten");
  auto passphrase = files.new_passphrase(file);
  if (!passphrase) return std::move(passphrase).error();
  auto key = release::SigningKey::generate();
  if (!key) return std::move(key).error();
  auto pem = key->pem(*passphrase);
  if (!pem) return std::move(pem).error();
  if (auto put = base::write_durable_file(file, *pem); !put) return std::move(put).error();
  if (auto put = base::write_durable_file(file + ".pub", key->public_key().text() + "\n", 0644); !put)
    return std::move(put).error();
  say_key(console, key->public_key());
  return kOk;
}

// The role's keys, public; those whose private part was given sign as well.
Result<void> choose_role(Role role, const std::vector<std::string>& files, KeyFiles& opener,
                         release::RootChoice& choice, release::Signers& signers) {
  for (const std::string& file : files) {
    auto key = opener.any_key(file);
    if (!key) return std::move(key).error();
    auto* both = std::get_if<release::SigningKey>(&*key);
    choice.roles[role].keys.push_back(both ? both->public_key() : std::get<release::PublicKey>(*key));
    if (both && role == Role::root) signers.push_back(std::move(*both));
  }
  return {};
}

Result<void> choose_thresholds(const std::vector<std::string>& given, release::RootChoice& choice) {
  for (const std::string& each : given) {
    const std::size_t equals = std::min(each.find('='), each.size());
    const std::string name = each.substr(0, equals);
    const auto number = base::parse_integer(std::string_view(each).substr(std::min(equals + 1, each.size())));
    bool known = false;
    for (const Role role : {Role::root, Role::release, Role::timestamp})
      if (name == name_of(role) && number && *number >= 1 && *number <= 32) {
        choice.roles[role].threshold = static_cast<std::uint32_t>(*number);
        known = true;
      }
    if (!known)
      return Error(
          ErrorCode::invalid,
          "--threshold must be root=N, release=N or timestamp=N, with N from 1 to 32, not '" + each + "'");
  }
  return {};
}

std::string targets_text(const release::Release& release) {
  std::string text;
  for (const release::Target& target : release.targets)
    text += (text.empty() ? "" : ", ") + target.os + " " + target.arch;
  return text;
}

// As JSON or YAML if that was asked for.
bool show_json(const Options& options, terminal::Console& console, std::string json) {
  if (options.format == Format::table) return false;
  const Document document(std::move(json));
  console.out.write(options.format == Format::json ? pretty_json(document.root())
                                                   : yaml_text(document.root()));
  return true;
}

Result<int> no_timestamp_key() {
  return Error(ErrorCode::invalid, "which key signs it? --timestamp-key FILE");
}

}  // namespace

Result<int> release_key_command(const Options& options, terminal::Console& console) {
  const std::string &what = options.arguments[0], &file = options.arguments[1];
  KeyFiles files(options, console);
  if (what == "create") return create_key(file, files, console);
  if (what != "show")
    return Error(ErrorCode::invalid, "there is: opsctl release key create|show FILE, not '" + what + "'");
  auto key = files.any_key(file);
  if (!key) return std::move(key).error();
  const auto* both = std::get_if<release::SigningKey>(&*key);
  say_key(console, both ? both->public_key() : std::get<release::PublicKey>(*key));
  return kOk;
}

Result<int> release_root_command(const Options& options, terminal::Console& console) {
  const std::string& what = options.arguments[0];
  if (what != "create" && what != "rotate")
    return Error(ErrorCode::invalid,
                 "there is: opsctl release root create|rotate FOLDER, not '" + what + "'");
  KeyFiles files(options, console);
  auto signers = files.signing_keys(options.sign_keys);
  if (!signers) return std::move(signers).error();
  release::RootChoice choice;
  auto until = expiry(options.expires, kRootLife, "--expires");
  if (!until) return std::move(until).error();
  choice.expires = *until;
  const std::pair<Role, const std::vector<std::string>*> roles[] = {
      {Role::root, &options.root_keys},
      {Role::release, &options.release_keys},
      {Role::timestamp, &options.timestamp_keys}};
  for (const auto& [role, keys] : roles)
    if (auto chosen = choose_role(role, *keys, files, choice, *signers); !chosen)
      return std::move(chosen).error();
  if (auto chosen = choose_thresholds(options.thresholds, choice); !chosen) return std::move(chosen).error();
  release::Repository repository(options.arguments[1]);
  auto placed =
      what == "create" ? repository.create_root(choice, *signers) : repository.rotate_root(choice, *signers);
  if (!placed) return std::move(placed).error();
  say_placed(console, *placed);
  if (what == "rotate" && (!options.release_keys.empty() || !options.timestamp_keys.empty()))
    console.out.line(
        "Keys of releases or timestamps have changed: when the root is published, publish what is on offer "
        "again ('opsctl release publish' or 'opsctl release timestamp').");
  return kOk;
}

Result<int> release_sign_command(const Options& options, terminal::Console& console) {
  KeyFiles files(options, console);
  auto keys = files.signing_keys(options.sign_keys);
  if (!keys) return std::move(keys).error();
  auto placed = release::Repository::sign(options.arguments[0], *keys);
  if (!placed) return std::move(placed).error();
  say_placed(console, *placed);
  // Nothing tells the release base from a folder to which the first draft was carried.
  if (placed->missing.empty() && placed->path.ends_with("/1.root.json"))
    console.out.line("If the release base is elsewhere, copy " + placed->path + " and " + placed->path +
                     ".sig to it, and remove the draft there.");
  return kOk;
}

Result<int> release_publish_command(const Options& options, terminal::Console& console) {
  KeyFiles files(options, console);
  if (options.release_keys.empty())
    return Error(ErrorCode::invalid, "which key signs the release? --release-key FILE");
  auto release_keys = files.signing_keys(options.release_keys);
  if (!release_keys) return std::move(release_keys).error();
  auto timestamp_keys = files.signing_keys(options.timestamp_keys);
  if (!timestamp_keys) return std::move(timestamp_keys).error();
  auto until = expiry(options.expires, kReleaseLife, "--expires");
  if (!until) return std::move(until).error();
  auto stamp_until = expiry(options.timestamp_expires, kTimestampLife, "--timestamp-expires");
  if (!stamp_until) return std::move(stamp_until).error();
  release::Publication publication{
      .archives = {options.arguments.begin() + 1, options.arguments.end()},
      .version = options.release_version,
      .channel = options.release_channel.empty() ? "stable" : options.release_channel,
      .min_from = options.min_from,
      .expires = *until,
      .timestamp_expires = *stamp_until,
      .drop = options.drop};
  release::Repository repository(options.arguments[0]);
  auto published = repository.publish(publication, *release_keys, *timestamp_keys, clock_now());
  if (!published) return std::move(published).error();
  say_dropped(console, published->dropped);
  const release::Release& release = published->release;
  const std::string offer_it = "Then: opsctl release timestamp " + options.arguments[0] + " --offer " +
                               release.version + " --timestamp-key FILE";
  console.out.line("Release " + std::to_string(release.number) + ": version " + release.version +
                   " in channel " + release.channel + " for " + targets_text(release) + ".");
  say_placed(console, published->release_document, offer_it);
  if (published->timestamp_document)
    say_placed(console, *published->timestamp_document);
  else if (published->release_document.missing.empty())
    console.out.line("It is not on offer yet. " + offer_it);
  return kOk;
}

Result<int> release_timestamp_command(const Options& options, terminal::Console& console) {
  if (options.timestamp_keys.empty()) return no_timestamp_key();
  KeyFiles files(options, console);
  auto keys = files.signing_keys(options.timestamp_keys);
  if (!keys) return std::move(keys).error();
  auto until = expiry(options.expires, kTimestampLife, "--expires");
  if (!until) return std::move(until).error();
  const release::Repository::Stamp wish{
      .expires = *until, .now = clock_now(), .offer = options.offer, .drop = options.drop};
  return show_stamped(console, release::Repository(options.arguments[0]).stamp(*keys, wish));
}

Result<int> release_withdraw_command(const Options& options, terminal::Console& console) {
  if (options.timestamp_keys.empty()) return no_timestamp_key();
  KeyFiles files(options, console);
  auto keys = files.signing_keys(options.timestamp_keys);
  if (!keys) return std::move(keys).error();
  auto until = expiry(options.expires, kTimestampLife, "--expires");
  if (!until) return std::move(until).error();
  const release::Repository::Stamp wish{
      .expires = *until, .now = clock_now(), .offer = {}, .drop = options.drop};
  return show_stamped(console,
                      release::Repository(options.arguments[0]).withdraw(options.arguments[1], *keys, wish));
}

Result<int> release_list_command(const Options& options, terminal::Console& console) {
  auto listed = release::Repository(options.arguments[0]).list();
  if (!listed) return std::move(listed).error();
  base::JsonText json;
  json.begin_object().key("items").begin_list();
  Table table({">RELEASE", "VERSION", "CHANNEL", "ON OFFER", "EXPIRES", "TARGETS", "MIN FROM"});
  for (const release::Listed& each : *listed) {
    const release::Release& release = each.release;
    const std::string expires = base::utc_text(release.expires).substr(0, 19) + "Z";
    table.add({{std::to_string(release.number)},
               {release.version, terminal::Style::bold},
               {release.channel},
               {each.is_offered ? "yes" : "no"},
               {expires},
               {targets_text(release)},
               {release.min_from}});
    json.begin_object().member("release", release.number).member("version", release.version);
    json.member("channel", release.channel).member("offered", each.is_offered).member("expires", expires);
    json.member("min_from", release.min_from).key("targets").begin_list();
    for (const release::Target& target : release.targets)
      json.begin_object()
          .member("os", target.os)
          .member("arch", target.arch)
          .member("path", target.path)
          .end_object();
    json.end_list().end_object();
  }
  if (show_json(options, console, json.end_list().end_object().take())) return kOk;
  if (table.empty())
    console.out.line("there are no releases; 'opsctl release publish' makes one");
  else
    console.out.write(table.text(console.paint, output_width()));
  return kOk;
}

Result<int> release_check_command(const Options& options, terminal::Console& console) {
  std::string pinned;
  if (!options.pinned_root.empty()) {
    auto text = base::read_file(options.pinned_root, release::kLargestDocument);
    if (!text) return std::move(text).error();
    pinned = std::move(*text);
  }
  auto margin =
      parse_duration(options.within.empty() ? kExpirySoon : std::string_view(options.within), "--within");
  if (!margin) return std::move(margin).error();
  int status = kOk;
  base::JsonText json;
  json.begin_object().key("items").begin_list();
  const auto lines = release::Repository(options.arguments[0]).check(pinned, clock_now(), *margin);
  for (const release::Checked& each : lines) {
    if (!each.is_good) status = kFailed;
    json.begin_object().member("good", each.is_good).member("text", each.text).end_object();
  }
  if (show_json(options, console, json.end_list().end_object().take())) return status;
  for (const release::Checked& each : lines)
    if (each.is_good)
      console.out.line("good  " + terminal::printable(each.text));
    else
      console.complain(terminal::printable(each.text));
  return status;
}

}  // namespace ctl
