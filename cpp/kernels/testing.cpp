// Functions that only tests call: samplers and functions by themselves, and the underlying bits.
#include <cstdint>

#include "sgmc/digamma.hpp"
#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/links.hpp"

namespace sgmc::SGMC_ISA {

void draw(int kind, float const* a, std::int64_t n, Address const& address, float* out) noexcept {
  Stream const stream = Stream::at(address, Purpose::test);
  for (std::int64_t i = 0; i < n; i += 16) {
    alignas(64) float in[16], result[16];
    for (int l = 0; l < 16; ++l) in[l] = a ? a[i + l < n ? i + l : n - 1] : 0.0f;
    F16 const p = load(in);
    F16 value = f16(0.0f);
    for (int l = 0; l < 16 && i + l < n; ++l) out[i + l] = __builtin_nanf("");
    std::uint32_t todo = 0xffffu;
    for (std::uint32_t attempt = 0; todo && attempt < kAttempts; ++attempt) {
      Words const w =
          random_words(stream, u16(attempt), iota() + u16(static_cast<std::uint32_t>(i)));
      F16 other;
      M16 ok = f16(0.0f) <= f16(1.0f);
      M16 const small = p < f16(1.0f);
      switch (kind) {
        case 0: normal_pair(w.x[0], w.x[1], value, other); break;
        case 1: {
          F16 z;
          M16 ok_large, ok_small;
          normal_pair(w.x[0], w.x[1], z, other);
          F16 const large = gamma_attempt(max(p, f16(1.0f)), z, uniform_open(w.x[2]), ok_large);
          F16 const tiny = small_gamma_attempt(min(p, f16(1.0f)), uniform_open(w.x[2]),
                                               uniform_open(w.x[3]), ok_small);
          value = select(small, tiny, large);
          ok = (small & ok_small) | (~small & ok_large);
          break;
        }
        case 2: {
          M16 ok_large;
          F16 const few = poisson_inversion(min(p, f16(10.0f)), uniform_open(w.x[0]));
          F16 const many = poisson_attempt(max(p, f16(10.0f)), uniform_open(w.x[0]),
                                           uniform_open(w.x[1]), ok_large);
          M16 const inversion = p <= f16(10.0f);
          value = select(inversion, few, many);
          ok = inversion | ok_large;
          break;
        }
        case 3: value = uniform24(w.x[0]); break;
        case 4: value = uniform_open(w.x[0]); break;
        case 5: value = log(p); break;
        case 6: value = exp(p); break;
        case 7: value = expm1m(p); break;
        case 9: sincos_quarter(p, value, other); break;
        case 10: sincos_quarter(p, other, value); break;
        case 11: value = to_float(to_int(p)); break;
        case 12: value = to_float(round_int(p)); break;
        default: {
          ExpDigamma const e = exp_digamma(p);
          value = log(e.top) - e.drop;
          break;
        }
      }
      store(result, value);
      std::uint32_t const now = todo & lanes(ok);
      for (int l = 0; l < 16; ++l)
        if ((now >> l) & 1u && i + l < n) out[i + l] = result[l];
      todo &= ~now;
    }
  }
}

void philox_blocks(std::uint32_t const* counter, std::uint32_t const* key, std::int64_t n,
                   std::uint32_t* out) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    // one key at a time, through the vector code that all other functions use
    Words w;
    std::uint32_t const* c = counter + 4 * i;
    philox16(u16(c[0]), u16(c[1]), u16(c[2]), u16(c[3]), key[2 * i], key[2 * i + 1], w.x[0], w.x[1],
             w.x[2], w.x[3]);
    for (int q = 0; q < 4; ++q) {
      alignas(64) std::uint32_t lane_values[16];
      store(lane_values, w.x[q]);
      out[4 * i + q] = lane_values[i % 16];
    }
  }
}

void row_words(std::uint32_t const* state, std::int64_t n, std::uint32_t* out) noexcept {
  RowWords words = RowWords::make(
      Words{{load_u(state), load_u(state + 16), load_u(state + 32), load_u(state + 48)}});
  for (std::int64_t i = 0; i < n; ++i) store(out + 16 * i, words.next());
}

void latent_counts(Link link, double const* a, std::int64_t count, Address const& address,
                   std::int64_t* out) noexcept {
  Stream const stream = Stream::at(address, Purpose::test);
  for (std::int64_t i = 0; i < count; ++i) {
    Draws draws(stream, static_cast<std::uint64_t>(i));
    out[i] = link == Link::binary ? positive_poisson(a[i], draws) : bessel(a[i], draws);
  }
}

}  // namespace sgmc::SGMC_ISA
