// Upward-downward Gibbs sampling of the local variables of deep LDA, topics fixed.
//
// A sweep of one document (docs/internals/mathematics.md has the equations, and why in this order):
//
//   upward    per layer: every count is split over the topics in proportion to phi_vk theta_k, and
//             the tables of what each topic got are the counts of the layer above
//   rates     p^(2), c^(3), ... given the theta above layer 1
//   downward  theta_k ~ Gamma(s_k + n_k, 1 / (c + q)) from the top, s = Phi theta of the layer
//             above
//
// Given theta, all tokens of a word are independent: their weights are summed once, and each token
// is one inverse CDF on them.
#include <cstdint>

#include "sgmc/choose.hpp"
#include "sgmc/counts.hpp"
#include "sgmc/deep_theta.hpp"
#include "sgmc/distributions.hpp"
#include "sgmc/draws.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/links.hpp"

namespace sgmc::SGMC_ISA {
namespace {

constexpr double kLeastLog = -700.0;  // of p and 1 - p: what double holds with room to spare

/// Begin of each layer's vectors in the array of all layers.
struct Offsets {
  std::int64_t of[kMaxLayers + 1] = {};
  explicit Offsets(DeepTask const& task) {
    for (int l = 0; l < task.layers; ++l) of[l + 1] = of[l] + task.stride[l];
  }
};

SGMC_INLINE float sum_of(float const* x, std::int64_t n) {
  F16 sum = f16(0.0f);
  for (std::int64_t k = 0; k < n; k += 16) sum = sum + load(x + k);
  return lane(prefix(sum), 15);
}

/// Whether x is a non-negative number.
SGMC_INLINE bool sound(float x) { return x >= 0.0f && x <= kMost; }

SGMC_INLINE void fill(float* x, std::int64_t n, float value) {
  for (std::int64_t k = 0; k < n; ++k) x[k] = value;
}

class Document {
 public:
  Document(DeepTask const& task, DeepScratch const& scratch, Offsets const& offsets,
           std::int64_t room, std::int64_t d, Stream const& stream)
      : task_(task), s_(scratch), o_(offsets), room_(room), d_(d), draws_(stream, task.entity[d]) {
    begin_ = task.indptr[d];
    entries_ = task.indptr[d + 1] - begin_;
  }

  /// False if a value is NaN.
  template <int Blocks>
  bool visit() {
    std::int64_t const all = o_.of[task_.layers];
    bool const known = task_.theta && !task_.fresh;
    start(known);
    for (int sweep = 0; sweep < task_.sweeps && sound_; ++sweep) {
      if (sweep > 0 || (known && task_.upward_only)) downward();
      collect_ = sweep >= task_.sweeps - task_.kept;
      upward<Blocks>();
      if (sweep >= task_.held) rates();
      if (collect_ && task_.q) task_.q[d_] += q_[task_.layers];
    }
    if (task_.upward_only) {
      copy(s_.totals, task_.totals + d_ * all, all);
    } else if (task_.theta) {
      downward();
    }
    if (!sound_) return false;
    if (task_.theta) copy(s_.theta, task_.theta + d_ * all, all);
    if (task_.rates)
      for (int l = 0; l <= task_.layers; ++l) task_.rates[d_ * (task_.layers + 1) + l] = c_[l];
    finish();
    return true;
  }

 private:
  static void copy(float const* from, float* to, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k) to[k] = from[k];
  }

  float* theta(int l) const { return s_.theta + o_.of[l]; }
  float* total(int l) const { return s_.totals + o_.of[l]; }
  float* shape(int l) const { return s_.shape + o_.of[l]; }

  __attribute__((noinline)) void start(bool known) {
    int const layers = task_.layers;
    std::int64_t const all = o_.of[layers];
    copy(known ? task_.theta + d_ * all : task_.start, s_.theta, all);
    for (int l = 0; l <= layers; ++l) c_[l] = known ? task_.rates[d_ * (layers + 1) + l] : 1.0;
    if (known && task_.upward_only) copy(task_.totals + d_ * all, s_.totals, all);
    for (int l = 0; l < layers; ++l) expect_sound(sum_of(theta(l), task_.stride[l]));
    recur();
    copy(task_.r, shape(layers - 1), task_.stride[layers - 1]);
    for (int l = layers - 2; l >= 0; --l) mix(l);
    if (task_.word_counts) fill(s_.collected, entries_ * task_.stride[0], 0.0f);
    if (task_.mean) fill(task_.mean + d_ * all, all, 0.0f);
    if (task_.q) task_.q[d_] = 0.0;
  }

  /// q^(l+1) = ln(1 + q^(l) / c^(l+1)).
  void recur() {
    q_[0] = 1.0;
    for (int l = 0; l < task_.layers; ++l) q_[l + 1] = __builtin_log1p(q_[l] / c_[l]);
    sound_ = sound_ && q_[task_.layers] >= 0.0;
  }

