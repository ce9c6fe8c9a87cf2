// The facts that recipes see: those of agent/facts, and the machine's names and addresses in the shape that
// configuration asks for.
#pragma once

#include <string>
#include <string_view>

namespace agent::inputs {

// `gathered`: the JSON of agent/facts. Adds domain, fqdn and network, an object with the lists ipv4 and ipv6.
std::string recipe_facts(std::string_view gathered);

// The machine's full name: what it calls itself, with the domain that /etc/hosts has for it. Nobody is asked.
std::string full_name(std::string_view hostname, std::string_view hosts);

}  // namespace agent::inputs
