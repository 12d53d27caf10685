// Documents that are unit vectors near a mixture of topics: their proportions given the topics, and
// their statistics for the topics. No array has the size of the vocabulary: with G the inner
// products of the topics, and b the inner products of a document with them,
//
//   ||beta theta||^2 = theta^T G theta = n^2,   v^T beta theta / n = b^T theta / n = c.
#include <cstdint>

#include "sgmc/arc.hpp"
#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"

namespace sgmc::SGMC_ISA {
namespace {

/// Sixteen documents, a lane each: arrays of topics * 16.
///
/// Places, velocities and energies are in double. The force alone is in single precision: a
/// trajectory may follow any function of its place, as long as it is accepted by the energy itself.
class Together {
 public:
  SGMC_INLINE Together(ProportionsTask const& task, ProportionsScratch const& scratch,
                       std::int64_t first)
      : task_(task),
        first_(first),
        count_(task.documents - first < kTogether ? static_cast<int>(task.documents - first)
                                                  : kTogether),
        topics_(task.topics),
        root_(task.chart == Chart::root),
        // for the root chart 2 alpha - 1: twice alpha - 1, plus 1 for the change of variables
        power_(root_ ? 2.0 * task.alpha - 1.0 : task.alpha - 1.0),
        at_(scratch.place[0]),
        kept_(scratch.place[1]),
        pace_(scratch.place[2]),
        along_(scratch.place[3]),
        work_(scratch.place[4]),
        near_(scratch.force[0]),
        theta_(scratch.force[1]),
        mixed_(scratch.force[2]),
        slope_(scratch.force[3]) {
    alignas(64) std::uint32_t low[16], high[16];
    for (int l = 0; l < kTogether; ++l) {
      std::int64_t const d = first + (l < count_ ? l : count_ - 1);  // the others have no owner
      low[l] = static_cast<std::uint32_t>(task.entity[d]);
      high[l] = static_cast<std::uint32_t>(task.entity[d] >> 32);
      for (int k = 0; k < topics_; ++k) {
        double const share = task.theta[d * task.stride + k];
        along_[16 * k + l] = task.along[d * task.stride + k];
        near_[16 * k + l] = static_cast<float>(along_[16 * k + l]);
        kept_[16 * k + l] = at_[16 * k + l] = root_ ? __builtin_sqrt(share) : share;
      }
    }
    low_ = load_u(low);
    high_ = load_u(high);
    stream_ = Stream::at(task.address, task.purpose);
  }

  void run() {
    potential(settled_);
    for (std::int32_t t = 0; t < task_.trajectories; ++t) trajectory(t);
    for (int l = 0; l < count_; ++l)
      for (int k = 0; k < topics_; ++k) {
        double const x = kept_[16 * k + l];
        task_.theta[(first_ + l) * task_.stride + k] = root_ ? x * x : x;
      }
  }

 private:
  SGMC_INLINE void copy(double* to, double const* from) const {
    for (int k = 0; k < topics_; ++k) store(to + 16 * k, load(from + 16 * k));
  }

  /// The sum over topics of a_k b_k, in each lane.
  SGMC_INLINE D16 dot(double const* a, double const* b) const {
    D16 sum = d16(0.0);
    for (int k = 0; k < topics_; ++k) sum = sum + load(a + 16 * k) * load(b + 16 * k);
    return sum;
  }
  SGMC_INLINE D16 total(double const* a) const {
    D16 sum = d16(0.0);
    for (int k = 0; k < topics_; ++k) sum = sum + load(a + 16 * k);
    return sum;
  }

