#include "agent/install/migrate.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "agent/control/control_address.hpp"
#include "agent/control/pid_file.hpp"
#include "agent/install/files.hpp"
#include "agent/install/service.hpp"
#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/files/private_folder.hpp"
#include "base/programs/process.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"

namespace agent::install {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

constexpr std::size_t kLargestSaved = 1024 * 1024;
constexpr std::size_t kLargestRecord = 4 * 1024 * 1024;
constexpr std::chrono::seconds kLongestStop{60};
constexpr std::chrono::seconds kLongestScript{120};

// What was there, and is to be there again after undo.
struct Saved {
  std::string path;    // as the machine has it
  std::string copy;    // the name of the copy in migrated/; "": it is a link
  std::string target;  // of a link
  mode_t mode = 0;
  uid_t owner = 0;
  gid_t group = 0;
};

struct Record {
  bool is_done = false;
  bool was_running = false;
  std::vector<Saved> files;  // the script, its links, the configuration
  std::vector<Saved> crontabs;
};

std::string folder_of(const Site& site) {
  return site.at(site.state_dir) + "/migrated";
}
std::string record_path(const Site& site) {
  return folder_of(site) + "/record.json";
}

void write_saved(base::JsonText& json, const std::vector<Saved>& all) {
  json.begin_list();
  for (const Saved& each : all) {
    json.begin_object().member("path", each.path).optional("copy", each.copy).optional("target", each.target);
    json.member("mode", static_cast<std::int64_t>(each.mode));
    json.member("owner", static_cast<std::int64_t>(each.owner));
    json.member("group", static_cast<std::int64_t>(each.group)).end_object();
  }
  json.end_list();
}

Result<void> write_record(const Site& site, const Record& record) {
  base::JsonText json;
  json.begin_object().member("version", 1).member("done", record.is_done);
  json.member("was_running", record.was_running).key("files");
  write_saved(json, record.files);
  json.key("crontabs");
  write_saved(json, record.crontabs);
  return base::write_durable_file(record_path(site), json.end_object().take() + "\n");
}

std::string text_of(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value ? std::string(value->text()) : std::string();
}

template <class Number>
Number number_of(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return static_cast<Number>(value ? value->as_integer().value_or(0) : 0);
}

bool flag_of(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value && value->as_bool().value_or(false);
}

std::vector<Saved> read_saved(const Value* list) {
  std::vector<Saved> all;
  if (!list) return all;
  for (const Value& each : list->items())
    all.push_back({.path = text_of(each, "path"),
                   .copy = text_of(each, "copy"),
                   .target = text_of(each, "target"),
                   .mode = number_of<mode_t>(each, "mode"),
                   .owner = number_of<uid_t>(each, "owner"),
                   .group = number_of<gid_t>(each, "group")});
  return all;
}

// Nothing: there is none.
Result<std::optional<Record>> read_record(const Site& site) {
  const auto text = base::read_file(record_path(site), kLargestRecord);
  if (!text && text.error().code() == ErrorCode::not_found) return std::optional<Record>();
  if (!text) return text.error();
  base::Arena arena;
  const auto parsed = base::parse_json(*text, arena);
  const auto* root = std::get_if<Value>(&parsed);
  if (!root || !root->is_object())
    return Error(ErrorCode::invalid, record_path(site) + " is damaged: what was migrated cannot be told");
  return std::optional(Record{.is_done = flag_of(*root, "done"),
                              .was_running = flag_of(*root, "was_running"),
                              .files = read_saved(root->find("files")),
                              .crontabs = read_saved(root->find("crontabs"))});
}

// One after another; the copies are on disk before the record that names them.
class Saver {
 public:
  explicit Saver(const Site& site) : site_(site) {}

  Result<void> save(const std::string& path, std::vector<Saved>& to) {
    const std::string real = site_.at(path);
    struct stat st {};
    if (::lstat(real.c_str(), &st) != 0) return base::os_error(errno, "saving " + path);
    Saved saved{.path = path,
                .copy = {},
                .target = {},
                .mode = st.st_mode & 07777U,
                .owner = st.st_uid,
                .group = st.st_gid};
    if (S_ISLNK(st.st_mode)) {
      saved.target = link_target(real);
    } else {
      const auto text = base::read_file(real, kLargestSaved);
      if (!text) return text.error().with_context("saving " + path);
      saved.copy = std::to_string(++number_);
      if (auto put = base::write_durable_file(folder_of(site_) + "/" + saved.copy, *text); !put) return put;
    }
    to.push_back(std::move(saved));
    return {};
  }

