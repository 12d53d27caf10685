// exp(psi(x)) of a Dirichlet parameter x, as read by variational Bayes, in two parts that can be
// scaled before they are multiplied, because psi is below -100 for x = 0.01.
#pragma once

#include "sgmc/math.hpp"

namespace sgmc::SGMC_ISA {

/// exp(psi(x)) = top exp(-drop), x > 0: psi(x + 6) by its asymptotic series, and six steps of
/// psi(x) = psi(x + 1) - 1/x. Relative error of drop below 4e-7.
struct ExpDigamma {
  F16 top, drop;
};

SGMC_INLINE ExpDigamma exp_digamma(F16 x) {
  F16 const one = f16(1.0f), two = f16(2.0f);
  F16 const y = x + f16(6.0f), r = one / y, r2 = r * r;
  F16 const middle = two * x + f16(5.0f);  // 1/(x+i) + 1/(x+5-i) = (2x+5) / ((x+i)(x+5-i))
  F16 const steps = middle / (x * (x + f16(5.0f))) + middle / ((x + one) * (x + f16(4.0f))) +
                    middle / ((x + two) * (x + f16(3.0f)));
  static constexpr float c[] = {1.0f / 12.0f, -1.0f / 120.0f, 1.0f / 252.0f};
  return {y, steps + f16(0.5f) * r + r2 * polynomial(r2, c)};
}

}  // namespace sgmc::SGMC_ISA
