// Several changes in one call: over HTTP with an agent that is connected, and in the store.
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "backend/api/changes/apply_changes.hpp"
#include "backend/api/route.hpp"
#include "backend/domain/placement/recipe_check.hpp"
#include "tests/support/live_backend.hpp"
#include "tests/support/operators.hpp"
#include "tests/support/store_bench.hpp"

using tests::call_as;
using tests::JsonView;
using tests::LiveBackend;
using tests::make_token;
using tests::must;
using tests::StoreBench;
using tests::TestAgent;
using namespace backend;

namespace {

std::string quoted(const std::string& text) {
  base::JsonText json;
  json.value(text);
  return json.take();
}

// A recipe whose states have these ids.
std::string content(const std::vector<std::string>& ids, const std::string& comment = "x") {
  std::string states;
  for (const std::string& id : ids)
    states += (states.empty() ? "" : ",") + (R"({"id":")" + id) +
              R"(","module":"meta.comment","parameter":{"comment":")" + comment + "\"}}";
  return R"({"states":[)" + states + "]}";
}

std::string recipe_item(const std::string& name, const std::string& text, const std::string& more = {}) {
  return R"({"kind":"recipe","source":")" + name + R"(.yaml:1:1","name":")" + name + R"(","content":)" +
         quoted(text) + more + "}";
}
std::string assignment_item(const std::string& recipe, const std::string& selector,
                            const std::string& more = {}) {
  return R"({"kind":"assignment","source":"assign.yaml:1:1","recipe":")" + recipe + R"(","selector":")" +
         selector + "\"" + more + "}";
}
std::string body(const std::vector<std::string>& items, const std::string& more = {},
                 const std::string& set = "site") {
  std::string list;
  for (const std::string& item : items)
    list += (list.empty() ? "" : ",") + item;
  return R"({"set":")" + set + R"(","items":[)" + list + "]" + more + "}";
}

JsonView applied(const LiveBackend& backend, const std::string& text) {
  const auto reply = backend.call("POST", "/apply", text);
  REQUIRE_MESSAGE(reply.status == 200, reply.body);
  return JsonView(reply.body);
}

// All that could have been changed.
std::string all_of(const LiveBackend& backend) {
  return backend.call("GET", "/apps").body + backend.call("GET", "/recipes").body +
         backend.call("GET", "/assignments").body + backend.call("GET", "/audit").body +
         backend.call("GET", "/instances").body;
}

// The ids of a recipe as it was sent.
std::string ids_in(const protocol::RecipeMetadata& sent) {
  REQUIRE(sent.states);
  const JsonView states(sent.states->text);
  std::string ids;
  for (const base::Value& each : states.root().items())
    ids += (ids.empty() ? "" : " ") + std::string(each.find("id")->text());
  return ids;
}

}  // namespace

TEST_CASE("a state moves from one recipe to another, and the machine is sent one version with it") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.connect(backend);
  const std::vector<std::string> assignments{assignment_item("a", "*"),
                                             assignment_item("b", "*", R"(,"order":1)")};
  std::vector<std::string> items{recipe_item("a", content({"base", "moves"})),
                                 recipe_item("b", content({"other"}))};
  items.insert(items.end(), assignments.begin(), assignments.end());
  const auto first = applied(backend, body(items));
  CHECK(first.number("changes") == 4);
  CHECK(first.number("affected") == 1);
  const auto before = agent.next<protocol::RecipeMetadata>();
  REQUIRE(before);
  CHECK(ids_in(*before) == "base moves other");

  // One after the other, it cannot be done without a version that lacks it: with both it is refused.
  CHECK(backend.call("POST", "/recipes/b/revisions", content({"other", "moves"})).status == 409);

  items[0] = recipe_item("a", content({"base"}));
  items[1] = recipe_item("b", content({"other", "moves"}));
  const auto moved = applied(backend, body(items));
  CHECK(moved.number("changes") == 2);
  CHECK(moved.text("machines.0.instance_id") == "web1");
  CHECK(moved.number("recipes.0.revision") == 2);
  const auto after = agent.next<protocol::RecipeMetadata>();
  REQUIRE(after);
  CHECK(after->recipe_version == before->recipe_version + 1);
  CHECK(ids_in(*after) == "base other moves");
  CHECK(agent.hears_no<protocol::RecipeMetadata>());

  // The same again is nothing.
  const std::string as_it_was = all_of(backend);
  const auto again = applied(backend, body(items));
  CHECK(again.number("changes") == 0);
  CHECK(again.number("affected") == 0);
  CHECK(all_of(backend) == as_it_was);
  CHECK(agent.hears_no<protocol::RecipeMetadata>());
}

