// The kernels of one instruction set, by name.
#include "sgmc/kernels.hpp"

#define SGMC_STRING_(x) #x
#define SGMC_STRING(x) SGMC_STRING_(x)

namespace sgmc::SGMC_ISA {

void documents_gibbs(DocumentsTask const&, DocumentsScratch const&) noexcept;
void documents_deep(DeepTask const&, DeepScratch const&) noexcept;
void documents_mean_field(MeanFieldTask const&, MeanFieldScratch const&) noexcept;
void documents_expected(ExpectedTask const&, ExpectedScratch const&) noexcept;
void documents_collapsed(CollapsedTask const*, CollapsedScratch const*, int chains,
                         CollapsedPart const&) noexcept;
void documents_mixture(MixtureTask const&, std::int64_t, std::int64_t, float*) noexcept;
void alpha_evidence(AlphaTask const&, std::int64_t, std::int64_t, std::int32_t*,
                    std::int64_t*) noexcept;
void row_mass(float const*, float const*, std::int64_t, std::int64_t, std::int64_t, float*,
              float*) noexcept;
void spread_bucket(float const*, float const*, std::int64_t, float, std::int64_t,
                   std::int64_t*) noexcept;
void simplex_scir(float*, RowsTask const&, RowsScratch const&) noexcept;
void simplex_scir_log(double*, double const*, LogRowsTask const&) noexcept;
void simplex_sgrld(float*, float const*, RowsTask const&) noexcept;
void simplex_sgrhmc(float*, float const*, RowsTask const&) noexcept;
void simplex_tlasgr(float const*, float*, RowsTask const&, ColumnsTask const&) noexcept;
void simplex_project(float*, float const*, RowsTask const&, ColumnsTask const&, bool) noexcept;
void simplex_smld(float*, RowsTask const&, ColumnsTask const&, std::int64_t, bool) noexcept;
void simplex_smld_phi(float const*, std::int32_t const*, std::int64_t, std::int64_t, float*,
                      std::int64_t, std::int32_t, ColumnsTask const&, bool) noexcept;
void simplex_relax(float*, RowsTask const&) noexcept;
void simplex_start(float*, float, RowsTask const&) noexcept;
void dirichlet_start(float*, float, RowsTask const&) noexcept;
void dirichlet_weights(float const*, std::int32_t const*, std::int64_t, std::int64_t, float*,
                       PhiTask const&) noexcept;
void simplex_phi(float const*, std::int32_t const*, std::int64_t, std::int64_t, float*,
                 PhiTask const&) noexcept;
void simplex_add_phi(float const*, double const*, float, std::int64_t, std::int64_t, double*,
                     PhiTask const&) noexcept;
void predictive(PredictiveTask const&, std::int64_t, std::int64_t, double*) noexcept;
void sphere_moments(double const*, double const*, PointsTask const&, double*, double*) noexcept;
void sphere_along(double const*, std::int64_t, Directions const&, std::int64_t, std::int64_t,
                  double*) noexcept;
void sphere_force(double*, double const*, ForceTask const&, double*) noexcept;
void sphere_push(double*, double const*, double const*, double const*, double, PointsTask const&,
                 double*) noexcept;
void sphere_drift(double*, double*, double const*, double const*, double const*, double,
                  PointsTask const&, double*, double*) noexcept;
void sphere_correct(double*, double*, double const*, double const*, PointsTask const&,
                    double*) noexcept;
void sphere_arc(double, double&, double&) noexcept;
void sphere_gradient(double const*, double*, GradientTask const&) noexcept;
void sphere_halves(double const*, double*, double const*, HalvesTask const&, double*,
                   double*) noexcept;
void sphere_proportions(ProportionsTask const&, ProportionsScratch const&, std::int64_t,
                        std::int64_t) noexcept;
void sphere_evidence(EvidenceTask const&, std::int64_t, std::int64_t, double*, double*) noexcept;
void sphere_cosines(CosinesTask const&, std::int64_t, std::int64_t, double*) noexcept;
void walk_step(float*, float*, WalkTask const&, WalkMove const&, std::int64_t, std::int64_t,
               WalkScratch const&, double*) noexcept;
void walk_accept(float*, WalkTask const&, std::int64_t, WalkScratch const&, double*,
                 std::int64_t*) noexcept;
void walk_phi(float const*, std::int32_t const*, std::int64_t, std::int64_t, float*,
              WalkTask const&) noexcept;
void permute(std::int64_t const*, std::int64_t, std::int64_t, Address const&, Purpose,
             std::int64_t*) noexcept;
void uniforms(std::int64_t const*, std::int64_t const*, std::int64_t, Address const&, Purpose,
              double*) noexcept;
void tables_of(std::int64_t const*, double const*, std::int64_t, Address const&, Purpose,
               std::int64_t*) noexcept;
void latent_counts(Link, double const*, std::int64_t, Address const&, std::int64_t*) noexcept;
void log_all(double const*, std::int64_t, double*) noexcept;
void log1p_all(double const*, std::int64_t, double*) noexcept;
void exp_all(double const*, std::int64_t, double*) noexcept;
void cospi_all(double const*, std::int64_t, double*) noexcept;
void product(double const*, double const*, std::int64_t, std::int64_t, std::int64_t,
             double*) noexcept;
void draw(int, float const*, std::int64_t, Address const&, float*) noexcept;
void philox_blocks(std::uint32_t const*, std::uint32_t const*, std::int64_t,
                   std::uint32_t*) noexcept;
void row_words(std::uint32_t const*, std::int64_t, std::uint32_t*) noexcept;

KernelTable const& table() noexcept {
  static constexpr KernelTable kernels{
      .name = SGMC_STRING(SGMC_ISA),
      .documents =
          {
              .gibbs = documents_gibbs,
              .deep = documents_deep,
              .mean_field = documents_mean_field,
              .expected = documents_expected,
              .collapsed = documents_collapsed,
              .mixture = documents_mixture,
              .alpha = alpha_evidence,
              .row_mass = row_mass,
              .spread_bucket = spread_bucket,
              .predictive = predictive,
          },
      .simplex =
          {
              .scir = simplex_scir,
              .scir_log = simplex_scir_log,
              .sgrld = simplex_sgrld,
              .sgrhmc = simplex_sgrhmc,
              .tlasgr = simplex_tlasgr,
              .project = simplex_project,
              .smld = simplex_smld,
              .relax = simplex_relax,
              .start = simplex_start,
              .dirichlet_start = dirichlet_start,
              .phi = simplex_phi,
              .smld_phi = simplex_smld_phi,
              .dirichlet_weights = dirichlet_weights,
              .add_phi = simplex_add_phi,
          },
      .sphere =
          {
              .moments = sphere_moments,
              .along = sphere_along,
              .force = sphere_force,
              .push = sphere_push,
              .drift = sphere_drift,
              .correct = sphere_correct,
              .arc = sphere_arc,
              .gradient = sphere_gradient,
              .halves = sphere_halves,
              .proportions = sphere_proportions,
              .evidence = sphere_evidence,
              .cosines = sphere_cosines,
          },
      .walk =
          {
              .step = walk_step,
              .accept = walk_accept,
              .phi = walk_phi,
          },
      .random =
          {
              .permute = permute,
              .uniforms = uniforms,
              .tables = tables_of,
          },
      .elementary =
          {
              .log = log_all,
              .log1p = log1p_all,
              .exp = exp_all,
              .cospi = cospi_all,
              .product = product,
          },
      .testing =
          {
              .draw = draw,
              .latent_counts = latent_counts,
              .philox = philox_blocks,
              .row_words = row_words,
          },
  };
  return kernels;
}

}  // namespace sgmc::SGMC_ISA
