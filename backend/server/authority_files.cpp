#include "backend/server/authority_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "backend/server/passphrase.hpp"
#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/utc_text.hpp"
#include "pki/private_key.hpp"

namespace backend::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestFile = 256 * 1024;
constexpr const char* kOwn = "ca.pem";
constexpr const char* kNext = "ca-next.pem";
constexpr const char* kRetired = "ca.retired";
constexpr const char* kPublished = "ca.crt";
constexpr const char* kFirstCredential = "ca-key-passphrase";
constexpr const char* kNextCredential = "next-ca-key-passphrase";
// From then on the log says that it is time.
constexpr std::chrono::hours kSoon{24 * 180};

// The file's text; nothing when there is no such file.
Result<std::optional<std::string>> read_if_there(const std::string& path) {
  auto text = base::read_file(path, kLargestFile);
  if (text) return std::optional(std::move(*text));
  if (text.error().code() == ErrorCode::not_found) return std::optional<std::string>();
  return std::move(text).error();
}

// Where the key begins in a text that has certificates first.
std::size_t key_in(std::string_view text) {
  std::size_t first = text.size();
  for (const std::string_view label :
       {"-----BEGIN PRIVATE KEY-----", "-----BEGIN ENCRYPTED PRIVATE KEY-----"})
    first = std::min(first, text.find(label));
  return first;
}

Result<pki::Authority> read_brought(const BroughtAuthority& files, std::string_view passphrase,
                                    const char* options, pki::Instant now, std::vector<std::string>& hints) {
  if (files.certificate.empty() || files.key.empty())
    return Error(ErrorCode::invalid, std::string(options) + " belong together: give both, or neither");
  const auto chain = base::read_file(files.certificate, kLargestFile);
  if (!chain) return chain.error();
  const auto key = base::read_file(files.key, kLargestFile);
  if (!key) return key.error();
  if (!passphrase.empty() && !pki::PrivateKey::is_encrypted(*key))
    hints.push_back(files.key + " is not encrypted: the passphrase is not needed for it");
  auto authority = pki::Authority::parse(*chain, *key, now, passphrase);
  if (!authority) return std::move(authority).error().with_context(files.key);
  return authority;
}

}  // namespace

bool AuthorityFiles::is_retired(const pki::Authority& authority) const {
  return std::ranges::any_of(
      retired_, [&](const std::string& line) { return line.starts_with(authority.issuer_hash()); });
}

Result<void> AuthorityFiles::read_retired() {
  auto text = read_if_there(path(kRetired));
  if (!text) return std::move(text).error();
  if (!*text) return {};
  for (const std::string_view line : base::split(**text, '\n'))
    if (!line.empty()) retired_.emplace_back(line);
  return {};
}

Result<std::string> AuthorityFiles::own_text(const pki::Authority& authority) const {
  if (passphrase_.empty()) return authority.chain_pem() + authority.key_pem();
  auto key = authority.key_pem(passphrase_);
  if (!key) return key;
  return authority.chain_pem() + *key;
}

// One file holds certificate and key, so that a kill at the wrong moment cannot part them.
Result<std::optional<pki::Authority>> AuthorityFiles::read_own(pki::Instant now) {
  auto text = read_if_there(path(kOwn));
  if (!text) return std::move(text).error();
  if (!*text) return std::optional<pki::Authority>();
  const std::size_t key_at = key_in(**text);
  auto authority =
      pki::Authority::parse((*text)->substr(0, key_at), (*text)->substr(key_at), now, passphrase_);
  if (!authority)
    return std::move(authority).error().with_context(
        path(kOwn) + " (if it is damaged, restore it from a backup: every agent knows this backend by it)");
  if (!passphrase_.empty() && !pki::PrivateKey::is_encrypted((*text)->substr(key_at))) {
    auto encrypted = own_text(*authority);
    if (!encrypted) return std::move(encrypted).error();
    if (auto written = base::write_durable_file(path(kOwn), *encrypted); !written)
      return std::move(written).error();
    hints_.push_back(path(kOwn) +
                     ": the key was not encrypted, and now is; copies of the old file still open without the "
                     "passphrase");
  }
  return std::optional(std::move(*authority));
}

