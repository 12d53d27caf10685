// Counter-based random bits: Philox 4x32-10 (Salmon et al. 2011).
//
// Layout. A stream is (seed, chain, purpose, iteration); an entity (document, word row) has its own
// sequence of blocks j = 0, 1, 2, ... of four words:
//
//   subkey       = Philox(key = seed,   counter = (purpose, iteration lo, iteration hi, 0))[0..1]
//   block j      = Philox(key = subkey, counter = (j, entity lo, entity hi, chain))
//
// Every draw is a pure function of these numbers: nothing is stored between calls or shared.
//
// Philox costs more than most uses of its words. A kernel that needs words for every cell of a row
// takes them from a generator seeded from such a key at row boundaries: `RowWords`.
#pragma once

#include <cstdint>

#include "sgmc/address.hpp"
#include "sgmc/purpose.hpp"
#include "sgmc/simd.hpp"

namespace sgmc::SGMC_ISA {

inline constexpr std::uint32_t kPhiloxM0 = 0xD2511F53u, kPhiloxM1 = 0xCD9E8D57u;
inline constexpr std::uint32_t kPhiloxW0 = 0x9E3779B9u, kPhiloxW1 = 0xBB67AE85u;

struct Block4 {
  std::uint32_t x[4];
};

SGMC_INLINE Block4 philox(Block4 c, std::uint32_t k0, std::uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const p0 = static_cast<std::uint64_t>(kPhiloxM0) * c.x[0];
    std::uint64_t const p1 = static_cast<std::uint64_t>(kPhiloxM1) * c.x[2];
    c = {{static_cast<std::uint32_t>(p1 >> 32) ^ c.x[1] ^ k0, static_cast<std::uint32_t>(p1),
          static_cast<std::uint32_t>(p0 >> 32) ^ c.x[3] ^ k1, static_cast<std::uint32_t>(p0)}};
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  return c;
}

/// Address of the random numbers of one purpose in one iteration.
struct Stream {
  std::uint32_t key0, key1, chain;

  static SGMC_INLINE Stream at(Address const& a, Purpose purpose) {
    Block4 const b =
        philox({{stream_purpose(purpose, a.stream), static_cast<std::uint32_t>(a.step),
                 static_cast<std::uint32_t>(a.step >> 32), 0u}},
               static_cast<std::uint32_t>(a.seed), static_cast<std::uint32_t>(a.seed >> 32));
    return {b.x[0], b.x[1], a.chain};
  }
  SGMC_INLINE Block4 block(std::uint32_t j, std::uint64_t entity) const {
    return philox(
        {{j, static_cast<std::uint32_t>(entity), static_cast<std::uint32_t>(entity >> 32), chain}},
        key0, key1);
  }
};

// ---- sixteen counters at once -------------------------------------------------------------------

/// Four words for each of sixteen (j, entity) pairs.
struct Words {
  U16 x[4];
};

// 64-bit lanes hold 32-bit values, so that a widening multiply needs no shuffles. Garbage in the
// upper half never reaches a result, because the multiply and the final packing ignore it.
struct NW {
  NativeW v;
};
SGMC_INLINE NativeW widening(NativeW a, std::uint32_t m) {
#if defined(SGMC_AVX512)
  return (NativeW)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi64(m));
#elif defined(SGMC_AVX2)
  return (NativeW)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(m));
#elif defined(__SSE2__)
  return (NativeW)_mm_mul_epu32((__m128i)a, _mm_set1_epi64x(m));
#else
  return (NativeW)vmull_n_u32(vmovn_u64((uint64x2_t)a), m);
#endif
}

