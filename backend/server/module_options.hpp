// The options of opsbackend about module repositories: their rows, and what they mean.
#pragma once

#include <span>

#include "backend/repositories/repositories.hpp"
#include "backend/server/options.hpp"
#include "base/result.hpp"
#include "terminal/command_table.hpp"

namespace backend::server {

std::span<const terminal::OptionRow> module_option_rows();

// `data`: the data folder, where what was fetched is kept. The error says which pattern is wrong.
base::Result<repositories::RepositorySettings> repository_settings(const Options& options,
                                                                   const std::string& data);

}  // namespace backend::server
