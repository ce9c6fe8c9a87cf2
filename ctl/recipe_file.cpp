#include "ctl/recipe_file.hpp"

#include <unistd.h>

#include "base/files/file_read.hpp"

namespace ctl {

namespace {

constexpr std::size_t kLargestRecipe = 32 * 1024 * 1024;

}  // namespace

base::Result<std::string> read_recipe(const std::string& file) {
  return file == "-" ? base::read_all(STDIN_FILENO, kLargestRecipe, "standard input")
                     : base::read_file(file, kLargestRecipe);
}

}  // namespace ctl
