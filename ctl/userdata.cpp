#include "ctl/userdata.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "release/documents.hpp"
#include "transport/uri.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::string_view kBegin = "# opsagent settings\n";
constexpr std::string_view kEnd = "# end of settings\n";
constexpr std::string_view kRootBegin = "  cat <<'END_OF_ROOT'\n";
constexpr std::string_view kRootEnd = "END_OF_ROOT\n";
// In memory, where nothing can be run in place on many machines.
constexpr std::string_view kScriptPath = "/run/opsagent-bootstrap.sh";

Error refused(std::string_view what, std::string_view why) {
  return Error(ErrorCode::invalid, std::string(what) + " " + std::string(why));
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// What the shell neither splits nor expands, and what stands in a line of the configuration as it is.
Result<void> check_word(std::string_view what, std::string_view text) {
  constexpr std::string_view kMore = "._-:/@%+~=,[]";
  const bool fine = std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMore.find(c) != std::string_view::npos;
  });
  if (text.empty()) return refused(what, "is missing");
  if (!fine) return refused(what, "has characters that it cannot have: '" + std::string(text) + "'");
  return {};
}

Result<void> check_address(std::string_view what, std::string_view text, std::string_view plain,
                           std::string_view secure) {
  if (auto fine = check_word(what, text); !fine) return fine;
  auto uri = transport::parse_uri(text);
  if (!uri) return std::move(uri).error().with_context(std::string(what));
  if (uri->scheme != plain && uri->scheme != secure)
    return refused(what, "must be " + std::string(plain) + ":// or " + std::string(secure) + "://");
  return {};
}

Result<void> check_tag(std::string_view tag) {
  const std::size_t equals = tag.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return refused("a tag", "must be KEY=VALUE, not '" + std::string(tag) + "'");
  if (auto fine = check_word("the key of a tag", tag.substr(0, equals)); !fine) return fine;
  if (std::ranges::any_of(tag, is_control) || !base::is_utf8(tag))
    return refused("the tag " + std::string(tag.substr(0, equals)),
                   "has a newline or another character that "
                   "a configuration file cannot hold");
  return {};
}

Result<void> check_root(std::string_view document) {
  auto root = release::parse_root(document);
  if (!root) return std::move(root).error().with_context("the root document");
  if (root->product != release::kProduct)
    return refused("the root document", "is for the product '" + root->product + "'");
  if (!document.ends_with('\n') || document.find(kRootEnd) != std::string_view::npos)
    return refused("the root document", "is not laid out as 'opsctl release root' does it");
  return {};
}

// The certificates of a PEM text as words of base64, so that they fit into a line; empty when one is not
// that.
std::string words_of_pem(std::string_view pem) {
  constexpr std::string_view kFirst = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kLast = "-----END CERTIFICATE-----";
  std::string words;
  bool inside = false;
  for (std::string_view line : base::split(pem, '\n')) {
    line = base::trim(line);
    if (line == kFirst) {
      if (!words.empty()) words += ' ';
      inside = true;
    } else if (line == kLast) {
      inside = false;
    } else if (inside) {
      if (!check_word("", line)) return {};
      words += line;
    }
  }
  return inside ? std::string() : words;
}

Result<void> check(const UserdataSettings& settings) {
  if (settings.backends.empty()) return refused("the backend", "is missing");
  for (const std::string& backend : settings.backends) {
    if (auto fine = check_address("the backend", backend, "ws", "wss"); !fine) return fine;
    // The machine has a join token, and sends it to nobody who does not prove who they are.
    if (!transport::parse_uri(backend)->secure())
      return refused("the backend", "must be wss://, not '" + backend + "': machines join over TLS only");
  }
  if (auto fine = check_address("the release base", settings.release_base, "http", "https"); !fine)
    return fine;
  if (auto fine = check_word("the app", settings.app); !fine) return fine;
  if (auto fine = check_word("the channel", settings.channel); !fine) return fine;
  if (!settings.version.empty() && !release::is_version(settings.version))
    return refused("the version", "must be like 1.4.0, not '" + settings.version + "'");
  if (!settings.identity_source.empty())
    if (auto fine = check_word("the identity source", settings.identity_source); !fine) return fine;
  for (const std::string& tag : settings.tags)
    if (auto fine = check_tag(tag); !fine) return fine;
  // Never repeated in a message.
  if (!settings.join_token.empty() && !check_word("", settings.join_token))
    return refused("the join token", "has characters that none has");
  if (settings.agent_ca && settings.ca.empty()) return refused("the agent's ca", "is missing");
  if (settings.ca.empty() != words_of_pem(settings.ca).empty()) return refused("the ca", "is not PEM");
  return check_root(settings.root);
}

