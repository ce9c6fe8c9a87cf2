// AuthorityFiles: the authorities of this backend, as they are kept.
//
// In the data folder, for their owner only (docs/formats.md):
//   ca.pem       the authority that was made here: certificate and key
//   ca-next.pem  while it is being changed: the one that follows; without its key if that was brought
//   ca.retired   the hashes of those that were retired: what a backup brings back is not used again
//   ca.crt       the certificates of all that count, for everybody to have
// Or an operator has brought them, as files that are read at the start.
//
// A change is one file that appears (ca-next.pem), its end one that takes the other's name: killed at any
// moment, the next start has either the set before or the one after. open() is for the start; the other
// functions for one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/fleet/authority_set.hpp"
#include "backend/server/data_folder.hpp"
#include "base/result.hpp"
#include "pki/authority.hpp"

namespace backend::server {

// Files; both or neither of a pair.
struct BroughtAuthority {
  std::string certificate = {};      // its chain, up to the root
  std::string key = {};              // of the first of the chain
  std::string passphrase_file = {};  // of the key; "": a credential, or none is needed
  bool is_given() const { return !certificate.empty() || !key.empty(); }
};

struct AuthorityOptions {
  BroughtAuthority first = {};  // its passphrase is also that of ca.pem
  BroughtAuthority next = {};   // the one that follows; see `opsctl ca rotate`
};

class AuthorityFiles {
 public:
  // Reads what there is, and makes the first authority when there is nothing. Finishes what was interrupted.
  static base::Result<AuthorityFiles> open(const DataFolder& data, const AuthorityOptions& options,
                                           pki::Instant now);

  const fleet::SharedAuthorities& now() const { return set_; }
  // For the log: what people should know about how it is set up.
  const std::vector<std::string>& hints() const { return hints_; }

  // The set with one more: the one that was brought as the next, or a new one. `exists`: there are two
  // already. `unsupported`: the present one was brought, so the next has to be, too.
  base::Result<fleet::SharedAuthorities> begin_change(pki::Instant now);
  // The set without its oldest, which must be the one with this issuer, and is never used again: its key, if
  // it is in the data folder, is gone. `exists`: there is no other.
  base::Result<fleet::SharedAuthorities> retire(const std::string& issuer, pki::Instant now);

 private:
  AuthorityFiles(std::string folder, std::string passphrase)
      : folder_(std::move(folder)), passphrase_(std::move(passphrase)) {}

  std::string path(const char* name) const { return folder_ + "/" + name; }
  base::Result<std::optional<pki::Authority>> read_first(const AuthorityOptions& options, pki::Instant now);
  base::Result<std::optional<pki::Authority>> read_own(pki::Instant now);
  base::Result<std::optional<pki::Authority>> read_next(const std::optional<pki::Authority>& first,
                                                        pki::Instant now);
  base::Result<void> read_retired();
  base::Result<void> finish_retirement();
  base::Result<std::string> own_text(const pki::Authority& authority) const;
  bool is_retired(const pki::Authority& authority) const;
  base::Result<void> use(std::vector<pki::Authority> active);

  std::string folder_;
  std::string passphrase_;  // of keys in the data folder; "": they are not encrypted
  bool first_is_brought_ = false;
  bool next_is_own_ = false;                    // it is in ca-next.pem, with its key
  std::optional<pki::Authority> brought_next_;  // not used before begin_change()
  std::vector<std::string> retired_;            // lines of ca.retired: a hash, a blank, a time
  std::vector<std::string> hints_;
  fleet::SharedAuthorities set_;
  std::uint64_t last_number_ = 0;
};

}  // namespace backend::server
