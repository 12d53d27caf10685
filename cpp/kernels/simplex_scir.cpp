// The Cox-Ingersoll-Ross transition on a list of rows of unnormalised topics, exact for every step
// length; each row has its own.
//
//   N ~ Poisson(g e/c),  g' = c Gamma(a + N),  e = exp(-h), c = 1 - e       Baker et al.
//   (2018), 2.2
//
// with shape a = eta + N_kw, N_kw = counts * factor. h = infinity (e = 0, c = 1) is a fresh
// Gamma(a): the conjugate draw of a Gibbs sampler.
//
// Most cells of a topic matrix are words that the topic does not use: N = 0 and a < 1, settled in
// the first pass with one Philox block a cell. The others go to queues, packed, so that each kind
// of work runs in full vectors: Poisson counts, gammas of shape >= 1, rejected small gammas.
#include <cstdint>

#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"

namespace sgmc::SGMC_ISA {
namespace {

/// Sixteen queued cells: their positions in the block, with the last one repeated as filling.
SGMC_INLINE U16 fetch(std::int32_t const* queue, int n) {
  if (n >= 16) return load_u(queue);
  alignas(64) std::int32_t x[16];
  for (int i = 0; i < 16; ++i) x[i] = queue[i < n ? i : n - 1];
  return load_u(x);
}
SGMC_INLINE F16 fetch(float const* queue, int n) {
  if (n >= 16) return load(queue);
  alignas(64) float x[16];
  for (int i = 0; i < 16; ++i) x[i] = queue[i < n ? i : n - 1];
  return load(x);
}
SGMC_INLINE void scatter(float* g, U16 where, F16 value, std::uint32_t m) {
  alignas(64) std::int32_t at[16];
  alignas(64) float x[16];
  store(at, where);
  store(x, value);
  for (; m; m &= m - 1) {
    int const i = __builtin_ctz(m);
    g[at[i]] = x[i];
  }
}
SGMC_INLINE std::uint32_t first_lanes(std::int64_t n) { return n >= 16 ? 0xffffu : (1u << n) - 1u; }

/// Cells are numbered through a block of listed rows: cell = row * stride + topic. A draw for topic
/// k of word w takes blocks k, k + stride, k + 2 stride, ... of entity w: one per attempt.
struct Cells {
  std::int32_t const* word;  // of each row
  std::uint32_t stride;
  float inverse_stride;

  SGMC_INLINE Words words(Stream const& s, U16 cell, U16 attempt) const {
    // row = cell / stride: the rounded quotient is off by at most one
    U16 const width = u16(stride);
    U16 row = to_int(to_float(cell) * f16(inverse_stride));
    F16 const rest = to_float(cell - row * width);
    row = add_where(rest < f16(0.0f), row, u16(~0u));
    row = add_where(f16(static_cast<float>(stride)) <= rest, row, u16(1));
    U16 const topic = cell - row * width;
    alignas(64) std::int32_t at[16], w[16];
    store(at, row);
    for (int l = 0; l < 16; ++l) w[l] = word[at[l]];
    return random_words(s, topic + attempt * width, load_u(w));
  }
};

/// Cells that wait, packed: where they are and what they wait with.
struct Queue {
  std::int32_t* index;
  float* value;
  int n;

