#include "ctl/recipe_file.hpp"

#include <unistd.h>

#include "base/files/file_read.hpp"
#include "recipe/bundle.hpp"
#include "recipe/file_source.hpp"

namespace ctl {

namespace {

constexpr std::size_t kLargestRecipe = 32 * 1024 * 1024;

}  // namespace

base::Result<std::string> read_recipe(const std::string& file) {
  auto text = file == "-" ? base::read_all(STDIN_FILENO, kLargestRecipe, "standard input")
                          : base::read_file(file, kLargestRecipe);
  if (!text) return text;
  return whole_recipe(file, std::move(*text));
}

base::Result<std::string> whole_recipe(const std::string& file, std::string text) {
  const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  // What is wrong with others is the backend's to say, all at once.
  if (!has("template") && !has("include")) return text;
  const auto files = recipe::files_beside(file);
  auto whole = recipe::bundle(file == "-" ? "" : file, std::move(text), *files);
  if (!whole) return std::move(whole).error().with_context(file);
  return whole;
}

}  // namespace ctl
