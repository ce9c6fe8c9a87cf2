#include "recipe/json_schema.hpp"

#include <vector>

#include "base/text.hpp"
#include "base/values/json_text.hpp"
#include "recipe/control.hpp"

namespace recipe {

namespace {

using base::JsonText;
using states::Param;
using states::StateType;
using states::Wire;

constexpr std::string_view kExpression = R"({"$ref":"#/$defs/expression"})";
constexpr std::string_view kScalar = R"({"type":["string","number","boolean"]})";
constexpr std::string_view kNull = R"({"type":"null"})";

std::string list_of(const std::vector<std::string>& items) {
  return "[" + base::join(items, ",") + "]";
}

std::string text_matching(std::string_view pattern) {
  return JsonText().begin_object().member("type", "string").member("pattern", pattern).end_object().take();
}

std::string reference(std::string_view name) {
  return JsonText().begin_object().member("$ref", "#/$defs/" + std::string(name)).end_object().take();
}

// ---- parameters

std::string integer_form(std::int64_t least, std::int64_t most) {
  JsonText json;
  json.begin_object().member("type", "integer");
  if (least != std::numeric_limits<std::int64_t>::min()) json.member("minimum", least);
  if (most != std::numeric_limits<std::int64_t>::max()) json.member("maximum", most);
  return json.end_object().take();
}

std::string choices_of(const Param& param) {
  JsonText json;
  json.begin_object().key("enum").begin_list();
  for (const std::string_view choice : param.choices)
    json.value(choice);
  json.value("");
  return json.end_list().end_object().take();
}

// What a parameter may be. An expression may stand for it, and within it.
std::vector<std::string> forms_of(const Param& param) {
  std::vector<std::string> forms;
  switch (param.wire) {
    case Wire::line:
    case Wire::text:
      if (!param.choices.empty())
        forms = {choices_of(param), std::string(kExpression), R"({"type":["number","boolean"]})"};
      else
        forms = {std::string(kScalar)};
      if (param.joins_lists) forms.push_back(reference("list"));
      break;
    case Wire::boolean:
      forms = {reference("boolean")};
      break;
    case Wire::integer:
      forms = {integer_form(param.least, param.most), text_matching("^-?[0-9]*$"), std::string(kExpression)};
      break;
    case Wire::seconds:
      forms = {reference("seconds"), text_matching("^$")};
      break;
    case Wire::list:
      forms = {reference("list"), std::string(kScalar)};
      break;
    case Wire::watch:
      forms = {reference("list"), std::string(kScalar)};
      break;
    case Wire::pairs:
      forms = {reference("pairs")};
      break;
    case Wire::mode:
      forms = {text_matching("^([0-7]{3,4})?$"), R"({"type":"integer","minimum":0})",
               std::string(kExpression)};
      break;
    case Wire::references:
      forms = {"true"};
      break;
  }
  return forms;
}

bool has_alias(const Param& param) {
  return !param.aliases[0].empty();
}

void add_param(JsonText& json, const Param& param) {
  std::string description(param.doc);
  if (!param.fallback_text.empty()) description += "; default: " + std::string(param.fallback_text);
  std::vector<std::string> forms = forms_of(param);
  if (!param.is_required || has_alias(param)) forms.emplace_back(kNull);
  json.key(param.name).begin_object().member("description", description).key("anyOf").json(list_of(forms));
  json.end_object();
  for (const std::string_view alias : param.aliases)
    if (!alias.empty())
      json.key(alias)
          .begin_object()
          .member("description", "another name of '" + std::string(param.name) + "'")
          .member("deprecated", true)
          .end_object();
}

// [{"required": ["a"]}, {"required": ["b"]}]
std::string each_required(const std::vector<std::string_view>& names) {
  std::vector<std::string> forms;
  for (const std::string_view name : names)
    forms.push_back(
        JsonText().begin_object().key("required").begin_list().value(name).end_list().end_object().take());
  return list_of(forms);
}

// The parameters of a state, wherever they stand.
std::string params_of(const StateType& type) {
  bool has_content = false, has_template = false, needs_any = false;
  for (const Param& param : type.schema()) {
    has_content = has_content || param.is_called("content");
    has_template = has_template || param.is_called("template") || param.is_called("template_file");
    needs_any = needs_any || param.is_required;
  }
  const bool takes_templates = has_content && !has_template;
  JsonText json;
  json.begin_object().member("title", type.name()).member("description", type.summary());
  json.key("type").json(needs_any ? R"("object")" : R"(["object","null","string"])");
  if (!needs_any) json.member("maxLength", 4);  // a "~" or "null" of other readers
  json.key("properties").begin_object();
  for (const Param& param : type.schema())
    add_param(json, param);
  if (takes_templates)
    json.key("template")
        .json(R"({"type":"string","description":"content, as a template in the language of Jinja2"})")
        .key("template_file")
        .json(R"({"type":"string","description":"the same, in a file beside this one"})");
  json.end_object().member("additionalProperties", false);
  std::vector<std::string> needed;
  for (const Param& param : type.schema()) {
    if (!param.is_required) continue;
    std::vector<std::string_view> names{param.name};
    for (const std::string_view alias : param.aliases)
      if (!alias.empty()) names.push_back(alias);
    if (takes_templates && param.is_called("content"))
      names.insert(names.end(), {"template", "template_file"});
    needed.push_back("{\"anyOf\":" + each_required(names) + "}");
  }
  if (!needed.empty()) json.key("allOf").json(list_of(needed));
  return json.end_object().take();
}

std::vector<std::string_view> names_of(const StateType& type) {
  std::vector<std::string_view> names{type.name()};
  for (const std::string_view alias : type.aliases())
    if (!alias.empty()) names.push_back(alias);
  return names;
}

// ---- states

struct Key {
  std::string_view name;
  std::string_view schema;
  std::string_view doc;
};

constexpr std::string_view kIds =
    R"({"anyOf":[{"type":["string","number","boolean"]},{"type":"array","minItems":1,"items":{"type":["string","number","boolean"]}}])";
constexpr Key kOwnKeys[] = {
    {"id", R"({"type":["string","number","boolean"])", "what the state is called; unique in the recipe"},
    {"stateid", R"({"type":["string","number","boolean"])", "the older name of 'id'"},
    {"state_id", R"({"type":["string","number","boolean"])", "the older name of 'id'"},
    {"timeout", R"({"$ref":"#/$defs/seconds")", "seconds after which the state is ended, 1 to 2592000"},
    {"retries", R"({"$ref":"#/$defs/retries")", "how often a failed attempt is repeated, 0 to 100"},
    {"sensitive", R"({"$ref":"#/$defs/boolean")", "contents and diffs are not shown"},
};
constexpr Key kKeysOf2[] = {
    {"when", R"({"$ref":"#/$defs/when")",
     "the state runs only then: an expression, or an object with path_exists, path_absent, os"},
    {"each", R"({"anyOf":[{"type":["array","object"]},{"$ref":"#/$defs/expression"}])",
     "a state for every item of a list (item), or every member of a mapping (key, item)"},
    {"on_change_of", kIds, "the state runs only when one of these earlier states has changed something"},
    {"restart_on", kIds,
     "the state's services restart when one of these earlier states has changed something"},
    {"reload_on", kIds, "the state's services reload when one of these earlier states has changed something"},
    {"once", R"({"type":["string","number","boolean"])",
     "the state runs until it has succeeded once under this key on this machine"},
    {"require", kIds, "the state does not run in a round in which one of these earlier states has failed"},
    {"continue_on_failure", R"({"$ref":"#/$defs/boolean")", "when the state fails, the round goes on"},
};

void add_key(JsonText& json, const Key& key) {
  json.key(key.name).json(std::string(key.schema) + ",\"description\":" + base::json_quote(key.doc) + "}");
}

// "module" with "parameter": each module has its own.
void add_modules(JsonText& json, const states::Registry& registry) {
  json.begin_list();
  for (const states::RegistryEntry& entry : registry.entries()) {
    json.begin_object().key("if").begin_object().key("properties").begin_object();
    json.key("module").begin_object().key("enum").begin_list();
    std::vector<std::string_view> names = names_of(*entry.type);
    for (const std::string_view name : names)
      json.value(name);
    json.end_list().end_object().end_object().key("required").begin_list().value("module").end_list();
    json.end_object().key("then").begin_object().key("properties").begin_object();
    json.key("parameter").json(reference(entry.type->name())).end_object();
    bool needs_any = false;
    for (const Param& param : entry.type->schema())
      needs_any = needs_any || param.is_required;
    if (needs_any) json.key("required").begin_list().value("parameter").end_list();
    json.end_object().end_object();
  }
  json.end_list();
}

std::string module_names(const states::Registry& registry) {
  JsonText json;
  json.begin_object().member("description", "what kind of state it is; 'opsagent states' lists them");
  json.key("enum").begin_list();
  for (const states::RegistryEntry& entry : registry.entries())
    for (const std::string_view name : names_of(*entry.type))
      json.value(name);
  return json.end_list().end_object().take();
}

// `is_open`: with modules of a repository, which are not known here.
std::string state_of_2(const states::Registry& registry, bool is_open) {
  std::vector<std::string_view> needed{"module"};
  JsonText json;
  json.begin_object().member("type", "object").key("properties").begin_object();
  for (const Key& key : kOwnKeys)
    add_key(json, key);
  for (const Key& key : kKeysOf2)
    add_key(json, key);
  json.key("module").json(is_open ? std::string(kScalar) : module_names(registry));
  json.key("parameter").json(R"({"description":"the parameters of the module"})");
  for (const states::RegistryEntry& entry : registry.entries())
    for (const std::string_view name : names_of(*entry.type)) {
      json.key(name).json(reference(entry.type->name()));
      needed.push_back(name);
    }
  json.end_object().key("patternProperties").json(is_open ? R"({"^_":true,"^[^_]":true})" : R"({"^_":true})");
  json.member("additionalProperties", false).key("allOf");
  add_modules(json, registry);
  if (!is_open) json.key("anyOf").json(each_required(needed));
  return json.end_object().take();
}

std::string state_of_1(const states::Registry& registry) {
  JsonText json;
  json.begin_object().member("type", "object").key("properties").begin_object();
  for (const Key& key : kOwnKeys)
    add_key(json, key);
  json.key("when").json(R"({"type":["object","null"]})").end_object();
  json.key("required").begin_list().value("module").end_list();
  json.key("anyOf").json(R"([{"required":["id"]},{"required":["stateid"]},{"required":["state_id"]}])");
  json.key("allOf");
  add_modules(json, registry);
  return json.end_object().take();
}

constexpr std::string_view kInclude = R"({"type":"object","properties":{
"include":{"description":"the states of another file, or of several: names relative to this one","anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]},
"vars":{"description":"variables of that file, stronger than all others","anyOf":[{"type":"object"},{"$ref":"#/$defs/expression"}]},
"each":{"anyOf":[{"type":["array","object"]},{"$ref":"#/$defs/expression"}],"description":"once for every item"},
"when":{"description":"where it does not hold, none of the states are there","anyOf":[{"$ref":"#/$defs/condition"},{"type":"null"}]}},
"patternProperties":{"^_":true},"additionalProperties":false})";

constexpr std::string_view kVariables =
    R"({"type":["object","null"],"description":"variables: a default each, or a declaration with a 'type'",
"propertyNames":{"pattern":"^[A-Za-z_][A-Za-z0-9_]{0,127}$"},
"additionalProperties":{"if":{"type":"object","required":["type"]},"then":{"properties":{
"type":{"enum":["string","text","integer","number","boolean","list","mapping","any"]},
"min":{"type":["number","string"],"description":"of a number"},"max":{"type":["number","string"],"description":"of a number"},
"enum":{"type":"array","minItems":1},"choices":{"type":"array","minItems":1,"description":"the values that it may have"},
"default":{"description":"what it is when nobody says more; null: it may be missing"},"doc":{"description":"what it is for"}},
"additionalProperties":false}}})";

// What the others refer to.
void add_shared(JsonText& json) {
  json.key("expression").json(R"({"type":"string","pattern":"\\$\\{\\{"})");
  json.key("condition").json(R"({"type":"string","pattern":"^\\$\\{\\{[\\s\\S]*\\}\\}$"})");
  json.key("boolean").json(
      R"({"anyOf":[{"type":"boolean"},{"enum":[0,1,""]},{"type":"string","pattern":"^([Tt][Rr][Uu][Ee]|[Yy]|[Yy][Ee][Ss]|[Oo][Nn]|1|[Ff][Aa][Ll][Ss][Ee]|[Nn]|[Nn][Oo]|[Oo][Ff][Ff]|0)$"},{"$ref":"#/$defs/expression"}]})");
  json.key("seconds").json(
      R"({"anyOf":[{"type":"integer","minimum":1,"maximum":2592000},{"type":"string","pattern":"^[0-9]+$"},{"$ref":"#/$defs/expression"}]})");
  json.key("retries").json(
      R"({"anyOf":[{"type":"integer","minimum":0,"maximum":100},{"type":"string","pattern":"^[0-9]+$"},{"$ref":"#/$defs/expression"}]})");
  json.key("list").json(R"({"type":"array","items":{"type":["string","number","boolean","null"]}})");
  json.key("pairs").json(
      R"({"anyOf":[{"type":["string","number","boolean"]},{"type":"object","additionalProperties":{"type":["string","number","boolean","null"]}},{"type":"array","items":{"type":["string","number","boolean","null","object"]}}]})");
  json.key("when").json(
      R"({"anyOf":[{"$ref":"#/$defs/condition"},{"type":"null"},{"type":"object","properties":{"path_exists":{"$ref":"#/$defs/paths"},"path_absent":{"$ref":"#/$defs/paths"},"os":{"$ref":"#/$defs/paths"}},"additionalProperties":false}]})");
  json.key("paths").json(
      R"({"anyOf":[{"$ref":"#/$defs/list"},{"type":["string","number","boolean","null"]}]})");
  json.key("include").json(kInclude);
  json.key("vars").json(kVariables);
}

std::string entries_of(std::string_view state) {
  return R"({"type":["array","null","string"],"maxLength":0,"description":"what the machine is to be, in this order","items":{"if":{"type":"object","required":["include"]},"then":{"$ref":"#/$defs/include"},"else":)" +
         reference(state) + "}}";
}

constexpr std::string_view kTopOf2 = R"("version":{"enum":[2,"2"],"description":"which form the recipe has"},
"recipe":{"description":"the recipe's name","type":["string","number","boolean","null"]},
"module":{"description":"where modules come from","anyOf":[{"type":["null","string"]},{"type":"object","patternProperties":{"^_":true},"properties":{"repo":{"description":"a git repository"},"tag":{"description":"of that repository"},"commit":{"description":"that the tag must stand for"}},"additionalProperties":false}]},
"vars":{"$ref":"#/$defs/vars"},"files":{"type":["object","null"],"description":"the files that the recipe names, where it travels with them"},
"recipe_version":true,"component":true,
"continue_on_failure":{"$ref":"#/$defs/boolean","description":"of all states that do not say otherwise: when one fails, the round goes on"})";

std::string top_of_2(std::string_view state) {
  const std::string states = entries_of(state);
  return R"({"type":"object","properties":{)" + std::string(kTopOf2) + R"(,"states":)" + states +
         R"(,"state":)" + states +
         R"(},"patternProperties":{"^_":true},"additionalProperties":false,"anyOf":[{"required":["states"]},{"required":["state"]},{"required":["component"]}]})";
}

}  // namespace

std::string recipe_json_schema(const states::Registry& registry) {
  JsonText json;
  json.begin_object().member("$schema", "https://json-schema.org/draft/2020-12/schema");
  json.member("title", "a recipe of OpsAgent");
  json.key("if").json(
      R"({"type":"object","required":["version"],"properties":{"version":{"enum":[2,"2"]}}})");
  json.key("then").begin_object();
  json.key("if").json(R"({"required":["module"]})");
  json.key("then").json(top_of_2("open_state")).key("else").json(top_of_2("state")).end_object();
  json.key("else").json(
      R"({"type":["object","array"],"properties":{"version":{"enum":[1,"1"]},"states":{"$ref":"#/$defs/old_states"},"state":{"$ref":"#/$defs/old_states"}},"items":{"$ref":"#/$defs/old_state"}})");
  json.key("$defs").begin_object();
  add_shared(json);
  json.key("state").json(state_of_2(registry, false)).key("open_state").json(state_of_2(registry, true));
  json.key("old_states")
      .json(R"({"type":["array","null","string"],"maxLength":0,"items":{"$ref":"#/$defs/old_state"}})");
  json.key("old_state").json(state_of_1(registry));
  for (const states::RegistryEntry& entry : registry.entries())
    json.key(entry.type->name()).json(params_of(*entry.type));
  return json.end_object().end_object().take();
}

}  // namespace recipe
