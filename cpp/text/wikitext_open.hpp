// The open constructs at a position in a page: a stack, searched only when it is about to be
// emptied.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sgmc::text {

/// In a link, `target` is the part before the first bar; the text after it is shown, or all of it
/// is hidden.
enum Kind : std::uint8_t {
  template_,
  target,
  shown,
  hidden,
  external,
  table,
  html_table,
  variants
};

struct Frame {
  std::size_t start;  ///< begin of its output; never below that of the frame under it
  Kind kind;
  bool mark;  ///< external: opened with two brackets, as people do; target: shown whatever it is
};

class Open {
 public:
  bool none() const { return frames_.empty(); }
  bool any(Kind kind) const { return count_[kind] > 0; }
  bool top_is(Kind kind) const { return !none() && frames_.back().kind == kind; }
  bool top_is_link() const { return top_is(target) || top_is(shown) || top_is(hidden); }
  std::size_t floor() const { return none() ? 0 : frames_.back().start; }
  Frame const& top() const { return frames_.back(); }

  void push(Kind kind, std::size_t start, bool mark = false) {
    frames_.push_back({start, kind, mark});
    ++count_[kind];
  }

  Frame pop() {
    Frame const frame = frames_.back();
    frames_.pop_back();
    --count_[frame.kind];
    return frame;
  }

  /// Pops the innermost frame of a kind, of which one is open; frames left open within it are
  /// closed too.
  Frame pop_through(Kind kind) {
    Frame frame = pop();
    while (frame.kind != kind) frame = pop();
    return frame;
  }

  void clear() {
    frames_.clear();
    count_.fill(0);
  }

  /// The innermost template or table, of which one is open. Call it only if that frame, and hence
  /// every frame above it, is popped next; then all searches together take linear time.
  Kind innermost() const {
    std::size_t i = frames_.size();
    while (frames_[i - 1].kind != template_ && frames_[i - 1].kind != table) --i;
    return frames_[i - 1].kind;
  }

 private:
  std::vector<Frame> frames_;
  std::array<std::size_t, 8> count_{};  ///< by kind
};

}  // namespace sgmc::text
