#include "modules/git/signed_object.hpp"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "base/files/file_read.hpp"
#include "base/programs/process.hpp"
#include "modules/git/ssh_signature.hpp"
#include "tests/support/scratch_folder.hpp"

namespace modules::git {

namespace {

std::string ran(const std::string& folder, std::vector<std::string> argv) {
  base::Command command;
  command.argv = std::move(argv);
  command.env = base::clean_environment(folder);
  command.cwd = folder;
  const auto done = base::run(command);
  REQUIRE(done);
  CAPTURE(done->output);
  REQUIRE(done->ok());
  return done->output;
}

std::string content_of(const std::string& path) {
  const auto text = base::read_file(path, 1 << 20);
  REQUIRE(text);
  return *text;
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("what is signed of a commit is all of it but the signature") {
  const std::string tree = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n";
  const auto commit = parse_commit(
      tree +
      "author A <a@b> 0 +0000\ngpgsig -----BEGIN X-----\n abc\n \n def\ncommitter A\n\nmessage\n gpgsig x\n");
  REQUIRE(commit);
  CHECK(commit->text.payload == tree + "author A <a@b> 0 +0000\ncommitter A\n\nmessage\n gpgsig x\n");
  CHECK(commit->text.signature == "-----BEGIN X-----\nabc\n\ndef\n");
  CHECK(parse_commit(tree + "\nplain\n")->text.signature.empty());
  CHECK_FALSE(parse_commit(tree + "gpgsig a\ngpgsig b\n\n"));
  for (const char* wrong : {"", "tree x\n", "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904", "parent x\n"})
    CHECK_FALSE(parse_commit(wrong));
}

TEST_CASE("what is signed of a tag ends where the last signature begins") {
  const std::string head =
      "object 4b825dc642cb6eb9a060e54bf8d69288fbee4904\ntype commit\ntag v1\ntagger A\n\n";
  const std::string armour = "-----BEGIN SSH SIGNATURE-----\nabc\n-----END SSH SIGNATURE-----\n";
  const auto tag = parse_tag(head + armour + "more\n" + armour);
  REQUIRE(tag);
  CHECK(tag->name == "v1");
  CHECK(tag->text.payload == head + armour + "more\n");
  CHECK(tag->text.signature == armour);
  CHECK(parse_tag(head)->text.signature.empty());
  CHECK_FALSE(parse_tag("object x\n"));
}

TEST_CASE("SSH signatures of Ed25519, ECDSA and RSA keys are verified as ssh-keygen makes them") {
  const tests::ScratchFolder scratch;
  const std::string folder = scratch.path();
  for (const std::string kind : {"ed25519", "ecdsa", "rsa"}) {
    CAPTURE(kind);
    const std::string key = folder + '/' + kind;
    ran(folder, {"ssh-keygen", "-q", "-t", kind, "-N", "", "-f", key});
    write_text(folder + "/text", "signed text\n");
    ran(folder, {"ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", key, "text"});
    const std::string signature = content_of(folder + "/text.sig");
    std::filesystem::remove(folder + "/text.sig");
    const auto keys =
        parse_ssh_keys("# who may\n" + content_of(key + ".pub") + "\nme@x " + content_of(key + ".pub"));
    REQUIRE(keys);
    REQUIRE(keys->size() == 2);
    const auto signer = verify_ssh_signature("signed text\n", signature, *keys);
    CHECK(signer);
    if (signer)
      CHECK(ran(folder, {"ssh-keygen", "-l", "-f", key}).find((*signer)->fingerprint()) != std::string::npos);
    CHECK_FALSE(verify_ssh_signature("signed texT\n", signature, *keys));
    CHECK_FALSE(verify_ssh_signature("signed text\n", signature, {}));
    for (std::size_t at = 30; at < signature.size() - 30; at += 5) {
      std::string changed = signature;
      changed[at] = changed[at] == 'A' ? 'B' : 'A';
      if (changed != signature) CHECK_FALSE(verify_ssh_signature("signed text\n", changed, *keys));
    }
    // The same key, for another purpose.
    ran(folder, {"ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", key, "text"});
    CHECK_FALSE(verify_ssh_signature("signed text\n", content_of(folder + "/text.sig"), *keys));
    std::filesystem::remove(folder + "/text.sig");
  }
  CHECK_FALSE(parse_ssh_keys("ssh-ed25519 AAAA\n"));
  CHECK_FALSE(parse_ssh_keys("cert-authority ssh-dss AAAA\n"));
  CHECK(parse_ssh_keys("\n# none\n")->empty());
}

}  // namespace modules::git
