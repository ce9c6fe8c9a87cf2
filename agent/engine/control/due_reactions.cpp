#include "agent/engine/control/due_reactions.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/fnv.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"

namespace agent::engine {

namespace {

using base::Result;
using base::Value;
using recipe::Reaction;

constexpr std::size_t kSealSize = 16;
constexpr std::size_t kLargestReactions = 256 * 1024 * 1024;
// A file with fewer lines is not worth being written anew.
constexpr std::size_t kFewLines = 1'000;
constexpr std::array<std::string_view, 3> kReactions{"run", "restart", "reload"};

std::string_view reaction_word(Reaction reaction) {
  return kReactions[static_cast<std::size_t>(reaction)];
}

std::string member_text(const Value& object, std::string_view name) {
  const Value* value = object.find(name);
  return value ? std::string(value->text()) : std::string();
}

std::string sealed_line(const std::string& json) {
  return base::fnv1a_hex(json) + " " + json + "\n";
}

}  // namespace

DueReactions::Key DueReactions::key(const std::string& root, std::string_view follower, Reaction reaction,
                                    std::string_view followed) {
  return {root, std::string(follower), reaction, std::string(followed)};
}

std::string DueReactions::text(const Key& key, const Entry& entry) const {
  const auto& [root, follower, reaction, followed] = key;
  base::JsonText json;
  json.begin_object().member("state", follower).member("is_to", reaction_word(reaction));
  json.member("because", followed).member("root", root);
  json.member("status", entry.status == Status::nothing ? "over"
                        : entry.status == Status::due   ? "due"
                                                        : "begun");
  json.member("at", entry.at).key("reacted").begin_list();
  for (const std::string& part : entry.reacted)
    json.value(part);
  return sealed_line(json.end_list().end_object().take());
}

std::string DueReactions::text(const std::string& root, std::string_view follower,
                               const std::string& report) const {
  base::JsonText json;
  json.begin_object().member("state", follower).member("root", root).member("followed_by", report);
  return sealed_line(json.end_object().take());
}

void DueReactions::take(std::string_view line) {
  if (line.size() <= kSealSize + 1) return;
  const std::string_view json = line.substr(kSealSize + 1);
  if (base::fnv1a_hex(json) != line.substr(0, kSealSize)) return;
  base::Arena arena;
  const auto parsed = base::parse_json(json, arena);
  const auto* object = std::get_if<Value>(&parsed);
  if (!object || !object->is_object()) return;
  const std::string root = member_text(*object, "root");
  const std::string follower = member_text(*object, "state");
  if (object->find("followed_by")) {
    last_[{root, follower}] = member_text(*object, "followed_by");
    return;
  }
  const auto reaction = std::ranges::find(kReactions, member_text(*object, "is_to"));
  if (reaction == kReactions.end()) return;
  const Key of = key(root, follower, static_cast<Reaction>(reaction - kReactions.begin()),
                     member_text(*object, "because"));
  const std::string status = member_text(*object, "status");
  if (status == "over") {
    entries_.erase(of);
    return;
  }
  Entry entry{.status = status == "begun" ? Status::begun : Status::due};
  if (const Value* at = object->find("at")) entry.at = at->as_integer().value_or(0);
  if (const Value* reacted = object->find("reacted"))
    for (const Value& part : reacted->items())
      entry.reacted.emplace(part.text());
  if (entries_.size() < kMost) entries_.insert_or_assign(of, std::move(entry));
}

Result<void> DueReactions::read() {
  entries_.clear();
  last_.clear();
  lines_ = 0;
  auto file = base::read_file(path_, kLargestReactions);
  if (!file && file.error().code() == base::ErrorCode::not_found) return {};
  if (!file) return std::move(file).error().with_context("what states have still to follow");
  for (const std::string_view line : base::split(*file, '\n')) {
    lines_ += line.empty() ? 0 : 1;
    take(line);
  }
  return {};
}

Result<void> DueReactions::look() {
  return read();
}

Result<void> DueReactions::load() {
  fd_.reset();
  if (auto done = read(); !done) return done;
  struct stat st {};
  if (::lstat(path_.c_str(), &st) != 0) return {};
  return open();
}

Result<void> DueReactions::open() {
  if (fd_) return {};
  base::UniqueFd fd(::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return base::os_error(errno, "cannot open " + path_);
  fd_ = std::move(fd);
  // What is appended next must begin a line of its own.
  const off_t size = ::lseek(fd_.get(), 0, SEEK_END);
  char last = '\n';
  if (size > 0 && ::pread(fd_.get(), &last, 1, size - 1) == 1 && last != '\n') return append("\n");
  return {};
}

Result<void> DueReactions::append(const std::string& lines) {
  if (lines.empty()) return {};
  if (auto opened = open(); !opened) return opened;
  const off_t before = ::lseek(fd_.get(), 0, SEEK_END);
  const ssize_t written = ::write(fd_.get(), lines.data(), lines.size());
  if (written != static_cast<ssize_t>(lines.size())) {
    const int why = written < 0 ? errno : ENOSPC;
    // A part of a line would spoil the next one.
    if (written > 0) (void)!::ftruncate(fd_.get(), before);
    return base::os_error(why, "cannot write " + path_);
  }
  lines_ += static_cast<std::size_t>(std::ranges::count(lines, '\n'));
  is_dirty_ = true;
  return sync_.note(fd_.get());
}

Result<void> DueReactions::set(const Key& key, Entry entry) {
  entry.at = std::time(nullptr);
  if (!entries_.contains(key) && entries_.size() >= kMost)
    return base::Error(base::ErrorCode::limit,
                       "more than " + std::to_string(kMost) + " changes of states have still to be followed");
  if (auto written = append(text(key, entry)); !written) return written;
  entries_.insert_or_assign(key, std::move(entry));
  return {};
}

void DueReactions::adopt(const std::string& root, const recipe::Recipe& recipe) {
  std::set<Key> begun;
  for (const auto& [of, entry] : entries_)
    if (entry.status == Status::begun && std::get<0>(of) == root) begun.insert(of);
  if (begun.empty()) return;
  const std::vector<recipe::State>& states = recipe.states();
  for (std::size_t place = 0; place < states.size(); ++place)
    for (const recipe::Follower& follower : recipe.followers(place))
      begun.erase(key(root, states[follower.place].id, follower.reaction, states[place].id));
  for (const Key& of : begun)
    entries_[of].status = Status::due;
}

// One that is due already stays so: what was done before is to be followed, whatever becomes of this change.
Result<void> DueReactions::begin(const std::string& root, const recipe::Recipe& recipe, std::size_t place) {
  for (const recipe::Follower& follower : recipe.followers(place)) {
    const Key of =
        key(root, recipe.states()[follower.place].id, follower.reaction, recipe.states()[place].id);
    if (entries_.contains(of)) continue;
    if (auto written = set(of, {.status = Status::begun}); !written) return written;
  }
  return {};
}

Result<void> DueReactions::succeeded(const std::string& root, const recipe::Recipe& recipe, std::size_t place,
                                     bool changed, const RunRound* begun_in) {
  // The keys of that round's reports.
  const std::string round =
      begun_in ? begun_in->run_id + "/" + std::to_string(begun_in->round) + "/" : std::string();
  for (const recipe::Follower& follower : recipe.followers(place)) {
    const Key of =
        key(root, recipe.states()[follower.place].id, follower.reaction, recipe.states()[place].id);
    const auto known = entries_.find(of);
    const bool is_there = known != entries_.end();
    const bool is_as_wanted =
        is_there ? known->second.status == Status::due && known->second.reacted.empty() : !changed;
    if (!is_there && !round.empty()) {
      const auto last = last_.find({root, std::string(recipe.states()[follower.place].id)});
      if (last != last_.end() && last->second.starts_with(round)) continue;
    }
    if (is_as_wanted || (!changed && known->second.status == Status::due)) continue;
    if (auto written = set(of, {.status = Status::due}); !written) return written;
  }
  return {};
}

DueReactions::Status DueReactions::status(const std::string& root, std::string_view follower,
                                          Reaction reaction, std::string_view followed) const {
  const auto known = entries_.find(key(root, follower, reaction, followed));
  return known == entries_.end() ? Status::nothing : known->second.status;
}

std::vector<DueReactions::Followed> DueReactions::all(const std::string& root, std::string_view follower,
                                                      Reaction reaction) const {
  std::vector<Followed> all;
  const Key first = key(root, follower, reaction, "");
  for (auto entry = entries_.lower_bound(first); entry != entries_.end(); ++entry) {
    const auto& [of_root, of_follower, of_reaction, followed] = entry->first;
    if (of_root != root || of_follower != follower || of_reaction != reaction) break;
    all.push_back({followed, entry->second.status});
  }
  return all;
}

bool DueReactions::has_any(const std::string& root, std::string_view follower) const {
  if (entries_.empty()) return false;
  const auto entry = entries_.lower_bound(key(root, follower, Reaction::run, ""));
  return entry != entries_.end() && std::get<0>(entry->first) == root &&
         std::get<1>(entry->first) == follower;
}

std::vector<std::string> DueReactions::done_parts(const std::string& root, std::string_view follower,
                                                  Reaction reaction,
                                                  const std::vector<std::string>& parts) const {
  std::vector<std::string> done = parts;
  for (const Followed& followed : all(root, follower, reaction)) {
    const Entry& entry = entries_.at(key(root, follower, reaction, followed.id));
    if (entry.status == Status::due)
      std::erase_if(done, [&](const std::string& part) { return !entry.reacted.contains(part); });
  }
  return done;
}

Result<void> DueReactions::reacted(const std::string& root, std::string_view follower,
                                   const std::vector<std::string>& parts) {
  for (const Reaction reaction : {Reaction::restart, Reaction::reload})
    for (const Followed& followed : all(root, follower, reaction)) {
      const Key of = key(root, follower, reaction, followed.id);
      Entry next = entries_.at(of);
      if (next.status != Status::due) continue;
      next.reacted.insert(parts.begin(), parts.end());
      if (next.reacted.size() == entries_.at(of).reacted.size()) continue;
      if (auto written = set(of, std::move(next)); !written) return written;
    }
  return {};
}

Result<void> DueReactions::followed(const std::string& root, std::string_view follower,
                                    const std::string& report) {
  if (entries_.empty()) return {};
  std::string lines;
  std::vector<Key> over;
  for (const Reaction reaction : {Reaction::run, Reaction::restart, Reaction::reload})
    for (const Followed& followed : all(root, follower, reaction)) {
      // One whose change is not through yet is followed when it is.
      if (followed.status != Status::due) continue;
      over.push_back(key(root, follower, reaction, followed.id));
      lines += text(over.back(), {.status = Status::nothing, .at = std::time(nullptr)});
    }
  if (over.empty()) return {};
  lines += text(root, follower, report);
  if (auto written = append(lines); !written) return written;
  for (const Key& each : over)
    entries_.erase(each);
  last_[{root, std::string(follower)}] = report;
  return {};
}

bool DueReactions::has_followed(const std::string& root, std::string_view follower,
                                const std::string& report) const {
  const auto known = last_.find({root, std::string(follower)});
  return known != last_.end() && known->second == report;
}

Result<void> DueReactions::sync() {
  if (!is_dirty_ || !fd_) return {};
  if (::fdatasync(fd_.get()) != 0) return base::os_error(errno, path_);
  is_dirty_ = false;
  return {};
}

Result<void> DueReactions::tidy(const std::string& root, const recipe::Recipe& recipe, bool is_told) {
  if (lines_ == 0) return {};
  const std::int64_t oldest = std::time(nullptr) - kForgottenAfter.count();
  std::set<std::string_view> there;
  const bool has_old =
      std::ranges::any_of(entries_, [&](const auto& each) { return each.second.at < oldest; });
  if (has_old)
    for (const recipe::State& state : recipe.states())
      there.insert(state.id);
  const std::size_t removed = std::erase_if(entries_, [&](const auto& each) {
    const bool is_there = std::get<0>(each.first) == root && there.contains(std::get<1>(each.first));
    return each.second.at < oldest && !is_there;
  });
  if (is_told) last_.clear();
  const bool is_over = entries_.empty() && last_.empty();
  if (!is_over && removed == 0 && lines_ < std::max(kFewLines, 2 * entries_.size())) return {};
  return rewrite();
}

Result<void> DueReactions::rewrite() {
  std::string lines;
  for (const auto& [of, entry] : entries_)
    lines += text(of, entry);
  for (const auto& [of, report] : last_)
    lines += text(of.first, of.second, report);
  fd_.reset();
  is_dirty_ = false;
  if (auto written = base::write_durable_file(path_, lines); !written) return written;
  lines_ = static_cast<std::size_t>(std::ranges::count(lines, '\n'));
  return {};
}

}  // namespace agent::engine
