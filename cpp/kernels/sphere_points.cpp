// Points on spheres, as columns of a matrix: geodesics, forces and the documents' gradient, by rows
// (Liu, Zhu and Song 2016, eq. 5 to 8 and 10). Sums over rows are taken for each column, in order.
#include <cstdint>

#include "sgmc/arc.hpp"
#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"

namespace sgmc::SGMC_ISA {
namespace {

/// Calls fn(row, first column) for successive groups of sixteen columns of each row.
SGMC_INLINE void over_rows(PointsTask const& task, auto&& fn) {
  for (std::int64_t w = task.begin; w < task.end; ++w)
    for (std::int64_t k = 0; k < task.stride; k += 16) fn(w * task.stride + k, k);
}

SGMC_INLINE void add_to(double* sum, D16 a) { store(sum, load(sum) + a); }

}  // namespace

void sphere_moments(double const* x, double const* centre, PointsTask const& task, double* gram,
                    double* along) noexcept {
  std::int64_t const stride = task.stride;
  for (std::int64_t w = task.begin; w < task.end; ++w) {
    double const* const row = x + w * stride;
    D16 const m = d16(centre ? centre[w] : 0.0);
    for (std::int64_t k = 0; k < stride; k += 16) add_to(along + k, m * load(row + k));
  }
  // four rows at a time, the upper triangle in blocks of sixteen columns
  for (std::int64_t w = task.begin; w < task.end; w += 4) {
    std::int64_t const last = task.end - 1;
    double const* row[4];
    double used[4];
    for (int i = 0; i < 4; ++i) {
      row[i] = x + (w + i <= last ? w + i : last) * stride;
      used[i] = w + i <= last ? 1.0 : 0.0;
    }
    for (std::int64_t k = 0; k < task.topics; ++k) {
      D16 const a = d16(row[0][k]), b = d16(used[1] * row[1][k]), c = d16(used[2] * row[2][k]),
                d = d16(used[3] * row[3][k]);
      for (std::int64_t j = k / 16 * 16; j < stride; j += 16)
        add_to(gram + k * stride + j, (a * load(row[0] + j) + b * load(row[1] + j)) +
                                          (c * load(row[2] + j) + d * load(row[3] + j)));
    }
  }
}

void sphere_along(double const* x, std::int64_t stride, Directions const& of, std::int64_t begin,
                  std::int64_t end, double* along) noexcept {
  for (std::int64_t d = begin; d < end; ++d)
    for (std::int64_t k = 0; k < stride; k += 16) {
      D16 sum = d16(0.0);
      for (std::int64_t i = of.indptr[d]; i < of.indptr[d + 1]; ++i)
        sum = sum + d16(of.values[i]) * load(x + of.indices[i] * stride + k);
      store(along + d * stride + k, sum);
    }
}

void sphere_force(double* gradient, double const* x, ForceTask const& task, double* dots) noexcept {
  Stream const stream = Stream::at(task.address, Purpose::sphere_noise);
  D16 const length = d16(-task.length);
  for (std::int64_t first = task.begin; first < task.end; first += kRowBlock) {
    std::int64_t const after = first + kRowBlock < task.end ? first + kRowBlock : task.end;
    RowWords words = RowWords::make(
        stream, static_cast<std::uint64_t>(first) | static_cast<std::uint64_t>(task.part) << 32);
    PointsTask const rows{first, after, task.stride, task.topics};
    F16 spare = f16(0.0f);
    bool again = false;
    over_rows(rows, [&](std::int64_t at, std::int64_t k) {
      D16 force = length * load(gradient + at);
      if (task.sd) {
        F16 z = spare;
        if (!again) {
          U16 const radius = words.next();
          normal_pair(radius, words.next(), z, spare);
        }
        again = !again;
        force = force + load(task.sd + k) * to_double(z);
      }
      store(gradient + at, force);
      add_to(dots + k, load(x + at) * force);
    });
  }
}

void sphere_push(double* v, double const* x, double const* force, double const* dots, double damp,
                 PointsTask const& task, double* squares) noexcept {
  D16 const less = d16(damp);
  over_rows(task, [&](std::int64_t at, std::int64_t k) {
    D16 const next = (load(v + at) + load(force + at) - load(x + at) * load(dots + k)) * less;
    store(v + at, next);
    add_to(squares + k, next * next);
  });
}

void sphere_drift(double* x, double* v, double const* cosine, double const* along,
                  double const* across, double damp, PointsTask const& task, double* squares,
                  double* dots) noexcept {
  D16 const less = d16(damp);
  over_rows(task, [&](std::int64_t at, std::int64_t k) {
    D16 const old = load(x + at), pace = load(v + at), c = load(cosine + k);
    D16 const place = old * c + pace * load(along + k);
    D16 const next = (pace * c - old * load(across + k)) * less;
    store(x + at, place);
    store(v + at, next);
    add_to(squares + k, place * place);
    add_to(dots + k, place * next);
  });
}

void sphere_correct(double* x, double* v, double const* scale, double const* dots,
                    PointsTask const& task, double* squares) noexcept {
  over_rows(task, [&](std::int64_t at, std::int64_t k) {
    D16 const place = load(x + at) * load(scale + k);
    D16 const next = load(v + at) - place * load(dots + k);
    store(x + at, place);
    store(v + at, next);
    add_to(squares + k, next * next);
  });
}

void sphere_arc(double z, double& cosine, double& sine) noexcept {
  Arc<double> const arc = arc_of(z);
  cosine = arc.cosine;
  sine = arc.sine;
}

void sphere_gradient(double const* x, double* gradient, GradientTask const& task) noexcept {
  std::int64_t const stride = task.stride;
  for (std::int64_t w = task.begin; w < task.end; ++w) {
    double const* const row = x + w * stride;
    double* const to = gradient + w * stride;
    double sum = 0.0;
    for (std::int64_t j = 0; j < task.topics; ++j) sum += row[j];
    D16 const prior = d16(
        -task.pull * (task.of_centre * (task.centre ? task.centre[w] : 0.0) + task.of_sum * sum));
    for (std::int64_t k = 0; k < stride; k += 16) {
      D16 data = d16(0.0), mixed = d16(0.0);
      for (std::int64_t i = task.entries[w]; i < task.entries[w + 1]; ++i)
        data = data + d16(task.value[i]) * load(task.proportions + task.document[i] * stride + k);
      for (std::int64_t j = 0; j < task.topics; ++j)
        mixed = mixed + d16(row[j]) * load(task.outer + j * stride + k);
      store(to + k, prior - d16(task.weight) * (data - mixed));
    }
    for (std::int64_t k = task.topics; k < stride; ++k) to[k] = 0.0;
  }
}

void sphere_halves(double const* x, double* first, double const* other, HalvesTask const& task,
                   double* squares, double* dots) noexcept {
  D16 const a = d16(task.of_first), b = d16(task.of_other);
  for (std::int64_t w = task.begin; w < task.end; ++w) {
    double sum = 0.0;
    for (std::int64_t j = 0; j < task.topics; ++j) sum += x[w * task.stride + j];
    double const m = task.centre ? task.centre[w] : 0.0;
    D16 const prior = d16(-task.pull * (task.of_centre * m + task.of_sum * sum));
    for (std::int64_t k = 0; k < task.stride; k += 16) {
      std::int64_t const at = w * task.stride + k;
      D16 const f = load(first + at), o = load(other + at), apart = a * f - b * o;
      store(first + at, f + o + prior);
      add_to(squares + k, apart * apart);
      add_to(dots + k, load(x + at) * apart);
    }
    for (std::int64_t k = task.topics; k < task.stride; ++k) first[w * task.stride + k] = 0.0;
  }
}

}  // namespace sgmc::SGMC_ISA
