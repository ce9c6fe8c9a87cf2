// Rules about rights and secrets. Their findings say where a secret is, and never what it is.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "recipe/expressions.hpp"
#include "recipe/lint/written.hpp"

namespace recipe::lint {

namespace {

using base::Member;
using base::Value;

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string lower(std::string_view text) {
  std::string made(text);
  for (char& c : made)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return made;
}

// ---- modes

struct GivenMode {
  unsigned bits = 0;
  std::uint32_t offset = 0;
};

std::optional<GivenMode> mode_of(const WrittenState& state) {
  const Value* mode = state.param("mode");
  if (!mode) return std::nullopt;
  const std::string text =
      mode->kind() == Value::Kind::integer ? std::to_string(*mode->as_integer()) : std::string(literal(mode));
  if (text.size() < 3 || text.size() > 4) return std::nullopt;
  GivenMode given{0, mode->offset()};
  for (const char c : text) {
    if (c < '0' || c > '7') return std::nullopt;
    given.bits = given.bits * 8 + static_cast<unsigned>(c - '0');
  }
  return given;
}

bool has_mode(const WrittenState& state) {
  return state.type && !state.is("linux.symlink") && !is_true(state.param("absent"));
}

// ---- names

// "db_password", "API-KEY", "clientSecret"; not "password_file", "secret_name".
bool is_secret_name(std::string_view given) {
  constexpr std::array<std::string_view, 12> kEnds{"password",  "passwd",    "passphrase", "secret",
                                                   "token",     "apikey",    "accesskey",  "privatekey",
                                                   "secretkey", "authtoken", "credential", "credentials"};
  std::string name = lower(given);
  std::erase_if(name, [](char c) { return c == '_' || c == '-' || c == '.'; });
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); });
}

// Whether a text may be the secret itself, and not where it is, how long, or that there is none.
bool may_be_secret(std::string_view text) {
  if (text.size() < 4 || text.size() > 4096) return false;
  // Computed here, by a template, a shell or another program; a path; a placeholder.
  for (const std::string_view sign : {"{{", "${", "$(", "<", "%(", "***", "..."})
    if (text.find(sign) != std::string_view::npos) return false;
  if (text.front() == '$' || text.front() == '/' || text.front() == '!' || text.front() == '*' ||
      text.front() == '@')
    return false;
  if (text.find('\n') != std::string_view::npos) return false;
  constexpr std::array<std::string_view, 14> kWords{"true",   "false",    "none",     "null",     "file",
                                                    "prompt", "required", "optional", "disabled", "enabled",
                                                    "ignore", "default",  "removed",  "present"};
  const std::string word = lower(text);
  return std::ranges::find(kWords, word) == kWords.end();
}

// Every text of the recipe, with the state that it is in.
template <class Take>
void each_text(const Value& value, const Take& take) {
  if (value.is_text()) take(value);
  for (const Value& item : value.items())
    each_text(item, take);
  for (const Member& member : value.members())
    each_text(member.value, take);
}

template <class Take>
void each_text(const Written& file, const Take& take) {
  if (const Value* vars = file.root.find("vars"))
    each_text(*vars, [&](const Value& text) { take(nullptr, text); });
  for (const WrittenState& state : file.states)
    each_text(state.entry, [&](const Value& text) { take(&state, text); });
}

// Every member with its name: of objects, and of lists of { key, value }.
template <class Take>
void each_named(const Value& value, const Take& take) {
  const Value* key = value.find("key");
  const Value* given = value.find("value");
  if (key && given && key->is_text()) take(key->text(), *given);
  for (const Value& item : value.items())
    each_named(item, take);
  for (const Member& member : value.members()) {
    const Value* fallback = member.value.find("type") ? member.value.find("default") : nullptr;
    take(member.key, fallback ? *fallback : member.value);
    each_named(member.value, take);
  }
}

// "password = hunter2" in a file's content.
bool has_secret_line(std::string_view text) {
  for (const std::string_view line : base::split(text, '\n')) {
    const std::size_t sign = line.find_first_of("=:");
    if (sign == std::string_view::npos) continue;
    std::string_view name = base::trim(line.substr(0, sign));
    std::string_view value = base::trim(line.substr(sign + 1));
    if (value.starts_with('=') || value.starts_with('~')) continue;
    if (name.starts_with("export ")) name.remove_prefix(7);
    if (name.size() > 64 || name.find_first_of(" \t#;/\"'<(") != std::string_view::npos) continue;
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
      value = value.substr(1, value.size() - 2);
    if (value.find_first_of(" \t") != std::string_view::npos || value.size() < 6) continue;
    if (is_secret_name(name) && may_be_secret(value)) return true;
  }
  return false;
}

