#include "modules/fetch/tag_records.hpp"

#include <algorithm>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"
#include "modules/git/object.hpp"

namespace modules::fetch {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kMostRecords = 1000;
constexpr std::size_t kLargestRecords = 8 * 1024 * 1024;

std::string text_member(const base::Value& value, std::string_view key) {
  const base::Value* found = value.find(key);
  return found != nullptr ? std::string(found->text()) : std::string();
}

}  // namespace

Result<TagRecords> TagRecords::load(const std::string& path) {
  TagRecords records(path);
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
  if (list == nullptr || !list->is_list() || list->items().size() > kMostRecords) return damaged;
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
  return records;
}

const TagRecord* TagRecords::find(std::string_view repository, std::string_view tag) const {
  for (const TagRecord& record : records_)
    if (record.repository == repository && record.tag == tag) return &record;
  return nullptr;
}

Result<void> TagRecords::store(TagRecord record) {
  std::erase_if(records_, [&](const TagRecord& known) {
    return known.repository == record.repository && known.tag == record.tag;
  });
  records_.push_back(std::move(record));
  if (records_.size() > kMostRecords)
    records_.erase(std::ranges::min_element(records_, {}, &TagRecord::seen));
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
  return base::write_durable_file(path_, json.end_list().end_object().take() + "\n");
}

}  // namespace modules::fetch
