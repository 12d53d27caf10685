// The Cox-Ingersoll-Ross transition on a list of rows of unnormalised topics, exact for every step
// length; each row has its own.
//
//   N ~ Poisson(g e/c),  g' = c Gamma(a + N),  e = exp(-h), c = 1 - e       Baker et al.
//   (2018), 2.2
//
// with shape a = eta + N_kw, N_kw = counts * factor. h = infinity (e = 0, c = 1) is a fresh
// Gamma(a): the conjugate draw of a Gibbs sampler. 2 Gamma(a + N) is noncentral chi-square with 2a
// degrees of freedom; from a = 3/2 on it is drawn without N, as one degree that is not central and
// a rest that is (Johnson, Kotz and Balakrishnan 1995, 29.5):
//
//   Gamma(a + N) = (z + sqrt(2 g e/c))^2 / 2 + Gamma(a - 1/2),  z ~ N(0, 1)
//
// Most cells of a topic matrix are words that the topic does not use: N = 0 and a < 1. The first
// pass handles these cells, from a generator seeded for the row. The others go to queues, packed,
// so that each kind of work runs in full vectors; there a cell has a Philox block for each attempt.
#include <cstdint>

#include "sgmc/compress.hpp"
#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/lanes.hpp"
#include "sgmc/rows.hpp"

namespace sgmc::SGMC_ISA {
namespace {

constexpr float kInversion = 10.0f;  // maximum Poisson rate for inversion
constexpr float kNoncentral = 1.5f;  // minimum shape for draws without a count

/// Sixteen cells of a queue, with up to three values each, filled up with harmless values if not
/// `used`.
struct Waiting {
  U16 cell;
  F16 x, y, z;
  std::uint32_t used;
};

/// Waiting cells, packed: positions and values.
struct Queue {
  std::int32_t* cell;
  float *x, *y, *z;
  std::int64_t n;

  static SGMC_INLINE Queue make(RowsScratch const& s, int i) {
    return {s.index[i], s.value[i][0], s.value[i][1], s.value[i][2], 0};
  }
  SGMC_INLINE void push(std::uint32_t m, U16 cells, F16 a) {
    compress(cell + n, m, cells);
    n += compress(x + n, m, a);
  }
  SGMC_INLINE void push(std::uint32_t m, U16 cells, F16 a, F16 b) {
    compress(y + n, m, b);
    push(m, cells, a);
  }
  SGMC_INLINE void push(std::uint32_t m, U16 cells, F16 a, F16 b, F16 c) {
    compress(z + n, m, c);
    push(m, cells, a, b);
  }
  /// Ends the waiting: cells never accepted have NaN parameters.
  SGMC_INLINE void give_up(float* to) {
    for (std::int64_t i = 0; i < n; ++i) to[cell[i]] = __builtin_nanf("");
    n = 0;
  }
  /// Calls fn for all waiting cells, sixteen at a time. It may push back cells that must wait
  /// longer, never more than it was given, so that unread cells are not overwritten.
  template <class F>
  SGMC_INLINE void drain(F&& fn) {
    std::int64_t const waiting = n;
    n = 0;
    for (std::int64_t i = 0; i < waiting; i += 16) {
      Waiting q{load_u(cell + i), load(x + i), load(y + i), load(z + i), 0xffffu};
      if (std::int64_t const left = waiting - i; left < 16) {
        M16 const real = real_lanes(left, 0);
        q = {select(real, q.cell, u16(0u)), select(real, q.x, f16(1.0f)),
             select(real, q.y, f16(1.0f)), select(real, q.z, f16(1.0f)), first_lanes(left)};
      }
      fn(q);
    }
  }
};

/// Cells are numbered through a block of listed rows: cell = row * stride + topic. Attempts to draw
/// topic k of word w use blocks k, k + stride, k + 2 stride, ... of entity w.
struct Cells {
  std::int32_t const* word;  // word of each row, consecutive if `in_order`
  bool in_order;
  std::uint32_t stride;
  float inverse_stride;

