#include "ctl/apply_files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/values/json_text.hpp"
#include "ctl/recipe_file.hpp"
#include "protocol/ids.hpp"
#include "recipe/document.hpp"

namespace ctl {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

enum class Type { text, number, revision, module, values };

struct Key {
  std::string_view name;
  std::string_view member;  // what the API calls it
  Type type = Type::text;
  bool is_required = false;
};

constexpr std::array kRecipeKeys{
    Key{"kind", "kind"},       Key{"name", "name", Type::text, true},
    Key{"file", ""},           Key{"content", "content"},
    Key{"message", "message"}, Key{"owner", "owner"},
};
constexpr std::array kAssignmentKeys{
    Key{"kind", "kind"},
    Key{"recipe", "recipe", Type::text, true},
    Key{"selector", "selector", Type::text, true},  // not all machines by accident
    Key{"app", "app_id"},
    Key{"revision", "revision", Type::revision},
    Key{"order", "order", Type::number},
    Key{"on_change", "on_change"},
    Key{"round_delay_s", "round_delay_s", Type::number},
};
constexpr std::array kAppKeys{
    Key{"kind", "kind"},
    Key{"name", "app_id", Type::text, true},
    Key{"report", "report"},
    Key{"agent_version", "agent_version"},
    Key{"trust_self_reported", "trust_self_reported"},
    Key{"compat", "compat"},
    Key{"rings", "rings"},
    Key{"module", "module", Type::module},
};

constexpr std::array kVariableKeys{
    Key{"kind", "kind"},
    Key{"app", "app_id"},
    Key{"selector", "selector"},
    Key{"machine", "instance_id"},
    Key{"order", "order", Type::number},
    Key{"values", "values", Type::values, true},
};

struct Kind {
  std::string_view name;
  std::span<const Key> keys;
};
constexpr std::array kKinds{Kind{"recipe", kRecipeKeys}, Kind{"assignment", kAssignmentKeys},
                            Kind{"app", kAppKeys}, Kind{"variables", kVariableKeys}};

template <class Rows>
std::vector<std::string_view> names_of(const Rows& rows) {
  std::vector<std::string_view> names;
  for (const auto& row : rows)
    names.push_back(row.name);
  return names;
}

std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names)
    text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

bool is_described_by(const fs::path& file) {
  const std::string ending = file.extension();
  return !file.filename().string().starts_with('.') &&
         (ending == ".yaml" || ending == ".yml" || ending == ".json");
}

// The same file by another way is the same.
std::string identity_of(const fs::path& file) {
  std::error_code failed;
  const fs::path whole = fs::weakly_canonical(file, failed);
  return failed ? file.lexically_normal().string() : whole.string();
}

// What a YAML scalar without quotes is as a variable, by the rule that recipes have for their own (templates/
// from_document): numbers with a zero in front stay text, for a mode is written so.
std::string plain_json(std::string_view text) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words,
                               [&](std::string_view word) { return base::equal_ignoring_case(text, word); });
  };
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return "null";
  if (is_one_of({"true", "yes", "on"})) return "true";
  if (is_one_of({"false", "no", "off"})) return "false";
  const bool is_negative = text.starts_with('-');
  const std::string_view digits = is_negative || text.starts_with('+') ? text.substr(1) : text;
  const bool is_decimal = !digits.empty() && digits[0] >= '0' && digits[0] <= '9';
  const bool is_padded = digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9';
  if (!is_decimal || is_padded) return base::json_quote(text);
  if (const auto whole = base::parse_integer(is_negative ? text : digits)) return std::to_string(*whole);
  double real = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), real);
  const bool is_whole = error == std::errc() && end == digits.data() + digits.size();
  if (!is_whole || digits.find_first_of(".eE") == std::string_view::npos) return base::json_quote(text);
  return base::to_json(Value::real(is_negative ? -real : real));
}

struct File {
  std::string path;
  recipe::Document document = {};
  std::optional<base::SyntaxProblem> wrong = {};
  mutable std::optional<recipe::LineIndex> lines = {};  // made when the first place is asked for
};

class ItemFiles {
 public:
  void open(const std::string& path) {
    std::error_code failed;
    if (path == "-" || !fs::is_directory(path, failed)) {
      read(path);
      return;
    }
    std::vector<std::string> found;
    fs::recursive_directory_iterator each(path, failed), end;
    for (; !failed && each != end; each.increment(failed)) {
      const bool is_hidden = each->path().filename().string().starts_with('.');
      if (is_hidden && each->is_directory(failed)) each.disable_recursion_pending();
      if (each.depth() >= kDeepest) each.disable_recursion_pending();
      if (each->is_regular_file(failed) && is_described_by(each->path())) found.push_back(each->path());
      if (found.size() > kMostApplyFiles) break;
    }
    if (failed) say(path, failed.message());
    if (found.empty() && !failed) say(path, "has no *.yaml, *.yml or *.json");
    std::ranges::sort(found);
    for (const std::string& file : found)
      read(file);
  }

