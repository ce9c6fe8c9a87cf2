// `opsctl trial`: a release folder with a key of its own, and one line that installs the agent from it.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/files/private_folder.hpp"
#include "base/text.hpp"
#include "base/token.hpp"
#include "ctl/api.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/commands/userdata_command.hpp"
#include "ctl/output/show.hpp"
#include "ctl/time_text.hpp"
#include "release/openssl.hpp"
#include "release/repository.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using release::Role;

// Long enough to look around; whoever stays makes keys of his own.
constexpr auto kTrialLife = std::chrono::days(30);
constexpr std::string_view kTokenLife = "1h";
constexpr auto kLongestTokenLife = std::chrono::hours(24);
constexpr std::int64_t kUses = 10;
constexpr std::size_t kLargestRead = 256 * 1024;

release::Instant clock_now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

// Where things are. The keys lie beside the folder, which everybody can download from, and not in it.
struct TrialFolder {
  std::string releases;
  std::string root() const { return releases + "/1.root.json"; }
  std::string scripts() const { return releases + "/install"; }
  std::string keys() const { return releases + ".keys"; }
  std::string key() const { return keys() + "/trial.key"; }
  std::string passphrase() const { return keys() + "/passphrase"; }
};

// The key with its passphrase beside it: 'opsctl release' can use both, too.
Result<release::SigningKey> make_key(const TrialFolder& folder) {
  if (auto made = base::make_private_folder(folder.keys()); !made) return std::move(made).error();
  auto key = release::SigningKey::generate();
  if (!key) return std::move(key).error();
  const std::string passphrase = base::random_hex(16);
  auto pem = key->pem(passphrase);
  if (!pem) return std::move(pem).error();
  if (auto put = base::write_durable_file(folder.passphrase(), passphrase + "\n"); !put)
    return std::move(put).error();
  if (auto put = base::write_durable_file(folder.key(), *pem); !put) return std::move(put).error();
  return key;
}

Result<release::SigningKey> read_key(const TrialFolder& folder) {
  auto pem = base::read_file(folder.key(), kLargestRead);
  if (!pem) return std::move(pem).error();
  auto passphrase = base::read_file(folder.passphrase(), kLargestRead);
  if (!passphrase) return std::move(passphrase).error();
  auto key = release::SigningKey::parse(*pem, base::trim(*passphrase));
  if (!key) return std::move(key).error().with_context(folder.key());
  return key;
}

// The key that signs everything in this folder, which has a root when this returns.
Result<release::SigningKey> open_trial(const TrialFolder& folder, bool has_archives,
                                       terminal::Console& console) {
  const bool has_root = ::access(folder.root().c_str(), F_OK) == 0;
  const bool has_key = ::access(folder.key().c_str(), F_OK) == 0;
  if (has_root && !has_key)
    return Error(ErrorCode::exists, folder.releases +
                                        " is a release folder with keys of its own, not one of a trial: use "
                                        "'opsctl userdata --root " +
                                        folder.root() + "', or name a new folder");
  if (has_root) return read_key(folder);
  if (!has_archives)
    return Error(
        ErrorCode::invalid,
        "what shall machines install? Name the agent's archive, as 'scripts/release' makes it: opsctl "
        "trial " +
            folder.releases + " opsagent-VERSION-linux-ARCH.tar.gz");
  // A key without a root is of a run that was ended in between.
  auto key = has_key ? read_key(folder) : make_key(folder);
  if (!key) return std::move(key).error();
  release::RootChoice choice{.expires = clock_now() + std::chrono::days(365)};
  for (const Role role : {Role::root, Role::release, Role::timestamp})
    choice.roles[role].keys.push_back(key->public_key());
  auto placed = release::Repository(folder.releases).create_root(choice, {*key});
  if (!placed) return std::move(placed).error();
  console.err.line("A trial's key, in " + folder.keys() +
                   ": whoever can read it decides what runs as root on the "
                   "machines of the trial.");
  return key;
}

Result<void> publish(const TrialFolder& folder, std::vector<std::string> archives,
                     const release::SigningKey& key, terminal::Console& console) {
  const release::Publication publication{.archives = std::move(archives),
                                         .version = {},
                                         .min_from = {},
                                         .expires = clock_now() + kTrialLife,
                                         .timestamp_expires = clock_now() + kTrialLife};
  auto published = release::Repository(folder.releases).publish(publication, {key}, {key}, clock_now());
  if (!published) return std::move(published).error();
  console.err.line("Version " + published->release.version + " is on offer.");
  return {};
}

