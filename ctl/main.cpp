#include "ctl/commands/commands.hpp"

int main(int argc, char** argv) {
  return ctl::run_program(argc, argv);
}
