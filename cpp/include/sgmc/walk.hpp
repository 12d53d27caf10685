// Topics whose words walk through time slices: b_1 ~ N(0, spread^2), b_t ~ N(b_(t-1), drift^2) for
// each word of a topic, and phi_t = softmax(b_t) over words (Blei and Lafferty 2006). All slices of
// a word form a vector that moves in one step.
#pragma once

#include <cstdint>

#include "sgmc/address.hpp"
#include "sgmc/purpose.hpp"

namespace sgmc {

/// A step of b, (V T, stride): row w T + t is word w in slice t. With c the counts of the corpus, n
/// their sums over words, and Q the precision of the walk, tridiagonal:
///
///   g = c - n phi - Q b,   A = Q + diag(m),   A = L D L^T by elimination along the slices
///
/// touched[i] are ascending rows; counts (touched, stride) integers; counts * factor estimates c.
struct WalkTask {
  std::int64_t words, slices, stride;
  std::int32_t topics;
  float const* diagonal;  // (slices): of Q
  float tie;              // 1 / drift^2: Q has -tie next to its diagonal
  float const* shift;     // (slices, stride): near the logarithm of sum_w exp(b)
  float const* scale;     // (slices, stride): phi = exp(b - shift) scale; pads 0
  float const* total;     // (slices, stride): n; pads 0
  std::int64_t const* counts;
  std::int32_t const* touched;
  std::int64_t n_touched;
  double factor;
  double h;  // of walk_accept
  Address address;
};

/// Size of a step by minibatches: b += take M g + noise M^(1/2) z, where M is the inverse of A.
struct WalkMove {
  float take, noise;  // 1 - e^-h and sqrt(1 - e^-2h): exact for a Gaussian of precision A
  float weight;       // weight of these counts in the running mean m
  bool warm;          // m is at least n phi and has these counts already; else at least 1
};

/// Scratch of one thread for all slices of a word: sizes in values.
struct WalkScratch {
  float* value;           // kValues * slices * kPad
  double* sum;            // slices * kPad
  std::int64_t* counted;  // slices: row of counts of each slice, or -1
  static constexpr std::int64_t kValues = 6;
};

}  // namespace sgmc
