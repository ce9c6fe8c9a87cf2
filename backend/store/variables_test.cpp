// Variables and their history, in real files.
#include "tests/support/variable_bench.hpp"

using namespace backend;
using tests::LayerKind;
using tests::must;
using tests::set_variables;
using tests::setting;
using tests::StoreBench;

STORE_TEST_CASE("variables are kept by app, selector and machine, with who set them, and survive a restart") {
  StoreBench bench;
  set_variables(bench, setting(LayerKind::app, "", {{"zone", "\"eu\""}}));
  set_variables(bench, setting(LayerKind::selector, "role=web", {{"port", "80"}}, 5));
  set_variables(bench, setting(LayerKind::selector, "*", {{"port", "1"}}, -5));
  set_variables(bench, setting(LayerKind::machine, "web1", {{"port", "81"}}));
  bench.open();
  const auto layers = must(bench->layers_of("default", std::nullopt));
  REQUIRE(layers.size() == 4);
  CHECK(layers[0].kind == LayerKind::app);
  CHECK(layers[1].target == "*");
  CHECK(layers[2].target == "role=web");
  CHECK(layers[3].target == "web1");
  CHECK(layers[3].variables.at(0).author == "ann");
  CHECK(layers[3].variables.at(0).at == bench.now);
  CHECK(must(bench->layers_of("default", "other")).size() == 3);
  CHECK(must(bench->list_layers("default", {.limit = 3})).items.size() == 3);
}

STORE_TEST_CASE("setting what is there changes nothing, and an edit that somebody else made is noticed") {
  StoreBench bench;
  auto edit = setting(LayerKind::machine, "web1", {{"port", "80"}});
  edit.expected = 0;
  const auto first = must(store::put_layer(*bench, edit, bench.now));
  CHECK(first.is_changed);
  CHECK(first.layer.edit == 1);
  CHECK(store::put_layer(*bench, edit, bench.now).error().code() == base::ErrorCode::exists);
  edit.expected.reset();
  CHECK_FALSE(must(store::put_layer(*bench, edit, bench.now)).is_changed);
  edit.edits.set = {{"port", "81"}};
  edit.expected = 1;
  CHECK(must(store::put_layer(*bench, edit, bench.now)).layer.edit == 2);
  // The other one of two that have seen the same.
  edit.edits.set = {{"port", "82"}};
  CHECK(store::put_layer(*bench, edit, bench.now).error().message().find("edited meanwhile") !=
        std::string::npos);
  CHECK(must(bench->find_layer("default", LayerKind::machine, "web1"))->find("port")->value == "81");
}

STORE_TEST_CASE("every change is in the history, also of what is not set any more") {
  StoreBench bench;
  set_variables(bench, setting(LayerKind::machine, "web1", {{"a", "1"}, {"b", "2"}}));
  auto edit = setting(LayerKind::machine, "web1", {{"a", "3"}});
  edit.edits.unset = {"b"};
  edit.author = "bob";
  set_variables(bench, edit);
  const auto all = must(bench->list_variable_changes({.app_id = "default"}, {}));
  REQUIRE(all.items.size() == 4);
  CHECK(all.items[1].name == "a");
  CHECK(all.items[1].before == "1");
  CHECK(all.items[1].after == "3");
  CHECK(all.items[1].author == "bob");
  CHECK(all.items[0].name == "b");
  CHECK(all.items[0].before == "2");
  CHECK(!all.items[0].after);
  CHECK(must(bench->list_variable_changes({.app_id = "", .name = "a"}, {})).items.size() == 2);
  CHECK(must(bench->list_variable_changes({.app_id = "", .kind = LayerKind::machine, .target = "other"}, {}))
            .items.empty());
}

STORE_TEST_CASE("what was emptied keeps its number, and is anybody's") {
  StoreBench bench;
  auto edit = setting(LayerKind::machine, "web1", {{"a", "1"}});
  edit.owner = "role=web";
  const auto first = set_variables(bench, edit);
  edit.edits = {.unset = {"a"}};
  set_variables(bench, edit);
  edit = setting(LayerKind::machine, "web1", {{"a", "2"}});
  const auto again = set_variables(bench, edit);
  CHECK(again.id == first.id);
  CHECK(again.owner.empty());
}

