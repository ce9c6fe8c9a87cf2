// The five times of a cron job: whether a text is one that cron runs.
//
// crontab(1) refuses numbers out of range only when the job is installed, and takes some texts that it never
// runs (a range that runs backwards). So the text is judged here, without looking at the machine.
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"

namespace states::linux_cronjob {

struct CronField {
  std::string_view name;
  int least = 0;
  int most = 0;
  std::span<const std::string_view> words{};  // names of values, the first of them for first_word
  int first_word = 0;
};

extern const CronField kMinute, kHour, kDayOfMonth, kMonth, kDayOfWeek;

// Numbers, names, ranges (1-5), steps (*/15, 8-18/2), cron's random choice (0~29), and lists of these; or
// "random" alone, in any case of letters. The error says what is wrong, and what may stand there.
base::Result<void> check_cron_field(const CronField& field, std::string_view text);

// "random".
bool is_random(std::string_view text);
// The value that stands for it: the same whenever this job is on this machine, another one for others. A day
// of the month is one that every month has.
int random_value(const CronField& field, std::string_view machine, std::string_view job);

}  // namespace states::linux_cronjob
