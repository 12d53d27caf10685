// Allocation of documents to the components of a mixture: the arguments of its kernel.
#pragma once

#include <cstdint>

#include "sgmc/address.hpp"
#include "sgmc/csr.hpp"
#include "sgmc/purpose.hpp"

namespace sgmc {

/// Allocation of documents to components given their slices (Walker 2007; Kalli et al. 2011):
///
///   z_d = j with probability ~ prod_w phi_jw^{n_dw} among the j with log w_j >= slice_d
///
/// The weights are in the slices already. Randomness: Purpose `purpose`, entity = entity[d].
struct MixtureTask : Csr {
  float const* log_phi;     // (R, stride), components in columns, pads 0
  float const* log_weight;  // (stride)
  std::int64_t stride;
  std::int32_t components;
  std::uint64_t const* entity;
  float const* slice;  // log u_d, at most the log weight of some component
  Address address;
  Purpose purpose;
  std::int32_t* z;  // by document
};

}  // namespace sgmc
