// The rows of the commands that make and look after a release base. None needs a backend.
#include <array>

#include "ctl/commands/commands.hpp"

namespace ctl {

namespace {

using terminal::CommandRow;
using terminal::ValueKind;

constexpr std::array kReleaseCommands{
    CommandRow{.name = "release key",
               .arguments = "create|show FILE",
               .least = 2,
               .most = 2,
               .argument_kind = ValueKind::file,
               .argument_choices = "create show",
               .options = "passphrase-file",
               .summary = "make a key that signs releases, or show its public part",
               .description =
                   "'create' writes an Ed25519 key, encrypted with a passphrase, to FILE, which only its "
                   "owner can read and which must not be there, and the public text to FILE.pub. Both print "
                   "the key's id and its public text.",
               .examples = "opsctl release key create root.key\n"
                           "opsctl release key show root.key.pub",
               .run = local<release_key_command>},
    CommandRow{
        .name = "release root",
        .arguments = "create|rotate FOLDER",
        .least = 2,
        .most = 2,
        .argument_kind = ValueKind::file,
        .argument_choices = "create rotate",
        .options = "root-key release-key timestamp-key threshold expires key passphrase-file",
        .summary = "say which keys may sign what",
        .description =
            "'create' makes the release base's first root document, 1.root.json, signed by the root keys "
            "whose private part is given. 'rotate' makes the next: roles that are named get the keys that "
            "are "
            "given, all others stay; old keys that must sign once more are given with --key. With too few "
            "signatures it is left as a draft, for 'opsctl release sign'.",
        .examples = "opsctl release root create base --root-key root.key --release-key release.key.pub "
                    "--timestamp-key ts.key.pub\n"
                    "opsctl release root rotate base --timestamp-key new.key.pub --key root.key",
        .run = local<release_root_command>},
    CommandRow{.name = "release sign",
               .arguments = "DOCUMENT",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::file,
               .options = "key passphrase-file",
               .summary = "add signatures to a document",
               .description =
                   "A draft and its .sig can be copied to the machine with the key, signed there, and copied "
                   "back. A draft that lies in its release base and has enough signatures is published; "
                   "without --key that is all that is done.",
               .examples = "opsctl release sign base/2.root.json.draft --key root-2.key\n"
                           "opsctl release sign base/2.root.json.draft",
               .run = local<release_sign_command>},
    CommandRow{.name = "release publish",
               .arguments = "FOLDER ARCHIVE …",
               .least = 2,
               .most = 65,
               .argument_kind = ValueKind::file,
               .options = "version channel release-key timestamp-key min-from expires timestamp-expires "
                          "drop passphrase-file",
               .summary = "publish archives as a release, and offer it",
               .description =
                   "Checks the archives, copies them to FOLDER/files, writes and signs the release document "
                   "with the next number, then a new timestamp. A web server may serve the folder meanwhile. "
                   "Without a timestamp key the release is not on offer yet: see 'opsctl release timestamp'.",
               .examples = "opsctl release publish base opsagent-1.4.0-linux-*.tar.gz --version 1.4.0 "
                           "--release-key release.key --timestamp-key ts.key",
               .run = local<release_publish_command>},
    CommandRow{.name = "release timestamp",
               .arguments = "FOLDER",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::file,
               .options = "timestamp-key expires offer drop passphrase-file",
               .summary = "renew the timestamp, for cron",
               .description = "The same offers with a new expiry. When the release of an offer is changed or "
                              "not signed by keys "
                              "of the newest root, nothing is published: --drop leaves such offers out. Exit "
                              "status 1 also when "
                              "a release on offer has expired; the timestamp is renewed all the same.",
               .examples = "opsctl release timestamp base --timestamp-key ts.key --passphrase-file ts.pass\n"
                           "opsctl release timestamp base --timestamp-key ts.key --offer 1.4.0",
               .run = local<release_timestamp_command>},
    CommandRow{.name = "release withdraw",
               .arguments = "FOLDER VERSION",
               .least = 2,
               .most = 2,
               .argument_kind = ValueKind::file,
               .options = "timestamp-key expires drop passphrase-file",
               .summary = "do not offer a version any more",
               .description = "Agents that run it keep it; no other agent takes it. Its files stay.",
               .examples = "opsctl release withdraw base 1.4.0 --timestamp-key ts.key",
               .run = local<release_withdraw_command>},
    CommandRow{.name = "release list",
               .arguments = "FOLDER",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::file,
               .summary = "list the releases of a release base",
               .description = "",
               .examples = "opsctl release list base",
               .run = local<release_list_command>},
    CommandRow{.name = "release check",
               .arguments = "FOLDER",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::file,
               .options = "root within",
               .summary = "verify a release base as an agent would, and say when what expires",
               .description = "Exit status 1 when something would be refused, or expires soon.",
               .examples = "opsctl release check base\n"
                           "opsctl release check base --root /var/lib/opsagent/update/root.json",
               .run = local<release_check_command>},
};

}  // namespace

std::span<const CommandRow> release_command_rows() {
  return kReleaseCommands;
}

}  // namespace ctl
