#include "agent/modules/kit/skeletons.hpp"

#include <utility>

namespace agent::modules {

namespace {

constexpr std::string_view kManifest = R"json({
  "name": "@NAME@",
  "version": "0.1.0",
  "summary": "A line in a file",
  "command": ["./@PROGRAM@"],
  "schema": {
    "type": "object",
    "properties": {
      "path": {"type": "string", "minLength": 1, "description": "the file"},
      "line": {"type": "string", "minLength": 1, "description": "the line that must be in it"}
    },
    "required": ["path", "line"]
  },
  "timeout": 60,
  "examples": [{"path": "{scratch}/hosts", "line": "192.0.2.1 web"}]
}
)json";

constexpr std::string_view kShell = R"sh(#!/bin/sh
# @NAME@: keeps a line in a file. Change plan and apply into your own.
# Requests are lines on descriptor 3, answers are lines on descriptor 4; what is printed is the state's output.
answer() { printf '%s\n' "$1" >&4; }
# The text parameter $1. One with quotes or backslashes comes out empty: another language reads those better.
text() { printf '%s' "$request" | sed -n 's/.*"'"$1"'":"\([^"\\]*\)".*/\1/p'; }
is_there() { [ -n "$line" ] && grep -qxF -- "$line" "$path" 2>/dev/null; }

answer '{"type":"hello","protocol":1,"module":"@NAME@","version":"0.1.0","features":[]}'
while IFS= read -r request <&3; do
  id=$(printf '%s' "$request" | sed -n 's/^{"type":"[a-z]*","id":\([0-9]*\).*/\1/p')
  path=$(text path) line=$(text line)
  case $request in
    '{"type":"plan","id":'*)
      if is_there; then
        answer '{"type":"planned","id":'"$id"',"verdict":"kept"}'
      else
        answer '{"type":"planned","id":'"$id"',"verdict":"change","changes":[{"what":"line in '"$path"'","after":"'"$line"'"}]}'
      fi
      ;;
    '{"type":"apply","id":'*)
      if is_there || printf '%s\n' "$line" >>"$path"; then
        answer '{"type":"applied","id":'"$id"',"ok":true,"message":"line added to '"$path"'"}'
      else
        answer '{"type":"applied","id":'"$id"',"ok":false,"message":"cannot write to '"$path"'"}'
      fi
      ;;
  esac # anything else is not for us; a "cancel" comes too late here
done
)sh";

constexpr std::string_view kPython = R"py(#!/usr/bin/env python3
"""@NAME@: keeps a line in a file. Change plan() and apply() into your own.

Requests are lines on descriptor 3, answers are lines on descriptor 4; what is printed is the state's output.
"""
import json
import os

agent = os.fdopen(4, "w", buffering=1)


def answer(**fields):
    agent.write(json.dumps(fields) + "\n")


def lines_of(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def plan(path, line):
    if line in lines_of(path):
        return {"verdict": "kept"}
    return {"verdict": "change", "changes": [{"what": f"line in {path}", "after": line}]}


def apply(path, line):
    if line not in lines_of(path):
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")
    return {"ok": True, "message": f"line added to {path}"}


answer(type="hello", protocol=1, module="@NAME@", version="0.1.0", features=[])
for text in os.fdopen(3, encoding="utf-8"):
    try:
        request = json.loads(text)
        kind, number = request["type"], request["id"]
    except (ValueError, KeyError, TypeError):
        continue  # not for us
    try:
        if kind == "plan":
            answer(type="planned", id=number, **plan(**request["parameter"]))
        elif kind == "apply":
            answer(type="applied", id=number, **apply(**request["parameter"]))
    except Exception as error:  # the agent is told, and the next request finds us here
        verdict = {"verdict": "fail"} if kind == "plan" else {"ok": False}
        answer(type="planned" if kind == "plan" else "applied", id=number, message=f"{error}", **verdict)
)py";

