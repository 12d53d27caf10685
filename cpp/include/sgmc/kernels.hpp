// Every kernel, declared once, with its contract. Kernels are serial over their arguments, allocate
// nothing, throw nothing, print nothing; threads and memory belong to the drivers.
//
// Plain structs only: this header is shared by objects compiled for different machines.
#pragma once

#include <cstdint>

#include "sgmc/address.hpp"
#include "sgmc/collapsed.hpp"
#include "sgmc/csr.hpp"
#include "sgmc/deep.hpp"
#include "sgmc/expected.hpp"
#include "sgmc/limits.hpp"
#include "sgmc/mean_field.hpp"
#include "sgmc/mixture.hpp"
#include "sgmc/purpose.hpp"
#include "sgmc/sphere.hpp"
#include "sgmc/walk.hpp"

namespace sgmc {

/// Rows are padded to a multiple of this number of values; pads are 0 on entry and exit.
inline constexpr int kPad = 16;
/// Fixed-point unit of Rao-Blackwellised counts: a probability p adds round(p * 2^24).
inline constexpr double kUnit = 16777216.0;
/// Minimum step of CIR rows, because e^-h / (1 - e^-h) times a cell must fit into float32.
inline constexpr double kLeastStep = 1e-20;
/// Number of rows in a block, by which rows are updated: the unit of scheduling, of ordered sums,
/// and of the Langevin noise's generator. It affects every result.
inline constexpr std::int64_t kRowBlock = 64;
/// Number of rows in a unit, by which processes own rows of topics and sums are added; no block
/// spans two units. It affects every result.
inline constexpr std::int64_t kRowUnit = 4 * kRowBlock;
/// Minimum of phi as documents read it, so that every token can have a topic.
inline constexpr float kPhiFloor = 1e-30f;

// ---- documents ---------------------------------------------------------------------------------

inline constexpr int kSlots = 4;       // documents that one thread advances together,
inline constexpr int kMostSlots = 8;   // and the same if one block holds all topics
inline constexpr int kUniforms = 512;  // number of uniforms generated at a time
constexpr int slots_of(std::int64_t stride) { return stride == kPad ? kMostSlots : kSlots; }
/// Maximum number of topics at which a document is sampled over all topics; with more, over the
/// topics it uses.
inline constexpr int kDenseTopics = 128;
/// Number of blocks of 16 topics between stored running sums of a row of phi, which are kept for
/// draws from the whole row.
inline constexpr std::int64_t kSegment = 8;
/// Number of segments in a row of `stride` values.
constexpr std::int64_t segments_of(std::int64_t stride) {
  return (stride / kPad + kSegment - 1) / kSegment;
}

/// Gibbs sampling of the topics of documents, given topics phi.
///
///   p(z_i = k | rest) ~ (alpha_k + n_dk^{-i}) phi_k,w(i)        Patterson & Teh (2013), eq. (11)
///
/// `sweeps` systematic scans in order of word entries; statistics are collected in the last `kept`.
/// Every row of phi has a sum that is positive and finite, also times max alpha + tokens (the
/// driver refuses others). A document starts from its stored topics if z >= 0; if z < 0 a token
/// enters in the first sweep conditional on the tokens before it (sequential fold-in). NumPy:
/// tests/oracles/documents_gibbs.py. Randomness: Purpose `purpose`, entity = entity[d].
struct DocumentsTask : Csr {
  // topics: (R, stride) float, one row per word, K values used; rows need not be normalised
  float const* phi;
  std::int64_t rows, stride;
  std::int32_t topics;
  // by row_mass, if documents are sampled over the topics that they use; else null
  float const* mass;     // (R): sum of each row times share
  float const* running;  // (R, segments, 16): running sums by lane, up to the end of each segment
  std::uint64_t const* entity;
  std::int64_t const* order;  // order in which to take the documents
  float const* alpha;         // (stride), pads 0
  float const* share;         // (stride): alpha / most_alpha, which is all 1 for equal alphas
  float most_alpha;
  std::int32_t sweeps, kept;
  bool alone;          // no other thread takes part in this
  bool last_topics;    // what is collected are the topics of tokens in the end: of dense documents
                       // they are counted as they stand, not by rows of all topics
  bool rao_blackwell;  // collect p_k / sum p in units of 2^-24, else sampled topics in units of 1
  Address address;
  Purpose purpose;
  // topics of tokens, or null: document d has z[token_ptr[d] .. token_ptr[d + 1])
  std::int32_t* z;
  std::int64_t const* token_ptr;
  // results, or null, shared by all threads: a thread takes a row while it adds to it. The order of
  // additions cannot matter, as all are integers. Row r is valid if touched[r], 0 on entry, is 1.
  std::int64_t* word_counts;  // (R, stride)
  std::uint8_t* touched;      // (R)
  // with mass and rao_blackwell: counts of row r still to be spread in proportion to phi_r times
  // share; zero on entry, added to
  std::int64_t* bucket;      // (R)
  std::int64_t* doc_counts;  // (documents, stride)
  std::int64_t* next;        // shared cursor into order[], advanced atomically
};

/// Scratch for one document of at most `max_tokens` tokens and `max_entries` distinct words, with
/// sizes in values. The last four are used only if topics > kDenseTopics, and their pages touched
/// only if a document needs them.
struct DocumentScratch {
  std::int32_t* token;  // max_tokens: entry of each token
  std::int32_t* z;      // max_tokens: used if the task keeps no z
  float* counts;        // stride
  float* collected;     // (max_entries | 1) * stride; one row if word_counts is null
  float* uniforms;      // kUniforms
  float* columns;       // (max_entries | 1) * stride
  float* share;         // max_entries
  std::int32_t* topic;  // stride
  std::int32_t* where;  // stride
};

/// Counts of documents that wait, as lists of topics, to be added to their words' rows. Rows are
/// far apart in memory, so each one is visited once for many documents. For topics > kDenseTopics.
struct WaitingCounts {
  std::int32_t* topic;  // topic of each non-zero count, packed
  float* value;
  std::int32_t* row;    // row of each list
  std::int64_t* begin;  // first count of each list; one more at the end
  std::int64_t* first;  // scratch, (R + 1)
  std::int32_t* order;  // scratch, one place per list
  std::int64_t n, lists;
  std::int64_t room;  // for counts; at least (max_entries | 1) * stride. Lists have room for all
};

/// Scratch of one thread.
struct DocumentsScratch {
  DocumentScratch slot[kMostSlots];  // slots_of(stride) slots
  float* sums;                       // slots_of(stride) * stride
  WaitingCounts waiting;
};

/// Sufficient statistics of documents for alpha, given the topics of their tokens: the auxiliary
/// variables under which its conditional law is a product of gammas (docs/internals/mathematics.md,
/// "Learned priors").
///
///   tables_k = sum_d CRT(n_dk, alpha_k),   q_d = -ln Beta(sum_k alpha_k, N_d)
///
/// Randomness: Purpose `purpose`, entity = entity[d]. All z are in [0, K).
struct AlphaTask {
  std::int32_t const* z;  // document d has z[token_ptr[d] .. token_ptr[d + 1])
  std::int64_t const* token_ptr;
  std::uint64_t const* entity;
  std::int32_t topics;
  double const* alpha;  // (topics)
  double total;         // their sum
  Address address;
  Purpose purpose;
  double* q;  // (documents): 0 for documents without tokens
};

// ---- rows of a matrix of simplexes --------------------------------------------------------------

/// Positions [begin, end) of a list of rows, with the statistics of the rows that a minibatch
/// touched.
///
/// The list is `rows`, strictly ascending word ids, each with a step length of its own; if it is
/// null, all rows in order, of length h. g is word-major, (V, stride), or if `packed` holds the
/// listed rows only, (n, stride); randomness is keyed by the word either way. touched[i] are
/// ascending word ids among the rows; counts (touched, stride) integers; counts * factor estimates
/// N_kw. `sums` receives, over [begin, end) in order, the sum of the new values; for a list, of new
/// value minus its expected value without counts, g e^-h + eta (1 - e^-h): the correction of a
/// conditional mean (docs/internals/design.md, "Lazy rows"). Randomness: Purpose `purpose`, of the
/// CIR transition also the three that follow it. Entity = word; of Langevin noise, the first word
/// of the block.
struct RowsTask {
  std::int64_t begin, end;
  std::int64_t stride;
  std::int32_t topics;
  float eta;
  std::int32_t const* rows;
  double const* lengths;  // length of each position's step; read unless rows is null
  bool packed;
  double h;
  float const* column_rate;     // of each topic e/c and c, if not null: they replace those of the
  float const* column_take;     // row's length (simplex_scir, all rows)
  std::int64_t const* counts;   // row of touched[first]
  std::int32_t const* touched;  // word ids in [begin, end)
  std::int64_t n_touched;
  double factor;
  Purpose purpose;
  Address address;
  double* sums;       // (stride)
  float* momenta;     // (V, stride), of simplex_sgrhmc
  double prior_rate;  // rate of the gamma prior of g, of simplex_sgrhmc
};

/// What a row kernel needs for each column (topic): (stride) values, pads 0.
struct ColumnsTask {
  float const* scale;  // phi = g scale; of dual coordinates, phi = exp(y - step) scale
  float const* step;   // see the kernel
  float const* total;  // V eta + N_k
};

/// Queues of a row kernel: kRowBlock * stride + kPad values each.
struct RowsScratch {
  static constexpr int kQueues = 5;
  std::int32_t* index[kQueues];
  float* value[kQueues][3];
  float* fresh;  // by cell: the new rows, before they are scaled and moved to their places
};

/// phi of words as documents read it: max(g_wk / s_k, floor), pads 0.
struct PhiTask {
  std::int64_t stride;
  std::int32_t topics;
  float const* inverse_sums;  // (stride): 1 / s_k, pads 0
};

/// Rows [begin, end) of state in logarithms, (V, columns) double without padding.
struct LogRowsTask {
  std::int64_t begin, end, columns;
  double const* log_rate;  // (columns): log(e/c) and log c
  double const* log_take;
  Address address;
};

/// Held-out tokens scored by p = sum_k theta_dk phi_wk, theta_dk = (alpha_k + doc_counts_dk *
/// factor) / (sum alpha + tokens_d)   Patterson & Teh (2013), eq. (15), or by a given theta
struct PredictiveTask {
  float const* phi;  // (R, stride)
  std::int64_t stride;
  std::int32_t topics;
  std::int64_t const* indptr;      // held-out entries of each document
  std::int32_t const* indices;     // rows of phi
  std::int64_t const* doc_counts;  // (documents, stride)
  std::int64_t const* tokens;      // observed tokens of each document
  double const* alpha;             // (stride)
  double total, factor;            // sum of alpha
  float const* theta;              // (documents, stride), or null: computed from the counts
  double* p;                       // one per entry
};

// ---- the table ---------------------------------------------------------------------------------

/// Kernels of documents.
struct DocumentKernels {
  void (*gibbs)(DocumentsTask const&, DocumentsScratch const&) noexcept;
  void (*deep)(DeepTask const&, DeepScratch const&) noexcept;
  void (*mean_field)(MeanFieldTask const&, MeanFieldScratch const&) noexcept;
  void (*expected)(ExpectedTask const&, ExpectedScratch const&) noexcept;
  /// Visits documents of `chains` tasks, which differ only in their draws.
  void (*collapsed)(CollapsedTask const*, CollapsedScratch const*, int chains,
                    CollapsedPart const&) noexcept;
  /// Documents [begin, end); scores is scratch of stride values.
  void (*mixture)(MixtureTask const&, std::int64_t begin, std::int64_t end, float* scores) noexcept;
  /// Documents [begin, end): q of each, and tables (topics), to which values are added; n is
  /// scratch of topics values.
  void (*alpha)(AlphaTask const&, std::int64_t begin, std::int64_t end, std::int32_t* n,
                std::int64_t* tables) noexcept;
  /// mass[r] = sum_k phi_rk share_k, r in [begin, end), with all shares 1 if null; NaN if a weight
  /// is negative. Unless `running` is null, (R, segments, 16), also the sums up to the end of each
  /// segment of blocks.
  void (*row_mass)(float const* phi, float const* share, std::int64_t stride, std::int64_t begin,
                   std::int64_t end, float* mass, float* running) noexcept;
  /// counts[k] += round(bucket phi_k share_k / mass) for one row; all shares are 1 if null.
  void (*spread_bucket)(float const* phi, float const* share, std::int64_t stride, float mass,
                        std::int64_t bucket, std::int64_t* counts) noexcept;
  /// Documents [begin, end); theta is scratch of stride values.
  void (*predictive)(PredictiveTask const&, std::int64_t begin, std::int64_t end,
                     double* theta) noexcept;
};

/// Kernels of matrices of simplexes: steps, starts, and reads.
struct SimplexKernels {
  /// CIR transition by its row's length with shape eta + counts * factor; an infinite length draws
  /// Gamma(shape). A cell without an accepted variate in kAttempts attempts, because its rate or
  /// shape is NaN, becomes NaN. Baker et al. (2018), section 2.2: N ~ Poisson(g e/c), g' = c
  /// Gamma(a + N), e = exp(-h), c = 1-e; for a process of rate kappa, e = exp(-kappa h) and c =
  /// (1-e) / kappa.
  void (*scir)(float* g, RowsTask const&, RowsScratch const&) noexcept;
  /// CIR transition of log g in double, shape (V, columns) given per cell; NaN as above.
  void (*scir_log)(double* log_g, double const* shape, LogRowsTask const&) noexcept;
  /// |g + h (eta + N - g (1 + N_k/s_k)) + sqrt(2 h g) z|, Patterson & Teh (2013), eq. (10) with
  /// epsilon = 2h. ratio[k] = N_k / s_k.
  void (*sgrld)(float* g, float const* ratio, RowsTask const&) noexcept;
  /// Friction, noise and Hamiltonian flow of g and task.momenta for h, Ma et al. (2015), section
  /// 3.2. rate[k] = prior_rate + N_k / s_k.
  void (*sgrhmc)(float* g, float const* rate, RowsTask const&) noexcept;
  /// First half of a TLASGR step: x of all rows from phi = g scale; columns.step is eps_t / M_k.
  void (*tlasgr)(float const* g, float* x, RowsTask const&, ColumnsTask const&) noexcept;
  /// Second half: g = |u|, u = x - (S_k - 1) phi, or max(u, 0) with `clip`; columns.step is S_k -
  /// 1, where S_k are the sums of the first half.
  void (*project)(float* g, float const* x, RowsTask const&, ColumnsTask const&,
                  bool clip) noexcept;
  /// SMLD, exact or approximate; columns.step is a shift near the largest y. sums: of exp(y -
  /// shift).
  void (*smld)(float* y, RowsTask const&, ColumnsTask const&, std::int64_t reference,
               bool approximate) noexcept;
  /// Mean of the CIR transition, without noise: g e + (eta + N)(1 - e).
  void (*relax)(float* g, RowsTask const&) noexcept;
  /// g = scale * Gamma(1): the start of a chain.
  void (*start)(float* g, float scale, RowsTask const&) noexcept;
  /// g = Gamma(shape) / shape, shape >= 1: the start of Dirichlet parameters.
  void (*dirichlet_start)(float* g, float shape, RowsTask const&) noexcept;
  /// out[i] = phi of word rows[i] (all words if rows is null), i in [begin, end).
  void (*phi)(float const* g, std::int32_t const* rows, std::int64_t begin, std::int64_t end,
              float* out, PhiTask const&) noexcept;
  /// out[i] = phi of word rows[i] of SMLD's y (all words if rows is null), i in [begin, end).
  void (*smld_phi)(float const* y, std::int32_t const* rows, std::int64_t begin, std::int64_t end,
                   float* out, std::int64_t stride, std::int32_t topics, ColumnsTask const&,
                   bool approximate) noexcept;
  /// out[i] = exp(psi(g_wk) - psi(sum_w g_wk)), divided by a factor for each word, as documents
  /// read it (Hoffman et al. 2010, eq. 6); inverse_sums[k] = exp(-psi(sum_w g_wk)).
  void (*dirichlet_weights)(float const* g, std::int32_t const* rows, std::int64_t begin,
                            std::int64_t end, float* out, PhiTask const&) noexcept;
  /// total[w] += phi of word w for all words w in [begin, end): of g as it is or, unless lengths is
  /// null, of the expected row w after a transition of length lengths[w] without counts.
  void (*add_phi)(float const* g, double const* lengths, float eta, std::int64_t begin,
                  std::int64_t end, double* total, PhiTask const&) noexcept;
};

/// Kernels of points on spheres, which are columns of (V, stride) matrices, and of documents near
/// them. `squares`, `dots` and the like have (stride) values, to which results are added.
struct SphereKernels {
  /// gram += x^T x, only its upper triangle in blocks of sixteen columns; along += x^T m (0 if m is
  /// null).
  void (*moments)(double const* x, double const* centre, PointsTask const&, double* gram,
                  double* along) noexcept;
  /// along = V^T x of documents [begin, end), (documents, stride).
  void (*along)(double const* x, std::int64_t stride, Directions const&, std::int64_t begin,
                std::int64_t end, double* along) noexcept;
  /// gradient becomes the force f = -length gradient + sd z; dots: of x and f.
  void (*force)(double* gradient, double const* x, ForceTask const&, double* dots) noexcept;
  /// v = damp (v + f - x (x^T f)); Liu et al. (2016), eq. (7) and (8). squares: of v.
  void (*push)(double* v, double const* x, double const* force, double const* dots, double damp,
               PointsTask const&, double* squares) noexcept;
  /// x' = x cosine + v along, v' = damp (v cosine - x across): a great circle. squares: of x',
  /// dots: of x' and v'.
  void (*drift)(double* x, double* v, double const* cosine, double const* along,
                double const* across, double damp, PointsTask const&, double* squares,
                double* dots) noexcept;
  /// x' = scale x, v' = v - x' dots, so that points stay on the sphere despite rounding. squares:
  /// of v'.
  void (*correct)(double* x, double* v, double const* scale, double const* dots, PointsTask const&,
                  double* squares) noexcept;
  /// Cosine, and sine over arc, of the arc with square z.
  void (*arc)(double z, double& cosine, double& sine) noexcept;
  /// See GradientTask.
  void (*gradient)(double const* x, double* gradient, GradientTask const&) noexcept;
  /// first += other - pull (of_centre m + of_sum sum_k x_k); squares: of the difference d, dots: of
  /// x and d.
  void (*halves)(double const* x, double* first, double const* other, HalvesTask const&,
                 double* squares, double* dots) noexcept;
  /// Documents [begin, end), begin a multiple of kTogether.
  void (*proportions)(ProportionsTask const&, ProportionsScratch const&, std::int64_t begin,
                      std::int64_t end) noexcept;
  /// Documents [begin, end): outer += sum_dn (c_dn / n_dn^2) theta theta^T; mixed is scratch of
  /// stride.
  void (*evidence)(EvidenceTask const&, std::int64_t begin, std::int64_t end, double* mixed,
                   double* outer) noexcept;
  /// Documents [begin, end); scores is scratch of n.
  void (*cosines)(CosinesTask const&, std::int64_t begin, std::int64_t end,
                  double* scores) noexcept;
};

/// Kernels of words whose weights walk through time slices; see WalkTask.
struct WalkKernels {
  /// Words [begin, end): b += take M g + noise M^(1/2) z; `curvature` is m, which is updated after
  /// it is read. `sums` (slices, stride) receives the sums of exp(b - shift). Randomness: Purpose
  /// walk_noise, entity = word.
  void (*step)(float* b, float* curvature, WalkTask const&, WalkMove const&, std::int64_t begin,
               std::int64_t end, WalkScratch const&, double* sums) noexcept;
  /// Columns [k, k + 16), for all words in turn: b' = b + h M g + sqrt(2h) M^(1/2) z, m = max(c,
  /// 1), accepted with the probability that leaves p(b | c) invariant (Roberts and Tweedie 1996).
  /// `accepted` (stride) receives the number of accepted words. Randomness: Purpose walk_noise and
  /// walk_accept, entity = word times blocks of columns, plus the block.
  void (*accept)(float* b, WalkTask const&, std::int64_t k, WalkScratch const&, double* sums,
                 std::int64_t* accepted) noexcept;
  /// out[i] = phi of row rows[i] (all rows if it is null), i in [begin, end), at least kPhiFloor.
  void (*phi)(float const* b, std::int32_t const* rows, std::int64_t begin, std::int64_t end,
              float* out, WalkTask const&) noexcept;
};

/// Random numbers computed from their addresses.
struct RandomKernels {
  /// out[i] = image of position[i] under a keyed bijection of [0, n): a permutation that needs no
  /// memory (Feistel rounds on the next even number of bits, walked until inside).
  void (*permute)(std::int64_t const* position, std::int64_t count, std::int64_t n, Address const&,
                  Purpose, std::int64_t* out) noexcept;
  /// out[i] uniform in (0, 1), 53 bits: block ordinal[i] of entity[i].
  void (*uniforms)(std::int64_t const* entity, std::int64_t const* ordinal, std::int64_t count,
                   Address const&, Purpose, double* out) noexcept;
  /// out[i] = tables of n[i] customers, CRT(n[i], shape[i]), from entity i; n[i] <= kMaxCollected.
  void (*tables)(std::int64_t const* n, double const* shape, std::int64_t count, Address const&,
                 Purpose, std::int64_t* out) noexcept;
};

/// Functions of n doubles, and products of matrices; no operations are contracted or reordered.
/// Errors are below 1 ulp, for log1p and cospi below 2 (tests/unit/test_kernels_elementary.py).
struct ElementaryKernels {
  void (*log)(double const* x, std::int64_t n, double* out) noexcept;
  void (*log1p)(double const* x, std::int64_t n, double* out) noexcept;
  void (*exp)(double const* x, std::int64_t n, double* out) noexcept;
  /// cos(pi x), |x| < 2^50.
  void (*cospi)(double const* x, std::int64_t n, double* out) noexcept;
  /// out (rows, columns) = a (rows, inner) b (inner, columns), each sum taken from the first term
  /// to the last.
  void (*product)(double const* a, double const* b, std::int64_t rows, std::int64_t inner,
                  std::int64_t columns, double* out) noexcept;
};

/// Functions that only tests call.
struct TestingKernels {
  /// n draws of one sampler, or values of one function; draw i is from entity i, NaN if none is
  /// accepted. kind: 0 normal, 1 gamma(a[i]), 2 poisson(a[i]), 3 uniform24, 4 uniform_open, 5
  /// log(a[i]), 6 exp(a[i]), 7 1 - exp(-a[i]), 8 psi(a[i]), 9 sin(pi/4 a[i]), 10 cos(pi/4 a[i]).
  void (*draw)(int kind, float const* a, std::int64_t n, Address const&, float* out) noexcept;
  /// out[i]: the count behind the data of a link, from entity i. Binary: a[i] is its mean; real:
  /// a[i] is a y mean. -1 if the result is NaN or too large to count.
  void (*latent_counts)(Link, double const* a, std::int64_t count, Address const&,
                        std::int64_t* out) noexcept;
  /// Philox blocks: counter (n, 4) and key (n, 2) into (n, 4).
  void (*philox)(std::uint32_t const* counter, std::uint32_t const* key, std::int64_t n,
                 std::uint32_t* out) noexcept;
  /// The first n words of each lane of `RowWords` from a state (4, 16), into (n, 16).
  void (*row_words)(std::uint32_t const* state, std::int64_t n, std::uint32_t* out) noexcept;
};

/// The kernels of one instruction set.
struct KernelTable {
  char const* name;
  DocumentKernels documents;
  SimplexKernels simplex;
  SphereKernels sphere;
  WalkKernels walk;
  RandomKernels random;
  ElementaryKernels elementary;
  TestingKernels testing;
};

namespace baseline {
KernelTable const& table() noexcept;
}
#if defined(SGMC_X86)
namespace avx2 {
KernelTable const& table() noexcept;
}
namespace avx512 {
KernelTable const& table() noexcept;
}
#endif

}  // namespace sgmc
