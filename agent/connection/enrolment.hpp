// The first meeting with a backend: a join token for a certificate, over a connection of its own.
#pragma once

#include <chrono>
#include <string>

#include "agent/identity/membership.hpp"
#include "transport/async.hpp"
#include "transport/client/dial.hpp"

namespace agent::connection {

struct EnrolmentWish {
  std::string app_id;
  std::string instance_id;  // the backend may give another
};

// `way` leads to the backend; its `tls` is this function's to fill in. On return the membership has its
// certificate. The error says what the backend said.
transport::Task<base::Result<void>> enrol(transport::DialOptions way, EnrolmentWish wish,
                                          identity::Membership& membership);

}  // namespace agent::connection
