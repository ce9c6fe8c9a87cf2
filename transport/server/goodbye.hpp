// Inside transport/: how a server leaves a connection whose client may still be sending.
#pragma once

#include "transport/tls/stream.hpp"

namespace transport {

// Closing with unread data would reset the connection, and the client could lose our last answer with it. So
// it gets a moment to read and close, unless the server is `stopping`, which may become true meanwhile. The
// stream is of no use afterwards.
Task<> say_goodbye(Stream& stream, const bool& stopping);

}  // namespace transport
