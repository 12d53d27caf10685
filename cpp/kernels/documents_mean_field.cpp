// Mean-field variational Bayes of documents, which is the local step of online variational Bayes.
#include <cstdint>

#include "sgmc/counts.hpp"
#include "sgmc/digamma.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/lanes.hpp"

namespace sgmc::SGMC_ISA {
namespace {

/// exp(psi(gamma_k)) divided by a factor such that the largest is about gamma_k + 6.
void expect(MeanFieldTask const& task, float const* gamma, float* expected) {
  F16 lowest = f16(3e38f);
  for (std::int64_t k = 0; k < task.stride; k += 16) {
    M16 const real = real_lanes(task.topics, k);
    F16 const drop = exp_digamma(select(real, load(gamma + k), f16(1e30f))).drop;
    store(expected + k, drop);
    lowest = min(lowest, select(real, drop, f16(3e38f)));
  }
  F16 const smallest = f16(least(lowest));
  for (std::int64_t k = 0; k < task.stride; k += 16) {
    M16 const real = real_lanes(task.topics, k);
    F16 const top = load(gamma + k) + f16(6.0f);
    store(expected + k, select(real, top * exp(smallest - load(expected + k)), f16(0.0f)));
  }
}

/// sum_k expected_k weight_k
SGMC_INLINE float normaliser(float const* expected, float const* weights, std::int64_t stride) {
  F16 sum = f16(0.0f);
  for (std::int64_t k = 0; k < stride; k += 16) sum = sum + load(expected + k) * load(weights + k);
  return lane(prefix(sum), 15);
}

void iterate(MeanFieldTask const& task, std::int64_t d, MeanFieldScratch const& s) {
  std::int64_t const stride = task.stride;
  float* const gamma = task.gamma + d * stride;
  float const enough = task.tolerance * static_cast<float>(task.topics);
  for (std::int32_t sweep = 0; sweep < task.sweeps; ++sweep) {
    expect(task, gamma, s.expected);
    for (std::int64_t k = 0; k < stride; k += 16) store(s.sums + k, f16(0.0f));
    for (std::int64_t i = task.indptr[d]; i < task.indptr[d + 1]; ++i) {
      float const* const weights = task.weights + task.indices[i] * stride;
      F16 const part =
          f16(static_cast<float>(task.counts[i]) / normaliser(s.expected, weights, stride));
      for (std::int64_t k = 0; k < stride; k += 16)
        store(s.sums + k, load(s.sums + k) + load(weights + k) * part);
    }
    F16 change = f16(0.0f);
    for (std::int64_t k = 0; k < stride; k += 16) {
      M16 const real = real_lanes(task.topics, k);
      F16 const fresh = f16(task.alpha) + load(s.expected + k) * load(s.sums + k);
      change = change + select(real, abs(fresh - load(gamma + k)), f16(0.0f));
      store(gamma + k, select(real, fresh, f16(0.0f)));
    }
    if (lane(prefix(change), 15) < enough) break;
  }
}

/// Adds n_dw r_dwk, with r computed from the document's gamma, to its words' counts.
void collect(MeanFieldTask const& task, std::int64_t d, MeanFieldScratch const& s) {
  std::int64_t const stride = task.stride;
  expect(task, task.gamma + d * stride, s.expected);
  for (std::int64_t i = task.indptr[d]; i < task.indptr[d + 1]; ++i) {
    std::int64_t const row = task.indices[i];
    float const* const weights = task.weights + row * stride;
    F16 const part =
        f16(static_cast<float>(task.counts[i]) / normaliser(s.expected, weights, stride));
    for (std::int64_t k = 0; k < stride; k += 16)
      store(s.sums + k, load(s.expected + k) * load(weights + k) * part);
    std::int64_t* const out = task.word_counts + row * stride;
    if (!take_row(task.touched + row))
      for (std::int64_t k = 0; k < stride; ++k) out[k] = 0;
    for (std::int64_t k = 0; k < stride; k += 16)
      add_fixed(out + k, s.sums + k, kUnit, task.counts[i] < 128);
    give_row(task.touched + row);
  }
}

}  // namespace

void documents_mean_field(MeanFieldTask const& task, MeanFieldScratch const& scratch) noexcept {
  for (;;) {
    std::int64_t const i = __atomic_fetch_add(task.next, std::int64_t{1}, __ATOMIC_RELAXED);
    if (i >= task.documents) return;
    std::int64_t const d = task.order[i];
    iterate(task, d, scratch);
    if (task.word_counts) collect(task, d, scratch);
  }
}

}  // namespace sgmc::SGMC_ISA
