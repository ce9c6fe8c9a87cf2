#include "agent/engine/watches/watch_store.hpp"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

#include "base/sha256.hpp"
#include "tests/support/scratch_folder.hpp"

namespace {

namespace fs = std::filesystem;
using agent::engine::WatchState;
using agent::engine::WatchStore;

constexpr std::string_view kSha256OfOne = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";
constexpr std::string_view kMd5OfOne = "f97c5d29941bfb1b2fdab0874906ab82";

// A folder with watched files and a store, gone when the test ends.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "watch-store-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()));
    folder_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string watch_folder() const { return folder_ + "/state/watch"; }

  void write(const std::string& name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string record(const std::string& sid, const std::string& name) const {
    std::string file = sid + "-" + path(name) + ".cksum";
    std::ranges::replace(file, '/', '-');
    return "state/watch/" + file;
  }

 private:
  std::string folder_;
};

// Whether anybody opened a file.
class Opened {
 public:
  explicit Opened(const std::string& path) : events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    REQUIRE(::inotify_add_watch(events_.get(), path.c_str(), IN_OPEN) >= 0);
  }
  bool since_last_asked() const {
    char buffer[4096];
    return ::read(events_.get(), buffer, sizeof buffer) > 0;
  }

 private:
  base::UniqueFd events_;
};

states::WatchRequest request_of(const std::vector<std::string_view>& paths,
                                std::vector<std::string_view> parts = {}) {
  return {.paths = paths, .parts = std::move(parts)};
}

WatchState look(WatchStore& store, const std::vector<std::string>& paths, bool first_counts = true,
                const std::string& root = {}, std::string_view sid = "s") {
  const std::vector<std::string_view> views(paths.begin(), paths.end());
  base::Tree tree(root);
  base::NoInterrupt interrupt;
  auto state = store.evaluate(sid, {.paths = views, .first_counts = first_counts}, tree, interrupt);
  REQUIRE(state);
  return *state;
}

// A round of a state that succeeds; whether it was triggered.
bool round(WatchStore& store, const std::vector<std::string>& paths, bool first_counts = true) {
  const WatchState state = look(store, paths, first_counts);
  REQUIRE(store.store("s", state));
  return state.triggered;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  if (fs::exists(folder))
    for (const auto& entry : fs::directory_iterator(folder))
      names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace

TEST_CASE("a watched file triggers when it is first seen and when it changes, and not otherwise") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  const std::vector<std::string> paths{disk.path("a"), disk.path("b")};
  disk.write("a", "one");
  disk.write("b", "two");
  const WatchState first = look(store, paths);
  CHECK(first.triggered);
  CHECK(first.changed == paths);
  REQUIRE(store.store("s", first));
  CHECK_FALSE(round(store, paths));
  disk.write("b", "new");
  CHECK(look(store, paths).changed == std::vector{disk.path("b")});
  CHECK(round(store, paths));
  CHECK_FALSE(round(store, paths));
}

TEST_CASE("a watched file triggers again until its state has succeeded") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  disk.write("a", "one");
  CHECK(look(store, {disk.path("a")}).triggered);
  CHECK(look(store, {disk.path("a")}).triggered);
  CHECK_FALSE(fs::exists(disk.path("state")));
}

TEST_CASE("a record is the SHA-256 without newline, in a folder for root alone") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  disk.write("a", "one");
  CHECK(round(store, {disk.path("a")}));
  CHECK(disk.read(disk.record("s", "a")) == kSha256OfOne);
  CHECK(names_in(disk.watch_folder()).size() == 1);
  struct stat st {};
  REQUIRE(::stat(disk.watch_folder().c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 0700);
}

TEST_CASE("a record has the name that the original agent gave it") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  const WatchState state = look(store, {"/etc/my.cnf"}, true, {}, "state-1");
  CHECK(state.seen.at(0).record == "state-1--etc-my.cnf.cksum");
}

TEST_CASE("records outlive the process") {
  const Scratch disk;
  disk.write("a", "one");
  {
    WatchStore store(disk.watch_folder());
    CHECK(round(store, {disk.path("a")}));
  }
  WatchStore store(disk.watch_folder());
  CHECK_FALSE(round(store, {disk.path("a")}));
}

