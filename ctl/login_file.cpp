#include "ctl/login_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/files/private_folder.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "ctl/api.hpp"
#include "ctl/fields.hpp"
#include "transport/uri.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestLogin = 64 * 1024;

Result<void> make_folder(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  return base::os_error(errno, "cannot create " + path);
}

bool is_this_machine(std::string_view server) {
  const auto uri = transport::parse_uri(server);
  return uri && uri->is_local();
}

// The same place, asked for without TLS though TLS is known to be spoken there.
bool falls_back(const Login& stored, std::string_view server) {
  const auto before = transport::parse_uri(stored.server);
  const auto now = transport::parse_uri(server);
  if (!before || !now || now->secure() || !(before->secure() || !stored.ca.empty())) return false;
  // Any name of this machine is this machine.
  return before->port == now->port && (before->host == now->host || (before->is_local() && now->is_local()));
}

Error refuse_fallback(const std::string& stored, const std::string& server) {
  return Error(ErrorCode::invalid,
               server + ": you are logged in to " + stored +
                   ", and no access token goes to the same port without TLS: whoever listens there in the "
                   "backend's place could take it. Use https://");
}

std::string without_slash(std::string server) {
  while (server.ends_with('/'))
    server.pop_back();
  return server;
}

}  // namespace

std::string login_path() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config && *config == '/') return std::string(config) + "/opsctl/config";
  const char* home = std::getenv("HOME");
  return home && *home == '/' ? std::string(home) + "/.config/opsctl/config" : "";
}

Result<std::optional<Login>> read_login(const std::string& path) {
  if (path.empty()) return std::optional<Login>();
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd && (errno == ENOENT || errno == ENOTDIR)) return std::optional<Login>();
  if (!fd) return base::os_error(errno, path);
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return base::os_error(errno, path);
  // Else somebody else says where tokens go, or whose they are.
  if (st.st_uid != ::geteuid())
    return Error(ErrorCode::permission, path + " belongs to uid " + std::to_string(st.st_uid) +
                                            ", not to you; 'opsctl login' with a HOME of your own");
  if ((st.st_mode & 077) != 0)
    return Error(ErrorCode::permission, path + ": others can read the access token in it; 'chmod 600 " +
                                            path + "', or 'opsctl login' again");
  auto text = base::read_all(fd.get(), kLargestLogin, path);
  if (!text) return std::move(text).error();
  Login login;
  for (const std::string_view line : base::split(*text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = base::trim(line.substr(0, equals));
    const std::string_view value = base::trim(line.substr(equals + 1));
    if (name == "server") login.server = value;
    if (name == "token") login.token = value;
    if (name == "ca") login.ca = value;
    if (name == "authorities") login.authorities = value;
  }
  return std::optional(std::move(login));
}

namespace {

// The file appears whole or not at all, and for its owner only.
Result<void> write_private(const std::string& path, std::string_view text) {
  if (path.empty())
    return Error(ErrorCode::invalid,
                 "there is no place to store it: neither XDG_CONFIG_HOME nor HOME is set");
  const std::string folder = path.substr(0, path.rfind('/'));
  if (auto made = make_folder(folder.substr(0, folder.rfind('/')), 0755); !made) return made;
  if (auto made = make_folder(folder, 0700); !made) return made;
  return base::write_durable_file(path, text);
}

}  // namespace

Result<void> write_login(const std::string& path, const Login& login) {
  std::string text =
      "# Written by 'opsctl login'.\nserver = " + login.server + "\ntoken = " + login.token + "\n";
  if (!login.ca.empty()) text += "ca = " + login.ca + "\n";
  if (!login.authorities.empty()) text += "authorities = " + login.authorities + "\n";
  return write_private(path, text);
}

std::string ca_path(const std::string& login) {
  return login.empty() ? "" : login.substr(0, login.rfind('/')) + "/ca.pem";
}

Result<void> write_ca(const std::string& path, std::string_view pem) {
  return write_private(path, pem);
}

Result<std::string> read_ca(const std::string& file) {
  constexpr std::size_t kLargestCa = 1024 * 1024;  // some hundred certificates
  if (file.empty()) return std::string();
  auto text = base::read_file(file, kLargestCa);
  if (!text) return std::move(text).error().with_context("--ca");
  if (text->find("-----BEGIN CERTIFICATE-----") == std::string::npos)
    return Error(ErrorCode::not_found, "--ca: " + file + ": there is no certificate (PEM) in it");
  return text;
}

