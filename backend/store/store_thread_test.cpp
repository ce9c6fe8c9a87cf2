// Whose turn it is at the store's threads.
#include "backend/store/store_thread.hpp"

#include <future>

#include <doctest/doctest.h>

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
