// Roots, signatures, and how files get their places. The rest is in publish.cpp and repository_check.cpp.
#include "release/repository.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "release/trust.hpp"

namespace release {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr mode_t kServed = 0644;
constexpr std::string_view kDraft = ".draft";

std::string root_name(std::uint64_t version) {
  return std::to_string(version) + ".root.json";
}

Result<void> rename_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return base::os_error(errno, "renaming " + from);
  return {};
}

// Each key signs unless it has; a key that the document does not want is a mistake.
Result<void> add_signatures(std::vector<Signature>& signatures, const Signers& keys,
                            const std::string& document, const auto& is_wanted) {
  for (const SigningKey& key : keys) {
    const std::string& id = key.public_key().id();
    if (!is_wanted(id))
      return Error(ErrorCode::invalid, "the key " + id +
                                           " may not sign this: its role has other keys ('opsctl release "
                                           "check' shows them)");
    std::erase_if(signatures, [&](const Signature& each) { return each.key_id == id; });
    auto bytes = key.sign(document);
    if (!bytes) return std::move(bytes).error();
    signatures.push_back({id, std::move(*bytes)});
  }
  return {};
}

Result<std::vector<Signature>> signatures_beside(const std::string& path) {
  auto text = base::read_file(path + ".sig", kLargestSignatures);
  if (!text && text.error().code() == ErrorCode::not_found) return std::vector<Signature>();
  if (!text) return std::move(text).error();
  auto parsed = parse_signatures(*text);
  if (!parsed) return std::move(parsed).error().with_context(path + ".sig");
  return parsed;
}

// Which document a file is.
struct Kind {
  Role role = Role::root;
  std::string name;  // its place in a release base
  std::uint64_t version = 0;
  std::optional<Root> root;
};

Result<Kind> recognise(const std::string& path, const std::string& document) {
  if (auto root = parse_root(document)) {
    const std::uint64_t version = root->version;
    return Kind{Role::root, root_name(version), version, std::move(*root)};
  }
  if (const auto release = parse_release(document))
    return Kind{Role::release, "releases/" + std::to_string(release->number) + ".json", release->number, {}};
  if (const auto timestamp = parse_timestamp(document))
    return Kind{Role::timestamp, "timestamp.json", timestamp->version, {}};
  return Error(ErrorCode::invalid,
               path +
                   " is none of the documents that are signed (root, release, timestamp), "
                   "or was edited: take a copy as 'opsctl release' made it");
}

// The release base that a document lies in, if it lies in one.
std::string base_of(const std::string& path, Role role) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::string base = (role == Role::release ? folder.parent_path() : folder).string();
  if (!base.empty()) return base;
  return role == Role::release && folder.empty() ? ".." : ".";
}

}  // namespace

Result<base::UniqueFd> Repository::lock() const {
  base::UniqueFd fd(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return base::os_error(errno, "opening the release base " + folder_);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return Error(ErrorCode::exists, "another opsctl is changing " + folder_ + ": try again when it is done");
  // Killed between its two renames: the document has its place, its signatures follow now.
  const std::string next = folder_ + "/timestamp.json.next", sig = folder_ + "/timestamp.json.sig";
  if (::access(next.c_str(), F_OK) != 0 && ::access((sig + ".next").c_str(), F_OK) == 0)
    if (auto moved = rename_file(sig + ".next", sig); !moved) return std::move(moved).error();
  return fd;
}

Result<std::vector<std::string>> Repository::names_in(const std::string& name) const {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_ + "/" + name, error), end; !error && at != end;
       at.increment(error))
    names.push_back(at->path().filename().string());
  if (error && error != std::errc::no_such_file_or_directory)
    return Error(ErrorCode::io, "reading " + folder_ + "/" + name + ": " + error.message());
  return names;
}

Result<std::string> Repository::read(const std::string& name) const {
  return base::read_file(folder_ + "/" + name, kLargestDocument);
}

Result<std::optional<std::string>> Repository::read_if_there(const std::string& name) const {
  auto text = read(name);
  if (text) return std::optional(std::move(*text));
  if (text.error().code() == ErrorCode::not_found) return std::optional<std::string>();
  return std::move(text).error();
}