TEST_CASE("a dry run says what would change and changes nothing; what was shown is what is applied") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.connect(backend);
  backend.push("a", R"([{"id":"s","module":"meta.comment","parameter":{"comment":"x"}}])");
  const std::vector<std::string> items{recipe_item("a", content({"t"})), assignment_item("a", "*"),
                                       R"({"kind":"app","app_id":"shop","report":"changes"})"};
  const std::string as_it_was = all_of(backend);
  const auto shown = applied(backend, body(items, R"(,"dry_run":true)"));
  CHECK(shown.number("changes") == 3);
  CHECK(shown.text("recipes.0.change") == "edited");
  CHECK(shown.number("recipes.0.lines_added") == 1);
  CHECK(shown.number("recipes.0.lines_removed") == 1);
  CHECK(shown.text("assignments.0.change") == "added");
  CHECK(shown.at("assignments.0.id").is_null());
  CHECK(shown.text("apps.0.change") == "added");
  CHECK(shown.number("affected") == 1);
  CHECK(all_of(backend) == as_it_was);
  CHECK(agent.hears_no<protocol::RecipeMetadata>());

  const std::string expected = R"(,"expected":")" + shown.text("fingerprint") + "\"";
  backend.push("a", R"([{"id":"u","module":"meta.comment","parameter":{"comment":"x"}}])");
  const std::string meanwhile = all_of(backend);
  const auto refused = backend.call("POST", "/apply", body(items, expected));
  CHECK(refused.status == 412);
  CHECK(refused.body.find("has changed since it was shown") != std::string::npos);
  CHECK(all_of(backend) == meanwhile);

  const auto again = applied(backend, body(items, R"(,"dry_run":true)"));
  const auto done = applied(backend, body(items, R"(,"expected":")" + again.text("fingerprint") + "\""));
  CHECK(done.text("fingerprint") == again.text("fingerprint"));
  CHECK(done.number("assignments.0.id") > 0);
  CHECK(agent.next<protocol::RecipeMetadata>());
  // Each change is in the audit, with its set.
  const std::string audit = backend.call("GET", "/audit").body;
  for (const char* action : {"recipe.push", "assignment.create", "app.create"})
    CHECK_MESSAGE(audit.find(action) != std::string::npos, action);
  CHECK(audit.find("(set site)") != std::string::npos);
}

