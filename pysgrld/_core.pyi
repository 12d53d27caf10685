"""The compiled module, typed by hand. Contracts: cpp/include/sgmc/kernels.hpp.

Every function ends, whatever numbers it is given: with ValueError where an argument is one that it does
not take, `pysgrld.errors.NumericalError` where sums or weights are no numbers, or with NaN in the cells
that could not be drawn. ``sweeps`` are at most MAX_SWEEPS in a call, and MAX_DRAWS times tokens (of deep
documents: entries).
"""

import enum
from collections.abc import Callable, Sequence

from pysgrld.types import Array, Doubles, Floats, Int32s, Int64s

ROW_PAD: int
UNIT: int
PHI_FLOOR: float
MAX_COLLECTED: int
MAX_LAYERS: int
DENSE_TOPICS: int
MAX_SWEEPS: int
MAX_DRAWS: int
LEAST_STEP: float
ROW_UNIT: int
compiler: str
openmp: str

class Purpose(enum.Enum):
    init = ...
    documents = ...
    scir_pass = ...
    scir_small_gamma = ...
    scir_poisson = ...
    scir_gamma = ...
    sgrld_noise = ...
    scir_log = ...
    epoch_order = ...
    holdout_choice = ...
    holdout_split = ...
    evaluation = ...
    point_evaluation = ...
    infer = ...
    minibatch_choice = ...
    scale_refresh = ...
    catch_up_pass = ...
    catch_up_small_gamma = ...
    catch_up_poisson = ...
    catch_up_gamma = ...
    look_pass = ...
    look_small_gamma = ...
    look_poisson = ...
    look_gamma = ...
    stream_order = ...
    tlasgr_noise = ...
    smld_noise = ...
    shape_noise = ...
    shape_gibbs = ...
    slices = ...
    stick_noise = ...
    toy_noise = ...
    sphere_noise = ...
    sphere_accept = ...
    alpha_evidence = ...
    eta_slice = ...
    walk_noise = ...
    walk_accept = ...
    sgrhmc_noise = ...
    test = ...

class Workspace:
    """Scratch memory that outlives a call, for one thread at a time.

    A call that is given a workspace while another thread's call is in it raises RuntimeError. Word counts
    are arrays of their own, which stay as they are: their memory serves a later call with the same
    workspace once the array is gone.
    """

