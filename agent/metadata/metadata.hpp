// Metadata: what a machine is told about itself from outside: its name, and the userdata that it was started
// with. From a cloud's metadata service, a seed of cloud-init's, or a local file; which of them are asked is
// the configuration's to say.
//
// Everything is bounded: requests, answers, attempts, the whole. Names are as strict as everywhere. Blocks:
// never call read_metadata() on the loop's thread. Nothing is cached.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace agent::metadata {

struct Metadata {
  std::string source;       // "ec2"
  std::string instance_id;  // passes protocol::problem_of_name(); of a file it may be missing
  std::string userdata;
  // What our own userdata script, or the file, says; empty: nothing.
  std::string app_id;
  std::string join_token;
};

struct SourceOptions {
  std::vector<std::string> names;  // in the order in which they are asked; none: nobody is
  bool use_cloud_init = true;      // the name that cloud-init has found serves where nobody else has one
  std::string url = "http://169.254.169.254";
  std::string file = "/etc/opsagent.identity";
  std::string root;  // before the paths of seeds and of cloud-init; for tests
};

// "auto", "none", or names separated by commas: ec2, openstack, nocloud, file.
base::Result<SourceOptions> parse_sources(std::string_view text);

// How often all sources are asked, and for how long. Only those that did not answer at all, or said that they
// cannot now, are asked again.
struct Patience {
  int rounds = 3;
  std::chrono::seconds in_all{30};
};
// At the first boot the network may come late.
inline constexpr Patience kFirstBoot{.rounds = 20, .in_all = std::chrono::seconds(60)};

// The first source that answers. `give_up` is asked between attempts. The error says what each source said.
base::Result<Metadata> read_metadata(const SourceOptions& options, Patience patience,
                                     const std::function<bool()>& give_up);

// cloud-init's own name for the machine; empty: it knows none, or is not there.
std::string cloud_init_instance_id(const SourceOptions& options);

}  // namespace agent::metadata