 private:
  const Site& site_;
  unsigned number_ = 0;
};

// As it was, its owner too: cron passes over a crontab that is not root's alone.
Result<void> put_as(const Site& site, const Saved& saved, std::string_view text) {
  const std::string path = site.at(saved.path);
  const std::string next = path + ".opsagent-new";
  if (auto written = base::write_durable_file(next, text, saved.mode); !written) return written;
  if (::geteuid() == 0 && ::chown(next.c_str(), saved.owner, saved.group) != 0)
    return base::os_error(errno, "the owner of " + next);
  if (::chmod(next.c_str(), saved.mode) != 0) return base::os_error(errno, "the mode of " + next);
  if (::rename(next.c_str(), path.c_str()) != 0) return base::os_error(errno, "replacing " + path);
  return base::sync_folder_of(path);
}

Result<void> call_script(const Site& site, const std::string& word) {
  if (!site.is_live()) return {};
  const auto done = base::run({.argv = {kOriginalScript, word},
                               .env = base::clean_environment(),
                               .timeout = kLongestScript,
                               .drain_grace = std::chrono::milliseconds(200)});
  if (!done) return done.error().with_context(std::string(kOriginalScript) + " " + word);
  if (done->ok()) return {};
  return Error(ErrorCode::io, std::string("'") + kOriginalScript + " " + word +
                                  "' failed: " + std::string(base::trim(done->output)));
}

// What the script says of itself is not asked: processes tell.
Result<void> see_it_gone(const Site& site) {
  if (!site.is_live()) return {};
  const auto until = std::chrono::steady_clock::now() + kLongestStop;
  while (true) {
    const std::vector<pid_t> processes = original_processes();
    if (processes.empty()) return {};
    if (std::chrono::steady_clock::now() >= until)
      return Error(ErrorCode::exists, "the original OpsAgent still runs (process " +
                                          std::to_string(processes.front()) +
                                          "): end it, and run 'opsagent migrate' again");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

Result<Record> begin(const Site& site, const FoundOriginal& found) {
  if (auto made = base::make_private_folder(folder_of(site)); !made) return std::move(made).error();
  Record record{.is_done = false,
                .was_running = site.is_live() && !original_processes().empty(),
                .files = {},
                .crontabs = {}};
  Saver saver(site);
  for (const std::string& crontab : found.crontabs)
    if (auto saved = saver.save(crontab, record.crontabs); !saved) return std::move(saved).error();
  std::vector<std::string> files = found.links;
  if (found.has_script) files.emplace_back(kOriginalScript);
  if (found.has_config) files.emplace_back(kConfig);
  for (const std::string& path : files)
    if (auto saved = saver.save(path, record.files); !saved) return std::move(saved).error();
  if (auto written = write_record(site, record); !written) return std::move(written).error();
  return record;
}

Result<void> remove_cron_lines(const Site& site, const Record& record) {
  for (const Saved& crontab : record.crontabs) {
    const auto text = base::read_file(site.at(crontab.path), kLargestSaved);
    if (!text && text.error().code() == ErrorCode::not_found) continue;
    if (!text) return text.error();
    std::string kept;
    for (const std::string_view line : base::split(*text, '\n'))
      if (!is_original_cron_line(line)) kept.append(line).append("\n");
    if (text->ends_with('\n') && kept.ends_with("\n\n")) kept.pop_back();
    if (kept == *text) continue;
    if (auto put = put_as(site, crontab, kept); !put) return put;
  }
  return {};
}

Result<void> take_over(const Site& site, const Say& say) {
  const auto text = base::read_file(site.at(kConfig), kLargestSaved);
  const auto config = text ? read_original_config(*text) : std::nullopt;
  const auto place = [&](const std::string& named, const char* usual) {
    return site.at(named.starts_with('/') ? named : std::string(usual));
  };
  const std::string from = place(config ? config->state_dir : "", kOriginalState);
  const std::string token = config && config->token_file.starts_with('/') ? site.at(config->token_file) : "";
  const auto adopted = adopt_state(from, token, site.at(site.state_dir));
  if (!adopted) return adopted.error();
  if (adopted->token) say("took over the token of the original");
  if (adopted->watch_records > 0)
    say("took over " + std::to_string(adopted->watch_records) + " watch records of the original");
  for (const std::string& problem : adopted->problems)
    say("not taken over: " + problem);
  return {};
}

// In our words. The token is in our state folder by now, so that the original's folders can go.
Result<void> put_config(const Site& site, const Record& record, const Say& say) {
  const auto saved = std::ranges::find(record.files, std::string(kConfig), &Saved::path);
  if (saved == record.files.end()) return {};
  const auto text = base::read_file(site.at(kConfig), kLargestSaved);
  const auto config = text ? read_original_config(*text) : std::nullopt;
  if (!config) return {};  // it is ours already
  std::string ours = "# From the configuration of the original OpsAgent, by 'opsagent migrate'.\n";
  for (const std::string_view line : base::split(config->text, '\n')) {
    const std::string_view trimmed = base::trim(line);
    const bool is_told = trimmed.empty() || trimmed.starts_with('#') || trimmed.starts_with(';') ||
                         (trimmed.starts_with('[') && trimmed.ends_with(']')) ||
                         trimmed.starts_with("token_file");
    if (!is_told) ours.append(line).append("\n");
  }
  if (!config->ignored.empty()) say(remark_about(*config));
  Saved as = *saved;
  as.mode = base::kPrivate;
  return put_as(site, as, ours);
}

Result<void> remove_service(const Site& site, const Record& record) {
  for (const Saved& file : record.files)
    if (file.path != kConfig)
      if (auto removed = remove_name(site.at(file.path)); !removed) return removed;
  return {};
}

// Two agents beside each other would undo each other's work.
Result<void> see_ours_gone(const Site& site) {
  const auto pid =
      site.is_live() ? control::PidFile::holder(control::pid_path(site.state_dir)) : std::nullopt;
  if (!pid) return {};
  return Error(ErrorCode::exists, "this agent still runs (process " + std::to_string(*pid) +
                                      "), by a service that 'opsagent install' did not place: stop and "
                                      "disable it first");
}

Result<void> put_back_cron_lines(const Site& site, const Saved& saved) {
  const auto before = base::read_file(folder_of(site) + "/" + saved.copy, kLargestSaved);
  if (!before) return before.error();
  auto now = base::read_file(site.at(saved.path), kLargestSaved);
  if (!now && now.error().code() == ErrorCode::not_found) now = std::string();
  if (!now) return std::move(now).error();
  // What was changed since stays.
  std::string text = *now;
  const auto there = base::split(*now, '\n');
  for (const std::string_view line : base::split(*before, '\n')) {
    if (!is_original_cron_line(line) || std::ranges::find(there, line) != there.end()) continue;
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    text.append(line).append("\n");
  }
  return text == *now ? Result<void>() : put_as(site, saved, text);
}

Result<void> put_back(const Site& site, const Saved& saved) {
  if (saved.copy.empty()) return make_durable_link(site.at(saved.path), saved.target);
  const auto text = base::read_file(folder_of(site) + "/" + saved.copy, kLargestSaved);
  if (!text) return text.error();
  return put_as(site, saved, *text);
}

}  // namespace

bool was_migrated(const Site& site) {
  return is_there(record_path(site));
}

Result<bool> migrate(const Site& site, const Say& say) {
  auto noted = read_record(site);
  if (!noted) return std::move(noted).error();
  const FoundOriginal found = find_original(site);
  const bool is_open = *noted && !(*noted)->is_done;
  if (!is_open && !found.is_installed()) return false;
  if (!is_open && *noted)
    return Error(ErrorCode::exists,
                 "the original OpsAgent was migrated before and is there again; 'opsagent "
                 "migrate --undo' puts back what was saved, or remove " +
                     folder_of(site));
  if (auto fine = check_stays_inside(site); !fine) return std::move(fine).error();
  if (auto made = make_folders(site.at(site.state_dir)); !made) return std::move(made).error();
  say(is_open ? "going on with a migration that was interrupted" : "saving what belongs to the original");
  Result<Record> record = is_open ? Result<Record>(std::move(**noted)) : begin(site, found);
  if (!record) return std::move(record).error();

  struct Step {
    std::string what;
    std::function<Result<void>()> take;
  };
  const std::vector<Step> steps{
      {"removing the original's cron lines", [&] { return remove_cron_lines(site, *record); }},
      {"stopping the original",
       [&]() -> Result<void> {
         // A script that fails says little; what counts is that nothing is left.
         if (is_there(site.at(kOriginalScript)))
           if (auto stopped = call_script(site, "stop"); !stopped) say(stopped.error().message());
         return see_it_gone(site);
       }},
      {"removing the original's service", [&] { return remove_service(site, *record); }},
      {"taking over what the original remembers", [&] { return take_over(site, say); }},
      {"writing the configuration in our words", [&] { return put_config(site, *record, say); }},
      {"done: 'opsagent migrate --undo' takes it back",
       [&] {
         record->is_done = true;
         return write_record(site, *record);
       }},
  };
  for (const Step& step : steps) {
    say(step.what);
    if (auto taken = step.take(); !taken) return std::move(taken).error();
  }
  return true;
}

Result<void> undo_migration(const Site& site, bool start, const Say& say) {
  auto noted = read_record(site);
  if (!noted) return std::move(noted).error();
  if (!*noted) return Error(ErrorCode::not_found, "nothing was migrated on this machine");
  const Record& record = **noted;
  say("stopping and removing this agent's service");
  auto kept = Service(site, init_of(site)).remove();
  if (!kept) return std::move(kept).error();
  if (auto gone = see_ours_gone(site); !gone) return gone;
  say("putting back the original's configuration and service");
  for (const Saved& file : record.files)
    if (auto put = put_back(site, file); !put) return put;
  const bool starts = start && record.was_running && site.is_live();
  if (starts) {
    say("starting the original");
    if (auto started = call_script(site, "start"); !started) return started;
  }
  // Last: they start it, too.
  say("putting back the original's cron lines");
  for (const Saved& crontab : record.crontabs)
    if (auto put = put_back_cron_lines(site, crontab); !put) return put;
  // Without the record the copies mean nothing; without the copies the record would.
  if (auto removed = remove_name(record_path(site)); !removed) return removed;
  return remove_tree(folder_of(site));
}

}  // namespace agent::install
