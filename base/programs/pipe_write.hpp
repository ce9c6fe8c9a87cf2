// Writing to a pipe whose reader may be gone.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace base {

// write(), except that a pipe without reader gives EPIPE and never SIGPIPE, whatever this process does with
// that signal: a library does not change the process's signal handling.
ssize_t write_to_pipe(int fd, std::string_view bytes);

// Whether this process ignores SIGPIPE, as programs do from their start: then a plain write() does the same.
bool ignores_pipe_signal();

}  // namespace base
