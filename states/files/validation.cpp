#include "states/files/validation.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/output_text.hpp"
#include "base/programs/process.hpp"
#include "base/text.hpp"
#include "states/files/working_folder.hpp"
#include "states/programs/ending_text.hpp"

namespace states::files {

namespace {

constexpr std::string_view kPlace = "%s";

base::Error invalid(std::string message) {
  return {base::ErrorCode::invalid, std::move(message)};
}

std::vector<std::string> arguments(List validate) {
  std::vector<std::string> all;
  if (validate.size() == 1) {
    for (const std::string_view word : base::split_words(validate[0]))
      all.emplace_back(word);
  } else {
    all.assign(validate.begin(), validate.end());
  }
  return all;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// Programs look at names, too (web.service, site.yaml); what a shell would read as more than a name is left
// out.
std::string plain_name(std::string_view path) {
  std::string name(base::split_path(path).name);
  std::ranges::replace_if(
      name,
      [](char c) {
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        return !is_letter && std::string_view("._-@+").find(c) == std::string_view::npos;
      },
      '_');
  return name;
}

// A folder for root only, with one file. Whatever a killed run has left there goes first.
class PrivateCopy {
 public:
  explicit PrivateCopy(ApplyContext& context) : context_(context), folder_(context.host.copies_dir()) {}
  PrivateCopy(const PrivateCopy&) = delete;
  PrivateCopy& operator=(const PrivateCopy&) = delete;
  ~PrivateCopy() { (void)remove(); }

  base::Result<std::string> make(std::string_view path, std::string_view content) {
    auto folder = base::clean_path(folder_);
    if (!folder) return std::move(folder).error();
    folder_ = std::move(*folder);
    if (auto removed = remove(); !removed) return std::move(removed).error();
    const base::Attributes ours{.uid = ::geteuid(), .gid = ::getegid(), .mode = 0700};
    if (auto made = make_folders(folder_, ours, context_); !made) return std::move(made).error();
    const std::string file = folder_ + "/" + plain_name(path);
    const base::Attributes private_file{.uid = ours.uid, .gid = ours.gid, .mode = 0600};
    if (auto written = context_.files.write_file(file, {}, content, private_file); !written)
      return std::move(written).error();
    return file;
  }

 private:
  base::Result<void> remove() {
    const auto found = context_.tree.look(folder_);
    if (!found) return found.error();
    if (!*found) return {};
    base::NoInterrupt never;  // also when the agent is asked to stop
    return context_.files.remove_tree(folder_, base::Seen(*found), never);
  }

  ApplyContext& context_;
  std::string folder_;
};

}  // namespace

base::Result<void> check_validator(List validate) {
  if (validate.empty()) return {};
  const std::vector<std::string> words = arguments(validate);
  if (words.empty() || words[0].find(kPlace) != std::string::npos)
    return invalid("'validate' must begin with a program");
  if (validate.size() == 1 && validate[0].find_first_of("'\"`$|&;<>(){}\\*?#") != std::string_view::npos)
    return invalid(
        "'validate' is not read by a shell: give a list with one argument each, such as [grep, -q, \"a b\", "
        "\"%s\"], or [/bin/sh, -c, \"…\"] for a shell");
  if (std::ranges::none_of(words, [](const std::string& word) { return word.find(kPlace) != word.npos; }))
    return invalid("'validate' must have %s where the file with the new content is to be named");
  return {};
}

base::Result<void> plan_validation(std::string_view path, List validate, Context& context, Plan& plan) {
  if (validate.empty()) return {};
  if (!context.host.is_running_system())
    return base::Error(base::ErrorCode::unsupported,
                       "'validate' runs a program of the running system, which knows nothing of " +
                           context.host.root + ": leave it out for --root");
  const std::vector<std::string> words = arguments(validate);
  if (!base::find_program(words[0]) && !context.overlay.provider(EffectKind::file, words[0]))
    return base::Error(base::ErrorCode::not_found, "'" + words[0] + "', which is to validate " +
                                                       std::string(path) + ", is not installed");
  plan.changes.push_back({.what = "validation of " + std::string(path),
                          .before = "",
                          .after = "by " + base::join(words, " ") + ", before it is written"});
  return {};
}

std::optional<Applied> refused_by_validator(std::string_view path, std::string_view content, List validate,
                                            ApplyContext& context) {
  if (validate.empty()) return std::nullopt;
  PrivateCopy copy(context);
  const auto file = copy.make(path, content);
  if (!file) return Applied::failed(file.error().with_context("validating " + std::string(path)));
  base::Command command;
  for (const std::string& word : arguments(validate))
    command.argv.push_back(replaced(word, kPlace, *file));
  const std::string program = command.argv[0];
  const auto completed = context.commands.run(std::move(command));
  if (!completed)
    return Applied::failed(
        completed.error().with_context(std::string(path) + " was not validated, and not changed"),
        replaced(base::clean_output(context.commands.interrupted_output()), *file, path));
  if (completed->ok()) return std::nullopt;
  std::string output = replaced(base::clean_output(completed->output), *file, path);
  std::string comment = program + " refused the new content of " + std::string(path) + " (" +
                        programs::ending_of(*completed) + "), which was not changed";
  if (const std::string_view line = base::last_line(output); !context.sensitive && !line.empty())
    comment += ": " + programs::shortened(line, context);
  return Applied::failed(std::move(comment), std::move(output));
}

}  // namespace states::files
