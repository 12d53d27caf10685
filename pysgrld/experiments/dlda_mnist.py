"""Topics of three layers learned from MNIST images (Cong et al. 2017, Figure 3).

The model is a Poisson randomized gamma belief network of 128, 64 and 32 topics over 784 pixels. It
trains for one epoch of minibatches of 200 images, with the constants of the authors' code
(``--preset dlda-2017``) and, like that code, with reflection at the boundary of the simplex. A
topic of an upper layer is shown as its projection to pixels, Phi1 Phi2 ... phi_k.

Two numbers for each layer measure whether it has learned anything. The spread of a topic is
exp(entropy) divided by the number of units in the layer below; it is averaged over topics. The
cosine is between the pictures of two topics, averaged over pairs. Random topics have a wide spread
and similar pictures.
"""

from __future__ import annotations

import gzip
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.core.draws import Draw
from pysgrld.corpus.minibatches import Epochs
from pysgrld.errors import CorpusError, MissingInputError, SgmcError
from pysgrld.experiments.frame import ExperimentListener, ExperimentSetting, Report, write_csv
from pysgrld.experiments.processes import map_in_processes
from pysgrld.models.dlda.documents import prior_mean, topics_name
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts, Resolved
from pysgrld.options.paths import is_file, is_folder, read_input
from pysgrld.reading.plotting import new_figure, write_png
from pysgrld.train.begin import begin
from pysgrld.types import Documents, Doubles

ALGORITHMS = ("tlfsgr", "tlasgr")
LAYERS = (128, 64, 32)
FILE = "train-images-idx3-ubyte"
#: Maximum size, in bytes, of a file of images.
LARGEST = 1 << 30
#: First bytes of a file in MNIST's format with a three-dimensional array of unsigned bytes.
MAGIC = bytes((0, 0, 8, 3))
#: Number of images in a quick run.
QUICK_IMAGES = 400
#: Minibatch size in a quick run.
QUICK_MINIBATCH = 50
#: A picture shows the topics of a layer in this number of columns. The keys are numbers of topics.
ACROSS = {128: 8, 64: 8, 32: 4}


class Images(NamedTuple):
    """Images of equal size as documents; pixels are words, and grey levels are counts."""

    documents: Documents
    height: int
    width: int


class DictionaryTask(NamedTuple):
    """Arguments for training with one sampler, which can be pickled for another process."""

    options: Resolved
    images: Documents
    pixels: int
    threads: int


class Learned(NamedTuple):
    """Topics before and after an epoch of training, and the epoch's duration in seconds."""

    start: Draw
    end: Draw
    seconds: float


