#include "backend/server/version.hpp"

namespace backend::server {

std::string_view version() {
  return OPSAGENT_VERSION;
}

}  // namespace backend::server
