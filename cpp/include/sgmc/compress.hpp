// Writes the lanes of a vector that a mask selects, one after another.
#pragma once

#include "sgmc/simd.hpp"

namespace sgmc::SGMC_ISA {

#if defined(SGMC_AVX2)
/// Packs eight lanes by a permutation that pext selects from 0, 1, ..., 7.
SGMC_INLINE int compress8(void* p, std::uint32_t m, __m256i a) {
  std::uint64_t const bytes = _pdep_u64(m, 0x0101010101010101u) * 0xffu;
  auto const order = static_cast<long long>(_pext_u64(0x0706050403020100u, bytes));
  __m256i const lanes = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(order));
  _mm256_storeu_si256(static_cast<__m256i*>(p), _mm256_permutevar8x32_epi32(a, lanes));
  return popcount(m);
}
#elif defined(__aarch64__)
/// For each of the sixteen masks of four lanes, the bytes of the selected lanes, packed.
struct Packings {
  alignas(16) std::uint8_t bytes[16][16]{};
  constexpr Packings() {
    for (int m = 0; m < 16; ++m)
      for (int l = 0, n = 0; l < 4; ++l)
        for (int b = 0; b < 4 && ((m >> l) & 1); ++b)
          bytes[m][n++] = static_cast<std::uint8_t>(4 * l + b);
  }
};
template <class X, class Native>
SGMC_INLINE int compress4(X* p, std::uint32_t m, Native a) {
  static constexpr Packings kPackings;
  a.v = (decltype(a.v))vqtbl1q_u8((uint8x16_t)a.v, vld1q_u8(kPackings.bytes[m & 15u]));
  store(p, a);
  return popcount(m & 15u);
}
template <class X, class H>
SGMC_INLINE int compress4(X* p, std::uint32_t m, Pair<H> a) {
  int const n = compress4(p, m, a.lo);
  return n + compress4(p + n, m >> width<H>, a.hi);
}
#endif

/// Writes the lanes of `a` selected by `m`, packed; returns their number. `p` needs room for 16.
SGMC_INLINE int compress(float* p, std::uint32_t m, F16 a) {
#if defined(SGMC_AVX512)
  _mm512_storeu_ps(p, _mm512_maskz_compress_ps(static_cast<__mmask16>(m), (__m512)a.v));
  return popcount(m);
#elif defined(SGMC_AVX2)
  int const n = compress8(p, m & 0xffu, (__m256i)a.lo.v);
  return n + compress8(p + n, m >> 8, (__m256i)a.hi.v);
#elif defined(__aarch64__)
  return compress4(p, m, a);
#else
  alignas(64) float x[16];
  store(x, a);
  int n = 0;
  for (; m; m &= m - 1) p[n++] = x[__builtin_ctz(m)];
  return n;
#endif
}
SGMC_INLINE int compress(std::int32_t* p, std::uint32_t m, U16 a) {
#if defined(SGMC_AVX512)
  _mm512_storeu_si512(p, _mm512_maskz_compress_epi32(static_cast<__mmask16>(m), (__m512i)a.v));
  return popcount(m);
#elif defined(SGMC_AVX2)
  int const n = compress8(p, m & 0xffu, (__m256i)a.lo.v);
  return n + compress8(p + n, m >> 8, (__m256i)a.hi.v);
#elif defined(__aarch64__)
  return compress4(p, m, a);
#else
  alignas(64) std::int32_t x[16];
  store(x, a);
  int n = 0;
  for (; m; m &= m - 1) p[n++] = x[__builtin_ctz(m)];
  return n;
#endif
}

}  // namespace sgmc::SGMC_ISA
