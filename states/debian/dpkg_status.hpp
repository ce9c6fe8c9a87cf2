// DpkgStatus: which packages dpkg has on this machine, read from its own database without starting anything.
//
// Read once per round and kept in Context::facts; only name, architecture, version and state are kept of each
// package. What an interrupted dpkg had not yet merged into its database (updates/) counts, as it does for
// dpkg-query. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/values/arena.hpp"
#include "states/context.hpp"

namespace states::debian {

enum class DpkgState : std::uint8_t {
  not_installed,
  config_files,  // removed, its configuration is still there
  half_installed,
  unpacked,
  half_configured,
  triggers_awaited,
  triggers_pending,
  installed,
};
std::string_view dpkg_state_name(DpkgState state);  // as dpkg writes it

struct DpkgPackage {
  std::string_view name;
  std::string_view architecture;
  std::string_view version;
  DpkgState state = DpkgState::not_installed;
  bool needs_reinstall = false;
  bool is_held = false;  // somebody wants it to stay as it is (apt-mark hold)

  // Its files are there and it is configured. Triggers that other packages still have to run do not count
  // against it.
  bool is_installed() const { return state >= DpkgState::triggers_awaited && !needs_reinstall; }
  // Anything of it but configuration files is there.
  bool is_present() const { return state > DpkgState::config_files; }
};

class DpkgStatus {
 public:
  // Adds the paragraphs of a status file. What is known already is replaced.
  void add(std::string_view text);

  // The package of this name; without an architecture the machine's own. Null if dpkg has never heard of it.
  // Valid until the next add().
  const DpkgPackage* find(std::string_view name, std::string_view architecture = {}) const;

  // "amd64": the architecture of dpkg itself; empty if dpkg is not in its own database.
  std::string_view native_architecture() const { return native_; }
  std::size_t size() const { return packages_.size(); }

 private:
  bool is_of(const DpkgPackage& package, std::string_view architecture) const;

  base::Arena arena_;
  std::vector<DpkgPackage> packages_;  // by name and architecture
  std::string_view native_;
};

// The database of context.host, read when first asked for. Valid until context.facts is cleared or
// forget_packages() is called.
base::Result<const DpkgStatus*> installed_packages(Context& context);
void forget_packages(Context& context);

// Whether dpkg has noted changes that are not in its database yet: it was ended half-way, or is at work.
bool is_dpkg_unfinished(const Host& host);

}  // namespace states::debian
