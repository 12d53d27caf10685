// Counts of documents on their way to the rows of their words, either at once or as waiting lists.
#pragma once

#include "sgmc/compress.hpp"
#include "sgmc/counts.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/lanes.hpp"

namespace sgmc::SGMC_ISA {

/// Calls add(out) with a row of counts reserved for this thread; a new row was cleared.
template <class Add>
SGMC_INLINE void with_row(DocumentsTask const& task, std::int64_t row, Add&& add) {
  std::int64_t const stride = task.stride;
  std::int64_t* const out = task.word_counts + row * stride;
  std::uint8_t* const state = task.touched + row;
  // an atomic exchange costs as much as sampling one or two tokens
  bool const touched = task.alone ? *state == kTouched : take_row(state);
  if (!touched)
    for (std::int64_t k = 0; k < stride; ++k) out[k] = 0;
  add(out);
  task.alone ? void(*state = kTouched) : give_row(state);
}

/// Adds waiting counts to the rows of their words, row by row.
inline void add_waiting(DocumentsTask const& task, WaitingCounts& w) {
  double const unit = task.rao_blackwell ? kUnit : 1.0;
  for (std::int64_t r = 0; r <= task.rows; ++r) w.first[r] = 0;
  for (std::int64_t i = 0; i < w.lists; ++i) ++w.first[w.row[i] + 1];
  for (std::int64_t r = 0; r < task.rows; ++r) w.first[r + 1] += w.first[r];
  for (std::int64_t i = 0; i < w.lists; ++i)
    w.order[w.first[w.row[i]]++] = static_cast<std::int32_t>(i);
  for (std::int64_t i = 0; i < w.lists;) {
    std::int32_t const row = w.row[w.order[i]];
    with_row(task, row, [&](std::int64_t* out) {
      for (; i < w.lists && w.row[w.order[i]] == row; ++i)
        for (std::int64_t p = w.begin[w.order[i]]; p < w.begin[w.order[i] + 1]; ++p)
          out[w.topic[p]] += fixed_point(w.value[p], unit);
    });
  }
  w.n = w.lists = 0;
}

SGMC_INLINE void begin_list(WaitingCounts& w, std::int32_t row) {
  w.row[w.lists] = row;
  w.begin[w.lists] = w.n;
}

/// Appends the non-zero counts of sixteen.
SGMC_INLINE void push_some(WaitingCounts& w, U16 topics, F16 counts) {
  std::uint32_t const some = lanes(f16(0.0f) < counts);
  compress(w.topic + w.n, some, topics);
  w.n += compress(w.value + w.n, some, counts);
}

SGMC_INLINE void end_list(WaitingCounts& w) { w.begin[++w.lists] = w.n; }

}  // namespace sgmc::SGMC_ISA