TEST_CASE("any refusal leaves nothing changed, and all that is wrong is said with its source") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.connect(backend);
  const std::string as_it_was = all_of(backend);
  const auto refused = backend.call(
      "POST", "/apply",
      body({recipe_item("good", content({"s"})), recipe_item("bad", R"({"states":[{"module":"nonsense"}]})"),
            recipe_item("worse", "{", R"(,"content_source":"recipes/worse.json")"),
            assignment_item("good", "*"), assignment_item("bad", "*"), assignment_item("missing", "*"),
            R"({"kind":"app","app_id":"shop"})"}));
  CHECK(refused.status == 422);
  const JsonView problem(refused.body);
  std::set<std::string> sources;
  const base::Value errors = problem.at("errors");
  for (const base::Value& each : errors.items())
    sources.emplace(each.find("source") ? each.find("source")->text() : "-");
  CHECK(sources == std::set<std::string>{"bad.yaml:1:1", "recipes/worse.json", "assign.yaml:1:1"});
  CHECK(problem.text("detail").starts_with("nothing was changed: "));
  CHECK(refused.body.find("in the content of recipe 'bad'") != std::string::npos);
  CHECK(refused.body.find("there is no recipe 'missing'") != std::string::npos);
  CHECK(refused.body.find("there is no recipe 'bad'") == std::string::npos);  // that is no news
  CHECK(all_of(backend) == as_it_was);

  // Fields and kinds.
  const auto wrong = backend.call(
      "POST", "/apply",
      body({R"({"kind":"variable","source":"v.yaml:1:1","name":"x"})", recipe_item("a", content({"s"})),
            recipe_item("a", content({"s"})), R"({"kind":"assignment","recipe":"a","selektor":"*"})", "7"}));
  CHECK(wrong.status == 422);
  for (const char* part : {"'variable' is not known; there are: recipe assignment app",
                           "recipe a is there twice", "did you mean 'selector'?", "must be an object"})
    CHECK_MESSAGE(wrong.body.find(part) != std::string::npos, wrong.body);
  CHECK(all_of(backend) == as_it_was);

  // What cannot be placed: looked at as a whole, at the end.
  const auto twice = backend.call("POST", "/apply",
                                  body({recipe_item("a", content({"s"})), recipe_item("b", content({"s"})),
                                        assignment_item("a", "*"), assignment_item("b", "*")}));
  CHECK(twice.status == 409);
  CHECK(twice.body.find("do not go together on one machine") != std::string::npos);
  CHECK(all_of(backend) == as_it_was);
  CHECK(agent.hears_no<protocol::RecipeMetadata>());
}

TEST_CASE("one of several changes that works for nobody whom it touches refuses them all") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent web("web1"), db("db1");
  web.connect(backend);
  db.connect(backend);
  // What is for db1 is fine, what is for web1 is not.
  const auto refused =
      backend.call("POST", "/apply",
                   body({recipe_item("a", content({"s"})), recipe_item("b", content({"s"})),
                         recipe_item("c", content({"t"})), assignment_item("a", "instance=web1"),
                         assignment_item("b", "instance=web1"), assignment_item("c", "*")}));
  CHECK(refused.status == 409);
  CHECK(JsonView(backend.call("GET", "/recipes").body).size("items") == 0);
  CHECK(db.hears_no<protocol::RecipeMetadata>());
}

TEST_CASE("pruning removes what the set has made and does not describe any more, and nothing else") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.connect(backend);
  const std::string a = recipe_item("a", content({"s"})), b = recipe_item("b", content({"t"}));
  applied(backend, body({a, b, assignment_item("a", "*"), assignment_item("b", "*")}));
  applied(backend, body({recipe_item("c", content({"u"})), assignment_item("c", "*")}, "", "other"));
  backend.push("d", R"([{"id":"v","module":"meta.comment","parameter":{"comment":"x"}}])");
  backend.assign("d");
  CHECK(JsonView(backend.call("GET", "/assignments").body).text("items.0.set") == "site");
  CHECK(JsonView(backend.call("GET", "/assignments").body).at("items.3.set").is_null());
  // An edit by hand leaves it in its set.
  CHECK(backend.call("PUT", "/assignments/2", R"({"recipe":"b","selector":"*","order":7})").status == 200);

  // Without pruning nothing goes.
  CHECK(applied(backend, body({a, assignment_item("a", "*")})).number("changes") == 0);
  // Another set's is not described here as well.
  const auto shared = backend.call("POST", "/apply", body({assignment_item("c", "*")}));
  CHECK(shared.status == 409);
  CHECK(shared.body.find("is of the set 'other'") != std::string::npos);

  const auto shown =
      applied(backend, body({a, assignment_item("a", "*")}, R"(,"prune":true,"dry_run":true)"));
  CHECK(shown.number("changes") == 1);
  const auto pruned = applied(backend, body({a, assignment_item("a", "*")}, R"(,"prune":true)"));
  CHECK(pruned.number("changes") == 1);
  CHECK(pruned.number("affected") == 1);
  // A new selector is one that goes and one that comes, at once.
  const auto moved = applied(backend, body({assignment_item("a", "instance=web1")}, R"(,"prune":true)"));
  CHECK(moved.number("changes") == 2);
  CHECK(moved.number("affected") == 1);  // it is the last one now
  const JsonView left(backend.call("GET", "/assignments").body);
  std::string recipes;
  const base::Value items = left.at("items");
  for (const base::Value& each : items.items())
    recipes += std::string(each.find("recipe")->text()) + " ";
  CHECK(recipes == "c d a ");
  CHECK(backend.call("GET", "/audit").body.find("assignment.remove") != std::string::npos);
}