  SGMC_INLINE void push(std::uint32_t m, U16 cell, F16 x) {
    compress(index + n, m, cell);
    n += compress(value + n, m, x);
  }
};

/// Draws Poisson counts for the queued cells (value = rate) and passes them on with their shapes:
/// below 1 where the count is 0, which at rate 10 it still is once in twenty thousand draws.
void draw_poisson(Queue rates, Stream const& stream, Cells const& cells, float const* shape_of,
                  Queue& gamma, Queue& small) {
  for (std::uint32_t attempt = 0; rates.n > 0; ++attempt) {
    int const n = rates.n;
    rates.n = 0;
    for (int i = 0; i < n; i += 16) {
      U16 const cell = fetch(rates.index + i, n - i);
      F16 const mu = fetch(rates.value + i, n - i);
      Words const w = cells.words(stream, cell, u16(attempt));
      M16 ok;
      F16 const count = poisson_attempt(mu, uniform_open(w.x[0]), uniform_open(w.x[1]), ok);
      std::uint32_t const used = first_lanes(n - i), accepted = lanes(ok) & used;
      alignas(64) float prior[16];
      alignas(64) std::int32_t at[16];
      store(at, cell);
      for (int l = 0; l < 16; ++l) prior[l] = shape_of[at[l]];
      F16 const shape = load(prior) + count;
      std::uint32_t const below_one = lanes(shape < f16(1.0f));
      gamma.push(accepted & ~below_one, cell, shape);
      small.push(accepted & below_one, cell, shape);
      rates.push(used & ~accepted, cell, mu);
    }
  }
}

/// g[cell] = Gamma(value) for the queued cells; Small: shapes below 1, else at least 1.
template <bool Small>
void draw_gamma(Queue shapes, Stream const& stream, Cells const& cells, float* g) {
  for (std::uint32_t attempt = 0; shapes.n > 0; ++attempt) {
    int const n = shapes.n;
    shapes.n = 0;
    for (int i = 0; i < n; i += 16) {
      U16 const cell = fetch(shapes.index + i, n - i);
      F16 const a = fetch(shapes.value + i, n - i);
      Words const w = cells.words(stream, cell, u16(attempt));
      M16 ok;
      F16 x;
      if constexpr (Small) {
        x = small_gamma_attempt(a, uniform_open(w.x[0]), uniform_open(w.x[1]), ok);
      } else {
        F16 z, unused;
        normal_pair(w.x[0], w.x[1], z, unused);
        x = gamma_attempt(a, z, uniform_open(w.x[2]), ok);
      }
      std::uint32_t const used = first_lanes(n - i), accepted = lanes(ok) & used;
      scatter(g, cell, x, accepted);
      shapes.push(used & ~accepted, cell, a);
    }
  }
}

}  // namespace

void simplex_scir(float* g, RowsTask const& task, RowsScratch const& scratch) noexcept {
  auto const stream = [&](std::uint32_t nth) {  // pass, small gamma, Poisson, gamma
    auto const purpose = static_cast<Purpose>(static_cast<std::uint32_t>(task.purpose) + nth);
    return Stream::make(task.address.seed, task.address.chain,
                        stream_purpose(purpose, task.address.stream), task.address.step);
  };
  Stream const pass = stream(0);
  F16 const eta = f16(task.eta);
  std::int64_t const stride = task.stride;

  std::int32_t word[kRowBlock];
  float* row_of[kRowBlock];
  Queue poisson{scratch.index[0], scratch.value[0], 0},
      gamma{scratch.index[1], scratch.value[1], 0}, small{scratch.index[2], scratch.value[2], 0};
  std::int64_t touched = 0;
  for (std::int64_t i = task.begin; i < task.end; ++i) {
    std::int64_t const r = i - task.begin, w = task.rows ? task.rows[i] : i;
    word[r] = static_cast<std::int32_t>(w);
    float const* const row = row_of[r] = g + (task.packed ? i : w) * stride;
    bool const seen = touched < task.n_touched && task.touched[touched] == w;
    std::int64_t const* const counts = task.counts + touched * stride;
    touched += seen;
    double const h = task.rows ? task.lengths[i] : task.h;
    if (!(h > 0.0)) continue;  // up to date already
    F16 const rate = f16(static_cast<float>(__builtin_exp(-h) / -__builtin_expm1(-h)));
    for (std::int64_t k = 0; k < stride; k += 16) {
      F16 shape = eta;
      if (seen) {
        alignas(64) float n[16];
        for (int l = 0; l < 16; ++l)
          n[l] = static_cast<float>(static_cast<double>(counts[k + l]) * task.factor);
        shape = shape + load(n);
      }
      F16 const mu = load(row + k) * rate;
      Words const x =
          random_words(pass, static_cast<std::uint32_t>(k), static_cast<std::uint64_t>(w));
      // N >= 1 iff v < 1 - exp(-mu), and never where v >= mu
      F16 const v = uniform_open(x.x[0]);
      std::uint32_t const used = first_lanes(task.topics - k);
      std::uint32_t const large = lanes(f16(10.0f) < mu) & used;
      F16 count = f16(0.0f);
      if (lanes(v < mu) & used) count = poisson_inversion(min(mu, f16(10.0f)), v);
      M16 ok;
      F16 const value = small_gamma_attempt(min(shape, f16(1.0f)), uniform_open(x.x[1]),
                                            uniform_open(x.x[2]), ok);
      std::uint32_t const simple =
          lanes((count <= f16(0.0f)) & (shape < f16(1.0f))) & used & ~large;
      std::uint32_t const rejected = simple & ~lanes(ok);
      std::uint32_t const other = used & ~large & ~simple;
      U16 const cell = iota() + u16(static_cast<std::uint32_t>(r * stride + k));
      store(scratch.fresh + r * stride + k, value);
      if (rejected) small.push(rejected, cell, shape);
      if (large) {
        store(scratch.shape + r * stride + k, shape);
        poisson.push(large, cell, mu);
      }
      if (other) gamma.push(other, cell, shape + count);
    }
  }
  Cells const cells{word, static_cast<std::uint32_t>(stride), 1.0f / static_cast<float>(stride)};
  draw_poisson(poisson, stream(2), cells, scratch.shape, gamma, small);
  draw_gamma<false>(gamma, stream(3), cells, scratch.fresh);
  draw_gamma<true>(small, stream(1), cells, scratch.fresh);

  for (std::int64_t k = 0; k < stride; ++k) task.sums[k] = 0.0;
  for (std::int64_t i = task.begin; i < task.end; ++i) {
    std::int64_t const r = i - task.begin;
    double const h = task.rows ? task.lengths[i] : task.h;
    if (!(h > 0.0)) continue;
    double const keep = __builtin_exp(-h), take = -__builtin_expm1(-h);
    float const c = static_cast<float>(take);
    float* const row = row_of[r];
    float const* const fresh = scratch.fresh + r * stride;
    if (task.rows)
      for (std::int64_t k = 0; k < task.topics; ++k)
        task.sums[k] -= static_cast<double>(row[k]) * keep + static_cast<double>(task.eta) * take;
    for (std::int64_t k = 0; k < task.topics; ++k) {
      row[k] = c * fresh[k];
      task.sums[k] += static_cast<double>(row[k]);
    }
    for (std::int64_t k = task.topics; k < stride; ++k) row[k] = 0.0f;
  }
}

}  // namespace sgmc::SGMC_ISA
