// ShownOutput: what is shown of a program's output while it runs, and afterwards of one that is too long to
// be kept whole. A secret that a program colours, or that the limit would cut, is found all the same. One
// thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/output_text.hpp"
#include "base/programs/bounded_output.hpp"
#include "base/programs/process.hpp"
#include "base/values/redactor.hpp"

namespace states {

class ShownOutput {
 public:
  using Live = std::function<void(base::Stream, std::string_view)>;

  // `redactor` and `live`, which may be empty, outlive it.
  ShownOutput(const base::Redactor& redactor, std::size_t keep_head, std::size_t keep_tail, const Live& live)
      : ways_{Way{.redacting = base::RedactingStream(redactor)},
              Way{.redacting = base::RedactingStream(redactor)}},
        kept_(keep_head, keep_tail),
        live_(live) {}

  void add(base::Stream stream, std::string_view data) {
    Way& way = ways_[stream == base::Stream::err];
    show(stream, way.redacting.add(way.escapes.add(data)));
  }
  // What was held back because more might have come.
  void finish() {
    for (const base::Stream stream : {base::Stream::out, base::Stream::err})
      show(stream, ways_[stream == base::Stream::err].redacting.finish());
  }
  const base::BoundedOutput& kept() const { return kept_; }

 private:
  struct Way {
    base::EscapeRemover escapes{};
    base::RedactingStream redacting;
  };
  void show(base::Stream stream, const std::string& text) {
    if (text.empty()) return;
    kept_.append(text);
    if (live_) live_(stream, text);
  }

  Way ways_[2];
  base::BoundedOutput kept_;
  const Live& live_;
};

}  // namespace states