STORE_TEST_CASE("an app has variables for so many selectors of one scope, and empty ones make room") {
  StoreBench bench;
  must(bench->transact([&]() -> base::Result<void> {
    for (std::size_t i = 0; i < domain::kMostSelectorLayers; ++i)
      set_variables(bench, setting(LayerKind::selector, "role=r" + std::to_string(i), {{"a", "1"}}));
    return {};
  }));
  const auto one_more = setting(LayerKind::selector, "role=more", {{"a", "1"}});
  CHECK(store::put_layer(*bench, one_more, bench.now).error().code() == base::ErrorCode::invalid);
  auto others = one_more;
  others.owner = "zone=eu";  // another scope has room of its own
  CHECK(store::put_layer(*bench, others, bench.now));
  auto emptied = setting(LayerKind::selector, "role=r7", {});
  emptied.edits.unset = {"a"};
  set_variables(bench, emptied);
  auto third = setting(LayerKind::selector, "role=third", {{"a", "1"}});
  CHECK(store::put_layer(*bench, third, bench.now));
}

STORE_TEST_CASE(
    "the variables of an app and a scope have so many bytes, however many machines they are for") {
  StoreBench bench;
  const std::string large = '"' + std::string(64'000, 'x') + '"';
  const auto of_machine = [&](std::size_t number, const std::string& owner) {
    auto edit = setting(LayerKind::machine, "m" + std::to_string(number), {{"a", large}, {"b", large}});
    edit.owner = owner;
    return edit;
  };
  std::size_t count = 0;
  bool is_full = false;
  must(bench->transact([&]() -> base::Result<void> {
    for (; count < 1000 && !is_full; ++count)
      is_full = !store::put_layer(*bench, of_machine(count, "role=web"), bench.now);
    return {};
  }));
  CHECK(is_full);
  CHECK(count == domain::kMostVariableBytes / 128'006 + 1);
  const auto refused = store::put_layer(*bench, of_machine(2000, "role=web"), bench.now);
  CHECK(refused.error().message().find("more than 64 MiB") != std::string::npos);
  CHECK(store::put_layer(*bench, of_machine(2000, "role=db"), bench.now));
  // What gets smaller is never refused, and makes room.
  auto smaller = of_machine(0, "role=web");
  smaller.edits = {.unset = {"a", "b"}};
  CHECK(store::put_layer(*bench, smaller, bench.now));
  CHECK(store::put_layer(*bench, of_machine(3000, "role=web"), bench.now));
}

STORE_TEST_CASE("the history of a scope is bounded, and one scope's does not push out another's") {
  StoreBench bench;
  auto kept = setting(LayerKind::app, "", {{"kept", "1"}});
  set_variables(bench, kept);
  auto edit = setting(LayerKind::machine, "web1", {});
  edit.owner = "role=web";
  must(bench->transact([&]() -> base::Result<void> {
    for (int i = 0; i < 600; ++i) {
      edit.edits.set = {{"a", '"' + std::string(60'000, static_cast<char>('a' + i % 26)) + '"'}};
      set_variables(bench, edit);
    }
    return {};
  }));
  const auto use = must(bench->variable_history_use("role=web"));
  CHECK(use.bytes <= domain::kMostVariableHistoryBytes);
  CHECK(use.changes > 100);
  CHECK(must(bench->list_variable_changes({.app_id = "", .name = "kept"}, {})).items.size() == 1);
}

STORE_TEST_CASE("machine's own words select no variables where its app does not rely on them") {
  StoreBench bench;
  tests::join_with_variables(bench, "liar", {}, {{"role", "web"}});
  set_variables(bench, setting(LayerKind::selector, "role=web", {{"port", "80"}}));
  CHECK(store::put_layer(*bench, setting(LayerKind::selector, "self.role=web", {{"x", "1"}}), bench.now)
            .error()
            .code() == base::ErrorCode::invalid);
  const auto layers = [&] {
    return must(store::layers_for(*bench, must(bench->find_instance("default", "liar"))));
  };
  CHECK(layers().empty());
  bench.trust(domain::SelfTrust::all);
  CHECK(layers().size() == 1);
}
