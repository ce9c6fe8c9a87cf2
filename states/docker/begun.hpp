// What was begun with an image whose containers go when it is replaced: noted on disk before the first step,
// so that whoever is killed between the image and the last of its containers goes on where he was.
//
// One small file for each image and list of containers, in <state folder>/docker-begun, which is root's.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/docker/reference.hpp"
#include "states/param.hpp"

namespace states::docker {

class Begun {
 public:
  // `what`: "pull" or "push".
  Begun(const Context& context, std::string_view what, const Reference& reference, List containers);

  enum class Phase {
    none,     // nothing is known
    begun,    // the image is on its way
    removal,  // it has arrived, and its containers are to go
    done,
  };
  struct Note {
    Phase phase = Phase::none;
    std::string image;  // its id: of `begun` a pull's before, else the one that was or is to be there
  };
  // What cannot be read was never written.
  Note read() const;
  // On disk when it returns. Where no containers are to go nothing is written.
  base::Result<void> write(Phase phase, std::string_view image) const;

 private:
  std::string folder_;
  std::string path_;
  bool is_needed_;
};

}  // namespace states::docker
