#include "backend/server/module_options.hpp"

#include <array>

#include "terminal/option_store.hpp"

namespace backend::server {

namespace {

using base::Result;
using terminal::must_be;
using terminal::OptionRow;
using terminal::Scope;
using terminal::store_by;
using terminal::store_more;
using terminal::store_number;
using terminal::store_text;
using terminal::ValueKind;

Result<void> store_module_scheme(Options& options, std::string_view value) {
  if (value != "file" && value != "git") return must_be("file or git", value);
  options.module_schemes.emplace_back(value);
  return {};
}

Result<void> store_other_modules(Options& options, std::string_view value) {
  if (value != "accept" && value != "refuse") return must_be("accept or refuse", value);
  options.module_refuse_others = value == "refuse";
  return {};
}

constexpr std::array kRows{
    OptionRow{.name = "module-repo",
              .kind = ValueKind::text,
              .placeholder = "PATTERN",
              .doc = "a module repository that recipes are checked with, or all below a path: "
                     "https://HOST/PATH/* or /**; may be given several times (none)",
              .scope = Scope::top,
              .repeatable = true,
              .configurable = true,
              .store = store_more<&Options::module_repos>},
    OptionRow{
        .name = "module-others",
        .kind = ValueKind::text,
        .placeholder = "WHAT",
        .doc = "recipes with other module repositories: accept them unchecked (default), or refuse them",
        .choices = "accept refuse",
        .scope = Scope::top,
        .configurable = true,
        .store = store_by<store_other_modules>},
    OptionRow{.name = "module-wins",
              .kind = ValueKind::text,
              .placeholder = "NAME",
              .doc = "a module that may have the name of a native state, as the agents' configuration says; "
                     "may be given several times",
              .scope = Scope::top,
              .repeatable = true,
              .configurable = true,
              .store = store_more<&Options::module_wins>},
    OptionRow{.name = "module-ca-file",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "the authorities that https servers of module repositories are known by (the system's)",
              .scope = Scope::top,
              .configurable = true,
              .store = store_text<&Options::module_ca_file>},
    OptionRow{.name = "module-known-hosts",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc =
                  "the host keys of ssh servers of module repositories, as OpenSSH's known_hosts has them; "
                  "others are refused",
              .scope = Scope::top,
              .configurable = true,
              .store = store_text<&Options::module_known_hosts>},
    OptionRow{.name = "module-ssh-key",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "the private key for ssh servers of module repositories; without a passphrase, mode 600",
              .scope = Scope::top,
              .configurable = true,
              .store = store_text<&Options::module_ssh_key>},
    OptionRow{.name = "module-credentials",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "names and passwords for https servers of module repositories, a line each: "
                     "https://USER:PASSWORD@HOST[/PATH]; mode 600",
              .scope = Scope::top,
              .configurable = true,
              .store = store_text<&Options::module_credentials>},
    OptionRow{.name = "module-keys",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc =
                  "public SSH keys, a line each: a module repository's tag or commit must be signed by one "
                  "of them",
              .scope = Scope::top,
              .configurable = true,
              .store = store_text<&Options::module_keys>},
    OptionRow{
        .name = "module-gpg-keyring",
        .kind = ValueKind::file,
        .placeholder = "FILE",
        .doc = "GPG keys, as 'gpg --export' writes them: a module repository's tag or commit must be signed "
               "by one of them, or by one of module-keys; needs gpgv",
        .scope = Scope::top,
        .configurable = true,
        .store = store_text<&Options::module_gpg_keyring>},
    OptionRow{.name = "module-proxy",
              .kind = ValueKind::text,
              .placeholder = "URI",
              .doc = "the proxy to https servers of module repositories: http://[USER:PASSWORD@]HOST:PORT "
                     "(none; the environment's is not used)",
              .scope = Scope::top,
              .configurable = true,
              .store = store_text<&Options::module_proxy>},
    OptionRow{.name = "module-scheme",
              .kind = ValueKind::text,
              .placeholder = "SCHEME",
              .doc = "how module repositories may be reached besides https and ssh: file, git; may be given "
                     "several times",
              .choices = "file git",
              .scope = Scope::top,
              .repeatable = true,
              .configurable = true,
              .store = store_by<store_module_scheme>},
    OptionRow{.name = "module-moving-tag",
              .kind = ValueKind::text,
              .placeholder = "NAME",
              .doc =
                  "a tag or branch of module repositories that may move; may be given several times (main, "
                  "develop)",
              .scope = Scope::top,
              .repeatable = true,
              .configurable = true,
              .store = store_more<&Options::module_moving_tags>},
    OptionRow{.name = "module-fetch-timeout",
              .kind = ValueKind::text,
              .placeholder = "SECONDS",
              .doc = "how long fetching a module repository may take, 1 to 50 (30)",
              .scope = Scope::top,
              .configurable = true,
              .store = store_number<&Options::module_fetch_timeout, 1, 50>},
    OptionRow{.name = "module-max-size",
              .kind = ValueKind::text,
              .placeholder = "MIB",
              .doc = "how large a module repository may be, 1 to 4096 MiB (64)",
              .scope = Scope::top,
              .configurable = true,
              .store = store_number<&Options::module_max_size, 1, 4096>},
};

}  // namespace

std::span<const OptionRow> module_option_rows() {
  return kRows;
}

Result<repositories::RepositorySettings> repository_settings(const Options& options,
                                                             const std::string& data) {
  auto allowed = repositories::RepositoryList::parse(options.module_repos, options.module_schemes);
  if (!allowed) return std::move(allowed).error();
  repositories::RepositorySettings settings{
      .fetch = {.state_dir = data,
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
                .follow_redirects = false,
                .proxy = {.proxy = options.module_proxy}},
      .allowed = std::move(*allowed),
      .refuse_others = options.module_refuse_others,
      .winners = options.module_wins};
  if (settings.fetch.moving_tags.empty()) settings.fetch.moving_tags = {"main", "develop"};
  return settings;
}

}  // namespace backend::server