TEST_CASE("an MD5 record of the original agent is understood, and replaced after success") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  disk.write("a", "one");
  fs::create_directories(disk.watch_folder());
  disk.write(disk.record("s", "a"), kMd5OfOne);
  CHECK_FALSE(round(store, {disk.path("a")}));
  CHECK(disk.read(disk.record("s", "a")) == kSha256OfOne);

  disk.write("a", "two");
  disk.write(disk.record("s", "a"), kMd5OfOne);
  CHECK(look(store, {disk.path("a")}).triggered);
}

TEST_CASE("a damaged record counts as a change") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  disk.write("a", "one");
  fs::create_directories(disk.watch_folder());
  for (const std::string& damaged : {std::string("x"), std::string(32, 'f'), std::string(10'000, 'f')}) {
    disk.write(disk.record("s", "a"), damaged);
    CHECK(round(store, {disk.path("a")}));
    CHECK(disk.read(disk.record("s", "a")) == kSha256OfOne);
  }
}

TEST_CASE("a file that vanishes triggers once, and so does its return") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  disk.write("a", "one");
  CHECK(round(store, {disk.path("a")}));
  fs::remove(disk.path("a"));
  CHECK(round(store, {disk.path("a")}));
  CHECK(disk.read(disk.record("s", "a")).empty());
  CHECK_FALSE(round(store, {disk.path("a")}));
  disk.write("a", "one");
  CHECK(round(store, {disk.path("a")}, false));
}

TEST_CASE("what is missing, a FIFO or a dangling link is absent and no change, and is named") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  fs::create_directory(disk.path("folder"));
  REQUIRE(::mkfifo(disk.path("fifo").c_str(), 0600) == 0);
  fs::create_symlink("nowhere", disk.path("link"));
  const std::vector<std::string> paths{disk.path("missing"), disk.path("fifo"), disk.path("link"),
                                       disk.path("folder/x/y"), "/dev/null"};
  CHECK_FALSE(round(store, paths));
  CHECK_FALSE(fs::exists(disk.watch_folder()));
  const WatchState state = look(store, paths);
  REQUIRE(state.unseen.size() == paths.size());
  CHECK(state.unseen[0].path == paths[0]);
  CHECK(state.unseen[0].why == "is not there");
  CHECK(state.unseen[1].why == "is neither a file nor a folder");
  CHECK(state.unseen[2].why == "is not there");
}

// What the store of a process that was started anew says.
WatchState look_anew(const Scratch& disk, const std::vector<std::string>& paths,
                     std::vector<std::string_view> parts = {}) {
  WatchStore store(disk.watch_folder());
  const std::vector<std::string_view> views(paths.begin(), paths.end());
  base::Tree tree;
  base::NoInterrupt interrupt;
  auto state = store.evaluate("s", request_of(views, std::move(parts)), tree, interrupt);
  REQUIRE(state);
  return *state;
}

TEST_CASE("a file that something else has put back triggers until its state has succeeded") {
  const Scratch disk;
  const std::string path = disk.path("a");
  const std::vector<std::string_view> views{path};
  disk.write("a", "one");
  disk.write("b", "two");
  {
    WatchStore store(disk.watch_folder());
    CHECK(round(store, {path, disk.path("b")}));
    const auto is_written = [&](std::string_view watched) { return watched == path; };
    REQUIRE(store.mark("s", request_of(views), is_written));
  }
  // Killed and started again, any number of times.
  for (int start = 0; start < 2; ++start)
    CHECK(look_anew(disk, {path, disk.path("b")}).changed == std::vector{path});
  WatchStore store(disk.watch_folder());
  CHECK(round(store, {path, disk.path("b")}));
  CHECK_FALSE(look_anew(disk, {path, disk.path("b")}).triggered);
  CHECK(disk.read(disk.record("s", "a")) == kSha256OfOne);
}

TEST_CASE("what was never seen is not marked: it counts by itself, or does not") {
  const Scratch disk;
  const std::string path = disk.path("a");
  const std::vector<std::string_view> views{path};
  disk.write("a", "one");
  WatchStore store(disk.watch_folder());
  REQUIRE(store.mark("s", request_of(views), [](std::string_view) { return true; }));
  CHECK_FALSE(fs::exists(disk.watch_folder()));
  CHECK_FALSE(look(store, {path}, false).triggered);
}