  /// Number of blocks summed side by side in a matrix-vector product.
  static constexpr int kAbreast = 4;

  template <int Blocks>
  static SGMC_INLINE void mix_blocks(float const* across, float const* above, std::int64_t stride,
                                     std::int32_t topics, float* out) {
    F16 sum[Blocks];
    for (F16& one : sum) one = f16(0.0f);
    for (std::int32_t k = 0; k < topics; ++k) {
      F16 const weight = f16(above[k]);
#pragma GCC unroll 4
      for (int i = 0; i < Blocks; ++i)
        sum[i] = sum[i] + load(across + k * stride + 16 * i) * weight;
    }
    for (int i = 0; i < Blocks; ++i) store(out + 16 * i, max(sum[i], f16(kThetaFloor)));
  }

  /// s of layer l = Phi theta of the layer above, read across, so that no sums over lanes are
  /// needed.
  void mix(int l) {
    std::int64_t const stride = task_.stride[l];
    float const* const above = theta(l + 1);
    float const* const across = task_.across[l + 1];
    std::int32_t const topics = task_.topics[l + 1];
    float* const out = shape(l);
    std::int64_t b = 0;
    for (; b + 16 * kAbreast <= stride; b += 16 * kAbreast)
      mix_blocks<kAbreast>(across + b, above, stride, topics, out + b);
    for (; b < stride; b += 16) mix_blocks<1>(across + b, above, stride, topics, out + b);
    for (std::int64_t k = task_.topics[l]; k < stride; ++k) out[k] = 0.0f;
  }

  /// Splits the counts of layer l's words over its topics, given `rows` of phi and their `counts`;
  /// adds to the layer's n, its expected value and, if they are collected, the statistics.
  template <int Blocks>
  void split(int l, std::int32_t const* rows, std::int32_t const* counts, std::int64_t words) {
    std::int64_t const stride = task_.stride[l];
    int const blocks = static_cast<int>(stride / 16), last = task_.topics[l] - 1;
    float const* const th = theta(l);
    float* const n = total(l);
    bool const to_words =
        collect_ && (l == 0 ? task_.word_counts != nullptr : s_.upper[l] != nullptr);
    bool const expected = collect_ && (task_.mean || (to_words && task_.rao_blackwell));
    for (std::int64_t first = 0; first < words; first += kGroup) {
      int const size = static_cast<int>(words - first < kGroup ? words - first : kGroup);
      std::int64_t count[kGroup];
      bool raised[kGroup];
      for (int i = 0; i < size; ++i) {
        float const* const phi = task_.phi[l] + rows[first + i] * stride;
        float *const sums = s_.sums + i * room_, *const totals = s_.group + 32 * i;
        float sum = weigh<Blocks>(phi, th, blocks, sums, totals);
        raised[i] = !(sum > 1e-25f);  // the products are too small for float32
        if (raised[i]) {
          sum = weigh<0>(raise(phi, s_.lifted, stride), raise(th, s_.lifted + room_, stride),
                         blocks, sums, totals);
          sound_ = sound_ && sum > 0.0f;
        }
        expect_sound(sum);
        count[i] = counts[first + i];
        if (l == 0 && task_.link != Link::counts) {
          auto const value = static_cast<double>(count[i]);
          double const mean = static_cast<double>(sum) * (raised[i] ? 0x1p-100 : 1.0);
          seen_ += value;
          count[i] = latent(value, mean);
          sound_ = sound_ && count[i] > 0;
        }
      }
      for (int i = 0; i < size; ++i) {
        float const *const sums = s_.sums + i * room_, *const totals = s_.group + 32 * i;
        if (l == 0) tokens_ += static_cast<double>(count[i]);
        for (std::int64_t t = 0; t < count[i]; ++t) {
          int const k = choose<Blocks>(draws_.uniform(), blocks, sums, totals, last);
          n[k] += 1.0f;
          if (to_words && !task_.rao_blackwell) sampled(l, first + i, rows[first + i], k);
        }
      }
      if (!expected) continue;
      for (int i = 0; i < size; ++i)
        expect<Blocks>(l, first + i, rows[first + i], static_cast<float>(count[i]),
                       s_.group[32 * i + 31], raised[i], to_words && task_.rao_blackwell);
    }
  }

  /// The count behind a datum that is not a count itself.
  __attribute__((noinline)) std::int64_t latent(double value, double mean) {
    return task_.link == Link::binary ? positive_poisson(mean, draws_)
                                      : bessel(c_[task_.layers] * value * mean, draws_);
  }

