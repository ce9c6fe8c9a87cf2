// opsagent-fetch: fetches one commit of a git repository for the agent, which believes nothing of it.
//
//   opsagent-fetch confine FOLDER MOUNT_POINT UID MEMORY FILE_SIZE SECONDS PROGRAM
//     gives up what it does not need (confinement.hpp) and executes "PROGRAM fetch". MOUNT_POINT "-": none.
//   opsagent-fetch fetch
//     reads a request (request.hpp) from standard input, fetches into the working folder, prints the objects.
//
// The only program that links libgit2. Started by the agent; of no use to people.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "fetcher/confinement.hpp"
#include "fetcher/fetch.hpp"
#include "fetcher/request.hpp"

namespace {

constexpr int kWrongUse = 64;

int confine(char** argv) {
  fetcher::Confinement to;
  std::uint64_t uid = 0;
  to.folder = argv[2];
  to.mount_point = std::string_view(argv[3]) == "-" ? "" : argv[3];
  using fetcher::request_detail::read_number;
  if (!read_number(argv[4], uid) || !read_number(argv[5], to.memory) || !read_number(argv[6], to.file_size) ||
      !read_number(argv[7], to.cpu_seconds) || (uid == 0) != to.mount_point.empty())
    return kWrongUse;
  to.uid = static_cast<std::uint32_t>(uid);
  char word[] = "fetch";
  char* const arguments[] = {argv[8], word, nullptr};
  fetcher::run_confined(to, arguments, environ);
}

int fetch() {
  std::string text;
  char buffer[64 * 1024];
  ssize_t length = 0;
  while ((length = ::read(STDIN_FILENO, buffer, sizeof buffer)) > 0 &&
         text.size() <= fetcher::kLargestRequest)
    text.append(buffer, static_cast<std::size_t>(length));
  fetcher::Request request;
  if (!fetcher::parse_request(text, request)) {
    std::fputs("error internal the request is not understood\n", stderr);
    return kWrongUse;
  }
  return fetcher::fetch(request);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 9 && std::strcmp(argv[1], "confine") == 0) return confine(argv);
  if (argc == 2 && std::strcmp(argv[1], "fetch") == 0) return fetch();
  std::fputs("opsagent-fetch is started by opsagent: see 'opsagent module fetch --help'\n", stderr);
  return kWrongUse;
}