Result<void> Repository::put_new(const std::string& name, const std::string& document,
                                 const std::string& signatures) const {
  const std::string path = folder_ + "/" + name;
  if (::access(path.c_str(), F_OK) == 0)
    return Error(ErrorCode::exists, path + " is there already, and what was published never changes");
  if (auto put = base::write_durable_file(path + ".sig", signatures, kServed); !put) return put;
  return base::write_durable_file(path, document, kServed);
}

Result<void> Repository::replace(const std::string& name, const std::string& document,
                                 const std::string& signatures) const {
  const std::string path = folder_ + "/" + name;
  // In this order: a ".sig.next" without its ".next" says that the document has been renamed, see lock().
  if (auto put = base::write_durable_file(path + ".next", document, kServed); !put) return put;
  if (auto put = base::write_durable_file(path + ".sig.next", signatures, kServed); !put) return put;
  if (auto moved = rename_file(path + ".next", path); !moved) return moved;
  if (auto moved = rename_file(path + ".sig.next", path + ".sig"); !moved) return moved;
  return base::sync_folder_of(path);
}

namespace {

bool wants(const auto& wanted, const std::string& id) {
  return std::ranges::any_of(wanted, [&](const auto& each) {
    const RoleKeys& role = each.root->role(each.role);
    return std::ranges::find(role.keys, id) != role.keys.end();
  });
}

// Leaves those that agents accept: good ones, by keys that are asked, each once. Agents refuse the document
// for any other, even beyond the threshold.
std::vector<std::string> leave_out_bad(std::vector<Signature>& signatures, const std::string& document,
                                       const auto& wanted) {
  std::vector<std::string> left_out;
  std::vector<Signature> good;
  for (Signature& each : signatures) {
    const bool is_known = wants(wanted, each.key_id);
    const bool is_right = std::ranges::any_of(
        wanted, [&](const auto& role) { return is_good(*role.root, role.role, document, each); });
    if (!is_right)
      left_out.push_back("the signature of the key " + each.key_id +
                         (is_known ? " is not of this document" : ": its role has other keys"));
    else if (std::ranges::find(good, each.key_id, &Signature::key_id) == good.end())
      good.push_back(std::move(each));
  }
  signatures = std::move(good);
  return left_out;
}

// As an agent judges exactly these bytes.
Result<void> check_as_agent(const std::string& document, const std::string& signatures, const auto& wanted) {
  const Verdict verdict = wanted.size() == 2
                              ? judge_next_root(*wanted[0].root, *wanted[1].root, document, signatures)
                              : judge_signatures(*wanted[0].root, wanted[0].role, document, signatures);
  if (verdict) return {};
  return Error(ErrorCode::invalid, "agents would refuse it, so it is not published: " + verdict.message);
}

}  // namespace

// More signatures for what agents see already.
Result<Placed> Repository::add_to_published(const std::string& path, const std::string& document,
                                            std::vector<Signature> signatures, const Signers& keys,
                                            const std::vector<Wanted>& wanted) {
  const auto is_wanted = [&](const std::string& id) { return wants(wanted, id); };
  if (auto added = add_signatures(signatures, keys, document, is_wanted); !added)
    return std::move(added).error();
  Placed placed{.path = path, .missing = {}, .left_out = leave_out_bad(signatures, document, wanted)};
  const std::string text = write(signatures);
  if (auto fine = check_as_agent(document, text, wanted); !fine) return std::move(fine).error();
  if (auto put = base::write_durable_file(path + ".sig", text, kServed); !put) return std::move(put).error();
  return placed;
}