// Where one of some kinds of access keys is in a text.
bool has_token(std::string_view text) {
  struct Form {
    std::string_view begin;
    std::size_t length;  // of what follows, at least
  };
  constexpr std::array<Form, 10> kForms{{{"AKIA", 16},
                                         {"ASIA", 16},
                                         {"ghp_", 36},
                                         {"gho_", 36},
                                         {"github_pat_", 40},
                                         {"glpat-", 20},
                                         {"xoxb-", 20},
                                         {"xoxp-", 20},
                                         {"sk_live_", 20},
                                         {"AIzaSy", 33}}};
  for (const Form& form : kForms)
    for (std::size_t at = text.find(form.begin); at != std::string_view::npos;
         at = text.find(form.begin, at + 1)) {
      if (at > 0 && is_alnum(text[at - 1])) continue;
      const bool is_capital = form.begin.ends_with("IA");
      std::size_t end = at + form.begin.size();
      const std::size_t most = std::min(text.size(), end + 256);
      while (end < most && (is_alnum(text[end]) || (!is_capital && (text[end] == '_' || text[end] == '-'))) &&
             !(is_capital && text[end] >= 'a' && text[end] <= 'z'))
        ++end;
      const std::string_view found = text.substr(at, end - at);
      // What documentation calls keys.
      if (found.size() - form.begin.size() < form.length || found.ends_with("EXAMPLE")) continue;
      if (is_capital && found.size() != form.begin.size() + form.length) continue;
      return true;
    }
  return false;
}

// scheme://user:password@host
bool has_password_in_url(std::string_view text) {
  for (std::size_t at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 3)) {
    const std::size_t begin = at + 3;
    const std::size_t end = std::min(text.find_first_of("/?# \t\r\n\"'", begin), text.size());
    const std::string_view authority = text.substr(begin, end - begin);
    const std::size_t sign = authority.rfind('@');
    const std::size_t colon = authority.find(':');
    if (sign == std::string_view::npos || colon == std::string_view::npos || colon > sign) continue;
    const std::string_view password = authority.substr(colon + 1, sign - colon - 1);
    if (password.empty() || password.find_first_of("{}$<>*%(") != std::string_view::npos) continue;
    return true;
  }
  return false;
}

bool is_secret_path(std::string_view path) {
  const std::string whole = lower(path);
  const std::string base = whole.substr(whole.rfind('/') + 1);
  for (const std::string_view end :
       {".pub", ".crt", ".cert", ".md", ".sh", ".py", ".service", ".socket", ".timer"})
    if (base.ends_with(end)) return false;
  // Public keys of repositories have such names, too.
  for (const std::string_view folder :
       {"/apt/", "keyrings/", "rpm-gpg", "/pam.d/", "/bin/", "/sbin/", "/doc/"})
    if (whole.find(folder) != std::string::npos) return false;
  for (const std::string_view name :
       {"/.pgpass", "/.netrc", "/.my.cnf", "/.htpasswd", "/etc/shadow", "/etc/gshadow"})
    if (whole.ends_with(name)) return true;
  if (base.starts_with("id_rsa") || base.starts_with("id_ed25519") || base.starts_with("id_ecdsa"))
    return true;
  if (base.ends_with(".key") || base.ends_with("-key.pem") || base.ends_with("_key.pem") ||
      base == "privkey.pem")
    return true;
  std::string stem = base.substr(0, base.find('.', 1));
  return is_secret_name(stem);
}

bool reads_secret(const Written& file, const WrittenState& state) {
  for (const std::string_view name : {"content", "template"}) {
    const Value* value = state.param(name);
    if (!value || !value->is_text()) continue;
    if (mentions_secret(value->text(), file.secret)) return true;
  }
  return false;
}

}  // namespace

void look_for_world_writable(const Written& file, Notes& notes) {
  for (const WrittenState& state : file.states) {
    const auto mode = has_mode(state) ? mode_of(state) : std::nullopt;
    if (!mode || (mode->bits & 0002U) == 0) continue;
    const bool is_sticky = (mode->bits & 01000U) != 0;
    if (is_sticky && !state.is("linux.file")) continue;
    notes.add(&state, mode->offset, "every user may write to it");
  }
}

// A folder's set-group-id bit is common: what is made in it gets its group.
void look_for_special_bits(const Written& file, Notes& notes) {
  for (const WrittenState& state : file.states) {
    const auto mode = has_mode(state) ? mode_of(state) : std::nullopt;
    if (!mode || !state.is("linux.file")) continue;
    if ((mode->bits & 06000U) != 0)
      notes.add(&state, mode->offset, "it runs with the rights of its owner or group, whoever starts it");
  }
}

