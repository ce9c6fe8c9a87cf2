#include "modules/fetch/tag_records.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"
#include "modules/git/object.hpp"

namespace modules::fetch {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestRecords = 8 * 1024 * 1024;
constexpr std::size_t kOwnerDigits = 16, kNameDigits = 32;

std::string text_member(const base::Value& value, std::string_view key) {
  const base::Value* found = value.find(key);
  return found != nullptr ? std::string(found->text()) : std::string();
}

// "https://git.example.com/acme" of "https://git.example.com/acme/modules.git".
std::string_view owner_of(std::string_view repository) {
  const std::size_t scheme = repository.find("://");
  const std::size_t host = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::size_t path = repository.find('/', host);
  if (path == std::string_view::npos) return repository;
  return repository.substr(0, repository.find('/', path + 1));
}

std::string owner_digits(std::string_view repository) {
  return base::sha256_hex(owner_of(repository)).substr(0, kOwnerDigits);
}

// No address and no tag has a newline in it.
std::string name_digits(std::string_view repository, std::string_view tag) {
  return base::sha256_hex(std::string(repository) + '\n' + std::string(tag)).substr(0, kNameDigits);
}

bool is_hex(std::string_view text, std::size_t length) {
  return text.size() == length &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

Result<TagRecords> TagRecords::load(const std::string& path, const Limits& limits) {
  TagRecords records(path, limits);
  const auto text = base::read_file(path, kLargestRecords);
  if (!text && text.error().code() == ErrorCode::not_found) return records;
  if (!text) return text.error();
  const Error damaged(ErrorCode::invalid,
                      path +
                          " is damaged: it says which commits tags stood for; if you remove it, tags are "
                          "believed anew");
  base::Arena arena;
  const auto parsed = base::parse_json(*text, arena);
  const auto* root = std::get_if<base::Value>(&parsed);
  const base::Value* list = root != nullptr ? root->find("tags") : nullptr;
  if (list == nullptr || !list->is_list() || list->items().size() > limits.whole) return damaged;
  for (const base::Value& item : list->items()) {
    TagRecord record{.repository = text_member(item, "repository"),
                     .tag = text_member(item, "tag"),
                     .commit = text_member(item, "commit"),
                     .signer = text_member(item, "signer"),
                     .seen = 0};
    const base::Value* seen = item.find("seen");
    record.seen = seen != nullptr ? seen->as_integer().value_or(0) : 0;
    if (record.repository.empty() || record.tag.empty() || !::modules::git::ObjectId::parse(record.commit))
      return damaged;
    records.records_.push_back(std::move(record));
  }
  const base::Value* brief = root->find("short");
  if (brief == nullptr) return records;
  if (!brief->is_list() || brief->items().size() > limits.brief) return damaged;
  for (const base::Value& item : brief->items()) {
    const std::vector<std::string_view> words = base::split_words(item.text());
    if (words.size() < 3 || words.size() > 4 || !is_hex(words[0], kOwnerDigits) ||
        !is_hex(words[1], kNameDigits) || !::modules::git::ObjectId::parse(words[2]))
      return damaged;
    records.brief_.push_back({.owner = std::string(words[0]),
                              .name = std::string(words[1]),
                              .commit = std::string(words[2]),
                              .signer = words.size() > 3 ? std::string(words[3]) : ""});
  }
  return records;
}

std::optional<TagRecord> TagRecords::find(std::string_view repository, std::string_view tag) const {
  for (const TagRecord& record : records_)
    if (record.repository == repository && record.tag == tag) return record;
  if (brief_.empty()) return std::nullopt;
  const auto found = std::ranges::find(brief_, name_digits(repository, tag), &Brief::name);
  if (found == brief_.end()) return std::nullopt;
  return TagRecord{.repository = std::string(repository),
                   .tag = std::string(tag),
                   .commit = found->commit,
                   .signer = found->signer,
                   .seen = 0};
}

Result<void> TagRecords::check_room(std::string_view repository, std::string_view tag) const {
  if (find(repository, tag)) return {};
  const std::string_view owner = owner_of(repository);
  const auto of_owner =
      std::ranges::count_if(records_,
                            [&](const TagRecord& known) { return owner_of(known.repository) == owner; }) +
      std::ranges::count(brief_, owner_digits(repository), &Brief::owner);
  const bool is_owner_full = std::cmp_greater_equal(of_owner, limits_.of_owner);
  if (!is_owner_full && records_.size() + brief_.size() < limits_.whole + limits_.brief) return {};
  return Error(ErrorCode::no_space,
               "this machine remembers " +
                   (is_owner_full ? std::to_string(of_owner) + " tags of " + std::string(owner)
                                  : std::to_string(records_.size() + brief_.size()) + " tags") +
                   " and takes no more, for it could not see whether they move. Give the commit, too: then "
                   "there is nothing to remember. Or remove " +
                   path_ + ": all tags are believed anew then");
}

// Of whoever has the most of them.
void TagRecords::shorten_one() {
  std::map<std::string_view, std::size_t> counts;
  for (const TagRecord& record : records_)
    ++counts[owner_of(record.repository)];
  const std::string owner(
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; })->first);
  auto oldest = records_.end();
  for (auto record = records_.begin(); record != records_.end(); ++record)
    if (owner_of(record->repository) == owner && (oldest == records_.end() || record->seen < oldest->seen))
      oldest = record;
  brief_.push_back({.owner = owner_digits(oldest->repository),
                    .name = name_digits(oldest->repository, oldest->tag),
                    .commit = oldest->commit,
                    .signer = oldest->signer});
  records_.erase(oldest);
}

Result<void> TagRecords::store(TagRecord record) {
  if (auto room = check_room(record.repository, record.tag); !room) return room;
  std::erase_if(records_, [&](const TagRecord& known) {
    return known.repository == record.repository && known.tag == record.tag;
  });
  if (!brief_.empty())
    std::erase_if(brief_, [name = name_digits(record.repository, record.tag)](const Brief& known) {
      return known.name == name;
    });
  records_.push_back(std::move(record));
  if (records_.size() > limits_.whole) shorten_one();
  base::JsonText json;
  json.begin_object().member("version", 1).key("tags").begin_list();
  for (const TagRecord& known : records_)
    json.begin_object()
        .member("repository", known.repository)
        .member("tag", known.tag)
        .member("commit", known.commit)
        .optional("signer", known.signer)
        .member("seen", known.seen)
        .end_object();
  json.end_list();
  if (!brief_.empty()) {
    json.key("short").begin_list();
    for (const Brief& known : brief_)
      json.value(known.owner + ' ' + known.name + ' ' + known.commit +
                 (known.signer.empty() ? "" : ' ' + known.signer));
    json.end_list();
  }
  return base::write_durable_file(path_, json.end_object().take() + "\n");
}

}  // namespace modules::fetch
