// Fetching a module repository: an address and a tag become a verified, read-only folder modules/<commit>/ in
// the state folder.
//
// Blocks, for as long as the deadline says: a daemon calls it on a thread of its own, and cancels it by the
// interrupt. Everything that it needs is given; nothing is remembered but what is on disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "modules/fetch/module_store.hpp"
#include "transport/client/proxies.hpp"

namespace modules::fetch {

// What the configuration says. Files may be "": not configured.
struct FetchSettings {
  std::string state_dir;
  std::string program;  // opsagent-fetch
  std::string ca_file;
  std::string known_hosts_file;
  std::string ssh_key_file;
  std::string credentials_file;
  std::string keys_file;
  std::string gpg_keyring;
  std::vector<std::string> schemes;      // besides https and ssh
  std::vector<std::string> moving_tags;  // may stand for another commit than before
  std::chrono::seconds timeout{300};
  std::uint64_t most_bytes = 256ULL << 20;
  bool follow_redirects = true;  // where an https server sends us first; never with credentials
  transport::ProxySettings proxy;
};

struct FetchRequest {
  std::string repository;
  std::string tag;
  std::string commit;    // exact, when given
  bool offline = false;  // use what is there, ask nobody
  // What is there is used without asking, unless the tag is a moving one. Else the server is always asked.
  // Neither this nor offline waits for a fetch that is under way.
  bool if_missing = false;
};

// What somebody has noted of a fetch before, such as a recipe that is stored with what it was run with.
struct FetchedBefore {
  std::string repository;
  std::string commit;
  std::string signer;
};

struct Fetched {
  Checkout checkout;
  std::string signer;   // "": signatures are not asked for
  bool is_new = false;  // it was downloaded now
  std::string warning;  // why the server was not believed or not asked, and what is there is used; may be ""
};

// Who could do something about a fetch that has failed.
enum class FetchTrouble {
  access,      // whoever runs us: the way to the repository, what the configuration says of it, the disk
  repository,  // whoever asked for it, or owns it: what is asked for, or was found, is refused everywhere
};

// `on_progress`: lines for people, at most one a second, on the calling thread; may be empty. `trouble`: set
// with an error.
base::Result<Fetched> fetch_module(const FetchSettings& settings, const FetchRequest& request,
                                   base::Interrupt& interrupt,
                                   const std::function<void(const std::string&)>& on_progress = {},
                                   FetchTrouble* trouble = nullptr);

// Uses just that again, whatever the tag stands for by now: if the configuration still allows the repository,
// and still trusts the signer. Asks nobody, and does not wait for a fetch that is under way.
base::Result<Fetched> use_fetched(const FetchSettings& settings, const FetchedBefore& before);

// opsagent-fetch: beside the program that runs, as in a release; or, where nothing is there, in
// ../libexec/<name of the program>/, as in a Debian package.
std::string fetcher_beside_us();

}  // namespace modules::fetch
