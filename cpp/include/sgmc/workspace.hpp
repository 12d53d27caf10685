// Memory that outlives a call, so that minibatches cause no page faults.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace sgmc {

/// Uninitialised memory that starts on a cache line; unwritten pages cost nothing.
class Room {
 public:
  /// Makes room for n values of T; old values are lost if it was too small.
  template <class T>
  T* hold(std::size_t n) {
    std::size_t const bytes = n * sizeof(T) + 64;
    if (bytes_ < bytes) {
      *this = Room{};  // free the old memory first; if the allocation fails, the room is empty
      data_ = std::make_unique_for_overwrite<unsigned char[]>(bytes + bytes / 4);
      bytes_ = bytes + bytes / 4;
    }
    auto const at = reinterpret_cast<std::uintptr_t>(data_.get());
    return reinterpret_cast<T*>((at + 63) / 64 * 64);
  }
  std::size_t bytes() const { return bytes_; }
  friend void swap(Room& a, Room& b) noexcept {
    std::swap(a.data_, b.data_);
    std::swap(a.bytes_, b.bytes_);
  }

 private:
  std::unique_ptr<unsigned char[]> data_;
  std::size_t bytes_ = 0;
};

/// A caller's memory: scratch for the one running call, and room that it lends.
class Workspace {
 private:
  friend class Scratch;
  template <class T>
  friend class Lent;
  struct Shelf {
    std::mutex mutex;
    Room room;
  };
  std::atomic_flag busy_;
  std::vector<Room> rooms_;
  std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
};

/// A workspace's scratch during one call.
class Scratch {
 public:
  /// Throws std::runtime_error if another call uses the workspace.
  explicit Scratch(Workspace& work);
  ~Scratch();
  Scratch(Scratch const&) = delete;
  Scratch& operator=(Scratch const&) = delete;

  /// n uninitialised values of T; each slot has its own memory.
  template <class T>
  T* get(std::size_t slot, std::size_t n) {
    if (slot >= work_.rooms_.size()) work_.rooms_.resize(slot + 1);
    return work_.rooms_[slot].hold<T>(n);
  }

 private:
  Workspace& work_;
};

/// n uninitialised values of T that the holder of this object owns. The memory returns to the
/// workspace at the end, for later calls.
template <class T>
class Lent {
 public:
  Lent(Workspace& work, std::int64_t n) : shelf_(work.shelf_) {
    {
      std::lock_guard const lock(shelf_->mutex);
      swap(room_, shelf_->room);
    }
    data_ = room_.hold<T>(static_cast<std::size_t>(n));
  }
  ~Lent() {
    std::lock_guard const lock(shelf_->mutex);
    if (shelf_->room.bytes() < room_.bytes()) swap(shelf_->room, room_);
  }
  Lent(Lent const&) = delete;
  Lent& operator=(Lent const&) = delete;
  T* data() const { return data_; }

 private:
  std::shared_ptr<Workspace::Shelf> shelf_;
  Room room_;
  T* data_;
};

}  // namespace sgmc
