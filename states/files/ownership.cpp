#include "states/files/ownership.hpp"

#include "base/text.hpp"

namespace states::files {

namespace {

Plan nobody(EffectKind kind, std::string_view word, std::string_view name, const Context& context) {
  const std::string message = std::string(word) + " '" + std::string(name) + "' does not exist";
  if (const Overlay::Entry* provider = context.overlay.provider(kind, name))
    return Plan::unknown(provider->state_id, message + " yet");
  return Plan::fail(message);
}

// A user or group that an earlier state would create.
struct Coming {
  bool would_exist = false;
  std::optional<id_t> id{};  // where the recipe says it
};

Coming coming(EffectKind kind, std::string_view name, const Context& context) {
  const Overlay::Entry* entry = context.overlay.find(kind, name);
  if (!entry || !entry->effect.present) return {};
  Coming coming{.would_exist = true};
  if (const auto number = base::parse_integer(entry->effect.alias)) coming.id = static_cast<id_t>(*number);
  return coming;
}

// What the id will be called; "" when no earlier state has to do with it.
std::string planned_name(EffectKind kind, id_t id, const Overlay& overlay) {
  if (overlay.empty()) return {};
  const Overlay::Entry* entry = overlay.find(kind, std::to_string(id));
  return entry && entry->effect.present ? entry->effect.alias : std::string();
}

std::string_view aspect_name(Aspect aspect) {
  switch (aspect) {
    case Aspect::content:
      return "content";
    case Aspect::destination:
      return "destination";
    case Aspect::owner:
      return "owner";
    case Aspect::mode:
      return "mode";
  }
  return "content";
}

}  // namespace

std::variant<base::Attributes, Plan> resolve_owner(std::optional<std::string_view> user,
                                                   std::optional<std::string_view> group,
                                                   std::optional<Mode> mode, Context& context) {
  base::Attributes wanted;
  if (mode) wanted.mode = mode->bits;
  // Names that are here may get other numbers by then.
  if (user) context.overlay.find(EffectKind::user, *user);
  if (group) context.overlay.find(EffectKind::group, *group);
  if (user) {
    wanted.uid = context.accounts.uid_of(*user);
    const Coming planned = wanted.uid ? Coming{} : coming(EffectKind::user, *user, context);
    if (!wanted.uid && !planned.would_exist) return nobody(EffectKind::user, "User", *user, context);
    if (!wanted.uid) wanted.uid = planned.id;
  }
  if (group) {
    wanted.gid = context.accounts.gid_of(*group);
    const Coming planned = wanted.gid ? Coming{} : coming(EffectKind::group, *group, context);
    if (!wanted.gid && !planned.would_exist) return nobody(EffectKind::group, "Group", *group, context);
    if (!wanted.gid) wanted.gid = planned.id;
  }
  return wanted;
}

std::string mode_text(mode_t mode) {
  std::string text(4, '0');
  for (std::size_t i = 0; i < text.size(); ++i)
    text[i] = static_cast<char>('0' + (mode >> (9 - 3 * i) & 7));
  return text;
}

std::string user_text(uid_t uid, Context& context) {
  const std::string planned = planned_name(EffectKind::user, uid, context.overlay);
  return planned.empty() ? context.accounts.user_name(uid) : planned;
}

std::string group_text(gid_t gid, Context& context) {
  const std::string planned = planned_name(EffectKind::group, gid, context.overlay);
  return planned.empty() ? context.accounts.group_name(gid) : planned;
}

std::string owner_text(uid_t uid, gid_t gid, Context& context) {
  return user_text(uid, context) + ":" + group_text(gid, context);
}

void Differences::add(Aspect aspect, std::string_view path, std::string before, std::string after,
                      std::string diff) {
  const std::string_view word = aspect_name(aspect);
  summary.append(summary.empty() ? "" : ", ").append(word);
  if (aspect != Aspect::content) summary += " " + before + " -> " + after;
  changes.push_back({.what = std::string(word) + " of " + std::string(path),
                     .before = std::move(before),
                     .after = std::move(after),
                     .diff = std::move(diff)});
}

void compare_attributes(const struct stat& found, const base::Attributes& wanted, std::string_view path,
                        Context& context, Differences& differences, std::optional<std::string_view> user,
                        std::optional<std::string_view> group) {
  const uid_t uid = wanted.uid.value_or(found.st_uid);
  const gid_t gid = wanted.gid.value_or(found.st_gid);
  const bool user_comes = user && !wanted.uid;
  const bool group_comes = group && !wanted.gid;
  if (uid != found.st_uid || gid != found.st_gid || user_comes || group_comes)
    differences.add(Aspect::owner, path, owner_text(found.st_uid, found.st_gid, context),
                    (user_comes ? std::string(*user) : user_text(uid, context)) + ":" +
                        (group_comes ? std::string(*group) : group_text(gid, context)));
  if (const mode_t mode = base::mode_after(found, wanted); mode != (found.st_mode & 07777))
    differences.add(Aspect::mode, path, mode_text(found.st_mode), mode_text(mode));
}

std::string on_its_own_way(const std::string& path, Context& context) {
  const std::string real = context.tree.real_path(path);
  return path + " is the symlink " + real + ", which is on the way to it: give the path " + real + " instead";
}

std::string_view file_type_name(mode_t mode) {
  if (S_ISREG(mode)) return "a file";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISLNK(mode)) return "a symlink";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace states::files