void look_for_readable_secrets(const Written& file, Notes& notes) {
  for (const WrittenState& state : file.states) {
    if (!state.is("linux.file") || is_true(state.param("absent"))) continue;
    const auto mode = mode_of(state);
    const Value* given = state.param("mode");
    const bool may_be_read = given ? mode && (mode->bits & 0004U) != 0 : true;
    if (!may_be_read) continue;
    const bool has_content = state.param("content") || state.param("template") ||
                             state.param("template_file") || state.param("remote_uri");
    // Of one without a mode that is there already, the mode stays what somebody made it.
    if (!given && !has_content) continue;
    const std::uint32_t offset = given ? mode->offset : state.entry.offset();
    const std::string how = given ? "" : ": without a 'mode', it is created with 0644";
    if (reads_secret(file, state) || is_true(state.entry.find("sensitive")))
      notes.add(&state, offset, "what is in the file is secret, and every user may read it" + how);
    else if (is_secret_path(literal(state.param("path"))))
      notes.add(&state, offset,
                "by its name there is a secret in the file, and every user may read it" + how);
  }
}

void look_for_plain_secrets(const Written& file, Notes& notes) {
  const auto check = [&](const WrittenState* state, std::string_view name, const Value& value) {
    if (is_secret_name(name) && may_be_secret(literal(&value)))
      notes.add(state, value.offset(), "'" + base::cut_text(name, 64) + "' is written down in plain text");
  };
  if (const Value* vars = file.root.find("vars"))
    each_named(*vars, [&](std::string_view name, const Value& value) { check(nullptr, name, value); });
  for (const WrittenState& state : file.states) {
    each_named(state.params, [&](std::string_view name, const Value& value) { check(&state, name, value); });
    for (const std::string_view key : {"vars", "each"})
      if (const Value* given = state.entry.find(key))
        each_named(*given, [&](std::string_view name, const Value& value) { check(&state, name, value); });
    for (const std::string_view name : {"content", "template"})
      if (const Value* text = state.param(name); text && text->is_text() && has_secret_line(text->text()))
        notes.add(&state, text->offset(), "a line of '" + std::string(name) + "' has a secret in plain text");
  }
}

void look_for_private_keys(const Written& file, Notes& notes) {
  each_text(file, [&](const WrittenState* state, const Value& value) {
    const std::string_view text = value.text();
    const std::size_t begin = text.find("-----BEGIN ");
    if (begin == std::string_view::npos) return;
    const std::size_t end = text.find("PRIVATE KEY-----", begin);
    if (end != std::string_view::npos && end - begin < 40)
      notes.add(state, value.offset(), "there is a private key in this text");
  });
}

void look_for_tokens(const Written& file, Notes& notes) {
  each_text(file, [&](const WrittenState* state, const Value& value) {
    if (has_token(value.text()))
      notes.add(state, value.offset(), "there is something in this text that looks like an access key");
  });
}

void look_for_passwords_in_urls(const Written& file, Notes& notes) {
  each_text(file, [&](const WrittenState* state, const Value& value) {
    if (has_password_in_url(value.text()))
      notes.add(state, value.offset(), "there is an address with a password in this text");
  });
}

void look_for_templates_in_content(const Written& file, Notes& notes) {
  for (const WrittenState& state : file.states)
    if (const Value* content = state.param("content"); content && looks_like_template(content->text()))
      notes.add(&state, content->offset(), "'content' has '{{ … }}' in it, and is written as it stands");
}

void look_for_unverified_downloads(const Written& file, Notes& notes) {
  for (const WrittenState& state : file.states) {
    if (!state.type || state.is("linux.apt.repo") || state.is("linux.yum.repo")) continue;
    for (const Member& member : state.params.members()) {
      const bool is_source = member.key == "remote_uri" || member.key == "source" || member.key == "repo" ||
                             member.key == "uri" || member.key == "url";
      if (!is_source) continue;
      for (const Value& value : literals(&member.value)) {
        const std::string text = lower(value.text());
        const bool is_open =
            text.starts_with("http://") || text.starts_with("git://") || text.starts_with("ftp://");
        const bool is_checked = state.params.find("checksum") || text.find("#sha256=") != std::string::npos ||
                                text.find("#sha512=") != std::string::npos ||
                                text.find("#sha1=") != std::string::npos ||
                                text.find("#md5=") != std::string::npos;
        if (is_open && !is_checked)
          notes.add(&state, value.offset(), "what is fetched here can be changed on the way");
      }
    }
  }
}

}  // namespace recipe::lint