  /// The energy of each lane: -kappa c - power sum_k ln |x_k|.
  void potential(double* energy) {
    D16 square = d16(0.0), toward = d16(0.0);
    for (int k = 0; k < topics_; ++k) {
      D16 const x = load(at_ + 16 * k);
      store(work_ + 16 * k, root_ ? x * x : x);
    }
    for (int k = 0; k < topics_; ++k) {
      D16 mixed = d16(0.0);
      for (int j = 0; j < topics_; ++j)
        mixed = mixed + d16(task_.gram[k * task_.stride + j]) * load(work_ + 16 * j);
      D16 const theta = load(work_ + 16 * k);
      square = square + theta * mixed;
      toward = toward + theta * load(along_ + 16 * k);
    }
    alignas(64) double logs[16] = {}, product[16], c[16];
    store(c, toward / sqrt(square + d16(kLeastNorm * kLeastNorm)));
    for (int k = 0; k < topics_; k += 4) {  // four of above 1e-76 do not underflow
      int const last = k + 4 < topics_ ? k + 4 : topics_;
      for (double& p : product) p = 1.0;
      for (int j = k; j < last; ++j)
        for (int l = 0; l < kTogether; ++l) {
          double const x = at_[16 * j + l], size = root_ && x < 0.0 ? -x : x;
          // NaN stays NaN, and a flat component of 0 or less has no energy
          product[l] *= size <= 0.0 && !root_ ? __builtin_nan("") : size < 1e-76 ? 1e-76 : size;
        }
      for (int l = 0; l < kTogether; ++l) logs[l] += __builtin_log(product[l]);
    }
    for (int l = 0; l < kTogether; ++l) energy[l] = -task_.kappa * c[l] - power_ * logs[l];
  }

  /// G theta, four topics at a time, so that each load of theta serves all four.
  template <int N>
  SGMC_INLINE void mix(int k) {
    F16 sum[N];
    for (F16& s : sum) s = f16(0.0f);
    for (int j = 0; j < topics_; ++j) {
      F16 const theta = load(theta_ + 16 * j);
      for (int i = 0; i < N; ++i)
        sum[i] = sum[i] + f16(task_.rows[(k + i) * task_.stride + j]) * theta;
    }
    for (int i = 0; i < N; ++i) store(mixed_ + 16 * (k + i), sum[i]);
  }

  /// v -= length grad E, within the tangent space.
  void kick(double length) {
    F16 const one = f16(1.0f), power = f16(static_cast<float>(power_));
    for (int k = 0; k < topics_; ++k) {
      F16 const x = narrowed(load(at_ + 16 * k));
      store(theta_ + 16 * k, root_ ? x * x : x);
      store(slope_ + 16 * k, power / x);
    }
    int at = 0;
    for (; at + 4 <= topics_; at += 4) mix<4>(at);
    for (; at < topics_; ++at) mix<1>(at);
    F16 square = f16(1e-24f), toward = f16(0.0f);
    for (int k = 0; k < topics_; ++k) {
      F16 const theta = load(theta_ + 16 * k);
      square = square + theta * load(mixed_ + 16 * k);
      toward = toward + theta * load(near_ + 16 * k);
    }
    F16 const inverse = one / sqrt(square), pull = f16(static_cast<float>(task_.kappa)) * inverse;
    F16 const back = toward * inverse * inverse;
    D16 const much = d16(length);
    D16 out = d16(0.0);
    for (int k = 0; k < topics_; ++k) {
      D16 const x = load(at_ + 16 * k);
      F16 const force = pull * (load(near_ + 16 * k) - back * load(mixed_ + 16 * k));
      F16 const near = narrowed(x);
      F16 const slope = load(slope_ + 16 * k) + (root_ ? (near + near) * force : force);
      store(slope_ + 16 * k, slope);
      out = out + (root_ ? x * to_double(slope) : to_double(slope));
    }
    if (!root_) out = out / d16(topics_);
    for (int k = 0; k < topics_; ++k) {
      D16 const slope = to_double(load(slope_ + 16 * k));
      D16 const normal = root_ ? load(at_ + 16 * k) * out : out;
      store(pace_ + 16 * k, load(pace_ + 16 * k) + much * (slope - normal));
    }
  }

  SGMC_INLINE void drift() {
    if (!root_) return straight();
    D16 const length = d16(task_.length), square = dot(pace_, pace_);
    Arc<D16> const arc = arc_of(square * length * length);
    D16 const along = length * arc.sine, across = square * along;
    for (int k = 0; k < topics_; ++k) {
      D16 const x = load(at_ + 16 * k), v = load(pace_ + 16 * k);
      store(at_ + 16 * k, x * arc.cosine + v * along);
      store(pace_ + 16 * k, v * arc.cosine - x * across);
    }
  }

