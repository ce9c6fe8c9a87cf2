#include "backend/server/authority_files.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include <doctest/doctest.h>

#include "backend/server/passphrase.hpp"
#include "pki/private_key.hpp"
#include "pki/verify.hpp"
#include "tests/support/openssl_program.hpp"

namespace backend::server {

namespace {

using namespace std::chrono_literals;

const std::vector<std::string> kCa{"basicConstraints=critical,CA:TRUE",
                                   "keyUsage=critical,keyCertSign,cRLSign", "subjectKeyIdentifier=hash"};

pki::Instant now() {
  return std::chrono::system_clock::now();
}
bool says(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

// A data folder, and openssl(1) beside it for what people bring.
struct Folder {
  tests::OpensslProgram openssl;
  DataFolder data = *DataFolder::open(openssl.folder() / "data");

  const tests::ScratchFolder& scratch() const { return openssl.folder(); }
  base::Result<AuthorityFiles> open(const AuthorityOptions& options = {}) const {
    return AuthorityFiles::open(data, options, now());
  }
  AuthorityFiles must_open(const AuthorityOptions& options = {}) const {
    auto opened = open(options);
    REQUIRE_MESSAGE(opened, opened.error().message());
    return std::move(*opened);
  }
  std::string refusal(const AuthorityOptions& options = {}) const {
    const auto opened = open(options);
    return opened ? "opened" : opened.error().message();
  }
  // NAME.chain and NAME.key: an intermediate below ROOT.
  BroughtAuthority chain(const std::string& name, const std::string& root) const {
    if (!scratch().exists(root + ".crt")) {
      openssl.p256_key(root);
      openssl.certificate(root, kCa);
    }
    openssl.p256_key(name);
    openssl.certificate(name, kCa, root);
    scratch().write(name + ".chain", scratch().read(name + ".crt") + scratch().read(root + ".crt"));
    return {.certificate = scratch() / (name + ".chain"), .key = scratch() / (name + ".key")};
  }
};

std::vector<std::string> issuers(const AuthorityFiles& files) {
  std::vector<std::string> hashes;
  for (const pki::Authority& each : files.now()->active)
    hashes.push_back(each.issuer_hash());
  return hashes;
}

}  // namespace

TEST_CASE("an authority of the backend's own is followed by another, which is the only one in the end") {
  const Folder folder;
  AuthorityFiles files = folder.must_open();
  const std::string old = issuers(files).front();
  CHECK_FALSE(files.retire(old, now()));  // there is no other

  const auto both = files.begin_change(now());
  REQUIRE(both);
  CHECK((*both)->active.size() == 2);
  CHECK((*both)->oldest().issuer_hash() == old);
  CHECK((*both)->for_server(now()).issuer_hash() == old);
  CHECK((folder.scratch().look("data/ca-next.pem").st_mode & 0777) == 0600);
  CHECK(says(files.begin_change(now()).error().message(), "being changed already"));
  const std::string next = (*both)->newest().issuer_hash();
  CHECK(issuers(folder.must_open()) == std::vector<std::string>{old, next});  // started again
  CHECK(pki::Certificate::parse_chain(folder.scratch().read("data/ca.crt"))->size() == 2);

  CHECK_FALSE(files.retire(next, now()));  // it is not the oldest
  const auto one = files.retire(old, now());
  REQUIRE(one);
  CHECK((*one)->active.size() == 1);
  CHECK((*one)->number != (*both)->number);
  CHECK(issuers(folder.must_open()) == std::vector<std::string>{next});
  CHECK_FALSE(folder.scratch().exists("data/ca-next.pem"));
  CHECK(pki::Certificate::parse_chain(folder.scratch().read("data/ca.crt"))->size() == 1);
  CHECK(files.begin_change(now()));  // and so on
}

TEST_CASE("a retired authority that a backup brings back is not used") {
  const Folder folder;
  AuthorityFiles files = folder.must_open();
  const std::string before = folder.scratch().read("data/ca.pem");
  REQUIRE(files.begin_change(now()));
  REQUIRE(files.retire(issuers(files).front(), now()));
  folder.scratch().write("data/ca.pem", before);
  CHECK(says(folder.refusal(), "was retired"));
  CHECK(says(folder.refusal(), "restore the later one"));
}

TEST_CASE("a backend that is killed while it retires an authority has one that agents trust") {
  std::mt19937 random(29);
  std::set<std::size_t> seen;
  for (int round = 0; round < 25; ++round) {
    const Folder folder;
    AuthorityFiles files = folder.must_open();
    REQUIRE(files.begin_change(now()));
    const std::vector<std::string> both = issuers(files);
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::write(ends[1], "x", 1) != 1) ::_exit(1);
      (void)files.retire(both.front(), now());
      ::pause();
    }
    char begun = 0;
    REQUIRE(::read(ends[0], &begun, 1) == 1);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ends[0]);
    ::close(ends[1]);
    const auto left = issuers(folder.must_open());
    CHECK((left == both || left == std::vector<std::string>{both.back()}));
    CHECK(issuers(folder.must_open()) == left);
    seen.insert(left.size());
  }
  CHECK(!seen.empty());
}