Result<bool> follow_authorities(Api& api, const Login& used, const std::string& path) {
  constexpr std::size_t kMostCertificates = 16;
  if (api.authorities().empty() || path.empty() || used.ca != ca_path(path)) return false;
  auto stored = read_login(path);
  if (!stored) return std::move(stored).error();
  if (!*stored || (*stored)->ca != used.ca || (*stored)->server != used.server ||
      (*stored)->authorities == api.authorities())
    return false;
  auto reply = api.send({.path = "/authorities"});
  if (!reply) return std::move(reply).error();
  const auto certificates = items_field(reply->document.root(), "certificates");
  std::string pem;
  for (const base::Value& certificate : certificates)
    pem += text_of(certificate);
  if (certificates.empty() || certificates.size() > kMostCertificates ||
      pem.find("-----BEGIN CERTIFICATE-----") == std::string::npos)
    return Error(ErrorCode::io, "the backend does not say which authorities vouch for it");
  // In this order: killed in between, it is done once more.
  if (auto written = write_ca(used.ca, pem); !written) return std::move(written).error();
  (*stored)->authorities = text_field(reply->document.root(), "fingerprint");
  if (auto written = write_login(path, **stored); !written) return std::move(written).error();
  return true;
}

Result<std::string> read_token(const std::string& file) {
  auto text = file == "-" ? base::read_all(STDIN_FILENO, kLargestLogin, "standard input")
                          : base::read_file(file, kLargestLogin);
  if (!text) return std::move(text).error().with_context("the access token");
  const std::string_view token = base::trim(std::string_view(*text).substr(0, text->find('\n')));
  if (token.empty()) return Error(ErrorCode::not_found, file + ": there is no access token in it");
  for (const char c : token)
    if (c <= 0x20 || c >= 0x7f) return Error(ErrorCode::not_found, file + ": this is no access token");
  return std::string(token);
}

namespace {

// Whether ./opsbackend-data is there, and ours: who can write to it, or to this folder, could have us read
// any file of ours as a token and send it to whoever listens here.
Result<bool> has_local_backend() {
  struct stat st {};
  if (::lstat(std::string(kLocalFolder).c_str(), &st) != 0) return false;
  const auto refuse = [](const std::string& why) {
    return Error(ErrorCode::permission,
                 "./opsbackend-data is not used: " + why + "; log in, or name the token (--token-file)");
  };
  const auto folder = base::open_guarded_folder(std::string(kLocalFolder));
  if (!folder) return refuse(folder.error().message());
  if (::fstat(folder->end.get(), &st) != 0 || st.st_uid != ::geteuid())
    return refuse("it belongs to uid " + std::to_string(st.st_uid));
  for (const std::string_view path : {kLocalToken, kLocalCa}) {
    const std::string name(path.substr(kLocalFolder.size() + 1));
    if (::fstatat(folder->end.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(st.st_mode) || st.st_uid != ::geteuid())
      return refuse(name + " in it is not a file of your own");
  }
  return true;
}

}  // namespace

Result<Login> choose_login(const Options& options, const std::string& path) {
  auto stored = read_login(path);
  if (!stored) return std::move(stored).error();
  Login login;
  login.server = without_slash(!options.server.empty()                 ? options.server
                               : *stored && !(*stored)->server.empty() ? (*stored)->server
                                                                       : std::string(kDefaultServer));
  if (*stored && falls_back(**stored, login.server)) return refuse_fallback((*stored)->server, login.server);
  const bool is_stored = *stored && (*stored)->server == login.server;
  login.ca = !options.ca.empty() || !is_stored ? options.ca : (*stored)->ca;
  if (!options.token_file.empty()) {
    auto token = read_token(options.token_file);
    if (!token) return std::move(token).error();
    login.token = std::move(*token);
  } else if (is_stored) {
    login.token = (*stored)->token;
  } else if (is_this_machine(login.server)) {
    const auto has_backend = has_local_backend();
    if (!has_backend) return has_backend.error();
    if (!*has_backend) return login;
    // So that a backend that was started in this folder needs no further step. One that has an authority
    // speaks TLS: its token goes to nobody who does not.
    const bool has_authority = ::access(kLocalCa.data(), F_OK) == 0;
    const auto uri = transport::parse_uri(login.server);
    if (has_authority && !uri->secure())
      return Error(ErrorCode::invalid, login.server +
                                           ": the backend of ./opsbackend-data speaks TLS, and its "
                                           "access token goes nowhere else: use https://" +
                                           uri->authority() +
                                           ", or name the token of another backend (--token-file)");
    if (login.ca.empty() && ::access(kLocalCa.data(), R_OK) == 0) login.ca = kLocalCa;
    if (auto token = read_token(std::string(kLocalToken))) login.token = std::move(*token);
  }
  return login;
}

}  // namespace ctl