  /// Straight lines on the simplex, reflected at its faces (docs/internals/mathematics.md).
  void straight() {
    for (int l = 0; l < kTogether; ++l) {
      double left = task_.length;
      for (int bounces = 0; left > 0.0; ++bounces) {
        double hit = left;
        int face = -1;
        for (int k = 0; k < topics_; ++k) {
          double const x = at_[16 * k + l], v = pace_[16 * k + l];
          if (v < 0.0 && x + hit * v < 0.0) {
            double const when = -x / v;
            if (when < hit) {
              hit = when > 0.0 ? when : 0.0;
              face = k;
            }
          }
        }
        for (int k = 0; k < topics_; ++k) at_[16 * k + l] += hit * pace_[16 * k + l];
        left -= hit;
        if (face < 0) break;
        if (bounces == 10 * topics_) {  // it cannot leave a corner, which is a rejection
          at_[16 * face + l] = __builtin_nan("");
          break;
        }
        double mean = 0.0;
        for (int k = 0; k < topics_; ++k) mean += pace_[16 * k + l];
        mean /= topics_;
        double const turn = 2.0 * topics_ * (pace_[16 * face + l] - mean) / (topics_ - 1);
        for (int k = 0; k < topics_; ++k)
          pace_[16 * k + l] -= turn * ((k == face ? 1.0 : 0.0) - 1.0 / topics_);
        at_[16 * face + l] = 0.0;
      }
    }
  }

  SGMC_INLINE void start_pace(std::uint32_t first) {
    for (int k = 0; k < topics_; k += 4) {
      Words const w =
          random_words(stream_, u16(first + static_cast<std::uint32_t>(k / 4)), low_, high_);
      F16 z[4];
      normal_pair(w.x[0], w.x[1], z[0], z[1]);
      normal_pair(w.x[2], w.x[3], z[2], z[3]);
      for (int i = 0; i < 4 && k + i < topics_; ++i) store(pace_ + 16 * (k + i), to_double(z[i]));
    }
    if (root_) {
      D16 const out = dot(at_, pace_);
      for (int k = 0; k < topics_; ++k)
        store(pace_ + 16 * k, load(pace_ + 16 * k) - load(at_ + 16 * k) * out);
    } else {
      D16 const mean = total(pace_) / d16(topics_);
      for (int k = 0; k < topics_; ++k) store(pace_ + 16 * k, load(pace_ + 16 * k) - mean);
    }
  }

  void trajectory(std::int32_t t) {
    auto const blocks = static_cast<std::uint32_t>((topics_ + 3) / 4);
    std::uint32_t const first = static_cast<std::uint32_t>(t) * (blocks + 1);
    copy(at_, kept_);
    start_pace(first);
    alignas(64) double from[16], to[16], energy[16];
    store(from, dot(pace_, pace_));
    kick(0.5 * task_.length);
    for (std::int32_t i = 1; i <= task_.leaps; ++i) {
      drift();
      kick(i < task_.leaps ? task_.length : 0.5 * task_.length);
    }
    store(to, dot(pace_, pace_));
    potential(energy);
    alignas(64) float u[16];
    store(u, log(uniform_open(random_words(stream_, u16(first + blocks), low_, high_).x[0])));
    std::int32_t const sample = t - (task_.trajectories - task_.kept);
    D16 const size = root_ ? d16(1.0) / sqrt(dot(at_, at_)) : d16(1.0) / total(at_);
    for (int k = 0; k < topics_; ++k) store(at_ + 16 * k, load(at_ + 16 * k) * size);
    for (int l = 0; l < count_; ++l) {
      double const gained = settled_[l] + 0.5 * from[l] - energy[l] - 0.5 * to[l];
      std::int64_t const d = first_ + l;
      if (static_cast<double>(u[l]) <= gained) {  // NaN is rejected
        settled_[l] = energy[l];
        ++task_.accepted[d];
        double gone = 0.0;
        for (int k = 0; k < topics_; ++k) {
          double const x = at_[16 * k + l], y = kept_[16 * k + l];
          double const far = root_ ? x * x - y * y : x - y;
          gone += far * far;
          kept_[16 * k + l] = x;
        }
        task_.jumped[d] += gone;
      }
      if (sample < 0) continue;
      float* const out = task_.samples + (d * task_.kept + sample) * task_.stride;
      for (int k = 0; k < topics_; ++k) {
        double const x = kept_[16 * k + l];
        out[k] = static_cast<float>(root_ ? x * x : x);
      }
    }
  }

