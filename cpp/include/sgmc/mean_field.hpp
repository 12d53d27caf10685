// Mean-field variational Bayes of documents: the arguments of its kernel.
#pragma once

#include <cstdint>

#include "sgmc/csr.hpp"

namespace sgmc {

/// Mean-field variational Bayes of documents, given weights exp(E log phi_kw):
///
///   r_dwk ~ exp(psi(gamma_dk)) weight_wk,   gamma_dk = alpha + sum_w n_dw r_dwk
///
/// in turns until the mean change of gamma is below `tolerance`, at most `sweeps` times (Hoffman,
/// Blei and Bach 2010, algorithm 1). Only ratios over topics matter, so that weights of a word may
/// have any common factor.
struct MeanFieldTask : Csr {
  float const* weights;  // (R, stride)
  std::int64_t stride;
  std::int32_t topics;
  std::int64_t const* order;  // order in which to take the documents
  float alpha, tolerance;
  std::int32_t sweeps;
  float* gamma;  // (documents, stride): a document's start, and its result; pads 0
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

}  // namespace sgmc
