#include "modules/fetch/fetch.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "modules/fetch/access.hpp"
#include "modules/fetch/fetcher_process.hpp"
#include "modules/fetch/repository_address.hpp"
#include "modules/fetch/signers.hpp"
#include "modules/fetch/tag_records.hpp"
#include "modules/git/intake.hpp"
#include "transport/uri.hpp"

namespace modules::fetch {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using ::modules::git::ObjectId;
using ::modules::git::Resolved;
using ::modules::git::Snapshot;

constexpr std::size_t kLargestFile = 4 * 1024 * 1024;  // of the configuration
constexpr std::uint64_t kMostObjects = 200'000;  // in a pack: before libgit2 1.7 with all of the history
constexpr std::uint64_t kLargestBlob = 128ULL << 20;
constexpr std::uint64_t kFetcherMemory = 1ULL << 30;

std::string encoded(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
        c == '.') {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

// "http://[user:password@]host:port" of the proxy that leads there; "" without one.
Result<std::string> proxy_url(const transport::ProxySettings& settings, const RepositoryAddress& address) {
  const auto proxies = transport::Proxies::parse(settings);
  if (!proxies) return proxies.error();
  const auto proxy = proxies->proxy_for(
      transport::Uri{.scheme = "https", .host = address.host, .port = address.port, .target = "/"});
  if (!proxy) return std::string();
  std::string login;
  constexpr std::string_view kBasic = "Basic ";
  if (proxy->authorization.starts_with(kBasic)) {
    const auto decoded =
        ::modules::git::from_base64(std::string_view(proxy->authorization).substr(kBasic.size()));
    const std::string text = decoded.value_or("");
    const std::size_t colon = text.find(':');
    login = encoded(text.substr(0, colon)) +
            (colon == std::string::npos ? "" : ":" + encoded(text.substr(colon + 1))) + "@";
  }
  return "http://" + login + transport::join_host_port(proxy->host, proxy->port);
}

// One fetch, from what is known to what is used.
class Fetching {
 public:
  Fetching(const FetchSettings& settings, const FetchRequest& request, base::Interrupt& interrupt,
           const std::function<void(const std::string&)>& on_progress)
      : settings_(settings), request_(request), interrupt_(interrupt), on_progress_(on_progress) {}

  Result<Fetched> run();
  FetchTrouble trouble() const { return trouble_; }

 private:
  // What is asked for, or was found, is refused everywhere.
  Error refused(Error error) {
    trouble_ = FetchTrouble::repository;
    return error;
  }
  Result<Fetched> look();
  Result<Fetched> what_is_there();
  Error never_fetched() const {
    return {ErrorCode::not_found,
            "the tag '" + request_.tag + "' of " + address_.text + " was never fetched"};
  }
  Result<fetcher::Request> request_for_fetcher(const ModuleStore& store);
  Result<void> add_https(fetcher::Request& asked);
  Result<void> add_ssh(fetcher::Request& asked);
  Result<void> accept(const Resolved& resolved);
  Result<Fetched> take(const Snapshot& snapshot, CheckoutWriter& writer, std::uint32_t uid);
  Result<Fetched> ask();
  bool is_moving() const {
    return std::ranges::find(settings_.moving_tags, request_.tag) != settings_.moving_tags.end();
  }
  std::optional<TagRecord> known() const { return records_->find(address_.text, request_.tag); }

  const FetchSettings& settings_;
  const FetchRequest& request_;
  base::Interrupt& interrupt_;
  const std::function<void(const std::string&)>& on_progress_;
  RepositoryAddress address_;
  std::optional<Signers> signers_;
  std::optional<ModuleStore> store_;
  std::optional<TagRecords> records_;
  FetchTrouble trouble_ = FetchTrouble::access;
};

Result<Fetched> Fetching::run() {
  auto address = parse_repository(request_.repository, settings_.schemes);
  if (!address) return refused(std::move(address).error());
  address_ = std::move(*address);
  if (auto fine = check_tag_name(request_.tag); !fine) return refused(std::move(fine).error());
  if (!request_.commit.empty() && !ObjectId::parse(request_.commit))
    return refused(Error(ErrorCode::invalid, "'" + base::quote_of(request_.commit) +
                                                 "' is not a commit: 40 hexadecimal digits, lower case"));
  auto signers = Signers::load(settings_.keys_file, settings_.gpg_keyring);
  if (!signers) return std::move(signers).error();
  signers_ = std::move(*signers);
  if (request_.offline || (request_.if_missing && !is_moving()))
    if (auto there = look(); there || request_.offline) return there;
  auto store = ModuleStore::open(settings_.state_dir, interrupt_);
  if (!store) return std::move(store).error();
  store_.emplace(std::move(*store));
  auto records = TagRecords::load(store_->records_path());
  if (!records) return std::move(records).error();
  records_.emplace(std::move(*records));

  // Somebody else may have fetched it while the lock was waited for.
  if (request_.if_missing && !is_moving())
    if (auto there = what_is_there()) return there;
  return ask();
}

// Without the lock. What is being fetched by somebody else meanwhile is there afterwards.
Result<Fetched> Fetching::look() {
  auto store = ModuleStore::look(settings_.state_dir);
  if (!store && store.error().code() == ErrorCode::not_found) return never_fetched();
  if (!store) return std::move(store).error();
  auto records = TagRecords::load(store->records_path());
  if (!records) return std::move(records).error();
  records_.emplace(std::move(*records));
  store_.emplace(std::move(*store));
  return what_is_there();
}

// Only what this repository's tag was seen to stand for: another repository's code is never used for it,
// though it may be on disk.
Result<Fetched> Fetching::what_is_there() {
  const std::optional<TagRecord> record = known();
  if (!record) return never_fetched();
  if (!request_.commit.empty() && record->commit != request_.commit)
    return Error(ErrorCode::not_found, "the commit " + request_.commit + " was never fetched; '" +
                                           request_.tag + "' was " + record->commit);
  if (signers_->required() && !signers_->trusts(record->signer))
    return Error(ErrorCode::permission,
                 "what is there of '" + request_.tag + "' was not signed by anybody who is trusted now");
  auto checkout = store_->use(record->commit);
  if (!checkout) return std::move(checkout).error();
  return Fetched{.checkout = std::move(*checkout), .signer = record->signer, .is_new = false, .warning = {}};
}

Result<void> Fetching::add_https(fetcher::Request& asked) {
  if (!settings_.ca_file.empty()) {
    auto certificates = base::read_file(settings_.ca_file, kLargestFile);
    if (!certificates) return std::move(certificates).error().with_context("module_ca_file");
    asked.ca_certificates = std::move(*certificates);
  }
  if (!settings_.credentials_file.empty()) {
    const auto credentials = read_secret_file(settings_.credentials_file);
    if (!credentials) return credentials.error().with_context("module_credentials");
    const auto login = login_for(*credentials, address_);
    if (!login) return login.error().with_context("module_credentials, " + settings_.credentials_file);
    asked.user = login->user;
    asked.password = login->password;
  }
  auto proxy = proxy_url(settings_.proxy, address_);
  if (!proxy) return std::move(proxy).error();
  asked.proxy = std::move(*proxy);
  return {};
}

Result<void> Fetching::add_ssh(fetcher::Request& asked) {
  if (settings_.known_hosts_file.empty())
    return Error(
        ErrorCode::invalid,
        "host keys come from the configuration alone: put the host's into a file (ssh-keyscan shows it; "
        "compare it with what its owner says) and name that as module_known_hosts");
  const auto known_hosts = base::read_file(settings_.known_hosts_file, kLargestFile);
  if (!known_hosts) return known_hosts.error().with_context("module_known_hosts");
  asked.host_keys = host_keys_for(*known_hosts, address_);
  if (asked.host_keys.empty())
    return Error(ErrorCode::permission, settings_.known_hosts_file +
                                            " (module_known_hosts) has no key for the host " +
                                            transport::join_host_port(address_.host, address_.port));
  if (settings_.ssh_key_file.empty()) return {};
  auto key = read_secret_file(settings_.ssh_key_file);
  if (!key) return std::move(key).error().with_context("module_ssh_key");
  asked.ssh_key = std::move(*key);
  return {};
}

Result<fetcher::Request> Fetching::request_for_fetcher(const ModuleStore& store) {
  fetcher::Request asked;
  asked.url = address_.text;
  asked.tag = request_.tag;
  asked.allow_branch = is_moving();
  asked.stay = !settings_.follow_redirects;
  asked.most_bytes = settings_.most_bytes;
  asked.most_objects = kMostObjects;
  asked.largest_file = std::min(kLargestBlob, settings_.most_bytes);
  // Signatures can be seen only on what is downloaded.
  if (!signers_->required()) asked.present = base::join(store.commits(), " ");
  if (address_.scheme == Scheme::https)
    if (auto added = add_https(asked); !added) return std::move(added).error();
  if (address_.scheme == Scheme::ssh)
    if (auto added = add_ssh(asked); !added) return std::move(added).error();
  return asked;
}

// Before anything is downloaded: whether the tag may stand for this commit.
Result<void> Fetching::accept(const Resolved& resolved) {
  const std::string commit = resolved.commit.hex();
  if (!request_.commit.empty()) {
    if (commit == request_.commit) return {};
    return Error(ErrorCode::permission, "the tag '" + request_.tag + "' of " + address_.text + " is " +
                                            commit + ", and the commit " + request_.commit + " is asked for");
  }
  const std::optional<TagRecord> record = known();
  if (!record) return records_->check_room(address_.text, request_.tag);
  if (record->commit == commit || is_moving()) return {};
  return Error(ErrorCode::permission,
               "the tag '" + request_.tag + "' of " + address_.text + " has moved: it was " + record->commit +
                   " and is now " + commit +
                   ". Moved tags are refused. If this is right, give the commit too, or "
                   "list the tag in module_moving_tag");
}

Result<Fetched> Fetching::take(const Snapshot& snapshot, CheckoutWriter& writer, std::uint32_t uid) {
  const std::string commit = snapshot.resolved.commit.hex();
  std::string signer;
  if (signers_->required()) {
    if (snapshot.is_present)
      return Error(ErrorCode::internal, "the fetcher has not brought what was asked for");
    auto found = signers_->signer_of(snapshot, uid, interrupt_);
    if (!found)
      return refused(std::move(found).error().with_context("'" + request_.tag + "' (" + commit +
                                                           ") is refused, because signatures are required"));
    signer = std::move(*found);
  }
  if (!snapshot.is_present)
    if (auto finished = writer.finish(snapshot); !finished) return std::move(finished).error();
  auto checkout = store_->use(commit);
  if (!checkout) return std::move(checkout).error();
  auto stored = records_->store({.repository = address_.text,
                                 .tag = request_.tag,
                                 .commit = commit,
                                 .signer = signer,
                                 .seen = static_cast<std::int64_t>(::time(nullptr))});
  // Where the commit is asked for, nobody need remember what its tag was.
  const bool can_do_without = !request_.commit.empty() && !records_->check_room(address_.text, request_.tag);
  if (!stored && !can_do_without) return std::move(stored).error();
  if (auto pruned = store_->prune(); !pruned) return std::move(pruned).error();
  return Fetched{
      .checkout = std::move(*checkout), .signer = signer, .is_new = !snapshot.is_present, .warning = {}};
}

Result<Fetched> Fetching::ask() {
  auto asked = request_for_fetcher(*store_);
  if (!asked) return std::move(asked).error();
  const auto uid = free_user_id();
  if (!uid) return uid.error();
  auto folder = store_->make_fetch_folder(*uid);
  if (!folder) return std::move(folder).error();

  CheckoutWriter writer(*store_, [this](const Resolved& resolved) { return accept(resolved); });
  ::modules::git::IntakeLimits limits;
  limits.bytes = settings_.most_bytes;
  limits.file = std::min(kLargestBlob, settings_.most_bytes);
  ::modules::git::Intake intake(request_.tag, limits, writer);
  auto outcome = run_fetcher({.program = settings_.program,
                              .folder = store_->path() + '/' + *folder,
                              .uid = *uid,
                              .repository_path = address_.scheme == Scheme::file ? address_.path : "",
                              .timeout = settings_.timeout,
                              .memory = kFetcherMemory,
                              .folder_bytes = 2 * settings_.most_bytes,
                              .on_progress = on_progress_},
                             *asked, intake, interrupt_);
  auto removed = store_->remove(*folder);
  if (auto* snapshot = std::get_if<Snapshot>(&outcome)) {
    if (!removed) return std::move(removed).error();
    // What is said to be here must be: it is not the fetcher's word that counts.
    return take(*snapshot, writer, *uid);
  }
  const auto& failure = std::get<FetchFailure>(outcome);
  if (failure.is_of_repository) return refused(failure.error);
  if (!failure.is_unreachable) return failure.error;
  auto there = what_is_there();
  if (!there) return failure.error;
  there->warning = failure.error.message() + "; what is there is used";
  return there;
}

}  // namespace

Result<Fetched> fetch_module(const FetchSettings& settings, const FetchRequest& request,
                             base::Interrupt& interrupt,
                             const std::function<void(const std::string&)>& on_progress,
                             FetchTrouble* trouble) {
  Fetching fetching(settings, request, interrupt, on_progress);
  auto fetched = fetching.run();
  if (trouble) *trouble = fetching.trouble();
  return fetched;
}

Result<Fetched> use_fetched(const FetchSettings& settings, const FetchedBefore& before) {
  if (auto address = parse_repository(before.repository, settings.schemes); !address)
    return std::move(address).error();
  if (!ObjectId::parse(before.commit))
    return Error(ErrorCode::invalid, "'" + base::quote_of(before.commit) + "' is not a commit");
  const auto signers = Signers::load(settings.keys_file, settings.gpg_keyring);
  if (!signers) return signers.error();
  if (signers->required() && !signers->trusts(before.signer))
    return Error(ErrorCode::permission,
                 "the commit " + before.commit + " was not signed by anybody who is trusted now");
  auto store = ModuleStore::look(settings.state_dir);
  if (!store) return std::move(store).error();
  auto checkout = store->use(before.commit);
  if (!checkout) return std::move(checkout).error();
  return Fetched{.checkout = std::move(*checkout), .signer = before.signer, .is_new = false, .warning = {}};
}

std::string fetcher_beside_us() {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  const std::string own(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t slash = own.rfind('/');
  if (slash == std::string::npos) return "opsagent-fetch";
  const std::string folder = own.substr(0, slash);
  std::string beside = folder + "/opsagent-fetch";
  if (::access(beside.c_str(), F_OK) == 0) return beside;
  std::string packaged =
      folder.substr(0, folder.rfind('/')) + "/libexec" + own.substr(slash) + "/opsagent-fetch";
  return ::access(packaged.c_str(), F_OK) == 0 ? packaged : beside;
}

}  // namespace modules::fetch
