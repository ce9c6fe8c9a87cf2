// Repository: a release base as its publisher sees it: the folder that a web server serves. It makes the
// documents, signs them and puts them into their places. One process at a time changes a folder (flock);
// blocks; one thread.
//
// Nobody who reads the folder meanwhile gets half a file: all is written beside its place and renamed. What
// is new gets its signatures first, then itself: who finds the document finds them. Of timestamp.json, which
// is replaced, the document goes first and the signatures follow at once: who fetches in that order gets two
// that do not belong together only if both renames fall between his two requests, and asks again.
//
// A document that not enough keys have signed yet is kept as NAME.draft, with NAME.draft.sig: it can be
// carried to other keys, and agents do not see it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "release/documents.hpp"
#include "release/signatures.hpp"

namespace release {

using Signers = std::vector<SigningKey>;

struct RoleChoice {
  std::vector<PublicKey> keys;  // none: as before
  std::uint32_t threshold = 0;  // 0: as before; 1 when there was none
};
struct RootChoice {
  std::map<Role, RoleChoice> roles;
  Instant expires;
};

// What became of a document.
struct Placed {
  std::string path;                   // where it is now
  std::string missing;                // "1 more 'root' key of root 2": it is a draft. Empty: it is published
  std::vector<std::string> left_out;  // signatures that agents would refuse, and why
};

struct Publication {
  std::vector<std::string> archives;
  std::string version;  // empty: the archives'
  std::string channel = "stable";
  std::string min_from;
  Instant expires;            // of the release
  Instant timestamp_expires;  // of the timestamp that offers it
  bool drop = false;          // other offers that are no good any more; else they are an error
};
struct Published {
  Release release;
  Placed release_document;
  std::optional<Placed> timestamp_document;  // none: no timestamp keys were given, or the release is a draft
  std::vector<std::string> dropped;          // other offers that are no good any more, and why
};

struct Stamped {
  Timestamp timestamp;
  Placed document;
  std::vector<std::string> dropped;  // offers that are no good any more, and why
  std::vector<std::string> expired;  // offers that are there, though no agent takes them
};

struct Listed {
  Release release;
  bool is_offered = false;
};

struct Checked {
  bool is_good = false;
  std::string text;
};

class Repository {
 public:
  explicit Repository(std::string folder) : folder_(std::move(folder)) {}

  // The first root; the folder is made if it is not there. All roles must have keys.
  base::Result<Placed> create_root(const RootChoice& choice, const Signers& keys);
  // The root after the newest; `keys` are of the old and of the new one.
  base::Result<Placed> rotate_root(const RootChoice& choice, const Signers& keys);

  base::Result<Published> publish(const Publication& publication, const Signers& release_keys,
                                  const Signers& timestamp_keys, Instant now);

  // What a new timestamp is to be like. An offer whose release is not what was published, or is not signed by
  // keys of the newest root, is dropped only if that is asked for; one that cannot be read never is.
  struct Stamp {
    Instant expires;
    Instant now{};
    std::string offer = {};  // with this version too
    bool drop = false;
  };
  // A new timestamp with the same offers.
  base::Result<Stamped> stamp(const Signers& keys, const Stamp& wish);
  // A new timestamp without this version, whatever channel it is in.
  base::Result<Stamped> withdraw(const std::string& version, const Signers& keys, const Stamp& wish);

  // Adds signatures to a document, a draft or not, in a release base or alone in a folder. A draft that is
  // complete then, and lies in its release base, is published. `missing` says "unknown" where the roots are
  // not at hand.
  static base::Result<Placed> sign(const std::string& document, const Signers& keys);

  // The releases by number.
  base::Result<std::vector<Listed>> list() const;
  // All that an agent would check, and the archives: each thing a line. `pinned`: begin with this root
  // document instead of the first. Bad is also a root or a release that expires within `margin`.
  std::vector<Checked> check(const std::string& pinned, Instant now, std::chrono::seconds margin = {}) const;

  // All roots, from the first (or the pinned one), each verified by the one before. The last is the newest.
  base::Result<std::vector<Root>> roots(const std::string& pinned = {}) const;

 private:
  struct Wanted {
    const Root* root;
    Role role;
  };

  base::Result<base::UniqueFd> lock() const;
  base::Result<std::vector<std::string>> names_in(const std::string& name) const;
  base::Result<std::string> read(const std::string& name) const;
  base::Result<std::optional<std::string>> read_if_there(const std::string& name) const;
  static base::Result<Placed> add_to_published(const std::string& path, const std::string& document,
                                               std::vector<Signature> signatures, const Signers& keys,
                                               const std::vector<Wanted>& wanted);
  base::Result<Placed> place(const std::string& name, const std::string& document,
                             std::vector<Signature> signatures, const Signers& keys,
                             const std::vector<Wanted>& wanted) const;
  base::Result<void> put_new(const std::string& name, const std::string& document,
                             const std::string& signatures) const;
  base::Result<void> replace(const std::string& name, const std::string& document,
                             const std::string& signatures) const;
  base::Result<Placed> place_root(Root root, const RootChoice& choice, const Root* before,
                                  const Signers& keys) const;
  base::Result<Target> add_file(const std::string& archive, std::string& version) const;
  base::Result<Release> make_release(const Publication& publication, const Timestamp& timestamp) const;
  bool is_named(const std::string& path) const;  // by a release, be it a draft; or it cannot be known
  base::Result<std::uint64_t> next_number(const Timestamp& timestamp) const;
  base::Result<Offer> offer_for(const std::string& version) const;
  base::Result<Timestamp> current_timestamp(const std::vector<Root>& roots) const;
  base::Result<Stamped> put_timestamp(const std::vector<Root>& roots, Timestamp timestamp,
                                      const Signers& keys, const Stamp& wish) const;
  // The reason why agents would refuse it; the error: that cannot be known.
  base::Result<Verdict> judge_offer(const Root& root, const Offer& offer) const;
  base::Result<std::vector<std::string>> vet_offers(const Root& root, std::vector<Offer>& offers,
                                                    bool drop) const;
  base::Result<std::vector<std::string>> expired_offers(const std::vector<Offer>& offers, Instant now) const;

  std::string folder_;
};

}  // namespace release
