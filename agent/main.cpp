#include "agent/cli/commands/commands.hpp"

int main(int argc, char** argv) {
  return agent::cli::run_program(argc, argv);
}
