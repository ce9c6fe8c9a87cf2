// The release folder over HTTP, and what must not be reached through it.
#include "backend/server/release_files.hpp"

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "tests/support/live_backend.hpp"
#include "tests/support/loopback.hpp"
#include "tests/support/scratch_folder.hpp"
#include "transport/client/download.hpp"

using backend::server::ReleaseFiles;
using tests::LiveBackend;
using transport::HttpRequest;
using transport::HttpResponse;

namespace {

struct Bench {
  HttpResponse get(const std::string& path, transport::Headers headers = {},
                   const std::string& method = "GET", const std::string& peer = "192.0.2.1:1000") {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.headers = std::move(headers);
    request.peer = peer;
    return files.answer(request);
  }
  // The bytes that the response would send.
  static std::string body(const HttpResponse& response) {
    if (!response.file) return response.body;
    std::string text(response.file->size, 0);
    const ssize_t got =
        ::pread(response.file->fd.get(), text.data(), text.size(), static_cast<off_t>(response.file->first));
    text.resize(static_cast<std::size_t>(got));
    return text;
  }

  tests::ScratchFolder folder;
  backend::telemetry::Metrics metrics;
  ReleaseFiles files{folder / "r", metrics, {.small = 10, .downloads = 3, .downloads_per_address = 2}};
};

std::string_view header(const HttpResponse& response, std::string_view name) {
  return transport::find_header(response.headers, name);
}

transport::HttpReply fetch(const LiveBackend& backend, const std::string& target,
                           transport::Headers headers = {}, const std::string& method = "GET") {
  transport::HttpClient client(backend.client_options(false));
  auto reply = client.request({method, target, std::move(headers), ""});
  if (!reply) FAIL(reply.error().message());
  return std::move(*reply);
}

}  // namespace

TEST_CASE("documents are looked at anew each time, files may be kept") {
  Bench bench;
  bench.folder.write("r/timestamp.json", "{}");
  bench.folder.write("r/files/opsagent-1.4.0-linux-amd64.tar.gz", "gz");
  const auto document = bench.get("/releases/timestamp.json");
  CHECK(document.status == 200);
  CHECK(Bench::body(document) == "{}");
  CHECK(header(document, "Content-Type") == "application/json");
  CHECK(header(document, "Cache-Control") == "no-cache");
  const auto file = bench.get("/releases/files/opsagent-1.4.0-linux-amd64.tar.gz");
  CHECK(header(file, "Content-Type") == "application/gzip");
  CHECK(header(file, "Cache-Control").starts_with("public"));

  const std::string etag(header(document, "ETag"));
  CHECK(bench.get("/releases/timestamp.json", {{"If-None-Match", "\"x\", " + etag}}).status == 304);
  bench.folder.write("r/timestamp.json", "{ }");
  CHECK(bench.get("/releases/timestamp.json", {{"If-None-Match", etag}}).status == 200);
}

TEST_CASE("nothing but regular files below the folder is served") {
  Bench bench;
  bench.folder.write("secret", "s");
  bench.folder.write("r/files/a", "a");
  bench.folder.write("r/.hidden", "h");
  bench.folder.write("r/files/.part", "h");
  bench.folder.link("r/link", bench.folder / "secret");
  bench.folder.link("r/relative", "files/a");
  bench.folder.link("r/out", bench.folder.path());
  REQUIRE(::mkfifo((bench.folder / "r/fifo").c_str(), 0666) == 0);
  CHECK(bench.get("/releases/files/a").status == 200);
  for (const char* path :
       {"/releases/", "/releases/files", "/releases/files/", "/releases//files/a", "/releases/./files/a",
        "/releases/../secret", "/releases/files/../../secret", "/releases/files/..", "/releases/.hidden",
        "/releases/files/.part", "/releases/link", "/releases/relative", "/releases/out/secret",
        "/releases/fifo", "/releases/none", "/releases//etc/passwd", "/releases/files/a/",
        "/releases/files\\a"})
    CHECK_MESSAGE(bench.get(path).status == 404, path);
  CHECK(bench.get("/releases/files/" + std::string(5000, 'a')).status == 404);
  CHECK(bench.get(std::string("/releases/files/a\0b", 19)).status == 404);
  const auto post = bench.get("/releases/files/a", {}, "POST");
  CHECK(post.status == 405);
  CHECK(header(post, "Allow") == "GET, HEAD");
}

