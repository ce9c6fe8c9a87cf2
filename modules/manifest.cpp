#include "modules/manifest.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "base/values/json.hpp"
#include "modules/compat.hpp"
#include "modules/text_position.hpp"

namespace modules {

namespace {

using base::Member;
using base::Value;

constexpr std::size_t kLongestName = 100;
constexpr std::size_t kLongestLine = 200;       // of what is shown in lists
constexpr std::size_t kMostArguments = 32;      // an argv that somebody has written by hand
constexpr std::size_t kLongestArgument = 1024;  // of it
constexpr std::size_t kMostExamples = 20;       // each is planned and applied by the conformance kit
constexpr std::int64_t kLongestTimeout = 30LL * 24 * 3600;
constexpr std::int64_t kMostMemoryMb = 1024 * 1024;
constexpr std::int64_t kLeastMemoryMb = 16;  // less does not start an interpreter
constexpr std::int64_t kMostProcesses = 100'000;
// Deeper or larger than any schema of ours can be.
constexpr base::DocumentLimits kDocument{.depth = 16, .values = 20'000};

constexpr std::array<std::string_view, 13> kKeys{
    "name",       "version", "summary", "command", "schema", "sensitive", "supports_plan",
    "plan_needs", "timeout", "run_as",  "limits",  "locks",  "examples"};

bool is_line(std::string_view text) {
  return !text.empty() && text.size() <= kLongestLine &&
         std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool leaves_folder(std::string_view program) {
  const auto parts = base::split(program, '/');
  return std::ranges::find(parts, std::string_view("..")) != parts.end();
}

}  // namespace

bool is_module_name(std::string_view text) {
  const auto is_letter = [](unsigned char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && text.size() <= kLongestName &&
         is_letter(static_cast<unsigned char>(text.front())) && !text.starts_with("meta.") &&
         std::ranges::all_of(text, [&](unsigned char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
         });
}

class ManifestReader {
 public:
  ManifestReader(std::string text, std::string_view file) : made_(new Manifest), file_(file) {
    made_->text_ = std::move(text);
  }

  Manifest::Read read() {
    Manifest::Read read;
    if (made_->text_.size() > kLargestManifest) {
      read.problems.push_back(std::string(file_) + " is larger than " +
                              std::to_string(kLargestManifest >> 10) + " KiB");
      return read;
    }
    auto parsed = base::parse_json(made_->text_, made_->arena_, kDocument);
    if (auto* wrong = std::get_if<base::SyntaxProblem>(&parsed))
      problems_.push_back(std::move(*wrong));
    else
      read_all(std::get<Value>(parsed));
    for (const base::SyntaxProblem& each : problems_)
      read.problems.push_back(at(file_, made_->text_, each.offset, each.message));
    if (read.problems.empty()) read.manifest = std::move(made_);
    return read;
  }

 private:
  void problem(std::string message, std::uint32_t offset) {
    problems_.push_back({std::move(message), offset});
  }

  void read_all(const Value& root) {
    if (!root.is_object()) return problem("a manifest is an object", root.offset());
    for (const Member& member : root.members())
      if (std::ranges::find(kKeys, member.key) == kKeys.end())
        problem("unknown key '" + base::quote_of(member.key) + "'" + base::did_you_mean(member.key, kKeys),
                member.offset);
    for (const std::string_view key : {"name", "version", "command", "schema"})
      if (!root.find(key)) problem("'" + std::string(key) + "' is missing", root.offset());
    if (const Value* name = root.find("name")) read_name(*name);
    if (const Value* version = root.find("version")) read_version(*version);
    if (const Value* schema = root.find("schema"))
      made_->parameters_ = read_parameters(*schema, made_->arena_, problems_);
    read_summary(root);
    if (const Value* command = root.find("command")) read_command(*command);
    if (const Value* names = root.find("sensitive")) read_sensitive(*names);
    if (const Value* plans = root.find("supports_plan")) {
      if (plans->kind() != Value::Kind::boolean)
        problem("'supports_plan' must be true or false", plans->offset());
      else
        made_->supports_plan = *plans->as_bool();
    }
    if (const Value* needs = root.find("plan_needs")) read_plan_needs(*needs);
    if (const Value* timeout = root.find("timeout"))
      if (const auto seconds = number(*timeout, "timeout", 1, kLongestTimeout))
        made_->timeout = std::chrono::seconds(*seconds);
    if (const Value* user = root.find("run_as")) {
      if (!is_line(user->text())) problem("'run_as' must be the name of a user", user->offset());
      made_->run_as = user->text();
    }
    if (const Value* limits = root.find("limits")) read_limits(*limits);
    if (const Value* locks = root.find("locks")) read_locks(*locks);
    if (const Value* examples = root.find("examples")) read_examples(*examples);
  }

  void read_name(const Value& value) {
    if (!is_module_name(value.text()))
      return problem(
          "'name' must be letters, digits, '.', '_' and '-', begin with a letter, and not with \"meta.\"",
          value.offset());
    made_->name = value.text();
  }

  void read_version(const Value& value) {
    if (!is_version(value.text()) || !is_line(value.text()))
      return problem("'version' must be text such as \"1.2.0\"", value.offset());
    made_->version = value.text();
  }

  void read_summary(const Value& root) {
    const Value* given = root.find("summary");
    if (given && !is_line(given->text()))
      return problem("'summary' must be one line of at most " + std::to_string(kLongestLine) + " bytes",
                     given->offset());
    const std::string_view about = base::trim(made_->description());
    made_->summary = given ? given->text() : base::cut_text(about.substr(0, about.find('\n')), kLongestLine);
  }

  void read_command(const Value& value) {
    const bool fits = value.is_list() && !value.items().empty() && value.items().size() <= kMostArguments &&
                      std::ranges::all_of(value.items(), [](const Value& word) {
                        return word.is_text() && word.text().size() <= kLongestArgument &&
                               word.text().find('\0') == std::string_view::npos;
                      });
    if (!fits || value.items().front().text().empty())
      return problem("'command' must be a list of 1 to " + std::to_string(kMostArguments) +
                         " texts: the program and its arguments",
                     value.offset());
    if (leaves_folder(value.items().front().text()))
      return problem("the program of 'command' must not lead out of the module's folder with '..'",
                     value.items().front().offset());
    for (const Value& word : value.items())
      made_->command.emplace_back(word.text());
  }

  void read_sensitive(const Value& names) {
    if (!names.is_list()) return problem("'sensitive' must be a list of parameter names", names.offset());
    for (const Value& name : names.items()) {
      auto& rows = made_->parameters_.rows;
      const auto row = std::ranges::find(rows, name.text(), &states::Param::name);
      if (!name.is_text() || row == rows.end())
        problem("'sensitive' names '" + base::quote_of(name.text()) + "', which is not among the parameters",
                name.offset());
      else
        row->is_secret = true;
    }
  }

  void read_plan_needs(const Value& needs) {
    constexpr std::string_view kNetwork = "network";
    const std::string_view text = needs.text();
    const std::string_view rest = text.substr(std::min(kNetwork.size(), text.size()));
    if (!text.starts_with(kNetwork) || !is_line(text) || !(rest.empty() || rest.starts_with(':')))
      return problem("'plan_needs' can only be \"network\", or \"network: \" and why", needs.offset());
    made_->plan_network = base::trim(rest.substr(rest.empty() ? 0 : 1));
  }

  std::optional<std::int64_t> number(const Value& value, std::string_view key, std::int64_t least,
                                     std::int64_t most) {
    const auto given = value.kind() == Value::Kind::integer ? value.as_integer() : std::nullopt;
    if (given && *given >= least && *given <= most) return given;
    problem("'" + std::string(key) + "' must be a number from " + std::to_string(least) + " to " +
                std::to_string(most),
            value.offset());
    return std::nullopt;
  }

  void read_limits(const Value& limits) {
    if (!limits.is_object()) return problem("'limits' must be an object", limits.offset());
    for (const Member& member : limits.members()) {
      if (member.key == "memory_mb") {
        if (const auto given = number(member.value, member.key, kLeastMemoryMb, kMostMemoryMb))
          made_->limits.memory_mb = static_cast<std::uint64_t>(*given);
      } else if (member.key == "processes") {
        if (const auto given = number(member.value, member.key, 1, kMostProcesses))
          made_->limits.processes = static_cast<std::uint64_t>(*given);
      } else {
        problem("unknown limit '" + base::quote_of(member.key) + "'; there are memory_mb and processes",
                member.offset);
      }
    }
  }

  void read_locks(const Value& locks) {
    const bool names = locks.is_list() && std::ranges::all_of(locks.items(), [](const Value& lock) {
                         return lock.is_text() && is_line(lock.text());
                       });
    if (!names) problem("'locks' must be a list of names", locks.offset());
  }

  void read_examples(const Value& examples) {
    if (!examples.is_list() || examples.items().size() > kMostExamples)
      return problem("'examples' must be a list of at most " + std::to_string(kMostExamples) +
                         " objects with parameters",
                     examples.offset());
    for (const Value& example : examples.items()) {
      if (!example.is_object()) problem("an example must be an object with parameters", example.offset());
      made_->examples.push_back(base::to_json(example));
    }
  }

  std::unique_ptr<Manifest> made_;
  std::string_view file_;
  std::vector<base::SyntaxProblem> problems_;
};

Manifest::Read Manifest::read(std::string text, std::string_view file) {
  return ManifestReader(std::move(text), file).read();
}

}  // namespace modules
