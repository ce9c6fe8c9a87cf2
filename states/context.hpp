// Context: all that a state may use while it plans, and ApplyContext: what it may use besides while it
// applies.
//
// Made by the engine for one state at a time, on the worker's thread. A plan has no means to write: the file
// writer is in ApplyContext only.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "base/host/accounts.hpp"
#include "base/host/os_release.hpp"
#include "base/interrupt.hpp"
#include "base/tree/tree.hpp"
#include "base/tree/tree_writer.hpp"
#include "states/commands.hpp"
#include "states/overlay.hpp"

namespace states {

// How states reach servers (states/downloads). Texts as they stand in the configuration and the environment.
struct DownloadSettings {
  std::string proxy;  // the configuration's; wins over the environment's
  std::string http_proxy, https_proxy, no_proxy;
  std::string ca_file;  // whom to trust; empty: whom the system trusts
  // Hosts from which files are taken over http without a checksum (states/downloads/source.hpp); lower case.
  std::vector<std::string> allow_unverified_http{};
  std::chrono::milliseconds patience{30'000};  // with a server that sends nothing, or next to nothing
};

// The machine that states are about. Constant after construction.
struct Host {
  std::string root;    // "" for the running system, else a folder that file states work below ("/mnt/image")
  base::OsRelease os;  // of that root
  std::string state_dir = "/var/lib/opsagent";
  bool allow_unauthenticated_packages = false;
  DownloadSettings downloads{};

  bool is_running_system() const { return root.empty(); }
  // Where a program finds content that it is to look at: for root only, and empty but while it looks. What a
  // killed run has left there the engine removes before anything else.
  std::string copies_dir() const { return state_dir + "/validate"; }
};

// Things that are read once and used by many states: one object per type, made when first asked for.
class Cache {
 public:
  // T is constructed from `args` the first time.
  template <class T, class... Args>
  T& get(Args&&... args) {
    auto& slot = slots_[std::type_index(typeid(T))];
    if (!slot) slot = std::make_shared<T>(std::forward<Args>(args)...);
    return *static_cast<T*>(slot.get());
  }
  template <class T>
  void forget() {
    slots_.erase(std::type_index(typeid(T)));
  }
  void clear() { slots_.clear(); }

 private:
  std::unordered_map<std::type_index, std::shared_ptr<void>> slots_;
};

class StateType;
struct ParamValues;
struct Context;

// "/etc/a, /etc/b, 'vhost'": the watched files and the states of the recipe that are why services act; "" if
// nothing is.
std::string reasons_text(const Context& context);

// A state of a recipe, as its type has read it.
struct RecipePart {
  const StateType* type = nullptr;
  const ParamValues* params = nullptr;
};

// What meta.wait needs of the engine.
class Waits {
 public:
  virtual ~Waits() = default;
  // Whether the wait state with this id has been said to be done, under the present recipe version.
  virtual bool is_done(std::string_view state_id) = 0;
  // Blocks until it is. An error: the recipe was replaced, the agent stops, nobody can ever say so, or the
  // time is over (ErrorCode::timed_out).
  using Deadline = std::chrono::steady_clock::time_point;
  virtual base::Result<void> wait(std::string_view state_id, Deadline deadline) = 0;
};

// What the services of a state are to do because other states of the recipe have changed something.
struct Orders {
  // By ids of those states. A restart is a reload, too.
  std::vector<std::string> restart_for;
  std::vector<std::string> reload_for;
  // The parts of the state (WatchRequest::parts) that have done so already, in a run in which others failed.
  std::vector<std::string> restarted;
  std::vector<std::string> reloaded;

  bool empty() const { return restart_for.empty() && reload_for.empty(); }
};

struct Context {
  std::string_view state_id;
  const Host& host;
  base::Tree& tree;          // the file system below host.root
  base::Accounts& accounts;  // of host.root; looked up once per round
  const Overlay& overlay;
  Commands& commands;  // the only way to start a program
  base::Interrupt& interrupt;
  Cache& facts;  // forgotten when a round starts and whenever a state has run a program in apply
  Cache& notes;  // kept for the whole round
  Waits& waits;
  bool watch_triggered = false;
  std::span<const std::string> watch_changed{};  // the files that triggered it
  // The parts of the state (WatchRequest::parts) that have reacted already, in a run in which others failed.
  std::span<const std::string> watch_reacted{};
  const Orders* orders = nullptr;  // `restart_on` and `reload_on`; null: there are none
  // The recipe calls this state sensitive: the engine hides diffs and output; comments must not quote them.
  bool sensitive = false;
  bool wants_diffs = true;  // false: nobody will see them, so none need be made
  // A plan of the recipe is made, not of a run: a program must not write either (base/programs/process.hpp
  // has a view for that).
  bool plans_only = false;
  // Of the saved plan that is made or compared now: what would be overwritten or removed is marked with it
  // (files/marking.hpp). Empty: there is none.
  std::string_view plan_salt{};
  const base::Redactor* redactor = nullptr;  // null: there are no secrets
  // The recipe says in which rounds it runs (`once`, `on_change_of`), so the state need not.
  bool is_paced = false;
  // All states of the recipe, this one included. For states that take something over or away by a rule of
  // theirs: what another state asks for is not theirs to take.
  std::span<const RecipePart> recipe{};

  // The engine takes secrets out of all that it is told. A state that shows only the beginning of a text does
  // so itself, before it cuts it: of half a secret nobody knows that it is one.
  std::string without_secrets(std::string_view text) const {
    return redactor ? redactor->redact(text) : std::string(text);
  }
  bool has_secrets(std::string_view text) const { return redactor && redactor->is_needed(text); }
};

struct ApplyContext : Context {
  base::TreeWriter& files;
};

}  // namespace states