TEST_CASE("a retirement that was killed between its files is finished by the next start") {
  const Folder folder;
  AuthorityFiles files = folder.must_open();
  REQUIRE(files.begin_change(now()));
  const std::vector<std::string> both = issuers(files);
  folder.scratch().write("data/ca.retired", both.front() + " 2026-01-01T00:00:00Z\n");
  CHECK(issuers(folder.must_open()) == std::vector<std::string>{both.back()});
  CHECK_FALSE(folder.scratch().exists("data/ca-next.pem"));
  CHECK(issuers(folder.must_open()) == std::vector<std::string>{both.back()});
}

TEST_CASE("an intermediate below an offline root signs, and agents know it by the root") {
  const Folder folder;
  const AuthorityFiles files = folder.must_open({.first = folder.chain("issuing", "root")});
  const fleet::AuthoritySet& set = *files.now();
  const auto root = *pki::Certificate::parse(folder.scratch().read("root.crt"));
  const auto issuing = *pki::Certificate::parse(folder.scratch().read("issuing.crt"));
  CHECK(set.root_hashes() == std::vector<std::string>{root.public_hash()});
  CHECK(set.oldest().issuer_hash() == issuing.public_hash());
  CHECK(set.issuers_pem() == issuing.pem());
  CHECK(set.announcement(1s).roots == std::vector<std::string>{root.pem()});
  CHECK_FALSE(folder.scratch().exists("data/ca.pem"));
}

TEST_CASE("from an authority of its own to one that was brought, and to the next below the same root") {
  const Folder folder;
  const BroughtAuthority first = folder.chain("first", "root");
  AuthorityFiles own = folder.must_open({.next = first});
  CHECK(own.now()->active.size() == 1);  // it waits for its turn
  const std::string old = issuers(own).front();
  REQUIRE(own.begin_change(now()));
  CHECK_FALSE(says(folder.scratch().read("data/ca-next.pem"), "PRIVATE"));
  CHECK(says(folder.refusal(), "--next-ca-cert"));  // its key is needed until the end
  CHECK(folder.must_open({.next = first}).now()->active.size() == 2);
  REQUIRE(own.retire(old, now()));
  CHECK_FALSE(folder.scratch().exists("data/ca.pem"));  // the old key is gone

  // The operator tidies up when there is time.
  CHECK(says(folder.must_open({.next = first}).hints().front(), "with --ca-cert"));
  CHECK(issuers(folder.must_open({.next = first})) == issuers(folder.must_open({.first = first})));
  CHECK(says(folder.refusal(), "was changed to one that was brought"));  // and no new one is made

  AuthorityFiles brought = folder.must_open({.first = first});
  CHECK(says(brought.begin_change(now()).error().message(), "has to be, too"));
  const BroughtAuthority second = folder.chain("second", "root");
  AuthorityFiles changing = folder.must_open({.first = first, .next = second});
  const auto both = changing.begin_change(now());
  REQUIRE(both);
  CHECK((*both)->roots().size() == 1);  // agents hear of no new root
  CHECK((*both)->for_renewal(false).issuer_hash() == (*both)->newest().issuer_hash());
  REQUIRE(changing.retire((*both)->oldest().issuer_hash(), now()));
  CHECK(says(folder.refusal({.first = first}), "give the one that follows it"));
  CHECK(issuers(folder.must_open({.first = first, .next = second})) ==
        issuers(folder.must_open({.first = second})));
}

