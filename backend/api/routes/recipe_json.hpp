// Revisions of recipes as the API shows them.
#pragma once

#include "backend/api/routes/recipe_checks.hpp"
#include "backend/domain/access/instants.hpp"
#include "backend/domain/model.hpp"
#include "base/values/json_text.hpp"

namespace backend::api {

// Who has pushed it, and why: for those whose recipe it is. Others see what reaches their machines.
inline void add_author(base::JsonText& json, bool is_own, const std::string& author,
                       const std::string& message) {
  if (is_own) json.member("author", author).member("message", message);
}

// Without the closing bracket.
inline void begin_revision(base::JsonText& json, const domain::Revision& revision, bool is_own) {
  json.begin_object().member("revision", revision.revision).member("digest", revision.digest);
  domain::add_instant(json, "created", revision.created);
  json.member("states", revision.state_count).member("syntax", revision.syntax);
  add_author(json, is_own, revision.author, revision.message);
  add_module(json, revision.module, revision.unchecked);
}

}  // namespace backend::api