Result<void> renew(const TrialFolder& folder, const release::SigningKey& key) {
  auto stamped = release::Repository(folder.releases)
                     .stamp({key}, {.expires = clock_now() + kTrialLife, .now = clock_now()});
  if (!stamped) return std::move(stamped).error();
  if (stamped->expired.empty()) return {};
  return Error(ErrorCode::invalid, "the trial's release has expired: publish one again, opsctl trial " +
                                       folder.releases + " opsagent-VERSION-linux-ARCH.tar.gz");
}

// Scripts whose token has expired for certain.
void remove_old_scripts(const TrialFolder& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(folder.scripts().c_str()), ::closedir);
  if (!listing) return;
  const auto oldest = std::chrono::system_clock::to_time_t(clock_now() - kLongestTokenLife);
  while (const dirent* entry = ::readdir(listing.get())) {
    struct stat found = {};
    if (::fstatat(::dirfd(listing.get()), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(found.st_mode) && found.st_mtime < oldest)
      ::unlinkat(::dirfd(listing.get()), entry->d_name, 0);
  }
}

// The script gets a name that nobody guesses, in a folder that others cannot list. Answers the name.
Result<std::string> put_script(const TrialFolder& folder, const std::string& text) {
  if (auto made = base::open_guarded_folder(folder.scripts(), 0711); !made) return std::move(made).error();
  remove_old_scripts(folder);
  std::string name = base::random_hex(16);
  if (auto put = base::write_durable_file(folder.scripts() + "/" + name, text, 0644); !put)
    return std::move(put).error();
  return name;
}

// "sha256//…" of curl's --pinnedpubkey.
std::string pin_of(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return "sha256//" + release::to_base64(bytes);
}

// Whether the backend serves this very folder.
Result<void> check_served(const TrialFolder& folder, Api& api) {
  auto ours = base::read_file(folder.root(), kLargestRead);
  if (!ours) return std::move(ours).error();
  auto served = api.file("/releases/1.root.json");
  if (!served && api.unreachable()) return std::move(served).error();
  if (served && *served == *ours) return {};
  return Error(ErrorCode::invalid, "the backend at " + api.server() + " does not serve this folder" +
                                       (served ? ", but another one" : "") + ": start it with --releases " +
                                       folder.releases);
}

Result<Options> trial_options(const Options& given, const TrialFolder& folder) {
  Options options = given;
  options.pinned_root = folder.root();
  if (options.ttl.empty()) options.ttl = kTokenLife;
  if (!options.uses) options.uses = kUses;
  auto life = parse_duration(options.ttl, "--ttl");
  if (!life) return std::move(life).error();
  if (*life > kLongestTokenLife)
    return Error(ErrorCode::invalid, "--ttl: the line of a trial is good for 24h at most");
  return options;
}

}  // namespace

Result<int> trial_command(Session& session) {
  terminal::Console& console = session.console;
  TrialFolder folder{session.options.arguments[0]};
  while (folder.releases.size() > 1 && folder.releases.ends_with('/'))
    folder.releases.pop_back();
  const std::vector<std::string> archives(session.options.arguments.begin() + 1,
                                          session.options.arguments.end());
  auto options = trial_options(session.options, folder);
  if (!options) return std::move(options).error();
  auto base = release_base(*options, session.api.server());
  if (!base) return std::move(base).error();

  auto key = open_trial(folder, !archives.empty(), console);
  if (!key) return std::move(key).error();
  auto done = archives.empty() ? renew(folder, *key) : publish(folder, archives, *key, console);
  if (!done) return std::move(done).error();
  if (auto served = check_served(folder, session.api); !served) return std::move(served).error();
  if (session.api.server_key_hash().empty())
    return Error(ErrorCode::invalid, "the line names the backend's key, and this login is " +
                                         session.api.server() + ": log in over https (opsctl login)");
  auto text = userdata_text(*options, console);
  if (!text) return std::move(text).error();
  auto name = put_script(folder, *text);
  if (!name) return std::move(name).error();

  console.err.line("A trial, for 30 days. For machines that matter: docs/releases.md.");
  console.err.line("On each new machine, as a user who may use sudo:");
  console.out.line("curl -fsSk --pinnedpubkey '" + pin_of(session.api.server_key_hash()) + "' " + *base +
                   "/install/" + *name + " | sudo sh");
  return kOk;
}

}  // namespace ctl
