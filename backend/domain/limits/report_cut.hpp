// How much of a report is kept. What is longer is cut before anybody sees it: the store, the events, and
// whoever asked for it. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "backend/domain/model.hpp"

namespace backend::domain {

// Programs' output: an agent keeps 64 KiB of the beginning and 64 KiB of the end, which fits.
inline constexpr std::size_t kLongestOutput = 160 * 1024;
inline constexpr std::size_t kLongestComment = 16 * 1024;
inline constexpr std::size_t kLongestDiff = 64 * 1024;
inline constexpr std::size_t kLongestValue = 4 * 1024;     // of a change: what, before, after
inline constexpr std::size_t kMostOfChanges = 256 * 1024;  // all changes of a result together
inline constexpr std::size_t kLongestWord = 64;            // an outcome, an instant
inline constexpr std::size_t kMostCounts = 16;             // outcomes of a round
inline constexpr std::size_t kMostDrift = 1000;            // ids of a round
inline constexpr std::size_t kLongestProblem = 4 * 1024;
inline constexpr std::size_t kMostOfProblems = 64 * 1024;  // all errors of a status together

// Beginning and end of a text, with "\n[... N bytes are not stored ...]\n" in between, and no character cut
// in two. At most `most` bytes; of less than the mark takes nothing is left.
std::string cut_middle(std::string_view text, std::size_t most);

// Cuts what is too long. Answers how many bytes are not kept: 0 for what honest agents send.
std::size_t shorten(Report& report);

}  // namespace backend::domain
