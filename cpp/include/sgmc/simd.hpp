// Sixteen lanes, whatever the machine: one AVX-512 register, two AVX2 registers or four of 128
// bits, of SSE2 or NEON.
//
// Every kernel is written over these types only. A 16-lane value is a native vector or a pair of
// halves, and each operation means the same on each instruction set, in the same order; with
// contraction off, results are therefore equal bit for bit across sets.
//
// All of it lives in the namespace of its instruction set: a function that the compiler leaves
// outlined must never be shared between objects that were compiled for different machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#else
#error "there are kernels for x86-64 and for aarch64 only"
#endif

#define SGMC_INLINE inline __attribute__((always_inline))

namespace sgmc::SGMC_ISA {

#if defined(SGMC_AVX512)
inline constexpr int kNative = 16;
#elif defined(SGMC_AVX2)
inline constexpr int kNative = 8;
#else
inline constexpr int kNative = 4;
#endif

typedef float NativeF __attribute__((vector_size(4 * kNative)));
typedef std::int32_t NativeI __attribute__((vector_size(4 * kNative)));
typedef std::uint32_t NativeU __attribute__((vector_size(4 * kNative)));
typedef std::uint64_t NativeW __attribute__((vector_size(4 * kNative)));
typedef double NativeD __attribute__((vector_size(4 * kNative)));

// ---- a native register of floats, and of 32-bit integers --------------------------------------

struct NF {
  NativeF v;
};
struct NU {
  NativeU v;
};
struct ND {  // the doubles of a register of floats
  NativeD lo, hi;
};
#if defined(SGMC_AVX512)
struct NM {
  __mmask16 v;
};
#else
struct NM {
  NativeI v;
};
#endif

template <class Half>
struct Pair {
  Half lo, hi;
};

template <class One, int Count>
struct Wide {
  using type = Pair<typename Wide<One, Count / 2>::type>;
};
template <class One>
struct Wide<One, 1> {
  using type = One;
};

inline constexpr int kLanes = 16;
using F16 = Wide<NF, kLanes / kNative>::type;
using U16 = Wide<NU, kLanes / kNative>::type;
using D16 = Wide<ND, kLanes / kNative>::type;
using M16 = Wide<NM, kLanes / kNative>::type;

template <class T>
inline constexpr int width = kNative;
template <class H>
inline constexpr int width<Pair<H>> = 2 * width<H>;

// ---- construction ------------------------------------------------------------------------------

template <class T>
struct Make;
template <>
struct Make<NF> {
  static SGMC_INLINE NF fill(float x) { return {x - NativeF{}}; }
  static SGMC_INLINE NF load(float const* p) {
    NF r;
    std::memcpy(&r.v, p, sizeof r.v);
    return r;
  }
};
template <>
struct Make<ND> {
  static SGMC_INLINE ND fill(double x) { return {x - NativeD{}, x - NativeD{}}; }
  static SGMC_INLINE ND load(double const* p) {
    ND r;  // each half by itself: one copy of both would go through narrow registers and memory
    std::memcpy(&r.lo, p, sizeof r.lo);
    std::memcpy(&r.hi, p + kNative / 2, sizeof r.hi);
    return r;
  }
};
template <>
struct Make<NU> {
  static SGMC_INLINE NU fill(std::uint32_t x) { return {x + NativeU{}}; }
  static SGMC_INLINE NU load(std::uint32_t const* p) {
    NU r;
    std::memcpy(&r.v, p, sizeof r.v);
    return r;
  }
  static SGMC_INLINE NU load(std::int32_t const* p) {
    NU r;
    std::memcpy(&r.v, p, sizeof r.v);
    return r;
  }
};
template <class H>
struct Make<Pair<H>> {
  template <class X>
  static SGMC_INLINE Pair<H> fill(X x) {
    return {Make<H>::fill(x), Make<H>::fill(x)};
  }
  template <class X>
  static SGMC_INLINE Pair<H> load(X const* p) {
    return {Make<H>::load(p), Make<H>::load(p + width<H>)};
  }
};
SGMC_INLINE F16 f16(float x) { return Make<F16>::fill(x); }
SGMC_INLINE D16 d16(double x) { return Make<D16>::fill(x); }
SGMC_INLINE U16 u16(std::uint32_t x) { return Make<U16>::fill(x); }
SGMC_INLINE F16 load(float const* p) { return Make<F16>::load(p); }
SGMC_INLINE D16 load(double const* p) { return Make<D16>::load(p); }
SGMC_INLINE U16 load_u(std::uint32_t const* p) { return Make<U16>::load(p); }
SGMC_INLINE U16 load_u(std::int32_t const* p) { return Make<U16>::load(p); }

SGMC_INLINE void store(float* p, NF a) { std::memcpy(p, &a.v, sizeof a.v); }
SGMC_INLINE void store(double* p, ND a) {
  std::memcpy(p, &a.lo, sizeof a.lo);
  std::memcpy(p + kNative / 2, &a.hi, sizeof a.hi);
}
SGMC_INLINE void store(std::uint32_t* p, NU a) { std::memcpy(p, &a.v, sizeof a.v); }
SGMC_INLINE void store(std::int32_t* p, NU a) { std::memcpy(p, &a.v, sizeof a.v); }
template <class X, class H>
SGMC_INLINE void store(X* p, Pair<H> a) {
  store(p, a.lo);
  store(p + width<H>, a.hi);
}

// ---- lane-wise operations: written once for the register, lifted to pairs -----------------------

#define SGMC_BINARY(NAME, ARG, RESULT, EXPRESSION)                               \
  SGMC_INLINE RESULT NAME(ARG a, ARG b) { return {EXPRESSION}; }                 \
  template <class H>                                                             \
    requires requires(H x) { NAME(x, x); } && (lifts<H, ARG>)                    \
  SGMC_INLINE auto NAME(Pair<H> a, Pair<H> b) {                                  \
    return Pair<decltype(NAME(a.lo, b.lo))>{NAME(a.lo, b.lo), NAME(a.hi, b.hi)}; \
  }

// The leaves of a pair tree have one type; `lifts` selects the overload written for that leaf.
template <class H>
struct Leaf {
  using type = H;
};
template <class H>
struct Leaf<Pair<H>> {
  using type = typename Leaf<H>::type;
};
template <class A, class B>
inline constexpr bool same = false;
template <class A>
inline constexpr bool same<A, A> = true;
template <class H, class One>
inline constexpr bool lifts = same<typename Leaf<H>::type, One>;

SGMC_BINARY(operator+, NF, NF, a.v + b.v)
SGMC_BINARY(operator-, NF, NF, a.v - b.v)
SGMC_BINARY(operator*, NF, NF, a.v* b.v)
SGMC_BINARY(operator/, NF, NF, a.v / b.v)
SGMC_BINARY(operator+, NU, NU, a.v + b.v)
SGMC_BINARY(operator-, NU, NU, a.v - b.v)
SGMC_BINARY(operator*, NU, NU, a.v* b.v)
SGMC_BINARY(operator&, NU, NU, a.v & b.v)
SGMC_BINARY(operator|, NU, NU, a.v | b.v)
SGMC_BINARY(operator^, NU, NU, a.v ^ b.v)

#if defined(SGMC_AVX512)
SGMC_BINARY(operator<, NF, NM, _mm512_cmp_ps_mask((__m512)a.v, (__m512)b.v, _CMP_LT_OQ))
SGMC_BINARY(operator<=, NF, NM, _mm512_cmp_ps_mask((__m512)a.v, (__m512)b.v, _CMP_LE_OQ))
SGMC_BINARY(operator==, NU, NM, _mm512_cmpeq_epi32_mask((__m512i)a.v, (__m512i)b.v))
SGMC_BINARY(operator<, NU, NM, _mm512_cmplt_epi32_mask((__m512i)a.v, (__m512i)b.v))  // signed
SGMC_BINARY(operator&, NM, NM, static_cast<__mmask16>(a.v & b.v))
SGMC_BINARY(operator|, NM, NM, static_cast<__mmask16>(a.v | b.v))
SGMC_BINARY(min, NF, NF, (NativeF)_mm512_min_ps((__m512)a.v, (__m512)b.v))
SGMC_BINARY(max, NF, NF, (NativeF)_mm512_max_ps((__m512)a.v, (__m512)b.v))
#else
SGMC_BINARY(operator<, NF, NM, (NativeI)(a.v < b.v))
SGMC_BINARY(operator<=, NF, NM, (NativeI)(a.v <= b.v))
SGMC_BINARY(operator==, NU, NM, (NativeI)(a.v == b.v))
SGMC_BINARY(operator<, NU, NM, (NativeI)a.v < (NativeI)b.v)  // signed
SGMC_BINARY(operator&, NM, NM, a.v & b.v)
SGMC_BINARY(operator|, NM, NM, a.v | b.v)
#if defined(SGMC_AVX2)
SGMC_BINARY(min, NF, NF, (NativeF)_mm256_min_ps((__m256)a.v, (__m256)b.v))
SGMC_BINARY(max, NF, NF, (NativeF)_mm256_max_ps((__m256)a.v, (__m256)b.v))
#elif defined(__SSE2__)
SGMC_BINARY(min, NF, NF, (NativeF)_mm_min_ps((__m128)a.v, (__m128)b.v))
SGMC_BINARY(max, NF, NF, (NativeF)_mm_max_ps((__m128)a.v, (__m128)b.v))
#else  // NEON's own minimum returns NaN; here the result is b if either is NaN
SGMC_BINARY(min, NF, NF, a.v < b.v ? a.v : b.v)
SGMC_BINARY(max, NF, NF, a.v > b.v ? a.v : b.v)
#endif
#endif

#define SGMC_UNARY(NAME, ARG, RESULT, EXPRESSION)              \
  SGMC_INLINE RESULT NAME(ARG a) { return {EXPRESSION}; }      \
  template <class H>                                           \
    requires(lifts<H, ARG>)                                    \
  SGMC_INLINE auto NAME(Pair<H> a) {                           \
    return Pair<decltype(NAME(a.lo))>{NAME(a.lo), NAME(a.hi)}; \
  }

#if defined(SGMC_AVX512)
SGMC_UNARY(sqrt, NF, NF, (NativeF)_mm512_sqrt_ps((__m512)a.v))
SGMC_UNARY(floor, NF, NF,
           (NativeF)_mm512_roundscale_ps((__m512)a.v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC))
SGMC_UNARY(operator~, NM, NM, static_cast<__mmask16>(~a.v))
#elif defined(SGMC_AVX2)
SGMC_UNARY(sqrt, NF, NF, (NativeF)_mm256_sqrt_ps((__m256)a.v))
SGMC_UNARY(floor, NF, NF, (NativeF)_mm256_floor_ps((__m256)a.v))
SGMC_UNARY(operator~, NM, NM, ~a.v)
#elif defined(__SSE2__)
SGMC_UNARY(sqrt, NF, NF, (NativeF)_mm_sqrt_ps((__m128)a.v))
SGMC_INLINE NF floor(NF a) {  // |a| >= 2^23 is already an integer
  NativeF const t = __builtin_convertvector(__builtin_convertvector(a.v, NativeI), NativeF);
  NativeF const down = t - (t > a.v ? NativeF{} + 1.0f : NativeF{});
  NativeF const magnitude = a.v < 0.0f ? -a.v : a.v;
  return {magnitude < 8388608.0f ? down : a.v};
}
template <class H>
  requires(lifts<H, NF>)
SGMC_INLINE Pair<H> floor(Pair<H> a) {
  return {floor(a.lo), floor(a.hi)};
}
SGMC_UNARY(operator~, NM, NM, ~a.v)
#else
SGMC_UNARY(sqrt, NF, NF, (NativeF)vsqrtq_f32((float32x4_t)a.v))
SGMC_UNARY(floor, NF, NF, (NativeF)vrndmq_f32((float32x4_t)a.v))
SGMC_UNARY(operator~, NM, NM, ~a.v)
#endif
SGMC_UNARY(operator-, NF, NF, -a.v)
SGMC_UNARY(bits, NF, NU, (NativeU)a.v)                                        // reinterpret
SGMC_UNARY(as_float, NU, NF, (NativeF)a.v)                                    // reinterpret
SGMC_UNARY(to_float, NU, NF, __builtin_convertvector((NativeI)a.v, NativeF))  // signed integer

// To an integer, truncated, or to the nearest one with ties to even. Values without a near integer,
// such as NaN, become -2^31.
#if defined(__SSE2__)
SGMC_UNARY(to_int, NF, NU, (NativeU) __builtin_convertvector(a.v, NativeI))
#else  // NEON gives 2^31 - 1 and 0 where x86 gives -2^31
SGMC_INLINE float32x4_t integral(NF a) {
  return (float32x4_t)(a.v < 0x1p31f ? a.v : NativeF{} - 0x1p31f);
}
SGMC_UNARY(to_int, NF, NU, (NativeU)vcvtq_s32_f32(integral(a)))
#endif
#if defined(SGMC_AVX512)
SGMC_UNARY(round_int, NF, NU, (NativeU)_mm512_cvtps_epi32((__m512)a.v))
#elif defined(SGMC_AVX2)
SGMC_UNARY(round_int, NF, NU, (NativeU)_mm256_cvtps_epi32((__m256)a.v))
#elif defined(__SSE2__)
SGMC_UNARY(round_int, NF, NU, (NativeU)_mm_cvtps_epi32((__m128)a.v))
#else
SGMC_UNARY(round_int, NF, NU, (NativeU)vcvtnq_s32_f32(integral(a)))
#endif

SGMC_INLINE NU shr(NU a, int n) { return {a.v >> n}; }
SGMC_INLINE NU shl(NU a, int n) { return {a.v << n}; }
template <class H>
SGMC_INLINE Pair<H> shr(Pair<H> a, int n) {
  return {shr(a.lo, n), shr(a.hi, n)};
}
template <class H>
SGMC_INLINE Pair<H> shl(Pair<H> a, int n) {
  return {shl(a.lo, n), shl(a.hi, n)};
}

SGMC_INLINE U16 rotl(U16 a, int n) { return shl(a, n) | shr(a, 32 - n); }

// m ? a : b
#if defined(SGMC_AVX512)
SGMC_INLINE NF select(NM m, NF a, NF b) {
  return {(NativeF)_mm512_mask_blend_ps(m.v, (__m512)b.v, (__m512)a.v)};
}
SGMC_INLINE NU select(NM m, NU a, NU b) {
  return {(NativeU)_mm512_mask_blend_epi32(m.v, (__m512i)b.v, (__m512i)a.v)};
}
SGMC_INLINE NF add_where(NM m, NF a, NF b) {
  return {(NativeF)_mm512_mask_add_ps((__m512)a.v, m.v, (__m512)a.v, (__m512)b.v)};
}
SGMC_INLINE NU add_where(NM m, NU a, NU b) {
  return {(NativeU)_mm512_mask_add_epi32((__m512i)a.v, m.v, (__m512i)a.v, (__m512i)b.v)};
}
SGMC_INLINE std::uint32_t lanes(NM m) { return m.v; }
#else
SGMC_INLINE NF select(NM m, NF a, NF b) { return {m.v ? a.v : b.v}; }
SGMC_INLINE NU select(NM m, NU a, NU b) { return {m.v ? a.v : b.v}; }
SGMC_INLINE NF add_where(NM m, NF a, NF b) {
  return {a.v + (NativeF)(m.v & (NativeI)b.v)};  // + 0 elsewhere: a is never -0 for these callers
}
SGMC_INLINE NU add_where(NM m, NU a, NU b) { return {a.v + ((NativeU)m.v & b.v)}; }
#if defined(SGMC_AVX2)
SGMC_INLINE std::uint32_t lanes(NM m) {
  return static_cast<std::uint32_t>(_mm256_movemask_ps((__m256)m.v));
}
#elif defined(__SSE2__)
SGMC_INLINE std::uint32_t lanes(NM m) {
  return static_cast<std::uint32_t>(_mm_movemask_ps((__m128)m.v));
}
#endif
#endif
template <class H, class K>
SGMC_INLINE Pair<H> select(Pair<K> m, Pair<H> a, Pair<H> b) {
  return {select(m.lo, a.lo, b.lo), select(m.hi, a.hi, b.hi)};
}
template <class H, class K>
SGMC_INLINE Pair<H> add_where(Pair<K> m, Pair<H> a, Pair<H> b) {
  return {add_where(m.lo, a.lo, b.lo), add_where(m.hi, a.hi, b.hi)};
}
/// Bit i of the result is lane i of the mask.
#if defined(__aarch64__)
SGMC_INLINE std::uint32_t lanes(M16 m) {  // sums across lanes are slow, so use one for all
  NativeU const bit{1, 2, 4, 8};
  auto const of = [&](NM four, int first) { return (NativeU)four.v & (bit << first); };
  return vaddvq_u32(
      (uint32x4_t)(of(m.lo.lo, 0) | of(m.lo.hi, 4) | of(m.hi.lo, 8) | of(m.hi.hi, 12)));
}
#else
template <class H>
SGMC_INLINE std::uint32_t lanes(Pair<H> m) {
  return lanes(m.lo) | (lanes(m.hi) << width<H>);
}
#endif
SGMC_INLINE int popcount(std::uint32_t m) { return __builtin_popcount(m); }

SGMC_INLINE F16 abs(F16 a) { return as_float(bits(a) & u16(0x7fffffffu)); }

/// 0, 1, ..., 15
SGMC_INLINE U16 iota() {
  alignas(64) static constexpr std::uint32_t k[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                      8, 9, 10, 11, 12, 13, 14, 15};
  return load_u(k);
}

// ---- integers and doubles: two registers for one of floats -------------------------------------

SGMC_INLINE ND add(ND a, ND b) { return {a.lo + b.lo, a.hi + b.hi}; }
SGMC_INLINE ND subtract(ND a, ND b) { return {a.lo - b.lo, a.hi - b.hi}; }
SGMC_INLINE ND multiply(ND a, ND b) { return {a.lo * b.lo, a.hi * b.hi}; }
SGMC_INLINE ND divide(ND a, ND b) { return {a.lo / b.lo, a.hi / b.hi}; }
SGMC_BINARY(operator+, ND, ND, add(a, b))
SGMC_BINARY(operator-, ND, ND, subtract(a, b))
SGMC_BINARY(operator*, ND, ND, multiply(a, b))
SGMC_BINARY(operator/, ND, ND, divide(a, b))

SGMC_INLINE NativeD root(NativeD a) {
#if defined(SGMC_AVX512)
  return (NativeD)_mm512_sqrt_pd((__m512d)a);
#elif defined(SGMC_AVX2)
  return (NativeD)_mm256_sqrt_pd((__m256d)a);
#elif defined(__SSE2__)
  return (NativeD)_mm_sqrt_pd((__m128d)a);
#else
  return (NativeD)vsqrtq_f64((float64x2_t)a);
#endif
}
SGMC_INLINE ND roots(ND a) { return {root(a.lo), root(a.hi)}; }
SGMC_UNARY(sqrt, ND, ND, roots(a))

SGMC_INLINE ND widen(NF a) {
#if defined(SGMC_AVX512)
  return {(NativeD)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)a.v)),
          (NativeD)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)a.v, 1))};
