#include "recipe/lint/lint.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "states/registry.hpp"

namespace recipe::lint {

namespace {

const states::Registry& all_states() {
  static const states::Registry registry{states::native_states()};
  return registry;
}

struct Found {
  std::vector<Finding> findings;
  std::string names;  // of the rules, in the order of the text
};

Found look(std::string_view text, const Choice& choice = {}, std::string_view name = "r.yaml") {
  Inputs inputs;
  inputs.is_check = true;
  const Loaded loaded = load_text(name, std::string(text), all_states(), inputs);
  for (const Problem& problem : loaded.problems)
    FAIL_CHECK(describe(problem, name) << "\n" << text);
  Found found;
  if (!loaded.recipe) return found;
  found.findings = lint(*loaded.recipe, choice);
  for (const Finding& finding : found.findings)
    found.names += (found.names.empty() ? "" : " ") + std::string(finding.rule->name);
  return found;
}

// The rules that find something in these states of a recipe of version 2.
std::string rules_for(std::string_view states, const Choice& choice = {}) {
  return look("version: 2\nstates:\n" + std::string(states), choice).names;
}

// A file with this content, that nobody else may read.
std::string content(std::string_view text) {
  return rules_for("- linux.file: { path: /a, mode: '0600', content: '" + std::string(text) + "' }\n");
}

}  // namespace

TEST_CASE("every rule has a name, a reason and a fix, and they are in order") {
  CHECK(std::ranges::is_sorted(rules(), {}, &Rule::name));
  for (const Rule& rule : rules()) {
    CHECK(find_rule(rule.name) == &rule);
    CHECK_FALSE(rule.finds.empty());
    CHECK(rule.reason.ends_with('.'));
    CHECK_FALSE(rule.fix.empty());
    CHECK((rule.look != nullptr));
  }
}

TEST_CASE("lint: a command that nothing guards, in recipes of version 2") {
  CHECK(rules_for("- id: a\n  linux.cmd: { cmd: date }\n") == "command-without-guard");
  for (const std::string_view guard : {"creates: /a", "removes: /a", "unless: 'true'", "only_if: 'true'",
                                       "changed_when: never", "if-path-present: /a", "if-path-absent: /a"})
    CHECK(rules_for("- id: a\n  linux.cmd: { cmd: date, " + std::string(guard) + " }\n") == "");
  CHECK(rules_for("- id: a\n  linux.cmd: { cmd: date }\n  once: v1\n") == "");
  CHECK(rules_for(
            "- linux.dir: { path: /a }\n- id: b\n  linux.cmd: { cmd: date }\n  on_change_of: linux.dir*\n") ==
        "");
  CHECK(look("states: [{ id: a, module: linux.cmd, parameter: { cmd: date } }]\n").names == "");
}

TEST_CASE("lint: downloads that are run as they come, and those that can be changed on the way") {
  CHECK(rules_for("- id: a\n  linux.cmd: { cmd: 'curl -s https://x.y/i | sudo sh', creates: /a }\n") ==
        "piped-download");
  CHECK(rules_for("- id: a\n  linux.cmd: { cmd: 'wget -O- https://x.y/i | tar x', creates: /a }\n") == "");
  CHECK(rules_for("- linux.file: { path: /a, remote_uri: 'http://x.y/a' }\n") == "unverified-download");
  CHECK(rules_for("- linux.file: { path: /a, remote_uri: 'http://x.y/a#sha256=" + std::string(64, 'a') +
                  "' }\n") == "");
  CHECK(rules_for("- linux.file: { path: /a, remote_uri: 'https://x.y/a' }\n") == "");
  CHECK(rules_for("- common.git: { path: /a, repo: 'git://x.y/a' }\n") == "unverified-download");
}

TEST_CASE("lint: modes that give others too much") {
  CHECK(rules_for("- linux.file: { path: /a, mode: '0666' }\n") == "world-writable");
  CHECK(rules_for("- linux.dir: { path: /a, mode: '0777' }\n") == "world-writable");
  CHECK(rules_for("- linux.dir: { path: /a, mode: '1777' }\n") == "");
  CHECK(rules_for("- linux.dir: { path: /a, mode: '2775' }\n") == "");
  CHECK(rules_for("- linux.file: { path: /a, mode: '4755' }\n") == "setuid");
  CHECK(rules_for("- linux.file: { path: /a, mode: '0666', absent: true }\n") == "");
  CHECK(rules_for("- linux.file: { path: /a, mode: \"${{ '0666' }}\" }\n") == "");
}

TEST_CASE("lint: files with secrets that others can read") {
  CHECK(rules_for("- linux.file: { path: /root/.pgpass, content: x }\n") == "secret-others-can-read");
  CHECK(rules_for("- linux.file: { path: /etc/ssl/private/a.key, content: x, mode: '0644' }\n") ==
        "secret-others-can-read");
  CHECK(rules_for("- linux.file: { path: /etc/ssl/private/a.key, content: x, mode: '0640' }\n") == "");
  CHECK(rules_for("- linux.file: { path: /etc/apt/keyrings/a.key, content: x }\n") == "");
  CHECK(rules_for("- linux.file: { path: /home/a/.ssh/id_ed25519.pub, content: x }\n") == "");
  CHECK(rules_for("- linux.file: { path: /a, content: x }\n  sensitive: true\n") == "secret-others-can-read");
  CHECK(rules_for("- linux.file: { path: /a, content: \"${{ secret('a') }}\" }\n") ==
        "secret-others-can-read");
  CHECK(rules_for("- linux.file: { path: /a, mode: '0600', content: \"${{ secret('a') }}\" }\n") == "");
  CHECK(look("version: 2\nvars: { word: \"${{ secret('a') }}\" }\nstates:\n"
             "- linux.file: { path: /a, template: '{{ vars.word }}' }\n")
            .names == "secret-others-can-read");
}

TEST_CASE("lint: secrets in plain text, where they stand and under which name, and never what they are") {
  const std::string secret = "hunter2-Kn0wn";
  const auto check = [&](const std::string& text, std::string_view rules) {
    const Found found = look(text);
    CHECK_MESSAGE(found.names == rules, text);
    for (const Finding& finding : found.findings) {
      CHECK(finding.position.line > 1);
      CHECK(finding.message.find(secret) == std::string::npos);
    }
  };
  check("version: 2\nvars: { db_password: " + secret + " }\nstates: []\n", "secret-in-plain-text");
  check("version: 2\nvars:\n  token: { type: string, default: " + secret + " }\nstates: []\n",
        "secret-in-plain-text");
  check("version: 2\nstates:\n- linux.user: { username: a, password: " + secret + " }\n",
        "secret-in-plain-text");
  check("version: 2\nstates:\n- id: a\n  linux.cmd: { cmd: b, creates: /a, env: [{ key: API_TOKEN, value: " +
            secret + " }] }\n",
        "secret-in-plain-text");
  check("version: 2\nstates:\n- linux.file: { path: /a, mode: '0600', content: 'db.password = " + secret +
            "' }\n",
        "secret-in-plain-text");
  check("version: 2\nstates:\n- linux.file: { path: /a, content: 'https://ann:" + secret + "@x.y/' }\n",
        "password-in-url");
  check("version: 2\nstates:\n- each: [{ name: a, password: " + secret +
            " }]\n  linux.dir: { path: '/${{ item.name }}' }\n",
        "secret-in-plain-text");
  for (const std::string_view fine : {"\"!\"", "'*'", "\"$6$salt$hash\"", "\"${{ secret('a') }}\""})
    check("version: 2\nstates:\n- linux.user: { username: a, password: " + std::string(fine) + " }\n", "");
  check(
      "version: 2\nvars: { password_file: /etc/a, secret_name: databases, passwords: 5, token: \"\" "
      "}\nstates: []\n",
      "");
  for (const std::string_view fine :
       {"PasswordAuthentication no", "password: {{ x | y }}", "password = /run/secret",
        "# password = abcdef1", "password = ${DB_PASSWORD}", "https://x.y:80/a@b", "http://ann:$PASS@x.y"})
    CHECK_MESSAGE(content(fine) == "", fine);
}

TEST_CASE("lint: keys of known forms") {
  CHECK(content("-----BEGIN OPENSSH PRIVATE KEY-----") == "private-key");
  CHECK(content("-----BEGIN PUBLIC KEY-----") == "");
  CHECK(content("key AKIA" + std::string("ABCDEFGHIJKLMNOP")) == "token-in-plain-text");
  CHECK(content("AKIAIOSFODNN7EXAMPLE") == "");
  CHECK(content("ghp_" + std::string(36, 'a')) == "token-in-plain-text");
  CHECK(content("xghp_" + std::string(36, 'a')) == "");
}

TEST_CASE("lint: templates that are written as they stand") {
  CHECK(content("port {{ vars.port }}") == "template-in-content");
  CHECK(content("port {{ \"x\" }} ${{ 1 }}") == "");
}

TEST_CASE("lint: a service that does not notice what is written for it") {
  const std::string file = "- linux.file: { path: /etc/nginx/nginx.conf, content: a }\n";
  CHECK(rules_for(file + "- linux.service: { name: [nginx] }\n") == "service-not-restarted");
  CHECK(rules_for(file + "- linux.service: { name: [nginx], watch: [/etc/nginx/nginx.conf] }\n") == "");
  CHECK(rules_for(file + "- linux.service: { name: [nginx] }\n  restart_on: 'linux.file*'\n") == "");
  CHECK(rules_for(file + "- linux.service: { name: [cron] }\n") == "");
  CHECK(rules_for(file + "- linux.service: { name: [nginx], running: false }\n") == "");
}

TEST_CASE("lint: one path, two states") {
  CHECK(rules_for("- id: a\n  linux.file: { path: /a, content: x }\n- id: b\n  linux.file: { path: /a, "
                  "absent: true }\n") == "path-written-twice");
  CHECK(rules_for("- id: a\n  linux.file: { path: /a }\n- id: b\n  linux.file: { path: /a }\n  when: { os: "
                  "debian }\n") == "");
  CHECK(rules_for("- id: a\n  linux.dir: { path: [/a, /b] }\n- id: b\n  linux.dir: { path: [/c, /b] }\n") ==
        "path-written-twice");
}

TEST_CASE("lint: conditions that say nothing, and states behind the end") {
  CHECK(rules_for("- linux.file: { path: /a }\n  when: ${{ 1 == 1 }}\n") == "constant-condition");
  CHECK(rules_for("- linux.file: { path: /a }\n  when: ${{ false }}\n") == "constant-condition");
  CHECK(rules_for("- linux.file: { path: /a }\n  when: { path_exists: /a, path_absent: /a }\n") ==
        "constant-condition");
  CHECK(rules_for("- linux.file: { path: /a }\n  when: ${{ facts.os.id == 'debian' }}\n") == "");
  const std::string later = "- linux.dir: { path: /a }\n";
  CHECK(rules_for("- id: a\n  linux.cmd: { cmd: /sbin/reboot, changed_when: never }\n" + later) ==
        "states-never-reached");
  CHECK(rules_for("- id: a\n  linux.cmd: { cmd: exit 1, changed_when: never }\n" + later) ==
        "states-never-reached");
  CHECK(
      rules_for("- id: a\n  linux.cmd: { cmd: exit 1, changed_when: never }\n  continue_on_failure: true\n" +
                later) == "");
  CHECK(rules_for(later + "- id: a\n  linux.cmd: { cmd: reboot, changed_when: never }\n") == "");
  CHECK(rules_for("- id: a\n  linux.cmd: { cmd: reboot }\n  once: v1\n" + later) == "");
}

TEST_CASE("lint: keys of version 2 in recipes of version 1") {
  CHECK(look("vars: { a: 1 }\nstates: [{ id: a, module: linux.file, parameter: { path: '/${{ vars.a }}' }, "
             "once: v1 }]\n")
            .names == "version-2-key version-2-key version-2-key");
}

TEST_CASE("lint: a rule is switched off where it stands, for a file, and for a run") {
  CHECK(rules_for("- id: a\n  linux.cmd: { cmd: date }\n  _lint: [command-without-guard]\n") == "");
  CHECK(rules_for("- id: a\n  linux.cmd: { cmd: date }\n  _lint: setuid\n") == "command-without-guard");
  CHECK(rules_for("- id: a\n  linux.cmd: { cmd: date }\n  _lint: command-without-gard\n") ==
        "command-without-guard unknown-rule");
  CHECK(look("version: 2\n_lint: command-without-guard\nstates:\n- id: a\n  linux.cmd: { cmd: date }\n")
            .names == "");
  CHECK(rules_for("- id: a\n  linux.cmd: { cmd: date }\n", {.without = {"command-without-guard"}}) == "");
  const std::string latest = "- linux.apt.package: { name: [{ key: nginx, value: latest }] }\n";
  CHECK(rules_for(latest) == "");
  CHECK(rules_for(latest, {.with = {"latest-package"}}) == "latest-package");
}

TEST_CASE("lint: findings have their place, in YAML and in JSON, and there is an end to them") {
  const Found found = look("version: 2\nstates:\n- id: ä\n  linux.file: { path: /ä, mode: '0666' }\n");
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].position.line == 4);
  CHECK(found.findings[0].position.column == 33);
  CHECK(found.findings[0].state_id == "ä");
  CHECK(look(R"({"version": 2, "states": [{"linux.file": {"path": "/a", "mode": "0666"}}]})", {}, "r.json")
            .names == "world-writable");
  std::string many = "version: 2\nstates:\n";
  for (int i = 0; i < 5000; ++i)
    many += "- linux.file: { path: /" + std::to_string(i) + ", mode: '0666' }\n";
  CHECK(look(many).findings.size() == kMostFindings);
}

}  // namespace recipe::lint