TEST_CASE("a single range is answered with that part") {
  Bench bench;
  bench.folder.write("r/f", "0123456789");
  const std::string etag(header(bench.get("/releases/f"), "ETag"));
  const auto ranged = [&](const std::string& range, transport::Headers more = {}) {
    more.push_back({"Range", range});
    const auto response = bench.get("/releases/f", std::move(more));
    return std::to_string(response.status) + " " + std::string(header(response, "Content-Range")) + " " +
           (response.status < 400 ? Bench::body(response) : "");
  };
  CHECK(ranged("bytes=4-") == "206 bytes 4-9/10 456789");
  CHECK(ranged("bytes=2-3") == "206 bytes 2-3/10 23");
  CHECK(ranged("bytes=8-99") == "206 bytes 8-9/10 89");
  CHECK(ranged("bytes=-3") == "206 bytes 7-9/10 789");
  CHECK(ranged("bytes=-99") == "206 bytes 0-9/10 0123456789");
  CHECK(ranged("bytes=10-") == "416 bytes */10 ");
  CHECK(ranged("bytes=-0") == "416 bytes */10 ");
  CHECK(ranged("bytes=4-", {{"If-Range", etag}}) == "206 bytes 4-9/10 456789");
  CHECK(ranged("bytes=4-", {{"If-Range", "\"other\""}}) == "200  0123456789");
  for (const char* unknown : {"bytes=1-2,4-5", "bytes=5-2", "bytes=a-", "bytes=-", "lines=1-2", "bytes=1",
                              "bytes=99999999999999999999-", "bytes=+1-"})
    CHECK_MESSAGE(ranged(unknown) == "200  0123456789", unknown);
}

TEST_CASE("downloads are limited, in all and for each address; documents are not") {
  Bench bench;
  bench.folder.write("r/large", std::string(11, 'x'));
  bench.folder.write("r/small", "x");
  std::vector<HttpResponse> held;
  const auto get = [&](const std::string& peer) {
    auto response = bench.get("/releases/large", {}, "GET", peer);
    const unsigned status = response.status;
    if (status == 503) CHECK_FALSE(header(response, "Retry-After").empty());
    held.push_back(std::move(response));
    return status;
  };
  CHECK(get("192.0.2.1:1000") == 200);
  CHECK(get("192.0.2.1:1001") == 200);
  CHECK(get("192.0.2.1:1002") == 503);
  CHECK(get("192.0.2.2:1000") == 200);
  CHECK(get("192.0.2.3:1000") == 503);
  CHECK(bench.files.downloads() == 3);
  CHECK(bench.get("/releases/small").status == 200);
  CHECK(bench.get("/releases/large", {}, "HEAD").status == 200);
  held.clear();
  CHECK(bench.files.downloads() == 0);
  CHECK(get("192.0.2.1:1000") == 200);
  CHECK(bench.metrics.downloads_refused.value() == 2);
}

TEST_CASE("without --releases nothing is served, and the answer says so") {
  const tests::ScratchFolder scratch;
  const LiveBackend backend(scratch / "data");
  const auto reply = fetch(backend, "/releases/timestamp.json");
  CHECK(reply.status == 404);
  CHECK(reply.body.find("--releases") != std::string::npos);
}

TEST_CASE("a release is downloaded over the wire, resumed, and looked at with HEAD, by strangers") {
  const tests::ScratchFolder scratch;
  std::string content(5'000'000, 0);
  for (std::size_t i = 0; i < content.size(); ++i)
    content[i] = static_cast<char>(i * 31 + i / 1000);
  scratch.write("r/files/a.tar.gz", content);
  scratch.write("r/empty", "");
  backend::server::Options options;
  options.releases = scratch / "r";
  LiveBackend backend(scratch / "data", options);
  const std::string base = "http://127.0.0.1:" + std::to_string(backend.port()) + "/releases/";
  scratch.write("a.part", content.substr(0, 1'234'567));
  transport::DownloadRequest request{
      .url = base + "files/a.tar.gz", .file = scratch / "a.part", .limit = content.size()};
  const auto got = transport::download(request, {});
  REQUIRE_MESSAGE(got, got.error().message());
  CHECK(scratch.read("a.part") == content);
  CHECK(backend.metrics().download_bytes.value() == content.size() - 1'234'567);

  const auto head = fetch(backend, "/releases/files/a.tar.gz", {}, "HEAD");
  CHECK(head.status == 200);
  CHECK(head.header("Content-Length") == "5000000");
  CHECK(head.body.empty());
  CHECK(fetch(backend, "/releases/empty").body.empty());
  CHECK(fetch(backend, "/releases/%2e%2e/data/admin.token").status == 404);
  CHECK(fetch(backend, "/releases/..%2fdata%2fadmin.token").status == 404);
  CHECK(transport::fetch_small(base + "none.json", 100, {}).error().code() == base::ErrorCode::not_found);
  transport::HttpClient again(backend.client_options(false));  // the connection is kept after a file
  CHECK(again.request({.target = "/releases/files/a.tar.gz"})->body == content);
  CHECK(again.request({.target = "/healthz"})->status == 200);
}

TEST_CASE("a file that gets shorter while it is sent does not look complete") {
  const tests::ScratchFolder scratch;
  scratch.write("r/f", std::string(40'000'000, 'x'));
  backend::server::Options options;
  options.releases = scratch / "r";
  LiveBackend backend(scratch / "data", options);
  const auto peer = tests::RawPeer::connect(backend.port(), 4096);
  peer.send("GET /releases/f HTTP/1.1\r\nHost: x\r\n\r\n");
  (void)peer.read_until("\r\n\r\n");
  std::filesystem::resize_file(scratch / "r/f", 1'000'000);
  CHECK(peer.read_all().size() < 40'000'000);
}
