#include "backend/domain/model.hpp"

namespace backend::domain {

std::string_view name_of(SelfTrust trust) {
  switch (trust) {
    case SelfTrust::off:
      return "off";
    case SelfTrust::named:
      return "named";
    case SelfTrust::all:
      return "all";
  }
  return "off";
}

std::optional<SelfTrust> self_trust_of(std::string_view name) {
  for (const SelfTrust trust : {SelfTrust::off, SelfTrust::named, SelfTrust::all})
    if (name == name_of(trust)) return trust;
  return std::nullopt;
}

std::string rings_text(const std::vector<int>& rings) {
  std::string text;
  for (const int part : rings)
    text += (text.empty() ? "" : ",") + std::to_string(part);
  return text.empty() ? "now" : text;
}

Tags Instance::tags_under(SelfTrust relied_on) const {
  Tags all = operator_tags;
  // Does not replace what is there.
  if (relied_on == SelfTrust::all) all.insert(agent_tags.begin(), agent_tags.end());
  return all;
}

bool is_whole(const protocol::RoundEnd& end) {
  const auto none = [&](const char* outcome) {
    const auto found = end.counts.find(outcome);
    return found == end.counts.end() || found->second == 0;
  };
  return end.not_reached == 0 && !end.counts.empty() && none("failed") && none("cancelled") &&
         none("timed_out");
}

}  // namespace backend::domain
