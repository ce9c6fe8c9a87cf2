// Commits and annotated tags: what they point to, who they say they are, and what in them is signed. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "modules/git/object.hpp"

namespace modules::git {

struct SignedText {
  std::string payload;    // what the signature is over
  std::string signature;  // in its armour ("-----BEGIN …"); "": not signed
};

struct Commit {
  ObjectId tree;
  SignedText text;
};

struct Tag {
  ObjectId object;
  ObjectType type = ObjectType::commit;
  std::string name;
  SignedText text;
};

base::Result<Commit> parse_commit(std::string_view content);
base::Result<Tag> parse_tag(std::string_view content);

}  // namespace modules::git