TEST_CASE("a key that is encrypted needs its passphrase, from a file that only its owner reads") {
  const Folder folder;
  BroughtAuthority brought = folder.chain("issuing", "root");
  folder.openssl.must(
      {"pkcs8", "-topk8", "-in", "issuing.key", "-passout", "pass:open", "-out", "locked.key"});
  brought.key = folder.scratch() / "locked.key";
  CHECK(says(folder.refusal({.first = brought}), "it is encrypted, and there is no passphrase"));
  brought.passphrase_file = folder.scratch() / "pass";
  CHECK(says(folder.refusal({.first = brought}), "pass"));
  folder.scratch().write("pass", "shut\n");
  ::chmod(brought.passphrase_file.c_str(), 0600);
  const std::string wrong = folder.refusal({.first = brought});
  CHECK(says(wrong, "the passphrase is not the one that this key was encrypted with"));
  CHECK(says(wrong, "locked.key"));
  CHECK_FALSE(says(wrong, "shut"));
  folder.scratch().write("pass", "open\nmore\n");
  ::chmod(brought.passphrase_file.c_str(), 0644);
  CHECK(says(folder.refusal({.first = brought}), "chmod 600"));
  ::chmod(brought.passphrase_file.c_str(), 0600);
  CHECK(folder.open({.first = brought}));
  folder.scratch().write("pass", "\n");
  ::chmod(brought.passphrase_file.c_str(), 0600);
  CHECK(says(folder.refusal({.first = brought}), "no passphrase in its first line"));
  folder.scratch().write("pass", std::string(2000, 'x'));
  ::chmod(brought.passphrase_file.c_str(), 0600);
  CHECK(says(folder.refusal({.first = brought}), "at most"));
}

TEST_CASE("a passphrase comes from systemd's credential when no file is named") {
  const Folder folder;
  folder.scratch().write("ca-key-passphrase", "open\n");
  ::chmod((folder.scratch() / "ca-key-passphrase").c_str(), 0400);
  CHECK(*read_passphrase("", "ca-key-passphrase") == "");
  ::setenv("CREDENTIALS_DIRECTORY", folder.scratch().path().c_str(), 1);
  CHECK(*read_passphrase("", "ca-key-passphrase") == "open");
  CHECK(*read_passphrase("", "next-ca-key-passphrase") == "");
  ::unsetenv("CREDENTIALS_DIRECTORY");
}

TEST_CASE("with a passphrase the backend's own key is encrypted on disk, also the one that was not before") {
  const Folder folder;
  const std::string hash = issuers(folder.must_open()).front();
  CHECK(says(folder.scratch().read("data/ca.pem"), "BEGIN PRIVATE KEY"));
  folder.scratch().write("pass", "open\n");
  ::chmod((folder.scratch() / "pass").c_str(), 0600);
  const AuthorityOptions with{.first = {.passphrase_file = folder.scratch() / "pass"}};
  AuthorityFiles files = folder.must_open(with);
  CHECK(issuers(files).front() == hash);
  CHECK(files.hints().size() == 1);
  CHECK_FALSE(says(folder.scratch().read("data/ca.pem"), "BEGIN PRIVATE KEY"));
  CHECK(says(folder.refusal(), "there is no passphrase"));
  REQUIRE(files.begin_change(now()));
  CHECK_FALSE(says(folder.scratch().read("data/ca-next.pem"), "BEGIN PRIVATE KEY"));
  REQUIRE(files.retire(hash, now()));
  CHECK(issuers(folder.must_open(with)) == issuers(files));
  CHECK(folder.must_open(with).hints().empty());
}

}  // namespace backend::server
