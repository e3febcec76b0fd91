# A recipe for Spack, in a repository of its own within the sources that it builds:
#     spack repo add packaging/spack && spack install mesoforge
from pathlib import Path

from spack.package import *


class Mesoforge(CMakePackage, CudaPackage):
    """Statistically equivalent 2-D and 3-D material models from micrographs, in C with MPI."""

    git = Path(__file__).resolve().parents[4].as_uri()

    license("Apache-2.0")

    version("main", branch="main")

    variant("python", default=False, description="the Python module finds the library")

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
    depends_on("python@3.8:", type="run", when="+python")
    depends_on("py-numpy", type="run", when="+python")

    @property
    def libs(self):
        return find_libraries("libmesoforge", root=self.prefix, shared=True, recursive=True)

    def setup_run_environment(self, env):
        if self.spec.satisfies("+python"):
            env.prepend_path("PYTHONPATH", join_path(self.prefix, "lib", "python3", "dist-packages"))
            env.set("MESOFORGE_LIBRARY", self.libs[0])

    def cmake_args(self):
        options = [self.define_from_variant("MF_CUDA", "cuda")]
        if self.spec.satisfies("+cuda") and "none" not in self.spec.variants["cuda_arch"].value:
            options.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return options
