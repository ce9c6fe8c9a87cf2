#include "ctl/login_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "ctl/api.hpp"
#include "tests/support/scratch_folder.hpp"

namespace {

struct Files {
  tests::ScratchFolder scratch;
  std::string path = scratch.path() + "/config/opsctl/config";
  std::string token(const std::string& text) const {
    const std::string file = scratch.path() + "/token";
    std::ofstream(file) << text;
    return file;
  }
};

}  // namespace

TEST_CASE("what is stored is read back, and only its owner can read it") {
  const Files files;
  REQUIRE(ctl::write_login(files.path, {.server = "http://a:1", .token = "one", .ca = ""}));
  REQUIRE(ctl::write_login(files.path,
                           {.server = "http://a:1", .token = "two", .ca = "/ca.pem", .authorities = "f1"}));
  const auto login = ctl::read_login(files.path);
  REQUIRE(login);
  REQUIRE(login->has_value());
  CHECK((*login)->server == "http://a:1");
  CHECK((*login)->token == "two");
  CHECK((*login)->ca == "/ca.pem");
  CHECK((*login)->authorities == "f1");
  struct stat st {};
  REQUIRE(::stat(files.path.c_str(), &st) == 0);
  CHECK((st.st_mode & 0777) == 0600);
}

TEST_CASE("a stored token that others can read is refused with advice") {
  const Files files;
  REQUIRE(ctl::write_login(files.path, {.server = "http://a:1", .token = "one", .ca = ""}));
  REQUIRE(::chmod(files.path.c_str(), 0644) == 0);
  const auto login = ctl::read_login(files.path);
  REQUIRE_FALSE(login);
  CHECK(login.error().message().find("chmod 600") != std::string::npos);
}

TEST_CASE("the stored token goes to the stored server only") {
  const Files files;
  REQUIRE(ctl::write_login(files.path, {.server = "http://ops.example:1", .token = "secret", .ca = ""}));
  ctl::Options options;
  CHECK(ctl::choose_login(options, files.path)->token == "secret");
  options.server = "http://ops.example:1/";
  CHECK(ctl::choose_login(options, files.path)->token == "secret");
  options.server = "http://elsewhere:1";
  CHECK(ctl::choose_login(options, files.path)->token.empty());
  options.token_file = files.token("other\n");
  CHECK(ctl::choose_login(options, files.path)->token == "other");
}

TEST_CASE("a file without a token in it is not one") {
  const Files files;
  CHECK_FALSE(ctl::read_token(files.token("")));
  CHECK_FALSE(ctl::read_token(files.token("two words")));
  CHECK(*ctl::read_token(files.token("abc\nrest")) == "abc");
  CHECK_FALSE(ctl::read_token(files.scratch.path() + "/missing"));
}

TEST_CASE("certificates are kept beside the login, for their owner, and used for the stored server only") {
  const Files files;
  const std::string pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  const std::string kept = ctl::ca_path(files.path);
  REQUIRE(ctl::write_ca(kept, pem));
  REQUIRE(ctl::write_login(files.path, {.server = "https://ops.example", .token = "one", .ca = kept}));
  struct stat st {};
  REQUIRE(::stat(kept.c_str(), &st) == 0);
  CHECK((st.st_mode & 0777) == 0600);
  ctl::Options options;
  CHECK(*ctl::read_ca(ctl::choose_login(options, files.path)->ca) == pem);
  options.server = "https://elsewhere";
  CHECK(ctl::choose_login(options, files.path)->ca.empty());
  options.ca = files.token("no certificate");
  CHECK(ctl::choose_login(options, files.path)->ca == options.ca);
  CHECK_FALSE(ctl::read_ca(options.ca));
  CHECK(ctl::read_ca("")->empty());
}

TEST_CASE("a login over https is never answered by one over http on the same port") {
  const Files files;
  REQUIRE(
      ctl::write_login(files.path, {.server = "https://127.0.0.1:8963", .token = "secret", .ca = "/ca.pem"}));
  ctl::Options options;
  options.token_file = files.token("secret\n");
  for (const char* server : {"http://127.0.0.1:8963", "http://127.0.0.1:8963/", "http://localhost:8963",
                             "http://[::1]:8963", "HTTP://127.0.0.2:8963"}) {
    CAPTURE(server);
    options.server = server;
    const auto login = ctl::choose_login(options, files.path);
    REQUIRE_FALSE(login);
    CHECK(login.error().message().find("Use https://") != std::string::npos);
  }
  // Another backend of this machine, for a trial, with a token of its own.
  options.server = "http://127.0.0.1:9000";
  CHECK(ctl::choose_login(options, files.path)->token == "secret");
  options.token_file.clear();
  CHECK(ctl::choose_login(options, files.path)->token.empty());
  // A stored plain one stays what it is.
  REQUIRE(ctl::write_login(files.path, {.server = "http://127.0.0.1:8963", .token = "plain", .ca = ""}));
  options.server = "http://127.0.0.1:8963";
  CHECK(ctl::choose_login(options, files.path)->token == "plain");
}

