// The documents that say what an agent may become, as a release base sends them.
#include <algorithm>

#include "release/document_text.hpp"
#include "release/documents.hpp"
#include "tests/fuzz/fuzz.hpp"

using fuzz::require;

namespace {

// The bootstrap script reads a member so, with sed: the line that begins with its name, up to a quote, a
// comma or a brace.
bool says(std::string_view text, std::string_view name, std::string_view value) {
  const std::string start = "\n  \"" + std::string(name) + "\": ";
  const std::size_t at = text.find(start);
  if (at == std::string_view::npos || text.find(start, at + 1) != std::string_view::npos) return false;
  std::string_view rest = text.substr(at + start.size());
  if (rest.starts_with('"')) rest.remove_prefix(1);
  return rest.substr(0, rest.find_first_of("\",}\n")) == value;
}
bool says(std::string_view text, std::string_view name, std::uint64_t value) {
  return says(text, name, std::string_view(std::to_string(value)));
}

// And the objects of a list so, one a line.
std::size_t objects(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find("\n    {", at)) != std::string_view::npos; ++at)
    ++count;
  return count;
}

template <class Document>
void check_layout(std::string_view text, const Document& document) {
  require(release::write(document) == text, "there is one way to write a document");
  require(says(text, "product", document.product), "a shell reads the same product");
  require(says(text, "version", document.version), "a shell reads the same version");
  require(says(text, "expires", std::string_view(release::to_text(document.expires))),
          "a shell reads the same expiry");
}

void check(std::string_view text, const release::Root& root) {
  check_layout(text, root);
  require(objects(text) == root.keys.size() + root.roles.size(), "a shell finds all keys and roles");
  for (const auto role : {release::Role::root, release::Role::release, release::Role::timestamp}) {
    const release::RoleKeys& keys = root.role(role);
    require(keys.role == role, "each role is there");
    require(keys.threshold >= 1 && keys.threshold <= keys.keys.size(), "a threshold can be reached");
    for (const std::string& id : keys.keys) {
      require(std::ranges::count(keys.keys, id) == 1, "a role has a key once");
      require(std::ranges::count(root.keys, id, &release::PublicKey::id) == 1, "a role's key is there");
    }
  }
}

void check(std::string_view text, const release::Release& release) {
  check_layout(text, release);
  require(says(text, "release", release.number) && says(text, "channel", release.channel),
          "a shell reads the same release");
  require(release::is_version(release.version), "a release has a version");
  require(objects(text) == release.targets.size() && !release.targets.empty(), "a shell finds all targets");
  for (const release::Target& target : release.targets)
    require(release::is_path_below(target.path) && target.path.find("..") != 0 && target.size > 0,
            "an archive is below the release base");
}

void check(std::string_view text, const release::Timestamp& timestamp) {
  check_layout(text, timestamp);
  require(objects(text) == timestamp.offers.size(), "a shell finds all offers");
  std::uint64_t before = 0;
  for (const release::Offer& offer : timestamp.offers) {
    require(offer.number > before, "offers rise");
    require(release::is_version(offer.version) && release::is_path_below(offer.path), "an offer is whole");
    before = offer.number;
  }
}

template <class Document>
int read(std::string_view text, const base::Result<Document>& document) {
  if (document) {
    check(text, *document);
    return 1;
  }
  require(!document.error().message().empty(), "a refusal says why");
  return 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const int kinds = read(text, release::parse_root(text)) + read(text, release::parse_release(text)) +
                    read(text, release::parse_timestamp(text));
  require(kinds <= 1, "a document is of one kind");
  return 0;
}
