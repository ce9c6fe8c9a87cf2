#include "ctl/login_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include <doctest/doctest.h>

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
  REQUIRE(ctl::write_login(files.path, {.server = "http://a:1", .token = "two", .ca = "/ca.pem"}));
  const auto login = ctl::read_login(files.path);
  REQUIRE(login);
  REQUIRE(login->has_value());
  CHECK((*login)->server == "http://a:1");
  CHECK((*login)->token == "two");
  CHECK((*login)->ca == "/ca.pem");
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