  Result<ApplyItems> take() {
    for (const auto& file : files_)
      if (!file->wrong) add_file(*file);
    // What turned out to be a recipe of an item was none to read; the backend looks at it.
    for (const auto& file : files_) {
      if (used_.contains(identity_of(file->path))) continue;
      if (file->wrong)
        say_at(*file, file->wrong->offset, file->wrong->message);
      else if (!holds_items(file->document.root))
        say_at(*file, file->document.root.offset(),
               "is no description: it has no 'kind' (" + listed(names_of(kKinds)) +
                   "). A recipe is named by the 'file' of an item of kind recipe");
    }
    if (count_ > kMostApplyItems)
      problems_.push_back("there are " + std::to_string(count_) + " items, and at most " +
                          std::to_string(kMostApplyItems) + " are applied at once");
    std::string json = json_.end_list().take();
    if (bytes_ > kMostRead || json.size() > kMostApplyBytes)
      problems_.push_back("all files together may have " + std::to_string(kMostApplyBytes) +
                          " bytes at most");
    if (!problems_.empty()) return Error(ErrorCode::unsupported, base::join(problems_, "\n"));
    return ApplyItems{.json = std::move(json), .count = count_};
  }

 private:
  static constexpr int kDeepest = 16;
  // In memory; recipes of a folder are read twice, as what may be a description and as content.
  static constexpr std::size_t kMostRead = 4 * kMostApplyBytes;

  void say(const std::string& path, const std::string& what) { problems_.push_back(path + ": " + what); }
  std::string place(const File& file, std::uint32_t offset) const {
    if (!file.lines) file.lines.emplace(file.document);
    const recipe::Position at = file.lines->locate(offset);
    return file.path + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
  }
  void say_at(const File& file, std::uint32_t offset, const std::string& what) {
    say(place(file, offset), what);
  }

  void read(const std::string& path) {
    if (bytes_ > kMostRead) return;
    if (files_.size() == kMostApplyFiles) {
      problems_.push_back("there are more than " + std::to_string(kMostApplyFiles) + " files");
      return;
    }
    if (!read_.insert(identity_of(path)).second) return;  // it was named twice
    auto text = path == "-" ? read_recipe(path) : base::read_file(path, kMostApplyBytes);
    if (!text) {
      problems_.push_back(text.error().message());
      return;
    }
    bytes_ += text->size();
    auto file = std::make_unique<File>();
    file->path = path == "-" ? "<stdin>" : path;
    file->document.text = std::move(*text);
    file->document.syntax = recipe::guess_syntax(path, file->document.text);
    file->wrong = recipe::parse(file->document);
    files_.push_back(std::move(file));
  }

  static bool is_item(const Value& value) { return value.is_object() && value.find("kind"); }
  // One, or a list with one at least: in the others of that the kind is missing.
  static bool holds_items(const Value& root) {
    return is_item(root) || (root.is_list() && std::ranges::any_of(root.items(), is_item));
  }

  void add_file(const File& file) {
    const Value& root = file.document.root;
    if (!holds_items(root)) return;
    if (!root.is_list()) return add_item(file, root);
    for (const Value& each : root.items())
      add_item(file, each);
  }

  void add_item(const File& file, const Value& item) {
    ++count_;
    const Value* name = item.find("kind");
    if (!name) return say_at(file, item.offset(), "the item has no 'kind': " + listed(names_of(kKinds)));
    const auto kind = std::ranges::find(kKinds, name->text(), &Kind::name);
    if (kind == kKinds.end())
      return say_at(file, name->offset(),
                    "the kind '" + std::string(name->text()) + "' is not known; there are: " +
                        listed(names_of(kKinds)) + base::did_you_mean(name->text(), names_of(kKinds)));
    check_keys(file, item, *kind);
    json_.begin_object().member("source", place(file, item.offset()));
    for (const base::Member& member : item.members()) {
      const auto key = std::ranges::find(kind->keys, member.key, &Key::name);
      if (key != kind->keys.end() && !key->member.empty()) add_member(file, *key, member);
    }
    if (kind->name == "recipe") add_content(file, item);
    json_.end_object();
  }

  void check_keys(const File& file, const Value& item, const Kind& kind) {
    for (const base::Member& member : item.members())
      if (std::ranges::find(kind.keys, member.key, &Key::name) == kind.keys.end())
        say_at(file, member.offset,
               "'" + std::string(member.key) + "' is not known for kind " + std::string(kind.name) +
                   base::did_you_mean(member.key, names_of(kind.keys)));
    for (const Key& key : kind.keys)
      if (key.is_required && !item.find(key.name))
        say_at(file, item.offset(), std::string(kind.name) + ": '" + std::string(key.name) + "' is missing");
  }

