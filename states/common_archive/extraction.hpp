// Putting the members of an archive below a folder.
//
// By way of TreeWriter: whole files only, and a user who owns a folder below cannot lead the writer
// elsewhere. Nothing is written through a symlink below the folder. What is there already and has the right
// content stays as it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "states/common_archive/member_check.hpp"
#include "states/context.hpp"

namespace states::common_archive {

// Looks at the whole archive and writes nothing; answers how many members it has. Errors: those of
// MemberCheck, "damaged: …", "Archive is empty", ErrorCode::cancelled and timed_out.
base::Result<std::uint64_t> check_archive(std::string_view bytes, const ArchiveLimits& limits,
                                          Context& context);

// Extracts it into the folder, a clean_path() that is there.
base::Result<void> extract_archive(std::string_view bytes, const std::string& folder,
                                   const ArchiveLimits& limits, ApplyContext& context);

}  // namespace states::common_archive
