// What every simplex sampler shares: the start, the noise-free warm-up step, and reading phi.
#include <cstdint>

#include "sgmc/digamma.hpp"
#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/rows.hpp"

namespace sgmc::SGMC_ISA {

void simplex_relax(float* g, RowsTask const& task, RowsScratch const&) noexcept {
  F16 const eta = f16(task.eta);
  Finish finish(task);
  Rows rows(g, task);
  for (Row row; rows.next(row);) {
    finish.expect(row);
    F16 const keep = f16(static_cast<float>(row.keep)), take = f16(static_cast<float>(row.take));
    F16 const arriving = eta * take;
    for (std::int64_t k = 0; k < task.stride; k += 16) {
      F16 const add =
          row.counts ? (eta + load_scaled(row.counts + k, task.factor)) * take : arriving;
      store(row.g + k, load(row.g + k) * keep + add);
    }
    finish.written(row.g);
  }
  finish.flush();
}

void simplex_start(float* g, float scale, RowsTask const& task) noexcept {
  Stream const stream =
      Stream::make(task.address.seed, task.address.chain,
                   stream_purpose(Purpose::init, task.address.stream), task.address.step);
  Finish finish(task);
  Rows rows(g, task);
  for (Row row; rows.next(row);) {
    for (std::int64_t k = 0; k < task.stride; k += 16) {
      Words const x =
          random_words(stream, static_cast<std::uint32_t>(k), static_cast<std::uint64_t>(row.word));
      store(row.g + k, f16(-scale) * log(uniform_open(x.x[0])));  // Gamma(1) by inversion
    }
    finish.written(row.g);
  }
  finish.flush();
}

void simplex_phi(float const* g, std::int32_t const* rows, std::int64_t begin, std::int64_t end,
                 float* out, PhiTask const& task) noexcept {
  std::int64_t const stride = task.stride;
  for (std::int64_t i = begin; i < end; ++i) {
    float const* const row = g + (rows ? rows[i] : i) * stride;
    float* const to = out + i * stride;
    for (std::int64_t k = 0; k < stride; k += 16)
      store(to + k, max(load(row + k) * load(task.inverse_sums + k), f16(kPhiFloor)));
    for (std::int64_t k = task.topics; k < stride; ++k) to[k] = 0.0f;
  }
}

void simplex_add_phi(float const* g, double const* lengths, float eta, std::int64_t begin,
                     std::int64_t end, double* total, PhiTask const& task) noexcept {
  std::int64_t const stride = task.stride;
  for (std::int64_t w = begin; w < end; ++w) {
    double const h = lengths ? lengths[w] : 0.0;
    F16 const keep = f16(static_cast<float>(__builtin_exp(-h)));
    F16 const arriving = f16(eta) * f16(static_cast<float>(-__builtin_expm1(-h)));
    for (std::int64_t k = 0; k < stride; k += 16) {
      F16 const now = load(g + w * stride + k) * keep + arriving;
      F16 const phi = max(now * load(task.inverse_sums + k), f16(kPhiFloor));
      M16 const real = iota() < u16(static_cast<std::uint32_t>(task.topics - k));  // signed
      double* const to = total + w * stride + k;
      store(to, load(to) + to_double(select(real, phi, f16(0.0f))));
    }
  }
}

void draw(int kind, float const* a, std::int64_t n, Address const& address, float* out) noexcept {
  Stream const stream = Stream::make(address.seed, address.chain,
                                     stream_purpose(Purpose::test, address.stream), address.step);
  for (std::int64_t i = 0; i < n; i += 16) {
    alignas(64) float in[16], result[16];
    for (int l = 0; l < 16; ++l) in[l] = a ? a[i + l < n ? i + l : n - 1] : 0.0f;
    F16 const p = load(in);
    F16 value = f16(0.0f);
    std::uint32_t todo = 0xffffu;
    for (std::uint32_t attempt = 0; todo; ++attempt) {
      Words const w =
          random_words(stream, u16(attempt), iota() + u16(static_cast<std::uint32_t>(i)));
      F16 other;
      M16 ok = f16(0.0f) <= f16(1.0f);
      M16 const small = p < f16(1.0f);
      switch (kind) {
        case 0: normal_pair(w.x[0], w.x[1], value, other); break;
        case 1: {
          F16 z;
          M16 ok_large, ok_small;
          normal_pair(w.x[0], w.x[1], z, other);
          F16 const large = gamma_attempt(max(p, f16(1.0f)), z, uniform_open(w.x[2]), ok_large);
          F16 const tiny = small_gamma_attempt(min(p, f16(1.0f)), uniform_open(w.x[2]),
                                               uniform_open(w.x[3]), ok_small);
          value = select(small, tiny, large);
          ok = (small & ok_small) | (~small & ok_large);
          break;
        }
        case 2: {
          M16 ok_large;
          F16 const few = poisson_inversion(min(p, f16(10.0f)), uniform_open(w.x[0]));
          F16 const many = poisson_attempt(max(p, f16(10.0f)), uniform_open(w.x[0]),
                                           uniform_open(w.x[1]), ok_large);
          M16 const inversion = p <= f16(10.0f);
          value = select(inversion, few, many);
          ok = inversion | ok_large;
          break;
        }
        case 3: value = uniform24(w.x[0]); break;
        case 4: value = uniform_open(w.x[0]); break;
        case 5: value = log(p); break;
        case 6: value = exp(p); break;
        case 7: value = expm1m(p); break;
        default: {
          ExpDigamma const e = exp_digamma(p);
          value = log(e.top) - e.drop;
          break;
        }
      }
      store(result, value);
      std::uint32_t const now = todo & lanes(ok);
      for (int l = 0; l < 16; ++l)
        if ((now >> l) & 1u && i + l < n) out[i + l] = result[l];
      todo &= ~now;
    }
  }
}

void philox_blocks(std::uint32_t const* counter, std::uint32_t const* key, std::int64_t n,
                   std::uint32_t* out) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    // one key at a time through the vector code that everything else uses
    Words w;
    std::uint32_t const* c = counter + 4 * i;
    philox16(u16(c[0]), u16(c[1]), u16(c[2]), u16(c[3]), key[2 * i], key[2 * i + 1], w.x[0], w.x[1],
             w.x[2], w.x[3]);
    for (int q = 0; q < 4; ++q) {
      alignas(64) std::uint32_t lane_values[16];
      store(lane_values, w.x[q]);
      out[4 * i + q] = lane_values[i % 16];
    }
  }
}

void row_words(std::uint32_t const* state, std::int64_t n, std::uint32_t* out) noexcept {
  RowWords words = RowWords::make(
      Words{{load_u(state), load_u(state + 16), load_u(state + 32), load_u(state + 48)}});
  for (std::int64_t i = 0; i < n; ++i) store(out + 16 * i, words.next());
}

}  // namespace sgmc::SGMC_ISA
