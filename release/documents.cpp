#include "release/documents.hpp"

#include <algorithm>

#include "base/values/json.hpp"
#include "release/document_text.hpp"

namespace release {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

// Ten of each is a lot. The limits keep what an agent does for a document small.
constexpr std::size_t kMostKeys = 64;
constexpr std::size_t kMostTargets = 64;
constexpr std::size_t kMostOffers = 512;
// Exact in every reader of JSON, and in a shell.
constexpr std::int64_t kLargestNumber = 9'007'199'254'740'991;

// Reads the members of one object; the first problem is kept, and what is read after it means nothing.
class Reader {
 public:
  Reader(const Value& object, std::string name, std::initializer_list<std::string_view> members)
      : object_(object), name_(std::move(name)) {
    if (!object.is_object()) fail("is not an object");
    for (const base::Member& member : object.members())
      if (std::ranges::find(members, member.key) == members.end())
        fail("has a member that it should not have: '" + std::string(member.key) + "'");
    for (const std::string_view member : members)
      if (!object.find(member)) fail("has no '" + std::string(member) + "'");
  }

  std::string text(std::string_view member, bool (*fits)(std::string_view), std::string_view what) {
    if (problem_) return {};
    const Value& value = *object_.find(member);
    if (value.kind() != Value::Kind::string || !fits(value.text())) {
      fail_member(member, what);
      return {};
    }
    return std::string(value.text());
  }

  std::uint64_t number(std::string_view member) {
    if (problem_) return 0;
    const Value& value = *object_.find(member);
    const auto given = value.kind() == Value::Kind::integer ? value.as_integer() : std::nullopt;
    if (!given || *given < 1 || *given > kLargestNumber) {
      fail_member(member, "a number from 1 on");
      return 0;
    }
    return static_cast<std::uint64_t>(*given);
  }

  Instant instant(std::string_view member) {
    const std::string given = text(
        member, [](std::string_view each) { return parse_instant(each).has_value(); },
        "an instant like 2026-11-18T00:00:00Z");
    return parse_instant(given).value_or(Instant{});
  }

  std::span<const Value> list(std::string_view member, std::size_t least, std::size_t most) {
    if (problem_) return {};
    const Value& value = *object_.find(member);
    if (value.is_list() && value.items().size() >= least && value.items().size() <= most)
      return value.items();
    fail_member(member, "a list of " + std::to_string(least) + " to " + std::to_string(most));
    return {};
  }

  void fail(const std::string& what) {
    if (!problem_) problem_ = Error(ErrorCode::invalid, name_ + " " + what);
  }
  void fail_member(std::string_view member, std::string_view what) {
    fail("has a '" + std::string(member) + "' that is not " + std::string(what));
  }
  // What a part of it has found.
  void take(const Reader& part) {
    if (!problem_) problem_ = part.problem_;
  }
  const std::optional<Error>& problem() const { return problem_; }

