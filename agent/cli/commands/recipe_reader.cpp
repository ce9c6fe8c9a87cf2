#include "agent/cli/commands/recipe_reader.hpp"

#include <algorithm>

#include "agent/cli/commands/commands.hpp"
#include "agent/cli/commands/version.hpp"
#include "agent/cli/input/variable_input.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

namespace {

using base::Error;
using base::ErrorCode;
using modules::StateSources;

::modules::fetch::FetchSettings fetch_settings(const Options& options) {
  ::modules::fetch::FetchSettings settings{
      .state_dir = options.state_dir,
      .program = ::modules::fetch::fetcher_beside_us(),
      .ca_file = options.module_ca_file,
      .known_hosts_file = options.module_known_hosts,
      .ssh_key_file = options.module_ssh_key,
      .credentials_file = options.module_credentials,
      .keys_file = options.module_keys,
      .gpg_keyring = options.module_gpg_keyring,
      .schemes = options.module_schemes,
      .moving_tags = options.module_moving_tags,
      .timeout = std::chrono::seconds(options.module_fetch_timeout),
      .most_bytes = static_cast<std::uint64_t>(options.module_max_size) << 20,
      .proxy = proxy_settings(options),
  };
  if (settings.moving_tags.empty()) settings.moving_tags = {"main", "develop"};
  return settings;
}

}  // namespace

modules::ModuleSettings module_settings(const Options& options) {
  return {.folder = options.module_dir,
          .winners = options.module_wins,
          .agent_version = std::string(kVersion),
          .fetch = fetch_settings(options)};
}

FetchLines fetch_lines(const Options& options, terminal::Console& console) {
  return {.progress =
              [&](const std::string& line) {
                if (options.quiet || options.json) return;
                console.err.line(terminal::printable(line));
                console.err.flush();
              },
          .warning = [&](const std::string& line) { console.warn(line); }};
}

RecipeReader::RecipeReader(const Options& options, FetchLines say)
    : options_(options), settings_(module_settings(options)), say_(std::move(say)) {}

base::Result<RecipeReader> RecipeReader::open(const Options& options, FetchLines say, bool is_check) {
  if (!options.module_repo.empty() && options.module_tag.empty())
    return Error(ErrorCode::invalid, "which tag of " + options.module_repo + "? --module-tag TAG");
  RecipeReader reader(options, std::move(say));
  reader.is_check_ = is_check;
  auto local = StateSources::open(reader.settings_);
  if (!local) return std::move(local).error();
  reader.local_ = reader.last_ = std::move(*local);
  return reader;
}

recipe::Loaded RecipeReader::load_file(const std::string& path, base::Interrupt& interrupt) {
  auto text = recipe::read_recipe(path);
  if (!text) return {nullptr, {{text.error().message(), "", {}}}, {}};
  path_ = path;
  text_ = std::move(*text);
  return load(interrupt);
}

recipe::Loaded RecipeReader::load_file(const std::string& path) {
  base::NoInterrupt none;  // a signal ends the program, and with it the fetcher; the next fetch clears up
  return load_file(path, none);
}

recipe::Loaded RecipeReader::load_with(const recipe::RegistryOf& registry_of) const {
  auto inputs = recipe_inputs(options_, path_, text_, is_check_);
  if (!inputs) return {nullptr, {{inputs.error().message(), "", {}}}, {}};
  recipe::Loaded loaded = recipe::load_text(path_, text_, registry_of, *inputs);
  for (recipe::Problem& unused : unused_variables(options_, path_, text_))
    loaded.warnings.push_back(std::move(unused));
  return loaded;
}

recipe::Loaded RecipeReader::load(base::Interrupt& interrupt) {
  return load_with([&](const std::optional<recipe::ModuleSource>& named)
                       -> base::Result<std::shared_ptr<const states::Registry>> {
    auto sources = sources_for(named, interrupt);
    if (!sources) return std::move(sources).error();
    last_ = std::move(*sources);
    return last_->registry();
  });
}

std::optional<recipe::Loaded> RecipeReader::load_if_filled_differently(const recipe::Recipe& before) {
  if (!before.is_rendered()) return std::nullopt;
  recipe::Loaded loaded = load_with([&](const auto&) { return last_->registry(); });
  if (loaded.recipe && recipe::same_states(before, *loaded.recipe)) return std::nullopt;
  return loaded;
}

std::optional<recipe::Loaded> RecipeReader::load_if_moved(base::Interrupt& interrupt) {
  const auto before = last_;
  const auto& used = before->fetched();
  if (!used || options_.offline || !is_moving(used->named.tag)) return std::nullopt;
  auto now = fetch(used->named, interrupt);
  if (!now) return recipe::Loaded{nullptr, {{now.error().message(), "", {}}}, {}};
  if ((*now)->fetched()->commit == used->commit) return std::nullopt;
  recipe::Loaded loaded = load_with([&](const auto&) { return (*now)->registry(); });
  if (loaded.recipe) last_ = std::move(*now);
  return loaded;
}

StateSources::Opened RecipeReader::sources() {
  base::NoInterrupt none;
  return sources_for(std::nullopt, none);
}

bool RecipeReader::is_moving(const std::string& tag) const {
  return std::ranges::find(settings_.fetch.moving_tags, tag) != settings_.fetch.moving_tags.end();
}

// What is on the command line takes the place of what the recipe says: to try another tag, or a fork.
base::Result<std::optional<recipe::ModuleSource>> RecipeReader::wanted(
    const std::optional<recipe::ModuleSource>& named) const {
  if (pinned_) return pinned_;
  recipe::ModuleSource source = named.value_or(recipe::ModuleSource());
  if (!options_.module_repo.empty() || !options_.module_tag.empty()) source.commit.clear();
  if (!options_.module_repo.empty()) source.repo = options_.module_repo;
  if (!options_.module_tag.empty()) source.tag = options_.module_tag;
  if (!options_.commit.empty()) source.commit = options_.commit;
  if (source == recipe::ModuleSource()) return std::optional<recipe::ModuleSource>();
  if (source.repo.empty())
    return Error(ErrorCode::invalid, "of which repository? The recipe names none; --module-repo REPO");
  return std::optional(std::move(source));
}

StateSources::Opened RecipeReader::sources_for(const std::optional<recipe::ModuleSource>& named,
                                               base::Interrupt& interrupt) {
  auto source = wanted(named);
  if (!source) return std::move(source).error();
  if (!*source) return local_;
  return fetch(**source, interrupt);
}

StateSources::Opened RecipeReader::fetch(const recipe::ModuleSource& source, base::Interrupt& interrupt) {
  auto fetched = ::modules::fetch::fetch_module(settings_.fetch,
                                                {.repository = source.repo,
                                                 .tag = source.tag,
                                                 .commit = source.commit,
                                                 .offline = options_.offline,
                                                 .if_missing = true},
                                                interrupt, say_.progress);
  if (!fetched) return std::move(fetched).error().with_context("the modules '" + source.tag + "'");
  if (!fetched->warning.empty() && say_.warning) say_.warning(fetched->warning);
  // The same again keeps its processes.
  if (last_->fetched() && last_->fetched()->commit == fetched->checkout.commit &&
      last_->fetched()->named == source)
    return last_;
  return local_->with(source, std::move(*fetched));
}

}  // namespace agent::cli
