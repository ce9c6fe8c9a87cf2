#include "backend/domain/selectors/self_report_rules.hpp"

namespace backend::domain {

namespace {

void add_name(std::vector<std::string>& names, const Instance& instance) {
  if (names.size() < kMostNamed) names.push_back(instance.instance_id);
}

std::string names_text(const std::vector<std::string>& names, std::size_t all) {
  std::string text;
  for (const std::string& each : names)
    text += (text.empty() ? "" : ", ") + each;
  return all > names.size() ? text + " and " + std::to_string(all - names.size()) + " more" : text;
}

std::string machines_text(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " machine" : " machines");
}

constexpr std::string_view kMeaning =
    "whoever has one machine of the app can say the same there, and is given it with all secrets in it";

}  // namespace

std::string problem_of_self_report(const Selector& selector, const App& app) {
  if (app.trust != SelfTrust::off || !selector.uses_self_reported()) return {};
  return "it asks for what machines say of themselves (self.KEY, fact.KEY), and the app '" + app.app_id +
         "' does not rely on that: " + std::string(kMeaning) +
         ". Use tags that operators set ('opsctl agent tag', 'opsctl join-token create --tag'), or allow it: "
         "'opsctl app create " +
         app.app_id + " --trust-self-reported named'";
}

void SelfReportStudy::add(const Instance& instance) {
  if (instance.is_out()) return;
  const bool now = selector_.matches_under(instance, instance.trust);
  const bool if_off = selector_.matches_under(instance, SelfTrust::off);
  const bool if_all = selector_.matches_under(instance, SelfTrust::all);
  effect_.matched += now ? 1 : 0;
  effect_.matched_if_off += if_off ? 1 : 0;
  effect_.matched_if_all += if_all ? 1 : 0;
  if (now && !if_off) add_name(effect_.loses, instance);
  if (!now && if_off) add_name(effect_.gains, instance);
  if (!now && if_all) add_name(effect_.claims, instance);
  if (now || instance.tag_scopes.empty()) return;
  Instance without_scopes = instance;
  without_scopes.tag_scopes.clear();
  if (selector_.matches(without_scopes)) add_name(effect_.scoped, instance);
}

std::vector<std::string> self_report_warnings(const Selector& selector, const App& app,
                                              const SelfReportEffect& effect) {
  std::vector<std::string> warnings;
  if (app.trust != SelfTrust::off && selector.uses_self_reported())
    warnings.push_back("the selector asks for what machines say of themselves (self.KEY, fact.KEY): " +
                       std::string(kMeaning));
  else if (!effect.loses.empty() && effect.matched >= effect.matched_if_off)
    warnings.push_back(machines_text(effect.matched - effect.matched_if_off) + " (" +
                       names_text(effect.loses, effect.matched - effect.matched_if_off) +
                       ") match only by tags that they set themselves, which the app '" + app.app_id +
                       "' takes for the operator's (trust_self_reported is all): " + std::string(kMeaning));
  if (app.trust != SelfTrust::all && effect.matched == 0 && !effect.claims.empty())
    warnings.push_back("no machine matches, but " + machines_text(effect.claims.size()) + " (" +
                       names_text(effect.claims, effect.claims.size()) +
                       ") would by tags that they set themselves, which do not count: set them with 'opsctl "
                       "agent tag', or on the join token");
  if (!effect.scoped.empty())
    warnings.push_back(
        "not meant: " + names_text(effect.scoped, effect.scoped.size()) +
        (effect.scoped.size() == kMostNamed ? " and perhaps more" : "") +
        ". Their tags were set by tokens with a scope, and count where the selector names that "
        "scope, too; or set them with a token without a scope ('opsctl agent tag')");
  return warnings;
}

std::vector<std::string> trust_warnings(SelfTrust trust) {
  if (trust == SelfTrust::off) return {};
  return {
      trust == SelfTrust::named
          ? "selectors of this app may ask for self.KEY and fact.KEY, which machines say of themselves: " +
                std::string(kMeaning)
          : "tags that machines set themselves count as the operator's in this app, and selectors may ask "
            "for self.KEY and fact.KEY: " +
                std::string(kMeaning)};
}

}  // namespace backend::domain
