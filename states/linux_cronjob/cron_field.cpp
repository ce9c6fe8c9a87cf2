#include "states/linux_cronjob/cron_field.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>

#include "base/fnv.hpp"
#include "base/text.hpp"

namespace states::linux_cronjob {

namespace {

constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                   "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kDays{"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
constexpr std::size_t kLongestNumber = 3;  // with a leading zero

std::string range_text(const CronField& field) {
  std::string text = std::to_string(field.least) + "-" + std::to_string(field.most);
  if (!field.words.empty())
    text.append(", ").append(field.words.front()).append("-").append(field.words.back());
  return text;
}

// A number of digits only: no sign, no blanks.
std::optional<int> number_in(std::string_view text) {
  const bool is_plain = !text.empty() && text.size() <= kLongestNumber &&
                        std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_plain) return std::nullopt;
  return static_cast<int>(*base::parse_integer(text));
}

std::optional<int> value_in(const CronField& field, std::string_view text) {
  if (const auto number = number_in(text)) return number;
  for (std::size_t i = 0; i < field.words.size(); ++i)
    if (base::equal_ignoring_case(text, field.words[i])) return field.first_word + static_cast<int>(i);
  return std::nullopt;
}

class Judge {
 public:
  Judge(const CronField& field, std::string_view text) : field_(field), text_(text) {}

  base::Result<void> list() const {
    // An empty text has no pieces, one that ends with a comma a last empty one.
    if (text_.empty()) return refuse("it is empty");
    for (std::size_t at = 0; at <= text_.size();) {
      const std::size_t end = std::min(text_.find(',', at), text_.size());
      if (auto fine = item(text_.substr(at, end - at)); !fine) return fine;
      at = end + 1;
    }
    return {};
  }

 private:
  base::Error refuse(const std::string& why) const {
    return base::Error(base::ErrorCode::invalid,
                       "Illegal " + std::string(field_.name) + " '" + std::string(text_) + "': " + why +
                           "; it must be " + range_text(field_) + ", *, or lists, ranges and steps of these");
  }

  base::Result<void> item(std::string_view text) const {
    const std::size_t slash = text.find('/');
    const std::string_view values = text.substr(0, slash);
    const bool is_range = values == "*" || values.find('-') != std::string_view::npos;
    if (slash != std::string_view::npos) {
      if (!is_range) return refuse("a step needs a range or * before it");
      const auto step = number_in(text.substr(slash + 1));
      if (!step || *step < 1 || *step > field_.most)
        return refuse("the step must be 1-" + std::to_string(field_.most));
    }
    if (values == "*") return {};
    const std::size_t dash = values.find_first_of("-~");
    const auto first = value(values.substr(0, dash));
    if (!first) return first.error();
    if (dash == std::string_view::npos) return {};
    const auto last = value(values.substr(dash + 1));
    if (!last) return last.error();
    if (*first <= *last) return {};
    std::string why = "the range runs backwards, so that cron would never run the job";
    if (&field_ == &kDayOfWeek && *last == 0) why += " (a range ends on Sunday with 7)";
    return refuse(why);
  }

  base::Result<int> value(std::string_view text) const {
    const auto found = value_in(field_, text);
    if (!found) return refuse("'" + std::string(text) + "' is no value of it");
    if (*found < field_.least || *found > field_.most)
      return refuse(std::to_string(*found) + " is out of range");
    return *found;
  }

  const CronField& field_;
  std::string_view text_;
};

}  // namespace

constinit const CronField kMinute{.name = "minute", .least = 0, .most = 59};
constinit const CronField kHour{.name = "hour", .least = 0, .most = 23};
constinit const CronField kDayOfMonth{.name = "day-of-month", .least = 1, .most = 31};
constinit const CronField kMonth{.name = "month", .least = 1, .most = 12, .words = kMonths, .first_word = 1};
constinit const CronField kDayOfWeek{.name = "day-of-week", .least = 0, .most = 7, .words = kDays};

bool is_random(std::string_view text) {
  return base::equal_ignoring_case(base::trim(text), "random");
}

int random_value(const CronField& field, std::string_view machine, std::string_view job) {
  constexpr int kLastDayOfEveryMonth = 28;
  // Sunday has two numbers.
  const int most = &field == &kDayOfMonth  ? kLastDayOfEveryMonth
                   : &field == &kDayOfWeek ? field.most - 1
                                           : field.most;
  const std::string_view between("\0", 1);
  const std::uint64_t hash =
      base::Fnv1a().add(machine).add(between).add(job).add(between).add(field.name).value();
  // The low bits of this hash know little of what was added last.
  return field.least +
         static_cast<int>((hash ^ hash >> 32) % static_cast<std::uint64_t>(most - field.least + 1));
}

base::Result<void> check_cron_field(const CronField& field, std::string_view text) {
  if (is_random(text)) return {};
  return Judge(field, base::trim(text)).list();
}

}  // namespace states::linux_cronjob
