#include "recipe/bundle.hpp"

#include "base/values/json.hpp"
#include "recipe/document.hpp"

namespace recipe {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// What is read on the way, as it was then.
class NotedFiles final : public FileSource {
 public:
  explicit NotedFiles(FileSource& files) : files_(files) {}

  Result<std::string> file(std::string_view name) override {
    auto text = files_.file(name);
    if (text) texts.emplace(std::string(name), *text);
    return text;
  }

  std::map<std::string, std::string> texts;

 private:
  FileSource& files_;
};

std::string files_text(const std::map<std::string, std::string>& texts) {
  std::string json = "{";
  for (const auto& [name, text] : texts)
    json.append(json.size() > 1 ? ", " : "")
        .append(base::json_quote(name))
        .append(": ")
        .append(base::json_quote(text));
  return json + "}";
}

}  // namespace

Result<std::string> bundle(std::string_view name, std::string text, FileSource& files) {
  NotedFiles noted(files);
  const auto used = used_variables(name, text, &noted);
  if (!used) return used.error();
  if (used->has_computed_files)
    return Error(
        ErrorCode::invalid,
        "which file is meant is only known on the machine, so the recipe cannot be sent: name files of "
        "'include', 'template_file' and of includes in templates without expressions");
  if (noted.texts.empty()) return text;
  std::size_t size = 0;
  for (const auto& [file, content] : noted.texts)
    size += content.size();
  if (size > kLargestBundle)
    return Error(ErrorCode::limit, "the files that the recipe names are larger than 16 MiB together");
  Document document;
  document.syntax = guess_syntax(name, text);
  document.text = text;
  if (auto wrong = parse(document)) return Error(ErrorCode::invalid, wrong->message);
  if (document.root.find("files"))
    return Error(ErrorCode::invalid, "the recipe has 'files' already, and names others");
  std::string whole = text;
  const std::size_t brace = whole.find_last_not_of(" \t\r\n");
  if (whole[whole.find_first_not_of(" \t\r\n")] == '{' && brace != std::string::npos && whole[brace] == '}') {
    whole.insert(brace, ", \"files\": " + files_text(noted.texts));
  } else {
    if (!whole.ends_with('\n')) whole += '\n';
    whole += "files: " + files_text(noted.texts) + "\n";
  }
  Document again;
  again.syntax = document.syntax;
  again.text = whole;
  const bool is_whole = !parse(again) && again.root.find("files") &&
                        again.root.find("files")->members().size() == noted.texts.size();
  if (!is_whole)
    return Error(ErrorCode::invalid,
                 "the recipe's files cannot be put behind it; let it end with its last state, without '...'");
  return whole;
}

}  // namespace recipe
