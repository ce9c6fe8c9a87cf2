// Inside states/downloads/: how servers are reached, by what the agent was told.
#pragma once

#include <string>

#include "base/result.hpp"
#include "states/context.hpp"
#include "transport/client/download.hpp"
#include "transport/client/web_file.hpp"

namespace states::downloads {

// Proxies, whom to trust, deadline and interrupt. The trust is read once per round.
base::Result<transport::FetchOptions> fetch_options(Context& context);

// "Cannot download <address>: <reason>".
base::Error cannot_download(const base::Error& why, std::string_view url, const Context& context);

}  // namespace states::downloads
