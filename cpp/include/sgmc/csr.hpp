// Documents in the form read by all kernels: compressed sparse rows.
#pragma once

#include <cstdint>

namespace sgmc {

/// Documents over R rows of a matrix: document d has the entries indptr[d] .. indptr[d + 1), and
/// entry i stands for counts[i] >= 1 tokens of row indices[i], in [0, R).
struct Csr {
  std::int64_t const* indptr;
  std::int32_t const* indices;
  std::int32_t const* counts;
  std::int64_t documents;
};

}  // namespace sgmc
