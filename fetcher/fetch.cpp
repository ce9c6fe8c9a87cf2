#include "fetcher/fetch.hpp"

#include <fcntl.h>
#include <git2.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fetcher {

namespace {

constexpr const char* kRepository = "repository.git";
constexpr const char* kCertificates = "ca.pem";
constexpr std::size_t kWindow = 16U << 20, kMapped = 128U << 20;
constexpr int kMostTags = 4;

// What went wrong, for the agent: a word that it knows, and a text for people.
struct Failure {
  std::string kind;
  std::string text;
};

template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Repository = std::unique_ptr<git_repository, Freed<git_repository_free>>;
using Remote = std::unique_ptr<git_remote, Freed<git_remote_free>>;
using Odb = std::unique_ptr<git_odb, Freed<git_odb_free>>;
using Object = std::unique_ptr<git_odb_object, Freed<git_odb_object_free>>;

std::string hex(const git_oid& id) {
  char text[GIT_OID_HEXSZ + 1] = {};
  git_oid_fmt(text, &id);
  return text;
}

std::string last_error() {
  const git_error* error = git_error_last();
  return error != nullptr && error->message != nullptr ? error->message : "libgit2 does not say why";
}

bool write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t length = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(length));
  }
  return true;
}

void say(std::string_view text) {
  if (!write_all(text)) throw Failure{"internal", "nobody reads what is fetched"};
}

// What the callbacks of libgit2 share. They return an error and leave the reason here.
struct Progress {
  const Request& request;
  Failure failure;  // set by whoever ends the transfer
  bool tried_credentials = false;
  std::chrono::steady_clock::time_point said;

  int fail(std::string kind, std::string text) {
    failure = {std::move(kind), std::move(text)};
    return GIT_EUSER;
  }
};

int on_credentials(git_credential** out, const char*, const char* user_of_url, unsigned allowed,
                   void* payload) {
  auto& progress = *static_cast<Progress*>(payload);
  const Request& request = progress.request;
  const std::string user = user_of_url != nullptr ? user_of_url : "git";
  if ((allowed & GIT_CREDENTIAL_USERNAME) != 0) return git_credential_username_new(out, user.c_str());
  // Asked again: the first were refused.
  if (progress.tried_credentials)
    return progress.fail("credentials", "the server refuses the credentials of the configuration");
  progress.tried_credentials = true;
  if ((allowed & GIT_CREDENTIAL_SSH_MEMORY) != 0 && !request.ssh_key.empty())
    return git_credential_ssh_key_memory_new(out, user.c_str(), nullptr, request.ssh_key.c_str(), nullptr);
  if ((allowed & GIT_CREDENTIAL_USERPASS_PLAINTEXT) != 0 && !request.password.empty())
    return git_credential_userpass_plaintext_new(out, request.user.c_str(), request.password.c_str());
  return progress.fail("credentials", "the server wants credentials, and the configuration has none for it");
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    unsigned long group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += at + i <= bytes.size() ? kDigits[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

// Host keys are those of the configuration, whatever libgit2 thinks; certificates are verified by libgit2.
int on_certificate(git_cert* cert, int valid, const char* host, void* payload) {
  auto& progress = *static_cast<Progress*>(payload);
  if (cert->cert_type == GIT_CERT_HOSTKEY_LIBSSH2) {
    const auto* key = reinterpret_cast<const git_cert_hostkey*>(cert);
    if ((key->type & GIT_CERT_SSH_RAW) == 0)
      return progress.fail("host-key", "the host key of " + std::string(host) + " cannot be seen");
    const std::string wanted = " " + base64(std::string_view(key->hostkey, key->hostkey_len)) + "\n";
    if (progress.request.host_keys.find(wanted) != std::string::npos) return 0;
    return progress.fail("host-key", "the host key of " + std::string(host) +
                                         " is not one that module_known_hosts has for it");
  }
  if (cert->cert_type == GIT_CERT_X509 && valid != 0) return 0;
  return progress.fail("certificate",
                       "the certificate of " + std::string(host) + " is not accepted: " + last_error());
}

int on_transfer(const git_indexer_progress* stats, void* payload) {
  auto& progress = *static_cast<Progress*>(payload);
  if (stats->received_bytes > progress.request.most_bytes)
    return progress.fail("limit", "the repository sends more than " +
                                      std::to_string(progress.request.most_bytes >> 20) + " MiB");
  if (stats->total_objects > progress.request.most_objects)
    return progress.fail("limit", "the repository has more than " +
                                      std::to_string(progress.request.most_objects) + " objects");
  const auto now = std::chrono::steady_clock::now();
  if (now - progress.said > std::chrono::seconds(1)) {
    progress.said = now;
    std::fprintf(stderr, "progress %u of %u objects, %zu KiB\n", stats->received_objects,
                 stats->total_objects, stats->received_bytes >> 10);
  }
  return 0;
}

void write_file(const char* name, std::string_view text) {
  const int file = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written =
      file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (file >= 0) ::close(file);
  if (!written) throw Failure{"internal", std::string("writing ") + name + ": " + std::strerror(errno)};
}

// Files of a user or of the system have no say in what is fetched; packs have limits.
void set_options(const Request& request) {
  for (const int level :
       {GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_GLOBAL, GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_PROGRAMDATA})
    git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, level, "");
  git_libgit2_opts(GIT_OPT_SET_MWINDOW_SIZE, kWindow);
  git_libgit2_opts(GIT_OPT_SET_MWINDOW_MAPPED_LIMIT, kMapped);
  git_libgit2_opts(GIT_OPT_SET_PACK_MAX_OBJECTS, static_cast<std::size_t>(request.most_objects));
  git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1);
  git_libgit2_opts(GIT_OPT_SET_USER_AGENT, "opsagent");
  // A repository on this machine may belong to somebody else: nothing of it is run.
  git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
#ifdef OPSAGENT_HAS_PACK_MAX_OBJECT_SIZE
  git_libgit2_opts(GIT_OPT_SET_PACK_MAX_OBJECT_SIZE, static_cast<std::size_t>(request.largest_file));
#endif
  if (!request.ca_certificates.empty()) {
    write_file(kCertificates, request.ca_certificates);
    if (git_libgit2_opts(GIT_OPT_SET_SSL_CERT_LOCATIONS, kCertificates, nullptr) != 0)
      throw Failure{"certificate", "the authority of module_ca_file is not accepted: " + last_error()};
  }
}

