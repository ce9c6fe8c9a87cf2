// A disk that others fill while an archive is being fetched: step 3 of an update.
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "agent/updater/candidate.hpp"
#include "tests/support/scratch_folder.hpp"

namespace {

using agent::updater::Candidate;
using agent::updater::Settings;
using agent::updater::StepFailure;

void fill_disk_of(const std::string& folder) {
  const base::UniqueFd fd(::open((folder + "/others").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::string much(64 * 1024, 'x');
  while (::write(fd.get(), much.data(), much.size()) > 0) {
  }
}

}  // namespace

TEST_CASE("a download that meets a full disk gives its room back, which the report of it needs") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root to mount a small file system");
    return;
  }
  CHECK(tests::in_own_mounts([]() -> std::string {
          const tests::ScratchFolder prefix, base;
          if (::mount("tmpfs", prefix.path().c_str(), "tmpfs", 0, "size=16m") != 0) return "mount failed";
          const std::string archive(2 * 1024 * 1024, 'a');
          base.folder("files");
          base.write("files/archive", archive);
          Settings settings;
          settings.prefix = prefix.path();
          Candidate candidate;
          candidate.folder = "1.4.0-00000000";
          candidate.target.size = archive.size();
          candidate.target.path = "files/archive";
          base::NoInterrupt never;
          agent::updater::ReleaseSource source(base.path(), {}, never);
          bool is_filled = false;
          const auto fetched = agent::updater::fetch_archive(settings, source, candidate, [&](int) {
            if (!std::exchange(is_filled, true)) fill_disk_of(prefix.path());
          });
          const auto* stumble = std::get_if<StepFailure>(&fetched);
          if (!is_filled || !stumble) return "the disk was not full";
          if (!stumble->retryable || stumble->event != update::Event::failed) return stumble->reason;
          return prefix.exists("staging/1.4.0-00000000.part") ? "its part is still there" : "";
        }) == "");
}
