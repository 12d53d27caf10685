// Expected topics of documents by collapsed variational inference: the arguments of its kernel.
#pragma once

#include <cstdint>

#include "sgmc/csr.hpp"

namespace sgmc {

/// Expected counts of topics in documents, given topics phi, by the zeroth order of collapsed
/// variational Bayes (CVB0: Asuncion, Welling, Smyth and Teh 2009, eq. 8, with phi known):
///
///   r_dwk ~ (alpha_k + N_dk - r_dwk) phi_kw,   N_dk = sum_w n_dw r_dwk
///
/// from r_dwk ~ phi_kw, `passes` times, all words of a document at once. Nothing is random. Every
/// row of phi has a sum that is positive and finite, also times max alpha + tokens (the driver
/// refuses others). NumPy: tests/oracles/expected.py.
struct ExpectedTask : Csr {
  float const* phi;  // (R, stride)
  std::int64_t stride;
  float const* alpha;  // (stride), pads 0
  std::int32_t passes;
  std::int64_t const* order;  // order in which to take the documents
  float* found;               // (documents, stride): N_dk; pads 0
  std::int64_t* next;         // shared cursor into order[], advanced atomically
};

/// Scratch of one thread, for at most `max_entries` distinct words.
struct ExpectedScratch {
  float* shares;  // max_entries * stride: r of each word
  float* before;  // stride: alpha + N of the previous pass
};

}  // namespace sgmc
