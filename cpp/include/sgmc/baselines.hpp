// Contracts of the ways to sample documents that the baselines have, and mixtures; see kernels.hpp.
#pragma once

#include <cstdint>

#include "sgmc/address.hpp"
#include "sgmc/purpose.hpp"

namespace sgmc {

/// Mean-field variational Bayes of documents, given weights exp(E log phi_kw):
///
///   r_dwk ~ exp(psi(gamma_dk)) weight_wk,   gamma_dk = alpha + sum_w n_dw r_dwk
///
/// in turns until the mean change of gamma is below `tolerance`, at most `sweeps` times (Hoffman,
/// Blei and Bach 2010, algorithm 1). Only ratios over topics matter, so that weights of a word may
/// have any common factor.
struct MeanFieldTask {
  float const* weights;  // (R, stride)
  std::int64_t stride;
  std::int32_t topics;
  std::int64_t const* indptr;  // documents in CSR over the R rows
  std::int32_t const* indices;
  std::int32_t const* counts;
  std::int64_t const* order;
  std::int64_t documents;
  float alpha, tolerance;
  std::int32_t sweeps;
  float* gamma;  // (documents, stride): where a document starts, and what becomes of it; pads 0
  // n_dw r_dwk in units of 2^-24, or null; shared by all threads as in DocumentsTask
  std::int64_t* word_counts;  // (R, stride)
  std::uint8_t* touched;      // (R)
  std::int64_t* next;
};

/// Scratch of one thread, `stride` values each.
struct MeanFieldScratch {
  float* expected;  // exp(psi(gamma_k)), up to a factor
  float* sums;
};

/// Collapsed Gibbs sampling: topics over words are integrated out too.
///
///   p(z_i = k | rest) ~ (alpha + n_dk^-i) (eta + n_kw^-i) / (V eta + n_k^-i)
///                                                    Griffiths and Steyvers (2004), eq. (5)
///
/// One chain over all tokens in their order: it cannot be shared between threads. A token whose z
/// is -1 enters conditional on those that have a topic. Randomness: Purpose `purpose`, entity =
/// entity[d].
struct CollapsedTask {
  std::int64_t stride;
  std::int32_t topics;
  std::int64_t const* indptr;  // documents in CSR over R rows
  std::int32_t const* indices;
  std::int32_t const* counts;
  std::uint64_t const* entity;
  std::int64_t documents;
  float alpha, eta;
  double mass;  // V eta
  std::int32_t sweeps;
  Address address;
  Purpose purpose;
  std::int32_t* z;  // document d owns z[token_ptr[d] .. token_ptr[d + 1])
  std::int64_t const* token_ptr;
  std::int32_t* table;   // (R, stride): n_kw of all z >= 0
  std::int64_t* totals;  // (stride): n_k
};

/// Scratch: `stride` values each, `uniforms` kUniforms.
struct CollapsedScratch {
  float* counts;   // alpha + n_dk
  float* inverse;  // 1 / (V eta + n_k)
  float* sums;
  float* uniforms;
};

/// Allocation of documents to components given their slices (Walker 2007; Kalli et al. 2011):
///
///   z_d = j with probability ~ prod_w phi_jw^{n_dw} among the j with log w_j >= slice_d
///
/// The weights are in the slices already. Randomness: Purpose `purpose`, entity = entity[d].
struct MixtureTask {
  float const* log_phi;     // (R, stride), components in columns, pads 0
  float const* log_weight;  // (stride)
  std::int64_t stride;
  std::int32_t components;
  std::int64_t const* indptr;  // documents in CSR over R rows
  std::int32_t const* indices;
  std::int32_t const* counts;
  std::uint64_t const* entity;
  float const* slice;  // log u_d, at most the log weight of some component
  Address address;
  Purpose purpose;
  std::int32_t* z;  // by document
};

}  // namespace sgmc
