// What row kernels do with a row they have written.
#pragma once

#include "sgmc/kernels.hpp"
#include "sgmc/simd.hpp"

namespace sgmc::SGMC_ISA {

/// Finishes row after row: pads become 0, and sums[k] = sum of the rows' k-th values, in their order.
class Finish {
 public:
  SGMC_INLINE Finish(double* sums, std::int32_t topics, std::int64_t stride)
      : sums_(sums),
        stride_(stride),
        real_(iota() < u16(static_cast<std::uint32_t>(topics - (stride - 16)))) {
    for (std::int64_t k = 0; k < stride; ++k) sums[k] = 0.0;
  }
  SGMC_INLINE void row(float* row) {
    float* const last = row + stride_ - 16;
    store(last, select(real_, load(last), f16(0.0f)));
    rows_[waiting_++] = row;
    if (waiting_ == kAtOnce) flush();
  }
  /// Adds the rows that wait for others to share a load and a store of the sums with.
  SGMC_INLINE void flush() {
    for (std::int64_t k = 0; k < stride_; k += 16) {
      D16 sum = load(sums_ + k);
      for (int i = 0; i < waiting_; ++i) sum = sum + to_double(load(rows_[i] + k));
      store(sums_ + k, sum);
    }
    waiting_ = 0;
  }

 private:
  static constexpr int kAtOnce = 4;
  double* sums_;
  std::int64_t stride_;
  M16 real_;
  float const* rows_[kAtOnce];
  int waiting_ = 0;
};

}  // namespace sgmc::SGMC_ISA
