// The main() of every test program, and the one translation unit that carries doctest's own code.
#define DOCTEST_CONFIG_IMPLEMENT
#include <unistd.h>

#include <doctest/doctest.h>

int main(int argc, char** argv) {
  doctest::Context context;
  // Tests in the suites "system" and "system-sysv" change accounts, packages and services. They run on a
  // scratch machine (tests/container/), which has this file, and nowhere else, whatever the command line asks
  // for.
  if (::access("/etc/opsagent-scratch", F_OK) != 0) context.addFilter("test-suite-exclude", "system*");
  context.applyCommandLine(argc, argv);
  return context.run();
}
