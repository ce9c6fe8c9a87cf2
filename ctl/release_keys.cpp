#include "ctl/release_keys.hpp"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestKeyFile = 16 * 1024;
constexpr std::size_t kLongestPassphrase = 1024;
constexpr std::string_view kPublicBegin = "-----BEGIN PUBLIC KEY-----\n",
                           kPublicEnd = "-----END PUBLIC KEY-----";

// No echo while it lives.
class Silence {
 public:
  explicit Silence(int fd) : fd_(fd), works_(::tcgetattr(fd, &before_) == 0) {
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    if (works_) works_ = ::tcsetattr(fd_, TCSAFLUSH, &silent) == 0;
  }
  ~Silence() {
    if (works_) ::tcsetattr(fd_, TCSAFLUSH, &before_);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  explicit operator bool() const { return works_; }

 private:
  int fd_;
  termios before_{};
  bool works_;
};

void say(int fd, std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(fd, text.data(), text.size());
}

// The terminal itself: standard input may be something else.
Result<std::string> ask(const std::string& question) {
  const base::UniqueFd terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal)
    return Error(
        ErrorCode::not_found,
        "there is no terminal to ask for the passphrase: use --passphrase-file or OPSCTL_PASSPHRASE");
  const Silence silence(terminal.get());
  if (!silence) return base::os_error(errno, "switching the terminal's echo off");
  say(terminal.get(), question);
  std::string line;
  char c = 0;
  while (line.size() < kLongestPassphrase) {
    const ssize_t got = ::read(terminal.get(), &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || c == '\n') break;
    line += c;
  }
  say(terminal.get(), "\n");
  return line;
}

}  // namespace

Result<std::vector<std::string>> KeyFiles::given_passphrases() {
  std::vector<std::string> all;
  for (const std::string& file : options_.passphrase_files) {
    auto text = base::read_file(file, kLargestKeyFile);
    if (!text) return std::move(text).error();
    all.push_back(text->substr(0, text->find('\n')));
    if (all.back().empty()) return Error(ErrorCode::invalid, file + " has no passphrase in its first line");
  }
  const char* variable = std::getenv("OPSCTL_PASSPHRASE");
  if (all.empty() && variable && *variable) all.emplace_back(variable);
  for (const std::string& each : all)
    console_.redactor->add(each);
  return all;
}

Result<release::SigningKey> KeyFiles::open(const std::string& file, const std::string& pem) {
  auto given = given_passphrases();
  if (!given) return std::move(given).error();
  for (const std::string& passphrase : *given) {
    auto key = release::SigningKey::parse(pem, passphrase);
    if (key || key.error().code() != ErrorCode::permission) return key;
  }
  if (!given->empty()) return Error(ErrorCode::permission, file + ": wrong passphrase");
  auto passphrase = ask("Passphrase of " + file + ": ");
  if (!passphrase) return std::move(passphrase).error();
  return release::SigningKey::parse(pem, *passphrase);
}

Result<KeyFiles::AnyKey> KeyFiles::any_key(const std::string& file) {
  auto text = base::read_file(file, kLargestKeyFile);
  if (!text) return std::move(text).error();
  std::string_view shown = base::trim(*text);
  if (shown.starts_with(kPublicBegin) && shown.ends_with(kPublicEnd)) {
    shown.remove_prefix(kPublicBegin.size());
    shown = base::trim(shown.substr(0, shown.size() - kPublicEnd.size()));
  }
  if (!shown.starts_with("-----")) {
    auto key = release::PublicKey::parse(shown);
    if (!key) return std::move(key).error().with_context(file);
    return AnyKey(std::move(*key));
  }
  auto key = open(file, *text);
  if (!key) return std::move(key).error().with_context(file);
  return AnyKey(std::move(*key));
}

Result<release::SigningKey> KeyFiles::signing_key(const std::string& file) {
  auto key = any_key(file);
  if (!key) return std::move(key).error();
  if (auto* both = std::get_if<release::SigningKey>(&*key)) return std::move(*both);
  return Error(ErrorCode::invalid, file + " is a public key, and cannot sign: give the private one");
}

Result<std::vector<release::SigningKey>> KeyFiles::signing_keys(const std::vector<std::string>& files) {
  std::vector<release::SigningKey> keys;
  for (const std::string& file : files) {
    auto key = signing_key(file);
    if (!key) return std::move(key).error();
    keys.push_back(std::move(*key));
  }
  return keys;
}

Result<std::string> KeyFiles::new_passphrase(const std::string& file) {
  auto given = given_passphrases();
  if (!given) return std::move(given).error();
  if (given->size() > 1)
    return Error(ErrorCode::invalid, "a new key has one passphrase: one --passphrase-file");
  std::string passphrase;
  if (!given->empty()) {
    passphrase = given->front();
  } else {
    auto first = ask("New passphrase of " + file + ": ");
    if (!first) return std::move(first).error();
    auto again = ask("Again: ");
    if (!again) return std::move(again).error();
    if (*first != *again) return Error(ErrorCode::invalid, "the two passphrases differ: try again");
    passphrase = std::move(*first);
  }
  if (passphrase.size() < kShortestPassphrase)
    return Error(ErrorCode::invalid,
                 "a passphrase has at least " + std::to_string(kShortestPassphrase) + " characters");
  return passphrase;
}

}  // namespace ctl