def isa() -> str: ...
def available_isas() -> list[str]: ...
def use_isa(name: str) -> None: ...
def philox(counter: Array, key: Array) -> Array: ...
def row_words(state: Array, n: int) -> Array: ...
def draw(kind: str, parameter: Floats, seed: int, step: int = ...) -> Floats: ...
def permute(
    position: Int64s, n: int, seed: int, chain: int, purpose: Purpose, step: int
) -> Int64s: ...
def uniforms(
    entity: Int64s, ordinal: Int64s, seed: int, chain: int, purpose: Purpose, step: int
) -> Doubles: ...
def startable_threads(wanted: int) -> int: ...
def zeros(rows: int, columns: int, dtype: str) -> Array: ...
def renumber(ids: Int32s) -> tuple[Int32s, Int32s]: ...
def decimals(values: Doubles, *, separator: str, point: bool = ...) -> list[bytes]: ...
def greatest(values: Doubles, *, top: int) -> Int32s: ...
def log(x: Doubles) -> Doubles: ...
def log1p(x: Doubles) -> Doubles: ...
def exp(x: Doubles) -> Doubles: ...
def cospi(x: Doubles) -> Doubles: ...
def product(a: Doubles, b: Doubles) -> Doubles: ...
def documents_gibbs(
    *,
    phi: Floats,
    topics: int,
    indptr: Int64s,
    indices: Int32s,
    counts: Int32s,
    doc_ids: Int64s,
    alpha: float | Floats,
    sweeps: int,
    kept: int,
    rao_blackwell: bool,
    seed: int,
    chain: int,
    step: int,
    purpose: Purpose,
    z: Int32s | None = ...,
    token_ptr: Int64s | None = ...,
    want_words: bool = ...,
    want_documents: bool = ...,
    bucket: Int64s | None = ...,
    work: Workspace,
    threads: int,
) -> tuple[Int64s | None, Int64s | None]: ...
def spread(
    *,
    phi: Floats,
    theirs: Floats | None = None,
    order: Int64s | None = None,
    alpha: float | Floats,
    topics: int,
    bucket: Int64s,
    counts: Int64s,
    work: Workspace,
    threads: int,
) -> None: ...
def documents_expected(
    *,
    phi: Floats,
    topics: int,
    indptr: Int64s,
    indices: Int32s,
    counts: Int32s,
    alpha: float | Floats,
    passes: int,
    work: Workspace,
    threads: int,
) -> Floats: ...
def proportions_of(*, counts: Floats, alpha: Doubles, threads: int) -> Doubles: ...
def alpha_evidence(
    *,
    z: Int32s,
    token_ptr: Int64s,
    doc_ids: Int64s,
    alpha: Floats,
    topics: int,
    seed: int,
    chain: int,
    step: int,
    threads: int,
) -> tuple[Int64s, Doubles]: ...
def add_counts(*, parts: Int64s, out: Int64s, threads: int) -> None: ...
def add_rows(
    *, own: Int64s, theirs: Int64s, order: Int64s, begin: Int64s, out: Int64s, threads: int
) -> None: ...
def documents_mean_field(
    *,
    weights: Floats,
    topics: int,
    indptr: Int64s,
    indices: Int32s,
    counts: Int32s,
    alpha: float,
    sweeps: int,
    tolerance: float,
    gamma: Floats,
    want_words: bool = ...,
    work: Workspace,
    threads: int,
) -> Int64s | None: ...
def documents_collapsed(
    *,
    rows: int,
    topics: int,
    indptr: Int64s,
    indices: Int32s,
    counts: Int32s,
    doc_ids: Int64s,
    alpha: Floats,
    priors: Floats,
    prior_of: Int32s,
    mass: Doubles,
    sweeps: int,
    seed: int,
    chain: int,
    steps: Sequence[int],
    z: Sequence[Int32s],
    token_ptr: Int64s,
    work: Workspace,
    threads: int,
    visited: Int64s | None = None,
    waiting: Callable[[], None] | None = None,
    seconds: float = 0.0,
) -> Int64s: ...
def documents_mixture(
    *,
    log_phi: Floats,
    log_weight: Floats,
    components: int,
    indptr: Int64s,
    indices: Int32s,
    counts: Int32s,
    doc_ids: Int64s,
    slice: Floats,
    seed: int,
    chain: int,
    step: int,
    threads: int,
) -> Int32s: ...
def predictive(
    *,
    phi: Floats,
    topics: int,
    indptr: Int64s,
    indices: Int32s,
    doc_counts: Int64s,
    tokens: Int64s,
    alpha: float | Floats,
    factor: float,
    threads: int,
) -> Doubles: ...
def predictive_given_theta(
    *, phi: Floats, topics: int, indptr: Int64s, indices: Int32s, theta: Floats, threads: int
) -> Doubles: ...
def documents_deep(
    *,
    phi: list[Floats],
    topics: list[int],
    r: Floats,
    start: Floats,
    indptr: Int64s,
    indices: Int32s,
    counts: Int32s,
    doc_ids: Int64s,
    a0: float,
    b0: float,
    e0: float,
    f0: float,
    link: str,
    sweeps: int,
    kept: int,
    held: int,
    rao_blackwell: bool,
    seed: int,
    chain: int,
    step: int,
    purpose: Purpose,
    theta: Floats | None = ...,
    rates: Doubles | None = ...,
    totals: Floats | None = ...,
    fresh: bool = ...,
    want_words: bool = ...,
    want_mean: bool = ...,
    work: Workspace,
    threads: int,
) -> tuple[Int64s | None, list[Int64s], Int64s | None, Doubles | None, Floats | None]: ...
def tables(
    *, n: Int64s, shape: Doubles, seed: int, chain: int, step: int, purpose: Purpose
) -> Int64s: ...
def latent_counts(link: str, parameter: Doubles, seed: int, step: int = ...) -> Int64s: ...
def simplex_tlasgr(
    *,
    g: Floats,
    sums: Doubles,
    topics: int,
    eta: float,
    rows: Int32s,
    counts: Int64s,
    factor: float,
    steps: Doubles,
    totals: Doubles,
    clip: bool,
    seed: int,
    chain: int,
    step: int,
    stream: int,
    work: Workspace,
    threads: int,
) -> None: ...
def simplex_smld(
    *,
    y: Floats,
    log_sums: Doubles,
    topics: int,
    eta: float,
    rows: Int32s,
    counts: Int64s,
    factor: float,
    h: float,
    totals: Doubles,
    approximate: bool,
    seed: int,
    chain: int,
    step: int,
    stream: int,
    work: Workspace,
    threads: int,
) -> None: ...
def walk_step(
    *,
    b: Floats,
    curvature: Floats,
    log_sums: Doubles,
    topics: int,
    rows: Int32s,
    counts: Int64s,
    factor: float,
    drift: float,
    spread: float,
    h: float,
    weight: float,
    warm: bool,
    seed: int,
    chain: int,
    step: int,
    stream: int,
    work: Workspace,
    threads: int,
) -> None: ...
def walk_accept(
    *,
    b: Floats,
    log_sums: Doubles,
    topics: int,
    rows: Int32s,
    counts: Int64s,
    factor: float,
    drift: float,
    spread: float,
    h: float,
    seed: int,
    chain: int,
    step: int,
    stream: int,
    work: Workspace,
    threads: int,
) -> Int64s: ...
def walk_phi(
    *,
    b: Floats,
    log_sums: Doubles,
    topics: int,
    rows: Int32s | None,
    work: Workspace | None = ...,
    threads: int,
) -> Floats: ...
def simplex_smld_phi(
    *,
    y: Floats,
    log_sums: Doubles,
    topics: int,
    rows: Int32s | None,
    approximate: bool,
    work: Workspace | None = None,
    threads: int,
) -> Floats: ...
def simplex_scir(
    *,
    g: Floats,
    sums: Doubles,
    topics: int,
    eta: float,
    rows: Int32s,
    counts: Int64s,
    factor: float,
    h: float,
    seed: int,
    chain: int,
    step: int,
    stream: int,
    work: Workspace,
    threads: int,
    totals: Int64s | None = ...,
    added: Doubles | None = ...,
    rank: int = ...,
    size: int = ...,
) -> None: ...

