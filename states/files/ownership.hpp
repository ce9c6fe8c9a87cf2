// Owner and mode as states ask for them: names resolved to ids, compared with what is there, described for
// people.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/tree/tree_writer.hpp"
#include "states/context.hpp"
#include "states/param.hpp"
#include "states/plan.hpp"

namespace states::files {

// Resolves the given names (or numbers). A name that nobody has is a Plan with `fail`, or with `unknown` when
// an earlier state might create it. A user that an earlier state *would* create is left out of the attributes
// while planning, unless its number is known; a real run finds it.
std::variant<base::Attributes, Plan> resolve_owner(std::optional<std::string_view> user,
                                                   std::optional<std::string_view> group,
                                                   std::optional<Mode> mode, Context& context);

// What may differ of a file that is there.
enum class Aspect { content, destination, owner, mode };

// How files differ from what is wanted: as changes, and in one line for people ("content, mode 0600 ->
// 0644").
struct Differences {
  std::vector<Change> changes;
  std::string summary;

  void add(Aspect aspect, std::string_view path, std::string before, std::string after,
           std::string diff = {});
};

// Adds the owner and the mode where they differ from what is there; also bits of the mode that go with the
// owner. `user` and `group`: as they were given; one that an earlier state would create has no number yet,
// and is another one than what is there.
void compare_attributes(const struct stat& found, const base::Attributes& wanted, std::string_view path,
                        Context& context, Differences& differences,
                        std::optional<std::string_view> user = std::nullopt,
                        std::optional<std::string_view> group = std::nullopt);

// "0644"
std::string mode_text(mode_t mode);
// The name of an id, or its number; while planning, the name that it will have.
std::string user_text(uid_t uid, Context& context);
std::string group_text(gid_t gid, Context& context);
// "root:adm"
std::string owner_text(uid_t uid, gid_t gid, Context& context);
// Why a link cannot be replaced by a path that leads through it (Tree::leads_through_itself()).
std::string on_its_own_way(const std::string& path, Context& context);
// "a FIFO", "a directory", … for what is in the way.
std::string_view file_type_name(mode_t mode);

}  // namespace states::files
