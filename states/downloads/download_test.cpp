#include "states/downloads/download.hpp"

#include <sys/mount.h>

#include <filesystem>
#include <thread>

#include <doctest/doctest.h>

#include "states/downloads/source.hpp"
#include "states/state.hpp"
#include "tests/support/state_harness.hpp"
#include "tests/support/web_files.hpp"

namespace {

using namespace states;  // NOLINT: a state in miniature
using downloads::Checksum;
using tests::StateHarness;

struct Params {
  std::string_view url;
  std::optional<std::string_view> checksum;
  std::optional<std::int64_t> limit;
};
constexpr auto kParams =
    param_table(param<&Params::url>("url", "what").required(),
                param<&Params::checksum>("checksum", "its sum"), param<&Params::limit>("limit", "bytes"));

// Fetches, and puts what came into /out.
class Fetching final : public State<Params> {
 public:
  constexpr Fetching() : State({.name = "test.fetching", .works_below_root = true}, kParams) {}

 private:
  PlanWith<NoSteps> plan(const Params&, Context&) const override { return Plan{.verdict = Verdict::change}; }
  Applied apply(const Params& params, const Plan&, const NoSteps&, ApplyContext& context) const override {
    downloads::Wanted wanted{.url = std::string(params.url)};
    if (params.checksum) wanted.checksum = *downloads::parse_checksum(*params.checksum);
    if (params.limit) wanted.limit = static_cast<std::uint64_t>(*params.limit);
    auto fetched = downloads::fetch(wanted, context);
    if (!fetched) return Applied::failed(fetched.error());
    auto written = context.files.write_file("/out", base::Seen::anything(), fetched->bytes(), {.mode = 0600});
    if (!written) return Applied::failed(written.error());
    return Applied::done(fetched->sha256());
  }
};
constexpr Fetching kType;

struct Bench : StateHarness {
  Bench() { host().downloads.allow_unverified_http = {"127.0.0.1", "example.invalid"}; }
  // The error of that, or "".
  std::string get(const std::string& url, const std::string& more = "") {
    const Applied applied =
        apply(kType, R"({"url": ")" + url + "\"" + more + "}", Plan{.verdict = Verdict::change});
    end = applied.end;
    return applied.ok() ? "" : applied.comment;
  }
  // What lies in the folder of downloads.
  std::size_t left() const {
    const std::string folder = root() + "/state/downloads";
    if (!std::filesystem::exists(folder)) return 0;
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
  }
  tests::WebFiles server;
  AppliedEnd end = AppliedEnd::done;
};

const std::string kLong(300'000, 'x');

}  // namespace

TEST_CASE("downloads: a file comes whole, and nothing else of it is left") {
  Bench bench;
  bench.server.put("/f", kLong);
  CHECK(bench.get(bench.server.url("/f")) == "");
  CHECK(bench.StateHarness::read("/out") == kLong);
  CHECK(bench.left() == 0);
  bench.server.put("/empty", std::string());
  CHECK(bench.get(bench.server.url("/empty")) == "");
  CHECK(bench.StateHarness::read("/out").empty());
}

TEST_CASE("downloads: nothing is taken from http unless a checksum or the configuration vouches for it") {
  Bench bench;
  bench.host().downloads.allow_unverified_http = {"another.example.com"};
  bench.server.put("/f", "what somebody on the way has put there");
  std::string url = bench.server.url("/f");
  CHECK(
      bench.get(url) ==
      "Cannot download " + url +
          ": over http anybody on the way can send another file. Use https; or write its checksum behind the "
          "address, #sha256=… as sha256sum prints it for a copy that you trust; or let the agent's "
          "configuration trust the way to this host: allow_unverified_http = 127.0.0.1");
  for (const char* other : {"HTTP://127.0.0.1", "http://ann:x@127.0.0.1"}) {
    std::string text = url;
    text.replace(0, std::string("http://127.0.0.1").size(), other);
    CHECK_MESSAGE(bench.get(text).find("anybody on the way") != std::string::npos, other);
  }
  CHECK(bench.server.requests() == 0);
  CHECK_FALSE(bench.exists("/out"));
  const Checksum sum = downloads::checksum_of(base::DigestKind::sha256, "what it should be");
  CHECK(bench.get(url, R"(, "checksum": ")" + sum.text() + "\"").starts_with("Checksum mismatch for "));
  bench.server.put("/f", "what it should be");
  CHECK(bench.get(url, R"(, "checksum": ")" + sum.text() + "\"") == "");
  bench.host().downloads.allow_unverified_http = {"127.0.0.1"};
  CHECK(bench.get(url) == "");
}

