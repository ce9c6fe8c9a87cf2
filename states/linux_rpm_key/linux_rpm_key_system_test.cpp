#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/dnf_machine.hpp"

namespace states::linux_rpm_key {
extern const StateType& kState;
}

TEST_SUITE_BEGIN("system-managers");

namespace {

using states::Verdict;
using states::linux_rpm_key::kState;
using namespace tests;

// The file of a new public key; its fingerprint.
std::string make_key(const std::string& file, const std::string& who) {
  shell(
      "rm -rf /srv/gnupg; mkdir -m 700 /srv/gnupg; export GNUPGHOME=/srv/gnupg; "
      "gpg --batch --quiet --passphrase '' --quick-generate-key " +
      who +
      " rsa2048 sign never 2>/dev/null; "
      "gpg --batch --armor --export >>" +
      file + "; gpgconf --kill all");
  return shell(
      "GNUPGHOME=/srv/gnupg gpg --batch --with-colons --list-keys 2>/dev/null | "
      "awk -F: '$1 == \"fpr\" { print tolower($10); exit }'");
}

// As rpm calls a key.
std::string short_id(const std::string& fingerprint) {
  return fingerprint.substr(fingerprint.size() - 8);
}

// Two keys with the same short id, /srv/honest and /srv/evil, as anybody makes them: of 2^17 times at which a
// key may have been made, two give the same 32 bits. Answers their fingerprints.
std::pair<std::string, std::string> make_twins() {
  put("/srv/twins.py", R"(
import hashlib, os, shutil, subprocess
home = "/srv/twins"
shutil.rmtree(home, ignore_errors=True)
os.mkdir(home, 0o700)
def gpg(*words, text=None):
    return subprocess.run(["gpg", "--homedir", home, "--batch", "--quiet", "--passphrase", "", *words], input=text,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
gpg("--quick-generate-key", "t-template@example.org", "rsa2048", "sign", "never")
packet = gpg("--export")
assert packet[0] == 0x99, packet[:3]
body = packet[3:3 + int.from_bytes(packet[1:3], "big")]
rows = gpg("--with-keygrip", "--with-colons", "--list-keys").decode().split("\n")
grip = next(row.split(":")[9] for row in rows if row.startswith("grp:"))
seen = {}
for when in range(1_500_000_000, 1_502_000_000):
    text = body[:1] + when.to_bytes(4, "big") + body[5:]
    fingerprint = hashlib.sha1(b"\x99" + len(text).to_bytes(2, "big") + text).hexdigest()
    other = seen.setdefault(fingerprint[-8:], (when, fingerprint))
    if other[0] != when:
        break
for (when, fingerprint), file in (other, "honest"), ((when, fingerprint), "evil"):
    gpg("--generate-key", text=f"%no-protection\nKey-Type: RSA\nKeygrip: {grip}\nKey-Usage: sign\n"
        f"Name-Email: t-{file}@example.org\nCreation-Date: seconds={when}\n%commit\n".encode())
    with open("/srv/" + file, "wb") as out:
        out.write(gpg("--armor", "--export", fingerprint))
    print(fingerprint)
subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"])
)");
  const std::string said = shell("python3 /srv/twins.py");
  const std::size_t line = said.find('\n');
  return {said.substr(0, line), said.substr(line + 1, 40)};
}

}  // namespace

TEST_CASE("rpm: keys are imported once, those that are missing only") {
  DnfMachine machine;
  shell("rm -f /srv/key /srv/both");
  const std::string first = make_key("/srv/key", "t-first@example.org");
  auto outcome = machine.converge(kState, R"({"path": "file:///srv/key"})");
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(outcome.message == "Key " + first + " imported");
  CHECK(contains(shell("rpm -q gpg-pubkey"), "gpg-pubkey-" + short_id(first)));
  const auto kept = machine.converge(kState, R"({"path": "/srv/key"})");
  CHECK(kept.first == Verdict::kept);
  CHECK(kept.message == "Key " + first + " already imported");
  // Another one in the same file.
  const std::string second = make_key("/srv/key", "t-second@example.org");
  const auto plan = machine.plan(kState, R"({"path": "/srv/key"})");
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].what == "key " + second);
  CHECK(machine.converge(kState, R"({"path": "/srv/key"})").message == "Key " + second + " imported");
}

TEST_CASE("rpm: keys that have come into the file since the plan are not imported") {
  DnfMachine machine;
  shell("rm -f /srv/seen");
  const std::string first = make_key("/srv/seen", "t-seen@example.org");
  const auto plan = machine.plan(kState, R"({"path": "/srv/seen"})");
  REQUIRE(plan.changes.size() == 1);
  const std::string second = make_key("/srv/seen", "t-unseen@example.org");
  const auto applied = machine.apply(kState, R"({"path": "/srv/seen"})", plan);
  CHECK_FALSE(applied.ok());
  CHECK_MESSAGE(contains(applied.comment, "it has other keys now"), applied.comment);
  CHECK_FALSE(contains(shell("rpm -q gpg-pubkey || true"), "gpg-pubkey-" + short_id(second)));
}

TEST_CASE("rpm: a key with the short id of another is another key") {
  DnfMachine machine;
  const auto [honest, evil] = make_twins();
  REQUIRE(honest.size() == 40);
  REQUIRE(evil.size() == 40);
  REQUIRE(honest != evil);
  REQUIRE(short_id(honest) == short_id(evil));
  // Somebody's key is there under the id; the one that the recipe means is missing.
  CHECK(machine.converge(kState, R"({"path": "/srv/evil"})").message == "Key " + evil + " imported");
  const auto plan = machine.plan(kState, R"({"path": "/srv/honest"})");
  CHECK(plan.verdict == Verdict::change);
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].what == "key " + honest);
}

TEST_CASE("rpm: a key is taken from a file only that nobody else can change") {
  DnfMachine machine;
  shell("rm -rf /srv/theirs; mkdir /srv/theirs; chown 1234 /srv/theirs; rm -f /srv/shared");
  make_key("/srv/theirs/key", "t-theirs@example.org");
  make_key("/srv/shared", "t-shared@example.org");
  shell("chmod 666 /srv/shared");
  for (const char* path : {"/srv/theirs/key", "/srv/shared"}) {
    const auto plan = machine.plan(kState, R"({"path": ")" + std::string(path) + "\"}");
    CHECK(plan.verdict == Verdict::fail);
    CHECK_MESSAGE(contains(plan.message, "can be changed by others"), plan.message);
  }
}

TEST_CASE("rpm: what is no key is refused, and reading a key writes nothing") {
  DnfMachine machine;
  put("/srv/none", "no key\n");
  const char* kHome = "find /root /srv /etc -newer /srv/none -type f ! -name '*-shm' | sort";
  CHECK(
      machine.plan(kState, R"({"path": "/srv/none"})").message.starts_with("/srv/none is not a public key"));
  CHECK(shell(kHome).empty());
}

TEST_SUITE_END();