 private:
  const Value& object_;
  std::string name_;
  std::optional<Error> problem_;
};

bool is_any(std::string_view) {
  return true;
}

bool is_version_or_empty(std::string_view text) {
  return text.empty() || is_version(text);
}

template <Role kWanted>
bool is_role(std::string_view text) {
  return text == name_of(kWanted);
}

void read_key(const Value& value, Root& root, Reader& document) {
  Reader reader(value, "a key of the root document", {"id", "public"});
  const std::string id = reader.text("id", is_sha256, "64 hexadecimal digits");
  const std::string text = reader.text("public", is_any, "text");
  document.take(reader);
  if (document.problem()) return;
  auto key = PublicKey::parse(text);
  if (!key) return document.fail("has a key " + id + " that cannot be read: " + key.error().message());
  if (key->id() != id) return document.fail("has a key under an id that is not its own: " + id);
  if (std::ranges::find(root.keys, id, &PublicKey::id) != root.keys.end())
    return document.fail("has a key twice: " + id);
  root.keys.push_back(std::move(*key));
}

void read_role(const Value& value, Role role, Root& root, Reader& document) {
  Reader reader(value, "a role of the root document", {"role", "threshold", "keys"});
  const std::string wanted(name_of(role));
  const std::string name = reader.text("role", is_any, "text");
  if (name != wanted) reader.fail("is '" + name + "' where '" + wanted + "' belongs");
  RoleKeys keys{.role = role, .threshold = 1, .keys = {}};
  const std::uint64_t threshold = reader.number("threshold");
  for (const Value& each : reader.list("keys", 1, kMostKeys)) {
    const std::string id(each.text());
    if (std::ranges::find(root.keys, id, &PublicKey::id) == root.keys.end())
      reader.fail("names a key that is not there: '" + id + "'");
    if (std::ranges::find(keys.keys, id) != keys.keys.end()) reader.fail("names a key twice: " + id);
    keys.keys.push_back(id);
  }
  if (threshold > keys.keys.size())
    reader.fail("'" + wanted + "' has a threshold that its keys can never reach");
  keys.threshold = static_cast<std::uint32_t>(threshold);
  document.take(reader);
  root.roles.push_back(std::move(keys));
}

Root read_root(Reader& document) {
  Root root;
  root.product = document.text("product", is_word, "a word");
  root.version = document.number("version");
  root.expires = document.instant("expires");
  for (const Value& each : document.list("keys", 1, kMostKeys))
    read_key(each, root, document);
  constexpr Role kRoles[] = {Role::root, Role::release, Role::timestamp};
  std::size_t at = 0;
  for (const Value& each : document.list("roles", std::size(kRoles), std::size(kRoles)))
    read_role(each, kRoles[at++], root, document);
  return root;
}

Release read_release(Reader& document) {
  Release release;
  release.product = document.text("product", is_word, "a word");
  release.channel = document.text("channel", is_word, "a word");
  release.version = document.text("version", is_version, "a version (MAJOR.MINOR.PATCH)");
  release.number = document.number("release");
  release.min_from = document.text("min_from", is_version_or_empty, "a version, or empty");
  release.expires = document.instant("expires");
  for (const Value& each : document.list("targets", 1, kMostTargets)) {
    Reader reader(each, "a target of the release document", {"os", "arch", "size", "sha256", "path"});
    Target target{.os = reader.text("os", is_word, "a word"),
                  .arch = reader.text("arch", is_word, "a word"),
                  .size = reader.number("size"),
                  .sha256 = reader.text("sha256", is_sha256, "64 hexadecimal digits"),
                  .path = reader.text("path", is_path_below, "a path below the release base")};
    for (const Target& other : release.targets)
      if (other.os == target.os && other.arch == target.arch) reader.fail("is there twice");
    document.take(reader);
    release.targets.push_back(std::move(target));
  }
  return release;
}

Timestamp read_timestamp(Reader& document) {
  Timestamp timestamp;
  timestamp.product = document.text("product", is_word, "a word");
  timestamp.version = document.number("version");
  timestamp.expires = document.instant("expires");
  for (const Value& each : document.list("offers", 0, kMostOffers)) {
    Reader reader(each, "an offer of the timestamp document",
                  {"channel", "version", "release", "sha256", "path"});
    Offer offer{.channel = reader.text("channel", is_word, "a word"),
                .version = reader.text("version", is_version, "a version (MAJOR.MINOR.PATCH)"),
                .number = reader.number("release"),
                .sha256 = reader.text("sha256", is_sha256, "64 hexadecimal digits"),
                .path = reader.text("path", is_path_below, "a path below the release base")};
    if (!timestamp.offers.empty() && offer.number <= timestamp.offers.back().number)
      reader.fail("stands behind one with a higher or the same number");
    for (const Offer& other : timestamp.offers)
      if (other.channel == offer.channel && other.version == offer.version)
        reader.fail("is there twice: version " + offer.version + " in channel " + offer.channel);
    document.take(reader);
    timestamp.offers.push_back(std::move(offer));
  }
  return timestamp;
}

// Reads a document of this type, and demands that it is laid out as write() does it: so that whoever reads it
// line by line has read the same.
template <Role kType, class Read>
auto parse(std::string_view text, std::initializer_list<std::string_view> members, Read read)
    -> Result<decltype(read(std::declval<Reader&>()))> {
  const std::string name = "the " + std::string(name_of(kType)) + " document";
  if (text.size() > kLargestDocument)
    return Error(ErrorCode::limit, name + " is larger than " + std::to_string(kLargestDocument) + " bytes");
  base::Arena arena;
  constexpr base::DocumentLimits kLimits{.depth = 8, .values = 8192};
  const auto parsed = base::parse_json(text, arena, kLimits);
  if (const auto* problem = std::get_if<base::SyntaxProblem>(&parsed))
    return Error(ErrorCode::invalid,
                 name + " is not JSON: " + problem->message + " at byte " + std::to_string(problem->offset));
  const Value& value = std::get<Value>(parsed);
  Reader reader(value, name, members);
  reader.text("type", is_role<kType>, "'" + std::string(name_of(kType)) + "'");
  auto document = read(reader);
  if (reader.problem()) return *reader.problem();
  if (write(document) != text)
    return Error(ErrorCode::invalid,
                 name +
                     " is not laid out as 'opsctl release' writes it, one member in a line: it was "
                     "written by something else, or edited");
  return document;
}

}  // namespace

std::string_view name_of(Role role) {
  switch (role) {
    case Role::root:
      return "root";
    case Role::release:
      return "release";
    case Role::timestamp:
      return "timestamp";
  }
  return "";
}

const RoleKeys& Root::role(Role wanted) const {
  // parse_root() accepts only roots that have all of them.
  return *std::ranges::find(roles, wanted, &RoleKeys::role);
}

Result<Root> parse_root(std::string_view text) {
  return parse<Role::root>(text, {"type", "product", "version", "expires", "keys", "roles"},
                           [](Reader& reader) { return read_root(reader); });
}

Result<Release> parse_release(std::string_view text) {
  return parse<Role::release>(
      text, {"type", "product", "channel", "version", "release", "min_from", "expires", "targets"},
      [](Reader& reader) { return read_release(reader); });
}

Result<Timestamp> parse_timestamp(std::string_view text) {
  return parse<Role::timestamp>(text, {"type", "product", "version", "expires", "offers"},
                                [](Reader& reader) { return read_timestamp(reader); });
}

}  // namespace release
