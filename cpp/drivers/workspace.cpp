#include "sgmc/workspace.hpp"

#include <stdexcept>

namespace sgmc {

Scratch::Scratch(Workspace& work) : work_(work) {
  if (work.busy_.test_and_set(std::memory_order_acquire))
    throw std::runtime_error(
        "internal: a workspace is in use by another thread; each thread needs one of its own");
}

Scratch::~Scratch() { work_.busy_.clear(std::memory_order_release); }

}  // namespace sgmc