#elif defined(SGMC_AVX2)
  return {(NativeD)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)a.v)),
          (NativeD)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)a.v, 1))};
#elif defined(__SSE2__)
  return {(NativeD)_mm_cvtps_pd((__m128)a.v),
          (NativeD)_mm_cvtps_pd(_mm_movehl_ps((__m128)a.v, (__m128)a.v))};
#else
  return {(NativeD)vcvt_f64_f32(vget_low_f32((float32x4_t)a.v)),
          (NativeD)vcvt_high_f64_f32((float32x4_t)a.v)};
#endif
}
SGMC_UNARY(to_double, NF, ND, widen(a))

SGMC_INLINE NF narrow(ND a) {
#if defined(SGMC_AVX512)
  return {(NativeF)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)a.lo)),
                                      _mm512_cvtpd_ps((__m512d)a.hi), 1)};
#elif defined(SGMC_AVX2)
  return {(NativeF)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)a.hi), _mm256_cvtpd_ps((__m256d)a.lo))};
#elif defined(__SSE2__)
  return {(NativeF)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)a.lo), _mm_cvtpd_ps((__m128d)a.hi))};
#else
  return {(NativeF)vcvt_high_f32_f64(vcvt_f32_f64((float64x2_t)a.lo), (float64x2_t)a.hi)};
