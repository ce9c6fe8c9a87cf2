// The small JSON texts that the store keeps in columns, and patches of facts.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/domain/model.hpp"
#include "base/result.hpp"

namespace backend::domain {

std::string to_json(const Tags& tags);
std::string to_json(std::span<const std::string> texts);
std::string to_json(const std::map<std::string, std::uint64_t>& counts);
std::string to_json(std::span<const protocol::Change> changes);
std::string to_json(std::span<const protocol::MachineHold> holds);

// What the functions above wrote. Anything else is read as far as it is understood.
Tags read_tags(std::string_view json);
std::vector<std::string> read_texts(std::string_view json);
std::vector<protocol::MachineHold> read_holds(std::string_view json);
std::map<std::string, std::uint64_t> read_counts(std::string_view json);

std::string_view progress_name(protocol::RecipeProgress progress);
protocol::RecipeProgress read_progress(std::string_view name);

// RFC 7396: `target` with the patch applied. Both must be JSON objects.
base::Result<std::string> merge_patch(std::string_view target, std::string_view patch);

}  // namespace backend::domain
