#include "agent/cli/options/command_line.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agent::cli {

namespace {

using Words = std::vector<std::string>;

bool has_option(std::string_view command, std::string_view option) {
  const terminal::CommandTable& table = command_table();
  const terminal::CommandRow* row = table.find_command(command);
  const terminal::OptionRow* found = table.find_option(option);
  return row && found && table.applies(*found, row);
}

// Init scripts and people call the original so: opsagent [-c FILE] [-l FILE] [-q] [-v] [-d] COMMAND, and
// "start" is what "run" is here. Nothing when the words are not of that form.
std::optional<Words> words_of_original(const Words& words, bool& in_background) {
  std::string config, log_file, level;
  bool is_quiet = false;
  std::size_t at = 0;
  for (; at < words.size() && words[at].size() == 2 && words[at][0] == '-'; ++at) {
    const char letter = words[at][1];
    if ((letter == 'c' || letter == 'l') && at + 1 < words.size())
      (letter == 'c' ? config : log_file) = words[++at];
    else if (letter == 'q')
      is_quiet = true, level = "warning";
    else if (letter == 'v')
      level = "debug";
    else if (letter == 'd')
      in_background = true;
    else
      return std::nullopt;
  }
  if (at == words.size() || words[at].starts_with('-') || (at == 0 && words[0] != "start"))
    return std::nullopt;
  const std::string command = words[at] == "start" ? "run" : words[at];
  in_background = in_background && command == "run";
  Words ours{command};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty() && has_option(command, option))
      ours.insert(ours.end(), {std::string("--") + option, value});
  };
  add("config", config);
  add("log-file", log_file);
  add("log-level", level);
  if (is_quiet && has_option(command, "quiet")) ours.emplace_back("--quiet");
  ours.insert(ours.end(), words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
  return ours;
}

}  // namespace

base::Result<Options> parse_options(const terminal::OptionSources& given) {
  terminal::OptionSources sources = given;
  bool in_background = false;
  if (auto words = words_of_original(given.arguments, in_background))
    sources.arguments = std::move(*words);
  else
    in_background = false;
  auto options = terminal::parse_command_line<Options>(command_table(), sources);
  if (options) options->background = in_background && !options->help;
  if (options && !options->help && !options->version && options->state_dir.empty())
    options->state_dir = default_state_dir();
  return options;
}

}  // namespace agent::cli