#endif
}

/// Doubles rounded to floats.
SGMC_UNARY(narrowed, ND, NF, narrow(a).v)

SGMC_INLINE NativeD load_integers(std::int64_t const* p) {
  NativeW x;
  std::memcpy(&x, p, sizeof x);
#if defined(SGMC_AVX512)
  return (NativeD)_mm512_cvtepi64_pd((__m512i)x);
#elif defined(__aarch64__)
  return (NativeD)vcvtq_f64_s64((int64x2_t)x);
#else
  // 2^84 + 2^63 + the upper half and 2^52 + the lower half are doubles by their bits; the constants
  // cancel exactly, and the final addition rounds like a conversion.
  NativeD const low = (NativeD)((x & 0xffffffffu) | 0x4330000000000000u);
  NativeD const high = (NativeD)((x >> 32) ^ 0x4530000080000000u);
  return (high - 0x1.00000801p84) + low;
#endif
}

/// p[i] * factor in double, rounded to float.
SGMC_INLINE void load_scaled(std::int64_t const* p, double factor, NF& r) {
  NativeD const f = factor - NativeD{};
  r = narrow({load_integers(p) * f, load_integers(p + kNative / 2) * f});
}
template <class H>
SGMC_INLINE void load_scaled(std::int64_t const* p, double factor, Pair<H>& r) {
  load_scaled(p, factor, r.lo);
  load_scaled(p + width<H>, factor, r.hi);
}
SGMC_INLINE F16 load_scaled(std::int64_t const* p, double factor) {
  F16 r;
  load_scaled(p, factor, r);
  return r;
}