TEST_CASE("a reaction that was begun and did not succeed is due though the file was put back") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  disk.write("a", "one");
  CHECK(round(store, {disk.path("a")}));
  disk.write("a", "two");
  WatchState state = look(store, {disk.path("a")});
  REQUIRE(store.begin("s", state));
  disk.write("a", "one");
  CHECK(look_anew(disk, {disk.path("a")}).changed == std::vector{disk.path("a")});
  CHECK(round(store, {disk.path("a")}));
  CHECK_FALSE(look_anew(disk, {disk.path("a")}).triggered);
}

TEST_CASE("what one part of a state has reacted to is remembered though another fails") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  const std::vector<std::string> paths{disk.path("a"), disk.path("b")};
  const std::vector<std::string_view> parts{"good", "bad"};
  disk.write("a", "one");
  disk.write("b", "two");
  WatchState state = look_anew(disk, paths, parts);
  CHECK(state.triggered);
  CHECK(state.reacted.empty());
  REQUIRE(store.begin("s", state));
  REQUIRE(store.store_reacted("s", {"good"}, state));
  CHECK(state.reacted == std::vector<std::string>{"good"});
  CHECK(state.triggered);

  for (int start = 0; start < 2; ++start) {
    state = look_anew(disk, paths, parts);
    CHECK(state.changed == paths);
    CHECK(state.reacted == std::vector<std::string>{"good"});
  }
  // The next change concerns both again.
  disk.write("b", "three");
  CHECK(look_anew(disk, paths, parts).reacted.empty());
  state = look_anew(disk, paths, parts);
  REQUIRE(store.begin("s", state));
  REQUIRE(store.store_reacted("s", {"good"}, state));
  // Put back to what `bad` has never seen and `good` has seen before.
  disk.write("b", "two");
  CHECK(look_anew(disk, paths, parts).reacted.empty());
  state = look_anew(disk, paths, parts);
  REQUIRE(store.store("s", state));
  CHECK_FALSE(look_anew(disk, paths, parts).triggered);
  CHECK(disk.read(disk.record("s", "a")) == kSha256OfOne);
}

TEST_CASE("a record of several parts is one line for all, and one for each that differs") {
  using agent::engine::WatchRecord;
  const std::vector<std::string> parts{"a", "b", "c"};
  WatchRecord record{.all = "old"};
  record.set({"b"}, "new", parts);
  CHECK(to_text(record) == "old\nnew b");
  record.set({"a"}, "", parts);
  CHECK(to_text(record) == "old\nabsent a\nnew b");
  CHECK(agent::engine::parse_watch_record(to_text(record)) == record);
  // Whoever is no part of the state any more is forgotten.
  record.set({}, "", {"b", "c"});
  CHECK(to_text(record) == "old\nnew b");
  record.set({"c"}, "new", {"b", "c"});
  CHECK(to_text(record) == "new");
  CHECK(to_text(WatchRecord{}).empty());
  CHECK(agent::engine::parse_watch_record("").all.empty());
  CHECK(agent::engine::parse_watch_record("x\nnothing-behind-it").of("a") == "damaged");
}

TEST_CASE("a watched folder triggers when anything below it changes, and not otherwise") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  const std::vector<std::string> paths{disk.path("conf.d")};
  fs::create_directories(disk.path("conf.d/deep/er"));
  fs::create_directories(disk.path("available"));
  disk.write("conf.d/one", "one");
  disk.write("available/site", "listen 80");
  CHECK(round(store, paths));
  CHECK_FALSE(round(store, paths));
  const std::vector<std::function<void()>> changes{
      [&] { disk.write("conf.d/one", "two"); },
      [&] { disk.write("conf.d/deep/er/new", ""); },
      [&] { fs::rename(disk.path("conf.d/one"), disk.path("conf.d/renamed")); },
      [&] { fs::remove(disk.path("conf.d/deep/er/new")); },
      [&] { fs::create_directory(disk.path("conf.d/empty")); },
      [&] { fs::create_symlink("../available/site", disk.path("conf.d/site")); },
      // Folders such as sites-enabled consist of links.
      [&] { disk.write("available/site", "listen 81"); },
      [&] { fs::remove_all(disk.path("available")); },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CAPTURE(i);
    changes[i]();
    CHECK(round(store, paths));
    CHECK_FALSE(round(store, paths));
  }
  fs::remove_all(disk.path("conf.d"));
  CHECK(round(store, paths));
  CHECK_FALSE(round(store, paths));
}

