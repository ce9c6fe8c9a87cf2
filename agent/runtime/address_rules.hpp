// Which addresses of backends this machine may use. Pure, any thread.
//
// A machine that can prove who it is (by its certificate), or is about to (by a join token), speaks wss://
// and nothing else: whoever listens on a port of this machine, or sits in between, could otherwise pass for
// the backend, and the backend is root here. What a backend names is held to more: it stays with the hosts
// that the machine's own configuration lists, and never leads from wss:// to ws://.
#pragma once

#include <optional>
#include <string>

#include "agent/runtime/allowed_hosts.hpp"

namespace agent::runtime {

struct AddressRules {
  bool is_member = false;      // there is a certificate, or a join token to get one with
  bool allow_plain = false;    // the configuration's: ws:// may lead to another machine
  bool is_own_secure = false;  // an address of the configuration is wss://
  AllowedHosts hosts = {};
};

// As many addresses as one message of a backend may name.
inline constexpr std::size_t kMostNamedUris = 16;

// Why this address of the configuration may not be used. Nothing: it may.
std::optional<std::string> refuse_uri(const std::string& uri, const AddressRules& rules);

// The same for one that a backend has named, now or before a restart.
std::optional<std::string> refuse_named_uri(const std::string& uri, const AddressRules& rules);

}  // namespace agent::runtime
