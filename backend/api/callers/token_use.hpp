// TokenUse: what each token takes of the process at this moment. The loop's.
//
// A share is counted for as long as its Share lives, which may be longer than the API's Context: answers
// live until their clients have taken them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

namespace backend::api {

class TokenUse {
 public:
  struct Amounts {
    std::size_t calls = 0;         // from the whole request until the client has the answer
    std::size_t body_bytes = 0;    // of requests, announced or read
    std::size_t answer_bytes = 0;  // made, and not taken by their clients yet
  };

  // All that the token takes.
  Amounts of(const std::string& token_id) const;

 private:
  friend class Share;
  std::unordered_map<std::string, Amounts> by_token_;  // without those that take nothing
};

class Share {
 public:
  Share(std::shared_ptr<TokenUse> use, std::string token_id, const TokenUse::Amounts& amounts);
  ~Share();
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  // The answer is there, and waits for its client.
  void add_answer(std::size_t bytes);

 private:
  const std::shared_ptr<TokenUse> use_;
  const std::string token_id_;
  TokenUse::Amounts amounts_;
};

}  // namespace backend::api
