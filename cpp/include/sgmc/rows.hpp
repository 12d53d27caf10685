// The frame of all row kernels: it goes through the rows of a task, and finishes the rows written.
#pragma once

#include "sgmc/kernels.hpp"
#include "sgmc/lanes.hpp"
#include "sgmc/philox.hpp"
#include "sgmc/simd.hpp"

namespace sgmc::SGMC_ISA {

template <class Float>  // float, or float const if a kernel writes elsewhere
struct Row {
  std::int64_t word;
  Float* g;
  std::int64_t const* counts;  // or null
  double keep, take;           // e^-h and 1 - e^-h of its length; take = 0: it stays
  Float* ahead;                // the next row, or this one if it is the last

  /// Prefetches a line of the next row, which may be anywhere for a list.
  SGMC_INLINE void fetch_ahead(std::int64_t k) const { __builtin_prefetch(ahead + k); }
};

/// The rows of a task, one after the other.
template <class Float>
class Rows {
 public:
  SGMC_INLINE Rows(Float* g, RowsTask const& task) : g_(g), task_(task), at_(task.begin) {
    set_length(task.h);
  }
  SGMC_INLINE bool next(Row<Float>& row) {
    if (at_ == task_.end) return false;
    std::int64_t const i = at_++, w = task_.rows ? task_.rows[i] : i;
    if (task_.rows) set_length(task_.lengths[i]);
    bool const seen = touched_ < task_.n_touched && task_.touched[touched_] == w;
    row = {w,     at(i), seen ? task_.counts + touched_ * task_.stride : nullptr,
           keep_, take_, at(at_ == task_.end ? i : at_)};
    touched_ += seen;
    return true;
  }

 private:
  SGMC_INLINE Float* at(std::int64_t i) const {
    return g_ + (task_.rows && !task_.packed ? task_.rows[i] : i) * task_.stride;
  }
  SGMC_INLINE void set_length(double h) {
    keep_ = __builtin_exp(-h);
    take_ = -__builtin_expm1(-h);
  }
  Float* g_;
  RowsTask const& task_;
  std::int64_t at_, touched_ = 0;
  double keep_, take_;
};

/// Finishes rows one by one: pads become 0, and the task's sums become the sums of the rows, in
/// order.
class Finish {
 public:
  SGMC_INLINE explicit Finish(RowsTask const& task) : task_(task) {
    for (std::int64_t k = 0; k < task.stride; ++k) task.sums[k] = 0.0;
  }
  /// Called before a listed row is written: subtracts the row's expected value from the sums.
  SGMC_INLINE void expect(Row<float> const& row) {
    if (!task_.rows) return;
    double const arriving = static_cast<double>(task_.eta) * row.take;
    for (std::int64_t k = 0; k < task_.topics; ++k)
      task_.sums[k] -= static_cast<double>(row.g[k]) * row.keep + arriving;
  }
  SGMC_INLINE void written(float* g) {
    for (std::int64_t k = (task_.topics - 1) / 16 * 16; k < task_.stride; k += 16) {
      M16 const real = real_lanes(task_.topics, k);
      store(g + k, select(real, load(g + k), f16(0.0f)));
    }
    waiting_[n_++] = g;
    if (n_ == kAtOnce) flush();
  }
  /// Adds the rows that wait in order to share a load and a store of the sums.
  SGMC_INLINE void flush() {
    for (std::int64_t k = 0; k < task_.stride; k += 16) {
      D16 sum = load(task_.sums + k);
      for (int i = 0; i < n_; ++i) sum = sum + to_double(load(waiting_[i] + k));
      store(task_.sums + k, sum);
    }
    n_ = 0;
  }

 private:
  static constexpr int kAtOnce = 4;
  RowsTask const& task_;
  float const* waiting_[kAtOnce];
  int n_ = 0;
};

/// Writes all rows of a task for the first time: fn(stream, word, k) gives columns k .. k + 15.
template <class F>
SGMC_INLINE void start_rows(float* g, RowsTask const& task, F&& fn) {
  Stream const stream = Stream::at(task.address, task.purpose);
  Finish finish(task);
  Rows rows(g, task);
  for (Row<float> row; rows.next(row);) {
    for (std::int64_t k = 0; k < task.stride; k += 16)
      store(row.g + k, fn(stream, static_cast<std::uint64_t>(row.word), k));
    finish.written(row.g);
  }
  finish.flush();
}

}  // namespace sgmc::SGMC_ISA
