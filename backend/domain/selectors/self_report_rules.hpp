// What may rest on the word of machines, and what is said to the operator about it. Pure. docs/backend.md,
// "Whose tags".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/domain/selectors/selector.hpp"

namespace backend::domain {

// Why an app does not take this selector for what reaches machines; "" if it does.
std::string problem_of_self_report(const Selector& selector, const App& app);

// The machines whose own word decides whether a selector means them. Names, in the order given, at most
// kMostNamed each; the counts are of all.
struct SelfReportEffect {
  std::size_t matched = 0;          // as the app trusts now
  std::size_t matched_if_off = 0;   // if it trusted nothing
  std::size_t matched_if_all = 0;   // if it trusted everything
  std::vector<std::string> loses;   // matched now, and not if it trusted nothing
  std::vector<std::string> gains;   // the contrary: "not role=db"
  std::vector<std::string> claims;  // not matched now, and would be if it trusted everything
  std::vector<std::string> scoped;  // not matched now, and would be if tags of tokens with a scope counted
};
inline constexpr std::size_t kMostNamed = 20;

// Machines of one app that are not revoked; `selector` is made strict here. Call add() for each of them.
class SelfReportStudy {
 public:
  explicit SelfReportStudy(const Selector& selector) : selector_(selector.strict()) {}
  void add(const Instance& instance);
  const SelfReportEffect& effect() const { return effect_; }

 private:
  Selector selector_;
  SelfReportEffect effect_;
};

// What whoever gives something to the machines of a selector should know; empty when nothing rests on words.
std::vector<std::string> self_report_warnings(const Selector& selector, const App& app,
                                              const SelfReportEffect& effect);
// What whoever makes an app rely on words should know.
std::vector<std::string> trust_warnings(SelfTrust trust);

}  // namespace backend::domain