TEST_CASE("attack: an operator with a scope gets by apply what single calls refuse") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent web("web1"), db("db1");
  web.connect(backend);
  db.connect(backend);
  backend.tag("web1", "role", "web");
  backend.tag("db1", "role", "db");
  applied(backend,
          body({recipe_item("secret", content({"s"}, "hunter2")), assignment_item("secret", "role=db"),
                recipe_item("base", content({"b"})), assignment_item("base", "role=web")}));
  REQUIRE(web.next<protocol::RecipeMetadata>());
  REQUIRE(db.next<protocol::RecipeMetadata>());
  const std::string ann = make_token(backend, "ann", "operator", "role=web");
  const auto apply = [&](const std::string& text) { return call_as(backend, ann, "POST", "/apply", text); };
  const std::string recipes = backend.call("GET", "/recipes").body;
  const std::string assignments = backend.call("GET", "/assignments").body;

  // Apps are an admin's without a scope; even beside what she may, nothing is done.
  auto reply = apply(body({recipe_item("own", content({"o"})), R"({"kind":"app","app_id":"shop"})"}));
  CHECK(reply.status == 403);
  CHECK(reply.body.find("needs the role 'admin'") != std::string::npos);
  // Others' recipes are not pushed, whoever they are said to belong to.
  CHECK(apply(body({recipe_item("secret", content({"mine"}))})).status == 403);
  CHECK(apply(body({recipe_item("base", content({"mine"}), R"(,"owner":"role=web")")})).status == 403);
  // Nor read by having them assigned, and what does not exist for her has no other answer.
  reply = apply(body({assignment_item("secret", "*")}));
  CHECK(reply.status == 422);
  CHECK(reply.body.find("there is no recipe 'secret'") != std::string::npos);
  CHECK(reply.body.find("hunter2") == std::string::npos);
  // An assignment of others' is not edited, though it reaches her machines alone.
  reply = apply(body({assignment_item("base", "*", R"(,"revision":1,"order":5)")}));
  CHECK(reply.status == 403);
  CHECK(reply.body.find("belongs to tokens without a scope") != std::string::npos);
  // Nor pruned, under the same name of a set.
  reply = apply(body({}, R"(,"prune":true)"));
  CHECK(reply.status == 200);
  CHECK(JsonView(reply.body).number("changes") == 0);
  CHECK(backend.call("GET", "/recipes").body == recipes);
  CHECK(backend.call("GET", "/assignments").body == assignments);

  // What she may reaches her machines alone, and she is told of those alone.
  reply = apply(body({recipe_item("own", content({"o"})), assignment_item("own", "role=db or role=web")},
                     R"(,"dry_run":true)"));
  CHECK(reply.status == 200);
  CHECK(JsonView(reply.body).number("affected") == 1);
  CHECK(reply.body.find("db1") == std::string::npos);
  CHECK(apply(body({recipe_item("own", content({"o"})), assignment_item("own", "role=db or role=web")}))
            .status == 200);
  CHECK(web.next<protocol::RecipeMetadata>());
  CHECK(db.hears_no<protocol::RecipeMetadata>());
  // An admin's pruning under that name leaves hers.
  CHECK(applied(backend, body({assignment_item("secret", "role=db"), assignment_item("base", "role=web")},
                              R"(,"prune":true)"))
            .number("changes") == 0);
  // A viewer may not even look.
  const std::string vic = make_token(backend, "vic", "viewer", "role=web");
  CHECK(call_as(backend, vic, "POST", "/apply", body({}, R"(,"dry_run":true)")).status == 403);
}

