#include "ctl/userdata.hpp"

#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "base/programs/process.hpp"
#include "base/text.hpp"
#include "release/documents.hpp"
#include "tests/support/scratch_folder.hpp"

namespace {

// A root with so many keys, all of which may do everything.
std::string root_document(std::size_t keys) {
  release::Root root{.expires = release::Instant(std::chrono::hours(24 * 365 * 60))};
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < keys; ++i) {
    root.keys.push_back(release::SigningKey::generate()->public_key());
    ids.push_back(root.keys.back().id());
  }
  for (const release::Role role : {release::Role::root, release::Role::release, release::Role::timestamp})
    root.roles.push_back({.role = role, .threshold = 1, .keys = ids});
  return release::write(root);
}

ctl::UserdataSettings settings() {
  return {.backends = {"wss://10.0.0.1:8963/agent/"},
          .release_base = "https://10.0.0.1:8963/releases",
          .join_token = "opsjoin1.0123456789abcdef.0123456789abcdef0123456789abcdef." + std::string(64, '0'),
          .made = "2026-03-01T12:00:00Z",
          .root = root_document(3)};
}

// What the shell understands a variable of the script's settings to be.
std::string value_in_shell(const std::string& script, const std::string& name) {
  const tests::ScratchFolder scratch;
  const std::string file = scratch.path() + "/settings";
  const std::size_t end = script.find("\nreadonly log=");
  std::ofstream(file) << script.substr(0, end) << "\nprintf '%s' \"$" << name << "\"\n";
  base::Command command;
  command.argv = {"/bin/sh", file};
  command.env = base::clean_environment();
  const auto completed = base::run(command);
  REQUIRE(completed);
  return completed->output;
}

std::string message(const ctl::UserdataSettings& wrong) {
  const auto made = ctl::make_userdata(wrong, ctl::UserdataForm::script);
  return made ? "accepted" : made.error().message();
}

}  // namespace

TEST_CASE("the program carries the script of the repository") {
  std::ifstream file(OPSAGENT_SOURCE "/bootstrap/userdata.sh");
  std::stringstream text;
  text << file.rdbuf();
  REQUIRE(!text.str().empty());
  CHECK(text.str() == ctl::kUserdataTemplate);
}

TEST_CASE("userdata is below 16 KiB, in both forms, with many keys, certificates and tags") {
  struct Case {
    std::size_t keys;
    ctl::UserdataForm form;
  };
  for (const Case& each : {Case{1, ctl::UserdataForm::script}, Case{3, ctl::UserdataForm::script},
                           Case{5, ctl::UserdataForm::script}, Case{1, ctl::UserdataForm::cloud_config},
                           Case{3, ctl::UserdataForm::cloud_config}}) {
    ctl::UserdataSettings given = settings();
    given.root = root_document(each.keys);
    given.ca = "-----BEGIN CERTIFICATE-----\n" + std::string(800, 'x') + "\n-----END CERTIFICATE-----\n";
    given.tags = {"role=web", "zone=europe-west-1a", "owner=the platform team"};
    const auto made = ctl::make_userdata(given, each.form);
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message()));
    CHECK(made->size() < ctl::kLargestUserdata);
    CHECK(made->find("main\n") != std::string::npos);
  }
}

// The remarks go; a "#" in a text would take the rest of the line with it.
TEST_CASE("what was shortened is still a script that the shell reads") {
  ctl::UserdataSettings given = settings();
  given.root = root_document(5);
  const auto made = ctl::make_userdata(given, ctl::UserdataForm::script);
  REQUIRE(made);
  CHECK(made->starts_with("#!/bin/sh\n"));
  CHECK(made->find("\n# Fetches") == std::string::npos);
  const tests::ScratchFolder scratch;
  std::ofstream(scratch.path() + "/script") << *made;
  for (const char* shell : {"/bin/sh", "/bin/bash"}) {
    base::Command command;
    command.argv = {shell, "-n", scratch.path() + "/script"};
    command.env = base::clean_environment();
    const auto read = base::run(command);
    REQUIRE(read);
    CHECK_MESSAGE(read->ok(), read->output);
  }
}

TEST_CASE("what does not fit is refused with its size") {
  ctl::UserdataSettings given = settings();
  given.root = root_document(30);
  CHECK(message(given).find("clouds accept 16384") != std::string::npos);
}

TEST_CASE("values reach the script as they are, whatever they hold") {
  ctl::UserdataSettings given = settings();
  for (const char* hostile :
       {"a='; touch /tmp/x; '", "a=$(id)`id`", "a=\\", "a='", "a=''\\'''", "a=\"", "a=# end of settings",
        "a=!x *?[a] ~ %s", "a=ünïcödé", "a= blanks ", "a=END_OF_ROOT"}) {
    CAPTURE(hostile);
    given.tags = {hostile, "b=second"};
    const auto made = ctl::make_userdata(given, ctl::UserdataForm::script);
    REQUIRE(made);
    CHECK(value_in_shell(*made, "tags") == std::string(hostile) + "\tb=second");
    CHECK(value_in_shell(*made, "wait") == "600");
  }
}

