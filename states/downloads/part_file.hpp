// Inside states/downloads/: a file while it is fetched, with what is known of the file that it is the
// beginning of.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/files/private_folder.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "transport/client/web_file.hpp"

namespace states::downloads {

class PartFile final : public transport::WebFileSink {
 public:
  // In that folder, which is made; parts that nobody has continued for two days are removed.
  static base::Result<PartFile> open(const std::string& folder, const std::string& url);

  // Called with the bytes that are there, after each piece.
  std::function<void(std::uint64_t)> on_progress;

  base::Result<void> begin(std::uint64_t at, const transport::Validators& validators) override;
  base::Result<void> take(std::string_view bytes) override;

  std::uint64_t size() const { return size_; }
  const transport::Validators& begun() const { return begun_; }
  // Has a beginning that was not made by this object.
  bool is_continued() const { return is_continued_; }
  base::Result<void> start_over();

  int fd() const { return fd_.get(); }
  // The names go; what was opened or mapped stays.
  void remove();

 private:
  PartFile(base::Way folder, std::string path, base::UniqueFd fd)
      : folder_(std::move(folder)), path_(std::move(path)), fd_(std::move(fd)) {}
  void read_beginning();
  base::Result<void> write_all(std::string_view bytes);

  base::Way folder_;
  std::string path_;
  base::UniqueFd fd_;
  std::uint64_t size_ = 0;
  transport::Validators begun_;
  bool is_continued_ = false;
};

}  // namespace states::downloads