TEST_CASE("downloads: an address may say what the file must be, by a digest that counts") {
  const std::string digits(64, 'a');
  const auto source = downloads::parse_source("http://h/f.deb?x=1#SHA256=" + digits);
  REQUIRE(source);
  CHECK(source->url == "http://h/f.deb?x=1");
  REQUIRE(source->checksum);
  CHECK(source->checksum->text() == "sha256:" + digits);
  CHECK(downloads::parse_source("http://h/f#sha512:" + std::string(128, 'b'))->checksum);
  CHECK_FALSE(downloads::parse_source("https://h/f#part")->checksum);
  CHECK(downloads::parse_source("https://h/f#part")->url == "https://h/f");
  for (const std::string& wrong :
       {"md5=" + std::string(32, 'a'), "sha1=" + std::string(40, 'a'), std::string("sha256="),
        "sha256=" + std::string(63, 'a'), "sha256=" + digits + "0"})
    CHECK_FALSE_MESSAGE(downloads::parse_source("http://h/f#" + wrong), wrong);
}

TEST_CASE("downloads: what is not there, not reachable or no address says so") {
  Bench bench;
  const std::string url = bench.server.url("/none");
  CHECK(bench.get(url) == "Cannot download " + url + ": HTTP 404");
  CHECK(bench.get("http://127.0.0.1:1/f").starts_with("Cannot download http://127.0.0.1:1/f: "));
  CHECK(bench.left() == 2);  // empty beginnings, which go after two days
}

TEST_CASE("downloads: another content than the checksum is refused, and nothing is kept of it") {
  Bench bench;
  bench.server.put("/f", "content");
  const std::string url = bench.server.url("/f");
  const std::string got = downloads::checksum_of(base::DigestKind::sha1, "content").text();
  CHECK(bench.get(url, R"(, "checksum": ")" + got + "\"") == "");
  const std::string wanted = "sha1:" + std::string(40, 'a');
  CHECK(bench.get(url, R"(, "checksum": ")" + wanted + "\"") ==
        "Checksum mismatch for " + url + ": wanted " + wanted + ", got " + got);
  CHECK(bench.left() == 0);
}

