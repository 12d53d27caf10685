// Deep LDA: what its kernel is given. Cong, Chen, Liu and Zhou (2017); symbols of docs/deep-lda.md.
//
// Layers are counted from the data up, 0 .. layers - 1 here. Layer l has `topics[l]` topics; its
// "words" are the vocabulary for l = 0, the topics of layer l - 1 above.
#pragma once

#include <cstdint>

#include "sgmc/address.hpp"
#include "sgmc/csr.hpp"
#include "sgmc/purpose.hpp"

namespace sgmc {

inline constexpr int kMaxLayers = 8;
/// Number of words whose weights are in memory at a time.
inline constexpr int kGroup = 16;
/// Minimum of theta as stored, so that every token can have a topic.
inline constexpr float kThetaFloor = 1e-30f;

/// Meaning of the entries of a document.
enum class Link : std::int32_t {
  counts,  // Poisson counts
  binary,  // 1 if the Poisson count is at least 1
  real,    // Gamma(Poisson count, 1/a_j): non-negative reals, as whole multiples of a unit
};

/// Upward-downward Gibbs sampling of the local variables of documents, given topics.
///
/// State of a document: theta of every layer, the rates c of layers 1 .. layers (c[0] is the
/// paper's c^(2), with p^(2) = 1 / (1 + c[0])), and with Link::real the rate a. Per sweep: split
/// and tables upward, rates, theta downward, in the order that leaves the joint law invariant
/// (docs/internals/mathematics.md). Documents are over the rows of phi[0]. Randomness: Purpose
/// `purpose`, entity = entity[d]: one generator a visit.
struct DeepTask : Csr {
  std::int32_t layers;
  std::int32_t topics[kMaxLayers];
  std::int64_t stride[kMaxLayers];  // topics padded
  float const* phi[kMaxLayers];  // (words, stride): rows of the words at hand, of all of them above
  float const*
      across[kMaxLayers];  // transposed, (stride of this layer, stride of the layer below); l > 0
  float const* r;          // (stride of the top layer) shapes of the top layer, pads 0
  float const* start;      // (sum of strides): shapes of a new document's theta, pads 0
  double a0, b0, e0, f0;   // priors of p^(2) and of the rates c, and of a (e0, f0)
  Link link;
  std::uint64_t const* entity;
  std::int64_t const* order;        // order in which to take the documents
  std::int32_t sweeps, kept, held;  // rates stay unchanged in the first `held` sweeps
  bool rao_blackwell;               // collect expected counts in units of 2^-24, else sampled
  bool upward_only;  // a visit begins with the downward pass, from `totals`, and ends before it
  Address address;
  Purpose purpose;
  // state of the documents, or null: they start afresh. theta (documents, sum of strides), rates
  // (documents, layers + 1), totals (documents, sum of strides; upward_only)
  float* theta;
  double* rates;
  float* totals;
  bool fresh;  // state is only written; documents start afresh
  // results, each may be null
  std::int64_t* word_counts;  // (R, stride[0]), shared by threads; row valid if touched is 1
  std::uint8_t* touched;      // (R), 0 on entry
  float* mean;                // (documents, sum of strides): mean proportions in kept sweeps
  double* q;                  // (documents): sum over kept sweeps of the top layer's q
  std::int64_t* next;         // shared cursor into order[], advanced atomically
  // 0 on entry; 1 if a value was NaN or too large to count: results are then invalid, and all
  // threads stop
  std::uint8_t* not_finite;
};

/// Scratch and sums of one thread.
struct DeepScratch {
  float* theta;      // sum of strides
  float* totals;     // sum of strides: n of every layer
  float* shape;      // sum of strides: s of every layer
  float* expected;   // sum of strides: expected n of the sweep
  float* sums;       // kGroup * (widest stride + 16)
  float* group;      // kGroup * 32
  float* waiting;    // 2 * (widest stride + 16)
  std::int32_t* at;  // 2 * (widest stride + 16)
  float* lifted;     // 2 * (widest stride + 16)
  float* collected;  // entries * stride[0]
  // results: sums over documents and kept sweeps, to which values are added
  std::int64_t* upper[kMaxLayers];  // (topics[l - 1], stride[l]), l > 0; null if not requested
  std::int64_t* tables;             // (stride of the top layer)
};

}  // namespace sgmc
