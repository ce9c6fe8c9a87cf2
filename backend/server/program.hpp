// The program around a Server: options, signals, exit status.
#pragma once

namespace backend::server {

int run_program(int argc, const char* const* argv);

}  // namespace backend::server