TEST_CASE(
    "downloads: a connection that breaks off is continued where the server can tell that it is the same") {
  Bench bench;
  bench.server.serve("/f", {.body = kLong, .etag = "\"1\"", .cut_after = 100'000});
  CHECK(bench.get(bench.server.url("/f")) == "");
  CHECK(bench.StateHarness::read("/out") == kLong);
  CHECK(bench.server.requests() == 3);
  bench.server.serve("/g", {.body = kLong, .cut_after = 100'000});
  CHECK(bench.get(bench.server.url("/g")).find("hung up before its answer was complete") !=
        std::string::npos);
}

TEST_CASE("downloads: what a killed process has left is continued, or begun anew when the file is another") {
  for (const bool changed : {false, true}) {
    CAPTURE(changed);
    Bench bench;
    bench.server.serve("/f", {.body = kLong, .etag = "\"1\"", .cut_after = 0});
    (void)bench.get(bench.server.url("/f"));
    // As if the process had been killed after so many bytes.
    for (const auto& entry : std::filesystem::directory_iterator(bench.root() + "/state/downloads"))
      if (entry.path().extension() == ".part") std::ofstream(entry.path()) << kLong.substr(0, 1000);
    const std::string body = changed ? std::string(2000, 'y') : kLong;
    bench.server.put("/f", body, changed ? "\"2\"" : "\"1\"");
    CHECK(bench.get(bench.server.url("/f")) == "");
    CHECK(bench.StateHarness::read("/out") == body);
    CHECK(bench.server.heads().back().find("\r\nRange: bytes=1000-") != std::string::npos);
    CHECK(bench.left() == 0);
  }
}

TEST_CASE("downloads: a beginning that was something else is found out by the checksum, and fetched again") {
  Bench bench;
  bench.server.serve("/f", {.body = kLong, .etag = "\"1\"", .cut_after = 0});
  (void)bench.get(bench.server.url("/f"));
  for (const auto& entry : std::filesystem::directory_iterator(bench.root() + "/state/downloads"))
    if (entry.path().extension() == ".part") std::ofstream(entry.path()) << std::string(1000, 'z');
  bench.server.put("/f", kLong, "\"1\"");
  const Checksum sum = downloads::checksum_of(base::DigestKind::sha256, kLong);
  CHECK(bench.get(bench.server.url("/f"), R"(, "checksum": ")" + sum.text() + "\"") == "");
  CHECK(bench.StateHarness::read("/out") == kLong);
}

TEST_CASE("downloads: a server that stalls, sends too much or lies about the length is left") {
  Bench bench;
  bench.host().downloads.patience = std::chrono::milliseconds(300);
  bench.server.serve("/slow", {.body = kLong, .cut_after = 0, .stalls = true});
  CHECK(bench.get(bench.server.url("/slow")).find("that is too slow") != std::string::npos);
  CHECK(bench.end == AppliedEnd::timed_out);
  bench.host().downloads.patience = std::chrono::seconds(30);
  bench.server.put("/large", kLong);
  CHECK(
      bench.get(bench.server.url("/large"), R"(, "limit": 1000)").find("more than the 1000 bytes allowed") !=
      std::string::npos);
  bench.server.serve("/short", {.body = kLong, .cut_after = 10});
  CHECK(bench.get(bench.server.url("/short")).find("hung up") != std::string::npos);
  CHECK_FALSE(bench.exists("/out"));
}

TEST_CASE("downloads: the state's own time limit and a request to stop end it") {
  Bench bench;
  bench.server.serve("/slow", {.body = kLong, .cut_after = 0, .stalls = true});
  bench.timeout = std::chrono::seconds(1);
  CHECK(bench.get(bench.server.url("/slow")).find("took longer than 1 s") != std::string::npos);
  CHECK(bench.end == AppliedEnd::timed_out);
  tests::Flag stop;
  stop.raised = true;
  bench.interrupt = &stop;
  CHECK(bench.get(bench.server.url("/slow")).find("was interrupted") != std::string::npos);
  CHECK(bench.end == AppliedEnd::cancelled);
}

TEST_CASE("downloads: a full disk is told, and is not left full") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root to mount a small file system");
    return;
  }
  CHECK(tests::in_own_mounts([&]() -> std::string {
          Bench bench;
          const std::string disk = bench.root() + "/state";
          std::filesystem::create_directory(disk);
          if (::mount("none", disk.c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0) return "no tmpfs";
          bench.server.put("/f", kLong, "\"1\"");
          const std::string why = bench.get(bench.server.url("/f"));
          if (why.find("No space left on device") == std::string::npos) return "said: " + why;
          if (bench.left() != 0) return "something is left";
          if (bench.exists("/out")) return "a part is visible";
          return "";
        }) == "");
}

TEST_CASE("downloads: the agent's proxy is used, and a proxy that is none is said") {
  Bench bench;
  tests::WebFiles proxy;
  bench.host().downloads.proxy = proxy.url("").substr(7);
  (void)bench.get("http://example.invalid/f");
  REQUIRE(proxy.requests() == 1);
  CHECK_MESSAGE(proxy.heads()[0].find("example.invalid") != std::string::npos, proxy.heads()[0]);
  bench.host().downloads.proxy = "socks5://x";
  CHECK(bench.get("http://example.invalid/f").find("only proxies that are reached with http://") !=
        std::string::npos);
}

TEST_CASE(
    "downloads: names and passwords in addresses are not shown, nor is the query of a sensitive state") {
  Bench bench;
  std::string url = bench.server.url("/none?token=abc");
  url.insert(7, "ann:secret@");
  CHECK(bench.get(url) == "Cannot download " + bench.server.url("/none?token=abc") + ": HTTP 404");
  bench.sensitive = true;
  CHECK(bench.get(url) == "Cannot download " + bench.server.url("/none") + ": HTTP 404");
}

TEST_CASE("downloads: others cannot lead the agent's folder elsewhere") {
  Bench bench;
  bench.server.put("/f", "content");
  std::filesystem::create_directories(bench.root() + "/state");
  std::filesystem::create_directories(bench.root() + "/elsewhere");
  std::filesystem::permissions(bench.root() + "/elsewhere", std::filesystem::perms::all);
  std::filesystem::create_symlink("../elsewhere", bench.root() + "/state/downloads");
  CHECK(bench.get(bench.server.url("/f")) != "");
  CHECK(std::filesystem::is_empty(bench.root() + "/elsewhere"));
}

TEST_CASE("downloads: addresses are checked before anything runs") {
  const auto problem = [](std::string_view url) {
    auto checked = downloads::check_url(url);
    return checked ? "" : checked.error().message();
  };
  CHECK(problem("https://example.com/a?b=c#d") == "");
  CHECK(problem("http://a:b@example.com/") == "");
  CHECK(problem("ftp://a:secret@example.com/f") ==
        "Cannot download ftp://example.com/f: ftp is not supported; offer the file by https or http");
  for (const char* wrong : {"", "/etc/passwd", "file:///etc/passwd", "--output=/etc/passwd", "https://",
                            "http://a b/", "http://h:99999/", "https://x\ny/"})
    CHECK_MESSAGE(problem(wrong).starts_with("Cannot download "), wrong);
  CHECK(downloads::file_name_in("https://h/a/b%20c.tar.gz?x=/y") == "b c.tar.gz");
  for (const char* none : {"https://h", "https://h/", "https://h/..", "https://h/a%2fb", "https://h/%00"})
    CHECK_MESSAGE(downloads::file_name_in(none) == "", none);
}

TEST_CASE("downloads: checksums are read as people and tools write them") {
  const std::string md5(32, 'A');
  for (const std::string& text : {"md5:" + md5, "md5=" + md5, "MD5: " + md5, md5}) {
    auto sum = downloads::parse_checksum(text);
    REQUIRE(sum);
    CHECK(sum->text() == "md5:" + std::string(32, 'a'));
  }
  for (const std::string& text : {std::string(), std::string("md5:abc"), "sha256:" + md5, "crc32:" + md5,
                                  std::string(32, 'g'), "md5:" + md5 + "\n" + md5})
    CHECK_FALSE_MESSAGE(downloads::parse_checksum(text), text);
  const std::string sums = std::string(64, 'a') + "  other.tar.gz\n" + std::string(64, 'b') + " *f.tar.gz\n";
  CHECK(downloads::find_checksum(sums, "f.tar.gz")->hex == std::string(64, 'b'));
  CHECK(downloads::find_checksum(sums, "none")->hex == std::string(64, 'a'));
  CHECK(downloads::find_checksum("SHA256 (f.tar.gz) = " + std::string(64, 'c'), "f.tar.gz")->hex ==
        std::string(64, 'c'));
  CHECK_FALSE(downloads::find_checksum("<html>not found</html>", "f.tar.gz"));
  CHECK_FALSE(downloads::find_checksum("", "f.tar.gz"));
}