Result<std::optional<pki::Authority>> AuthorityFiles::read_first(const AuthorityOptions& options,
                                                                 pki::Instant now) {
  first_is_brought_ = options.first.is_given();
  if (first_is_brought_) {
    auto brought = read_brought(options.first, passphrase_, "ca_cert and ca_key", now, hints_);
    if (!brought) return std::move(brought).error();
    return std::optional(std::move(*brought));
  }
  return read_own(now);
}

Result<std::optional<pki::Authority>> AuthorityFiles::read_next(const std::optional<pki::Authority>& first,
                                                                pki::Instant now) {
  auto text = read_if_there(path(kNext));
  if (!text) return std::move(text).error();
  if (!*text) return std::optional<pki::Authority>();
  const std::size_t key_at = key_in(**text);
  next_is_own_ = key_at < (*text)->size();
  if (next_is_own_) {
    auto own = pki::Authority::parse((*text)->substr(0, key_at), (*text)->substr(key_at), now, passphrase_);
    if (!own) return std::move(own).error().with_context(path(kNext));
    return std::optional(std::move(*own));
  }
  const auto chain = pki::Certificate::parse_chain(**text);
  if (!chain) return Error(chain.error()).with_context(path(kNext));
  // The operator has put it in the first one's place: what there was before is gone.
  if (first && first->issuer_hash() == chain->front().public_hash()) {
    if (auto removed = base::remove_lasting_file(path(kNext)); !removed) return std::move(removed).error();
    return std::optional<pki::Authority>();
  }
  if (!brought_next_ || brought_next_->issuer_hash() != chain->front().public_hash())
    return Error(ErrorCode::not_found,
                 "the authority is being changed to \"" + chain->front().subject() +
                     "\", and its key is not there: give it with --next-ca-cert and --next-ca-key until the "
                     "old one is retired (opsctl ca status)");
  return brought_next_;
}

Result<AuthorityFiles> AuthorityFiles::open(const DataFolder& data, const AuthorityOptions& options,
                                            pki::Instant now) {
  auto passphrase = read_passphrase(options.first.passphrase_file, kFirstCredential);
  if (!passphrase) return std::move(passphrase).error();
  AuthorityFiles files(data.path(), std::move(*passphrase));
  if (auto read = files.read_retired(); !read) return std::move(read).error();
  if (options.next.is_given()) {
    auto opens_next = read_passphrase(options.next.passphrase_file, kNextCredential);
    if (!opens_next) return std::move(opens_next).error();
    auto brought = read_brought(options.next, opens_next->empty() ? files.passphrase_ : *opens_next,
                                "next_ca_cert and next_ca_key", now, files.hints_);
    if (!brought) return std::move(brought).error();
    files.brought_next_ = std::move(*brought);
  }
  auto first = files.read_first(options, now);
  if (!first) return std::move(first).error();
  auto next = files.read_next(*first, now);
  if (!next) return std::move(next).error();
  // The one that was brought as the next has become the only one; where it is given is for people to tidy up.
  if (!*next && files.brought_next_ && (!*first || files.is_retired(**first)) && !files.retired_.empty()) {
    *next = files.brought_next_;
    files.hints_.emplace_back(
        "the authority of --next-ca-cert is the only one now: give it with --ca-cert and --ca-key, and leave "
        "--next-ca-cert out");
  }
  std::vector<pki::Authority> active;
  if (*first && files.is_retired(**first)) {
    if (!*next || files.is_retired(**next))
      return Error(
          ErrorCode::permission,
          "\"" + (*first)->subject() +
              "\" was retired as this backend's authority, and agents do not trust it any more: " +
              (files.first_is_brought_
                   ? "give the one that follows it with --ca-cert and --ca-key"
                   : files.path(kOwn) + " is from before that; restore the later one from a backup"));
    if (auto finished = files.finish_retirement(); !finished) return std::move(finished).error();
  } else if (*first) {
    active.push_back(std::move(**first));
  } else if (!*next) {
    if (!files.retired_.empty())
      return Error(ErrorCode::not_found,
                   "this backend's authority was changed to one that was brought, which is missing now: give "
                   "it with --ca-cert and --ca-key");
    auto made = pki::Authority::generate(now);
    if (!made) return std::move(made).error();
    auto text = files.own_text(*made);
    if (!text) return std::move(text).error();
    if (auto written = base::write_durable_file(files.path(kOwn), *text); !written)
      return std::move(written).error();
    active.push_back(std::move(*made));
  }
  if (*next) active.push_back(std::move(**next));
  if (active.back().not_after() < now + kSoon)
    files.hints_.push_back("the authority \"" + active.back().subject() + "\" ends on " +
                           base::utc_text(active.back().not_after()) +
                           ", and with it all that it has issued: change it before that (opsctl ca rotate)");
  if (auto used = files.use(std::move(active)); !used) return std::move(used).error();
  return files;
}

