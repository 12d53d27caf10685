// Collapsed Gibbs sampling of token topics: the exact batch baseline, one token after the other.
//
// Every token changes the input of the next one: counts of its document, of its word, of topics. A
// scalar store into a vector that is loaded next would stall that load. A token's decrement, and
// the increment of the token before it, are therefore masked adds in the pass that reads the
// vectors anyway; over many topics such a pass costs more than the stall, and they change in place.
// Inverses of totals are divided for before a draw asks for them. A chain of latencies from token
// to token remains, during which a core has time for a second chain. A third one gains nothing, nor
// does a second one above 128 topics.
#include <bit>
#include <cstdint>
#include <tuple>
#include <utility>

#include "sgmc/choose.hpp"
#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"

namespace sgmc::SGMC_ISA {
namespace {

constexpr std::uint32_t kNobody = 0xffffffffu;

/// Changes that the last token's draw requires.
struct Pending {
  std::int32_t* row;        // row of its word, or null
  std::uint32_t in_row;     // position
  std::uint32_t in_counts;  // kNobody at a document's start
  std::uint32_t topic;      // topic that gains a token
  float had, inverse;       // count of the topic without the token, and inverse with it
};

/// Number of entries by which rows of the table are prefetched.
constexpr std::int64_t kAhead = 2;

/// One chain.
template <int Blocks>
class Sampler {
#if defined(SGMC_AVX2)
  static constexpr bool kInPlace = Blocks == 0 || Blocks >= 5;
#else
  static constexpr bool kInPlace = Blocks == 0;
#endif

 public:
  Sampler(CollapsedTask const& task, CollapsedScratch const& scratch)
      : task_(task),
        s_(scratch),
        blocks_(static_cast<int>(task.stride / 16)),
        stream_(Stream::at(task.address, task.purpose)) {
    for (std::int64_t k = 0; k < task.stride; ++k) renew(k);
    for (std::int64_t k = task.topics; k < task.stride; ++k) s_.inverse[k] = 0.0f;
  }

  SGMC_INLINE void begin(std::int64_t d) {
    z_ = task_.z + task_.token_ptr[d];
    std::int64_t const tokens = task_.token_ptr[d + 1] - task_.token_ptr[d];
    for (std::int64_t k = 0; k < task_.stride; ++k) s_.counts[k] = task_.alpha[k];
    for (std::int64_t t = 0; t < tokens; ++t)
      if (z_[t] >= 0) s_.counts[z_[t]] += 1.0f;
    pending_.in_counts = kNobody;
  }

  /// The next 64 uniforms of a document.
  SGMC_INLINE void refill(std::int64_t group, std::uint64_t entity) {
    Words const w = random_words(stream_, static_cast<std::uint32_t>(16 * group), entity);
    for (int q = 0; q < 4; ++q) store(s_.uniforms + 16 * q, uniform24(w.x[q]));
  }

  SGMC_INLINE void fetch(std::int32_t w) const {
    std::int32_t const* const row = task_.table + w * task_.stride;
    int const blocks = Blocks > 0 ? Blocks : blocks_;
    for (int b = 0; b < blocks; ++b) __builtin_prefetch(row + 16 * b, 1);
  }

  /// Samples token t of the document, which is word w.
  SGMC_INLINE void token(std::int64_t t, std::int32_t w) {
    float const* const prior = task_.priors + task_.prior_of[w] * task_.stride;
    z_[t] = sample(task_.table + w * task_.stride, prior, z_[t], s_.uniforms[t % 64]);
  }

  SGMC_INLINE void end() {
    if (pending_.row) pending_.row[pending_.in_row] += 1;
    if (pending_.topic != kNobody) task_.totals[pending_.topic] += 1;
    if (pending_.topic != kNobody) renew(pending_.topic);
    pending_ = {nullptr, kNobody, kNobody, kNobody, 0.0f, 0.0f};
  }

 private:
  /// 1 / (eta_k + n_k + more).
  SGMC_INLINE float inverse(std::int64_t k, std::int64_t more) const {
    return static_cast<float>(1.0 / (task_.mass[k] + static_cast<double>(task_.totals[k] + more)));
  }

  /// a or b, without a hardly predictable branch.
  static SGMC_INLINE float either(bool first, float a, float b) {
    auto const mask = -static_cast<std::uint32_t>(first);
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(a) & mask) |
                                (std::bit_cast<std::uint32_t>(b) & ~mask));
  }

  void renew(std::int64_t k) {
    s_.inverse[k] = inverse(k, 0);
    s_.above[k] = inverse(k, 1);
  }

