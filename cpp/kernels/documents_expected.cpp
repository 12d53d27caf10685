// Expected topics of new documents: collapsed variational inference of zeroth order.
//
// Words of a document are independent within a pass, so that the processor has several of them in
// work at once; a pass over a word costs about a third of a Gibbs draw.
#include <cstdint>

#include "sgmc/kernels.hpp"
#include "sgmc/simd.hpp"

namespace sgmc::SGMC_ISA {
namespace {

/// One pass over a document: each word's shares from alpha + N without the word's own part; `sum`
/// (stride) receives the new N. The first pass has no N, and uses phi alone.
template <bool First>
void pass(ExpectedTask const& task, std::int64_t d, ExpectedScratch const& s, float* sum) {
  std::int64_t const stride = task.stride, begin = task.indptr[d], end = task.indptr[d + 1];
  if constexpr (!First)
    for (std::int64_t k = 0; k < stride; k += 16)
      store(s.before + k, load(task.alpha + k) + load(sum + k));
  for (std::int64_t k = 0; k < stride; k += 16) store(sum + k, f16(0.0f));
  for (std::int64_t i = begin; i < end; ++i) {
    float const* const phi = task.phi + task.indices[i] * stride;
    float* const share = s.shares + (i - begin) * stride;
    F16 total = f16(0.0f);
    for (std::int64_t k = 0; k < stride; k += 16) {
      F16 weight = load(phi + k);
      if constexpr (!First)  // rounding must not give less than alpha
        weight = weight * max(load(s.before + k) - load(share + k), load(task.alpha + k));
      total = total + weight;
      store(share + k, weight);
    }
    F16 const all = max(splat(prefix(total), 15), f16(0x1p-126f));
    F16 const inverse = f16(1.0f) / all, count = f16(static_cast<float>(task.counts[i]));
    for (std::int64_t k = 0; k < stride; k += 16) {
      F16 const r = load(share + k) * inverse;
      store(share + k, r);
      store(sum + k, load(sum + k) + count * r);
    }
  }
}

}  // namespace

void documents_expected(ExpectedTask const& task, ExpectedScratch const& scratch) noexcept {
  for (;;) {
    std::int64_t const i = __atomic_fetch_add(task.next, std::int64_t{1}, __ATOMIC_RELAXED);
    if (i >= task.documents) return;
    std::int64_t const d = task.order[i];
    float* const sum = task.found + d * task.stride;
    pass<true>(task, d, scratch, sum);
    for (std::int32_t p = 0; p < task.passes; ++p) pass<false>(task, d, scratch, sum);
  }
}

}  // namespace sgmc::SGMC_ISA
