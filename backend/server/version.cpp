#include "backend/server/version.hpp"

namespace backend {

std::string_view version() {
  return OPSAGENT_VERSION;
}

}  // namespace backend
