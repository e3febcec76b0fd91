# A recipe for Spack, in a repository of its own within the sources that it builds:
#     spack repo add packaging/spack && spack install mesoforge
from pathlib import Path

from spack.package import *


class Mesoforge(CMakePackage, CudaPackage):
    """Statistically equivalent 2-D and 3-D material models from micrographs, in C with MPI."""

    git = Path(__file__).resolve().parents[4].as_uri()

    license("Apache-2.0")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("mpi")
    depends_on("hdf5+mpi")
    depends_on("fftw~mpi precision=float")
    depends_on("onednn@2")
    depends_on("libyaml")
    depends_on("jansson")
    depends_on("libpng")
    depends_on("libtiff")
    depends_on("cairo")
    depends_on("zlib-api")
    depends_on("openssl")
    depends_on("pcre2+jit")
    depends_on("utf8proc")
    depends_on("libmicrohttpd")
    depends_on("cuda@12:", when="+cuda")

    def cmake_args(self):
        options = [self.define_from_variant("MF_CUDA", "cuda")]
        if self.spec.satisfies("+cuda") and "none" not in self.spec.variants["cuda_arch"].value:
            options.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return options