Result<Placed> Repository::place(const std::string& name, const std::string& document,
                                 std::vector<Signature> signatures, const Signers& keys,
                                 const std::vector<Wanted>& wanted) const {
  const auto is_wanted = [&](const std::string& id) { return wants(wanted, id); };
  if (auto added = add_signatures(signatures, keys, document, is_wanted); !added)
    return std::move(added).error();
  Placed placed{
      .path = folder_ + "/" + name, .missing = {}, .left_out = leave_out_bad(signatures, document, wanted)};
  for (const Wanted& each : wanted) {
    const std::size_t missing = missing_signatures(*each.root, each.role, document, signatures);
    if (missing > 0)
      placed.missing += (placed.missing.empty() ? "" : ", ") + std::to_string(missing) + " more '" +
                        std::string(name_of(each.role)) + "' key" + (missing == 1 ? "" : "s") + " of root " +
                        std::to_string(each.root->version);
  }
  const std::string text = write(signatures);
  const std::string draft = placed.path + std::string(kDraft);
  if (!placed.missing.empty()) {
    placed.path = draft;
    if (auto put = base::write_durable_file(draft, document, kServed); !put) return std::move(put).error();
    if (auto put = base::write_durable_file(draft + ".sig", text, kServed); !put)
      return std::move(put).error();
    return placed;
  }
  if (auto fine = check_as_agent(document, text, wanted); !fine) return std::move(fine).error();
  auto put = name == "timestamp.json" ? replace(name, document, text) : put_new(name, document, text);
  if (!put) return std::move(put).error();
  for (const std::string& left : {draft, draft + ".sig"})
    if (auto gone = base::remove_lasting_file(left); !gone) return std::move(gone).error();
  return placed;
}

Result<std::vector<Root>> Repository::roots(const std::string& pinned) const {
  std::string first = pinned;
  if (pinned.empty()) {
    auto text = read(root_name(1));
    if (!text)
      return std::move(text).error().with_context(
          "there is no first root ('opsctl release root create' makes one)");
    auto signatures = read(root_name(1) + ".sig");
    if (!signatures) return std::move(signatures).error();
    auto root = parse_root(*text);
    if (!root) return std::move(root).error().with_context(root_name(1));
    if (auto own = check_signatures(*root, Role::root, *text, *signatures); !own)
      return std::move(own).error().with_context(root_name(1));
    first = std::move(*text);
  }
  auto trust = Trust::open(Memory{.root = first});
  if (!trust) return std::move(trust).error();
  std::vector<Root> all{trust->root()};
  while (true) {
    const std::string name = root_name(trust->next_root());
    auto text = read_if_there(name);
    if (!text) return std::move(text).error();
    if (!*text) return all;
    auto signatures = read(name + ".sig");
    if (!signatures) return std::move(signatures).error();
    if (auto taken = trust->take_root(**text, *signatures); !taken) return std::move(taken).error();
    all.push_back(trust->root());
  }
}

Result<Placed> Repository::place_root(Root root, const RootChoice& choice, const Root* before,
                                      const Signers& keys) const {
  const std::string draft = folder_ + "/" + root_name(root.version) + std::string(kDraft);
  if (::access(draft.c_str(), F_OK) == 0)
    return Error(ErrorCode::exists, draft +
                                        " is there already and waits for signatures: complete it ('opsctl "
                                        "release sign'), or remove it and " +
                                        draft + ".sig first");
  root.expires = choice.expires;
  std::vector<RoleKeys> roles;
  std::vector<PublicKey> known = before ? before->keys : std::vector<PublicKey>();
  for (const Role role : {Role::root, Role::release, Role::timestamp}) {
    RoleKeys chosen{.role = role, .threshold = 1, .keys = {}};
    if (before) chosen = before->role(role);
    const auto given = choice.roles.find(role);
    if (given != choice.roles.end()) {
      if (given->second.threshold > 0) chosen.threshold = given->second.threshold;
      if (!given->second.keys.empty()) chosen.keys.clear();
      for (const PublicKey& key : given->second.keys) {
        chosen.keys.push_back(key.id());
        known.push_back(key);
      }
    }
    if (chosen.keys.empty())
      return Error(ErrorCode::invalid, "the role '" + std::string(name_of(role)) + "' needs a key: --" +
                                           std::string(name_of(role)) + "-key FILE");
    roles.push_back(std::move(chosen));
  }
  root.roles = std::move(roles);
  root.keys.clear();
  for (const PublicKey& key : known) {
    const bool used = std::ranges::any_of(root.roles, [&](const RoleKeys& role) {
      return std::ranges::find(role.keys, key.id()) != role.keys.end();
    });
    if (used && std::ranges::find(root.keys, key.id(), &PublicKey::id) == root.keys.end())
      root.keys.push_back(key);
  }
  const std::string document = write(root);
  if (auto fine = parse_root(document); !fine) return std::move(fine).error();
  std::vector<Wanted> wanted{{&root, Role::root}};
  if (before) wanted.insert(wanted.begin(), {before, Role::root});
  return place(root_name(root.version), document, {}, keys, wanted);
}

