"""Spack package: of a release `version` gets the sdist's digest, and `url` its address."""

from spack.package import *


class PyPysgrld(PythonPackage):
    """Topic models by stochastic-gradient MCMC."""

    pypi = "pysgrld/pysgrld-1.0.0rc1.tar.gz"
    license("MIT")
    version("1.0.0rc1")

    variant("mpi", default=False, description="one chain over several processes")

    depends_on("cxx", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-scikit-build-core@0.10:", type="build")
    depends_on("py-pybind11@2.13:", type="build")
    depends_on("py-cython@3:", type="build")
    depends_on("py-click@8.1:", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-selectolax@0.3.29:", type=("build", "run"))
    depends_on("py-stop-words@2025.11:", type=("build", "run"))
    depends_on("py-tqdm@4.65:", type=("build", "run"))
    depends_on("py-zstandard@0.21:", type=("build", "run"))
    depends_on("py-mpi4py@4.1:", when="+mpi", type=("build", "run"))
