// From argv, environment and config file to a program's options, by the rows of its table.
//
// Words: `--name VALUE`, `--name=VALUE`, `-n VALUE`, `-nVALUE`, `--flag`, `--flag=false`, flags in one word
// (`-qv`); behind `--` all words are arguments, and a lone `-` always is one. The value of an option is the
// next word, whatever it looks like. The command line wins over the environment, the environment over the
// config file; options that are repeatable merge. One thread; reads the config file and nothing else.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "terminal/command_table.hpp"

namespace terminal {

// Where options come from; tests give their own.
struct OptionSources {
  std::vector<std::string> arguments;  // without the program's name
  std::function<const char*(const char*)> environment;
  // Read when --config is not given, may be missing; absent: the one that the table names.
  std::optional<std::string> default_config = std::nullopt;
  // What relative paths among the values are relative to: they are made absolute. "": they stay as they are.
  std::string folder = {};
};

// What this process was given.
OptionSources process_sources(int argc, const char* const* argv);

// Into `line`. What the config file says for other commands is checked and goes to `ignored`. The error says
// everything that is wrong, one problem per line, with the nearest known name and what to do next.
base::Result<void> parse_into(const CommandTable& table, const OptionSources& sources, CommandLine& line,
                              CommandLine& ignored);

template <class Options>
base::Result<Options> parse_command_line(const CommandTable& table, const OptionSources& sources) {
  Options options, ignored;
  if (auto parsed = parse_into(table, sources, options, ignored); !parsed) return std::move(parsed).error();
  return options;
}

}  // namespace terminal
