// What the values of options mean: each function checks one and notes it in Options. The error says what is
// accepted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/cli/options/options.hpp"
#include "agent/identity/identity.hpp"
#include "base/text.hpp"
#include "terminal/option_store.hpp"

namespace agent::cli {

inline constexpr std::string_view kAllowable =
    "run query query:file query:journal query:processes query:unit";

base::Result<void> store_color(Options& options, std::string_view value);
base::Result<void> store_log_level(Options& options, std::string_view value);
base::Result<void> store_on_change(Options& options, std::string_view value);
base::Result<void> store_round_delay(Options& options, std::string_view value);
base::Result<void> store_ws_uri(Options& options, std::string_view value);
base::Result<void> store_join_token(Options& options, std::string_view value);
base::Result<void> store_var(Options& options, std::string_view value);
base::Result<void> store_tag(Options& options, std::string_view value);
base::Result<void> store_proxy(Options& options, std::string_view value);
base::Result<void> store_release(Options& options, std::string_view value);
base::Result<void> store_protocol_min(Options& options, std::string_view value);
base::Result<void> store_unverified_host(Options& options, std::string_view value);
base::Result<void> store_allowed_host(Options& options, std::string_view value);
base::Result<void> store_allow(Options& options, std::string_view value);
base::Result<void> store_identity_source(Options& options, std::string_view value);
base::Result<void> store_module_scheme(Options& options, std::string_view value);
base::Result<void> store_language(Options& options, std::string_view value);
base::Result<void> store_metadata_url(Options& options, std::string_view value);

template <auto Member, std::int64_t least>
base::Result<void> store_update_time(Options& options, std::string_view value) {
  constexpr std::int64_t kLongest = 3600;
  const auto seconds = base::parse_integer(value);
  if (!seconds || *seconds < least || *seconds > kLongest)
    return terminal::must_be("a number of seconds from " + std::to_string(least) + " to 3600", value);
  options.*Member = std::chrono::seconds(*seconds);
  return {};
}

template <auto Member>
base::Result<void> store_id(Options& options, std::string_view value) {
  if (auto fine = identity::check_instance_id(value); !fine) return fine;
  options.*Member = value;
  return {};
}

}  // namespace agent::cli
