// ModuleBench: a folder with a module that is a shell script, for the tests of the module host. Header only.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "agent/modules/host/module_host.hpp"
#include "builtins/builtins.hpp"
#include "states/registry.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tests {

// Reads a request into $line and $id; `answer` writes a line to the agent.
inline constexpr const char* kShellStart = R"(#!/bin/sh
answer() { printf '%s\n' "$1" >&4; }
next() { IFS= read -r line <&3 || exit 0; id=${line#*\"id\":}; id=${id%%,*}; }
hello() { answer '{"type":"hello","protocol":1,"module":"acme.test","version":"1.0","features":[]}'; }
kept() { answer '{"type":"planned","id":'"$id"',"verdict":"kept"}'; }
change() { answer '{"type":"planned","id":'"$id"',"verdict":"change","changes":[{"what":"it","before":"a","after":"b"}]}'; }
applied() { answer '{"type":"applied","id":'"$id"',"ok":true,"message":"made"}'; }
is_plan() { case $line in '{"type":"plan",'*) true ;; *) false ;; esac; }
)";

// Plans "change" until $mark is there, and makes it.
inline constexpr const char* kShellMark = R"(hello
while next; do
  if is_plan; then if [ -e "$mark" ]; then kept; else change; fi
  else echo "making it"; : > "$mark"; applied; fi
done
)";

class ModuleBench {
 public:
  // `script` goes behind kShellStart, with $mark, a path in the scratch folder. `more` goes into the
  // manifest.
  explicit ModuleBench(const std::string& script, const std::string& more = "",
                       agent::modules::ModuleHost::Settings settings = {}) {
    scratch_.write(
        "modules/test/module.json", R"({"name": "acme.test", "version": "1.0", "command": ["./run"],
      "schema": {"type": "object", "properties": {"text": {"type": "string"}, "token": {"type": "string"}}},
      "sensitive": ["token"])" + (more.empty() ? "" : ", " + more) +
                                        "}");
    scratch_.write("modules/test/run", kShellStart + ("mark=" + mark() + "\n") + script);
    ::chmod((scratch_ / "modules/test/run").c_str(), 0755);
    modules::ModuleSet::Read read = modules::ModuleSet::read(scratch_.path());
    for (const std::string& problem : read.problems)
      FAIL(problem);
    host_ = std::make_unique<agent::modules::ModuleHost>(std::move(read.set), settings);
    registry_ =
        std::make_unique<states::Registry>(std::initializer_list<std::span<const states::RegistryEntry>>{
            states::native_states(), builtins::builtin_states(), host_->entries()});
  }

  const ScratchFolder& scratch() const { return scratch_; }
  std::string mark() const { return scratch_ / "mark"; }
  agent::modules::ModuleHost& host() { return *host_; }
  const states::StateType& type() const { return *host_->entries()[0].type; }
  const states::Registry& registry() const { return *registry_; }

 private:
  ScratchFolder scratch_;
  std::unique_ptr<agent::modules::ModuleHost> host_;
  std::unique_ptr<states::Registry> registry_;
};

}  // namespace tests