TEST_CASE("a watched folder beyond the limits is refused, and the words say which") {
  const Scratch disk;
  fs::create_directories(disk.path("conf.d/a/b/c"));
  disk.write("conf.d/one", "12345678");
  const std::string path = disk.path("conf.d");
  const std::vector<std::string_view> views{path};
  base::Tree tree;
  base::NoInterrupt interrupt;
  const struct {
    agent::engine::FolderLimits limits;
    std::string_view words;
  } kTable[] = {
      {{.entries = 3}, "more than 3 files and folders are below it"},
      {{.depth = 2}, "folders in it are nested more than 2 deep"},
      {{.bytes = 7}, "the files below it have more than 0 MiB together"},
  };
  for (const auto& row : kTable) {
    WatchStore store(disk.watch_folder(), row.limits);
    const auto state = store.evaluate("s", request_of(views), tree, interrupt);
    REQUIRE_FALSE(state);
    CHECK(state.error().message() == "Cannot watch " + path + ": " + std::string(row.words) +
                                         ". Watch the files or folders in it that matter");
  }
  WatchStore store(disk.watch_folder(), {.entries = 4, .depth = 3, .bytes = 8});
  CHECK(store.evaluate("s", request_of(views), tree, interrupt));
}

TEST_CASE("a watched symlink stands for its target") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  disk.write("a", "one");
  disk.write("b", "two");
  fs::create_symlink("a", disk.path("link"));
  CHECK(round(store, {disk.path("link")}));
  CHECK_FALSE(round(store, {disk.path("link")}));
  fs::remove(disk.path("link"));
  fs::create_symlink("b", disk.path("link"));
  CHECK(round(store, {disk.path("link")}));
}

TEST_CASE("where first sight does not count, only later changes trigger") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  disk.write("a", "one");
  CHECK_FALSE(round(store, {disk.path("a")}, false));
  CHECK(disk.read(disk.record("s", "a")) == kSha256OfOne);
  disk.write("a", "two");
  CHECK(round(store, {disk.path("a")}, false));
}

TEST_CASE("a state that always acts is triggered without any record") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  base::Tree tree;
  base::NoInterrupt interrupt;
  const auto state = store.evaluate("s", {.always = true}, tree, interrupt);
  REQUIRE(state);
  CHECK(state->triggered);
  CHECK(state->changed.empty());
  CHECK(store.store("s", *state));
  CHECK_FALSE(fs::exists(disk.watch_folder()));
}

TEST_CASE("a file changed while its state acted triggers the next round") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  disk.write("a", "one");
  const WatchState seen = look(store, {disk.path("a")});
  disk.write("a", "two");
  REQUIRE(store.store("s", seen));
  CHECK(disk.read(disk.record("s", "a")) == kSha256OfOne);
  CHECK(look(store, {disk.path("a")}).triggered);
}

TEST_CASE("nothing is written when the records are right already") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  disk.write("a", "one");
  CHECK(round(store, {disk.path("a")}));
  struct stat before {};
  struct stat after {};
  REQUIRE(::stat(disk.watch_folder().c_str(), &before) == 0);
  CHECK_FALSE(round(store, {disk.path("a")}));
  REQUIRE(::stat(disk.watch_folder().c_str(), &after) == 0);
  CHECK(before.st_ctim.tv_sec == after.st_ctim.tv_sec);
  CHECK(before.st_ctim.tv_nsec == after.st_ctim.tv_nsec);
}

TEST_CASE("two states may watch the same file, each on its own") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  disk.write("a", "one");
  CHECK(round(store, {disk.path("a")}));
  CHECK(look(store, {disk.path("a")}, true, {}, "other").triggered);
}

TEST_CASE("paths that come to the same record name do not disturb each other") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  fs::create_directory(disk.path("x"));
  disk.write("x/y", "one");
  disk.write("x-y", "two");
  const std::vector<std::string> paths{disk.path("x/y"), disk.path("x-y"), disk.path("x/y")};
  CHECK(round(store, paths));
  CHECK(names_in(disk.watch_folder()).size() == 2);
  CHECK_FALSE(round(store, paths));
}