std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text)
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  return result + "'";
}

std::string settings_block(const UserdataSettings& settings) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view value) {
    text += std::string(name) + "=" + in_quotes(value) + "\n";
  };
  add("backend", base::join(settings.backends, " "));
  add("app", settings.app);
  add("tags", base::join(settings.tags, "\t"));  // which none of them has
  add("version", settings.version);
  add("channel", settings.channel);
  add("release_base", settings.release_base);
  add("join_token", settings.join_token);
  add("identity_source", settings.identity_source);
  add("ca", words_of_pem(settings.ca));
  add("agent_ca", settings.agent_ca ? "yes" : "");
  add("made", settings.made);
  add("wait", "600");
  return text;
}

// After these a newline is a blank to the shell.
bool goes_on(std::string_view line) {
  constexpr std::array<std::string_view, 8> kWords{"{", "then", "else", "do", "in", "||", "&&", "|"};
  const std::string_view word = line.substr(line.rfind(' ') + 1);
  return std::ranges::find(kWords, word) != kWords.end();
}

// Without remarks and indentation, in fewer lines. The template has no text that goes over several lines, and
// none with a remark's sign in it.
std::string condensed(std::string_view body) {
  std::string text;
  for (std::string_view line : base::split(body, '\n')) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty() || line.starts_with("# ")) continue;
    line = line.substr(0, line.find(" # "));
    const bool closes = line == "}" || line == "fi" || line == "done";
    if (closes && text.ends_with('\n')) text.replace(text.size() - 1, 1, "; ");
    text += std::string(line) + (goes_on(line) ? " " : "\n");
  }
  return text;
}

std::string cloud_config(std::string_view script) {
  // A literal block; its lines are indented by one more than what they belong to.
  std::string text =
      "#cloud-config\n"
      "write_files:\n"
      "- path: " +
      std::string(kScriptPath) +
      "\n"
      "  owner: root:root\n"
      "  permissions: '0700'\n"
      "  content: |\n";
  for (const std::string_view line : base::split(script, '\n'))
    text += line.empty() ? "\n" : "   " + std::string(line) + "\n";
  return text + "runcmd:\n- [ sh, " + std::string(kScriptPath) + " ]\n";
}

}  // namespace

Result<std::string> make_userdata(const UserdataSettings& settings, UserdataForm form) {
  if (auto fine = check(settings); !fine) return std::move(fine).error();
  const std::string_view from = kUserdataTemplate;
  const std::size_t begin = from.find(kBegin) + kBegin.size();
  const std::size_t end = from.find(kEnd, begin);
  const std::size_t root = from.find(kRootBegin, end) + kRootBegin.size();
  const std::size_t rest = from.find(kRootEnd, root);
  if (rest == std::string_view::npos)
    return Error(ErrorCode::internal, "the bootstrap script has no place for its settings");
  const std::string head = settings_block(settings) + std::string(from.substr(end, root - end)) +
                           settings.root + std::string(kRootEnd);
  const std::string_view opening = from.substr(0, begin), body = from.substr(rest + kRootEnd.size());
  const auto made = [&](std::string_view first, std::string_view last) {
    const std::string script = std::string(first) + head + std::string(last);
    return form == UserdataForm::script ? script : cloud_config(script);
  };
  std::string text = made(opening, body);
  if (text.size() >= kLargestUserdata) text = made(condensed(opening) + std::string(kBegin), condensed(body));
  if (text.size() < kLargestUserdata) return text;
  return Error(ErrorCode::limit, "the userdata has " + std::to_string(text.size()) +
                                     " bytes; clouds accept " + std::to_string(kLargestUserdata) +
                                     ": fewer keys in the root document, fewer tags, or a shorter list of "
                                     "certificates (--release-ca)");
}

}  // namespace ctl