TEST_CASE("a pin on others' recipe stays when the same is applied again") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent web("web1");
  web.connect(backend);
  backend.tag("web1", "role", "web");
  backend.push("base", R"([{"id":"b","module":"meta.comment","parameter":{"comment":"1"}}])");
  backend.assign("base", "instance=web1");  // so she may read it
  const std::string ann = make_token(backend, "ann", "operator", "role=web");
  const std::string text = body({assignment_item("base", "instance=nobody")});
  const auto first = call_as(backend, ann, "POST", "/apply", text);
  REQUIRE_MESSAGE(first.status == 200, first.body);
  CHECK(JsonView(first.body).number("assignments.0.revision") == 1);
  CHECK(JsonView(first.body).text("assignments.0.notice").find("pinned to revision 1") != std::string::npos);
  backend.push("base", R"([{"id":"b","module":"meta.comment","parameter":{"comment":"2"}}])");
  const auto again = call_as(backend, ann, "POST", "/apply", text);
  REQUIRE_MESSAGE(again.status == 200, again.body);
  CHECK(JsonView(again.body).number("changes") == 0);
  CHECK(JsonView(again.body).number("assignments.0.revision") == 1);
}

TEST_CASE("one call has at most so many items and bytes") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const auto many = backend.call(
      "POST", "/apply", body(std::vector<std::string>(domain::kMostApplyItems + 1, R"({"kind":"app"})")));
  CHECK(many.status == 422);
  CHECK(many.body.find("at most 1000 items") != std::string::npos);
  const std::string filler(api::kChangesBody, ' ');
  CHECK(backend.call("POST", "/apply", filler + body({})).status == 413);
  const std::string long_comment(api::kRecipeBody, 'x');
  const auto large = backend.call("POST", "/apply", body({recipe_item("a", content({"s"}, long_comment))}));
  CHECK(large.status == 422);
  CHECK(large.body.find("4194304 bytes at most") != std::string::npos);
}

namespace {

api::ApplyRequest two_recipes() {
  api::ApplyRequest request{.set = "site"};
  for (const char* name : {"a", "b"}) {
    const std::string text = content({name});
    const auto checked = domain::check_recipe(text);
    api::RecipeItem item;
    item.push.revision = {name, text, checked.syntax, checked.digest, checked.states, checked.state_count};
    request.recipes.push_back(std::move(item));
    domain::Assignment wanted;
    wanted.app_id = "default";
    wanted.recipe = name;
    request.assignments.push_back({wanted, ""});
  }
  return request;
}

const api::ApplyCaller kAdmin{.scope = {}, .actor = {"ann", "here"}, .default_report = "all"};

}  // namespace

STORE_TEST_CASE("what is applied is all there or not at all, also after a kill in the middle") {
  StoreBench bench;
  bench.join("web1");
  const auto rows = [&] {
    return std::vector<std::size_t>{must(bench->list_recipes({})).items.size(),
                                    must(bench->list_assignments("", {})).items.size()};
  };
  const auto version = [&] { return must(bench->find_instance("default", "web1")).recipe_version; };
  const auto audited = must(bench->audit_head()).id;
  bench.store.reset();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // Killed when all is written, and before that is committed.
    auto store = bench.open_another(store::Access::write);
    if (!store) ::_exit(1);
    (void)(*store)->transact([&]() -> base::Result<void> {
      auto done = api::apply_changes(**store, two_recipes(), kAdmin);
      ::_exit(done && done->changes() == 4 && done->machines.size() == 1 ? 0 : 2);
    });
    ::_exit(3);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
  bench.open();
  CHECK(rows() == std::vector<std::size_t>{0, 0});
  CHECK(version() == 0);
  CHECK(must(bench->audit_head()).id == audited);

  // A transaction that fails after it undoes it as well.
  CHECK_FALSE(bench->transact([&]() -> base::Result<void> {
    must(api::apply_changes(*bench, two_recipes(), kAdmin));
    return base::Error(base::ErrorCode::io, "the disk");
  }));
  CHECK(rows() == std::vector<std::size_t>{0, 0});
  CHECK(must(api::apply_changes(*bench, two_recipes(), kAdmin)).changes() == 4);
  CHECK(rows() == std::vector<std::size_t>{2, 2});
  CHECK(version() == 1);
  CHECK(must(bench->audit_head()).id == audited + 4);
}