TEST_CASE("states whose ids and paths run together do not share a record") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  const std::pair<const char*, const char*> kStates[] = {
      {"web", "/x/-a/f"},  {"web--x-", "/a/f"}, {"web--x--a", "/f"}, {"web-", "/x/-a/f"}, {"web/", "/x/-a/f"},
      {"web-/x", "/-a/f"}, {"web-/x/", "/a/f"}, {"web--x", "/-a/f"}, {"web", "/x/--a/f"}};
  std::set<std::string> records;
  for (const auto& [sid, path] : kStates)
    CHECK_MESSAGE(records.insert(look(store, {path}, true, {}, sid).seen.at(0).record).second, sid, path);
  CHECK(records.contains("web--x--a-f.cksum"));  // as the original agent has it
}

TEST_CASE("records that no run has used for a long time go, but for those that are due") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  disk.write("a", "one");
  const auto file = [&](const std::string& sid) { return disk.path(disk.record(sid, "a")); };
  const auto age = [&](const std::string& sid, int days) {
    fs::last_write_time(file(sid), fs::file_time_type::clock::now() - std::chrono::hours(24 * days));
  };
  for (const char* sid : {"used", "left", "due"}) {
    REQUIRE(store.store(sid, look(store, {disk.path("a")}, true, {}, sid)));
    age(sid, 91);
  }
  std::ofstream(file("due")) << "pending";
  age("due", 91);

  WatchStore next(disk.watch_folder());
  REQUIRE(next.store("used", look(next, {disk.path("a")}, true, {}, "used")));
  next.remove_unused();
  CHECK(fs::exists(file("used")));
  CHECK(fs::last_write_time(file("used")) > fs::file_time_type::clock::now() - std::chrono::hours(1));
  CHECK_FALSE(fs::exists(file("left")));
  CHECK(fs::exists(file("due")));

  age("used", 30);  // a recipe that comes back finds its records
  WatchStore(disk.watch_folder()).remove_unused();
  CHECK(fs::exists(file("used")));
}

TEST_CASE("long paths get a record with a short name of their own") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  const std::string folder = std::string(200, 'd');
  fs::create_directory(disk.path(folder));
  const std::vector<std::string> paths{disk.path(folder + "/" + std::string(150, 'a')),
                                       disk.path(folder + "/" + std::string(150, 'b'))};
  for (const std::string& path : paths)
    std::ofstream(path) << path;
  CHECK(round(store, paths));
  CHECK_FALSE(round(store, paths));
  const auto names = names_in(disk.watch_folder());
  REQUIRE(names.size() == 2);
  CHECK(names[0].size() <= 255);
  CHECK(names[0] != names[1]);
}

TEST_CASE("below another root, links stay below it") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  fs::create_directories(disk.path("root/etc"));
  disk.write("root/etc/real", "one");
  fs::create_symlink("/etc/real", disk.path("root/etc/link"));
  fs::create_symlink("/etc/passwd", disk.path("root/etc/outside"));
  const WatchState state = look(store, {"/etc/link", "/etc/outside"}, true, disk.path("root"));
  REQUIRE(state.seen.size() == 2);
  CHECK(state.seen[0].digest == kSha256OfOne);
  CHECK(state.seen[1].digest.empty());
}

TEST_CASE("a file that has not changed is read once") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  const std::vector<std::string> paths{disk.path("a")};
  disk.write("a", "one");
  const Opened opened(disk.path("a"));
  CHECK(look(store, paths).seen.at(0).digest == kSha256OfOne);
  CHECK(opened.since_last_asked());
  // Its last change is too recent for its times to be trusted.
  CHECK(look(store, paths).seen.at(0).digest == kSha256OfOne);
  CHECK(opened.since_last_asked());

  ::usleep(2'100'000);
  CHECK(look(store, paths).seen.at(0).digest == kSha256OfOne);
  CHECK(opened.since_last_asked());
  CHECK(look(store, paths).seen.at(0).digest == kSha256OfOne);
  CHECK_FALSE(opened.since_last_asked());

  disk.write("a", "two");  // of the same size
  CHECK(look(store, paths).seen.at(0).digest == base::sha256_hex("two"));
}

TEST_CASE("a store that cannot be written says where") {
  const Scratch disk;
  disk.write("a", "one");
  WatchStore store(disk.watch_folder());
  const WatchState state = look(store, {disk.path("a")});
  disk.write("state", "in the way of the folder");
  const auto stored = store.store("s", state);
  REQUIRE_FALSE(stored);
  CHECK(stored.error().message() == "storing what s watches: " + disk.path("state") + " is not a directory");
}

