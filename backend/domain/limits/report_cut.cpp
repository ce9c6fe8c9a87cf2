#include "backend/domain/limits/report_cut.hpp"

#include <algorithm>
#include <iterator>

#include "protocol/ids.hpp"

namespace backend::domain {

namespace {

constexpr std::size_t kMark = 64;  // the longest mark

bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

std::size_t cut(std::string& text, std::size_t most) {
  if (text.size() <= most) return 0;
  const std::size_t before = text.size();
  text = cut_middle(text, most);
  return before - std::min(before, text.size());
}

std::size_t size_of(const protocol::Change& change) {
  return change.what.size() + change.before.size() + change.after.size() + change.diff.size();
}

std::string and_more(std::size_t count, std::string_view what) {
  return "… and " + std::to_string(count) + " more " + std::string(what);
}

std::size_t cut_changes(std::vector<protocol::Change>& changes) {
  std::size_t lost = 0, kept = 0, left = kMostOfChanges;
  for (protocol::Change& change : changes) {
    for (std::string* value : {&change.what, &change.before, &change.after})
      lost += cut(*value, kLongestValue);
    lost += cut(change.diff, kLongestDiff);
    const std::size_t size = size_of(change) + kMark;  // with what JSON puts around it
    if (size > left) break;
    left -= size;
    ++kept;
  }
  if (kept == changes.size()) return lost;
  const std::size_t more = changes.size() - kept;
  for (std::size_t i = kept; i < changes.size(); ++i)
    lost += size_of(changes[i]);
  changes.resize(kept);
  changes.push_back({.what = and_more(more, "changes"), .before = {}, .after = {}, .diff = {}});
  return lost + 1;  // also when they were all empty
}

// Texts of a list, as many as fit.
std::size_t cut_list(std::vector<std::string>& texts, std::size_t longest, std::size_t most,
                     std::size_t most_bytes, std::string_view what) {
  std::size_t lost = 0, kept = 0, left = most_bytes;
  for (std::string& text : texts) {
    lost += cut(text, longest);
    if (kept == most || text.size() + kMark > left) break;
    left -= text.size() + kMark;
    ++kept;
  }
  if (kept == texts.size()) return lost;
  const std::size_t more = texts.size() - kept;
  for (std::size_t i = kept; i < texts.size(); ++i)
    lost += texts[i].size();
  texts.resize(kept);
  texts.push_back(and_more(more, what));
  return lost + 1;
}

struct Shorten {
  std::size_t operator()(protocol::StateLog& log) const {
    std::size_t lost = cut(log.state_comment, kLongestComment);
    if (log.state_stdout) lost += cut(*log.state_stdout, kLongestOutput);
    lost += cut_changes(log.changes);
    for (std::string* word : {&log.outcome, &log.started})
      if (word->size() > kLongestWord) {
        lost += word->size();
        word->clear();
      }
    log.truncated = log.truncated || lost > 0;
    return lost;
  }
  std::size_t operator()(protocol::RoundEnd& end) const {
    std::size_t lost = 0;
    std::erase_if(end.counts, [&](const auto& count) {
      const bool goes = count.first.size() > kLongestWord;
      lost += goes ? count.first.size() : 0;
      return goes;
    });
    while (end.counts.size() > kMostCounts) {
      const auto last = std::prev(end.counts.end());
      lost += last->first.size() + 1;
      end.counts.erase(last);
    }
    constexpr std::size_t kAll = kMostDrift * (protocol::kLongestId + kMark);
    return lost + cut_list(end.drift, protocol::kLongestId, kMostDrift, kAll, "states");
  }
  std::size_t operator()(protocol::RecipeStatus& status) const {
    return cut_list(status.errors, kLongestProblem, status.errors.size(), kMostOfProblems, "problems");
  }
  std::size_t operator()(protocol::UpdateStatus& status) const {
    return cut(status.error, kLongestProblem) + cut(status.version, kLongestValue);
  }
};

}  // namespace

std::string cut_middle(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  if (most < kMark) return {};
  const std::size_t each = (most - kMark) / 2;
  std::size_t head = each, tail = text.size() - each;
  while (head > 0 && is_inside_character(text[head]))
    --head;
  while (tail < text.size() && is_inside_character(text[tail]))
    ++tail;
  std::string kept(text.substr(0, head));
  kept += "\n[... " + std::to_string(tail - head) + " bytes are not stored ...]\n";
  return kept.append(text.substr(tail));
}

std::size_t shorten(Report& report) {
  return std::visit(Shorten{}, report);
}

}  // namespace backend::domain
