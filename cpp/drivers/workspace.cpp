#include "sgmc/workspace.hpp"

#include <stdexcept>

namespace sgmc {

Scratch::Scratch(Workspace& work) : work_(work) {
  if (work.busy_.test_and_set(std::memory_order_acquire))
    throw std::runtime_error(
        "internal: a workspace is in use by another thread; each thread needs one of its own");
}

Scratch::~Scratch() { work_.busy_.clear(std::memory_order_release); }

Counts::Counts(Workspace& work, std::int64_t n) : shelf_(work.shelf_) {
  {
    std::lock_guard const lock(shelf_->mutex);
    swap(room_, shelf_->room);
  }
  data_ = room_.hold<std::int64_t>(static_cast<std::size_t>(n));
}

Counts::~Counts() {
  std::lock_guard const lock(shelf_->mutex);
  if (shelf_->room.bytes() < room_.bytes()) swap(shelf_->room, room_);
}

}  // namespace sgmc