// ---- crossing lanes ----------------------------------------------------------------------------

/// The lanes of `current` moved up by N, with freed lanes filled from the top lanes of `previous`.
template <int N>
SGMC_INLINE NF shift_in(NF previous, NF current) {
#if defined(SGMC_AVX512)
  return {(NativeF)_mm512_alignr_epi32((__m512i)current.v, (__m512i)previous.v, 16 - N)};
#elif defined(SGMC_AVX2)
  constexpr int w = 8 - N;
  return {__builtin_shufflevector(previous.v, current.v, w, w + 1, w + 2, w + 3, w + 4, w + 5,
                                  w + 6, w + 7)};
#else
  constexpr int w = 4 - N;
  return {__builtin_shufflevector(previous.v, current.v, w, w + 1, w + 2, w + 3)};
#endif
}
template <int N, class H>
SGMC_INLINE Pair<H> shift_in(Pair<H> previous, Pair<H> current) {
  if constexpr (N == width<H>)
    return {previous.hi, current.lo};
  else
    return {shift_in<N>(previous.hi, current.lo), shift_in<N>(current.lo, current.hi)};
}

/// Inclusive prefix sums: lane i of the result is a_0 + ... + a_i, by a tree of distances 1, 2, 4,
/// 8.
SGMC_INLINE F16 prefix(F16 a) {
  F16 const zero = f16(0.0f);
  a = a + shift_in<1>(zero, a);
  a = a + shift_in<2>(zero, a);
  a = a + shift_in<4>(zero, a);
  return a + shift_in<8>(zero, a);
}

