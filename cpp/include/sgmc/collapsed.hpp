// Collapsed Gibbs sampling: the arguments of its kernel.
#pragma once

#include <cstdint>

#include "sgmc/address.hpp"
#include "sgmc/csr.hpp"
#include "sgmc/purpose.hpp"

namespace sgmc {

/// Collapsed Gibbs sampling: topics over words are integrated out too.
///
///   p(z_i = k | rest) ~ (alpha_k + n_dk^-i) (eta_kw + n_kw^-i) / (eta_k + n_k^-i)
///                                                    Griffiths and Steyvers (2004), eq. (5)
///
/// with eta_k the sum of eta_kw over all V words. Words of one prior share a row of `priors`.
///
/// One chain over all tokens in their order: threads cannot share it. A token with z = -1 enters
/// conditional on the tokens that have a topic. Randomness: Purpose `purpose`, entity = entity[d].
/// Each token depends on the draw before it, so that one chain leaves most of a core idle: several
/// chains of the same documents go through them in pairs.
struct CollapsedTask : Csr {
  std::int64_t stride;
  std::int32_t topics;
  std::uint64_t const* entity;
  float const* alpha;            // (stride)
  double const* mass;            // (stride): eta_k
  float const* priors;           // rows of `stride` values eta_kw
  std::int32_t const* prior_of;  // (R): row of `priors` for each word
  std::int32_t sweeps;
  Address address;
  Purpose purpose;
  std::int32_t* z;  // document d has z[token_ptr[d] .. token_ptr[d + 1])
  std::int64_t const* token_ptr;
  std::int32_t* table;   // (R, stride): n_kw over all z >= 0
  std::int64_t* totals;  // (stride): n_k
};

/// Documents [first, last), visited in one of the task's sweeps. Consecutive parts draw the same as
/// one part of all documents.
struct CollapsedPart {
  std::int32_t sweep;
  std::int64_t first, last;
};

/// Scratch: `stride` values each, `uniforms` kUniforms.
struct CollapsedScratch {
  float* counts;   // alpha_k + n_dk
  float* inverse;  // 1 / (eta_k + n_k)
  float* above;    // 1 / (eta_k + n_k + 1)
  float* sums;
  float* uniforms;
};

}  // namespace sgmc
