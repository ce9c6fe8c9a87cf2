// What lies on the machine itself: seeds and findings of cloud-init, and a file of the administrator's.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "agent/metadata/source.hpp"
#include "base/config_file.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"

namespace agent::metadata {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestFile = 64 * 1024;
constexpr std::size_t kLargestFindings = 4 * 1024 * 1024;
constexpr const char* kFindings = "/run/cloud-init/instance-data.json";
// The userdata as it came, wherever cloud-init had it from.
constexpr const char* kFoundUserdata = "/var/lib/cloud/instance/user-data.txt";
constexpr const char* kSeeds[] = {"/var/lib/cloud/seed/nocloud", "/var/lib/cloud/seed/nocloud-net"};

std::string without_quotes(std::string_view text) {
  text = base::trim(text);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

// Of a seed's meta-data: JSON, or YAML of which only the one line matters. Empty: there is none.
std::string seed_instance_id(std::string_view text) {
  constexpr std::string_view kKey = "instance-id";
  if (base::trim(text).starts_with('{')) {
    base::Arena arena;
    const auto parsed = base::parse_json(text, arena);
    const auto* root = std::get_if<base::Value>(&parsed);
    const base::Value* id = root ? root->find(kKey) : nullptr;
    return id ? std::string(id->text()) : std::string();
  }
  for (std::string_view line : base::split(text, '\n')) {
    if (!line.starts_with(kKey)) continue;
    line.remove_prefix(kKey.size());
    line = base::trim(line);
    if (!line.starts_with(':')) continue;
    line.remove_prefix(1);
    if (const std::size_t remark = line.find(" #"); remark != std::string_view::npos)
      line = line.substr(0, remark);
    return without_quotes(line);
  }
  return {};
}

Result<std::string> read_optional(const std::string& path, std::size_t limit) {
  auto text = base::read_file(path, limit);
  if (!text && text.error().code() == ErrorCode::not_found) return std::string();
  return text;
}

// Whoever can write it can make the machine another's.
Result<void> check_owner(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return base::os_error(errno, path);
  if ((st.st_uid == 0 || st.st_uid == ::geteuid()) && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return Error(ErrorCode::permission, path + " can be written by others: chown root and chmod 600 it");
}

}  // namespace

std::string cloud_init_instance_id(const SourceOptions& options) {
  const auto text = base::read_file(options.root + kFindings, kLargestFindings);
  if (!text) return {};
  base::Arena arena;
  const auto parsed = base::parse_json(*text, arena);
  const auto* root = std::get_if<base::Value>(&parsed);
  const base::Value* v1 = root ? root->find("v1") : nullptr;
  const base::Value* id = v1 ? v1->find("instance_id") : nullptr;
  return id ? std::string(id->text()) : std::string();
}

// A seed folder; else what cloud-init has found, since a seed may also be a disk that is gone by now.
Result<Metadata> read_nocloud(const SourceOptions& options) {
  for (const std::string folder : kSeeds) {
    const auto text = base::read_file(options.root + folder + "/meta-data", kLargestFile);
    if (!text && text.error().code() == ErrorCode::not_found) continue;
    if (!text) return Error(ErrorCode::invalid, text.error().message());
    auto userdata = read_optional(options.root + folder + "/user-data", kLargestUserdata);
    if (!userdata) return Error(ErrorCode::invalid, userdata.error().message());
    return finished({.instance_id = seed_instance_id(*text), .userdata = std::move(*userdata)});
  }
  std::string id = cloud_init_instance_id(options);
  if (id.empty()) return Error(ErrorCode::not_found, "there is no seed, and cloud-init has found none");
  auto userdata = read_optional(options.root + kFoundUserdata, kLargestUserdata);
  if (!userdata) return Error(ErrorCode::invalid, userdata.error().message());
  return finished({.instance_id = std::move(id), .userdata = std::move(*userdata)});
}

Result<Metadata> read_local_file(const SourceOptions& options) {
  const std::string& path = options.file;
  const auto text = base::read_file(path, kLargestFile);
  if (!text) return Error(ErrorCode::not_found, text.error().message());
  if (auto fine = check_owner(path); !fine) return std::move(fine).error();
  const base::ConfigFile file = base::parse_config(*text, path);
  if (!file.problems.empty()) return Error(ErrorCode::invalid, file.problems.front());
  Metadata metadata;
  for (const base::Setting& setting : file.settings) {
    if (setting.name == "instance-id")
      metadata.instance_id = setting.value;
    else if (setting.name == "app-id")
      metadata.app_id = setting.value;
    else if (setting.name == "join-token")
      metadata.join_token = setting.value;
    else
      return Error(ErrorCode::invalid, path + ":" + std::to_string(setting.line) + ": '" + setting.name +
                                           "' is not one of instance_id, app_id, join_token");
  }
  return finished(std::move(metadata), true);
}

}  // namespace agent::metadata
