#include "backend/server/program.hpp"

int main(int argc, char** argv) {
  return backend::server::run_program(argc, argv);
}
