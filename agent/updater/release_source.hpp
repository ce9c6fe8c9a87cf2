// ReleaseSource: where the documents and archives of releases come from. Blocks; one thread at a time.
//
// Servers that are away for a while are asked again, for minutes, before an update fails for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "transport/client/download.hpp"

namespace agent::updater {

class ReleaseSource {
 public:
  // `base`: https://…, http://… or a folder.
  ReleaseSource(std::string base, transport::FetchOptions options, base::Interrupt& interrupt);

  // A document and its ".sig".
  struct Signed {
    std::string document;
    std::string signatures;
  };
  base::Result<Signed> document(const std::string& path);
  // After a moment: they are two files, and whoever reads while they are replaced has one of each.
  base::Result<Signed> document_again(const std::string& path);

  // Into `file`, of which a beginning may be there.
  base::Result<void> archive(const std::string& path, const std::string& file, std::uint64_t size,
                             const std::function<void(std::uint64_t)>& progress);

 private:
  template <class T>
  base::Result<T> patiently(const std::function<base::Result<T>()>& ask);

  const std::string base_;
  transport::FetchOptions options_;
  base::Interrupt& interrupt_;
};

// Sleeps, unless the agent ends. False: it does.
bool sleep_unless(base::Interrupt& interrupt, std::chrono::milliseconds time);

}  // namespace agent::updater
