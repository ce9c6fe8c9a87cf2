// Repositories: what a module repository has at a tag, for checking recipes. On a thread of its own: one
// fetch at a time, with a deadline, each asker in turn; neither the loop nor the store waits for it.
//
// What was read is kept by commit, in memory and, verified, in modules/ of the data folder. Everything here
// but the fetch itself belongs to the loop's thread.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/repositories/repository_list.hpp"
#include "backend/store/threads/store_thread.hpp"
#include "modules/fetch/fetch.hpp"
#include "modules/module_set.hpp"
#include "protocol/messages.hpp"
#include "terminal/log.hpp"
#include "transport/async.hpp"

namespace backend::repositories {

struct RepositorySettings {
  ::modules::fetch::FetchSettings fetch;  // does not follow redirects, whatever it says
  RepositoryList allowed;
  bool refuse_others = false;        // what is not allowed; otherwise it is taken unchecked
  std::vector<std::string> winners;  // modules that may have the name of a native state
};

// The modules of a commit, which a recipe can be checked with. Constant.
struct ReadModules {
  ::modules::ModuleSet set;
  std::vector<std::string> problems;  // not empty: no agent takes them
};

// What came of a look. One of `modules`, `unknown` and `refusal` is there.
struct Looked {
  protocol::ModuleSource source;  // as asked for, with the commit as far as that is known
  std::shared_ptr<const ReadModules> modules;
  std::string unknown;  // why nobody could look: what uses the modules is taken unchecked
  std::string refusal;  // why no agent, or this backend, would take them
  std::string warning;  // with `modules`: the server was not asked, and what was there is used
};

enum class Ask {
  server,      // whether the tag still stands for what it did
  if_missing,  // nobody, when the commit is there
};

class Repositories {
 public:
  Repositories(transport::Loop& loop, RepositorySettings settings, telemetry::Metrics& metrics,
               terminal::Log& log);
  // Ends the fetch that is under way.
  ~Repositories();
  Repositories(const Repositories&) = delete;
  Repositories& operator=(const Repositories&) = delete;

  // `asker`: a token, whose turn it is among those who wait. Answers within a minute or so: who has waited
  // long for others' fetches is told that nobody could look.
  transport::Task<Looked> look(std::string asker, protocol::ModuleSource source, Ask ask);
  // Ends the fetch that is under way, and all that come.
  void stop();

  const std::vector<std::string>& winners() const { return settings_.winners; }

 private:
  class Stop;
  class Fetch;
  struct Remembered {
    std::string key;
    Looked looked;
    std::chrono::steady_clock::time_point until;
  };

  std::optional<Looked> answer_at_once(const protocol::ModuleSource& source);
  const Looked* find_recent(const std::string& key);
  void remember(std::string key, const Looked& looked);
  void keep(const Looked& looked);
  std::shared_ptr<const ReadModules> find_kept(const protocol::ModuleSource& source);
  void note(const Looked& looked);

  transport::Loop& loop_;
  const std::shared_ptr<const RepositorySettings> shared_settings_;
  const RepositorySettings& settings_;
  terminal::Log& log_;
  const std::shared_ptr<Stop> stop_;
  std::deque<Looked> kept_;        // with their modules, the one that was used last first
  std::deque<Remembered> recent_;  // the newest last
  std::unique_ptr<store::StoreWorker> worker_;
};

}  // namespace backend::repositories
