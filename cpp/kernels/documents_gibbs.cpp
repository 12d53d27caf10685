// Gibbs sampling of token topics with topics fixed: the hot loop of everything.
//
// One token costs a chain of some hundred and fifty dependent cycles, so four documents advance
// together (eight if one vector holds all topics), phase by phase (choose.hpp), and their chains
// overlap.
//
// Up to 128 topics the counts of a document are written back whole, with masked adds at fixed
// addresses: a read-modify-write of the one vector that holds z stalls the next token's loads. The
// increment for a token's new topic waits for the document's next token, so that one pass does
// both.
//
// Two forms of a document, chosen by the number of topics (kDenseTopics) and, for a single sweep,
// by how many of them it uses (drivers/documents.cpp). Both draw each token from the same law:
//   dense   weights (alpha_k + n_dk) phi_kw over all K topics, read from the row of the word;
//   active  weights n_dk phi_kw over the topics that the document uses, their columns of phi copied
//           into a small matrix of its own, and a bucket of mass sum_k alpha_k phi_kw for a draw
//           from the whole row (Yao, Mimno and McCallum 2009): a token's cost hardly depends on K.
#include <cstdint>

#include "sgmc/choose.hpp"
#include "sgmc/counts.hpp"
#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/waiting.hpp"

namespace sgmc::SGMC_ISA {
namespace {

/// A document during its sweeps. Its topics have positions: in a dense document, position k is
/// topic k; an active document numbers the topics it uses.
struct Slot {
  std::int32_t const* rows;  // word row of each entry
  std::int32_t* token;       // entry of each token
  std::int32_t* z;           // topic of each token, -1 before its first draw
  float* n;                  // by position: alpha_k + n_dk (dense) or n_dk (active)
  float* uniforms;
  std::int64_t document, tokens, entries;
  std::int64_t at, uniform_at, uniform_end;
  std::int32_t sweep;
  std::int32_t pending;  // position of the previous token's new topic, not yet counted in n; or -1
  bool collect;
  // collected statistics: block b of positions of entry e begins at b * block_step + e * entry_step
  float* collected;
  std::int64_t block_step, entry_step;  // entry_step is 0 if only document counts are needed
  // active documents only
  float* columns;       // phi of the topics in use, (blocks, entries, 16)
  std::int32_t fresh;   // position whose column must still be copied, or -1
  float* share;         // by entry: expected draws from the bucket
  std::int32_t* topic;  // by position
  std::int32_t* where;  // by topic: its position, or -1
  std::int64_t columns_step;
  std::int32_t used, blocks;
};

/// What each token needs of the task, by value, so that stores to count vectors cannot alias it.
struct Topics {
  float const* phi;
  float const* mass;
  float const* running;
  float const* share;
  std::int64_t stride;
  std::int32_t topics;
  float most_alpha;
  bool rao_blackwell;
  bool once;  // there is a single sweep
};

/// Positions 16 b + 0..15.
SGMC_INLINE U16 positions(int b) { return iota() + u16(16u * static_cast<std::uint32_t>(b)); }

/// In a single sweep nothing is in the cache, so a token's row is prefetched this number of tokens
/// before it is drawn, and its cell this number before it is counted.
constexpr std::int64_t kRowAhead = 2, kCellAhead = 8;

/// Whether a document's counts change in place. In other documents, `pending` waits.
template <int Blocks, bool Active>
constexpr bool changes_in_place() {
#if defined(SGMC_AVX2)
  return !Active;
#else
  return !Active && Blocks == 0;
#endif
}

void clear(float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = 0.0f;
}

/// Adds `n` blocks of a row of phi times share to lane-wise sums, which are left in `sums`.
SGMC_INLINE F16 sum_row(F16 sum, float const* phi, float const* share, std::int64_t n,
                        float* sums) {
  for (std::int64_t k = 0; k < 16 * n; k += 16) {
    sum = sum + load(phi + k) * load(share + k);
    store(sums + k, sum);
  }
  return sum;
}

/// The topic in the chosen lane of a row of phi times `share`; `running` has the row's sums by lane
/// up to the end of each segment, so that only one segment is read.
__attribute__((noinline)) std::int32_t find_topic(LaneChoice at, float const* running,
                                                  float const* phi, float const* share,
                                                  Topics const& v) {
  std::int64_t const blocks = v.stride / 16, segments = segments_of(v.stride);
  float const inside = lane(at.inside, 0);
  std::int64_t segment = 0;  // the sums do not decrease, so passed segments come first
  for (std::int64_t i = 0; i + 1 < segments; ++i) segment += running[16 * i + at.lane] <= inside;
  float sums[16 * kSegment];
  F16 const before = segment ? load(running + 16 * (segment - 1)) : f16(0.0f);
  std::int64_t const first = segment * kSegment,
                     n = blocks - first < kSegment ? blocks - first : kSegment;
  sum_row(before, phi + 16 * first, share + 16 * first, n, sums);
  auto const offset = static_cast<std::int32_t>(16 * first);
  return offset + choose_block<0>(at, static_cast<int>(n), sums, v.topics - 1 - offset);
}

/// A topic drawn in proportion to row `row` of phi times alpha; `target` is uniform below the sum.
std::int32_t draw_from_row(std::int64_t row, Topics const& v, float target) {
  std::int64_t const segments = segments_of(v.stride);
  float const* const running = v.running + 16 * row * segments;
  F16 const sum = load(running + 16 * (segments - 1));
  F16 const cumulative = prefix(sum);
  LaneChoice const at = choose_lane(cumulative - sum, cumulative, f16(target));
  return find_topic(at, running, v.phi + row * v.stride, v.share, v);
}

/// Copies the column of phi for a position.
void copy_column(Slot& s, std::int32_t position, Topics const& v) {
  std::int32_t const topic = s.topic[position];
  float* const column = s.columns + (position >> 4) * s.columns_step + (position & 15);
  for (std::int64_t e = 0; e < s.entries; ++e) column[16 * e] = v.phi[s.rows[e] * v.stride + topic];
}

/// Copies the columns of all topics in use, row by row, because rows are pages apart.
void copy_columns(Slot& s, Topics const& v) {
  for (std::int64_t e = 0; e < s.entries; ++e) {
    float const* const row = v.phi + s.rows[e] * v.stride;
    if (e + kRowAhead < s.entries) {
      float const* const ahead = v.phi + s.rows[e + kRowAhead] * v.stride;
      for (std::int32_t p = 0; p < s.used; ++p) __builtin_prefetch(ahead + s.topic[p]);
    }
    float* to = s.columns + 16 * e;
    for (std::int32_t p = 0; p < s.used; ++p)
      to[(p >> 4) * s.columns_step + (p & 15)] = row[s.topic[p]];
  }
}

/// Position of a topic in an active document; a new topic is added, and its position is then
/// `fresh`.
std::int32_t position_of(Slot& s, std::int32_t topic) {
  if (s.where[topic] >= 0) return s.where[topic];
  std::int32_t at = s.used;
  // a topic without tokens makes room, unless counts were collected for it
  for (int b = 0; b < s.blocks && at == s.used && !s.collect; ++b) {
    std::uint32_t const idle = lanes(load(s.n + 16 * b) <= f16(0.0f));
    if (idle && 16 * b + __builtin_ctz(idle) < s.used) at = 16 * b + __builtin_ctz(idle);
  }
  if (at < s.used) {
    s.where[s.topic[at]] = -1;
  } else if (++s.used > 16 * s.blocks) {
    store(s.n + 16 * s.blocks, f16(0.0f));
    clear(s.columns + s.blocks * s.columns_step, s.columns_step);
    if (s.collect) clear(s.collected + s.blocks * s.block_step, s.block_step);
    ++s.blocks;
  }
  s.topic[at] = topic;
  s.where[topic] = at;
  s.fresh = at;
  return at;
}

/// Removes a token of a dense document from the document's counts, if it has a topic.
SGMC_INLINE void take_out(Slot& s, std::int64_t token) {
  if (s.z[token] >= 0) s.n[s.z[token]] -= 1.0f;
}

/// Draws the topic of token t of `Count` documents, in three phases: sums of weights, the point at
/// which each inverse CDF ends, and the topic there. Dense rows have `Blocks` blocks; if it is 0
/// the stride has their number.
template <int Blocks, bool Active, int Count>
SGMC_INLINE void sample_tokens(Slot* slots, std::int64_t t, Topics const v, float* scratch) {
  constexpr bool kInPlace = changes_in_place<Blocks, Active>();
  constexpr bool kLong = Blocks == 0 && !Active;  // running sums are kept by segments only
  F16 running[Count];
  float const* weights[Count];
  float bucket[Count];
  std::int64_t entry[Count], step[Count];
  int blocks[Count];
#pragma GCC unroll 8
  for (int i = 0; i < Count; ++i) {
    Slot& s = slots[i];
    if (Active && s.fresh >= 0) {
      copy_column(s, s.fresh, v);
      s.fresh = -1;
    }
    std::int64_t const token = s.at + t;
    std::int32_t const z = s.z[token];
    entry[i] = s.token[token];
    std::int64_t const row = s.rows[entry[i]];
    if (!Active && v.once) {
      float const* const ahead = v.phi + s.rows[s.token[token + kRowAhead]] * v.stride;
      for (int b = 0; b < (Blocks > 0 ? Blocks : static_cast<int>(v.stride / 16)); ++b)
        __builtin_prefetch(ahead + 16 * b);
    }
    blocks[i] = Blocks > 0 ? Blocks : Active ? s.blocks : static_cast<int>(v.stride / 16);
    step[i] = Active ? s.columns_step : 16;
    weights[i] = Active ? s.columns + 16 * entry[i] : v.phi + row * v.stride;
    bucket[i] = Active ? v.most_alpha * v.mass[row] : 0.0f;
    U16 const old = u16(static_cast<std::uint32_t>(Active && z >= 0 ? s.where[z] : z));
    U16 const pending = u16(static_cast<std::uint32_t>(s.pending));
    float* const counts = s.n;
    float* const sums = scratch + i * v.stride;
    float const* phi = weights[i];
    running[i] = f16(0.0f);
    if (kLong) continue;
#pragma GCC unroll 8
    for (int b = 0; b < blocks[i]; ++b, phi += step[i]) {
      F16 n = load(counts + 16 * b);
      if constexpr (!kInPlace) {
        n = add_where(positions(b) == pending, n, f16(1.0f));
        n = add_where(positions(b) == old, n, f16(-1.0f));
        store(counts + 16 * b, n);
      }
      running[i] = running[i] + n * load(phi);
      store(sums + 16 * b, running[i]);
    }
  }
  if (kLong)
    for (std::int64_t segment = 0, k = 0; k < v.stride; ++segment) {
      std::int64_t const end = k + 16 * kSegment < v.stride ? k + 16 * kSegment : v.stride;
      for (; k < end; k += 16)
#pragma GCC unroll 8
        for (int i = 0; i < Count; ++i)
          running[i] = running[i] + load(slots[i].n + k) * load(weights[i] + k);
      for (int i = 0; i < Count; ++i) store(scratch + i * v.stride + 16 * segment, running[i]);
    }

  F16 total[Count];
  LaneChoice chosen[Count];
  float beyond[Count];
#pragma GCC unroll 8
  for (int i = 0; i < Count; ++i) {
    Slot& s = slots[i];
    F16 const cumulative = prefix(running[i]);
    F16 const counted = splat(cumulative, 15);
    total[i] = Active ? counted + f16(bucket[i]) : counted;
    F16 const target = f16(s.uniforms[s.uniform_at + t]) * total[i];
    if constexpr (Active) {
      beyond[i] = lane(target - counted, 0);
      if (beyond[i] >= 0.0f) {  // the topic is drawn from the row, in the next phase
        std::int64_t const n = 16 * segments_of(v.stride);
        float const* const sums = v.running + s.rows[entry[i]] * n;
        for (std::int64_t k = 0; k < n; k += 16) __builtin_prefetch(sums + k);
      }
    }
    chosen[i] = choose_lane(cumulative - running[i], cumulative, target);
  }

#pragma GCC unroll 8
  for (int i = 0; i < Count; ++i) {
    Slot& s = slots[i];
    float* c = s.collected + entry[i] * s.entry_step;
    if (s.collect && v.rao_blackwell) {
      F16 const inverse = f16(1.0f) / max(total[i], f16(0x1p-126f));  // a tiny alpha underflows
      float const* phi = weights[i];
      float* to = c;
#pragma GCC unroll 8
      for (int b = 0; b < blocks[i]; ++b, phi += step[i], to += s.block_step)
        store(to, load(to) + load(s.n + 16 * b) * load(phi) * inverse);
      if constexpr (Active) s.share[entry[i]] += bucket[i] * lane(inverse, 0);
    }
    std::int32_t z, position;
    if (Active && beyond[i] >= 0.0f) {
      z = draw_from_row(s.rows[entry[i]], v, beyond[i] / v.most_alpha);
      position = position_of(s, z);
      // the column is copied before the document's next token, after the other documents' tokens
      if (s.fresh >= 0)
        for (std::int64_t e = 0; e < s.entries; ++e)
          __builtin_prefetch(v.phi + s.rows[e] * v.stride + z);
    } else {
      int const last = (Active ? s.used : v.topics) - 1;
      float const* const sums = scratch + i * v.stride;
      position = kLong ? find_topic(chosen[i], sums, weights[i], s.n, v)
                       : choose_block<Blocks>(chosen[i], blocks[i], sums, last);
      z = Active ? s.topic[position] : position;
    }
    std::int64_t const token = s.at + t;
    s.z[token] = z;
    if constexpr (kInPlace) {
      s.n[z] += 1.0f;
      if (token + 1 < s.tokens) take_out(s, token + 1);
    } else {
      s.pending = position;
    }
    if (s.collect && !v.rao_blackwell) c[(position >> 4) * s.block_step + (position & 15)] += 1.0f;
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

template <int Blocks, bool Active>
void start_sweep(Slot& s, DocumentsTask const& task, Stream const& stream) {
  if (s.pending >= 0) s.n[s.pending] += 1.0f;
  s.pending = -1;
  // alpha + n loses low bits of alpha as n grows, which are restored once per sweep
  if constexpr (!Active)
    for (std::int64_t k = 0; k < task.stride; k += 16) {
      F16 const alpha = load(task.alpha + k);
      store(s.n + k, floor(load(s.n + k) - alpha + f16(0.5f)) + alpha);
    }
  bool const first = s.sweep == task.sweeps - task.kept && !(task.last_topics && !Active);
  if (first) {
    std::int64_t const blocks = Active ? s.blocks : task.stride / 16;
    std::int64_t const dense = s.entry_step ? s.entries * task.stride : task.stride;
    clear(s.collected, Active ? blocks * s.block_step : dense);
    if constexpr (Active) clear(s.share, s.entries);
  }
  s.collect = s.collect || first;
  s.at = 0;
  if constexpr (changes_in_place<Blocks, Active>()) take_out(s, 0);
  refill_uniforms(s, task, stream);
}

/// Adds tokens' topics, or -1, to their counts in registers: they are mostly equal, and an addition
/// in memory would wait for the previous one.
template <int Blocks>
SGMC_INLINE void add_topics(std::int32_t const* z, std::int64_t tokens, float* counts) {
  F16 even[Blocks], odd[Blocks];
  for (int b = 0; b < Blocks; ++b) {
    even[b] = load(counts + 16 * b);
    odd[b] = f16(0.0f);
  }
  auto const add = [](F16* n, std::int32_t topic) {
    for (int b = 0; b < Blocks; ++b)
      n[b] = add_where(positions(b) == u16(static_cast<std::uint32_t>(topic)), n[b], f16(1.0f));
  };
  std::int64_t t = 0;
  for (; t + 2 <= tokens; t += 2) {
    add(even, z[t]);
    add(odd, z[t + 1]);
  }
  if (t < tokens) add(even, z[t]);
  for (int b = 0; b < Blocks; ++b) store(counts + 16 * b, even[b] + odd[b]);
}

/// Fills the slot with the next document that has tokens; returns false after the last one.
template <int Blocks, bool Active>
bool start_document(Slot& s, DocumentsTask const& task, Topics const& v, Stream const& stream) {
  for (;;) {
    std::int64_t const i = __atomic_fetch_add(task.next, std::int64_t{1}, __ATOMIC_RELAXED);
    if (i >= task.documents) return false;
    s.document = task.order[i];
    std::int64_t const begin = task.indptr[s.document];
    s.entries = task.indptr[s.document + 1] - begin;
    s.rows = task.indices + begin;
    s.tokens = 0;
    for (std::int64_t e = 0; e < s.entries; ++e) {
      std::int32_t const count = task.counts[begin + e];
      U16 const entry = u16(static_cast<std::uint32_t>(e));
      // sixteen at a time; the next entry overwrites the surplus, which avoids a branch on counts
      store(s.token + s.tokens, entry);
      for (std::int32_t c = 16; c < count; c += 16) store(s.token + s.tokens + c, entry);
      s.tokens += count;
    }
    // rows are also prefetched for the entries that seem to follow the last token
    if (s.entries) store(s.token + s.tokens, u16(static_cast<std::uint32_t>(s.entries - 1)));
    if (s.tokens == 0) {
      if (task.doc_counts)
        for (std::int64_t k = 0; k < task.stride; ++k)
          task.doc_counts[s.document * task.stride + k] = 0;
      continue;
    }
    s.collect = false;
    s.fresh = -1;
    if constexpr (Active) {
      for (std::int32_t p = 0; p < s.used; ++p) s.where[s.topic[p]] = -1;
      s.used = s.blocks = 0;
      // an odd number of lines between blocks, so that they do not share cache sets
      s.columns_step = 16 * (s.entries | 1);
      s.block_step = task.word_counts ? s.columns_step : 16;
      s.entry_step = task.word_counts ? 16 : 0;
    } else {
      for (std::int64_t k = 0; k < task.stride; ++k) s.n[k] = task.alpha[k];
      s.block_step = 16;
      s.entry_step = task.word_counts ? task.stride : 0;
    }
    if (task.z) {
      s.z = task.z + task.token_ptr[s.document];
      constexpr bool registers = 0 < Blocks && Blocks <= 2;  // more registers would be spilled
      if constexpr (registers) add_topics<Blocks>(s.z, s.tokens, s.n);
      for (std::int64_t t = 0; !registers && t < s.tokens; ++t) {
        if (s.z[t] < 0) continue;
        s.n[Active ? position_of(s, s.z[t]) : s.z[t]] += 1.0f;
      }
      if constexpr (Active) copy_columns(s, v);
      s.fresh = -1;
    } else {
      for (std::int64_t t = 0; t < s.tokens; ++t) s.z[t] = -1;
    }
    s.sweep = 0;
    s.pending = -1;
    start_sweep<Blocks, Active>(s, task, stream);
    return true;
  }
}

/// Adds round(x * unit) of 16 positions to integers.
template <bool Active>
SGMC_INLINE void add_counts(Slot const& s, int b, float const* x, double unit, std::int64_t* out) {
  if constexpr (!Active) {
    add_fixed(out + 16 * b, x, unit, false);
  } else {
    std::int32_t const* const topic = s.topic + 16 * b;
    for (std::uint32_t m = lanes(f16(0.0f) < load(x)); m; m &= m - 1) {
      int const l = __builtin_ctz(m);
      out[topic[l]] += fixed_point(x[l], unit);
    }
  }
}

/// Counts the topics of a dense document's tokens.
void count_tokens(Slot const& s, DocumentsTask const& task, std::int32_t const* count) {
  std::int64_t const stride = task.stride;
  std::int32_t const* z = s.z;
  if (task.word_counts)
    for (std::int64_t t = 0; t < s.tokens;) {
      std::int32_t const e = s.token[t];
      std::int64_t const ahead = t + kCellAhead < s.tokens ? t + kCellAhead : s.tokens - 1;
      __builtin_prefetch(task.word_counts + s.rows[s.token[ahead]] * stride + z[ahead], 1);
      // tokens of one word share a visit if rows must be reserved; alone, the branch on their
      // number would cost more
      std::int64_t const end = t + (task.alone ? 1 : count[e]);
      with_row(task, s.rows[e], [&](std::int64_t* out) {
        for (; t < end; ++t) ++out[z[t]];
      });
    }
  if (task.doc_counts) {
    std::int64_t* const out = task.doc_counts + s.document * stride;
    for (std::int64_t k = 0; k < stride; ++k) out[k] = 0;
    for (std::int64_t t = 0; t < s.tokens; ++t) ++out[s.z[t]];
  }
}

/// Stores the counts of an active document in the waiting lists.
void let_wait(Slot const& s, DocumentsTask const& task, WaitingCounts& w) {
  if (w.room - w.n < 16 * s.blocks * s.entries) add_waiting(task, w);
  for (std::int64_t e = 0; e < s.entries; ++e) {
    begin_list(w, s.rows[e]);
    for (int b = 0; b < s.blocks; ++b)
      push_some(w, load_u(s.topic + 16 * b),
                load(s.collected + b * s.block_step + e * s.entry_step));
    end_list(w);
    if (task.rao_blackwell)
      __atomic_fetch_add(task.bucket + s.rows[e], fixed_point(s.share[e], kUnit), __ATOMIC_RELAXED);
  }
}

template <bool Active>
void finish_document(Slot& s, DocumentsTask const& task, WaitingCounts& waiting, float* sums) {
  double const unit = task.rao_blackwell ? kUnit : 1.0;
  std::int64_t const stride = task.stride;
  std::int32_t const* const count = task.counts + task.indptr[s.document];
  int const blocks = Active ? s.blocks : static_cast<int>(stride / 16);
  if (!Active && task.last_topics) return count_tokens(s, task, count);
  if (Active && task.word_counts) {
    let_wait(s, task, waiting);
  } else if (task.word_counts) {
    for (std::int64_t e = 0; e < s.entries; ++e) {
      if (e + 2 < s.entries) {  // rows are far apart, so prefetch the next ones
        std::int64_t const* const ahead = task.word_counts + s.rows[e + 2] * stride;
        for (std::int64_t k = 0; k < stride; k += 8) __builtin_prefetch(ahead + k, 1);
      }
      bool const small = std::int64_t{count[e]} * task.kept < 128;
      with_row(task, s.rows[e], [&](std::int64_t* out) {
        for (int b = 0; b < blocks; ++b)
          add_fixed(out + 16 * b, s.collected + b * s.block_step + e * s.entry_step, unit, small);
      });
    }
  }
  if (task.doc_counts) {
    std::int64_t* const out = task.doc_counts + s.document * stride;
    for (std::int64_t k = 0; k < stride; ++k) out[k] = 0;
    std::int64_t const rows = s.entry_step ? s.entries : 1;
    for (std::int64_t e = 0; e < rows; ++e)
      for (int b = 0; b < blocks; ++b)
        add_counts<Active>(s, b, s.collected + b * s.block_step + e * s.entry_step, unit, out);
    if (Active && task.rao_blackwell) {
      clear(sums, stride);
      for (std::int64_t e = 0; e < s.entries; ++e) {
        std::int64_t const row = s.rows[e];
        F16 const part = f16(s.share[e] / task.mass[row]);
        for (std::int64_t k = 0; k < stride; k += 16)
          store(sums + k,
                load(sums + k) + part * (load(task.phi + row * stride + k) * load(task.share + k)));
      }
      for (std::int64_t k = 0; k < stride; ++k) out[k] += fixed_point(sums[k], kUnit);
    }
  }
}

template <int Blocks, bool Active>
void run(DocumentsTask const& task, DocumentsScratch const& scratch) {
  WaitingCounts waiting = scratch.waiting;
  Stream const stream = Stream::at(task.address, task.purpose);
  Topics const topics{task.phi,        task.mass,          task.running,
                      task.share,      task.stride,        task.topics,
                      task.most_alpha, task.rao_blackwell, task.sweeps == 1};
  constexpr int kTogether = Blocks == 1 ? kMostSlots : kSlots;
  Slot slots[kTogether]{};
  int active = 0;
  for (int i = 0; i < kTogether; ++i) {
    Slot& s = slots[active];
    DocumentScratch const& of = scratch.slot[i];
    s.token = of.token;
    s.z = of.z;
    s.n = of.counts;
    s.collected = of.collected;
    s.uniforms = of.uniforms;
    if constexpr (Active) {
      s.columns = of.columns;
      s.share = of.share;
      s.topic = of.topic;
      s.where = of.where;
      s.used = 0;
      for (std::int32_t k = 0; k < task.topics; ++k) s.where[k] = -1;
    }
    if (start_document<Blocks, Active>(s, task, topics, stream)) ++active;
  }
  while (active > 0) {
    std::int64_t n = slots[0].uniform_end - slots[0].at;
    for (int i = 1; i < active; ++i) {
      std::int64_t const left = slots[i].uniform_end - slots[i].at;
      if (left < n) n = left;
    }
    if (active == kTogether) {
      for (std::int64_t t = 0; t < n; ++t)
        sample_tokens<Blocks, Active, kTogether>(slots, t, topics, scratch.sums);
    } else {
      for (std::int64_t t = 0; t < n; ++t)
        for (int i = 0; i < active; ++i)
          sample_tokens<Blocks, Active, 1>(slots + i, t, topics, scratch.sums);
    }
    for (int i = 0; i < active;) {
      Slot& s = slots[i];
      s.at += n;
      s.uniform_at += n;
      bool alive = true;
      if (s.at == s.tokens) {
        if (++s.sweep < task.sweeps) {
          start_sweep<Blocks, Active>(s, task, stream);
        } else {
          finish_document<Active>(s, task, waiting, scratch.sums);
          alive = start_document<Blocks, Active>(s, task, topics, stream);
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
  if (waiting.lists) add_waiting(task, waiting);
}

}  // namespace

void documents_gibbs(DocumentsTask const& task, DocumentsScratch const& scratch) noexcept {
  if (task.mass) return run<0, true>(task, scratch);
  by_blocks<1, 2, 3, 4, 5, 6, 7, 8>(task.stride / 16,
                                    [&]<int Blocks>() { run<Blocks, false>(task, scratch); });
}

}  // namespace sgmc::SGMC_ISA
