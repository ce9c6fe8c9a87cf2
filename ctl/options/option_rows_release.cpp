// The rows of the options of `opsctl userdata` and `opsctl release`.
#include <array>

#include "ctl/options.hpp"
#include "terminal/option_store.hpp"

namespace ctl {

using terminal::OptionRow;
using terminal::store_by;
using terminal::store_flag;
using terminal::store_more;
using terminal::store_text;
using terminal::ValueKind;

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

template <auto Member>
Result<void> store_userdata(Options& options, std::string_view value) {
  if (value.empty()) return Error(ErrorCode::invalid, "needs a value");
  options.userdata.*Member = value;
  return {};
}

Result<void> store_userdata_backend(Options& options, std::string_view value) {
  if (value.empty()) return Error(ErrorCode::invalid, "needs a value");
  options.userdata.backends.emplace_back(value);
  return {};
}

Result<void> store_cloud_config(Options& options, std::string_view value) {
  const auto given = terminal::flag_value(value);
  if (!given) return given.error();
  options.userdata.cloud_config = *given;
  return {};
}

constexpr std::array kReleaseOptions{
    // opsctl userdata
    OptionRow{.name = "backend",
              .kind = ValueKind::text,
              .placeholder = "URI",
              .doc = "the backend as the machines see it, wss://host:port/agent/ (this server); may be given "
                     "several times",
              .repeatable = true,
              .store = store_by<store_userdata_backend>},
    OptionRow{.name = "release-base",
              .kind = ValueKind::text,
              .placeholder = "URL",
              .doc = "where the machines find releases (/releases of the backend)",
              .store = store_by<store_userdata<&UserdataOptions::release_base>>},
    OptionRow{.name = "join-token",
              .kind = ValueKind::text,
              .placeholder = "TOKEN",
              .doc = "what 'opsctl join-token create' printed, or a file that holds it (a new one is made)",
              .store = store_by<store_userdata<&UserdataOptions::join_token>>},
    OptionRow{.name = "release-ca",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "the certificates that may vouch for the release base (the backend's, if it is the "
                     "backend; else the machine's own list)",
              .store = store_by<store_userdata<&UserdataOptions::release_ca>>},
    OptionRow{.name = "identity-source",
              .kind = ValueKind::text,
              .placeholder = "SOURCE",
              .doc = "where the machine's agent learns its name (the agent's default)",
              .store = store_by<store_userdata<&UserdataOptions::identity_source>>},
    OptionRow{.name = "cloud-config",
              .doc = "as a #cloud-config that writes and runs the script",
              .store = store_by<store_cloud_config>},
    OptionRow{.name = "out",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "write to this file, that only its owner can read, and not to standard output",
              .store = store_by<store_userdata<&UserdataOptions::out>>},
    // opsctl release
    OptionRow{.name = "key",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "a key that signs; may be given several times",
              .repeatable = true,
              .store = store_more<&Options::sign_keys>},
    OptionRow{
        .name = "root-key",
        .kind = ValueKind::file,
        .placeholder = "FILE",
        .doc = "a key of the role root; a file with the public text will do; may be given several times",
        .repeatable = true,
        .store = store_more<&Options::root_keys>},
    OptionRow{.name = "release-key",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "a key of the role release; may be given several times",
              .repeatable = true,
              .store = store_more<&Options::release_keys>},
    OptionRow{.name = "timestamp-key",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "a key of the role timestamp; may be given several times",
              .repeatable = true,
              .store = store_more<&Options::timestamp_keys>},
    OptionRow{.name = "threshold",
              .kind = ValueKind::text,
              .placeholder = "ROLE=N",
              .doc = "how many keys of a role must sign (1); may be given several times",
              .repeatable = true,
              .store = store_more<&Options::thresholds>},
    OptionRow{.name = "passphrase-file",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "its first line opens the keys; several are tried one after the other (else "
                     "$OPSCTL_PASSPHRASE, else the terminal)",
              .repeatable = true,
              .store = store_more<&Options::passphrase_files>},
    OptionRow{
        .name = "version",
        .kind = ValueKind::text,
        .placeholder = "VERSION",
        .doc = "this version (publish: what the archives agree on; userdata: the newest of the channel)",
        .store = store_text<&Options::release_version>},
    OptionRow{.name = "channel",
              .kind = ValueKind::text,
              .placeholder = "NAME",
              .doc = "which agents it is for: those whose option channel says so (stable)",
              .store = store_text<&Options::release_channel>},
    OptionRow{.name = "min-from",
              .kind = ValueKind::text,
              .placeholder = "VERSION",
              .doc = "the oldest version that can be updated to this one (any)",
              .store = store_text<&Options::min_from>},
    OptionRow{.name = "expires",
              .kind = ValueKind::text,
              .placeholder = "TIME",
              .doc = "how long the document is good: 48h, 90d (root: 365d; release: 90d; timestamp: 48h)",
              .store = store_text<&Options::expires>},
    OptionRow{.name = "timestamp-expires",
              .kind = ValueKind::text,
              .placeholder = "TIME",
              .doc = "how long the new timestamp is good (48h)",
              .store = store_text<&Options::timestamp_expires>},
    OptionRow{.name = "offer",
              .kind = ValueKind::text,
              .placeholder = "VERSION",
              .doc = "offer this version too: it was co-signed later, or withdrawn",
              .store = store_text<&Options::offer>},
    OptionRow{.name = "root",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "the root document that the machines have pinned (release check: 1.root.json)",
              .store = store_text<&Options::pinned_root>},
    OptionRow{.name = "drop",
              .doc = "leave out offers that agents would refuse, instead of stopping at them",
              .store = store_flag<&Options::drop>},
    OptionRow{.name = "within",
              .kind = ValueKind::text,
              .placeholder = "TIME",
              .doc = "also bad: a root or release that expires within this time (14d)",
              .store = store_text<&Options::within>},
};

}  // namespace

std::span<const OptionRow> release_option_rows() {
  return kReleaseOptions;
}

}  // namespace ctl
