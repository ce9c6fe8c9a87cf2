#include "base/result.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>

namespace base {

namespace {

ErrorCode code_of(int errno_value) {
  switch (errno_value) {
    case ENOENT:
    case ESRCH:
      return ErrorCode::not_found;
    case EEXIST:
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY:
      return ErrorCode::exists;
    case EACCES:
    case EPERM:
      return ErrorCode::permission;
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::no_space;
    case EROFS:
      return ErrorCode::read_only;
    case ENAMETOOLONG:
    case E2BIG:
    case EFBIG:
      return ErrorCode::limit;
    case EINVAL:
    case ELOOP:
      return ErrorCode::invalid;
    case ETIMEDOUT:
      return ErrorCode::timed_out;
    default:
      return ErrorCode::io;
  }
}

}  // namespace

std::string os_text(int errno_value) {
  return std::generic_category().message(errno_value);
}

Error os_error(int errno_value, std::string_view what) {
  return Error(code_of(errno_value), std::string(what) + ": " + os_text(errno_value));
}

}  // namespace base
