// Threads, scratch memory and ordered sums around the kernels. A call that is given a workspace has
// its scratch until it returns.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "sgmc/kernels.hpp"
#include "sgmc/workspace.hpp"

namespace sgmc {

/// What was handed in, or came of it, is no number: in Python, pysgrld.errors.NumericalError.
struct NotFinite : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws NotFinite unless all sums of topics are finite.
void check_sums(char const* name, double const* sums, std::int32_t topics);

/// Throws std::invalid_argument unless `items` (tokens, or entries where a sweep visits those)
/// times sweeps are at most kMaxDraws, and sweeps at most kMaxSweeps.
void check_draws(std::int64_t items, std::int32_t sweeps);

/// Throws NotFinite unless every row of weights has a sum that is positive and finite, also times
/// `most`. Returns the sums, (rows), in slot `slot` of the scratch.
float const* check_rows_of(KernelTable const& k, char const* name, float const* weights,
                           std::int64_t rows, std::int64_t stride, double most, Scratch& memory,
                           std::size_t slot, int threads);

/// The extent of some documents, and the order in which threads take them: longest first, so that
/// no thread is left alone with a long one at the end.
struct Extent {
  std::vector<std::int64_t> tokens, order;  // by document
  std::int64_t longest = 0, widest = 0;     // tokens, and distinct words
  std::int64_t all = 0;                     // tokens of all
};
Extent extent_of(Csr const& documents);

/// Zeroes the rows of counts that nobody has touched.
void clear_untouched(std::int64_t* counts, std::uint8_t const* touched, std::int64_t rows,
                     std::int64_t stride);

/// Runs the Gibbs kernel over all documents. `task` comes without order, cursor and per-thread
/// results; word_counts (rows, stride) and doc_counts may be null. Longest documents first.
void run_documents(KernelTable const& k, DocumentsTask task, std::int64_t rows,
                   std::int64_t* word_counts, Workspace& work, int threads);

/// Runs the kernel of deep LDA over all documents. `task` comes without order, cursor, transposed
/// topics and word counts; word_counts (rows, stride) may be null, as may `upper`, (topics of the
/// layer below, stride) for each layer above the first, and `tables` (stride of the top layer).
void run_deep(KernelTable const& k, DeepTask task, std::int64_t rows, std::int64_t* word_counts,
              std::int64_t* const* upper, std::int64_t* tables, Workspace& work, int threads);

/// Runs the mean-field kernel over all documents. `task` comes without order, cursor and word
/// counts; word_counts (rows, stride) may be null. gamma is where documents start, and receives the
/// result.
void run_mean_field(KernelTable const& k, MeanFieldTask task, std::int64_t rows,
                    std::int64_t* word_counts, Workspace& work, int threads);

/// Runs the collapsed kernel over all documents: one chain, on one thread. `task` comes without its
/// tables, which are counted from z; word_counts (rows, stride) receives them as they are at the
/// end.
void run_collapsed(KernelTable const& k, CollapsedTask task, std::int64_t rows,
                   std::int64_t* word_counts, Workspace& work, int threads);

/// Runs the allocation kernel over all documents.
void run_mixture(KernelTable const& k, MixtureTask const& task, int threads);

/// What documents read of Dirichlet parameters: weights of `n` words (rows null: words 0..n-1) into
/// out (n, stride).
void run_dirichlet_weights(KernelTable const& k, float const* g, double const* sums,
                           std::int32_t const* rows, std::int64_t n, std::int64_t stride,
                           std::int32_t topics, float* out, int threads);

/// The distinct values of ids (>= 0), ascending; out[i] is the place of ids[i] among them.
std::vector<std::int32_t> renumber(std::int32_t const* ids, std::int64_t n, std::int32_t* out);

/// `scir_natural` is scir whose process has rate 1 + N_k/s_k, frozen for the step; all rows only.
enum class RowKernel { scir, scir_natural, sgrld, relax };

/// Runs a row kernel over the `n` rows of the task's list (all V where it is null), kRowBlock at a
/// time; `task` has the statistics of all touched rows. `sums` (stride) is read (s_k before
/// the step) and receives the new topic sums, added block by block; for a list, it is corrected.
void run_rows(KernelTable const& k, RowKernel kernel, float* g, std::int64_t n, RowsTask task,
              double* sums, Workspace& work, int threads);

/// Starts all `n` rows of g by a kernel that takes one parameter; `sums` (stride) receives theirs.
void run_start(decltype(SimplexKernels::start) kernel, float* g, std::int64_t n, float parameter,
               RowsTask const& task, double* sums, Workspace& work, int threads);

/// One TLASGR step of all `n` rows, phi = g / sums; steps and totals (topics) are eps_t / M_k and
/// V eta + N_k; what would leave the simplex is reflected, or with `clip` set to 0.
void run_tlasgr(KernelTable const& k, float* g, std::int64_t n, RowsTask const& task, double* sums,
                double const* steps, double const* totals, bool clip, Workspace& work, int threads);

/// One SMLD step of all `n` rows of y; log_sums (stride) are those of exp(y), of the approximate
/// form the logarithms of the sums of max(1e-8, 1 + y).
void run_smld(KernelTable const& k, float* y, std::int64_t n, RowsTask const& task,
              double* log_sums, double const* totals, bool approximate, Workspace& work,
              int threads);

/// phi of `n` words (rows null: words 0..n-1) of such a state into out (n, stride).
void run_smld_phi(KernelTable const& k, float const* y, double const* log_sums,
                  std::int32_t const* rows, std::int64_t n, std::int64_t stride,
                  std::int32_t topics, bool approximate, float* out, int threads);

/// phi of `n` words (rows null: words 0..n-1) into out (n, stride).
void run_phi(KernelTable const& k, float const* g, double const* sums, std::int32_t const* rows,
             std::int64_t n, std::int64_t stride, std::int32_t topics, float* out, int threads);

/// total (n, stride) += phi of `n` rows, of what is expected of them where lengths is not null.
void run_add_phi(KernelTable const& k, float const* g, double const* sums, double const* lengths,
                 float eta, std::int64_t n, std::int64_t stride, std::int32_t topics, double* total,
                 int threads);

void run_predictive(KernelTable const& k, PredictiveTask const& task, std::int64_t documents,
                    int threads);

/// `kappa` (columns): rates of the processes, 1 where null.
void run_scir_log(KernelTable const& k, double* log_g, double const* shape, std::int64_t rows,
                  std::int64_t columns, double h, double const* kappa, Address const& address,
                  int threads);

}  // namespace sgmc
