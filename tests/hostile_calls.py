"""Calls of every core function with numbers that no caller should pass.

The functions and their integer arguments are read from ``pysgrld/_core.pyi``, so that
tests/unit/test_kernels_hostile.py is red if one of them has no call here. `attack` makes calls in
processes, which may crash or hang. Run as a script this makes some of the cases, and prints the number of
each one before it is made.
"""

from __future__ import annotations

import ast
import os
import resource
import select
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.errors import NumericalError

WORDS, DOCUMENTS = 9, 7
TOPICS = [5, 140]  # documents are dense, and active
VALUES = {
    "nan": np.nan,
    "inf": np.inf,
    "-inf": -np.inf,
    "-1": -1.0,
    "0": 0.0,
    "1e-40": 1e-40,
    "1e-45": 1e-45,
    "FLT_MAX": float(np.finfo(np.float32).max),
    "DBL_MAX": float(np.finfo(np.float64).max),
}
#: Ends of what integers can be, and of what is a size.
INTEGERS = [-(2**63), -(2**31), -1, 0, 1, 2**31 - 1, 2**31, 2**32 + 1, 2**63 - 1, 2**64 - 1]
#: Bytes that a process may map: an allocation of any size ends with MemoryError, not with the machine.
ADDRESSES = 4 << 30
#: How a call may end: all other exceptions, and signals, are wrong.
REFUSALS = (ValueError, TypeError, NumericalError, MemoryError)
#: Seconds that one call may take, on a machine that does other work too.
PATIENCE = 20.0


def documents(seed: int) -> dict[str, Any]:
    """Random documents over all words, one of which is empty."""
    rng = np.random.default_rng(seed)
    x = rng.poisson(1.5, (DOCUMENTS, WORDS))
    x[2] = 0
    return {
        "indptr": np.concatenate(([0], np.cumsum((x > 0).sum(axis=1)))),
        "indices": np.nonzero(x)[1].astype(np.int32),
        "counts": x[x > 0].astype(np.int32),
        "doc_ids": np.arange(DOCUMENTS),
    }


def matrix(rows: int, k: int, seed: int) -> Any:
    """Positive, padded rows of ``k`` values, which sum to 1 over the rows."""
    out = core.zeros(rows, padded_width(k), "float32")
    out[:, :k] = np.random.default_rng(seed).dirichlet(np.full(rows, 0.5), k).T + 1e-3
    return out


def vector(k: int) -> Any:
    """Ones, padded."""
    return (np.arange(padded_width(k)) < k).astype(np.float32)