  void add_member(const File& file, const Key& key, const base::Member& member) {
    const std::string name = "'" + std::string(key.name) + "'";
    if (key.type == Type::revision && (member.value.is_null() || member.value.text() == "newest")) return;
    if (key.type == Type::module) return add_module(file, member);
    if (key.type == Type::values) return add_values(file, member);
    if (key.type != Type::text) {
      const auto number = member.value.as_integer();
      if (!number)
        return say_at(file, member.value.offset(),
                      name + (key.type == Type::number ? " must be a whole number"
                                                       : " must be the number of a revision, or newest"));
      json_.member(key.member, *number);
      return;
    }
    if (!member.value.is_text() || member.value.text().empty())
      return say_at(file, member.value.offset(), name + " must be text that is not empty");
    json_.member(key.member, member.value.text());
  }

  // An object; what YAML has without quotes is a number, true or false where it looks like one.
  void add_values(const File& file, const base::Member& member) {
    if (!member.value.is_object())
      return say_at(file, member.value.offset(), "'values' must be a mapping: {port: 80}");
    json_.key("values");
    add_value(member.value);
  }
  void add_value(const Value& value) {
    if (value.is_object()) {
      json_.begin_object();
      for (const base::Member& member : value.members()) {
        json_.key(member.key);
        add_value(member.value);
      }
      json_.end_object();
    } else if (value.is_list()) {
      json_.begin_list();
      for (const Value& item : value.items())
        add_value(item);
      json_.end_list();
    } else if (value.kind() == Value::Kind::plain) {
      json_.json(plain_json(value.text()));
    } else {
      json_.json(base::to_json(value));
    }
  }

  // An object with what it says, or none.
  void add_module(const File& file, const base::Member& member) {
    static constexpr std::array<std::string_view, 2> kNames{"repo", "tag"};
    if (member.value.is_null() || member.value.text() == "none") {
      json_.member("module", "");
      return;
    }
    if (!member.value.is_object())
      return say_at(file, member.value.offset(), "'module' must be {repo: …, tag: …}, or none");
    json_.key("module").begin_object();
    for (const base::Member& part : member.value.members()) {
      if (std::ranges::find(kNames, part.key) == kNames.end())
        say_at(file, part.offset,
               "'" + std::string(part.key) + "' is not known for 'module'" +
                   base::did_you_mean(part.key, kNames));
      else
        json_.member(part.key, text_of_module(file, part));
    }
    json_.end_object();
  }
  std::string text_of_module(const File& file, const base::Member& part) {
    base::Arena arena;
    const auto text = part.value.as_line(arena);
    if (!text || text->empty())
      say_at(file, part.value.offset(), "'" + std::string(part.key) + "' must be text that is not empty");
    return std::string(text.value_or(""));
  }

  void add_content(const File& file, const Value& item) {
    const Value* path = item.find("file");
    if ((path != nullptr) == (item.find("content") != nullptr))
      return say_at(
          file, item.offset(),
          path ? "recipe: 'file' or 'content', not both" : "recipe: 'file' or 'content' is missing");
    if (!path) return;
    if (!path->is_text() || path->text().empty())
      return say_at(file, path->offset(), "'file' must be the path of a recipe");
    const fs::path whole = fs::path(file.path).parent_path() / std::string(path->text());
    used_.insert(identity_of(whole));
    if (bytes_ > kMostRead) return;  // that is said at the end
    auto text = base::read_file(whole, kMostApplyBytes);
    if (text) text = whole_recipe(whole, std::move(*text));
    if (!text) return say_at(file, path->offset(), text.error().message());
    bytes_ += text->size();
    json_.member("content", *text).member("content_source", whole.lexically_normal().string());
  }

  std::vector<std::unique_ptr<File>> files_;
  std::set<std::string> read_, used_;
  std::vector<std::string> problems_;
  base::JsonText json_ = [] {
    base::JsonText json;
    json.begin_list();
    return json;
  }();
  std::size_t count_ = 0, bytes_ = 0;
};

}  // namespace

Result<ApplyItems> read_apply_items(std::span<const std::string> paths) {
  ItemFiles files;
  for (const std::string& path : paths)
    files.open(path);
  return files.take();
}

Result<std::string> set_name_of(const std::string& path) {
  std::error_code failed;
  fs::path whole = path == "-" ? fs::current_path(failed) : fs::weakly_canonical(path, failed);
  if (!failed && path != "-" && !fs::is_directory(whole, failed)) whole = whole.parent_path();
  const std::string name = whole.filename();
  if (name.empty() || !protocol::problem_of_name(name).empty())
    return Error(ErrorCode::unsupported,
                 "'" + name + "' cannot be the name of a set: give it one with --set NAME");
  return name;
}

}  // namespace ctl
