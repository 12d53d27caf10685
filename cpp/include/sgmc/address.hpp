// The address of a call's randomness; see philox.hpp for the layout.
#pragma once

#include <cstdint>

namespace sgmc {

struct Address {
  std::uint64_t seed;
  std::uint32_t chain;
  std::uint32_t stream;  // block of the model
  std::uint64_t step;    // iteration
};

}  // namespace sgmc