def calls(k: int, seed: int, threads: int) -> dict[str, dict[str, Any]]:
    """Arguments of a valid call of every kernel, by name; a variant follows a hash."""
    key = {"seed": seed, "chain": 1, "step": 3}
    work, team = {"work": core.Workspace()}, {"threads": threads}
    docs = documents(seed)
    bare = {name: docs[name] for name in ("indptr", "indices", "counts")}
    phi = matrix(WORDS, k, seed)
    g = np.array(phi) * 30
    state = {"g": g, "sums": g.sum(axis=0, dtype=np.float64), "topics": k}
    touched = np.array([1, 4, 5], np.int32)
    seen = np.zeros((3, padded_width(k)), np.int64)
    seen[:, :k] = 2
    statistics = {"eta": 0.1, "rows": touched, "counts": seen, "factor": 1.5}
    where = key | {"stream": 0} | work | team
    rows = state | {"eta": 0.1, "rows": touched, "lengths": np.full(3, 0.7)} | where
    rows |= {"factor": 1.5, "packed": False, "purpose": core.Purpose.catch_up_pass}
    totals = np.full(k, 3.0)
    b = np.log(g + 1e-3).astype(np.float32) * (g > 0)
    walks = {"b": b, "log_sums": np.log(np.ones((1, padded_width(k))) * WORDS), "topics": k}
    counted = {
        "rows": touched,
        "counts": seen,
        "factor": 1.5,
        "drift": 0.3,
        "spread": 2.0,
        "h": 0.1,
    }
    ends = np.concatenate(([0], np.cumsum(docs["counts"], dtype=np.int64)))
    sampling = {"sweeps": 4, "kept": 2, "purpose": core.Purpose.test} | key | work | team
    gibbs = {"phi": phi, "topics": k, "alpha": 0.1} | docs | sampling
    upper = matrix(k, 6, seed)
    deep = docs | sampling | {"phi": [phi, upper], "topics": [k, 6], "held": 1}
    deep |= {"r": vector(6), "start": np.concatenate([vector(k), vector(6)]) * 0.5}
    deep |= {"a0": 0.01, "b0": 0.01, "e0": 1.0, "f0": 1.0, "want_mean": True}
    theta = np.tile(deep["start"], (DOCUMENTS, 1))
    known = {"theta": theta, "rates": np.ones((DOCUMENTS, 3)), "totals": theta * 2}
    log_g = np.random.default_rng(seed).normal(size=(WORDS, k))
    scored = {"phi": phi, "topics": k, "indptr": docs["indptr"], "indices": docs["indices"]}
    reading = state | {"rows": None} | team
    x = matrix(WORDS, k, seed).astype(np.float64)
    x[:, :k] /= np.linalg.norm(x[:, :k], axis=0)
    places = {"x": x, "topics": k} | work | team
    moved = places | {"v": x * 0.5, "squares": (x * x).sum(axis=0), "length": 0.3, "damp": 0.9}
    directions = {name: docs[name] for name in ("indptr", "indices")}
    directions["values"] = docs["counts"] * 0.3
    mixed = np.tile(vector(k) / k, (DOCUMENTS, 1)).astype(np.float64)
    products = {"gram": x.T @ x, "along": mixed + 0.0, "topics": k} | work | team
    walk = products | {"kappa": 20.0, "alpha": 1.2, "length": 0.1, "theta": mixed + 0.0}
    walk |= {"trajectories": 3, "kept": 2, "leaps": 3, "purpose": core.Purpose.test}
    walk |= {"doc_ids": docs["doc_ids"]} | key
    drawn = {"seed": seed, "step": 1}
    reached = key | {"purpose": core.Purpose.test}
    order = np.arange(WORDS)[::-1]
    mine = {"added": np.zeros((1, padded_width(k))), "rank": 0, "size": 1}
    begun = state | {"seed": seed, "chain": 1, "stream": 0} | work | team
    return {
        "use_isa": {"name": core.isa()},
        "philox": {"counter": np.ones((3, 4), np.uint32), "key": np.ones((3, 2), np.uint32)},
        "row_words": {"state": np.ones((4, 16), np.uint32), "n": 3},
        "permute": {"position": np.arange(5), "n": 9} | reached,
        "uniforms": {"entity": np.arange(3), "ordinal": np.arange(3)} | reached,
        "startable_threads": {"wanted": 2},
        "zeros": {"rows": 3, "columns": 4, "dtype": "float64"},
        "renumber": {"ids": np.array([3, 900, 3], np.int32)},
        "decimals": {"values": mixed, "separator": ","},
        "greatest": {"values": mixed, "top": 2},
        "log": {"x": mixed},
        "log1p": {"x": mixed},
        "exp": {"x": mixed},
        "cospi": {"x": mixed},
        "product": {"a": mixed, "b": mixed.T.copy()},
        "spread": {"phi": phi[:5].copy(), "theirs": phi[5:].copy(), "order": order, "alpha": 0.1}
        | {"topics": k, "bucket": np.full(WORDS, 1 << 24), "counts": np.zeros(phi.shape, np.int64)}
        | work
        | team,
        "add_counts": {"parts": np.ones((3, 8), np.int64), "out": np.ones(8, np.int64)} | team,
        "add_rows": {"own": seen, "theirs": seen + 1, "order": np.arange(6)[::-1].copy()}
        | {"begin": np.array([0, 1, 3, 6]), "out": np.zeros(seen.shape, np.int64)}
        | team,
        "simplex_add_units": {"sums": state["sums"] * 2, "added": g[:3] * 1.0, "anew": False},
        "documents_gibbs#persistent": gibbs
        | {"rao_blackwell": True, "z": np.zeros(ends[-1], np.int32)}
        | {"token_ptr": ends[docs["indptr"]], "bucket": np.zeros(WORDS, np.int64)},
        "simplex_scir#rank": state
        | statistics
        | {"h": 0.3, "totals": seen.sum(axis=0)}
        | where
        | mine,
        "simplex_sgrhmc#rank": state
        | statistics
        | {"r": np.ones_like(g), "rate": 0.5, "h": 0.1, "totals": seen.sum(axis=0)}
        | where
        | mine,
        "simplex_scir_rows#rank": rows | {"counts": seen} | mine,
        "simplex_start#rank": begun | {"scale": 1.0} | mine,
        "dirichlet_start#rank": begun | {"shape": 100.0} | mine,
        "simplex_phi#rows": reading | {"rows": touched, "out": np.zeros_like(g[:3])},
        "dirichlet_weights#rows": reading | {"rows": touched, "out": np.zeros_like(g[:3])},
        "walk_phi#rows": walks | {"rows": touched} | team,
        "simplex_smld_phi#rows": {"y": g, "log_sums": state["sums"], "topics": k}
        | {"rows": touched, "approximate": False}
        | team,
        "documents_gibbs": gibbs | {"rao_blackwell": True, "want_documents": True},
        "documents_gibbs#sampled": gibbs | {"rao_blackwell": False},
        "documents_gibbs#alphas": gibbs | {"rao_blackwell": True, "alpha": vector(k) * 0.1},
        "alpha_evidence": key
        | {"z": np.zeros(ends[-1], np.int32), "token_ptr": ends[docs["indptr"]]}
        | {"doc_ids": docs["doc_ids"], "alpha": vector(k) * 0.1, "topics": k}
        | team,
        "documents_mean_field": bare
        | {"weights": phi, "topics": k, "alpha": 0.1, "sweeps": 5, "tolerance": 1e-3}
        | {"gamma": np.tile(vector(k), (DOCUMENTS, 1))}
        | work
        | team,
        "documents_expected": bare
        | {"phi": phi, "topics": k, "alpha": 0.1, "passes": 3}
        | work
        | team,
        "proportions_of": {"counts": matrix(DOCUMENTS, k, seed), "alpha": np.full(k, 0.1)} | team,
        "documents_collapsed": docs
        | {"rows": WORDS, "topics": k, "alpha": np.tile(vector(k) * 0.1, (2, 1)), "sweeps": 3}
        | {"priors": np.full((2, 2, padded_width(k)), 0.1, np.float32)}
        | {"mass": np.full((2, padded_width(k)), 2.0)}
        | {"prior_of": np.arange(WORDS, dtype=np.int32) % 2}
        | {"z": [np.full(ends[-1], -1, np.int32) for _ in range(2)]}
        | {"token_ptr": ends[docs["indptr"]], "steps": [5, 6], "visited": np.array([2])}
        | {name: key[name] for name in ("seed", "chain")}
        | work
        | team,
        "documents_mixture": docs
        | {"log_phi": np.where(phi > 0, np.log(phi + 1e-9), 0).astype(np.float32)}
        | {"log_weight": np.log(vector(k) + 1e-9), "components": k}
        | {"slice": np.full(DOCUMENTS, -3, np.float32)}
        | key
        | team,
        "documents_deep": deep | {"link": "counts", "rao_blackwell": True},
        "documents_deep#known": deep | known | {"link": "counts", "rao_blackwell": False},
        "documents_deep#binary": deep | {"link": "binary", "rao_blackwell": True},
        "documents_deep#real": deep | {"link": "real", "rao_blackwell": False},
        "tables": key
        | {"n": np.array([0, 3, 700]), "shape": np.ones(3), "purpose": core.Purpose.test},
        "predictive": scored
        | {"doc_counts": np.ones((DOCUMENTS, padded_width(k)), np.int64)}
        | {"tokens": np.full(DOCUMENTS, 9), "alpha": 0.1, "factor": 0.5}
        | team,
        "predictive_given_theta": scored | {"theta": np.tile(vector(k), (DOCUMENTS, 1))} | team,
        "simplex_scir": state | statistics | {"h": 0.3} | where,
        "simplex_scir_natural": state | statistics | {"h": 0.3} | where,
        "simplex_sgrld": state | statistics | {"h": 0.01} | where,
        "simplex_sgrhmc": state
        | statistics
        | {"r": np.ones_like(g), "rate": 0.5, "h": 0.1}
        | where,
        "simplex_relax": state | statistics | {"h": 0.3} | where,
        "simplex_scir_rows": rows | {"counts": seen},
        "simplex_scir_rows#behind": rows | {"counts": None},
        "simplex_relax_rows": rows | {"counts": seen},
        "simplex_tlasgr": state
        | statistics
        | {"steps": np.full(k, 0.01), "totals": totals, "clip": True}
        | where,
        "simplex_smld": statistics
        | {"y": g, "log_sums": state["sums"], "topics": k, "h": 0.01, "totals": totals}
        | {"approximate": False}
        | where,
        "simplex_smld_phi": {"y": g, "log_sums": state["sums"], "topics": k, "rows": None}
        | {"approximate": True}
        | team,
        "walk_step": walks
        | counted
        | {"curvature": np.array(g), "weight": 0.2, "warm": False}
        | where,
        "walk_step#warm": walks
        | counted
        | {"curvature": np.array(g), "weight": 0.2, "warm": True}
        | where,
        "walk_accept": walks | counted | where,
        "walk_phi": walks | {"rows": None} | team,
        "simplex_start": state
        | {"scale": 1.0, "seed": seed, "chain": 1, "stream": 0}
        | work
        | team,
        "dirichlet_start": state
        | {"shape": 100.0, "seed": seed, "chain": 1, "stream": 0}
        | work
        | team,
        "dirichlet_weights": reading,
        "simplex_phi": reading,
        "simplex_add_phi": state
        | {"total": np.zeros(g.shape), "eta": 0.1, "lengths": np.full(WORDS, 0.2)}
        | team,
        "simplex_scir_log": {"log_g": log_g, "shape": np.full(log_g.shape, 0.3), "h": 0.1}
        | {"kappa": np.ones(k)}
        | key
        | {"stream": 0}
        | team,
        "bessel_ratio": {"d": 100.0, "kappa": 30.0},
        "log_normaliser": {"d": 100.0, "kappa": 30.0},
        "sphere_moments": places | {"centre": np.ones(WORDS)},
        "sphere_along": {"x": x, "topics": k} | directions | team,
        "sphere_drift": moved,
        "sphere_force": moved
        | {"gradient": x + 1.0, "sd": vector(k).astype(np.float64), "stream": 0, "part": 1}
        | key,
        "sphere_gradient": places
        | directions
        | {"centre": np.ones(WORDS), "proportions": mixed, "outer": x.T @ x}
        | {"pull": 1.0, "of_centre": 2.0, "of_sum": 3.0, "weight": 4.0},
        "sphere_halves": places
        | {"first": x + 1.0, "other": x * 2.0, "centre": np.ones(WORDS), "pull": 1.0}
        | {"of_centre": 2.0, "of_sum": 3.0, "of_first": 0.3, "of_other": 0.2},
        "sphere_proportions#root": walk | {"chart": "root"},
        "sphere_proportions#flat": walk | {"chart": "flat"},
        "sphere_evidence": products | {"samples": mixed[:, None].astype(np.float32)},
        "sphere_cosines": products | {"theta": mixed, "kappa": 20.0},
        "draw#gamma": {"kind": "gamma", "parameter": np.ones(5, np.float32)} | drawn,
        "draw#poisson": {"kind": "poisson", "parameter": np.ones(5, np.float32)} | drawn,
        "latent_counts#binary": {"link": "binary", "parameter": np.ones(5)} | drawn,
        "latent_counts#real": {"link": "real", "parameter": np.ones(5)} | drawn,
    }