Result<Placed> Repository::create_root(const RootChoice& choice, const Signers& keys) {
  if (::mkdir(folder_.c_str(), 0755) != 0 && errno != EEXIST)
    return base::os_error(errno, "making " + folder_);
  auto held = lock();
  if (!held) return std::move(held).error();
  if (::access((folder_ + "/" + root_name(1)).c_str(), F_OK) == 0)
    return Error(ErrorCode::exists,
                 folder_ + " has a root already: 'opsctl release root rotate' makes the next");
  return place_root(Root{}, choice, nullptr, keys);
}

Result<Placed> Repository::rotate_root(const RootChoice& choice, const Signers& keys) {
  auto held = lock();
  if (!held) return std::move(held).error();
  auto all = roots();
  if (!all) return std::move(all).error();
  Root next;
  next.version = all->back().version + 1;
  return place_root(std::move(next), choice, &all->back(), keys);
}

Result<Placed> Repository::sign(const std::string& path, const Signers& keys) {
  auto document = base::read_file(path, kLargestDocument);
  if (!document) return std::move(document).error();
  auto signatures = signatures_beside(path);
  if (!signatures) return std::move(signatures).error();
  auto kind = recognise(path, *document);
  if (!kind) return std::move(kind).error();
  const Repository base(base_of(path, kind->role));
  const auto known = base.roots();
  const std::uint64_t newest = known ? known->back().version : 0;
  // A root belongs here if it follows the newest, or is the first; others if there is a root to judge them.
  const bool is_at_home = kind->root ? kind->root->version == newest + 1 : newest > 0;
  if (is_at_home && path.ends_with(kDraft)) {
    auto held = base.lock();
    if (!held) return std::move(held).error();
    if (kind->role == Role::timestamp) {
      auto current = base.current_timestamp(*known);
      if (!current) return std::move(current).error();
      if (current->version >= kind->version)
        return Error(ErrorCode::exists, "a newer timestamp was published meanwhile: remove " + path);
    }
    std::vector<Wanted> wanted;
    if (known) wanted.push_back({&known->back(), kind->role});
    if (kind->root) wanted.push_back({&*kind->root, Role::root});
    return base.place(kind->name, *document, std::move(*signatures), keys, wanted);
  }
  const bool is_published =
      newest > 0 && !path.ends_with(kDraft) &&
      std::filesystem::path(path).filename() == std::filesystem::path(kind->name).filename() &&
      (!kind->root || kind->version <= newest);
  if (is_published) {
    auto held = base.lock();
    if (!held) return std::move(held).error();
    std::vector<Wanted> wanted;
    if (!kind->root) wanted.push_back({&known->back(), kind->role});
    for (const Root& each : *known)
      if (kind->root && (each.version == kind->version || each.version + 1 == kind->version))
        wanted.push_back({&each, Role::root});
    return add_to_published(path, *document, std::move(*signatures), keys, wanted);
  }
  // Elsewhere: whose signatures count is decided where the roots are.
  if (auto added = add_signatures(*signatures, keys, *document, [](const std::string&) { return true; });
      !added)
    return std::move(added).error();
  if (auto put = base::write_durable_file(path + ".sig", write(*signatures), kServed); !put)
    return std::move(put).error();
  return Placed{.path = path, .missing = "unknown", .left_out = {}};
}

}  // namespace release