simplex_sgrld = simplex_scir
simplex_scir_natural = simplex_scir
simplex_relax = simplex_scir

def simplex_sgrhmc(
    *,
    g: Floats,
    sums: Doubles,
    r: Floats,
    topics: int,
    eta: float,
    rate: float,
    rows: Int32s,
    counts: Int64s,
    factor: float,
    h: float,
    seed: int,
    chain: int,
    step: int,
    stream: int,
    work: Workspace,
    threads: int,
    totals: Int64s | None = ...,
    added: Doubles | None = ...,
    rank: int = ...,
    size: int = ...,
) -> None: ...
def simplex_scir_rows(
    *,
    g: Floats,
    sums: Doubles,
    topics: int,
    eta: float,
    rows: Int32s,
    lengths: Doubles,
    counts: Int64s | None,
    factor: float,
    packed: bool,
    purpose: Purpose,
    seed: int,
    chain: int,
    step: int,
    stream: int,
    work: Workspace,
    threads: int,
    added: Doubles | None = ...,
    rank: int = ...,
    size: int = ...,
) -> None: ...

simplex_relax_rows = simplex_scir_rows

def simplex_add_units(*, sums: Doubles, added: Doubles, anew: bool) -> None: ...
def simplex_start(
    *,
    g: Floats,
    sums: Doubles,
    topics: int,
    scale: float,
    seed: int,
    chain: int,
    stream: int,
    work: Workspace,
    threads: int,
    added: Doubles | None = ...,
    rank: int = ...,
    size: int = ...,
) -> None: ...
def dirichlet_start(
    *,
    g: Floats,
    sums: Doubles,
    topics: int,
    shape: float,
    seed: int,
    chain: int,
    stream: int,
    work: Workspace,
    threads: int,
    added: Doubles | None = ...,
    rank: int = ...,
    size: int = ...,
) -> None: ...
def dirichlet_weights(
    *,
    g: Floats,
    sums: Doubles,
    topics: int,
    rows: Int32s | None,
    work: Workspace | None = None,
    threads: int,
    out: Floats | None = ...,
) -> Floats: ...
def simplex_phi(
    *,
    g: Floats,
    sums: Doubles,
    topics: int,
    rows: Int32s | None,
    work: Workspace | None = None,
    threads: int,
    out: Floats | None = ...,
) -> Floats: ...
def simplex_add_phi(
    *,
    total: Doubles,
    g: Floats,
    sums: Doubles,
    topics: int,
    eta: float,
    lengths: Doubles | None,
    threads: int,
) -> None: ...
def simplex_scir_log(
    *,
    log_g: Doubles,
    shape: Doubles,
    h: float,
    kappa: Doubles | None = ...,
    seed: int,
    chain: int,
    step: int,
    stream: int,
    threads: int,
) -> None: ...
def bessel_ratio(d: float, kappa: float) -> float: ...
def log_normaliser(d: float, kappa: float) -> float: ...
def sphere_moments(
    *, x: Doubles, topics: int, centre: Doubles | None, work: Workspace, threads: int
) -> tuple[Doubles, Doubles]: ...
def sphere_force(
    *,
    gradient: Doubles,
    x: Doubles,
    v: Doubles,
    squares: Doubles,
    topics: int,
    length: float,
    sd: Doubles | None,
    damp: float,
    seed: int,
    chain: int,
    step: int,
    stream: int,
    part: int,
    work: Workspace,
    threads: int,
) -> None: ...
def sphere_drift(
    *,
    x: Doubles,
    v: Doubles,
    squares: Doubles,
    topics: int,
    length: float,
    damp: float,
    work: Workspace,
    threads: int,
) -> None: ...
def sphere_along(
    *, x: Doubles, topics: int, indptr: Int64s, indices: Int32s, values: Doubles, threads: int
) -> Doubles: ...
def sphere_gradient(
    *,
    x: Doubles,
    topics: int,
    centre: Doubles | None,
    pull: float,
    of_centre: float,
    of_sum: float,
    weight: float,
    indptr: Int64s,
    indices: Int32s,
    values: Doubles,
    proportions: Doubles,
    outer: Doubles,
    work: Workspace,
    threads: int,
) -> Doubles: ...
def sphere_halves(
    *,
    x: Doubles,
    topics: int,
    first: Doubles,
    other: Doubles,
    centre: Doubles | None,
    pull: float,
    of_centre: float,
    of_sum: float,
    of_first: float,
    of_other: float,
    work: Workspace,
    threads: int,
) -> Doubles: ...
def sphere_proportions(
    *,
    gram: Doubles,
    along: Doubles,
    topics: int,
    kappa: float,
    alpha: float,
    length: float,
    trajectories: int,
    kept: int,
    leaps: int,
    chart: str,
    doc_ids: Int64s,
    theta: Doubles,
    seed: int,
    chain: int,
    step: int,
    purpose: Purpose,
    work: Workspace,
    threads: int,
) -> tuple[Floats, Int32s, Doubles]: ...
def sphere_evidence(
    *, gram: Doubles, along: Doubles, topics: int, samples: Floats, work: Workspace, threads: int
) -> tuple[Doubles, Doubles, Doubles]: ...
def sphere_cosines(
    *,
    gram: Doubles,
    along: Doubles,
    topics: int,
    theta: Doubles,
    kappa: float,
    work: Workspace,
    threads: int,
) -> Doubles: ...