TEST_CASE("a record that is there but cannot be read is an error, not a reason to act") {
  const Scratch disk;
  disk.write("a", "one");
  WatchStore store(disk.watch_folder());
  fs::create_directories(disk.path(disk.record("s", "a")));
  const std::string path = disk.path("a");
  const std::vector<std::string_view> paths{path};
  base::Tree tree;
  base::NoInterrupt interrupt;
  const auto state = store.evaluate("s", {.paths = paths}, tree, interrupt);
  REQUIRE_FALSE(state);
  CHECK(state.error().message().starts_with("reading a watch record: "));
}

TEST_CASE("a watched file that a failing disk does not give is an error, not a reason to act") {
  // The kernel answers EIO to whoever reads this regular file from its beginning.
  const char* const failing = "/proc/self/mem";
  base::Tree whole_machine;
  base::NoInterrupt never;
  const tests::ScratchFolder scratch;
  const std::string folder = scratch / "watched";
  scratch.folder("watched");
  scratch.link("watched/link", failing);
  for (const std::string& path : {std::string(failing), folder}) {
    WatchStore store(scratch / "watch");
    const auto state = store.evaluate("web", request_of({path}), whole_machine, never);
    CAPTURE(path);
    REQUIRE_FALSE(state);
    CHECK(state.error().code() == base::ErrorCode::io);
    CHECK(state.error().message().find("Input/output error") != std::string::npos);
  }
}

TEST_CASE("what a killed run left behind does not stop the next one") {
  const Scratch disk;
  disk.write("a", "one");
  fs::create_directories(disk.watch_folder());
  disk.write("state/watch/.record.tmp", "half");
  WatchStore store(disk.watch_folder());
  CHECK(round(store, {disk.path("a")}));
  CHECK(names_in(disk.watch_folder()).size() == 1);
}

TEST_CASE("a watched file of any size costs a moment, and still counts when it changes") {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  disk.write("huge", "");
  const off_t huge = off_t{8} << 40;
  if (::truncate(disk.path("huge").c_str(), huge) != 0) {
    MESSAGE("no file of 8 TiB can be had here");
    return;
  }
  CHECK(round(store, {disk.path("huge")}));
  CHECK_FALSE(round(store, {disk.path("huge")}));
  REQUIRE(::truncate(disk.path("huge").c_str(), huge + 1) == 0);
  CHECK(round(store, {disk.path("huge")}));
  // A record of the original agent is told from it without reading it.
  disk.write(disk.record("s", "huge"), std::string(32, 'a'));
  CHECK(round(store, {disk.path("huge")}));
}

TEST_CASE("whoever reads a watched file stops when asked to") {
  struct Asked final : base::Interrupt {
    bool requested() override { return ++asked > 3; }
    int wait_fd() const override { return -1; }
    int asked = 0;
  };
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  disk.write("large", "");
  REQUIRE(::truncate(disk.path("large").c_str(), off_t{1} << 30) == 0);
  const std::string path = disk.path("large");
  const std::vector<std::string_view> paths{path};
  base::Tree tree;
  Asked interrupt;
  const auto state = store.evaluate("s", {.paths = paths}, tree, interrupt);
  REQUIRE_FALSE(state);
  CHECK(state.error().code() == base::ErrorCode::cancelled);
  CHECK(interrupt.asked == 4);
}

TEST_CASE("a user's link does not say which file is watched" * doctest::skip(::geteuid() != 0)) {
  const Scratch disk;
  WatchStore store(disk.watch_folder());
  disk.write("secret", "root's");
  fs::create_directories(disk.path("home"));
  fs::create_symlink("../secret", disk.path("home/link"));
  fs::create_symlink("..", disk.path("home/up"));
  REQUIRE(::chown(disk.path("home").c_str(), 65534, 65534) == 0);
  base::Tree tree;
  base::NoInterrupt interrupt;
  for (const char* name : {"home/link", "home/up/secret"}) {
    const std::string path = disk.path(name);
    const std::vector<std::string_view> paths{path};
    const auto state = store.evaluate("s", {.paths = paths}, tree, interrupt);
    REQUIRE_FALSE(state);
    CHECK(state.error().message().starts_with("watching: not following the symlink "));
  }
}