  SGMC_INLINE std::int32_t sample(std::int32_t* row, float const* prior, std::int32_t z, float u) {
    // both divisions use totals that exclude the draw for which this one waits
    std::uint32_t const last = pending_.topic, own = static_cast<std::uint32_t>(z);
    bool const again = last == own;
    float below = 0.0f;
    if (z >= 0) below = either(again, pending_.had, inverse(z, -1));
    if (last != kNobody) task_.totals[last] += 1;
    if (z >= 0) {
      s_.above[z] = either(again, pending_.inverse, s_.inverse[z]);
      task_.totals[z] -= 1;
    }
    if (last != kNobody) s_.above[last] = inverse(last, 1);
    bool const same = pending_.row == row;  // neighbouring tokens often have the same word
    if (pending_.row && !same) pending_.row[pending_.in_row] += 1;
    if (kInPlace && z >= 0) {
      s_.counts[z] -= 1.0f;
      row[z] -= 1;
      s_.inverse[z] = below;
    }
    U16 const old = u16(static_cast<std::uint32_t>(z));
    U16 const in_row = u16(same ? pending_.in_row : kNobody), in_counts = u16(pending_.in_counts);
    U16 const stale = u16(last);
    F16 running = f16(0.0f);
    int const blocks = Blocks > 0 ? Blocks : blocks_;
#pragma GCC unroll 8
    for (int b = 0; b < blocks; ++b) {
      U16 const at = iota() + u16(16u * static_cast<std::uint32_t>(b));
      F16 n = load(s_.counts + 16 * b), inv = load(s_.inverse + 16 * b);
      U16 m = load_u(row + 16 * b);
      if constexpr (!kInPlace) {
        M16 const mine = at == old;
        n = add_where(at == in_counts, n, f16(1.0f));
        n = add_where(mine, n, f16(-1.0f));
        store(s_.counts + 16 * b, n);
        m = add_where(at == in_row, m, u16(1));
        m = add_where(mine, m, u16(kNobody));  // - 1
        store(row + 16 * b, m);
        inv = select(at == stale, f16(pending_.inverse), inv);
        inv = select(mine, f16(below), inv);
        store(s_.inverse + 16 * b, inv);
      }
      running = running + n * (load(prior + 16 * b) + to_float(m)) * inv;
      store(s_.sums + 16 * b, running);
    }
    F16 const cumulative = prefix(running);
    F16 const target = f16(u) * splat(cumulative, 15);
    LaneChoice const at = choose_lane(cumulative - running, cumulative, target);
    int const topic = choose_block<Blocks>(at, blocks, s_.sums, task_.topics - 1);
    auto const position = static_cast<std::uint32_t>(topic);
    pending_ = {row, position, position, position, s_.inverse[topic], s_.above[topic]};
    if constexpr (kInPlace) {
      s_.counts[topic] += 1.0f;
      row[topic] += 1;
      s_.inverse[topic] = pending_.inverse;
      pending_.row = nullptr;
    }
    return topic;
  }

  CollapsedTask const task_;
  CollapsedScratch const s_;
  int const blocks_;
  Stream const stream_;
  std::int32_t* z_ = nullptr;  // topics of the document
  Pending pending_{nullptr, kNobody, kNobody, kNobody, 0.0f, 0.0f};
};

/// Visits documents [first, last) in a sweep of chains over the same documents, alternating between
/// chains at each token.
template <int Blocks, std::size_t... Chain>
void run(CollapsedTask const* tasks, CollapsedScratch const* scratch, CollapsedPart const& part,
         std::index_sequence<Chain...>) {
  CollapsedTask const& task = tasks[0];
  std::tuple samplers{Sampler<Blocks>(tasks[Chain], scratch[Chain])...};
  auto const each = [&](auto const& what) __attribute__((always_inline)) {
    (what(std::get<Chain>(samplers)), ...);
  };
  std::int64_t const end = task.indptr[task.documents];
  for (std::int64_t d = part.first; d < part.last; ++d) {
    std::int64_t const groups = (task.token_ptr[d + 1] - task.token_ptr[d] + 63) / 64;
    each([&](auto& s) __attribute__((always_inline)) { s.begin(d); });
    std::int64_t t = 0;
    for (std::int64_t i = task.indptr[d]; i < task.indptr[d + 1]; ++i) {
      std::int32_t const w = task.indices[i];
      if (i + kAhead < end) {
        std::int32_t const next = task.indices[i + kAhead];
        each([&](auto& s) __attribute__((always_inline)) { s.fetch(next); });
      }
      for (std::int32_t c = 0; c < task.counts[i]; ++c, ++t) {
        if (t % 64 == 0) {
          std::int64_t const group = part.sweep * groups + t / 64;
          each([&](auto& s) __attribute__((always_inline)) { s.refill(group, task.entity[d]); });
        }
        each([&](auto& s) __attribute__((always_inline)) { s.token(t, w); });
      }
    }
  }
  each([&](auto& s) __attribute__((always_inline)) { s.end(); });
}

}  // namespace

void documents_collapsed(CollapsedTask const* tasks, CollapsedScratch const* scratch, int chains,
                         CollapsedPart const& part) noexcept {
  by_blocks<1, 2, 3, 4, 5, 6, 7, 8>(tasks[0].stride / 16, [&]<int Blocks>() {
    if constexpr (Blocks > 0)
      for (; chains >= 2; chains -= 2, tasks += 2, scratch += 2)
        run<Blocks>(tasks, scratch, part, std::make_index_sequence<2>());
    for (; chains > 0; --chains, ++tasks, ++scratch)
      run<Blocks>(tasks, scratch, part, std::make_index_sequence<1>());
  });
}

}  // namespace sgmc::SGMC_ISA
