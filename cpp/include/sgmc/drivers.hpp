// Threads, scratch memory and ordered sums around the kernels. A call with a workspace uses the
// workspace's scratch until it returns.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "sgmc/kernels.hpp"
#include "sgmc/workspace.hpp"

namespace sgmc {

/// Error for an argument or result that is not finite; in Python, pysgrld.errors.NumericalError.
struct NotFinite : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Sum of two counts modulo 2^64; an overflow, which only invalid counts cause, must not be
/// undefined behaviour.
constexpr std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// Throws NotFinite unless all topic sums are finite.
void check_sums(char const* name, double const* sums, std::int32_t topics);

/// Throws std::invalid_argument unless `items` (tokens, or entries if a sweep visits entries) times
/// sweeps are at most kMaxDraws, and sweeps at most kMaxSweeps.
void check_draws(std::int64_t items, std::int32_t sweeps, char const* name = "sweeps");

/// Throws NotFinite unless the sum of every row of weights (times share, unless null) is positive
/// and finite, also if multiplied by `most`. Returns the sums, (rows), in slot `slot` of the
/// scratch; unless it is null, `running`, (rows, segments, 16), receives the running sums.
float const* check_rows_of(KernelTable const& k, char const* name, float const* weights,
                           float const* share, std::int64_t rows, std::int64_t stride, double most,
                           Scratch& memory, std::size_t slot, int threads,
                           float* running = nullptr);

/// The extent of documents, and the order in which threads take them: longest first, so that no
/// thread is left with a long one at the end.
struct Extent {
  std::vector<std::int64_t> tokens, order;  // by document
  std::int64_t longest = 0, widest = 0;     // maximum number of tokens, and of distinct words
  std::int64_t all = 0;                     // total number of tokens
};
Extent extent_of(Csr const& documents);

/// Throws std::invalid_argument if a document has too many tokens to be counted exactly.
void check_collected(Extent const& extent, std::int32_t kept);

/// Index of the first of n numbers outside [low, high], or n.
std::int64_t first_outside(std::int32_t const* x, std::int64_t n, std::int32_t low,
                           std::int32_t high);

/// Sets rows of counts that no thread has touched to zero.
void clear_untouched(std::int64_t* counts, std::uint8_t const* touched, std::int64_t rows,
                     std::int64_t stride);

/// Runs the Gibbs kernel over all documents, longest first. `task` lacks order, cursor and
/// per-thread results; word_counts (rows, stride) and doc_counts may be null. Unless it is null,
/// `bucket` (rows) receives the counts that must still be spread over each row (run_spread).
void run_documents(KernelTable const& k, DocumentsTask task, std::int64_t* word_counts,
                   std::int64_t* bucket, Workspace& work, int threads);

/// Rows found on several processes, (n, stride) each, with this process's rows first.
template <class T>
struct FoundRows {
  T const *own, *theirs;
  std::int64_t n_own, stride;

