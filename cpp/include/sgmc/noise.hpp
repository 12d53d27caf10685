// Langevin noise for the rows of a block, from a single generator.
#pragma once

#include "sgmc/distributions.hpp"

namespace sgmc::SGMC_ISA {

/// N(0, 1) variates for successive vectors of a block, as squared radius and direction; two vectors
/// share two vectors of words.
class Noise {
 public:
  SGMC_INLINE explicit Noise(RowWords const& words) : words_(words) {}
  SGMC_INLINE F16 next(F16& squared) {
    if ((first_ = !first_)) {
      radius_ = squared_radius(words_.next());
      F16 direction;
      unit_circle(words_.next(), direction, second_);
      squared = radius_;
      return direction;
    }
    squared = radius_;
    return second_;
  }

 private:
  RowWords words_;
  F16 radius_, second_;
  bool first_ = false;
};

}  // namespace sgmc::SGMC_ISA
