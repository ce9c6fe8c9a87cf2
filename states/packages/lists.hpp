// How states that manage packages put many names into one line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace states::packages {

// "a, b, c and 92 more": what a message has of a long list.
std::string bounded_list(const std::vector<std::string>& names);

// Appends "; word names" with the separators that are needed; nothing if there are no names.
void append_list(std::string& text, std::string_view word, const std::vector<std::string>& names);

// "install a" as "Install a"
void capitalise(std::string& text);

}  // namespace states::packages
