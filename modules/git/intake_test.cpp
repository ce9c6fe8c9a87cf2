#include "modules/git/intake.hpp"

#include <doctest/doctest.h>

namespace modules::git {

namespace {

// Remembers what it was given.
class Collected final : public SnapshotSink {
 public:
  base::Result<void> on_resolved(const Resolved&) override { return {}; }
  base::Result<void> on_tree(const std::vector<SnapshotEntry>& entries) override {
    tree = entries;
    return {};
  }
  base::Result<void> begin_file(const std::vector<std::size_t>& places, std::uint64_t) override {
    at = places;
    return {};
  }
  base::Result<void> add_bytes(std::string_view bytes) override {
    for (const std::size_t place : at)
      files[tree[place].path] += bytes;
    return {};
  }
  base::Result<void> end_file() override {
    for (const std::size_t place : at)
      files[tree[place].path] += "";
    return {};
  }

  std::vector<SnapshotEntry> tree;
  std::vector<std::size_t> at;
  std::map<std::string, std::string> files;
};

// A stream under construction: objects with right ids unless told otherwise.
struct Stream {
  std::string text = "opsagent-fetch 1\n";

  void resolved(const ObjectId& target, const ObjectId& commit, const std::string& ref = "refs/tags/v1") {
    text += "resolved " + ref + ' ' + target.hex() + ' ' + commit.hex() + '\n';
  }
  void object(ObjectType type, const std::string& content) { object(type, content, id_of(type, content)); }
  void object(ObjectType type, const std::string& content, const ObjectId& id) {
    text +=
        std::string(name_of(type)) + ' ' + id.hex() + ' ' + std::to_string(content.size()) + '\n' + content;
  }
  void end() { text += "end\n"; }
};

std::string entry(const std::string& mode, const std::string& name, const ObjectId& id) {
  return mode + ' ' + name + '\0' + std::string(reinterpret_cast<const char*>(id.bytes.data()), id.kSize);
}

std::string commit_of(const std::string& tree) {
  return "tree " + id_of(ObjectType::tree, tree).hex() +
         "\nauthor A <a@b> 0 +0000\ncommitter A <a@b> 0 +0000\n\nmessage\n";
}

// One commit with this root tree, and then the given objects.
Stream stream_with(const std::string& root) {
  Stream stream;
  const std::string commit = commit_of(root);
  const ObjectId id = id_of(ObjectType::commit, commit);
  stream.resolved(id, id);
  stream.object(ObjectType::commit, commit);
  stream.object(ObjectType::tree, root);
  return stream;
}

struct Outcome {
  std::string error;
  Snapshot snapshot;
  Collected sink;
};

Outcome taken(const std::string& text, IntakeLimits limits = {}, std::size_t piece = 7) {
  Outcome outcome;
  Intake intake("v1", limits, outcome.sink);
  for (std::size_t at = 0; at < text.size(); at += piece)
    if (auto fine = intake.take(std::string_view(text).substr(at, piece)); !fine) {
      outcome.error = fine.error().message();
      return outcome;
    }
  auto snapshot = intake.finish();
  if (snapshot)
    outcome.snapshot = std::move(*snapshot);
  else
    outcome.error = snapshot.error().message();
  return outcome;
}

bool says(const Outcome& outcome, std::string_view words) {
  CAPTURE(outcome.error);
  const bool found = outcome.error.find(words) != std::string::npos;
  CHECK(found);
  return found;
}

const std::string kHello = "hello\n";
const ObjectId kHelloId = id_of(ObjectType::blob, kHello);

}  // namespace

TEST_CASE("a commit with its trees and files is taken in, in pieces of any size") {
  const std::string below = entry("100755", "run", kHelloId);
  const std::string root = entry("100644", "a", kHelloId) +
                           entry("120000", "l", id_of(ObjectType::blob, "sub/run")) +
                           entry("40000", "sub", id_of(ObjectType::tree, below));
  Stream stream = stream_with(root);
  stream.object(ObjectType::tree, below);
  stream.object(ObjectType::blob, "sub/run");
  stream.object(ObjectType::blob, kHello);
  stream.end();
  for (const std::size_t piece : {std::size_t{1}, std::size_t{13}, std::size_t{100'000}}) {
    const Outcome outcome = taken(stream.text, {}, piece);
    CHECK(outcome.error.empty());
    CHECK(outcome.sink.files == std::map<std::string, std::string>{{"a", kHello}, {"sub/run", kHello}});
    CHECK(outcome.snapshot.links == std::map<std::string, std::string>{{"l", "sub/run"}});
    REQUIRE(outcome.snapshot.signed_texts.size() == 1);
  }
  // Cut anywhere, it is not complete; a byte changed anywhere in it is not believed or is another text.
  for (std::size_t size = 0; size < stream.text.size(); ++size)
    CHECK_FALSE(taken(stream.text.substr(0, size), {}, 1000).error.empty());
  for (std::size_t at = 0; at < stream.text.size(); ++at) {
    std::string changed = stream.text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    CAPTURE(at);
    CHECK_FALSE(taken(changed, {}, 1000).error.empty());
  }
}

TEST_CASE("an annotated tag must have the name that was asked for and lead to the commit") {
  const std::string root = entry("100644", "a", kHelloId);
  const std::string commit = commit_of(root);
  const ObjectId commit_id = id_of(ObjectType::commit, commit);
  const auto stream_of = [&](const std::string& name, const ObjectId& object, const std::string& type) {
    const std::string tag =
        "object " + object.hex() + "\ntype " + type + "\ntag " + name + "\ntagger A <a@b> 0 +0000\n\ntext\n";
    Stream stream;
    stream.resolved(id_of(ObjectType::tag, tag), commit_id);
    stream.object(ObjectType::tag, tag);
    stream.object(ObjectType::commit, commit);
    stream.object(ObjectType::tree, root);
    stream.object(ObjectType::blob, kHello);
    stream.end();
    return stream.text;
  };
  CHECK(taken(stream_of("v1", commit_id, "commit")).error.empty());
  says(taken(stream_of("v0", commit_id, "commit")), "'v0' where 'v1' was asked for");
  says(taken(stream_of("v1", kHelloId, "commit")), "was not to come");
  says(taken(stream_of("v1", kHelloId, "blob")), "points to a blob");
}

TEST_CASE("what was not asked for, or has another content, is not believed") {
  const std::string root = entry("100644", "a", kHelloId);
  Stream stranger = stream_with(root);
  stranger.object(ObjectType::blob, "another\n");
  says(taken(stranger.text), "was not to come");
  Stream forged = stream_with(root);
  forged.object(ObjectType::blob, "HELLO\n", kHelloId);
  says(taken(forged.text), "is not the one that has this id");
  Stream twice = stream_with(root);
  twice.object(ObjectType::blob, kHello);
  twice.object(ObjectType::blob, kHello);
  says(taken(twice.text), "was not to come");
  Stream missing = stream_with(root);
  missing.end();
  says(taken(missing.text), "objects are missing");
  Stream more = stream_with(root);
  more.object(ObjectType::blob, kHello);
  more.end();
  says(taken(more.text + "x\n"), "after its end");
  says(taken("opsagent-fetch 2\n"), "does not begin");
  says(taken("opsagent-fetch 1\nresolved refs/tags/v2 " + kHelloId.hex() + ' ' + kHelloId.hex() + '\n'),
       "another name");
  says(taken("opsagent-fetch 1\n" + std::string(5000, 'x')), "too long");
  const ObjectId id = id_of(ObjectType::commit, commit_of(root));
  Stream early;
  early.resolved(id, id);
  early.object(ObjectType::tree, root);
  says(taken(early.text), "was not to come");
}

TEST_CASE("limits end an intake before anything is written") {
  const std::string root = entry("100644", "a", kHelloId) + entry("100644", "b", kHelloId);
  Stream stream = stream_with(root);
  stream.object(ObjectType::blob, kHello);
  stream.end();
  CHECK(taken(stream.text, {.bytes = 12}).error.empty());
  says(taken(stream.text, {.bytes = 11}), "more than 11 bytes");
  says(taken(stream.text, {.file = 5}), "'a' has 6 bytes");
  says(taken(stream.text, {.entries = 1}), "more than 1 files");
  says(taken(stream.text, {.tree_bytes = 5}), "too large");
  says(taken(stream.text, {.signed_object = 5}), "commit or tag");
  CHECK(taken(stream.text, {.entries = 1}).sink.tree.empty());

  // The same tree in itself, ten times ten times …: counted as it would stand on disk.
  std::string tree = entry("100644", "f", kHelloId);
  std::vector<std::string> levels = {tree};
  for (int level = 0; level < 12; ++level) {
    std::string above;
    for (char name = '0'; name <= '9'; ++name)
      above += entry("40000", std::string(1, name), id_of(ObjectType::tree, levels.back()));
    levels.push_back(above);
  }
  Stream bomb = stream_with(levels.back());
  for (auto level = levels.rbegin() + 1; level != levels.rend(); ++level)
    bomb.object(ObjectType::tree, *level);
  says(taken(bomb.text), "more than 100000 files");

  std::string deep = entry("100644", "f", kHelloId);
  std::vector<std::string> chain = {deep};
  for (int level = 0; level < 40; ++level)
    chain.push_back(entry("40000", "d", id_of(ObjectType::tree, chain.back())));
  Stream nested = stream_with(chain.back());
  for (auto level = chain.rbegin() + 1; level != chain.rend(); ++level)
    nested.object(ObjectType::tree, *level);
  says(taken(nested.text), "nested more than 32 deep");
}

TEST_CASE("links that leave the tree are refused at the end") {
  const std::string root = entry("120000", "l", id_of(ObjectType::blob, "../x"));
  Stream stream = stream_with(root);
  stream.object(ObjectType::blob, "../x");
  stream.end();
  says(taken(stream.text), "leads out of the repository");
}

}  // namespace modules::git
