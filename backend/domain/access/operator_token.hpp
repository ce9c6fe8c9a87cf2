// The text of an operator's token: "ops_<id>_<secret>". The id finds it, the hash of the secret proves it.
#pragma once

#include <string>
#include <string_view>

namespace backend::domain {

struct OperatorSecret {
  std::string id;      // 16 hexadecimal digits
  std::string secret;  // 64 hexadecimal digits
};

OperatorSecret make_operator_token();
std::string format_operator_token(const OperatorSecret& token);

// What a given text is to be looked up and compared by. A text of another form (an admin.token from before
// there were ids, or of somebody's own making) goes by its hash.
struct TokenProof {
  std::string id;
  std::string secret_hash;
};
TokenProof proof_of_token(std::string_view text);

}  // namespace backend::domain