  ProportionsTask const& task_;
  std::int64_t first_;
  int count_, topics_;
  bool root_;
  double power_;
  double *at_, *kept_, *pace_, *along_, *work_;
  float *near_, *theta_, *mixed_, *slope_;
  U16 low_, high_;
  Stream stream_;
  alignas(64) double settled_[16];
};

/// The sum of all lanes, added half by half.
SGMC_INLINE double across(D16 a) {
  alignas(64) double x[16];
  store(x, a);
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) x[i] += x[i + half];
  return x[0];
}

SGMC_INLINE D16 widened(float const* p) { return to_double(load(p)); }

}  // namespace

void sphere_proportions(ProportionsTask const& task, ProportionsScratch const& scratch,
                        std::int64_t begin, std::int64_t end) noexcept {
  for (std::int64_t d = begin; d < end; d += kTogether) Together(task, scratch, d).run();
}

void sphere_evidence(EvidenceTask const& task, std::int64_t begin, std::int64_t end, double* mixed,
                     double* outer) noexcept {
  std::int64_t const stride = task.stride;
  for (std::int64_t d = begin; d < end; ++d) {
    double* const u = task.proportions + d * stride;
    double const* const along = task.along + d * stride;
    double cosines = 0.0;
    for (std::int64_t j = 0; j < stride; ++j) u[j] = 0.0;
    for (std::int32_t s = 0; s < task.kept; ++s) {
      float const* const theta = task.samples + (d * task.kept + s) * stride;
      for (std::int64_t j = 0; j < stride; j += 16) store(mixed + j, d16(0.0));
      for (std::int32_t k = 0; k < task.topics; ++k) {
        D16 const share = d16(static_cast<double>(theta[k]));
        for (std::int64_t j = 0; j < stride; j += 16)
          store(mixed + j, load(mixed + j) + share * load(task.gram + k * stride + j));
      }
      D16 squares = d16(0.0), toward = d16(0.0);
      for (std::int64_t j = 0; j < stride; j += 16) {
        squares = squares + widened(theta + j) * load(mixed + j);
        toward = toward + widened(theta + j) * load(along + j);
      }
      constexpr double least = kLeastNorm * kLeastNorm;
      double const square = across(squares);
      double const inverse = 1.0 / __builtin_sqrt(square > least ? square : least);
      double const cosine = across(toward) * inverse;
      cosines += cosine;
      for (std::int64_t j = 0; j < stride; j += 16)
        store(u + j, load(u + j) + d16(inverse) * widened(theta + j));
      for (std::int32_t k = 0; k < task.topics; ++k) {
        D16 const share = d16(cosine * inverse * inverse * static_cast<double>(theta[k]));
        for (std::int64_t j = 0; j < stride; j += 16)
          store(outer + k * stride + j, load(outer + k * stride + j) + share * widened(theta + j));
      }
    }
    task.cosines[d] = cosines;
  }
}

void sphere_cosines(CosinesTask const& task, std::int64_t begin, std::int64_t end,
                    double* scores) noexcept {
  for (std::int64_t d = begin; d < end; ++d) {
    double const* const along = task.along + d * task.stride;
    double most = -1e300, sum = 0.0;
    for (std::int64_t i = 0; i < task.n; ++i) {
      double const* const theta = task.theta + i * task.stride;
      D16 toward = d16(0.0);
      for (std::int64_t j = 0; j < task.stride; j += 16)
        toward = toward + load(theta + j) * load(along + j);
      scores[i] = task.kappa * across(toward) / task.norms[i];
      most = scores[i] > most ? scores[i] : most;
    }
    for (std::int64_t i = 0; i < task.n; ++i) sum += __builtin_exp(scores[i] - most);
    task.found[d] = most + __builtin_log(sum / static_cast<double>(task.n));
  }
}

}  // namespace sgmc::SGMC_ISA