def run(setting: ExperimentSetting, listener: ExperimentListener, corpus: Path) -> Report:
    """Train both samplers; write ``layers.csv``, ``atoms-LAYER.csv`` and ``atoms-LAYER.png``."""
    images = read_images(corpus)
    data = images.documents
    if setting.quick:
        data = data.take(np.arange(min(QUICK_IMAGES, len(data))))
    pixels = images.height * images.width
    tasks = [task(algo, data, pixels, setting) for algo in ALGORITHMS]
    batches = -(-len(data) // tasks[0].options.minibatch)
    listener.note(
        f"{len(data):,} images of {images.height} x {images.width} pixels, {batches} minibatches"
    )
    with listener.counting("epoch", 100) as tell:
        learned = map_in_processes(learn, tasks, [1.0] * len(tasks), setting.threads, tell)
    learned_by_algo = dict(zip(ALGORITHMS, learned, strict=True))
    rows = table(learned_by_algo)
    files = [write_csv(setting.out / "layers.csv", HEAD, rows)]
    for layer in range(len(LAYERS)):
        sheets = {algo: atoms(learned_by_algo[algo].end, layer) for algo in ALGORITHMS}
        numbers = (
            (algo, number, float(weight), *(f"{p:.4g}" for p in picture))
            for algo, sheet in sheets.items()
            for number, (picture, weight) in enumerate(zip(*sheet, strict=True), 1)
        )
        head = ("sampler", "atom", "weight", *map(str, range(pixels)))
        files.append(write_csv(setting.out / f"atoms-{layer + 1}.csv", head, numbers))
        if setting.pictures:
            path = setting.out / f"atoms-{layer + 1}.png"
            files.append(draw(path, layer, sheets, images, batches))
    return Report(HEAD, rows, sentences(rows, setting), files)


# ---- images


def read_images(path: Path) -> Images:
    """Read a file in MNIST's format, or the training images in a folder.

    Raises
    ------
    MissingInputError
        If the file is missing.
    CorpusError
        If the file has a different format, or is truncated.
    """
    choices = [path / FILE, path / f"{FILE}.gz"] if is_folder(path) else [path]
    file = next((choice for choice in choices if is_file(choice)), None)
    if file is None:
        raise MissingInputError(
            f"{path}: has no {FILE} or {FILE}.gz; give the folder of MNIST's files, or such a file"
        )
    try:
        data = read_input(file, LARGEST, "file of images")
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except SgmcError:
        raise
    except (OSError, EOFError, ValueError) as error:
        raise CorpusError(f"the file cannot be read: {error}; get it again", file) from None
    if data[:4] != MAGIC or len(data) < 16:
        raise CorpusError(
            "this is not an idx file of images (unsigned bytes, three axes); get the file again",
            file,
        )
    n, height, width = (int(size) for size in np.frombuffer(data, ">u4", 3, 4))
    if len(data) != 16 + n * height * width:
        raise CorpusError(
            f"the header promises {n} images of {height} x {width} bytes, but {len(data) - 16} "
            "bytes follow; get the file again",
            file,
        )
    grey = np.frombuffer(data, np.uint8, offset=16).reshape(n, height * width)
    grey = grey[grey.any(axis=1)]
    if not len(grey):
        raise CorpusError("all images are black; give other images with --corpus", file)
    lit = grey > 0
    indptr = np.concatenate(([0], np.cumsum(lit.sum(axis=1)))).astype(np.int64)
    documents = Documents(indptr, np.nonzero(lit)[1].astype(np.int32), grey[lit].astype(np.int32))
    return Images(documents, height, width)


# ---- training


def task(algo: str, images: Documents, pixels: int, setting: ExperimentSetting) -> DictionaryTask:
    """Return the arguments for training with a sampler, with resolved options."""
    settings: dict[str, Any] = {
        "preset": "dlda-2017",
        "algo": algo,
        "layers": LAYERS,
        "link": "real",
        "boundary": "reflect",
        "seed": setting.seed,
    }
    if setting.quick:
        settings["minibatch"] = QUICK_MINIBATCH
    facts = Facts(len(images), pixels, images.tokens, 0, lambda size, seed: pixels)
    options, _ = resolve(settings, facts)
    return DictionaryTask(options, images, pixels, max(1, setting.threads // len(ALGORITHMS)))


def learn(work: DictionaryTask, share: Callable[[float], None]) -> Learned:
    """Train for one epoch; pass the finished fraction to ``share``."""
    stream = Epochs.of(work.options, work.images, np.arange(len(work.images)))
    corpus = CorpusFacts(work.pixels, work.images.tokens)
    chain = begin(work.options, stream, corpus, RunOn(work.threads)).chain
    try:
        start = chain.draw()
        seconds = 0.0
        while chain.step < stream.per_epoch:
            began = time.perf_counter()
            chain.advance()
            seconds += time.perf_counter() - began
            share(chain.step / stream.per_epoch)
        return Learned(start, chain.draw(), seconds)
    finally:
        chain.close()


# ---- results


def topics(parts: Draw, layer: int) -> Doubles:
    """Return the topics of a layer, counted from 0, as a matrix in which each column sums to 1."""
    below = parts["phi"].shape[0] if layer == 0 else LAYERS[layer - 1]
    phi: Doubles = parts[topics_name(layer)][:below, : LAYERS[layer]].astype(np.float64)
    phi /= phi.sum(axis=0)
    return phi


def project_topics(parts: Draw, layer: int) -> Doubles:
    """Return a layer's topics as distributions over pixels, (V, K_l).

    The result is the matrix product Phi1 Phi2 ... up to this layer (Cong et al. 2017, section 2).
    """
    projection = topics(parts, 0)
    for above in range(1, layer + 1):
        projection = projection @ topics(parts, above)
    return projection


def mean_spread(phi: Doubles) -> float:
    """Return the mean of exp(entropy) / V over the columns of a (V, K) matrix; 1 if uniform."""
    entropy = -(phi * np.log(np.maximum(phi, np.finfo(np.float64).tiny))).sum(axis=0)
    return float(np.exp(entropy).mean() / len(phi))


def cosine(pictures: Doubles) -> float:
    """Return the mean cosine over all pairs of columns."""
    unit = pictures / np.linalg.norm(pictures, axis=0)
    k = unit.shape[1]
    return float(((unit.T @ unit).sum() - k) / (k * (k - 1)))


class Atoms(NamedTuple):
    """Topics of a layer as pictures, (K, V), sorted by weight, and the topics' weights, (K,)."""

    pictures: Doubles
    weights: Doubles


def atoms(parts: Draw, layer: int) -> Atoms:
    """Return the pictures of a layer's topics, sorted by their expected share of an image."""
    weights = prior_mean(parts, LAYERS, layer)
    order = np.argsort(-weights, kind="stable")
    return Atoms(project_topics(parts, layer).T[order], weights[order])


HEAD = ("layer", "topics", "sampler", "spread", "cosine", "seconds")
#: Text in the column "sampler" for the topics before training.
START = "at first"


def table(by_algo: dict[str, Learned]) -> list[tuple[Any, ...]]:
    """Return rows with spread and similarity of each layer's topics before and after training."""
    first = Learned(by_algo["tlasgr"].start, by_algo["tlasgr"].start, 0.0)
    return [
        (
            layer + 1,
            k,
            name,
            mean_spread(topics(learned.end, layer)),
            cosine(project_topics(learned.end, layer)),
            learned.seconds,
        )
        for layer, k in enumerate(LAYERS)
        for name, learned in {START: first, **by_algo}.items()
    ]


def sentences(rows: list[tuple[Any, ...]], setting: ExperimentSetting) -> list[str]:
    """Return sentences on which sampler learned more in the upper layers."""
    text = []
    if setting.quick:
        text.append("quick test with few images: it shows only that the experiment runs.")
    numbers = {(layer, name): (wide, alike) for layer, _, name, wide, alike, _ in rows}
    for layer in range(2, len(LAYERS) + 1):
        fixed, adaptive = (numbers[layer, algo] for algo in ALGORITHMS)
        verdict = "as" if all(a < f for a, f in zip(adaptive, fixed, strict=True)) else "NOT as"
        text.append(
            f"layer {layer}: topics of TLASGR have a mean spread of {adaptive[0]:.2f} and a mean "
            f"cosine of {adaptive[1]:.2f}, topics of TLFSGR of {fixed[0]:.2f} and "
            f"{fixed[1]:.2f}, {verdict} in the paper's figure."
        )
    return text


def draw(path: Path, layer: int, sheets: dict[str, Atoms], images: Images, batches: int) -> Path:
    """Draw the pictures of a layer's topics, with the two samplers side by side."""
    k = LAYERS[layer]
    across = ACROSS[k]
    down = k // across
    figure = new_figure(2 * (0.42 * across + 0.3), 0.42 * down + 1.1)
    panels = figure.subplots(1, len(sheets))
    for (algo, sheet), axes in zip(sheets.items(), panels, strict=True):
        axes.imshow(mosaic(sheet.pictures, across, images), cmap="gray", interpolation="nearest")
        axes.set_axis_off()
        axes.set_title(algo.upper(), fontsize=10)
    product = "".join(f"Φ{'₁₂₃'[i]}" for i in range(layer + 1))
    figure.suptitle(
        f"MNIST, layer {layer + 1}: {k} topics {product}, {batches} minibatches,\nlargest share first",
        fontsize=10,
    )
    return write_png(path, figure, dpi=130)


def mosaic(pictures: Doubles, across: int, images: Images) -> Doubles:
    """Scale each picture to its maximum, and join all pictures, with grey pixels between them."""
    high, wide = images.height + 1, images.width + 1
    down = -(-len(pictures) // across)
    sheet = np.full((down * high + 1, across * wide + 1), 0.35)
    places = itertools.product(range(down), range(across))
    for picture, (i, j) in zip(pictures, places, strict=False):
        tile = sheet[i * high + 1 : (i + 1) * high, j * wide + 1 : (j + 1) * wide]
        tile[:] = (picture / picture.max()).reshape(images.height, images.width)
    return sheet
