"""Small jobs beside other topic modellers, each a whole command: from its start to its end, by the wall.

    pip install tomotopy gensim scikit-learn
    python benchmarks/small.py FILE [--topics 20] [--repeats 3]

FILE is text, a document a line. The jobs, one thread each, every command in a process of its own;
the least of the repeats is printed, with imports, reading and counting words (what is left of a word in
ten documents or more) and printing included:

- *first topics*: the first megabyte of FILE, as many passes as a tool makes by default;
- *300 documents*: the first 300 lines of ten words or more, 500 sweeps of collapsed Gibbs sampling;
- *one document*: the proportions of one document by a model that lies on the disk.

Tools whose job it is not are left out. What comes out is not alike: see the contests of
docs/internals/benchmarks.md for quality.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

#: How each peer counts words, begins; what is run after it is of the job.
READ = """
import re, sys
docs = [re.findall(r"\\w\\w+", line.lower()) for line in open({text!r})]
from collections import Counter
df = Counter(w for d in docs for w in set(d))
docs = [[w for w in d if df[w] >= 10] for d in docs]
docs = [d for d in docs if d]
"""
TOMOTOPY = """
import tomotopy
m = tomotopy.LDAModel(k={topics}, seed=1)
for d in docs: m.add_doc(d)
m.train({passes}, workers=1, show_progress=False)
for k in range({topics}): print(k, *[w for w, _ in m.get_topic_words(k, 10)])
m.save({model!r}, full=False)
"""
GENSIM = """
from gensim import corpora, models
names = corpora.Dictionary(docs)
m = models.LdaModel([names.doc2bow(d) for d in docs], {topics}, names, random_state=1)
for k in range({topics}): print(k, *[w for w, _ in m.show_topic(k, 10)])
m.save({model!r})
"""
SKLEARN = """
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
v = CountVectorizer(min_df=10, token_pattern=r"\\w\\w+")
x = v.fit_transform(open({text!r}))
m = LatentDirichletAllocation({topics}, random_state=1).fit(x)
words = v.get_feature_names_out()
for k, row in enumerate(m.components_): print(k, *words[row.argsort()[:-11:-1]])
"""
ONE = {
    "tomotopy": """
import tomotopy
m = tomotopy.LDAModel.load({model!r})
theta, _ = m.infer(m.make_doc(open({text!r}).read().lower().split()), workers=1)
print(theta)
""",
    "gensim": """
from gensim import models
m = models.LdaModel.load({model!r})
print(m[m.id2word.doc2bow(open({text!r}).read().lower().split())])
""",
}
SGMC = [sys.executable, "-P", "-m", "pysgrld"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


def seconds(commands: list[list[str]], folder: Path) -> float:
    """Run commands one after the other, each in a new process; return their total seconds."""
    for command in commands:
        if "--out" in command:
            shutil.rmtree(folder / command[command.index("--out") + 1], ignore_errors=True)
    began = time.perf_counter()
    for command in commands:
        done = subprocess.run(
            command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)[:200]}\n{done.stderr}")
    return time.perf_counter() - began


def jobs(folder: Path, topics: int) -> dict[str, dict[str, list[list[str]]]]:
    """Return the commands of each job and tool."""

    def code(source: str, text: str, tool: str, passes: int = 0) -> list[list[str]]:
        values = {"text": text, "topics": topics, "model": f"{tool}.model", "passes": passes}
        return [[sys.executable, "-c", source.format(**values)]]

    def train(text: str, out: str, *more: str) -> list[list[str]]:
        command = [*SGMC, "train", text, "--out", out, "-k", str(topics), "--min-df", "10"]
        return [[*command, "-q", *more], [*SGMC, "topics", out]]

    quick = ["--iterations", "100", "--exact-sweeps", "0"]
    few = ["--algo", "cgs", "--iterations", "500"]
    return {
        "first topics": {
            "sgmc, 100 iterations of one start": train(
                "first.txt", "one", *quick, "--set", "starts=1"
            ),
            "sgmc, 100 iterations": train("first.txt", "quick", *quick),
            "sgmc, by default": train("first.txt", "settled"),
            "tomotopy, 100 sweeps": code(READ + TOMOTOPY, "first.txt", "tomotopy", 100),
            "gensim, by default": code(READ + GENSIM, "first.txt", "gensim"),
            "scikit-learn, by default": code(SKLEARN, "first.txt", "sklearn"),
        },
        "300 documents, 500 sweeps": {
            "sgmc": train("few.txt", "few", *few),
            "tomotopy": code(READ + TOMOTOPY, "few.txt", "few", 500),
        },
        "one document": {
            "sgmc": [[*SGMC, "infer", "quick", "one.txt", "-o", "theta.csv", "-q", "--force"]],
            **{tool: code(source, "one.txt", tool) for tool, source in ONE.items()},
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = args.file.read_bytes()[: 2**22].splitlines(keepends=True)[:-1]
        first = b"".join(lines)[: 2**20].rpartition(b"\n")[0] + b"\n"
        (folder / "first.txt").write_bytes(first)
        few = [line for line in lines if len(line.split()) >= 10][:301]
        (folder / "few.txt").write_bytes(b"".join(few[:300]))
        (folder / "one.txt").write_bytes(few[-1])
        print("| job | tool | seconds |", "|---|---|---:|", sep="\n")
        for job, tools in jobs(folder, args.topics).items():
            least = dict.fromkeys(tools, float("inf"))
            for _ in range(args.repeats):
                for tool, commands in tools.items():
                    least[tool] = min(least[tool], seconds(commands, folder))
            for tool, took in least.items():
                print(f"| {job} | {tool} | {took:.2f} |", flush=True)


if __name__ == "__main__":
    main()
