// Choice of the instruction set, made once when the module is loaded.
#pragma once

#include <string>
#include <vector>

#include "sgmc/kernels.hpp"

namespace sgmc {

/// Instruction sets that this build has and this machine supports, slowest first.
std::vector<std::string> available_isas();

/// The kernels of `isa`, or of the best available one if it is empty. Throws std::invalid_argument
/// if this build or machine does not have it.
KernelTable const& kernels(std::string const& isa);

}  // namespace sgmc
