#include "states/downloads/download.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <map>

#include "base/sha256.hpp"
#include "states/downloads/part_file.hpp"
#include "states/downloads/source.hpp"
#include "states/downloads/way.hpp"

namespace states::downloads {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using Clock = std::chrono::steady_clock;

// A connection that breaks on the way is made anew so often, if each has brought something.
constexpr int kMostConnections = 20;
constexpr std::chrono::seconds kBetweenNews{5};
constexpr std::uint64_t kMegabyte = 1024 * 1024;

// In Context::notes.
struct SeenFiles {
  std::map<std::string, Seen, std::less<>> by_url;
};

Validators ours(const transport::Validators& theirs) {
  return {theirs.etag, theirs.last_modified};
}

bool is_final(ErrorCode code) {
  return code == ErrorCode::invalid || code == ErrorCode::limit || code == ErrorCode::no_space;
}

// One fetch() at work.
class Fetch {
 public:
  Fetch(const Wanted& wanted, ApplyContext& context, PartFile part, transport::FetchOptions options)
      : wanted_(wanted), context_(context), part_(std::move(part)), options_(std::move(options)) {
    part_.on_progress = [this](std::uint64_t bytes) { tell(bytes); };
  }

  Result<Fetched> run() {
    auto fetched = once();
    // What was there may have been the beginning of another file: once more, all of it.
    if (!fetched && part_.is_continued() && fetched.error().code() == ErrorCode::invalid) {
      if (auto emptied = part_.start_over(); !emptied) return std::move(emptied).error();
      fetched = once();
    }
    if (fetched || is_final(fetched.error().code())) part_.remove();
    return fetched;
  }

 private:
  Result<Fetched> once() {
    auto validators = transfer();
    if (!validators) return cannot_download(validators.error(), wanted_.url, context_);
    return verified(std::move(*validators));
  }

  Result<Validators> transfer() {
    for (int connections = 1;; ++connections) {
      const std::uint64_t before = part_.size();
      auto answer = transport::fetch_web_file(
          {.url = wanted_.url, .from = before, .begun = part_.begun(), .limit = wanted_.limit}, options_,
          part_);
      if (answer) return ours(answer->validators);
      const bool again = answer.error().code() == ErrorCode::io && part_.size() > before &&
                         !part_.begun().empty() && connections < kMostConnections;
      if (!again) return std::move(answer).error();
      context_.commands.tell("The connection broke off (" + answer.error().message() + "): continuing at " +
                             std::to_string(part_.size()) + " bytes");
    }
  }

  Result<Fetched> verified(Validators validators) {
    auto fetched = mapped(std::move(validators));
    if (!fetched) return fetched;
    if (wanted_.checksum) {
      const Checksum got = checksum_of(wanted_.checksum->kind, fetched->bytes());
      if (got != *wanted_.checksum)
        return Error(ErrorCode::invalid, "Checksum mismatch for " + shown_url(wanted_.url, context_) +
                                             ": wanted " + wanted_.checksum->text() + ", got " + got.text());
    }
    return fetched;
  }

  Result<Fetched> mapped(Validators validators) {
    std::string_view bytes;
    if (const auto size = static_cast<std::size_t>(part_.size()); size > 0) {
      void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, part_.fd(), 0);
      if (at == MAP_FAILED) return base::os_error(errno, "mapping a download");
      bytes = {static_cast<const char*>(at), size};
    }
    return Fetched(bytes, base::sha256_hex(bytes), std::move(validators));
  }

  void tell(std::uint64_t bytes) {
    if (Clock::now() - told_ < kBetweenNews) return;
    told_ = Clock::now();
    context_.commands.tell("Downloading " + shown_url(wanted_.url, context_) + ": " +
                           std::to_string(bytes / kMegabyte) + " MB so far");
  }

  const Wanted& wanted_;
  ApplyContext& context_;
  PartFile part_;
  transport::FetchOptions options_;
  Clock::time_point told_ = Clock::now();
};

