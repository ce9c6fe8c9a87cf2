#include "states/checkouts/checkout.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/files/others.hpp"
#include "base/files/private_folder.hpp"
#include "base/output_text.hpp"
#include "base/text.hpp"
#include "states/checkouts/proxies.hpp"
#include "states/files/missing_folders.hpp"

namespace states::checkouts {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::chrono::hours kLongest(24);  // the state's deadline cuts it
constexpr mode_t kFolderMode = 0755;

std::string decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) {
      const char c = text[at];
      return c >= '0' && c <= '9'   ? c - '0'
             : c >= 'a' && c <= 'f' ? c - 'a' + 10
             : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                    : -1;
    };
    if (text[i] == '%' && i + 2 < text.size() && digit(i + 1) >= 0 && digit(i + 2) >= 0) {
      result += static_cast<char>(digit(i + 1) * 16 + digit(i + 2));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

bool runs_as_us(const runners::Runner& runner) {
  return !runner.identity || runner.identity->uid == ::geteuid();
}

// A group other than root's, or everybody, can write to it.
bool is_open_to_a_group(const struct stat& st) {
  const bool is_our_group = st.st_gid == 0 || (::geteuid() != 0 && st.st_gid == ::getegid());
  return (st.st_mode & S_IWOTH) != 0 || ((st.st_mode & S_IWGRP) != 0 && !is_our_group);
}

// Why a program must not run in that folder with our rights; "" when it may.
std::string why_not_as_us(const std::string& path, std::string_view marker, Context& context) {
  const auto advice = [&](const std::string& why) {
    return path + " " + why + ", whose settings would be followed with the agent's rights: give 'user'";
  };
  auto folder = base::open_guarded_folder(context.host.root + path);
  if (!folder) return advice("can be changed by others (" + folder.error().message() + ")");
  const std::string inside = path + "/" + std::string(marker);
  auto found = context.tree.look(inside);
  if (!found || !*found) return {};
  // A file there names another folder, which may be anybody's.
  if (!S_ISDIR((*found)->st_mode)) return advice("has no folder " + std::string(marker) + " of its own");
  // What git, hg and svn read, or run, of it.
  for (const char* name : {"", "/config", "/config.worktree", "/commondir", "/hooks", "/hooks/post-checkout",
                           "/hooks/post-index-change", "/hooks/post-merge", "/hooks/reference-transaction",
                           "/hgrc", "/sharedpath", "/wc.db", "/HEAD"}) {
    auto part = context.tree.look(inside + name);
    if (!part || !*part) continue;
    if (base::is_other((*part)->st_uid) || is_open_to_a_group(**part))
      return advice("can be changed by others in part (" + std::string(marker) + name + ")");
  }
  return {};
}

// The same for a user: whose settings would be followed with his rights.
std::string why_not_as(const runners::Runner& runner, const std::string& path, std::string_view marker,
                       Context& context) {
  const std::string inside = path + "/" + std::string(marker);
  for (const std::string& part : {path, inside}) {
    auto found = context.tree.look(part);
    if (!found || !*found) continue;
    const uid_t owner = (*found)->st_uid;
    if (owner != 0 && owner != runner.identity->uid)
      return part + " belongs to uid " + std::to_string(owner) + ", whose settings would be followed as " +
             runner.name + ": give its owner as 'user'";
    if (((*found)->st_mode & S_IWOTH) != 0)
      return part + " can be changed by everybody, whose settings would be followed as " + runner.name;
  }
  return {};
}

bool is_empty(int folder) {
  const int fd = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const std::unique_ptr<DIR, int (*)(DIR*)> names(::fdopendir(fd), ::closedir);
  if (!names) return false;
  while (const dirent* entry = ::readdir(names.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return false;
  }
  return true;
}

}  // namespace

Address split_address(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return {.plain = std::string(text)};
  const std::size_t begin = scheme + 3;
  const std::string_view authority = text.substr(begin, text.find('/', begin) - begin);
  const std::size_t at = authority.rfind('@');
  const std::string_view name = text.substr(0, scheme);
  const auto is = [&](std::string_view known) { return base::equal_ignoring_case(name, known); };
  // The name in an ssh address is no secret, and the only way to say whom to log in as.
  if (at == std::string_view::npos || !(is("http") || is("https") || is("svn")))
    return {.plain = std::string(text)};
  const std::string_view login = authority.substr(0, at);
  const std::size_t colon = login.find(':');
  Address address{.plain = std::string(text.substr(0, begin)) + std::string(text.substr(begin + at + 1)),
                  .user = decoded(login.substr(0, colon))};
  if (colon != std::string_view::npos) address.password = decoded(login.substr(colon + 1));
  return address;
}

Result<void> check_value(std::string_view name, std::string_view value) {
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
  const Address address = split_address(value);
  const bool is_odd = value.starts_with('-') || std::ranges::any_of(value, is_control) ||
                      std::ranges::any_of(address.user + address.password, is_control);
  if (!is_odd) return {};
  std::string shown = address.plain.substr(0, 200);
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return Error(ErrorCode::invalid, "Illegal value for '" + std::string(name) + "': '" + shown + "'");
}

std::variant<Found, Plan> look_at(const std::string& path, std::string_view marker,
                                  const runners::Runner& runner, Context& context) {
  if (const Overlay::Entry* earlier = context.overlay.path(path)) {
    if (earlier->effect.kind == EffectKind::directory && earlier->effect.present) {
      auto there = context.tree.look(path);
      if (there && !*there) return Found::empty;
    }
    return Plan::unknown(earlier->state_id, path + " depends on what an earlier state does to it");
  }
  auto found = context.tree.look(path);
  if (!found) return Plan::fail(found.error());
  if (!*found) return Found::nothing;
  if (S_ISLNK((*found)->st_mode)) return Plan::fail(path + " is a symlink: give the path that it leads to");
  if (!S_ISDIR((*found)->st_mode)) return Plan::fail(path + " exists and is not a directory");
  auto inside = context.tree.look(path + "/" + std::string(marker));
  if (!inside) return Plan::fail(inside.error());
  if (*inside) {
    if (std::string why = runs_as_us(runner) ? why_not_as_us(path, marker, context)
                                             : why_not_as(runner, path, marker, context);
        !why.empty())
      return Plan::fail(std::move(why));
    return Found::working_copy;
  }
  const auto folder = context.tree.folder(path);
  if (!folder) return Plan::fail(folder.error());
  return is_empty(*folder) ? Found::empty : Found::other_files;
}

Result<void> plan_folder(const std::string& path, std::optional<std::string_view> user, Context& context,
                         Plan& plan) {
  auto missing = files::missing_folders(path, context);
  if (!missing) return std::move(missing).error();
  missing->push_back(path);
  for (const std::string& folder : *missing)
    plan.effects.push_back(
        {.kind = EffectKind::directory, .name = folder, .owner = std::string(user.value_or(""))});
  // What is in it by then is not known.
  plan.effects.push_back({.kind = EffectKind::directory, .name = path, .certain = false, .below = true});
  return {};
}

Result<void> make_folder(const std::string& path, std::string_view marker, const runners::Runner& runner,
                         ApplyContext& context) {
  auto missing = files::missing_folders(path, context);
  if (!missing) return std::move(missing).error();
  missing->push_back(path);
  const uid_t uid = runner.identity ? runner.identity->uid : ::geteuid();
  const gid_t gid = runner.identity ? runner.identity->gid : ::getegid();
  for (const std::string& folder : *missing) {
    auto found = context.tree.look(folder);
    if (!found) return std::move(found).error();
    if (*found) continue;
    auto made = context.files.make_folder(folder, {.uid = uid, .gid = gid, .mode = kFolderMode});
    if (!made) return made;
  }
  if (std::string why = runs_as_us(runner) ? why_not_as_us(path, marker, context)
                                           : why_not_as(runner, path, marker, context);
      !why.empty())
    return Error(ErrorCode::permission, std::move(why));
  return {};
}

Client::Client(std::string program, const runners::Runner& runner, std::vector<std::string> environment,
               Context& context, std::string script)
    : program_(std::move(program)),
      runner_(runner),
      environment_(std::move(environment)),
      context_(context),
      script_(std::move(script)) {}

base::Command Client::command(std::vector<std::string> arguments, std::string input) const {
  base::Command command;
  command.argv = {program_};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.env = base::clean_environment(runner_.home);
  if (!runner_.name.empty())
    command.env.insert(command.env.end(), {"USER=" + runner_.name, "LOGNAME=" + runner_.name});
  use_proxies(context_.host.downloads, command.env);
  command.env.insert(command.env.end(), environment_.begin(), environment_.end());
  command.identity = runner_.identity;
  command.input = std::move(input);
  command.script = script_;
  command.timeout = kLongest;
  return command;
}

Result<base::Completed> Client::run(std::vector<std::string> arguments, std::string input) {
  auto done = context_.commands.run(command(std::move(arguments), std::move(input)));
  const std::string said = base::clean_output(done ? done->output : context_.commands.interrupted_output());
  if (!base::trim(said).empty()) output_.append(output_.empty() ? "" : "\n").append(said);
  return done;
}

Result<base::Completed> Client::try_to(std::vector<std::string> arguments, std::string input) {
  base::Command asked = command(std::move(arguments), std::move(input));
  asked.on_output = [](base::Stream, std::string_view) {};
  asked.view = base::View::read_only;
  auto done = context_.commands.run(asked);
  if (done || done.error().code() == ErrorCode::cancelled || done.error().code() == ErrorCode::timed_out)
    return done;
  // Some containers permit no mounts.
  asked.view = base::View::all;
  return context_.commands.run(std::move(asked));
}

Result<std::string> Client::ask(std::vector<std::string> arguments, std::string input) {
  auto done = try_to(std::move(arguments), std::move(input));
  if (!done) return std::move(done).error();
  return done->ok() ? std::string(base::trim(done->output)) : std::string();
}

Error Client::failure(std::string_view action, const base::Completed& completed) const {
  std::string text = program_ + " " + std::string(action);
  text += completed.ending == base::Ending::signalled
              ? " was ended by signal " + std::to_string(completed.signal)
              : " failed (exit " + std::to_string(completed.exit_code) + ")";
  const std::string said = base::clean_output(completed.output);
  std::string_view why;
  for (const std::string_view line : base::split(std::string_view(said), '\n'))
    for (const std::string_view word : {"fatal: ", "error: ", "abort: ", "svn: E"})
      if (why.empty() && line.find(word) != std::string_view::npos) why = base::trim(line);
  if (why.empty()) why = base::last_line(said);
  if (!context_.sensitive && !why.empty()) text.append(": ").append(why);
  return {ErrorCode::io, std::move(text)};
}

std::string short_id(std::string_view id) {
  return std::string(id.substr(0, 7));
}

}  // namespace states::checkouts
