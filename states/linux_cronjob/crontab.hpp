// The text of a crontab, and the jobs that we manage in it. Text only; nothing is read or written here.
//
// What is above the marker line belongs to people and is kept byte for byte. Jobs below it are known by their
// command; jobs with the same command, by their times.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace states::linux_cronjob {

// The text that `crontab -l` would show of a spool file: without the three lines that Debian's crontab puts
// on top of what it installs.
std::string_view without_header(std::string_view spooled);

// A command as its line has it: every run of blanks as one, none at the ends. What is quoted stays as it is:
// blanks mean something there ('old  name').
std::string one_line(std::string_view command);

// Every run of blanks as one, wherever it is: how jobs are recognised, also those of versions that wrote them
// so.
std::string squeezed(std::string_view text);

enum class JobState { present, updated, added };

class Crontab {
 public:
  explicit Crontab(std::string_view text);

  struct Put {
    JobState state = JobState::present;
    std::string before;  // updated: the line as it was
  };
  // Whether somebody asks for just this job: his line is not another's to rewrite.
  using IsWanted = std::function<bool(std::string_view times, std::string_view command)>;
  // Makes sure that the command (as one_line() has it) runs at these times ("*/5 * * * *", lower case). Below
  // the marker a line of this command is rewritten, if it has one that is not wanted as it is, or a new one
  // appended; a line above it that says just the same will do.
  Put put(std::string_view times, std::string_view command, const IsWanted& is_wanted = {});

  // As it should be installed: with our marker, every line ended.
  std::string text() const;

 private:
  std::string above_;
  std::vector<std::string> managed_;  // lines below the marker
};

}  // namespace states::linux_cronjob
