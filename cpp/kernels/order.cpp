// Random order without memory, and uniforms computed from their addresses.
#include <cstdint>

#include "sgmc/kernels.hpp"
#include "sgmc/philox.hpp"

namespace sgmc::SGMC_ISA {

void permute(std::int64_t const* position, std::int64_t count, std::int64_t n,
             Address const& address, Purpose purpose, std::int64_t* out) noexcept {
  Stream const stream = Stream::at(address, purpose);
  int half = 1;
  while (half < 31 && (std::uint64_t{1} << (2 * half)) < static_cast<std::uint64_t>(n)) ++half;
  // a network on few bits mixes slowly; with this number, pairs of positions are uniform from n = 2
  // on (measured)
  std::uint32_t const rounds = half <= 6 ? 16 : 6;
  std::uint32_t const mask = (std::uint32_t{1} << half) - 1u;
  for (std::int64_t i = 0; i < count; ++i) {
    auto x = static_cast<std::uint64_t>(position[i]);
    do {
      auto left = static_cast<std::uint32_t>(x >> half),
           right = static_cast<std::uint32_t>(x) & mask;
      for (std::uint32_t round = 0; round < rounds; ++round) {
        std::uint32_t const f = stream.block(round, right).x[0] & mask;
        std::uint32_t const next = left ^ f;
        left = right;
        right = next;
      }
      x = (static_cast<std::uint64_t>(left) << half) | right;
    } while (x >= static_cast<std::uint64_t>(n));  // a bijection of the square, so the walk returns
    out[i] = static_cast<std::int64_t>(x);
  }
}

void uniforms(std::int64_t const* entity, std::int64_t const* ordinal, std::int64_t count,
              Address const& address, Purpose purpose, double* out) noexcept {
  Stream const stream = Stream::at(address, purpose);
  for (std::int64_t i = 0; i < count; ++i) {
    Block4 const b =
        stream.block(static_cast<std::uint32_t>(ordinal[i]), static_cast<std::uint64_t>(entity[i]));
    std::uint64_t const bits = (static_cast<std::uint64_t>(b.x[0]) << 32) | b.x[1];
    out[i] = (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
  }
}

}  // namespace sgmc::SGMC_ISA
