// Collapsed Gibbs sampling of token topics: the exact batch baseline, one token after the other.
//
// Every token changes what the next one reads: counts of its document, of its word, of topics. A
// scalar store into a vector that is loaded next would stall that load, so a token's decrement, and
// the increment of the token before it, are masked adds in the pass that reads the vectors anyway.
#include <cstdint>

#include "sgmc/choose.hpp"
#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"

namespace sgmc::SGMC_ISA {
namespace {

constexpr std::uint32_t kNobody = 0xffffffffu;

/// What the last token's draw has yet to add.
struct Pending {
  std::int32_t* row;        // of its word, or null
  std::uint32_t in_row;     // position
  std::uint32_t in_counts;  // kNobody at the start of a document
  std::uint32_t topic;      // whose inverse is stale
  float inverse;
};

template <int Blocks>
class Sampler {
 public:
  Sampler(CollapsedTask const& task, CollapsedScratch const& scratch)
      : task_(task), s_(scratch), blocks_(static_cast<int>(task.stride / 16)) {
    for (std::int64_t k = 0; k < task.stride; ++k) s_.inverse[k] = inverse(k);
    for (std::int64_t k = task.topics; k < task.stride; ++k) s_.inverse[k] = 0.0f;
  }

  void sweep(std::int32_t sweep) {
    Stream const stream = Stream::at(task_.address, task_.purpose);
    for (std::int64_t d = 0; d < task_.documents; ++d) {
      std::int32_t* const z = task_.z + task_.token_ptr[d];
      std::int64_t const tokens = task_.token_ptr[d + 1] - task_.token_ptr[d];
      std::int64_t const groups = (tokens + 63) / 64;
      for (std::int64_t k = 0; k < task_.stride; ++k) s_.counts[k] = task_.alpha[k];
      for (std::int64_t t = 0; t < tokens; ++t)
        if (z[t] >= 0) s_.counts[z[t]] += 1.0f;
      pending_.in_counts = kNobody;
      std::int64_t t = 0;
      for (std::int64_t i = task_.indptr[d]; i < task_.indptr[d + 1]; ++i) {
        std::int32_t const w = task_.indices[i];
        std::int32_t* const row = task_.table + w * task_.stride;
        float const* const prior = task_.priors + task_.prior_of[w] * task_.stride;
        for (std::int32_t c = 0; c < task_.counts[i]; ++c, ++t) {
          if (t % 64 == 0) refill(stream, sweep * groups + t / 64, task_.entity[d]);
          z[t] = sample(row, prior, z[t], s_.uniforms[t % 64]);
        }
      }
    }
    if (pending_.row) pending_.row[pending_.in_row] += 1;
    if (pending_.topic != kNobody) s_.inverse[pending_.topic] = pending_.inverse;
    pending_ = {nullptr, kNobody, kNobody, kNobody, 0.0f};
  }

 private:
  float inverse(std::int64_t k) const {
    return static_cast<float>(1.0 / (task_.mass[k] + static_cast<double>(task_.totals[k])));
  }

  /// The next 64 uniforms of a document.
  void refill(Stream const& stream, std::int64_t group, std::uint64_t entity) {
    Words const w = random_words(stream, static_cast<std::uint32_t>(16 * group), entity);
    for (int q = 0; q < 4; ++q) store(s_.uniforms + 16 * q, uniform24(w.x[q]));
  }

  SGMC_INLINE std::int32_t sample(std::int32_t* row, float const* prior, std::int32_t z, float u) {
    float old_inverse = 0.0f;
    if (z >= 0) {
      task_.totals[z] -= 1;
      old_inverse = inverse(z);
    }
    bool const same = pending_.row == row;  // neighbours often are tokens of one word
    if (pending_.row && !same) pending_.row[pending_.in_row] += 1;
    U16 const old = u16(static_cast<std::uint32_t>(z));
    U16 const in_row = u16(same ? pending_.in_row : kNobody), in_counts = u16(pending_.in_counts);
    U16 const stale = u16(pending_.topic);
    F16 running = f16(0.0f);
    int const blocks = Blocks > 0 ? Blocks : blocks_;
#pragma GCC unroll 8
    for (int b = 0; b < blocks; ++b) {
      U16 const at = iota() + u16(16u * static_cast<std::uint32_t>(b));
      M16 const mine = at == old;
      F16 n = add_where(at == in_counts, load(s_.counts + 16 * b), f16(1.0f));
      n = add_where(mine, n, f16(-1.0f));
      store(s_.counts + 16 * b, n);
      U16 m = add_where(at == in_row, load_u(row + 16 * b), u16(1));
      m = add_where(mine, m, u16(kNobody));  // - 1
      store(row + 16 * b, m);
      F16 inv = select(at == stale, f16(pending_.inverse), load(s_.inverse + 16 * b));
      inv = select(mine, f16(old_inverse), inv);
      store(s_.inverse + 16 * b, inv);
      running = running + n * (load(prior + 16 * b) + to_float(m)) * inv;
      store(s_.sums + 16 * b, running);
    }
    F16 const cumulative = prefix(running);
    F16 const target = f16(u) * splat(cumulative, 15);
    LaneChoice const at = choose_lane(cumulative - running, cumulative, target);
    int const topic = choose_block<Blocks>(at, blocks, s_.sums, task_.topics - 1);
    task_.totals[topic] += 1;
    auto const position = static_cast<std::uint32_t>(topic);
    pending_ = {row, position, position, position, inverse(topic)};
    return topic;
  }

  CollapsedTask const task_;
  CollapsedScratch const s_;
  int const blocks_;
  Pending pending_{nullptr, kNobody, kNobody, kNobody, 0.0f};
};

template <int Blocks>
void run(CollapsedTask const& task, CollapsedScratch const& scratch) {
  Sampler<Blocks> sampler(task, scratch);
  for (std::int32_t m = 0; m < task.sweeps; ++m) sampler.sweep(m);
}

}  // namespace

void documents_collapsed(CollapsedTask const& task, CollapsedScratch const& scratch) noexcept {
  by_blocks<1, 2, 3, 4, 5, 6, 7, 8>(task.stride / 16,
                                    [&]<int Blocks>() { run<Blocks>(task, scratch); });
}

}  // namespace sgmc::SGMC_ISA