class Case(NamedTuple):
    """A kernel, a number of topics, and a value placed in one argument: everywhere or in one cell."""

    kernel: str
    topics: int
    argument: str
    everywhere: bool
    value: str | int


def floats_of(arguments: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Return the names of float arguments, and whether they are arrays."""
    for name, x in arguments.items():
        first = x[0] if isinstance(x, list) else x
        if isinstance(first, np.ndarray) and first.dtype.kind == "f":
            yield name, True
        elif isinstance(first, float):
            yield name, False


@cache
def functions() -> dict[str, dict[str, str]]:
    """Return the annotated arguments of every function in ``_core.pyi``, by name."""
    path = Path(__file__).parents[1] / "pysgrld/_core.pyi"
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            arguments = [*node.args.args, *node.args.kwonlyargs]
            found[node.name] = {a.arg: ast.unparse(a.annotation) for a in arguments if a.annotation}
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            for name in node.targets:
                assert isinstance(name, ast.Name)
                found[name.id] = found[node.value.id]
    return found


@cache
def integers_of(function: str) -> list[str]:
    """Return the names of a function's arguments that are integers or arrays of integers."""
    kinds = {"int", "Int32s", "Int64s", "Array"}
    return [
        name
        for name, annotation in functions()[function].items()
        if kinds
        & {node.id for node in ast.walk(ast.parse(annotation)) if isinstance(node, ast.Name)}
    ]


def integer_cases() -> list[Case]:
    """Return all cases with an integer."""
    return [
        Case(kernel, k, name, everywhere, value)
        for k in TOPICS
        for kernel, arguments in calls(k, 1, 1).items()
        for name in integers_of(kernel.split("#")[0])
        if arguments.get(name) is not None
        for everywhere in ((True,) if isinstance(arguments[name], int) else (True, False))
        for value in INTEGERS
    ]


def every_case() -> list[Case]:
    """Return all cases, those with floats first."""
    return cases() + integer_cases()


def cases() -> list[Case]:
    """Return all cases with a float."""
    return [
        Case(kernel, k, name, everywhere, value)
        for k in TOPICS
        for kernel, arguments in calls(k, 1, 1).items()
        for name, is_array in floats_of(arguments)
        for everywhere in ((True, False) if is_array else (True,))
        for value in VALUES
    ]


def with_integer(x: Any, value: int, everywhere: bool) -> Any:
    """Return an argument with an integer placed everywhere in it, or in its last cell.

    Arrays have the value of their type that is nearest to it.
    """
    if isinstance(x, int):
        return value
    if isinstance(x, list):
        return [with_integer(part, value, everywhere) for part in x[:-1] * everywhere + x[-1:]]
    out = np.array(x)
    limits = np.iinfo(out.dtype)
    cells = slice(None) if everywhere else slice(-1, None)
    out.reshape(-1)[cells] = max(int(limits.min), min(int(limits.max), value))
    return out


def misaligned(x: Any) -> Any:
    """Return a copy of an array, or of a list of arrays, in unaligned memory."""
    if isinstance(x, list):
        return [misaligned(part) for part in x]
    out = np.frombuffer(bytearray(x.nbytes + 1), x.dtype, x.size, offset=1).reshape(x.shape)
    out[...] = x
    assert not out.flags.aligned
    return out


def spoilt(x: Any, value: float, everywhere: bool) -> Any:
    """Return a float argument with the value placed in it, for arrays only in real cells."""
    if isinstance(x, float):
        return value
    if isinstance(x, list):
        return [spoilt(x[0], value, everywhere), *x[1:]]
    out = np.array(x)
    with np.errstate(over="ignore"):
        if everywhere:
            out[x != 0] = value
            if not x.any():
                out[:] = value
        else:
            out.flat[0] = value
    return out


def check(kernel: str, arguments: dict[str, Any], result: Any) -> None:
    """Raise an error if counts are not those of the tokens."""
    kind = kernel.split("#")[0]
    if kind not in ("documents_gibbs", "documents_mean_field", "documents_deep"):
        return
    words = result if kind == "documents_mean_field" else result[0]
    assert words.min() >= 0, "negative counts"
    if arguments.get("link", "counts") != "counts":
        return
    kept = arguments.get("kept", 1)
    unit = core.UNIT if arguments.get("rao_blackwell", True) else 1
    tokens = int(arguments["counts"].sum()) * kept * unit
    rest = arguments.get("bucket")  # counts that are yet to be spread over the row
    total = float(words.sum()) + (0.0 if rest is None else float(rest.sum()))
    assert abs(total - tokens) <= 1e-3 * tokens, (total / unit, tokens / unit)


def make(case: Case, seed: int = 1, threads: int = 1) -> str:
    """Call a case; return "result", or the name of the refusal."""
    arguments = calls(case.topics, seed, threads)[case.kernel]
    before = arguments[case.argument]
    if isinstance(case.value, int):
        arguments[case.argument] = with_integer(before, case.value, case.everywhere)
    else:
        arguments[case.argument] = spoilt(before, VALUES[case.value], case.everywhere)
    try:
        result = getattr(core, case.kernel.split("#")[0])(**arguments)
    except REFUSALS as error:
        return type(error).__name__
    # what is negative has no counts to be checked
    if isinstance(case.value, str) and case.value not in ("-1", "-inf"):
        check(case.kernel, arguments, result)
    return "result"


def attack(numbers: list[int], seed: int = 1, threads: int = 1) -> list[str]:
    """Make calls in processes that may crash or hang; return all faults."""
    every, wrong, left = every_case(), [], list(numbers)
    while left:
        command = [sys.executable, __file__, str(seed), str(threads), *map(str, left)]
        pipe = subprocess.PIPE  # not buffered: what is waited for must not be here already
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, bufsize=0) as child:
            assert child.stdout is not None
            assert child.stderr is not None
            begun = 0
            while answered := select.select([child.stdout], [], [], PATIENCE)[0]:
                if not child.stdout.readline():
                    break
                begun += 1
            if not answered:
                child.kill()
            error = child.stderr.read().decode().strip().splitlines()[-1:]
            code = child.wait()
        if code == 0:
            return wrong
        why = "hangs" if not answered else f"ends with {code} {''.join(error)}"
        wrong.append(f"{every[left[begun - 1]]} {why}")
        left = left[begun:]
    return wrong


if __name__ == "__main__":
    seed, threads, *numbers = map(int, sys.argv[1:])
    every = every_case()
    for number in numbers:
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        # stacks of many threads are mapped, too; AddressSanitizer maps terabytes
        is_free = "SGMC_SANITIZER" in os.environ or every[number].argument in ("threads", "wanted")
        limit = resource.RLIM_INFINITY if is_free else ADDRESSES
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        make(every[number], seed, threads)
