#include "modules/git/intake.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "modules/git/links.hpp"

namespace modules::git {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::string_view kGreeting = "opsagent-fetch 1";
constexpr std::size_t kLongestLine = 1024;

Error not_believed(const std::string& why) {
  return Error(ErrorCode::invalid, "what was fetched is not believed: " + why);
}

Error beyond(const std::string& what) {
  return Error(ErrorCode::limit, what);
}

std::string megabytes(std::uint64_t bytes) {
  return bytes >= 1 << 20 ? std::to_string(bytes >> 20) + " MiB" : std::to_string(bytes) + " bytes";
}

}  // namespace

Result<void> Intake::take(std::string_view bytes) {
  if (failed_) return not_believed("it went on after an error");
  while (!bytes.empty()) {
    Result<void> taken;
    if (in_object_) {
      const std::string_view piece = bytes.substr(0, std::min<std::uint64_t>(left_, bytes.size()));
      bytes.remove_prefix(piece.size());
      taken = add_content(piece);
    } else {
      const std::size_t newline = bytes.find('\n');
      const std::string_view piece = bytes.substr(0, newline);
      if (line_.size() + piece.size() > kLongestLine) {
        taken = not_believed("a line in it is too long");
      } else if (newline == std::string_view::npos) {
        line_ += piece;
        bytes = {};
      } else {
        bytes.remove_prefix(newline + 1);
        const std::string line = std::exchange(line_, {}) + std::string(piece);
        taken = take_line(line);
      }
    }
    if (!taken) {
      failed_ = true;
      return taken;
    }
  }
  return {};
}

Result<Snapshot> Intake::finish() {
  if (failed_) return not_believed("it had an error");
  if (phase_ != Phase::ended || in_object_ || !line_.empty())
    return not_believed("it ends before it is complete");
  return std::move(snapshot_);
}

Result<void> Intake::take_line(std::string_view line) {
  switch (phase_) {
    case Phase::greeting:
      if (line != kGreeting) return not_believed("it does not begin as it should");
      phase_ = Phase::resolving;
      return {};
    case Phase::resolving:
      return take_resolved(line);
    case Phase::ended:
      return not_believed("something comes after its end");
    default:
      break;
  }
  if (line == "present" && objects_ == 0) {
    snapshot_.is_present = true;
    phase_ = Phase::ended;
    return {};
  }
  if (line == "end") {
    if (phase_ != Phase::blobs || !wanted_blobs_.empty()) return not_believed("objects are missing");
    for (const auto& [path, target] : snapshot_.links)
      if (const std::string problem = link_problem(snapshot_.links, path); !problem.empty())
        return Error(ErrorCode::invalid, "the link '" + path + "' in the repository " + problem);
    phase_ = Phase::ended;
    return {};
  }
  return begin_object(line);
}

// "resolved REF TARGET COMMIT"
Result<void> Intake::take_resolved(std::string_view line) {
  const std::vector<std::string_view> words = base::split(line, ' ');
  if (words.size() != 4 || words[0] != "resolved") return not_believed("the name is not resolved");
  const auto target = ObjectId::parse(words[2]);
  const auto commit = ObjectId::parse(words[3]);
  if ((words[1] != "refs/tags/" + tag_ && words[1] != "refs/heads/" + tag_) || !target || !commit)
    return not_believed("another name is resolved than was asked for");
  snapshot_.resolved = {.ref = std::string(words[1]), .target = *target, .commit = *commit};
  expected_ = *target;
  phase_ = Phase::signed_objects;
  return sink_.on_resolved(snapshot_.resolved);
}

// "TYPE ID SIZE", then the content.
Result<void> Intake::begin_object(std::string_view line) {
  const std::vector<std::string_view> words = base::split(line, ' ');
  if (words.size() != 3) return not_believed("a line in it is not understood");
  const auto type = object_type(words[0]);
  const auto id = ObjectId::parse(words[1]);
  const auto size = base::parse_integer(words[2]);
  if (!type || !id || !size || *size < 0) return not_believed("a line in it is not understood");
  ++objects_;
  type_ = *type;
  id_ = *id;
  left_ = static_cast<std::uint64_t>(*size);
  content_.clear();
  keeps_content_ = true;
  is_file_ = false;
  if (auto fine = check_expected(*type, *id, left_); !fine) return fine;
  hash_.emplace(*type, left_);
  in_object_ = true;
  return left_ == 0 ? end_object() : Result<void>();
}

Result<void> Intake::check_expected(ObjectType type, const ObjectId& id, std::uint64_t size) {
  const Error unexpected = not_believed("the object " + id.hex() + " was not to come, or not yet");
  if (phase_ == Phase::signed_objects) {
    if (id != expected_ || (type != ObjectType::commit && type != ObjectType::tag)) return unexpected;
    if (size > limits_.signed_object)
      return beyond("a commit or tag of the repository has more than " + megabytes(limits_.signed_object));
    if (type == ObjectType::tag && ++tags_ > limits_.tags)
      return beyond("the tag points to a tag, and that to a tag: too many of them");
    return {};
  }
  if (phase_ == Phase::trees) {
    if (type != ObjectType::tree || !wanted_trees_.contains(id)) return unexpected;
    tree_bytes_ += size;
    if (size > limits_.tree_bytes || tree_bytes_ > limits_.tree_bytes)
      return beyond("the folders of the repository are too large to list");
    return {};
  }
  const auto wanted = wanted_blobs_.find(id);
  if (type != ObjectType::blob || wanted == wanted_blobs_.end()) return unexpected;
  const Places& places = wanted->second;
  const std::string first = entries_[places.files.empty() ? places.links[0] : places.files[0]].path;
  if (!places.links.empty() && size > kLongestTarget)
    return beyond("the link '" + entries_[places.links[0]].path + "' has a target longer than 4095 bytes");
  if (size > limits_.file)
    return beyond("the file '" + first + "' has " + megabytes(size) + ", more than the " +
                  megabytes(limits_.file) + " that one may have");
  bytes_ += size * places.files.size();
  if (bytes_ > limits_.bytes)
    return beyond("the files of the repository have more than " + megabytes(limits_.bytes) + " (at '" +
                  first + "')");
  keeps_content_ = !places.links.empty();
  is_file_ = !places.files.empty();
  return is_file_ ? sink_.begin_file(places.files, size) : Result<void>();
}

