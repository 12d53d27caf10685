// Tasks of the kernels of points on spheres: topics that are unit vectors (columns of a matrix),
// and documents that are unit vectors near a mixture of them. All in double: energies have the size
// of the concentrations, 1e4, and are compared to within 1e-3.
#pragma once

#include <cstdint>

#include "sgmc/address.hpp"
#include "sgmc/purpose.hpp"

namespace sgmc {

/// Number of rows of points in a block; sums over rows are added block by block, and noise has a
/// generator for each kRowBlock rows. Both affect every result.
inline constexpr std::int64_t kPointBlock = 1024;
/// Number of documents sampled together, one per lane.
inline constexpr int kTogether = 16;
/// Minimum length, which replaces smaller ones, because antipodal topics can cancel.
inline constexpr double kLeastNorm = 1e-12;

/// Rows [begin, end) of a matrix (V, stride) with K points as columns; pads are 0.
struct PointsTask {
  std::int64_t begin, end;
  std::int64_t stride;
  std::int32_t topics;
};

/// Documents as unit vectors, in compressed sparse rows.
struct Directions {
  std::int64_t const* indptr;
  std::int32_t const* indices;
  double const* values;
  std::int64_t documents;
};

/// The force of one step, f = -length gradient + sd z, z ~ N(0, 1). Randomness: Purpose
/// sphere_noise, entity = first row of a block of kRowBlock, plus 2^32 times the number of the part
/// of the step.
struct ForceTask : PointsTask {
  double length;
  double const* sd;  // (stride), pads 0; null: no noise
  Address address;
  std::uint32_t part;
};

/// The gradient of -ln p(topics | documents), by rows: see `run_sphere_gradient`.
struct GradientTask : PointsTask {
  double const* centre;            // (V)
  double pull, of_centre, of_sum;  // - pull (of_centre m_w + of_sum sum_k x_wk)
  double weight;                   // - weight (sum_d v_dw u_dk - sum_j x_wj H_jk)
  double const* outer;             // H, (stride, stride)
  std::int64_t const* entries;     // (V + 1): entries of each word, documents ascending
  std::int32_t const* document;    // of each entry
  double const* value;             // of each entry
  double const* proportions;       // u, (documents, stride)
};

/// Two gradients of a minibatch's halves become their sum, including the prior's; see
/// `run_sphere_halves`.
struct HalvesTask : PointsTask {
  double const* centre;
  double pull, of_centre, of_sum;  // as GradientTask has them
  double of_first, of_other;       // the difference is of_first first - of_other other
};

/// Where proportions move: on the sphere of their square roots, or on the flat simplex.
enum class Chart { root, flat };

/// Proportions of documents given topics, by Hamiltonian trajectories along geodesics. Randomness:
/// Purpose `purpose`, entity = entity[d].
struct ProportionsTask {
  double const* gram;   // (stride, stride): inner products of topics
  float const* rows;    // the same in single precision
  double const* along;  // (documents, stride): inner products of each document with the topics
  std::uint64_t const* entity;
  std::int64_t documents;
  std::int64_t stride;
  std::int32_t topics;
  double kappa, alpha, length;
  std::int32_t trajectories, kept, leaps;
  Chart chart;
  Address address;
  Purpose purpose;
  double* theta;           // (documents, stride): start of theta; receives its end
  float* samples;          // (documents, kept, stride)
  std::int32_t* accepted;  // (documents): number of accepted trajectories
  double* jumped;          // (documents): sum of squared distances that theta moved
};

/// Scratch of one thread: arrays of topics * kTogether values.
struct ProportionsScratch {
  static constexpr int kPlaces = 5, kForces = 4;
  double* place[kPlaces];
  float* force[kForces];
};

/// Statistics of kept proportions for the topics: sums over the samples n of a document d, with
/// n_dn = ||beta theta_dn||, c_dn = v_d^T beta theta_dn / n_dn.
struct EvidenceTask {
  double const* gram;
  double const* along;
  float const* samples;  // (documents, kept, stride)
  std::int64_t stride;
  std::int32_t topics, kept;
  double* proportions;  // (documents, stride): sum_n theta / n_dn
  double* cosines;      // (documents): sum_n c_dn
};

/// ln mean_n exp(kappa c_dn) over proportions that all documents share.
struct CosinesTask {
  double const* gram;
  double const* along;
  double const* theta;  // (n, stride)
  double const* norms;  // (n)
  std::int64_t n, stride;
  std::int32_t topics;
  double kappa;
  double* found;  // (documents)
};

}  // namespace sgmc
