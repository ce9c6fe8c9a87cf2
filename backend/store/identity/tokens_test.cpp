// Tokens of operators in the store.
#include <doctest/doctest.h>

#include "backend/domain/access/operator_token.hpp"
#include "backend/store/identity/operator_tokens.hpp"
#include "base/sha256.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;

namespace {

using base::ErrorCode;
using tests::must;
using tests::StoreBench;

backend::domain::OperatorToken token(const std::string& id, const std::string& name,
                                     backend::domain::Millis expires = 0) {
  return {.id = id,
          .name = name,
          .role = "viewer",
          .scope = "",
          .secret_hash = base::sha256_hex("secret of " + id),
          .created_by = "test",
          .expires = expires};
}

}  // namespace

STORE_TEST_CASE("a name belongs to one live token; who is revoked or has expired makes room") {
  StoreBench bench;
  must(backend::store::add_token(*bench, token("1", "ann", bench.now + 1000), bench.now));
  CHECK(backend::store::add_token(*bench, token("2", "ann"), bench.now).error().code() == ErrorCode::exists);
  CHECK(backend::store::add_token(*bench, token("2", "odd name"), bench.now).error().code() ==
        ErrorCode::invalid);
  bench.now += 1000;
  CHECK(must(bench->live_tokens(bench.now)).empty());
  must(backend::store::add_token(*bench, token("2", "ann"), bench.now));
  CHECK(must(backend::store::revoke_token(*bench, "ann", bench.now)).id == "2");
  CHECK(backend::store::revoke_token(*bench, "ann", bench.now).error().code() == ErrorCode::not_found);
  must(backend::store::add_token(*bench, token("3", "ann"), bench.now));
  must(bench->note_token_use("3", bench.now + 5));
  const auto all = must(bench->list_tokens({}));
  REQUIRE(all.items.size() == 3);
  CHECK(all.items[0].last_used == bench.now + 5);
  CHECK(all.items[1].revoked == bench.now);
  CHECK(must(bench->live_tokens(bench.now)).size() == 1);
}

STORE_TEST_CASE("the token of the data folder is 'admin', and another one takes its place") {
  StoreBench bench;
  must(backend::store::set_admin_token(*bench, "1", "hash 1", bench.now));
  must(backend::store::set_admin_token(*bench, "1", "hash 1", bench.now));
  REQUIRE(must(bench->live_tokens(bench.now)).size() == 1);
  must(backend::store::set_admin_token(*bench, "2", "hash 2", bench.now));
  const auto live = must(bench->live_tokens(bench.now));
  REQUIRE(live.size() == 1);
  CHECK(live[0].id == "2");
  CHECK(live[0].name == "admin");
  CHECK(live[0].role == "admin");
  must(backend::store::revoke_token(*bench, "admin", bench.now));
  must(backend::store::set_admin_token(*bench, "2", "hash 2", bench.now));
  CHECK(must(bench->live_tokens(bench.now)).empty());
  CHECK(must(bench->list_audit({})).items.size() == 2);
}

STORE_TEST_CASE("a token's text is found by its id and proved by its secret") {
  const auto made = backend::domain::make_operator_token();
  const std::string text = backend::domain::format_operator_token(made);
  const auto proof = backend::domain::proof_of_token(text);
  CHECK(proof.id == made.id);
  CHECK(proof.secret_hash == base::sha256_hex(made.secret));
  const std::string old(64, 'a');  // of an admin.token from before
  CHECK(backend::domain::proof_of_token(old).secret_hash == base::sha256_hex(old));
  CHECK(backend::domain::proof_of_token(old).id.starts_with("text-"));
  CHECK(backend::domain::proof_of_token("ops_" + std::string(81, 'x')).id.starts_with("text-"));
  CHECK(backend::domain::proof_of_token("").id.starts_with("text-"));
}