SGMC_INLINE void philox_native(NativeU const (&c)[4], std::uint32_t k0, std::uint32_t k1,
                               NativeU (&out)[4]) {
  // even and odd 32-bit lanes, each in the low half of a 64-bit lane
  NativeW e[4], o[4];
  for (int i = 0; i < 4; ++i) {
    e[i] = (NativeW)c[i];
    o[i] = (NativeW)c[i] >> 32;
  }
  for (int round = 0; round < 10; ++round) {
    NativeW const e0 = widening(e[0], kPhiloxM0), e1 = widening(e[2], kPhiloxM1);
    NativeW const o0 = widening(o[0], kPhiloxM0), o1 = widening(o[2], kPhiloxM1);
    NativeW const key0 = NativeW{} + k0, key1 = NativeW{} + k1;
    e[0] = (e1 >> 32) ^ e[1] ^ key0;
    o[0] = (o1 >> 32) ^ o[1] ^ key0;
    e[2] = (e0 >> 32) ^ e[3] ^ key1;
    o[2] = (o0 >> 32) ^ o[3] ^ key1;
    e[1] = e1;
    o[1] = o1;
    e[3] = e0;
    o[3] = o0;
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  for (int i = 0; i < 4; ++i) out[i] = (NativeU)((e[i] & 0xffffffffu) | (o[i] << 32));
}

SGMC_INLINE void philox16(NU c0, NU c1, NU c2, NU c3, std::uint32_t k0, std::uint32_t k1, NU& r0,
                          NU& r1, NU& r2, NU& r3) {
  NativeU const c[4] = {c0.v, c1.v, c2.v, c3.v};
  NativeU r[4];
  philox_native(c, k0, k1, r);
  r0.v = r[0];
  r1.v = r[1];
  r2.v = r[2];
  r3.v = r[3];
}
template <class H>
SGMC_INLINE void philox16(Pair<H> c0, Pair<H> c1, Pair<H> c2, Pair<H> c3, std::uint32_t k0,
                          std::uint32_t k1, Pair<H>& r0, Pair<H>& r1, Pair<H>& r2, Pair<H>& r3) {
  philox16(c0.lo, c1.lo, c2.lo, c3.lo, k0, k1, r0.lo, r1.lo, r2.lo, r3.lo);
  philox16(c0.hi, c1.hi, c2.hi, c3.hi, k0, k1, r0.hi, r1.hi, r2.hi, r3.hi);
}

/// Blocks `j` of the entities hi 2^32 + lo.
SGMC_INLINE Words random_words(Stream const& s, U16 j, U16 lo, U16 hi) {
  Words w;
  philox16(j, lo, hi, u16(s.chain), s.key0, s.key1, w.x[0], w.x[1], w.x[2], w.x[3]);
  return w;
}
/// Blocks `j` of the entities `lo` (below 2^32).
SGMC_INLINE Words random_words(Stream const& s, U16 j, U16 lo) {
  return random_words(s, j, lo, u16(0));
}
/// Blocks first, first + 1, ..., first + 15 of one entity.
SGMC_INLINE Words random_words(Stream const& s, std::uint32_t first, std::uint64_t entity) {
  Words w;
  philox16(u16(first) + iota(), u16(static_cast<std::uint32_t>(entity)),
           u16(static_cast<std::uint32_t>(entity >> 32)), u16(s.chain), s.key0, s.key1, w.x[0],
           w.x[1], w.x[2], w.x[3]);
  return w;
}

// ---- sixteen generators -------------------------------------------------------------------------

/// xoshiro128++ (Blackman and Vigna 2021) in each of sixteen lanes. Word s of lane j's state is
/// word s of block j of one entity; the all-zero state, which would stay zero, becomes (0, 0, 0,
/// 1). The n-th call gives the entity's n-th sixteen words, one per lane.
struct RowWords {
  U16 s[4];

  static SGMC_INLINE RowWords make(Stream const& stream, std::uint64_t entity) {
    return make(random_words(stream, 0u, entity));
  }
  static SGMC_INLINE RowWords make(Words const& seed) {
    M16 const zero = (seed.x[0] | seed.x[1] | seed.x[2] | seed.x[3]) == u16(0u);
    return {{seed.x[0], seed.x[1], seed.x[2], select(zero, u16(1u), seed.x[3])}};
  }
  SGMC_INLINE U16 next() {
    U16 const word = rotl(s[0] + s[3], 7) + s[0], shifted = shl(s[1], 9);
    s[2] = s[2] ^ s[0];
    s[3] = s[3] ^ s[1];
    s[1] = s[1] ^ s[2];
    s[0] = s[0] ^ s[3];
    s[2] = s[2] ^ shifted;
    s[3] = rotl(s[3], 11);
    return word;
  }
};

// ---- uniforms -----------------------------------------------------------------------------------

/// In [0, 1 - 2^-24], which is enough to choose a topic. Never 1, which would select a pad of
/// weight zero.
SGMC_INLINE F16 uniform24(U16 x) { return to_float(shr(x, 8)) * f16(0x1p-24f); }

/// In (0, 1], with relative precision 2^-24 down to 2^-32: safe under log, exact for small
/// probabilities.
SGMC_INLINE F16 uniform_open(U16 x) { return (to_float(shr(x, 1)) + f16(0.5f)) * f16(0x1p-31f); }

}  // namespace sgmc::SGMC_ISA