  /// Weights too small for float32, multiplied by 2^50.
  static float const* raise(float const* x, float* to, std::int64_t n) {
    for (std::int64_t k = 0; k < n; k += 16) store(to + k, load(x + k) * f16(0x1p50f));
    return to;
  }

  /// Adds one token of an entry, which was assigned to a topic.
  SGMC_INLINE void sampled(int l, std::int64_t entry, std::int32_t row, int k) {
    if (l == 0)
      s_.collected[entry * task_.stride[0] + k] += 1.0f;
    else
      s_.upper[l][row * task_.stride[l] + k] += 1;
  }

  /// The same in expectation, over all topics, for all tokens of an entry.
  template <int Blocks>
  SGMC_INLINE void expect(int l, std::int64_t entry, std::int32_t row, float count, float sum,
                          bool raised, bool to_words) {
    std::int64_t const stride = task_.stride[l];
    float const *phi = task_.phi[l] + row * stride, *th = theta(l);
    int const blocks = Blocks > 0 ? Blocks : static_cast<int>(stride / 16);
    if (raised) {
      phi = raise(phi, s_.lifted, stride);
      th = raise(th, s_.lifted + room_, stride);
    }
    F16 const share = f16(count / sum);
    float* const n = task_.mean ? s_.expected + o_.of[l] : nullptr;
    bool const small = count < 128.0f;
#pragma GCC unroll 8
    for (int b = 0; b < blocks; ++b) {
      F16 const part = load(phi + 16 * b) * load(th + 16 * b) * share;
      if (n) store(n + 16 * b, load(n + 16 * b) + part);
      if (!to_words) continue;
      if (l == 0) {
        float* const to = s_.collected + entry * stride + 16 * b;
        store(to, load(to) + part);
      } else {
        std::int64_t* const to = s_.upper[l] + row * stride + 16 * b;
        if (small) {
          add_wide(to, round_int(part * f16(static_cast<float>(kUnit))));
        } else {
          alignas(64) float x[16];
          store(x, part);
          for (int j = 0; j < 16; ++j) to[j] += fixed_point(x[j], kUnit);
        }
      }
    }
  }

  template <int Blocks>
  void upward() {
    int const layers = task_.layers;
    fill(s_.totals, o_.of[layers], 0.0f);
    if (collect_ && task_.mean) fill(s_.expected, o_.of[layers], 0.0f);
    tokens_ = seen_ = 0.0;
    split<Blocks>(0, task_.indices + begin_, task_.counts + begin_, entries_);
    above();
  }

  /// The layers above the first, which have no versions by number of blocks.
  __attribute__((noinline)) void above() {
    int const layers = task_.layers;
    if (task_.link == Link::real) {
      alignas(64) float g[16];
      store(g, log_gamma_draws(f16(static_cast<float>(task_.e0 + tokens_)), 1u, draws_));
      c_[layers] = __builtin_exp(static_cast<double>(g[0])) / (task_.f0 + seen_);
    }
    for (int l = 0; l < layers; ++l) {
      bool const top = l == layers - 1;
      if (top && !(collect_ && s_.tables)) break;
      float const *const n = total(l), *const s = shape(l);
      std::int32_t *const rows = s_.at, *const counts = s_.at + room_;
      std::int64_t words = 0;
      for (std::int32_t k = 0; k < task_.topics[l]; ++k) {
        if (!(n[k] > 0.0f)) continue;
        if (n[k] > static_cast<float>(kMaxCollected)) {
          sound_ = false;
          continue;
        }
        std::int64_t const y = tables(static_cast<std::int64_t>(n[k]), s[k], draws_);
        if (top) s_.tables[k] += y;
        rows[words] = k;
        counts[words++] = static_cast<std::int32_t>(y);
      }
      if (!top) split<0>(l + 1, rows, counts, words);
    }
    if (collect_ && task_.mean) average();
  }

  /// Adds proportions expected over the split, from the shapes and counts of which theta was drawn.
  void average() {
    float* const to = task_.mean + d_ * o_.of[task_.layers];
    for (int l = 0; l < task_.layers; ++l) {
      std::int64_t const at = o_.of[l], stride = task_.stride[l];
      float const *const s = s_.shape + at, *const n = s_.expected + at;
      float const sum = sum_of(s, stride) + sum_of(n, stride);
      expect_sound(sum);
      F16 const by = f16(1.0f / sum);
      for (std::int64_t k = 0; k < stride; k += 16)
        store(to + at + k, load(to + at + k) + (load(s + k) + load(n + k)) * by);
    }
  }

