"""Philox 4x32-10 in plain Python integers, and the addresses of cpp/include/sgmc/philox.hpp."""

from __future__ import annotations

MASK = 0xFFFFFFFF
#: Purposes of cpp/include/sgmc/purpose.hpp, written down a second time: they may never change.
PURPOSES = {
    "init": 1,
    "documents": 2,
    "scir_pass": 3,
    "scir_small_gamma": 4,
    "scir_poisson": 5,
    "scir_gamma": 6,
    "sgrld_noise": 7,
    "scir_log": 8,
    "epoch_order": 9,
    "holdout_choice": 10,
    "holdout_split": 11,
    "evaluation": 12,
    "point_evaluation": 13,
    "infer": 14,
    "minibatch_choice": 15,
    "scale_refresh": 16,
    "catch_up_pass": 17,
    "catch_up_small_gamma": 18,
    "catch_up_poisson": 19,
    "catch_up_gamma": 20,
    "look_pass": 21,
    "look_small_gamma": 22,
    "look_poisson": 23,
    "look_gamma": 24,
    "stream_order": 25,
    "tlasgr_noise": 26,
    "smld_noise": 27,
    "shape_noise": 28,
    "shape_gibbs": 29,
    "slices": 30,
    "stick_noise": 31,
    "toy_noise": 32,
    "sphere_noise": 33,
    "sphere_accept": 34,
    "alpha_evidence": 35,
    "eta_slice": 36,
    "walk_noise": 37,
    "walk_accept": 38,
    "sgrhmc_noise": 39,
    "test": 255,
}


def philox(counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    """Apply ten rounds (Salmon et al. 2011): two multiplications, a swap, and a Weyl key sequence."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK, (p0 >> 32) ^ c3 ^ k1, p0 & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


class Address:
    """All random numbers of one (seed, chain, purpose, stream of the block, iteration)."""

    def __init__(self, seed: int, chain: int, purpose: str, step: int, stream: int = 0) -> None:
        number = PURPOSES[purpose] + 256 * stream
        halves = (seed & MASK, seed >> 32)
        self.subkey = philox((number, step & MASK, step >> 32, 0), halves)[:2]
        self.chain = chain

    def block(self, j: int, entity: int) -> tuple[int, ...]:
        """Return the four words of block ``j`` of an entity."""
        return philox((j & MASK, entity & MASK, entity >> 32, self.chain), self.subkey)


def uniform24(word: int) -> float:
    """Return a uniform in [0, 1) with 24 bits."""
    return (word >> 8) * 2.0**-24


def uniform_open(word: int) -> float:
    """Return a uniform in (0, 1) with 31 bits, which the kernels round to float32."""
    return ((word >> 1) + 0.5) * 2.0**-31


def uniform53(high: int, low: int) -> float:
    """Return a uniform in (0, 1) with 53 bits from two words."""
    return ((((high << 32) | low) >> 11) + 0.5) * 2.0**-53