/// Lane `i` of `a`.
SGMC_INLINE float lane(F16 a, int i) {
#if defined(SGMC_AVX512)
  return _mm512_cvtss_f32(_mm512_permutexvar_ps(_mm512_set1_epi32(i), (__m512)a.v));
#else
  alignas(64) float x[16];
  store(x, a);
  return x[i];
#endif
}

/// The minimum and the maximum of all lanes.
SGMC_INLINE float least(F16 a) {
  float found = lane(a, 0);
  for (int i = 1; i < kLanes; ++i) found = lane(a, i) < found ? lane(a, i) : found;
  return found;
}
SGMC_INLINE float greatest(F16 a) { return -least(-a); }

SGMC_INLINE int lane(U16 a, int i) {
#if defined(SGMC_AVX512)
  return _mm512_cvtsi512_si32(_mm512_permutexvar_epi32(_mm512_set1_epi32(i), (__m512i)a.v));
#else
  alignas(64) std::int32_t x[16];
  store(x, a);
  return x[i];
#endif
}

/// Lane `i` of `a` in all lanes.
SGMC_INLINE F16 splat(F16 a, int i) {
#if defined(SGMC_AVX512)
  return {(NativeF)_mm512_permutexvar_ps(_mm512_set1_epi32(i), (__m512)a.v)};
#else
  return f16(lane(a, i));
#endif
}

/// p[i] += lane i, as signed integers.
SGMC_INLINE void add_wide(std::int64_t* p, NU a) {
#if defined(SGMC_AVX512)
  __m512i const v = (__m512i)a.v, lo = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(v)),
                hi = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v, 1));
  _mm512_storeu_si512(p, _mm512_add_epi64(_mm512_loadu_si512(p), lo));
  _mm512_storeu_si512(p + 8, _mm512_add_epi64(_mm512_loadu_si512(p + 8), hi));
#else
  for (int i = 0; i < kNative; ++i) p[i] += static_cast<std::int32_t>(a.v[i]);
#endif
}
template <class H>
SGMC_INLINE void add_wide(std::int64_t* p, Pair<H> a) {
  add_wide(p, a.lo);
  add_wide(p + width<H>, a.hi);
}

}  // namespace sgmc::SGMC_ISA