  SGMC_INLINE Words words(Stream const& s, U16 cell, std::uint32_t attempt) const {
    // row = cell / stride; the rounded quotient is wrong by at most one
    U16 const width = u16(stride);
    U16 row = to_int(to_float(cell) * f16(inverse_stride));
    F16 const rest = to_float(cell - row * width);
    row = add_where(rest < f16(0.0f), row, u16(~0u));
    row = add_where(f16(static_cast<float>(stride)) <= rest, row, u16(1));
    U16 const topic = cell - row * width;
    U16 words = row + u16(static_cast<std::uint32_t>(word[0]));
    if (!in_order) {
      alignas(64) std::int32_t at[16], w[16];
      store(at, row);
      for (int l = 0; l < 16; ++l) w[l] = word[at[l]];
      words = load_u(w);
    }
    return random_words(s, topic + u16(attempt) * width, words);
  }
};

/// to[cell] = value for the used cells, accepted or not: a rejected cell returns to a queue and is
/// written again.
SGMC_INLINE void scatter(float* to, Waiting const& q, F16 value) {
  alignas(64) std::int32_t at[16];
  alignas(64) float x[16];
  store(at, q.cell);
  store(x, value);
  if (q.used == 0xffffu)
    for (int i = 0; i < 16; ++i) to[at[i]] = x[i];
  else
    for (int i = 0; i < popcount(q.used); ++i) to[at[i]] = x[i];
}

/// The first pass over a row: small gammas if N = 0 and the cheap test accepts. `busy` gets the
/// cells with possible N > 0 or with shape >= 1 (rate, v, shape), `open` the cells whose small
/// gamma needs the exact test (u, w, shape).
template <bool Counts>
SGMC_INLINE void first_pass(Row<float> const& row, std::uint32_t first_cell, float* fresh,
                            RowsTask const& task, RowWords words, Queue& busy, Queue& open) {
  F16 rate = f16(static_cast<float>(row.keep / row.take));
  F16 const one = f16(1.0f);
  F16 shape = f16(task.eta), inverse = one / shape, hat = small_gamma_hat(shape);
  for (std::int64_t k = 0; k < task.topics; k += 16) {
    if constexpr (Counts) {
      shape = f16(task.eta) + load_scaled(row.counts + k, task.factor);
      inverse = one / shape;
      hat = small_gamma_hat(shape);
    }
    if (task.column_rate) rate = load(task.column_rate + k);
    std::uint32_t const used = first_lanes(task.topics - k);
    U16 const cell = iota() + u16(first_cell + static_cast<std::uint32_t>(k));
    F16 const mu = load(row.g + k) * rate;
    row.fetch_ahead(k);
    // N >= 1 iff v < 1 - exp(-mu), and never if v >= mu
    F16 const v = uniform_open(words.next());
    std::uint32_t const waits = used & lanes((v < mu) | (one <= shape));
    busy.push(waits, cell, mu, v, shape);
    // as in small_gamma_attempt, except that 1 - x <= exp(-x) saves a logarithm
    F16 const u = uniform_open(words.next()), w = uniform_open(words.next());
    F16 const p = hat * u, x = exp(log(p) * inverse);
    std::uint32_t const accepted = lanes((p <= one) & (w <= one - x));
    store(fresh + k, x);
    open.push(used & ~waits & ~accepted, cell, u, w, shape);
  }
}

}  // namespace

void simplex_scir(float* g, RowsTask const& task, RowsScratch const& scratch) noexcept {
  auto const stream = [&](std::uint32_t nth) {  // pass, small gamma, Poisson, gamma
    auto const purpose = static_cast<Purpose>(static_cast<std::uint32_t>(task.purpose) + nth);
    return Stream::at(task.address, purpose);
  };
  Stream const pass = stream(0), small_stream = stream(1), count_stream = stream(2),
               gamma_stream = stream(3);
  float* const fresh = scratch.fresh;  // by cell: Gamma(a + N)
  std::int32_t word[kRowBlock];
  Cells const cells{word, !task.rows, static_cast<std::uint32_t>(task.stride),
                    1.0f / static_cast<float>(task.stride)};
  Queue busy = Queue::make(scratch, 0), open = Queue::make(scratch, 1);
  Queue gamma = Queue::make(scratch, 2);  // shape >= 1, rate or 0
  Queue small = Queue::make(scratch, 3);  // shape < 1
  Queue many = Queue::make(scratch, 4);   // rate, shape

  std::uint32_t first_cell = 0;
  Rows rows(g, task);
  for (Row<float> row; rows.next(row); first_cell += cells.stride) {
    word[first_cell / cells.stride] = static_cast<std::int32_t>(row.word);
    if (!(row.take > 0.0)) continue;  // already up to date
    RowWords const words = RowWords::make(pass, static_cast<std::uint64_t>(row.word));
    if (row.counts)
      first_pass<true>(row, first_cell, fresh + first_cell, task, words, busy, open);
    else
      first_pass<false>(row, first_cell, fresh + first_cell, task, words, busy, open);
  }
  open.drain([&](Waiting const& q) {
    M16 ok;
    F16 const x = small_gamma_attempt(q.z, q.x, q.y, ok);
    scatter(fresh, q, x);
    small.push(q.used & ~lanes(ok), q.cell, q.z);
  });

  // a cell with a known Poisson count waits for a gamma
  auto const counted = [&](std::uint32_t m, U16 cell, F16 shape) {
    std::uint32_t const below_one = lanes(shape < f16(1.0f));
    gamma.push(m & ~below_one, cell, shape, f16(0.0f));
    small.push(m & below_one, cell, shape);
  };
  Queue few = open;  // rate, v, shape; that memory has no other use now
  busy.drain([&](Waiting const& q) {
    std::uint32_t const without = q.used & lanes(f16(kNoncentral) <= q.z);
    std::uint32_t const large = q.used & ~without & lanes(f16(kInversion) < q.x);
    gamma.push(without, q.cell, q.z, q.x);
    many.push(large, q.cell, q.x, q.z);
    few.push(q.used & ~without & ~large, q.cell, q.x, q.y, q.z);
  });
  few.drain([&](Waiting const& q) { counted(q.used, q.cell, q.z + poisson_inversion(q.x, q.y)); });
  for (std::uint32_t attempt = 0; many.n > 0 && attempt < kAttempts; ++attempt)
    many.drain([&](Waiting const& q) {
      Words const w = cells.words(count_stream, q.cell, attempt);
      M16 ok;
      F16 const n = poisson_attempt(q.x, uniform_open(w.x[0]), uniform_open(w.x[1]), ok);
      counted(q.used & lanes(ok), q.cell, q.y + n);
      many.push(q.used & ~lanes(ok), q.cell, q.x, q.y);
    });

  for (std::uint32_t attempt = 0; gamma.n > 0 && attempt < kAttempts; ++attempt)
    gamma.drain([&](Waiting const& q) {
      Words const w = cells.words(gamma_stream, q.cell, attempt);
      F16 z, z_gamma;
      normal_pair(w.x[0], w.x[1], z, z_gamma);
      M16 ok;
      M16 const noncentral = f16(0.0f) < q.y;
      F16 const shape = q.x - select(noncentral, f16(0.5f), f16(0.0f));
      F16 const root = z + sqrt(f16(2.0f) * q.y);
      F16 const x = gamma_attempt(shape, z_gamma, uniform_open(w.x[2]), ok) +
                    select(noncentral, f16(0.5f) * root * root, f16(0.0f));
      scatter(fresh, q, x);
      gamma.push(q.used & ~lanes(ok), q.cell, q.x, q.y);
    });
  for (std::uint32_t attempt = 0; small.n > 0 && attempt < kAttempts; ++attempt)
    small.drain([&](Waiting const& q) {
      Words const w = cells.words(small_stream, q.cell, attempt);
      M16 ok;
      F16 const x = small_gamma_attempt(q.x, uniform_open(w.x[0]), uniform_open(w.x[1]), ok);
      scatter(fresh, q, x);
      small.push(q.used & ~lanes(ok), q.cell, q.x);
    });
  many.give_up(fresh);
  gamma.give_up(fresh);
  small.give_up(fresh);

  Finish finish(task);
  Rows again(g, task);
  float const* from = fresh;
  for (Row<float> row; again.next(row); from += task.stride) {
    if (!(row.take > 0.0)) continue;
    finish.expect(row);
    F16 c = f16(static_cast<float>(row.take));
    for (std::int64_t k = 0; k < task.stride; k += 16) {
      if (task.column_take) c = load(task.column_take + k);
      store(row.g + k, c * load(from + k));
    }
    finish.written(row.g);
  }
  finish.flush();
}

}  // namespace sgmc::SGMC_ISA
