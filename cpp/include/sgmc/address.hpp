// The address of a call's random numbers; for the layout see philox.hpp.
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
