#include "modules/git/signed_object.hpp"

#include <optional>

namespace modules::git {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::string_view kArmours[] = {"-----BEGIN PGP SIGNATURE-----", "-----BEGIN SSH SIGNATURE-----",
                                         "-----BEGIN PGP MESSAGE-----", "-----BEGIN SIGNED MESSAGE-----"};

Error damaged_object(std::string_view what) {
  return Error(ErrorCode::invalid, "the " + std::string(what) + " is damaged");
}

// The line at the beginning, with its newline, which it is taken from.
std::string_view take_line(std::string_view& rest) {
  const std::size_t newline = rest.find('\n');
  const std::string_view line = rest.substr(0, newline == std::string_view::npos ? rest.size() : newline + 1);
  rest.remove_prefix(line.size());
  return line;
}

// "KEY VALUE\n"; nothing when the line has another key.
std::optional<std::string_view> header_value(std::string_view line, std::string_view key) {
  if (!line.starts_with(key) || line.size() < key.size() + 2 || line[key.size()] != ' ' ||
      line.back() != '\n')
    return std::nullopt;
  return line.substr(key.size() + 1, line.size() - key.size() - 2);
}

bool starts_armour(std::string_view line) {
  for (const std::string_view armour : kArmours)
    if (line.starts_with(armour)) return true;
  return false;
}

}  // namespace

Result<Commit> parse_commit(std::string_view content) {
  std::string_view rest = content;
  const auto tree = header_value(take_line(rest), "tree");
  const auto tree_id = tree ? ObjectId::parse(*tree) : std::nullopt;
  if (!tree_id) return damaged_object("commit");

  Commit commit{.tree = *tree_id, .text = {}};
  std::string& payload = commit.text.payload;
  std::string& signature = commit.text.signature;
  payload = content.substr(0, content.size() - rest.size());
  bool in_signature = false, in_other = false;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line == "\n") {  // the message begins
      payload += line;
      payload += rest;
      break;
    }
    const bool continues = line.starts_with(' ');
    if (continues && (in_signature || in_other)) {
      if (in_signature) signature += line.substr(1);
      continue;
    }
    in_signature = in_other = false;
    if (const auto value = header_value(line, "gpgsig")) {
      if (!signature.empty()) return damaged_object("commit");
      signature = std::string(*value) + '\n';
      in_signature = true;
    } else if (header_value(line, "gpgsig-sha256")) {
      in_other = true;  // over the commit as another hash has it: not part of what is signed here
    } else {
      payload += line;
    }
  }
  return commit;
}

Result<Tag> parse_tag(std::string_view content) {
  std::string_view rest = content;
  const auto object = header_value(take_line(rest), "object");
  const auto type = header_value(take_line(rest), "type");
  const auto name = header_value(take_line(rest), "tag");
  const auto id = object ? ObjectId::parse(*object) : std::nullopt;
  const auto kind = type ? object_type(*type) : std::nullopt;
  if (!id || !kind || !name) return damaged_object("tag");

  // As git does: the last line that begins a signature.
  std::size_t signature_at = content.size();
  for (std::size_t at = content.size() - rest.size(); !rest.empty();) {
    const std::string_view line = take_line(rest);
    if (starts_armour(line)) signature_at = at;
    at += line.size();
  }
  return Tag{.object = *id,
             .type = *kind,
             .name = std::string(*name),
             .text = {.payload = std::string(content.substr(0, signature_at)),
                      .signature = std::string(content.substr(signature_at))}};
}

}  // namespace modules::git
