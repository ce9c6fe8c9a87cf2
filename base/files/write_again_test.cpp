#include "base/files/write_again.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "base/files/pid_record.hpp"
#include "base/unique_fd.hpp"
#include "tests/support/scratch_folder.hpp"

namespace base {

TEST_CASE("bytes are written again in their own place, also where the file is open for appending") {
  const tests::ScratchFolder at;
  const std::string text(100'000, 'x');
  for (const int flags : {0, O_APPEND}) {
    at.write("f", text + "end");
    const UniqueFd file(::open((at / "f").c_str(), O_RDWR | O_CLOEXEC | flags));
    REQUIRE(write_again(file.get()));
    CHECK(at.read("f") == text + "end");
  }
}

TEST_CASE("the number of a process is read whole or not at all") {
  const tests::ScratchFolder at;
  at.write("lock", "4194304\n and what was here before");
  const UniqueFd file(::open((at / "lock").c_str(), O_RDWR | O_CLOEXEC));
  write_own_pid(file.get());
  CHECK(read_pid(at / "lock") == ::getpid());
  for (const char* half : {"123", "", "12 34\n", "-1\n", "x\n"}) {
    at.write("lock", half);
    CHECK_FALSE(read_pid(at / "lock"));
  }
  at.write("lock", "123\n");  // as older agents have written it
  CHECK(read_pid(at / "lock") == 123);
}

TEST_CASE("on a full disk a number takes the place of another, or there is none" *
          doctest::skip(::geteuid() != 0)) {
  CHECK(tests::in_own_mounts([]() -> std::string {
          const tests::ScratchFolder at;
          if (::mount("none", at.path().c_str(), "tmpfs", 0, "size=8k") != 0) return "no tmpfs";
          at.write("old", "               7\n");
          at.write("new", "");
          at.write("filler", std::string(4096, 'x'));
          const UniqueFd filler(::open((at / "filler").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
          if (::write(filler.get(), "x", 1) == 1) return "the disk is not full";
          for (const char* name : {"old", "new"}) {
            const UniqueFd file(::open((at / name).c_str(), O_RDWR | O_CLOEXEC));
            write_own_pid(file.get());
          }
          if (read_pid(at / "old") != ::getpid()) return "old: " + at.read("old");
          return at.read("new").empty() ? "" : "new: " + at.read("new");
        }) == "");
}

}  // namespace base
