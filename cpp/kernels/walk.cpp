// Langevin steps of words that walk through time slices, preconditioned by the precision of walk
// and counts together: by minibatches, or with a Metropolis-Hastings accept step.
#include "sgmc/walk.hpp"

#include <cstdint>

#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/lanes.hpp"
#include "sgmc/noise.hpp"

namespace sgmc::SGMC_ISA {
namespace {

/// Tells which rows of a word have counts.
class Counted {
 public:
  Counted(WalkTask const& task, std::int64_t first_word) : task_(task) {
    std::int64_t low = 0, high = task.n_touched;  // the first row that is not below it
    while (low < high) {
      std::int64_t const middle = low + (high - low) / 2;
      if (task.touched[middle] < first_word * task.slices)
        low = middle + 1;
      else
        high = middle;
    }
    at_ = low;
  }
  SGMC_INLINE void next(std::int64_t word, std::int64_t* of) {
    for (std::int64_t t = 0; t < task_.slices; ++t) {
      bool const has = at_ < task_.n_touched && task_.touched[at_] == word * task_.slices + t;
      of[t] = has ? at_++ : -1;
    }
  }

 private:
  WalkTask const& task_;
  std::int64_t at_;
};

SGMC_INLINE F16 counts_at(WalkTask const& task, std::int64_t row, std::int64_t k) {
  return row < 0 ? f16(0.0f) : load_scaled(task.counts + row * task.stride + k, task.factor);
}

/// (Q b)_t of the slices b of a word, `stride` apart.
SGMC_INLINE F16 pulled(WalkTask const& task, float const* b, std::int64_t t) {
  F16 beside = f16(0.0f);
  if (t > 0) beside = beside + load(b + (t - 1) * task.stride);
  if (t + 1 < task.slices) beside = beside + load(b + (t + 1) * task.stride);
  return f16(task.diagonal[t]) * load(b + t * task.stride) - f16(task.tie) * beside;
}

/// log(1 + x / s), s > 0 and s + x > 0.
SGMC_INLINE D16 log_ratio(D16 x, D16 s) {
  D16 const z = x / (s + s + x);
  if (greatest(abs(narrowed(z))) < 0.2f) {
    D16 const q = z * z;
    D16 sum = d16(1.0 / 13.0);
    for (int odd = 11; odd > 0; odd -= 2) sum = sum * q + d16(1.0 / odd);
    return (z + z) * sum;
  }
  alignas(64) double ratio[kPad];
  store(ratio, x / s);
  for (double& value : ratio) value = __builtin_log1p(value);
  return load(ratio);
}

}  // namespace

void walk_step(float* b, float* curvature, WalkTask const& task, WalkMove const& move,
               std::int64_t begin, std::int64_t end, WalkScratch const& scratch,
               double* sums) noexcept {
  std::int64_t const slices = task.slices, stride = task.stride;
  Stream const stream = Stream::at(task.address, Purpose::walk_noise);
  F16 const take = f16(move.take), noise_of = f16(move.noise * move.noise);
  F16 const weight = f16(move.weight), tie = f16(task.tie), zero = f16(0.0f), one = f16(1.0f);
  float *const inverse = scratch.value, *const solved = inverse + slices * kPad;
  for (std::int64_t i = 0; i < slices * stride; ++i) sums[i] = 0.0;
  Counted counted(task, begin);
  for (std::int64_t w = begin; w < end; ++w) {
    Noise noise(RowWords::make(stream, static_cast<std::uint64_t>(w)));
    counted.next(w, scratch.counted);
    for (std::int64_t k = 0; k < stride; k += kPad) {
      float *const row = b + w * slices * stride + k, *const m = curvature + (row - b);
      M16 const real = real_lanes(task.topics, k);
      F16 before = zero;
      for (std::int64_t t = 0; t < slices; ++t) {
        std::int64_t const at = t * stride + k;
        F16 const phi = exp(load(row + t * stride) - load(task.shift + at)) * load(task.scale + at);
        F16 const expected = load(task.total + at) * phi;
        F16 const found = counts_at(task, scratch.counted[t], k);
        F16 const seen = load(m + t * stride), after = seen + weight * (found - seen);
        store(m + t * stride, select(real, after, zero));
        // the current estimate must not affect its own step, or the mean of the steps would be
        // biased
        F16 const curved = move.warm ? max(after, expected) : max(seen, one);
        F16 pivot = f16(task.diagonal[t]) + curved;
        F16 right = found - expected - pulled(task, row, t);
        if (t > 0) {
          F16 const ratio = tie * load(inverse + (t - 1) * kPad);
          pivot = pivot - tie * ratio;
          right = right + ratio * before;
        }
        store(inverse + t * kPad, one / pivot);
        store(solved + t * kPad, right);
        before = right;
      }
      F16 next = zero;
      for (std::int64_t t = slices; t-- > 0;) {
        F16 const d = load(inverse + t * kPad);
        F16 squared;
        F16 const direction = noise.next(squared);
        F16 const moved = take * load(solved + t * kPad) * d +
                          sqrt(noise_of * squared * d) * direction + tie * d * next;
        next = moved;
        F16 const fresh = select(real, load(row + t * stride) + moved, zero);
        store(row + t * stride, fresh);
        std::int64_t const at = t * stride + k;
        F16 const mass = select(real, exp(fresh - load(task.shift + at)), zero);
        store(sums + at, load(sums + at) + to_double(mass));
      }
    }
  }
}

void walk_accept(float* b, WalkTask const& task, std::int64_t k, WalkScratch const& scratch,
                 double* sums, std::int64_t* accepted) noexcept {
  std::int64_t const slices = task.slices, stride = task.stride;
  Stream const stream = Stream::at(task.address, Purpose::walk_noise);
  Stream const chance = Stream::at(task.address, Purpose::walk_accept);
  F16 const h = f16(static_cast<float>(task.h)), tie = f16(task.tie), zero = f16(0.0f);
  F16 const one = f16(1.0f), variance = f16(static_cast<float>(2.0 * task.h));
  M16 const real = real_lanes(task.topics, k);
  float* place = scratch.value;
  auto const part = [&] {
    float* const here = place;
    place += slices * kPad;
    return here;
  };
  float *const inverse = part(), *const solved = part(), *const mass = part();
  float *const share = part(), *const count = part(), *const step = part();
  double* const sum = scratch.sum;
  for (std::int64_t t = 0; t < slices; ++t) {
    D16 total = d16(0.0);
    for (std::int64_t w = 0; w < task.words; ++w)
      total = total + to_double(exp(load(b + (w * slices + t) * stride + k) -
                                    load(task.shift + t * stride + k)));
    store(sum + t * kPad, total);
  }
  for (std::int64_t i = 0; i < kPad; ++i) accepted[k + i] = 0;
  Counted counted(task, 0);
  for (std::int64_t w = 0; w < task.words; ++w) {
    auto const entity = static_cast<std::uint64_t>(w * (stride / kPad) + k / kPad);
    Noise noise(RowWords::make(stream, entity));
    float* const row = b + w * slices * stride + k;
    counted.next(w, scratch.counted);
    F16 energy = zero, before = zero;
    for (std::int64_t t = 0; t < slices; ++t) {
      std::int64_t const at = t * stride + k;
      F16 const now = exp(load(row + t * stride) - load(task.shift + at));
      F16 const phi = narrowed(to_double(now) / load(sum + t * kPad));
      F16 const found = counts_at(task, scratch.counted[t], k);
      F16 pivot = f16(task.diagonal[t]) + max(found, one);
      F16 right = found - load(task.total + at) * phi - pulled(task, row, t);
      if (t > 0) {
        F16 const ratio = tie * load(inverse + (t - 1) * kPad);
        pivot = pivot - tie * ratio;
        right = right + ratio * before;
      }
      F16 const d = one / pivot;
      energy = energy + right * right * d;
      store(inverse + t * kPad, d);
      store(solved + t * kPad, right);
      store(mass + t * kPad, now);
      store(share + t * kPad, phi);
      store(count + t * kPad, found);
      before = right;
    }
    F16 next = zero;
    for (std::int64_t t = slices; t-- > 0;) {
      F16 const d = load(inverse + t * kPad);
      F16 squared;
      F16 const direction = noise.next(squared);
      next = h * load(solved + t * kPad) * d + sqrt(variance * squared * d) * direction +
             tie * d * next;
      store(step + t * kPad, next);
    }
    // the terms of Q cancel in the ratio of densities and proposals, except g' M g' and g M g
    D16 gain = d16(0.0);
    F16 other = zero;
    before = zero;
    for (std::int64_t t = 0; t < slices; ++t) {
      std::int64_t const at = t * stride + k;
      F16 const moved = load(step + t * kPad), n = load(task.total + at);
      F16 const fresh = exp(load(row + t * stride) + moved - load(task.shift + at));
      D16 const old_sum = load(sum + t * kPad);
      D16 const change = to_double(fresh) - to_double(load(mass + t * kPad));
      F16 const phi = narrowed(to_double(fresh) / (old_sum + change));
      F16 beside = zero;
      if (t > 0) beside = beside + load(row + (t - 1) * stride) + load(step + (t - 1) * kPad);
      if (t + 1 < slices)
        beside = beside + load(row + (t + 1) * stride) + load(step + (t + 1) * kPad);
      F16 const pull = f16(task.diagonal[t]) * (load(row + t * stride) + moved) - tie * beside;
      F16 right = load(count + t * kPad) - n * phi - pull;
      if (t > 0) right = right + tie * load(inverse + (t - 1) * kPad) * before;
      other = other + right * right * load(inverse + t * kPad);
      before = right;
      D16 const mean = to_double(load(share + t * kPad) + phi) * to_double(moved);
      gain = gain + to_double(n) * (d16(0.5) * mean - log_ratio(change, old_sum));
    }
    gain = gain + to_double(f16(0.25f) * h * (energy - other));
    RowWords words = RowWords::make(chance, entity);
    M16 const yes = (log(uniform_open(words.next())) < narrowed(gain)) & real;
    for (std::int64_t t = 0; t < slices; ++t) {
      F16 const old = load(row + t * stride);
      F16 const fresh = select(yes, old + load(step + t * kPad), old);
      F16 const now = exp(fresh - load(task.shift + t * stride + k));
      store(row + t * stride, fresh);
      store(sum + t * kPad,
            load(sum + t * kPad) + (to_double(now) - to_double(load(mass + t * kPad))));
    }
    for (std::uint32_t left = lanes(yes); left; left &= left - 1)
      ++accepted[k + __builtin_ctz(left)];
  }
  for (std::int64_t t = 0; t < slices; ++t)
    for (std::int64_t i = 0; i < kPad; ++i) sums[t * stride + k + i] = sum[t * kPad + i];
}

void walk_phi(float const* b, std::int32_t const* rows, std::int64_t begin, std::int64_t end,
              float* out, WalkTask const& task) noexcept {
  std::int64_t const stride = task.stride;
  for (std::int64_t i = begin; i < end; ++i) {
    std::int64_t const r = rows ? rows[i] : i, t = r % task.slices;
    for (std::int64_t k = 0; k < stride; k += kPad) {
      std::int64_t const at = t * stride + k;
      F16 const phi = exp(load(b + r * stride + k) - load(task.shift + at)) * load(task.scale + at);
      store(out + i * stride + k,
            select(real_lanes(task.topics, k), max(phi, f16(kPhiFloor)), f16(0.0f)));
    }
  }
}

}  // namespace sgmc::SGMC_ISA
