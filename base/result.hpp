// Result<T> and Error: how everything that can fail says so.
//
// Library code returns these and does not log. Callers add context on the way up, so that the text that
// reaches a person reads from the outside in: "reading /etc/passwd: Permission denied". Exceptions of
// third-party libraries stop at the file that calls them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace base {

enum class ErrorCode {
  invalid,      // the caller's or the user's input is wrong
  not_found,    // a file, user, program … that should be there is not
  exists,       // something is in the way
  permission,   // EACCES, EPERM
  no_space,     // ENOSPC, EDQUOT
  read_only,    // EROFS
  limit,        // input larger, deeper or longer than allowed
  timed_out,    // a deadline passed
  cancelled,    // the caller asked to stop
  unsupported,  // cannot be done on this machine
  io,           // any other operating system error
  internal,     // a defect of ours
};

class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // "context: message"
  Error with_context(std::string_view context) && {
    message_.insert(0, ": ").insert(0, context);
    return std::move(*this);
  }
  Error with_context(std::string_view context) const& { return Error(*this).with_context(context); }

 private:
  ErrorCode code_;
  std::string message_;
};

// The error for an errno value: "what: No such file or directory".
Error os_error(int errno_value, std::string_view what);

// The text of an errno value alone.
std::string os_text(int errno_value);

template <class T = void>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_.has_value(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace base