  T const* row(std::int64_t i) const {
    return i < n_own ? own + i * stride : theirs + (i - n_own) * stride;
  }
};

/// Spreads the `bucket` (rows) of counts over each row r of word_counts, in proportion to the
/// weights used in sampling documents: row order[r] of phi, or row r if order is null, times share.
/// Call it after all counts and buckets were added, because it rounds. Throws NotFinite like
/// check_rows_of.
void run_spread(KernelTable const& k, FoundRows<float> const& phi, std::int64_t const* order,
                std::int64_t rows, float const* share, std::int64_t const* bucket,
                std::int64_t* word_counts, Workspace& work, int threads);

/// Computes the expected topics of documents over `rows` rows of phi. `task` lacks order and
/// cursor.
void run_expected(KernelTable const& k, ExpectedTask task, std::int64_t rows, Workspace& work,
                  int threads);

/// Writes (alpha_k + N_dk) / sum of n documents to theta (n, topics), from N (n, stride).
void run_proportions(float const* counts, std::int64_t n, std::int64_t stride, std::int64_t topics,
                     double const* alpha, double* theta, int threads);

/// Draws the sufficient statistics of alpha from documents: q of each, and tables (topics), to
/// which values are added.
void run_alpha(KernelTable const& k, AlphaTask const& task, std::int64_t documents,
               std::int64_t* tables, int threads);

/// Adds n parts (n, size) to out (size).
void run_add(std::int64_t const* parts, std::int64_t n, std::int64_t size, std::int64_t* out,
             int threads);

/// out (rows, stride): row r is the sum of the rows order[i] for begin[r] <= i < begin[r + 1]; own
/// rows have lower numbers than other processes' rows.
void run_add_rows(FoundRows<std::int64_t> const& found, std::int64_t const* order,
                  std::int64_t const* begin, std::int64_t rows, std::int64_t* out, int threads);

/// Runs the deep LDA kernel over all documents. `task` lacks order, cursor, transposed topics and
/// word counts; word_counts (rows, stride) may be null, and so may `upper`, (topics of the layer
/// below, stride) for each layer above the first, and `tables` (stride of the top layer).
void run_deep(KernelTable const& k, DeepTask task, std::int64_t rows, std::int64_t* word_counts,
              std::int64_t* const* upper, std::int64_t* tables, Workspace& work, int threads);

/// Runs the mean-field kernel over all documents. `task` lacks order, cursor and word counts;
/// word_counts (rows, stride) may be null. Documents start from gamma, which receives the result.
void run_mean_field(KernelTable const& k, MeanFieldTask task, std::int64_t rows,
                    std::int64_t* word_counts, Workspace& work, int threads);

/// Sweeps of the collapsed kernel over all documents, on one thread, for chains that differ only in
/// their draws. Sweeps can be interrupted between documents; z and `visited` are then the state
/// from which they continue.
class CollapsedSweeps {
 public:
  /// `tasks` lack their tables, which are counted from z. `visited`: number of documents already
  /// visited, over all sweeps.
  CollapsedSweeps(KernelTable const& k, std::vector<CollapsedTask> tasks, std::int64_t rows,
                  std::int64_t visited, Workspace& work, int threads);
  /// Visits documents for at least this number of seconds, or to the end; returns false at the end.
  bool run(double seconds);
  std::int64_t visited() const { return visited_; }
  /// word_counts (chains, rows, stride) receives the tables.
  void copy_tables(std::int64_t* word_counts) const;