// libgit2 asks for the kind of host key that stands in the user's own file, which is this one: without it, a
// server with several keys may show one that the configuration does not have.
void write_known_hosts(const Request& request) {
  if (request.host_keys.empty()) return;
  std::string_view host = request.url;
  host.remove_prefix(std::min(host.size(), host.find("://") + 3));
  host = host.substr(0, host.find('/'));
  if (const std::size_t at = host.rfind('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
  std::string name(host), port = "22";
  if (const std::size_t colon = host.rfind(':'); colon != std::string_view::npos && !host.ends_with(']')) {
    name = host.substr(0, colon);
    port = host.substr(colon + 1);
  }
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  const std::string label = port == "22" ? name : "[" + name + "]:" + port;
  std::string text;
  for (std::string_view rest = request.host_keys; !rest.empty();) {
    const std::size_t newline = rest.find('\n');
    text += label + ' ' + std::string(rest.substr(0, newline)) + '\n';
    rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
  }
  if (::mkdir(".ssh", 0700) != 0)
    throw Failure{"internal", "making a folder: " + std::string(std::strerror(errno))};
  write_file(".ssh/known_hosts", text);
}

// libgit2 has a whole file in memory, and what it is packed with.
std::string needs_too_much_memory() {
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  return "a file in the repository is too large for the memory that the fetcher may have (" +
         std::to_string(limit.rlim_cur >> 20) +
         " MiB): keep modules in a repository without such files, also in its history";
}

class Fetch {
 public:
  explicit Fetch(const Request& request) : request_(request), progress_{request, {}, false, {}} {}

  void run();

 private:
  void check(int result, std::string_view what);
  // Credentials are for the host that the address names, and so may be the permission to ask at all. libgit2
  // follows to another path or port of the same host all the same.
  git_remote_redirect_t redirects() const {
    return request_.stay || !request_.password.empty() ? GIT_REMOTE_REDIRECT_NONE
                                                       : GIT_REMOTE_REDIRECT_INITIAL;
  }
  void connect();
  bool resolve();
  void download();
  void print();
  Object read(const git_oid& id);
  void print_object(const git_oid& id, const Object& object);

  const Request& request_;
  Progress progress_;
  Repository repository_;
  Remote remote_;
  git_remote_callbacks callbacks_ = GIT_REMOTE_CALLBACKS_INIT;
  git_proxy_options proxy_ = GIT_PROXY_OPTIONS_INIT;
  std::string ref_;
  git_oid target_{};
};

void Fetch::check(int result, std::string_view what) {
  if (result >= 0) return;
  if (!progress_.failure.kind.empty()) throw progress_.failure;
  std::string kind = "server";
  const git_error* error = git_error_last();
  if (result == GIT_EAUTH) kind = "credentials";
  if (result == GIT_ECERTIFICATE) kind = "certificate";
  // Of a repository on this machine nobody is out of reach.
  const bool by_network = !request_.url.starts_with("file:");
  // libgit2 has no code for it, and calls it a network error. The server was reached, and sends us elsewhere.
  if (error != nullptr && std::string_view(error->message).find("cannot redirect") != std::string_view::npos)
    throw Failure{"redirect", std::string(what) +
                                  ": the server sends us to another host, which is not followed " +
                                  (request_.stay ? "by the backend" : "where credentials are sent") +
                                  ": name the address that it sends to instead: " + last_error()};
  if (error != nullptr && error->klass == GIT_ERROR_NOMEMORY)
    throw Failure{"limit", std::string(what) + ": " + needs_too_much_memory()};
  if (error != nullptr && by_network && (error->klass == GIT_ERROR_OS || error->klass == GIT_ERROR_NET))
    kind = "network";
  throw Failure{kind, std::string(what) + ": " + last_error()};
}

void Fetch::connect() {
  git_repository* repository = nullptr;
  check(git_repository_init(&repository, kRepository, 1), "making a repository");
  repository_.reset(repository);
  git_remote_create_options create = GIT_REMOTE_CREATE_OPTIONS_INIT;
  create.repository = repository;
  create.flags = GIT_REMOTE_CREATE_SKIP_INSTEADOF | GIT_REMOTE_CREATE_SKIP_DEFAULT_FETCHSPEC;
  git_remote* remote = nullptr;
  check(git_remote_create_with_opts(&remote, request_.url.c_str(), &create), "the address");
  remote_.reset(remote);

  callbacks_.credentials = on_credentials;
  callbacks_.certificate_check = on_certificate;
  callbacks_.transfer_progress = on_transfer;
  callbacks_.payload = &progress_;
  proxy_.type = request_.proxy.empty() ? GIT_PROXY_NONE : GIT_PROXY_SPECIFIED;
  proxy_.url = request_.proxy.empty() ? nullptr : request_.proxy.c_str();
  git_remote_connect_options options = GIT_REMOTE_CONNECT_OPTIONS_INIT;
  options.callbacks = callbacks_;
  options.proxy_opts = proxy_;
  options.follow_redirects = redirects();
  std::fputs("progress connecting\n", stderr);
  check(git_remote_connect_ext(remote, GIT_DIRECTION_FETCH, &options), "connecting");
}

// True when there is something to download.
bool Fetch::resolve() {
  const git_remote_head** heads = nullptr;
  std::size_t count = 0;
  check(git_remote_ls(&heads, &count, remote_.get()), "listing the tags");
  const std::string tag = "refs/tags/" + request_.tag, branch = "refs/heads/" + request_.tag;
  const git_remote_head *tag_head = nullptr, *peeled = nullptr, *branch_head = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view name = heads[i]->name;
    if (name == tag) tag_head = heads[i];
    if (name == tag + "^{}") peeled = heads[i];
    if (name == branch) branch_head = heads[i];
  }
  const git_remote_head* found = tag_head != nullptr     ? tag_head
                                 : request_.allow_branch ? branch_head
                                                         : nullptr;
  if (found == nullptr && count == 0)
    throw Failure{"not-found", "the repository is empty: it has no tags at all"};
  if (found == nullptr && branch_head != nullptr)
    throw Failure{"not-found",
                  "the repository has a branch '" + request_.tag +
                      "' and no such tag: a branch moves, so it must be listed in module_moving_tags"};
  if (found == nullptr) throw Failure{"not-found", "the repository has no tag '" + request_.tag + "'"};
  ref_ = found->name;
  target_ = found->oid;
  const git_oid commit = found == tag_head && peeled != nullptr ? peeled->oid : found->oid;
  say("opsagent-fetch 1\nresolved " + ref_ + ' ' + hex(target_) + ' ' + hex(commit) + '\n');
  if ((' ' + request_.present + ' ').find(' ' + hex(commit) + ' ') == std::string::npos) return true;
  say("present\n");
  return false;
}

void Fetch::download() {
  git_fetch_options options = GIT_FETCH_OPTIONS_INIT;
  options.callbacks = callbacks_;
  options.proxy_opts = proxy_;
  options.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_NONE;
  options.follow_redirects = redirects();
#if LIBGIT2_VER_MAJOR > 1 || LIBGIT2_VER_MINOR >= 7
  // One commit without its history. Before 1.7, and from a folder of this machine, all of it comes.
  if (!request_.url.starts_with("file:")) options.depth = 1;
#endif
  std::string spec = "+" + ref_ + ":refs/fetched/it";
  char* specs[] = {spec.data()};
  const git_strarray list{specs, 1};
  check(git_remote_download(remote_.get(), &list, &options), "downloading");
  std::fputs("progress downloaded\n", stderr);
}

Object Fetch::read(const git_oid& id) {
  git_odb* database = nullptr;
  check(git_repository_odb(&database, repository_.get()), "reading what was downloaded");
  const Odb odb(database);
  std::size_t size = 0;
  git_object_t type = GIT_OBJECT_INVALID;
  check(git_odb_read_header(&size, &type, database, &id), "reading what was downloaded");
  if (size > request_.largest_file)
    throw Failure{"limit", "the repository has a file of " + std::to_string(size >> 20) +
                               " MiB, more than the " + std::to_string(request_.largest_file >> 20) +
                               " MiB that one may have"};
  git_odb_object* object = nullptr;
  check(git_odb_read(&object, database, &id), "reading what was downloaded");
  return Object(object);
}

void Fetch::print_object(const git_oid& id, const Object& object) {
  const std::size_t size = git_odb_object_size(object.get());
  say(std::string(git_object_type2string(git_odb_object_type(object.get()))) + ' ' + hex(id) + ' ' +
      std::to_string(size) + '\n');
  say(std::string_view(static_cast<const char*>(git_odb_object_data(object.get())), size));
}

git_oid id_behind(std::string_view text, std::string_view word) {
  git_oid id{};
  if (!text.starts_with(word) || text.size() < word.size() + GIT_OID_HEXSZ ||
      git_oid_fromstrn(&id, text.data() + word.size(), GIT_OID_HEXSZ) != 0)
    throw Failure{"server", "a tag or commit of the repository is damaged"};
  return id;
}

std::string_view content_of(const Object& object) {
  return {static_cast<const char*>(git_odb_object_data(object.get())), git_odb_object_size(object.get())};
}

// The tags, the commit, all trees level by level, all files.
void Fetch::print() {
  git_oid id = target_;
  Object object = read(id);
  for (int tags = 0; git_odb_object_type(object.get()) == GIT_OBJECT_TAG && tags <= kMostTags; ++tags) {
    print_object(id, object);
    id = id_behind(content_of(object), "object ");
    object = read(id);
  }
  if (git_odb_object_type(object.get()) != GIT_OBJECT_COMMIT)
    throw Failure{"not-found", "'" + request_.tag + "' does not lead to a commit"};
  print_object(id, object);

  const auto less = [](const git_oid& a, const git_oid& b) { return git_oid_cmp(&a, &b) < 0; };
  std::set<git_oid, decltype(less)> seen(less);
  std::deque<git_oid> trees;
  std::vector<git_oid> files;
  trees.push_back(id_behind(content_of(object), "tree "));
  seen.insert(trees.front());
  for (; !trees.empty(); trees.pop_front()) {
    const Object tree = read(trees.front());
    print_object(trees.front(), tree);
    for (std::string_view rest = content_of(tree); !rest.empty();) {
      const std::size_t nul = rest.find('\0');
      if (nul == std::string_view::npos || rest.size() - nul - 1 < GIT_OID_RAWSZ)
        throw Failure{"server", "a tree of the repository is damaged"};
      git_oid entry{};
      git_oid_fromraw(&entry, reinterpret_cast<const unsigned char*>(rest.data()) + nul + 1);
      const bool is_tree = rest.starts_with("40000 "), is_submodule = rest.starts_with("160000 ");
      rest.remove_prefix(nul + 1 + GIT_OID_RAWSZ);
      if (is_submodule || !seen.insert(entry).second) continue;
      if (seen.size() > request_.most_objects)
        throw Failure{"limit",
                      "the commit has more than " + std::to_string(request_.most_objects) + " objects"};
      if (is_tree)
        trees.push_back(entry);
      else
        files.push_back(entry);
    }
  }
  for (const git_oid& file : files)
    print_object(file, read(file));
  say("end\n");
}

void Fetch::run() {
  set_options(request_);
  write_known_hosts(request_);
  connect();
  if (!resolve()) return;
  download();
  print();
}

}  // namespace

int fetch(const Request& request) {
  git_libgit2_init();
  try {
    Fetch(request).run();
    return 0;
  } catch (const Failure& failure) {
    std::string text = failure.text;
    for (char& c : text)
      if (c == '\n' || c == '\r') c = ' ';
    std::fprintf(stderr, "error %s %s\n", failure.kind.c_str(), text.c_str());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "error limit %s\n", needs_too_much_memory().c_str());
  }
  return 1;
}

}  // namespace fetcher
