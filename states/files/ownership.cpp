#include "states/files/ownership.hpp"

namespace states::files {

namespace {

Plan nobody(EffectKind kind, std::string_view word, std::string_view name, const Context& context) {
  const std::string message = std::string(word) + " '" + std::string(name) + "' does not exist";
  if (const Overlay::Entry* provider = context.overlay.provider(kind, name))
    return Plan::unknown(provider->state_id, message + " yet");
  return Plan::fail(message);
}

bool would_exist(EffectKind kind, std::string_view name, const Context& context) {
  const Overlay::Entry* entry = context.overlay.find(kind, name);
  return entry && entry->effect.present;
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
    if (!wanted.uid && !would_exist(EffectKind::user, *user, context))
      return nobody(EffectKind::user, "User", *user, context);
  }
  if (group) {
    wanted.gid = context.accounts.gid_of(*group);
    // useradd makes a group of the same name as a rule.
    if (!wanted.gid && !would_exist(EffectKind::group, *group, context) &&
        !would_exist(EffectKind::user, *group, context))
      return nobody(EffectKind::group, "Group", *group, context);
  }
  return wanted;
}

std::string mode_text(mode_t mode) {
  std::string text(4, '0');
  for (std::size_t i = 0; i < text.size(); ++i)
    text[i] = static_cast<char>('0' + (mode >> (9 - 3 * i) & 7));
  return text;
}

std::string owner_text(uid_t uid, gid_t gid, base::Accounts& accounts) {
  return accounts.user_name(uid) + ":" + accounts.group_name(gid);
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
                        base::Accounts& accounts, Differences& differences,
                        std::optional<std::string_view> user, std::optional<std::string_view> group) {
  const uid_t uid = wanted.uid.value_or(found.st_uid);
  const gid_t gid = wanted.gid.value_or(found.st_gid);
  const bool user_comes = user && !wanted.uid;
  const bool group_comes = group && !wanted.gid;
  if (uid != found.st_uid || gid != found.st_gid || user_comes || group_comes)
    differences.add(Aspect::owner, path, owner_text(found.st_uid, found.st_gid, accounts),
                    (user_comes ? std::string(*user) : accounts.user_name(uid)) + ":" +
                        (group_comes ? std::string(*group) : accounts.group_name(gid)));
  if (const mode_t mode = base::mode_after(found, wanted); mode != (found.st_mode & 07777))
    differences.add(Aspect::mode, path, mode_text(found.st_mode), mode_text(mode));
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