Result<void> AuthorityFiles::use(std::vector<pki::Authority> active) {
  auto set = std::make_shared<fleet::AuthoritySet>();
  set->active = std::move(active);
  set->number = ++last_number_;
  if (auto written = base::write_durable_file(path(kPublished), set->published_pem()); !written)
    return written;
  set_ = std::move(set);
  return {};
}

Result<fleet::SharedAuthorities> AuthorityFiles::begin_change(pki::Instant now) {
  if (set_->is_changing())
    return Error(
        ErrorCode::exists,
        "the authority is being changed already: 'opsctl ca status' shows how far it is, and 'opsctl ca "
        "retire' ends it");
  std::vector<pki::Authority> active = set_->active;
  std::string text;
  if (brought_next_) {
    if (brought_next_->issuer_hash() == active.front().issuer_hash() || is_retired(*brought_next_))
      return Error(
          ErrorCode::exists,
          "the authority of --next-ca-cert is in use already, or was retired: bring another, and start "
          "the backend again");
    text = brought_next_->chain_pem();
    active.push_back(*brought_next_);
  } else {
    if (first_is_brought_)
      return Error(
          ErrorCode::unsupported,
          "this backend's authority was brought (--ca-cert), so the next one has to be, too: start the "
          "backend with --next-ca-cert and --next-ca-key, then 'opsctl ca rotate' again");
    auto made = pki::Authority::generate(now);
    if (!made) return std::move(made).error();
    auto own = own_text(*made);
    if (!own) return std::move(own).error();
    text = std::move(*own);
    active.push_back(std::move(*made));
  }
  if (auto written = base::write_durable_file(path(kNext), text); !written) return std::move(written).error();
  next_is_own_ = !brought_next_;
  if (auto used = use(std::move(active)); !used) return std::move(used).error();
  return set_;
}

// What is retired is noted before this.
Result<void> AuthorityFiles::finish_retirement() {
  if (next_is_own_) {
    if (::rename(path(kNext).c_str(), path(kOwn).c_str()) != 0)
      return base::os_error(errno, "renaming " + path(kNext));
    first_is_brought_ = false;
    next_is_own_ = false;
    return base::sync_folder_of(path(kOwn));
  }
  if (auto removed = base::remove_lasting_file(path(kNext)); !removed) return removed;
  brought_next_.reset();
  // A file that has nothing to do with it stays.
  if (std::exchange(first_is_brought_, true)) return {};
  return base::remove_lasting_file(path(kOwn));
}

Result<fleet::SharedAuthorities> AuthorityFiles::retire(const std::string& issuer, pki::Instant now) {
  if (!set_->is_changing())
    return Error(ErrorCode::exists,
                 "there is only one authority, which cannot be retired: 'opsctl ca rotate' makes the next");
  if (set_->oldest().issuer_hash() != issuer)
    return Error(ErrorCode::exists,
                 "the oldest authority is another one by now: look again (opsctl ca status)");
  retired_.push_back(issuer + " " + base::utc_text(now));
  std::string text;
  for (const std::string& line : retired_)
    text += line + "\n";
  if (auto written = base::write_durable_file(path(kRetired), text); !written) {
    retired_.pop_back();
    return std::move(written).error();
  }
  if (auto finished = finish_retirement(); !finished) return std::move(finished).error();
  if (auto used = use({set_->newest()}); !used) return std::move(used).error();
  return set_;
}

}  // namespace backend::server
