// Files of which nobody knows whether they are on disk: a sync has failed, or a kill came before it. They are
// written once more (base/files/write_again.hpp); until that has succeeded each has a record in the journal,
// and the state whose file it is has failed.
#include "agent/engine/worker/worker_loop.hpp"
#include "base/fnv.hpp"

namespace agent::engine {

namespace {

// Of no state. The same name for the same file, so that one `done` settles all that was noted of it.
Journal::Entry record_of(std::string_view kind, const std::string& root, const std::string& path) {
  base::Fnv1a hash;
  hash.add(root).add(std::string_view("\0", 1)).add(path);
  return {.root = root, .begun_in = {.run_id = std::string(kind) + hash.hex()}};
}

Journal::Entry doubt_record(const std::string& root, const std::string& path) {
  Journal::Entry entry = record_of("doubt-", root, path);
  entry.written = {path};
  return entry;
}

}  // namespace

bool WorkerLoop::note_doubtful(const std::string& root, const std::string& path) {
  return bool(journal_->begin(doubt_record(root, path)));
}

// What cannot be written stays in doubt, and in the journal, and is tried again in the next round. An Error:
// there it cannot be noted, and would be forgotten.
base::Result<void> WorkerLoop::write_again() {
  for (auto file = doubtful_files_.begin(); file != doubtful_files_.end();) {
    const auto& [root, path] = file->first;
    Doubt& doubt = file->second;
    base::Tree tree(root);
    tree.heed(&inbox_);
    base::TreeWriter writer(tree, sync_);
    // Only so that the temporary goes if we are killed now.
    Journal::Entry attempt = record_of("again-", root, path);
    attempt.scratch = {writer.scratch_path(path)};
    auto written = journal_->begin(attempt);
    if (written) written = writer.write_again(path);
    if (auto over = journal_->done(attempt.begun_in, attempt.index); written && !over) written = over;
    if (written && doubt.is_noted) written = journal_->done(doubt_record(root, path).begun_in, 0);
    if (written) {
      file = doubtful_files_.erase(file);
      continue;
    }
    if (doubt.why != written.error().message()) notice(Notice::Level::warning, written.error().message());
    doubt.why = written.error().message();
    if (!doubt.is_noted)
      if (auto noted = journal_->begin(doubt_record(root, path)); !noted) return noted;
    doubt.is_noted = true;
    ++file;
  }
  return {};
}

// A state that has put another file there is reported only when that one is on disk, and has a record in the
// journal until then.
void WorkerLoop::settle_written(const StateResult& result) {
  if (result.outcome != Outcome::changed) return;
  for (const std::string& path : result.written) {
    const auto file = doubtful_files_.find({settings_.host.root, path});
    if (file == doubtful_files_.end()) continue;
    const bool is_settled =
        !file->second.is_noted || journal_->done(doubt_record(settings_.host.root, path).begun_in, 0);
    if (is_settled) doubtful_files_.erase(file);
  }
}

// Why a state has not succeeded though its files read as they should; "" when nothing is in doubt.
std::string WorkerLoop::doubt_about(const recipe::State& state, const Journal::Entry* begun) const {
  if (doubtful_files_.empty() || state.is_off) return {};
  std::vector<std::string> paths;
  if (begun) paths = begun->written;
  for (const states::Effect& effect : state.type->possible_effects(*state.params))
    if (effect.kind == states::EffectKind::file) paths.push_back(effect.name);
  for (const std::string& path : paths)
    if (const auto file = doubtful_files_.find({settings_.host.root, path}); file != doubtful_files_.end())
      return "\nWhat an earlier run has written to " + path + " is not known to be on disk" +
             (file->second.why.empty() ? "" : ", and could not be written once more: " + file->second.why) +
             ". See whether the disk is full or failing";
  return {};
}

}  // namespace agent::engine
