// JSON merge patches (RFC 7396).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent::facts {

// What turns the first object into the second; "{}" when they are the same. Nothing when either is not an
// object, or the second holds a null, which a patch cannot express.
std::optional<std::string> merge_patch(std::string_view before, std::string_view after);

}  // namespace agent::facts