constexpr std::string_view kCpp =
    R"code(// @NAME@: keeps a line in a file. Change plan() and apply() into your own.
// Build it with: c++ -std=c++17 -O2 -o @PROGRAM@ main.cpp
// Requests are lines on descriptor 3, answers are lines on descriptor 4; what is printed is the state's output.
#include <cstdio>
#include <fstream>
#include <string>

// The text parameter of this name in a request; use a JSON library if your parameters are more than plain texts.
std::string text(const std::string& request, const std::string& name) {
  const std::string key = "\"" + name + "\":\"";
  std::size_t at = request.find(key);
  if (at == std::string::npos) return {};
  std::string value;
  for (at += key.size(); at < request.size() && request[at] != '"'; ++at) {
    if (request[at] == '\\' && ++at < request.size() && request[at] == 'n')
      value += '\n';
    else
      value += request[at];
  }
  return value;
}

std::string quoted(const std::string& value) {
  std::string json = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') json += '\\';
    json += c < ' ' && c >= 0 ? ' ' : c;
  }
  return json + "\"";
}

bool is_there(const std::string& path, const std::string& line) {
  std::ifstream file(path);
  for (std::string each; std::getline(file, each);)
    if (each == line) return true;
  return false;
}

std::string plan(const std::string& path, const std::string& line) {
  if (is_there(path, line)) return R"("verdict":"kept")";
  return R"("verdict":"change","changes":[{"what":)" + quoted("line in " + path) + R"(,"after":)" + quoted(line) + "}]";
}

std::string apply(const std::string& path, const std::string& line) {
  std::ofstream file(path, std::ios::app);
  if (!is_there(path, line)) file << line << std::endl;
  if (!file) return R"("ok":false,"message":)" + quoted("cannot write to " + path);
  return R"("ok":true,"message":)" + quoted("line added to " + path);
}

int main() {
  FILE* const requests = fdopen(3, "r");
  FILE* const answers = fdopen(4, "w");
  const auto answer = [&](const std::string& line) {
    std::fprintf(answers, "{%s}\n", line.c_str());
    std::fflush(answers);
  };
  answer(R"("type":"hello","protocol":1,"module":"@NAME@","version":"0.1.0","features":[])");
  char* line_read = nullptr;
  for (std::size_t room = 0; getline(&line_read, &room, requests) > 0;) {
    const std::string request(line_read);
    char type[16] = {};
    unsigned long long id = 0;
    if (std::sscanf(request.c_str(), R"({"type":"%15[a-z]","id":%llu)", type, &id) != 2) continue;  // not for us
    const std::string path = text(request, "path");
    const std::string line = text(request, "line");
    const std::string start = R"("id":)" + std::to_string(id) + ",";
    if (std::string(type) == "plan") answer(R"("type":"planned",)" + start + plan(path, line));
    if (std::string(type) == "apply") answer(R"("type":"applied",)" + start + apply(path, line));
  }
}
)code";

std::string filled(std::string_view text, std::string_view name, std::string_view program) {
  std::string out(text);
  for (const auto& [mark, value] :
       {std::pair(std::string_view("@NAME@"), name), std::pair(std::string_view("@PROGRAM@"), program)})
    for (std::size_t at = 0; (at = out.find(mark, at)) != std::string::npos; at += value.size())
      out.replace(at, mark.size(), value);
  return out;
}

}  // namespace

std::vector<SkeletonFile> skeleton(std::string_view name, std::string_view language) {
  const std::string program(name);
  std::vector<SkeletonFile> files{{"module.json", filled(kManifest, name, program)}};
  if (language == "python")
    files.push_back({program, filled(kPython, name, program), true});
  else if (language == "c++")
    files.push_back({"main.cpp", filled(kCpp, name, program)});
  else
    files.push_back({program, filled(kShell, name, program), true});
  return files;
}

}  // namespace agent::modules