TEST_CASE(
    "the token of a backend in this folder goes to this machine only, and over TLS if it has an authority") {
  const Files files;
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(files.scratch.path());
  REQUIRE(::mkdir("opsbackend-data", 0700) == 0);
  std::ofstream(std::string(ctl::kLocalToken)) << "local\n";
  ctl::Options options;
  const auto token = [&](const char* server) {
    options.server = server;
    const auto login = ctl::choose_login(options, files.path);
    return login ? login->token : "refused: " + login.error().message();
  };
  for (const char* server : {"http://127.0.0.1:8963", "http://localhost:8963", "https://[::1]:8963"})
    CHECK(token(server) == "local");
  for (const char* server : {"http://127.evil.example:8963", "http://127.0.0.1.evil.example",
                             "http://localhost.evil.example", "http://127.1"})
    CHECK(token(server).empty());
  std::ofstream(std::string(ctl::kLocalCa)) << "-----BEGIN CERTIFICATE-----\n";
  CHECK(token("https://127.0.0.1:8963") == "local");
  CHECK(token("http://127.0.0.1:8963").find("refused: ") == 0);
  CHECK(token("http://127.0.0.1:8963").find("use https://127.0.0.1:8963") != std::string::npos);
  std::filesystem::current_path(before);
}

TEST_CASE("in a user's folder, or with a user's files, no file of root's is taken for a token" *
          doctest::skip(::geteuid() != 0)) {
  const Files files;
  const auto& scratch = files.scratch;
  const std::string before = std::filesystem::current_path();
  scratch.write("secret", "secret\n");
  scratch.folder("home/opsbackend-data");
  std::filesystem::current_path(scratch / "home");
  const auto token = [&] {
    const auto login = ctl::choose_login({}, files.path);
    return login ? login->token : "refused: " + login.error().message();
  };
  constexpr uid_t kUser = 65534;
  scratch.link("home/opsbackend-data/admin.token", "../../secret");
  CHECK(token().starts_with("refused: ./opsbackend-data is not used: admin.token "));  // a link
  std::filesystem::remove(scratch / "home/opsbackend-data/admin.token");
  scratch.write("home/opsbackend-data/admin.token", "local\n");
  CHECK(token() == "local");
  REQUIRE(::chown("opsbackend-data/admin.token", kUser, kUser) == 0);
  CHECK(token().starts_with("refused: "));
  REQUIRE(::chown("opsbackend-data/admin.token", 0, 0) == 0);
  REQUIRE(::chown("opsbackend-data", kUser, kUser) == 0);
  CHECK(token().starts_with("refused: "));
  REQUIRE(::chown("opsbackend-data", 0, 0) == 0);
  REQUIRE(::chown(".", kUser, kUser) == 0);  // who can put another in its place
  CHECK(token().starts_with("refused: "));
  std::filesystem::remove_all("opsbackend-data");
  CHECK(token().empty());  // nothing is there: nothing to complain of
  std::filesystem::current_path(before);
}

TEST_CASE("a login that belongs to somebody else is not ours" * doctest::skip(::geteuid() != 0)) {
  const Files files;
  REQUIRE(ctl::write_login(files.path, {.server = "http://a:1", .token = "one", .ca = ""}));
  REQUIRE(::chown(files.path.c_str(), 65534, 65534) == 0);
  const auto login = ctl::read_login(files.path);
  REQUIRE_FALSE(login);
  CHECK(login.error().message().find("belongs to uid 65534") != std::string::npos);
}

TEST_CASE("an access token goes over https, or to this machine") {
  const auto problem = [](std::string server, std::string ca = {}) {
    const auto api = ctl::Api::make({.server = std::move(server), .token = "secret", .ca = std::move(ca)});
    return api ? std::string() : api.error().message();
  };
  for (const char* server :
       {"http://127.0.0.1:8963", "http://localhost:1", "http://[::1]:1", "http://127.9.9.9"})
    CHECK(problem(server).empty());
  for (const char* server :
       {"http://127.evil.example", "http://127.0.0.1.evil.example:8963", "http://127.1", "http://0x7f.0.0.1",
        "http://2130706433", "http://localhost.evil.example", "http://ops.example.com"}) {
    CAPTURE(server);
    CHECK(problem(server).find("is not sent over plain http") != std::string::npos);
    CHECK(problem(server).find("secret") == std::string::npos);
  }
  CHECK(problem("http://127.0.0.1:8963", "-----BEGIN CERTIFICATE-----").find("use https://") !=
        std::string::npos);
}
