// Fetching one commit with libgit2, and printing what is reachable from it.
#pragma once

#include "fetcher/request.hpp"

namespace fetcher {

// Works in the current folder. Prints the stream that docs/formats.md describes to standard output, lines
// "progress …" and at most one "error KIND TEXT" to standard error. The exit status: 0, or 1 after an error.
// Has no deadline of its own: libgit2 has none for all of its waits, so the caller ends the process.
int fetch(const Request& request);

}  // namespace fetcher
