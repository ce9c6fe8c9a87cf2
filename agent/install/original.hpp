// The original OpsAgent on a machine: where it is, what its configuration means in ours, and what of its
// state is taken over. Reading only, but for adopt_state(). Any thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/install/site.hpp"
#include "base/result.hpp"

namespace agent::install {

inline constexpr const char* kOriginalScript = "/etc/init.d/opsagentd";
inline constexpr const char* kOriginalHome = "/opt/visualops";                // its virtualenv
inline constexpr const char* kOriginalState = "/var/lib/visualops/opsagent";  // watch records, token
inline constexpr const char* kConfig = "/etc/opsagent.conf";

// Its configuration, said in our words.
struct OriginalConfig {
  std::string text;                  // for our parser; each setting in the line where it was
  std::vector<std::string> ignored;  // "[module] root": what means nothing to us
  std::string token_file;            // "": it names none
  std::string state_dir;
};

// Nothing when the text is not the original's: it has sections of the original's with keys that only that
// knows. A setting in another section, or in none, stays what it is.
std::optional<OriginalConfig> read_original_config(std::string_view text);
// "… is the original OpsAgent's …", once for all that is ignored; "" when there is nothing to say.
std::string remark_about(const OriginalConfig& config);

// A line of a crontab that starts something of the original's.
bool is_original_cron_line(std::string_view line);

// What is there of it, below the site's root.
struct FoundOriginal {
  bool has_script = false;
  std::vector<std::string> links;     // the script's, in the folders of the run levels
  std::vector<std::string> crontabs;  // with lines of the original's
  bool has_config = false;
  bool has_state = false;

  // What starts it, or makes it another agent beside ours.
  bool is_installed() const { return has_script || !links.empty() || !crontabs.empty(); }
};
FoundOriginal find_original(const Site& site);

// Its processes on this machine.
std::vector<pid_t> original_processes();

struct Adopted {
  bool token = false;
  std::size_t watch_records = 0;
  std::vector<std::string> problems;  // what could not be taken over, with the reason
};
// What the original keeps in `from` becomes ours: its token, unless we have one, and the watch records that
// we do not have. Can be repeated. `token_file`: where the token is, "": where the original has it by itself.
base::Result<Adopted> adopt_state(const std::string& from, const std::string& token_file,
                                  const std::string& state_dir);

}  // namespace agent::install