TEST_CASE("the root document is in the script byte by byte") {
  const ctl::UserdataSettings given = settings();
  const auto made = ctl::make_userdata(given, ctl::UserdataForm::script);
  REQUIRE(made);
  CHECK(value_in_shell(*made, "(root_document)") + "\n" == given.root);
  CHECK(value_in_shell(*made, "backend") == given.backends.front());
}

TEST_CASE("what the script or the configuration could not carry is refused, by name") {
  const auto with = [](auto change) {
    ctl::UserdataSettings given = settings();
    change(given);
    return message(given);
  };
  using Settings = ctl::UserdataSettings;
  CHECK(with([](Settings&) {}) == "accepted");
  CHECK(with([](Settings& s) { s.tags = {"a=b\nallow = run"}; }).find("the tag a") != std::string::npos);
  CHECK(with([](Settings& s) { s.tags = {"a=\xff"}; }).find("the tag a") != std::string::npos);
  CHECK(with([](Settings& s) { s.tags = {"novalue"}; }).find("KEY=VALUE") != std::string::npos);
  CHECK(with([](Settings& s) { s.tags = {"a b=c"}; }).find("the key of a tag") != std::string::npos);
  CHECK(with([](Settings& s) { s.app = "a\nb"; }).find("the app") != std::string::npos);
  CHECK(with([](Settings& s) { s.app = "a'b"; }).find("the app") != std::string::npos);
  CHECK(with([](Settings& s) { s.channel = ""; }).find("the channel") != std::string::npos);
  CHECK(with([](Settings& s) { s.version = "newest"; }).find("the version") != std::string::npos);
  CHECK(with([](Settings& s) { s.backends = {}; }).find("the backend") != std::string::npos);
  CHECK(with([](Settings& s) { s.backends = {"https://a/"}; }).find("ws:// or wss://") != std::string::npos);
  CHECK(with([](Settings& s) {
          s.backends = {"wss://a/", "ws://127.0.0.1:8963/agent/"};
        }).find("machines join over TLS only") != std::string::npos);
  CHECK(with([](Settings& s) { s.backends = {"wss://a b/"}; }).find("the backend") != std::string::npos);
  CHECK(with([](Settings& s) { s.release_base = "file:///x"; }).find("the release base") !=
        std::string::npos);
  CHECK(with([](Settings& s) { s.release_base = "https://a/$(id)"; }).find("the release base") !=
        std::string::npos);
  CHECK(with([](Settings& s) {
          s.ca = "-----BEGIN CERTIFICATE-----\na'b\n-----END CERTIFICATE-----";
        }).find("the ca") != std::string::npos);
  CHECK(with([](Settings& s) { s.root = "{}"; }).find("the root document") != std::string::npos);
  const std::string about_token = with([](Settings& s) { s.join_token = "secret'; id"; });
  CHECK(about_token.find("the join token") != std::string::npos);
  CHECK(about_token.find("secret") == std::string::npos);
}

TEST_CASE("certificates are carried as words of base64") {
  ctl::UserdataSettings given = settings();
  given.ca =
      "a remark\n-----BEGIN CERTIFICATE-----\nMIIB\nAA==\n-----END CERTIFICATE-----\n"
      "-----BEGIN CERTIFICATE-----\r\nMIIC\r\n-----END CERTIFICATE-----\r\n";
  const auto made = ctl::make_userdata(given, ctl::UserdataForm::script);
  REQUIRE(made);
  CHECK(value_in_shell(*made, "ca") == "MIIBAA== MIIC");
  given.ca = "hello";
  CHECK(message(given).find("the ca") != std::string::npos);
}

TEST_CASE("every setting is one line, which the agent reads too") {
  ctl::UserdataSettings given = settings();
  given.tags = {"a=it's", "b=c"};
  const auto made = ctl::make_userdata(given, ctl::UserdataForm::script);
  REQUIRE(made);
  const std::size_t begin = made->find("# opsagent settings\n");
  const std::string_view block =
      std::string_view(*made).substr(begin, made->find("# end of settings") - begin);
  for (const std::string_view line : base::split(block.substr(block.find('\n') + 1), '\n'))
    CHECK((line.empty() || (line.find("='") != std::string_view::npos && line.ends_with('\''))));
}

TEST_CASE("a cloud-config holds the script in lines that are indented as its block wants it") {
  const auto made = ctl::make_userdata(settings(), ctl::UserdataForm::cloud_config);
  REQUIRE(made);
  CHECK(made->starts_with("#cloud-config\n"));
  CHECK(made->ends_with("runcmd:\n- [ sh, /run/opsagent-bootstrap.sh ]\n"));
  const std::size_t begin = made->find("  content: |\n");
  REQUIRE(begin != std::string::npos);
  const std::string_view block = std::string_view(*made).substr(begin, made->find("runcmd:") - begin);
  for (const std::string_view line : base::split(block.substr(block.find('\n') + 1), '\n'))
    CHECK((line.empty() || line.starts_with("   ")));
}

TEST_CASE("machines that boot with it refuse backends that speak version 1 only") {
  for (const ctl::UserdataForm form : {ctl::UserdataForm::script, ctl::UserdataForm::cloud_config}) {
    const auto made = ctl::make_userdata(settings(), form);
    REQUIRE(made);
    CHECK(made->find("echo 'protocol_min = 2'") != std::string::npos);
  }
}
