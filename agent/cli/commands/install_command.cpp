// `opsagent install`, `migrate`, `uninstall` and `clean`.
#include <unistd.h>

#include "agent/cli/commands/commands.hpp"
#include "agent/cli/input/recipe_input.hpp"
#include "agent/install/install.hpp"
#include "agent/install/migrate.hpp"
#include "agent/install/uninstall.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

namespace {

base::Result<install::Site> site_of(const Options& options) {
  auto root = root_path(options.root);
  if (!root) return std::move(root).error();
  return install::Site{.root = std::move(*root), .prefix = options.prefix, .state_dir = options.state_dir};
}

// Of an image whoever may write to it can be the owner.
bool may_proceed(const Options& options, terminal::Console& console) {
  if (!options.root.empty() || ::geteuid() == 0) return true;
  console.complain("this changes the system: run it as root (sudo opsagent " +
                   std::string(options.command->name) + " …)");
  return false;
}

install::Say progress(const Options& options, terminal::Console& console) {
  return [&](const std::string& step) {
    if (options.quiet) return;
    console.out.line(terminal::printable(step));
    console.out.flush();
  };
}

int fail(const base::Error& error, terminal::Console& console) {
  console.complain(error.message());
  return kFailure;
}

}  // namespace

int install_command(const Options& options, terminal::Console& console) {
  if (!may_proceed(options, console)) return kFailure;
  const auto release = install::own_release();
  if (!release) {
    console.complain(
        "this program is not part of a self-contained release (there is no manifest beside bin/): unpack "
        "one, "
        "and run its bin/opsagent install");
    return kFailure;
  }
  auto site = site_of(options);
  if (!site) return fail(site.error(), console);
  // Before ours starts: never do both run.
  const auto migrated = install::migrate(*site, progress(options, console));
  if (!migrated) return fail(migrated.error().with_context("migrating from the original OpsAgent"), console);
  const auto installed = install::install({.site = std::move(*site),
                                           .release = *release,
                                           .sha256 = options.sha256,
                                           .start = !options.no_start,
                                           .number = static_cast<std::uint64_t>(options.release)},
                                          progress(options, console));
  if (!installed) return fail(installed.error(), console);
  if (!options.quiet) console.out.line("installed " + terminal::printable(*installed));
  return kOk;
}

int migrate_command(const Options& options, terminal::Console& console) {
  if (!may_proceed(options, console)) return kFailure;
  const auto site = site_of(options);
  if (!site) return fail(site.error(), console);
  if (options.undo) {
    const auto undone = install::undo_migration(*site, !options.no_start, progress(options, console));
    if (!undone) return fail(undone.error(), console);
    if (!options.quiet) console.out.line("the original OpsAgent is back");
    return kOk;
  }
  const auto migrated = install::migrate(*site, progress(options, console));
  if (!migrated) return fail(migrated.error(), console);
  if (!options.quiet)
    console.out.line(*migrated                      ? "migrated from the original OpsAgent"
                     : install::was_migrated(*site) ? "migrated before; there is nothing to do"
                                                    : "there is no original OpsAgent on this machine");
  return kOk;
}

int uninstall_command(const Options& options, terminal::Console& console) {
  if (!may_proceed(options, console)) return kFailure;
  auto site = site_of(options);
  if (!site) return fail(site.error(), console);
  const auto kept = install::uninstall({.site = std::move(*site), .keep_state = options.keep_state},
                                       progress(options, console));
  if (!kept) return fail(kept.error(), console);
  for (const std::string& each : *kept)
    console.warn("kept " + terminal::printable(each));
  if (!options.quiet) console.out.line("uninstalled");
  return kOk;
}

int clean_command(const Options& options, terminal::Console& console) {
  if (!options.argument().empty() && options.argument() != "reinstall") {
    console.complain("what is to be cleaned? opsagent clean, or opsagent clean reinstall");
    return kFailure;
  }
  if (options.argument().empty()) return uninstall_command(options, console);
  if (!may_proceed(options, console)) return kFailure;
  const auto site = site_of(options);
  if (!site) return fail(site.error(), console);
  const auto done = install::reinstall(*site, !options.no_start, progress(options, console));
  if (!done) return fail(done.error(), console);
  if (!options.quiet) console.out.line("installed anew");
  return kOk;
}

}  // namespace agent::cli
