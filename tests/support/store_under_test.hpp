// The implementations of Store that the conformance suite runs against, and the macro that runs a case
// against each of them. A new implementation is one more row in store_implementations().
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "backend/store/sqlite/sqlite_store.hpp"

namespace tests {

// Each folder is one database: it is empty at first, and is there again for whoever opens it later, also
// after the process that had it open was killed.
struct StoreImplementation {
  std::string name;
  std::function<backend::store::Opener(const std::string& folder)> opener;
  // All bytes that the database has stored: secrets must not be among them.
  std::function<std::string(const std::string& folder)> stored_bytes;
};

inline std::string bytes_of_files(const std::string& folder) {
  std::string bytes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    bytes.append(std::istreambuf_iterator<char>(file), {});
  }
  return bytes;
}

inline std::string sqlite_file(const std::string& folder) {
  return folder + "/backend.db";
}

inline const std::vector<StoreImplementation>& store_implementations() {
  static const std::vector<StoreImplementation> all{
      {"sqlite",
       [](const std::string& folder) { return backend::store::sqlite::opener(sqlite_file(folder)); },
       bytes_of_files},
  };
  return all;
}

// What a StoreBench uses: the first implementation, or the one whose turn it is in a STORE_TEST_CASE.
inline const StoreImplementation*& store_under_test() {
  static const StoreImplementation* current = &store_implementations().front();
  return current;
}

inline void run_for_each_store(void (*test)()) {
  for (const StoreImplementation& each : store_implementations()) {
    SUBCASE(each.name.c_str()) {
      const StoreImplementation* before = std::exchange(store_under_test(), &each);
      // A failed REQUIRE leaves by an exception.
      struct Restore {
        const StoreImplementation* to;
        ~Restore() { store_under_test() = to; }
      } const restore{before};
      test();
    }
  }
}

}  // namespace tests

// A test case of the conformance suite: runs once for each implementation. The name of a function that is
// defined cannot stand in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define STORE_TEST_CASE_AS(function, name) \
  static void function();                  \
  TEST_CASE(name) {                        \
    tests::run_for_each_store(&function);  \
  }                                        \
  static void function()
// NOLINTEND(bugprone-macro-parentheses)
#define STORE_TEST_CASE(name) STORE_TEST_CASE_AS(DOCTEST_ANONYMOUS(store_test_), name)
