#include "states/linux_cronjob/cron_field.hpp"

#include <set>

#include <doctest/doctest.h>

#include "base/programs/process.hpp"

using namespace states::linux_cronjob;

namespace {

struct Row {
  const CronField& field;
  const char* text;
};
const Row kGood[] = {
    {kMinute, "*"},          {kMinute, "0"},        {kMinute, "59"},       {kMinute, "007"},
    {kMinute, "*/5"},        {kMinute, "*/59"},     {kMinute, "1-10/3"},   {kMinute, "1,2,30-40/5"},
    {kMinute, "*,5"},        {kMinute, "5-5"},      {kMinute, "0~29"},     {kHour, "0"},
    {kHour, "23"},           {kHour, "8-18/2"},     {kDayOfMonth, "1"},    {kDayOfMonth, "31"},
    {kMonth, "1"},           {kMonth, "12"},        {kMonth, "jan"},       {kMonth, "DEC"},
    {kMonth, "jan,Mar-may"}, {kMonth, "jan-dec/3"}, {kDayOfWeek, "0"},     {kDayOfWeek, "7"},
    {kDayOfWeek, "mon-fri"}, {kDayOfWeek, "5-7"},   {kDayOfWeek, "sat-7"}, {kDayOfWeek, "sun,Wed"},
    {kDayOfWeek, "1-fri"},   {kMinute, " 5 "},
};
// What crontab(1) refuses, too.
const Row kBad[] = {
    {kMinute, "60"},     {kMinute, "75"},     {kMinute, "-1"},       {kMinute, "1-60"},
    {kMinute, "*/0"},    {kMinute, "5/10"},   {kMinute, "1,,2"},     {kMinute, ",1"},
    {kMinute, "1,"},     {kMinute, "1-"},     {kMinute, "*/"},       {kMinute, "1-5/"},
    {kMinute, "mon"},    {kMinute, "+1"},     {kMinute, "?"},        {kMinute, "~"},
    {kHour, "24"},       {kHour, "@daily"},   {kDayOfMonth, "0"},    {kDayOfMonth, "32"},
    {kMonth, "0"},       {kMonth, "13"},      {kMonth, "january"},   {kMonth, "mon"},
    {kDayOfWeek, "8"},   {kDayOfWeek, "jan"}, {kDayOfWeek, "mon/2"}, {kDayOfWeek, "sunday"},
    {kHour, "randomly"}, {kHour, "random,5"},
};
// What crontab(1) takes, and cron never runs, or runs at other times than it looks.
const Row kTraps[] = {
    {kMinute, "10-1"},
    {kMonth, "dec-jan"},
    {kDayOfWeek, "fri-sun"},
    {kDayOfWeek, "5-0"},
    {kMinute, "*/75"},
    {kMinute, "1-5/100"},
    {kMinute, "*-5"},
    {kMinute, "1-5-7"},
    // Several fields, which would shift those behind them; and a comment.
    {kMinute, "1 2"},
    {kMinute, "#"},
};

// The line of a crontab with this field.
std::string line_with(const Row& row) {
  std::string line;
  for (const CronField* field : {&kMinute, &kHour, &kDayOfMonth, &kMonth, &kDayOfWeek})
    line.append(field == &row.field ? row.text : "*").append(" ");
  return line + "command\n";
}

}  // namespace

TEST_CASE("cron: numbers, names, ranges, steps and lists are told from what is out of range or no time") {
  for (const Row& row : kGood)
    CHECK_MESSAGE(check_cron_field(row.field, row.text), row.field.name << " " << std::string(row.text));
  for (const Row& row : kBad)
    CHECK_MESSAGE(!check_cron_field(row.field, row.text), row.field.name << " " << std::string(row.text));
  for (const Row& row : kTraps)
    CHECK_MESSAGE(!check_cron_field(row.field, row.text), row.field.name << " " << std::string(row.text));
  CHECK_FALSE(check_cron_field(kMinute, ""));
  CHECK_FALSE(check_cron_field(kMinute, "1\n* * * * * root"));
  CHECK(check_cron_field(kMinute, "*/75").error().message() ==
        "Illegal minute '*/75': the step must be 1-59; it must be 0-59, *, or lists, ranges and steps of "
        "these");
}

TEST_SUITE("system") {
  TEST_CASE("cron: the times that are accepted are those that crontab accepts") {
    const auto accepts = [](const Row& row) {
      base::Command command;
      command.argv = {"crontab", "-u", "nobody", "-"};
      command.env = base::clean_environment();
      command.input = line_with(row);
      const auto done = base::run(command);
      REQUIRE(done);
      return done->ok();
    };
    for (const Row& row : kGood)
      CHECK_MESSAGE(accepts(row), row.field.name << " " << std::string(row.text));
    for (const Row& row : kBad)
      CHECK_MESSAGE(!accepts(row), row.field.name << " " << std::string(row.text));
  }
}

TEST_CASE("random is a value that stays for a job on a machine, and is spread over machines and jobs") {
  CHECK(check_cron_field(kMinute, "random"));
  CHECK(check_cron_field(kMinute, " Random "));
  const CronField* const fields[] = {&kMinute, &kHour, &kDayOfMonth, &kMonth, &kDayOfWeek};
  for (const CronField* field : fields) {
    std::set<int> values;
    for (int machine = 0; machine < 2000; ++machine) {
      const int value = random_value(*field, "m" + std::to_string(machine), "/usr/bin/backup");
      CHECK(check_cron_field(*field, std::to_string(value)));
      values.insert(value);
    }
    const std::size_t all = field == &kDayOfMonth  ? 28U
                            : field == &kDayOfWeek ? 7U
                                                   : static_cast<std::size_t>(field->most - field->least + 1);
    CHECK(values.size() == all);
    CHECK(random_value(*field, "m", "job") == random_value(*field, "m", "job"));
  }
  std::set<int> jobs;
  for (int job = 0; job < 500; ++job)
    jobs.insert(random_value(kMinute, "m", "job" + std::to_string(job)));
  CHECK(jobs.size() == 60);
}
