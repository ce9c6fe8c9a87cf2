#include "states/linux_apt_ppa/ppa_sources.hpp"

#include <algorithm>

#include "base/files/below_root.hpp"
#include "base/text.hpp"
#include "states/debian/apt_lists.hpp"

namespace states::linux_apt_ppa {

namespace {

constexpr std::size_t kLargestSource = 4 * 1024 * 1024;

// "https://user@ppa.launchpadcontent.net/owner/archive/ubuntu"
bool is_address_of(std::string_view address, std::string_view ppa) {
  const std::size_t scheme = address.find("://");
  if (scheme == address.npos) return false;
  address.remove_prefix(scheme + 3);
  const std::size_t slash = address.find('/');
  if (slash == address.npos) return false;
  std::string_view host = address.substr(0, slash);
  if (const std::size_t at = host.rfind('@'); at != host.npos) host.remove_prefix(at + 1);
  const bool is_launchpad = host == "ppa.launchpad.net" || host == "ppa.launchpadcontent.net" ||
                            host.starts_with("private-ppa.launchpad");
  const std::string path = std::string(ppa) + "/";
  return is_launchpad && (std::string(address.substr(slash + 1)) + "/").starts_with(path);
}

// One stanza of deb822: enabled unless it says otherwise, and of this archive.
struct Stanza {
  bool is_enabled = true;
  bool has_address = false;

  bool names_it() const { return is_enabled && has_address; }
};

}  // namespace

bool list_names_ppa(std::string_view text, std::string_view ppa) {
  return std::ranges::any_of(base::split(text, '\n'), [&](std::string_view line) {
    const auto words = base::split_words(line.substr(0, line.find('#')));
    return words.size() > 1 && (words[0] == "deb" || words[0] == "deb-src") &&
           std::ranges::any_of(words, [&](std::string_view word) { return is_address_of(word, ppa); });
  });
}

bool sources_name_ppa(std::string_view text, std::string_view ppa) {
  Stanza stanza;
  std::string_view field;
  for (const std::string_view line : base::split(text, '\n')) {
    if (base::trim(line).empty()) {
      if (stanza.names_it()) return true;
      stanza = {};
      continue;
    }
    if (line.starts_with('#')) continue;
    std::string_view value = line;
    if (line.front() != ' ' && line.front() != '\t') {
      const std::size_t colon = line.find(':');
      field = line.substr(0, colon);
      value = colon == line.npos ? std::string_view() : line.substr(colon + 1);
    }
    if (base::equal_ignoring_case(field, "enabled")) {
      const std::string_view said = base::trim(value);
      stanza.is_enabled = !base::equal_ignoring_case(said, "no") && !base::equal_ignoring_case(said, "false");
    }
    if (base::equal_ignoring_case(field, "uris"))
      for (const std::string_view word : base::split_words(value))
        stanza.has_address = stanza.has_address || is_address_of(word, ppa);
  }
  return stanza.names_it();
}

base::Result<bool> is_configured(std::string_view ppa, Context& context) {
  const std::string folder(debian::kAptSourcesFolder);
  auto opened = context.tree.folder(folder);
  if (!opened && opened.error().code() == base::ErrorCode::not_found) return false;
  if (!opened) return std::move(opened).error();
  for (const std::string& name : base::names_below(context.host.root, folder)) {
    const bool is_list = name.ends_with(".list"), is_deb822 = name.ends_with(".sources");
    if (!is_list && !is_deb822) continue;
    auto text = context.tree.read(folder + "/" + name, kLargestSource);
    if (!text && text.error().code() == base::ErrorCode::not_found) continue;
    if (!text) return std::move(text).error();
    if (is_list ? list_names_ppa(*text, ppa) : sources_name_ppa(*text, ppa)) return true;
  }
  return false;
}

}  // namespace states::linux_apt_ppa
