// Whose turn it is at the store's threads.
#include "backend/store/threads/store_thread.hpp"

#include <sys/resource.h>

#include <csignal>
#include <future>

#include <doctest/doctest.h>

#include "backend/store/inventory/recipes.hpp"
#include "backend/store/sqlite/sqlite_store.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;

// Has a name of its own: it is in the types of coroutines.
struct TurnsBench {
  template <class T>
  void begin(transport::Task<base::Result<T>> task) {
    ++open;
    transport::spawn(loop.get_executor(),
                     [](transport::Task<base::Result<T>> it, std::size_t& left) -> transport::Task<> {
                       [[maybe_unused]] const auto answer = co_await std::move(it);
                       --left;
                     }(std::move(task), open));
  }
  void finish() {
    while (open > 0)
      loop.run_one();
  }

  tests::ScratchFolder folder;
  transport::Loop loop{1};
  telemetry::Metrics metrics;
  std::size_t open = 0;
  std::string order;          // the threads', one after the other
  std::promise<void> may_go;  // before `store`, whose threads use all of this
  std::shared_future<void> going = may_go.get_future().share();
  std::unique_ptr<store::StoreThread> store =
      tests::must(store::StoreThread::open(loop, store::sqlite::opener(folder / "backend.db"), metrics));
};

TEST_CASE("attack: one token asks for reads without end, and another's read is the next one") {
  TurnsBench bench;
  const auto read = [&](const std::string& asker) {
    bench.begin(bench.store->read(asker, [&bench, asker](store::Store&) -> base::Result<int> {
      bench.going.wait();
      bench.order += asker + " ";
      return 1;
    }));
  };
  read("first");  // the reader is busy until all of them have come
  for (int i = 0; i < 5; ++i)
    read("greedy");
  read("ann");
  read("bob");
  bench.may_go.set_value();
  bench.finish();
  CHECK(bench.order == "first greedy ann bob greedy greedy greedy greedy ");
}

TEST_CASE(
    "attack: a batch in which the disk gets full is stored as a whole or not at all, as its jobs are told") {
  TurnsBench bench;
  // No file may be larger: what SQLite writes beyond that fails in the middle of the batch. In this process
  // only, which has no other thread that writes files meanwhile.
  struct SmallFiles {
    explicit SmallFiles(rlim_t most) : handler(std::signal(SIGXFSZ, SIG_IGN)) {
      ::getrlimit(RLIMIT_FSIZE, &before);
      const rlimit small{most, before.rlim_max};
      ::setrlimit(RLIMIT_FSIZE, &small);
    }
    ~SmallFiles() {
      ::setrlimit(RLIMIT_FSIZE, &before);
      std::signal(SIGXFSZ, handler);
    }
    rlimit before{};
    void (*handler)(int);
  };
  std::vector<bool> answers(4, true);
  const auto write = [&](std::size_t number, auto work) {
    ++bench.open;
    transport::spawn(bench.loop.get_executor(),
                     [](transport::Task<base::Result<int>> task, std::vector<bool>& told, std::size_t at,
                        std::size_t& left) -> transport::Task<> {
                       const auto answer = co_await std::move(task);
                       told[at] = bool(answer);
                       --left;
                     }(bench.store->write(std::move(work)), answers, number, bench.open));
  };
  const auto push = [](store::Store& store, const std::string& name, std::size_t bytes) -> base::Result<int> {
    auto put = store::put_revision(store, {name, std::string(bytes, 'x'), "json", "d", "[]", 0}, 1);
    if (!put) return std::move(put).error();
    return 1;
  };
  {
    const SmallFiles small(8 * 1024 * 1024);
    // The first is a batch of its own, and keeps the writer until the others are queued: they are one batch.
    std::promise<void> begun;
    write(0, [&](store::Store&) -> base::Result<int> {
      begun.set_value();
      bench.going.wait();
      return 1;
    });
    begun.get_future().wait();
    write(1, [&](store::Store& store) { return push(store, "before", 10); });
    write(2, [&](store::Store& store) -> base::Result<int> {
      // More than the cache holds, so that it is written before the commit.
      for (int i = 0; i < 100; ++i)
        if (auto put = push(store, "large" + std::to_string(i), 1'000'000); !put) return put;
      return 1;
    });
    write(3, [&](store::Store& store) { return push(store, "after", 10); });
    bench.may_go.set_value();
    bench.finish();
  }
  CHECK(answers[0]);
  CHECK_FALSE(answers[2]);
  const auto reader =
      tests::must(store::sqlite::open_sqlite_store(bench.folder / "backend.db", store::Access::read_only));
  for (const auto& [name, number] : {std::pair("before", 1), std::pair("after", 3)}) {
    CAPTURE(name);
    CHECK(bool(reader->find_revision(name, 1)) == answers[static_cast<std::size_t>(number)]);
  }
  // And it goes on.
  bench.loop.restart();
  write(3, [&](store::Store& store) { return push(store, "later", 10); });
  bench.finish();
  CHECK(answers[3]);
  CHECK(reader->find_revision("later", 1));
}

TEST_CASE("work that needs no store holds up no reads") {
  TurnsBench bench;
  bench.begin(bench.store->work("greedy", [&bench]() -> base::Result<int> {
    bench.going.wait();
    bench.order += "work ";
    return 1;
  }));
  bench.begin(bench.store->read("ann", [&bench](store::Store&) -> base::Result<int> {
    bench.order += "read ";
    bench.may_go.set_value();
    return 1;
  }));
  bench.finish();
  CHECK(bench.order == "read work ");
}