// For look(): counts and hashes, and keeps what is small.
class Looking final : public transport::WebFileSink {
 public:
  Looking(std::uint64_t most, std::size_t keep) : most_(most), keep_(keep) {}

  Result<void> begin(std::uint64_t, const transport::Validators&) override {
    size_ = 0;
    content_.clear();
    hash_ = base::Sha256();
    return {};
  }
  Result<void> take(std::string_view bytes) override {
    size_ += bytes.size();
    if (size_ > most_) return Error(ErrorCode::limit, "more than matters");
    if (size_ <= keep_) content_.append(bytes);
    hash_.add(bytes);
    return {};
  }

  bool is_larger() const { return size_ > most_; }
  Seen seen() { return {hash_.finish(), size_}; }
  std::optional<std::string> content() {
    if (size_ > keep_) return std::nullopt;
    return std::move(content_);
  }

 private:
  const std::uint64_t most_;
  const std::size_t keep_;
  std::uint64_t size_ = 0;
  std::string content_;
  base::Sha256 hash_;
};

}  // namespace

Fetched::Fetched(std::string_view bytes, std::string sha256, Validators validators)
    : bytes_(bytes), sha256_(std::move(sha256)), validators_(std::move(validators)) {}

Fetched::Fetched(Fetched&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      sha256_(std::move(other.sha256_)),
      validators_(std::move(other.validators_)) {}

Fetched& Fetched::operator=(Fetched&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(sha256_, other.sha256_);
  std::swap(validators_, other.validators_);
  return *this;
}

Fetched::~Fetched() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

std::optional<Seen> seen_in_this_round(Context& context, const std::string& url) {
  auto& seen = context.notes.get<SeenFiles>().by_url;
  const auto found = seen.find(url);
  return found == seen.end() ? std::nullopt : std::optional(found->second);
}

void remember_in_this_round(Context& context, const std::string& url, Seen seen) {
  context.notes.get<SeenFiles>().by_url[url] = std::move(seen);
}

Result<Fetched> fetch(const Wanted& wanted, ApplyContext& context) {
  if (auto fine = check_vouched(wanted.url, wanted.checksum.has_value(), context); !fine)
    return std::move(fine).error();
  auto options = fetch_options(context);
  if (!options) return cannot_download(options.error(), wanted.url, context);
  auto part = PartFile::open(context.host.state_dir + "/downloads", wanted.url);
  if (!part) return cannot_download(part.error(), wanted.url, context);
  auto fetched = Fetch(wanted, context, std::move(*part), std::move(*options)).run();
  if (fetched) remember_in_this_round(context, wanted.url, {fetched->sha256(), fetched->bytes().size()});
  return fetched;
}

Result<Look> look(const std::string& url, const Validators& known, std::uint64_t most, std::size_t keep,
                  Context& context) {
  if (auto fine = check_vouched(url, false, context); !fine) return std::move(fine).error();
  auto options = fetch_options(context);
  if (!options) return cannot_download(options.error(), url, context);
  Looking sink(most, keep);
  auto answer = transport::fetch_web_file(
      {.url = url, .known = {known.etag, known.last_modified}, .limit = kLargest}, *options, sink);
  if (!answer && !sink.is_larger()) return cannot_download(answer.error(), url, context);
  if (!answer) return Look{.is_larger = true};
  Look look{.not_modified = answer->not_modified, .validators = ours(answer->validators)};
  if (look.not_modified) return look;
  look.content = sink.content();
  look.seen = sink.seen();
  return look;
}

Result<std::string> fetch_text(const std::string& url, std::size_t limit, Context& context) {
  auto text = look(url, {}, limit, limit, context);
  if (!text) return std::move(text).error();
  if (text->is_larger || !text->content)
    return cannot_download(Error(ErrorCode::limit, "more than " + std::to_string(limit) + " bytes"), url,
                           context);
  return std::move(*text->content);
}

}  // namespace states::downloads