Result<void> Intake::add_content(std::string_view bytes) {
  hash_->add(bytes);
  left_ -= bytes.size();
  if (keeps_content_) content_ += bytes;
  if (is_file_)
    if (auto added = sink_.add_bytes(bytes); !added) return added;
  return left_ == 0 ? end_object() : Result<void>();
}

Result<void> Intake::end_object() {
  in_object_ = false;
  if (hash_->finish() != id_)
    return not_believed("the content of the " + std::string(name_of(type_)) + ' ' + id_.hex() +
                        " is not the one that has this id");
  switch (type_) {
    case ObjectType::tag:
      return end_tag();
    case ObjectType::commit:
      return end_commit();
    case ObjectType::tree:
      return end_tree();
    case ObjectType::blob:
      break;
  }
  const auto wanted = wanted_blobs_.find(id_);
  for (const std::size_t place : wanted->second.links)
    snapshot_.links[entries_[place].path] = content_;
  wanted_blobs_.erase(wanted);
  return is_file_ ? sink_.end_file() : Result<void>();
}

Result<void> Intake::end_tag() {
  auto tag = parse_tag(content_);
  if (!tag) return std::move(tag).error();
  if (tag->type != ObjectType::commit && tag->type != ObjectType::tag)
    return Error(ErrorCode::invalid, "the tag '" + tag_ + "' points to a " + std::string(name_of(tag->type)) +
                                         ", not to a commit");
  // Else a server could pass an old signed tag off as the new one.
  if (tags_ == 1 && snapshot_.resolved.ref.starts_with("refs/tags/") && tag->name != tag_)
    return Error(ErrorCode::invalid, "the repository gives the tag '" + base::quote_of(tag->name) +
                                         "' where '" + tag_ + "' was asked for");
  expected_ = tag->object;
  snapshot_.signed_texts.push_back(std::move(tag->text));
  return {};
}

Result<void> Intake::end_commit() {
  if (id_ != snapshot_.resolved.commit) return not_believed("the tag leads to another commit");
  auto commit = parse_commit(content_);
  if (!commit) return std::move(commit).error();
  snapshot_.signed_texts.push_back(std::move(commit->text));
  root_ = commit->tree;
  wanted_trees_.insert(root_);
  phase_ = Phase::trees;
  return {};
}

Result<void> Intake::end_tree() {
  auto entries = parse_tree(content_);
  if (!entries) return std::move(entries).error().with_context("the repository is refused");
  wanted_trees_.erase(id_);
  for (const TreeEntry& entry : *entries)
    if (entry.kind == EntryKind::folder && entry.id != id_ && !trees_.contains(entry.id))
      wanted_trees_.insert(entry.id);
  trees_.emplace(id_, std::move(*entries));
  if (trees_.size() + wanted_trees_.size() > limits_.entries)
    return beyond("the repository has more than " + std::to_string(limits_.entries) + " files and folders");
  return wanted_trees_.empty() ? lay_out() : Result<void>();
}

Result<void> Intake::lay_out() {
  if (auto laid = lay_out_below(root_, "", 0); !laid) return laid;
  trees_.clear();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const SnapshotEntry& entry = entries_[i];
    if (entry.kind == EntryKind::folder) continue;
    Places& places = wanted_blobs_[entry.id];
    (entry.kind == EntryKind::link ? places.links : places.files).push_back(i);
  }
  phase_ = Phase::blobs;
  return sink_.on_tree(entries_);
}

// A tree may stand at many places: what counts is what would be written, and that is bounded while it is
// listed.
Result<void> Intake::lay_out_below(const ObjectId& tree, const std::string& path, std::uint64_t depth) {
  if (depth > limits_.depth)
    return beyond("the folders of the repository are nested more than " + std::to_string(limits_.depth) +
                  " deep, at '" + path + "'");
  const auto found = trees_.find(tree);
  if (found == trees_.end()) return not_believed("a tree is missing");
  for (const TreeEntry& entry : found->second) {
    std::string below = path.empty() ? entry.name : path + '/' + entry.name;
    if (below.size() > limits_.path)
      return beyond("a path of the repository has more than " + std::to_string(limits_.path) + " bytes: '" +
                    base::quote_of(below) + "'");
    if (entries_.size() >= limits_.entries)
      return beyond("the repository has more than " + std::to_string(limits_.entries) + " files and folders");
    entries_.push_back({.path = below, .kind = entry.kind, .id = entry.id});
    if (entry.kind == EntryKind::folder)
      if (auto laid = lay_out_below(entry.id, below, depth + 1); !laid) return laid;
  }
  return {};
}

}  // namespace modules::git
