#include "modules/git/tree.hpp"

#include <doctest/doctest.h>

#include "modules/git/links.hpp"

namespace modules::git {

namespace {

std::string raw_entry(std::string_view mode, std::string_view name) {
  return std::string(mode) + ' ' + std::string(name) + '\0' + std::string(ObjectId::kSize, '\1');
}

std::string refusal(const std::string& tree) {
  const auto entries = parse_tree(tree);
  return entries ? "" : entries.error().message();
}

}  // namespace

TEST_CASE("ids are those of git") {
  // git hash-object --stdin </dev/null; printf 'hello\n' | git hash-object --stdin; git hash-object -t tree …
  CHECK(id_of(ObjectType::blob, "").hex() == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  CHECK(id_of(ObjectType::blob, "hello\n").hex() == "ce013625030ba8dba906f756967f9e9ca394464a");
  CHECK(id_of(ObjectType::tree, "").hex() == "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
  CHECK(ObjectId::parse("ce013625030ba8dba906f756967f9e9ca394464a")->hex() ==
        "ce013625030ba8dba906f756967f9e9ca394464a");
  for (const char* wrong :
       {"", "ce01", "CE013625030ba8dba906f756967f9e9ca394464a", "ce013625030ba8dba906f756967f9e9ca394464a0",
        "g0013625030ba8dba906f756967f9e9ca394464a"})
    CHECK_FALSE(ObjectId::parse(wrong));
}

TEST_CASE("a tree has files, programs, links and folders") {
  const auto entries = parse_tree(raw_entry("100644", "a") + raw_entry("100755", "b") +
                                  raw_entry("120000", "c") + raw_entry("40000", "d"));
  REQUIRE(entries);
  REQUIRE(entries->size() == 4);
  CHECK((*entries)[0].kind == EntryKind::file);
  CHECK((*entries)[1].kind == EntryKind::program);
  CHECK((*entries)[2].kind == EntryKind::link);
  CHECK((*entries)[3].kind == EntryKind::folder);
  CHECK(parse_tree("")->empty());
}

TEST_CASE("names that lead out of a folder, or are git's own on some file system, are refused") {
  for (const std::string name : {"",      ".",     "..",         ".git",       ".GIT",
                                 ".Git",  ".git ", ".git.",      ".git. .",    ".git::$INDEX_ALLOCATION",
                                 "git~1", "GIT~1", ".g\u200cit", "\ufeff.git", ".gi\u206at",
                                 "a/b",   "a\nb",  "a\x7f",      "a\u202eb",   "\xff\xfe"}) {
    CAPTURE(name);
    CHECK_FALSE(name_problem(name).empty());
    CHECK_FALSE(refusal(raw_entry("100644", name)).empty());
  }
  CHECK_FALSE(name_problem(std::string(256, 'a')).empty());
  for (const char* name :
       {"a", ".gitignore", ".gitattributes", ".github", "git", "git~2", "...", "größe", "a b"}) {
    CAPTURE(name);
    CHECK(name_problem(name).empty());
  }
}

TEST_CASE("a tree with a name twice, in another case, or out of order is refused") {
  CHECK(refusal(raw_entry("100644", "README") + raw_entry("100644", "readme")).find("case") !=
        std::string::npos);
  CHECK_FALSE(refusal(raw_entry("100644", "Ä") + raw_entry("100644", "ä")).empty());
  CHECK_FALSE(refusal(raw_entry("100644", "a") + raw_entry("100644", "a")).empty());
  CHECK_FALSE(refusal(raw_entry("100644", "a") + raw_entry("40000", "a")).empty());
  CHECK(refusal(raw_entry("100644", "b") + raw_entry("100644", "a")).find("damaged") != std::string::npos);
  // Git's order: as if folders ended in a slash.
  CHECK(refusal(raw_entry("100644", "a.b") + raw_entry("40000", "a")).empty());
  CHECK_FALSE(refusal(raw_entry("40000", "a") + raw_entry("100644", "a.b")).empty());
}

TEST_CASE("submodules, devices and damaged trees are refused") {
  CHECK(refusal(raw_entry("160000", "sub")).find("submodule") != std::string::npos);
  for (const char* mode : {"20000", "60000", "10000", "140000", "0", "100600", "040000", "104755"})
    CHECK_FALSE(refusal(raw_entry(mode, "a")).empty());
  const std::string whole = raw_entry("100644", "a") + raw_entry("100644", "b");
  for (std::size_t size = 1; size < whole.size(); ++size)
    if (size != whole.size() / 2) CHECK_FALSE(refusal(whole.substr(0, size)).empty());
}

TEST_CASE("links stay inside the tree") {
  const std::map<std::string, std::string> links = {{"fine", "folder/file"},
                                                    {"folder/up", "../other"},
                                                    {"out", "../x"},
                                                    {"folder/out", "../../x"},
                                                    {"absolute", "/etc/passwd"},
                                                    {"empty", ""},
                                                    {"loop", "pool"},
                                                    {"pool", "loop"},
                                                    {"self", "."},
                                                    {"dir", "folder"},
                                                    {"by", "dir/../../x"},
                                                    {"twice", "deep/link/../../../x"},
                                                    {"deep/link", "../folder"},
                                                    {"inside", "deep/link/../x"},
                                                    {"nowhere", "a/b/c"},
                                                    {"missing", "a/../../x"}};
  for (const char* path : {"fine", "folder/up", "self", "dir", "inside", "nowhere"}) {
    CAPTURE(path);
    CHECK(link_problem(links, path).empty());
  }
  for (const char* path : {"out", "folder/out", "absolute", "empty", "loop", "by", "twice", "missing"}) {
    CAPTURE(path);
    CHECK_FALSE(link_problem(links, path).empty());
  }
}

}  // namespace modules::git
