#include "sgmc/dispatch.hpp"

#include <stdexcept>

namespace sgmc {

std::vector<std::string> available_isas() {
  std::vector<std::string> isas{"baseline"};
#if defined(SGMC_X86)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("fma"))
    isas.emplace_back("avx2");
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd"))
    isas.emplace_back("avx512");
#endif
  return isas;
}

KernelTable const& kernels(std::string const& isa) {
  std::vector<std::string> const isas = available_isas();
  std::string const wanted = isa.empty() ? isas.back() : isa;
  for (std::string const& name : isas) {
    if (name != wanted) continue;
#if defined(SGMC_X86)
    if (name == "avx512") return avx512::table();
    if (name == "avx2") return avx2::table();
#endif
    return baseline::table();
  }
  std::string list;
  for (std::string const& name : isas) list += (list.empty() ? "" : ", ") + name;
  throw std::invalid_argument("instruction set '" + wanted +
                              "' is not available here; there are: " + list);
}

}  // namespace sgmc
