#include "states/debian/apt_get.hpp"

#include <unistd.h>

#include <algorithm>

#include <doctest/doctest.h>

using states::debian::failure_text;
using states::debian::lock_holder;

TEST_CASE("the holder of a lock is read from what apt and dpkg print") {
  CHECK(lock_holder("Waiting for cache lock: Could not get lock /var/lib/dpkg/lock-frontend. It is held by "
                    "process 812 (apt-get)...\n"
                    "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another "
                    "process using it?\n") == "process 812 (apt-get)");
  CHECK(lock_holder("Reading package lists...\n"
                    "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 14 (perl)\n"
                    "E: Unable to lock directory /var/lib/apt/lists/\n") == "process 14 (perl)");
  // It got the lock in the end, and failed for another reason.
  CHECK(lock_holder("Waiting for cache lock: Could not get lock /var/lib/dpkg/lock-frontend. It is held by "
                    "process 812 (apt-get)...\nE: Unable to locate package x\n")
            .empty());
  CHECK(lock_holder("E: Could not get lock /var/lib/apt/lists/lock - open (11: Resource temporarily "
                    "unavailable)\nE: Unable to lock directory /var/lib/apt/lists/\n") == "another process");
  const std::string us = std::to_string(::getpid());
  CHECK(lock_holder("dpkg: error: dpkg frontend lock was locked by another process with pid " + us +
                    "\nNote: removing the lock file is always wrong\n") ==
        "process " + us + " (states_tests)");
  CHECK(lock_holder("E: Unable to locate package x\n").empty());
  CHECK(lock_holder(
            "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)\n"
            "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?\n")
            .empty());
}

TEST_CASE("a failure carries the exit status and the most telling lines") {
  base::Completed done;
  done.exit_code = 100;
  done.output = "Reading package lists...\nE: Unable to locate package x\nE: another\n";
  CHECK(failure_text("apt-get install", done) ==
        "apt-get install failed (exit 100): E: Unable to locate package x");
  done.output =
      "dpkg: error processing package bad (--configure):\n installed bad package post-installation script "
      "subprocess returned error exit status 3\nErrors were encountered while processing:\n bad\n"
      "E: Sub-process /usr/bin/dpkg returned an error code (1)\n";
  CHECK(failure_text("apt-get install", done) ==
        "apt-get install failed (exit 100): E: Sub-process /usr/bin/dpkg returned an error code (1)\n"
        "dpkg: error processing package bad (--configure): installed bad package post-installation script "
        "subprocess returned error exit status 3");
  done.exit_code = 1;
  done.output = "some words\nerror: no such thing\n\n";
  CHECK(failure_text("debconf-set-selections", done) ==
        "debconf-set-selections failed (exit 1): error: no such thing");
  done.output.clear();
  CHECK(failure_text("x", done) == "x failed (exit 1)");
  done.ending = base::Ending::signalled;
  done.signal = 9;
  CHECK(failure_text("x", done) == "x was ended by signal 9");
}

TEST_CASE("a failure of a sensitive state quotes nothing that a program said") {
  base::Completed done;
  done.exit_code = 100;
  done.output = "dpkg: error processing package x (--configure):\n hunter2\nE: hunter2\n";
  CHECK(failure_text("apt-get install", done, false) == "apt-get install failed (exit 100)");
}

TEST_CASE("apt runs without questions and without needrestart") {
  const auto environment = states::debian::apt_environment();
  for (const char* wanted :
       {"DEBIAN_FRONTEND=noninteractive", "APT_LISTCHANGES_FRONTEND=none", "NEEDRESTART_SUSPEND=1"})
    CHECK(std::ranges::count(environment, wanted) == 1);
}