  /// p^(2) ~ Beta(a0 + n., b0 + s.), c^(l+1) ~ Gamma(e0 + s., 1 / (f0 + theta.)), given the
  /// previous theta. s. of layer 1 is the sum of the second layer's theta, because Phi's columns
  /// sum to 1; that of the top layer is the sum of r.
  __attribute__((noinline)) void rates() {
    int const layers = task_.layers;
    alignas(64) float a[16], g[16];
    for (int l = 0; l < 16; ++l) a[l] = 1.0f;
    double sum[kMaxLayers + 1];  // sum of theta by layer; at the end, of r
    for (int l = 0; l < layers; ++l) sum[l] = sum_of(theta(l), task_.stride[l]);
    sum[layers] = sum_of(task_.r, task_.stride[layers - 1]);
    a[0] = static_cast<float>(task_.a0 + tokens_);
    a[1] = static_cast<float>(task_.b0 + sum[1]);
    for (int l = 1; l < layers; ++l) a[l + 1] = static_cast<float>(task_.e0 + sum[l + 1]);
    store(g, log_gamma_draws(load(a), (2u << layers) - 1u, draws_));
    double const odds = static_cast<double>(g[1]) - static_cast<double>(g[0]);
    c_[0] = __builtin_exp(odds < kLeastLog ? kLeastLog : odds > -kLeastLog ? -kLeastLog : odds);
    for (int l = 1; l < layers; ++l)
      c_[l] = __builtin_exp(static_cast<double>(g[l + 1])) / (task_.f0 + sum[l]);
    recur();
  }

  __attribute__((noinline)) void downward() {
    for (int l = task_.layers - 1; l >= 0; --l) {
      if (l < task_.layers - 1) mix(l);
      auto const scale = static_cast<float>(1.0 / (c_[l] + q_[l]));
      sound_ = sound_ && sound(scale) &&
               draw_theta(shape(l), total(l), task_.stride[l], task_.topics[l], scale, theta(l), s_,
                          room_, draws_);
    }
  }

  __attribute__((noinline)) void finish() {
    std::int64_t const stride = task_.stride[0];
    double const unit = task_.rao_blackwell ? kUnit : 1.0;
    if (task_.word_counts)
      for (std::int64_t e = 0; e < entries_; ++e) {
        std::int64_t const row = task_.indices[begin_ + e];
        std::int64_t* const out = task_.word_counts + row * stride;
        if (!take_row(task_.touched + row))
          for (std::int64_t k = 0; k < stride; ++k) out[k] = 0;
        float const* const from = s_.collected + e * stride;
        for (std::int64_t k = 0; k < stride; ++k) out[k] += fixed_point(from[k], unit);
        give_row(task_.touched + row);
      }
    if (task_.mean) {
      std::int64_t const all = o_.of[task_.layers];
      float* const mean = task_.mean + d_ * all;
      for (std::int64_t k = 0; k < all; ++k) mean[k] /= static_cast<float>(task_.kept);
    }
  }

  void expect_sound(float x) { sound_ = sound_ && sound(x); }

  DeepTask const& task_;
  DeepScratch const& s_;
  Offsets const& o_;
  std::int64_t room_, d_, begin_, entries_;
  Draws draws_;
  double c_[kMaxLayers + 1];  // c^(2) .. c^(L + 1), and a of real data
  double q_[kMaxLayers + 1];  // q^(1) .. q^(L + 1)
  double tokens_ = 0.0;       // of this sweep, and the data behind them if they are no counts
  double seen_ = 0.0;
  bool collect_ = false;
  bool sound_ = true;  // whether all values so far were numbers
};

template <int Blocks>
void run(DeepTask const& task, DeepScratch const& scratch) {
  Stream const stream = Stream::at(task.address, task.purpose);
  Offsets const offsets(task);
  std::int64_t room = 16;
  for (int l = 0; l < task.layers; ++l)
    if (task.stride[l] + 16 > room) room = task.stride[l] + 16;
  for (;;) {
    std::int64_t const i = __atomic_fetch_add(task.next, std::int64_t{1}, __ATOMIC_RELAXED);
    if (i >= task.documents || __atomic_load_n(task.not_finite, __ATOMIC_RELAXED)) return;
    if (!Document(task, scratch, offsets, room, task.order[i], stream).visit<Blocks>())
      __atomic_store_n(task.not_finite, std::uint8_t{1}, __ATOMIC_RELAXED);
  }
}

}  // namespace

void documents_deep(DeepTask const& task, DeepScratch const& scratch) noexcept {
  by_blocks<1, 2, 4, 8>(task.stride[0] / 16, [&]<int Blocks>() { run<Blocks>(task, scratch); });
}

void tables_of(std::int64_t const* n, double const* shape, std::int64_t count,
               Address const& address, Purpose purpose, std::int64_t* out) noexcept {
  Stream const stream = Stream::at(address, purpose);
  for (std::int64_t i = 0; i < count; ++i) {
    Draws draws(stream, static_cast<std::uint64_t>(i));
    out[i] = tables(n[i], shape[i], draws);
  }
}

}  // namespace sgmc::SGMC_ISA
