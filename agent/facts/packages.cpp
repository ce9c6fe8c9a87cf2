// How many packages are installed.
#include <fstream>

#include "agent/facts/facts.hpp"
#include "base/values/json_text.hpp"

namespace agent::facts {

std::string packages() {
  // Line by line: the file has tens of megabytes on some machines, and the agent is to stay small.
  std::ifstream status("/var/lib/dpkg/status");
  if (!status) return {};
  std::size_t count = 0;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Status: ") && line.ends_with(" installed")) ++count;
  return base::JsonText().begin_object().member("count", count).end_object().take();
}

}  // namespace agent::facts
