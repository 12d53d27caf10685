// Gibbs sampling of token topics with topics fixed: the hot loop of everything.
//
// One token costs a chain of about a hundred dependent cycles, so four documents advance together
// and their chains overlap. A token's K weights are summed lane by lane over the blocks of 16
// topics; the inverse CDF runs first over the 16 lane totals, then over the blocks inside the
// chosen lane: any fixed order of the topics is a valid one, and this one needs a single prefix
// sum.
//
// The count vector of the document is written back whole, with masked adds at fixed addresses: a
// read-modify-write of the one entry that holds z stalls the next token's loads.
#include <cstdint>

#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"

namespace sgmc::SGMC_ISA {
namespace {

struct Slot {
  std::int32_t const* rows;  // word row of each entry
  std::int32_t* token;       // entry of each token
  std::int32_t* z;
  float* n;  // alpha + n_dk
  float* collected;
  float* uniforms;
  std::int64_t entry_stride;  // of `collected`: 0 where only document counts are wanted
  std::int64_t document, tokens, entries;
  std::int64_t at, uniform_at, uniform_end;
  std::int32_t sweep;
  bool collect;
};

/// Topics 16 b + 0..15.
SGMC_INLINE U16 topic_ids(int b) { return iota() + u16(16u * static_cast<std::uint32_t>(b)); }

/// What every token needs of the task, by value: stores to count vectors cannot touch it.
struct Topics {
  float const* phi;
  std::int64_t stride;
  std::int32_t topics;
  bool rao_blackwell;
};

template <int Blocks>
SGMC_INLINE void sample_token(Slot const& s, std::int64_t i, Topics const v, float* scratch) {
  int const blocks = Blocks > 0 ? Blocks : static_cast<int>(v.stride / 16);
  std::int32_t const entry = s.token[i];
  float const* const phi = v.phi + static_cast<std::int64_t>(s.rows[entry]) * v.stride;
  float* const counts = s.n;
  U16 const old = u16(static_cast<std::uint32_t>(s.z[i]));

  // with few blocks the counts and the running sums stay in registers
  F16 n[Blocks > 0 ? Blocks : 1], sum[Blocks > 0 ? Blocks : 1];
  F16 running = f16(0.0f);
  for (int b = 0; b < blocks; ++b) {
    F16 const without = add_where(topic_ids(b) == old, load(counts + 16 * b), f16(-1.0f));
    running = running + without * load(phi + 16 * b);
    if constexpr (Blocks > 0) {
      n[b] = without;
      sum[b] = running;
    } else {
      store(counts + 16 * b, without);
      store(scratch + 16 * b, running);
    }
  }
  F16 const cumulative = prefix(running);
  float const total = lane(cumulative, 15);
  F16 const target = f16(s.uniforms[s.uniform_at + i - s.at] * total);
  // rounding may pass the last lane that has a topic, where K < 16: stay on it
  int const passed_lanes = popcount(lanes(cumulative <= target));
  int const last_lane = v.topics < 16 ? v.topics - 1 : 15;
  int const chosen = passed_lanes < last_lane ? passed_lanes : last_lane;
  F16 const inside = f16(lane(target - (cumulative - running), chosen));
  U16 passed = u16(0);
  for (int b = 0; b < blocks; ++b)
    passed = add_where((Blocks > 0 ? sum[b] : load(scratch + 16 * b)) <= inside, passed, u16(1));
  alignas(64) std::int32_t count[16];
  store(count, passed);
  // rounding may pass the last block of the lane: stay on its last topic
  int const last = (v.topics - 1 - chosen) >> 4;
  int const block = count[chosen] < last ? count[chosen] : last;
  std::int32_t const z = 16 * block + chosen;
  s.z[i] = z;

  if (s.collect) {
    float* const c = s.collected + entry * s.entry_stride;
    if (v.rao_blackwell) {
      F16 const inverse = f16(1.0f / total);
      for (int b = 0; b < blocks; ++b) {
        F16 const without = Blocks > 0 ? n[b] : load(counts + 16 * b);
        store(c + 16 * b, load(c + 16 * b) + without * load(phi + 16 * b) * inverse);
      }
    } else {
      c[z] += 1.0f;
    }
  }
  U16 const now = u16(static_cast<std::uint32_t>(z));
  for (int b = 0; b < blocks; ++b) {
    F16 const without = Blocks > 0 ? n[b] : load(counts + 16 * b);
    store(counts + 16 * b, add_where(topic_ids(b) == now, without, f16(1.0f)));
  }
}

void refill_uniforms(Slot& s, DocumentsTask const& task, Stream const& stream) {
  // token i of sweep m uses word i % 64 of the blocks from 16 (m ceil(tokens/64) + i/64) on
  std::int64_t const groups = (s.tokens + 63) / 64;
  std::int64_t const first = s.at / 64;
  std::int64_t const left = groups - first;
  std::int64_t const take = left < kUniforms / 64 ? left : kUniforms / 64;
  std::uint64_t const entity = task.entity[s.document];
  for (std::int64_t i = 0; i < take; ++i) {
    Words const w = random_words(
        stream, static_cast<std::uint32_t>(16 * (s.sweep * groups + first + i)), entity);
    for (int q = 0; q < 4; ++q) store(s.uniforms + 64 * i + 16 * q, uniform24(w.x[q]));
  }
  s.uniform_at = 0;
  std::int64_t const end = (first + take) * 64;
  s.uniform_end = end < s.tokens ? end : s.tokens;
}

void start_sweep(Slot& s, DocumentsTask const& task, Stream const& stream) {
  // alpha + n loses the low bits of alpha when n grows: restore them once a sweep
  F16 const alpha = f16(task.alpha);
  for (std::int64_t k = 0; k < task.stride; k += 16)
    store(s.n + k, floor(load(s.n + k) - alpha + f16(0.5f)) + alpha);
  s.collect = s.sweep >= task.sweeps - task.kept;
  s.at = 0;
  refill_uniforms(s, task, stream);
}

/// Fills the slot with the next document that has tokens; false when there is none.
bool start_document(Slot& s, DocumentsTask const& task, Stream const& stream) {
  for (;;) {
    std::int64_t const i = __atomic_fetch_add(task.next, std::int64_t{1}, __ATOMIC_RELAXED);
    if (i >= task.documents) return false;
    s.document = task.order[i];
    std::int64_t const begin = task.indptr[s.document];
    s.entries = task.indptr[s.document + 1] - begin;
    s.rows = task.indices + begin;
    s.tokens = 0;
    for (std::int64_t e = 0; e < s.entries; ++e)
      for (std::int32_t c = 0; c < task.counts[begin + e]; ++c)
        s.token[s.tokens++] = static_cast<std::int32_t>(e);
    if (s.tokens == 0) {
      if (task.doc_counts)
        for (std::int64_t k = 0; k < task.stride; ++k)
          task.doc_counts[s.document * task.stride + k] = 0;
      continue;
    }
    if (task.z)
      s.z = task.z + task.token_ptr[s.document];
    else
      for (std::int64_t t = 0; t < s.tokens; ++t) s.z[t] = -1;
    for (std::int64_t k = 0; k < task.stride; ++k) s.n[k] = task.alpha;
    if (task.z)
      for (std::int64_t t = 0; t < s.tokens; ++t)
        if (s.z[t] >= 0) s.n[s.z[t]] += 1.0f;
    std::int64_t const collected = s.entry_stride ? s.entries * s.entry_stride : task.stride;
    for (std::int64_t k = 0; k < collected; ++k) s.collected[k] = 0.0f;
    s.sweep = 0;
    start_sweep(s, task, stream);
    return true;
  }
}

/// round(x * unit) for |x * unit| < 2^51, by the position of the binary point in a double.
SGMC_INLINE std::int64_t fixed_point(float x, double unit) {
  return __builtin_bit_cast(std::int64_t, static_cast<double>(x) * unit + 6755399441055744.0) -
         0x4338000000000000;
}

void finish_document(Slot& s, DocumentsTask const& task) {
  double const unit = task.rao_blackwell ? kUnit : 1.0;
  std::int64_t const stride = task.stride;
  if (task.word_counts) {
    for (std::int64_t e = 0; e < s.entries; ++e) {
      std::int64_t const row = s.rows[e];
      std::int64_t* const out = task.word_counts + row * stride;
      float const* const c = s.collected + e * stride;
      if (task.touched[row])
        for (std::int64_t k = 0; k < stride; ++k) out[k] += fixed_point(c[k], unit);
      else
        for (std::int64_t k = 0; k < stride; ++k) out[k] = fixed_point(c[k], unit);
      task.touched[row] = 1;
    }
  }
  if (task.doc_counts) {
    std::int64_t* const out = task.doc_counts + s.document * stride;
    for (std::int64_t k = 0; k < stride; ++k) out[k] = 0;
    std::int64_t const rows = s.entry_stride ? s.entries : 1;
    for (std::int64_t e = 0; e < rows; ++e)
      for (std::int64_t k = 0; k < stride; ++k)
        out[k] += fixed_point(s.collected[e * stride + k], unit);
  }
}

template <int Blocks>
void run(DocumentsTask const& task, DocumentsScratch const& scratch) {
  Stream const stream =
      Stream::make(task.address.seed, task.address.chain,
                   stream_purpose(task.purpose, task.address.stream), task.address.step);
  Topics const topics{task.phi, task.stride, task.topics, task.rao_blackwell};
  Slot slots[kSlots];
  int active = 0;
  for (int i = 0; i < kSlots; ++i) {
    Slot& s = slots[active];
    s.token = scratch.token[i];
    s.z = scratch.z[i];
    s.n = scratch.counts[i];
    s.collected = scratch.collected[i];
    s.uniforms = scratch.uniforms[i];
    s.entry_stride = task.word_counts ? task.stride : 0;
    if (start_document(s, task, stream)) ++active;
  }
  while (active > 0) {
    std::int64_t n = slots[0].uniform_end - slots[0].at;
    for (int i = 1; i < active; ++i) {
      std::int64_t const left = slots[i].uniform_end - slots[i].at;
      if (left < n) n = left;
    }
    if (active == kSlots) {
      for (std::int64_t t = 0; t < n; ++t)
        for (int i = 0; i < kSlots; ++i)
          sample_token<Blocks>(slots[i], slots[i].at + t, topics, scratch.sums);
    } else {
      for (std::int64_t t = 0; t < n; ++t)
        for (int i = 0; i < active; ++i)
          sample_token<Blocks>(slots[i], slots[i].at + t, topics, scratch.sums);
    }
    for (int i = 0; i < active;) {
      Slot& s = slots[i];
      s.at += n;
      s.uniform_at += n;
      bool alive = true;
      if (s.at == s.tokens) {
        if (++s.sweep < task.sweeps) {
          start_sweep(s, task, stream);
        } else {
          finish_document(s, task);
          alive = start_document(s, task, stream);
        }
      } else if (s.at == s.uniform_end) {
        refill_uniforms(s, task, stream);
      }
      if (alive) {
        ++i;
      } else {
        Slot const idle = s;
        slots[i] = slots[--active];
        slots[active] = idle;
      }
    }
  }
}

}  // namespace

void documents_gibbs(DocumentsTask const& task, DocumentsScratch const& scratch) noexcept {
  switch (task.stride / 16) {
    case 1: return run<1>(task, scratch);
    case 2: return run<2>(task, scratch);
    case 3: return run<3>(task, scratch);
    case 4: return run<4>(task, scratch);
    case 5: return run<5>(task, scratch);
    case 6: return run<6>(task, scratch);
    case 7: return run<7>(task, scratch);
    case 8: return run<8>(task, scratch);
    default: return run<0>(task, scratch);
  }
}

}  // namespace sgmc::SGMC_ISA