 private:
  KernelTable const& kernels_;
  std::vector<CollapsedTask> tasks_;
  std::int64_t cells_, visited_;
  int threads_;
  Scratch memory_;
  std::vector<std::int64_t> totals_;
  std::vector<CollapsedScratch> scratch_;
};

/// Runs the allocation kernel over all documents.
void run_mixture(KernelTable const& k, MixtureTask const& task, int threads);

/// Weights that documents read, given Dirichlet parameters of `n` words (rows null: words 0..n-1),
/// to out (n, stride).
void run_dirichlet_weights(KernelTable const& k, float const* g, double const* sums,
                           std::int32_t const* rows, std::int64_t n, std::int64_t stride,
                           std::int32_t topics, float* out, int threads);

/// The distinct values of ids (>= 0), ascending; out[i] is the position of ids[i] among them.
std::vector<std::int32_t> renumber(std::int32_t const* ids, std::int64_t n, std::int32_t* out);

/// `scir_natural` is scir for a process of rate 1 + N_k/s_k, constant during the step; for all rows
/// only.
enum class RowKernel { scir, scir_natural, sgrld, sgrhmc, relax };

/// The rows of one of several processes, assigned in units of kRowUnit rows: unit u belongs to
/// process u mod size. Each unit's contribution to the topic sums goes to its row of `added`
/// (units, stride), and the sums do not change.
struct UnitShare {
  std::int64_t rank, size;
  double* added;
};

/// Runs a row kernel over the `n` rows of the task's list (all V if it is null), kRowBlock at a
/// time; `task` has the statistics of all touched rows. `sums` (stride) is read (s_k before the
/// step) and receives the new topic sums, added unit by unit; for a list, it is corrected. `totals`
/// (stride) are the sums of all counts, if the task lacks some counts. With a `share`, only its
/// rows are stepped, a list may have no other rows, and `add_units` adds the sums later.
void run_rows(KernelTable const& k, RowKernel kernel, float* g, std::int64_t n, RowsTask task,
              double* sums, std::int64_t const* totals, Workspace& work, int threads,
              UnitShare const* share = nullptr);

/// Adds the contributions of units of rows to topic sums, in the order of units; starts from 0 if
/// `anew`.
void add_units(double const* added, std::int64_t units, std::int64_t stride, bool anew,
               double* sums);

/// Starts all `n` rows of g, or the rows of a share, with a kernel that takes one parameter; `sums`
/// (stride) receives the rows' sums.
void run_start(decltype(SimplexKernels::start) kernel, float* g, std::int64_t n, float parameter,
               RowsTask const& task, double* sums, Workspace& work, int threads,
               UnitShare const* share);

/// One TLASGR step of all `n` rows, phi = g / sums; steps and totals (topics) are eps_t / M_k and V
/// eta + N_k. Values that would leave the simplex are reflected, or set to 0 with `clip`.
void run_tlasgr(KernelTable const& k, float* g, std::int64_t n, RowsTask const& task, double* sums,
                double const* steps, double const* totals, bool clip, Workspace& work, int threads);

/// One SMLD step of all `n` rows of y; log_sums (stride) are the logs of the sums of exp(y) or, in
/// the approximate form, of max(1e-8, 1 + y).
void run_smld(KernelTable const& k, float* y, std::int64_t n, RowsTask const& task,
              double* log_sums, double const* totals, bool approximate, Workspace& work,
              int threads);

/// phi of `n` words (rows null: words 0..n-1) in such a state, to out (n, stride).
void run_smld_phi(KernelTable const& k, float const* y, double const* log_sums,
                  std::int32_t const* rows, std::int64_t n, std::int64_t stride,
                  std::int32_t topics, bool approximate, float* out, int threads);

/// phi of `n` words (rows null: words 0..n-1) into out (n, stride).
void run_phi(KernelTable const& k, float const* g, double const* sums, std::int32_t const* rows,
             std::int64_t n, std::int64_t stride, std::int32_t topics, float* out, int threads);

/// total (n, stride) += phi of `n` rows, or their expected phi unless lengths is null.
void run_add_phi(KernelTable const& k, float const* g, double const* sums, double const* lengths,
                 float eta, std::int64_t n, std::int64_t stride, std::int32_t topics, double* total,
                 int threads);

void run_predictive(KernelTable const& k, PredictiveTask const& task, std::int64_t documents,
                    int threads);

/// `kappa` (columns): rates of the processes; 1 if null.
void run_scir_log(KernelTable const& k, double* log_g, double const* shape, std::int64_t rows,
                  std::int64_t columns, double h, double const* kappa, Address const& address,
                  int threads);

// ---- points on spheres: K columns of (V, stride) matrices in double, pads 0 ---------------------

/// A_d(kappa) = I_(d/2)(kappa) / I_(d/2-1)(kappa), d >= 1, kappa >= 0: the mean resultant length of
/// a von Mises-Fisher distribution on the unit sphere of R^d. Relative error below 2e-14 up to 1e6,
/// 3e-13 up to 1e8.
double bessel_ratio(double d, double kappa);

/// ln c_d(kappa), the logarithm of the normaliser of its density. Absolute error below 1e-8.
double log_normaliser(double d, double kappa);

/// gram (stride, stride) = x^T x and along (stride) = x^T centre.
void run_sphere_moments(KernelTable const& k, double const* x, double const* centre, std::int64_t n,
                        PointsTask const& shape, double* gram, double* along, Workspace& work,
                        int threads);

/// along (documents, stride): inner products of documents with the points.
void run_sphere_along(KernelTable const& k, double const* x, std::int64_t stride,
                      Directions const& of, double* along, int threads);

/// v = damp (v + Lambda(x) f), where f = -length gradient + sd z overwrites the gradient; squares
/// (stride) receives the squared norms of v.
void run_sphere_force(KernelTable const& k, double* gradient, double const* x, std::int64_t n,
                      ForceTask const& task, double* v, double damp, double* squares,
                      Workspace& work, int threads);

/// Moves along great circles for the given time, then v = damp v; squares (stride) are the squared
/// norms of v before and after. Afterwards points have norm 1 and velocities are tangent, up to
/// rounding.
void run_sphere_drift(KernelTable const& k, double* x, double* v, std::int64_t n,
                      PointsTask const& shape, double length, double damp, double* squares,
                      Workspace& work, int threads);

/// gradient (n, stride) as in GradientTask, whose entries by word are those of the documents.
void run_sphere_gradient(KernelTable const& k, double const* x, double* gradient, std::int64_t n,
                         GradientTask task, Directions const& of, Workspace& work, int threads);

/// first (n, stride) becomes the gradient of both halves and the prior; squares (stride) receives
/// the squared norms of the halves' difference within the tangent spaces.
void run_sphere_halves(KernelTable const& k, double const* x, double* first, double const* other,
                       std::int64_t n, HalvesTask const& task, double* squares, Workspace& work,
                       int threads);

/// Samples the proportions of all documents; this function sets the task's rows.
void run_sphere_proportions(KernelTable const& k, ProportionsTask task, Workspace& work,
                            int threads);

/// outer (stride, stride) = sum_dn (c_dn / n_dn^2) theta theta^T, and the task's statistics of
/// documents.
void run_sphere_evidence(KernelTable const& k, EvidenceTask const& task, std::int64_t documents,
                         double* outer, Workspace& work, int threads);

/// Scores documents by shared proportions; this function sets the task's norms.
void run_sphere_cosines(KernelTable const& k, CosinesTask task, std::int64_t documents,
                        Workspace& work, int threads);

// ---- words that walk through slices of time
// ------------------------------------------------------

/// Standard deviations of a walk: from slice to slice, and at its start.
struct WalkPrior {
  double drift, spread;
};

/// One step of b (words slices, stride) by minibatches; log_sums (slices, stride) belong to exp(b)
/// before and after it. This function also computes the terms that kernels need from prior and
/// log_sums.
void run_walk_step(KernelTable const& k, float* b, float* curvature, WalkTask const& given,
                   WalkPrior const& prior, WalkMove const& move, double* log_sums, Workspace& work,
                   int threads);

/// One step of b given the whole corpus's counts; accepted (stride): number of accepted words.
void run_walk_accept(KernelTable const& k, float* b, WalkTask const& given, WalkPrior const& prior,
                     double* log_sums, std::int64_t* accepted, Workspace& work, int threads);

/// phi of `n` rows of b (rows null: all, in order) into out (n, stride).
void run_walk_phi(KernelTable const& k, float const* b, std::int32_t const* rows, std::int64_t n,
                  WalkTask const& given, double const* log_sums, float* out, int threads);

/// Maximum number of bytes of a number written by write_decimals.
inline constexpr std::size_t kDecimal = 16;

/// Writes n numbers as the C library's "%.7g" does, with a separator between them; with `point`,
/// whole numbers get ".0". `out` has room for n (kDecimal + separator) bytes. Returns the number of
/// bytes written.
std::size_t write_decimals(double const* values, std::int64_t n, std::string_view separator,
                           bool point, char* out);

/// out (rows, top): positions of the greatest values in each row (rows, n), greatest first; ties by
/// position.
void find_greatest(double const* values, std::int64_t rows, std::int64_t n, std::int64_t top,
                   std::int32_t* out);

}  // namespace sgmc
