"""What packaging/ makes can be used: files are where they belong after an install, modulefiles lead there, the Debian
package names what it needs and runs from a root of its own, recipes name what is there.
usage: install_recipes.py MESOFORGE SOURCES BUILD"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import types

from runs import check, finish, run

program, sources, build = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
packaging = sources / "packaging"
VERSION = re.search(r"project\(mesoforge VERSION (\S+)", (sources / "CMakeLists.txt").read_text())[1]
VERBS = subprocess.run([program, "man", "--list"], capture_output=True, text=True, check=True).stdout.replace(" ", "-").split()


def shell(*words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=120, **more)
    check(done.returncode == 0, f"{words}: {done.returncode} {done.stdout[-500:]} {done.stderr[-500:]}")
    return done.stdout


def is_complete(prefix):
    """All that an install promises, below @prefix."""
    pages = {f.name for f in (prefix / "share/man/man1").glob("*")}
    check(pages == {"mesoforge.1", *(f"mesoforge-{v}.1" for v in VERBS)}, f"manual pages {sorted(pages)}")
    doc = prefix / "share/doc/mesoforge"
    for name in ("README.md", "LICENSE", "docs/CLUSTER.md", "examples/match.yaml", "slurm/match.sbatch", "slurm/README",
                 "tools/vgg-to-safetensors", "tools/mcrpy-to-mesoforge"):
        check((doc / name).is_file(), f"{name} is not installed")
    check((prefix / "share/mesoforge/pytorch/mesoforge_torch.py").is_file(), "the reader of models in PyTorch is not installed")
    asked = [shell("pkg-config", *words, "mesoforge", env={**os.environ, "PKG_CONFIG_PATH": str(prefix / "share/pkgconfig")}).strip()
             for words in (("--modversion",), ("--variable=bindir",), ("--cflags", "--libs"))]
    check(asked[0] == VERSION and pathlib.Path(*shlex.split(asked[1])).resolve() == (prefix / "bin").resolve(), f"pkg-config: {asked}")
    links(prefix, shlex.split(asked[2]))
    alone(prefix)
    return prefix / "bin/mesoforge"


def links(prefix, words):
    """The examples of the library, by what pkg-config says and by CMake's package; the Python module."""
    libraries = {f.parent for f in prefix.glob("lib/**/libmesoforge.so.1")}
    check(len(libraries) == 1 and (prefix / "include/mesoforge.h").is_file(), f"the library: {libraries}")
    env = {**os.environ, "LD_LIBRARY_PATH": str(*libraries), "PYTHONPATH": str(prefix / "lib/python3/dist-packages")}
    for name, compiler, start, part in (("characterize", "cc", (), "volume fraction"),
                                        ("ranks", "mpicc", ("mpirun", "-q", "-n", "2"), "rank 1 has the planes 8 to 16 of 16"),
                                        ("match", "cc", ("timeout", "60"), ""), ("model", "cc", (), None)):
        example, made = prefix / f"share/doc/mesoforge/examples/library/{name}.c", prefix.parent / name
        if not shutil.which(compiler):
            continue
        shell(compiler, example, *words, "-o", made)
        if part is None:  # without a model
            said = subprocess.run([made], env=env, capture_output=True, text=True)
            check(said.returncode == 3 and "cannot open ''" in said.stderr, f"the example {name} says: {said}")
        elif part:
            said = shell(*start, made, env=env)
            check(part in said, f"the example {name} says: {said}")
        else:  # asked to stop at once
            said = subprocess.run([*start, made, "0"], env=env, capture_output=True, text=True)
            check(said.returncode in (0, 75) and "%" in said.stderr, f"the example {name} says: {said}")
    env.pop("MESOFORGE_LIBRARY", None)
    said = shell(sys.executable, "-c", "import mesoforge; print(mesoforge.__version__, mesoforge.__file__)", env=env)
    check(said.startswith(f"{VERSION} {prefix}"), f"the module says: {said}")
    found(prefix)


HOST = """cmake_minimum_required(VERSION 3.16)
project(host C)
find_package(mesoforge {} REQUIRED)
add_executable(host "{}")
target_link_libraries(host mesoforge::mesoforge)
"""


def found(prefix):
    """An example in a project of its own, by CMake's package."""
    host = prefix.parent / "host"
    host.mkdir()
    (host / "CMakeLists.txt").write_text(HOST.format(VERSION, prefix / "share/doc/mesoforge/examples/library/characterize.c"))
    shell("cmake", "-S", host, "-B", host / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    shell("cmake", "--build", host / "build")
    said = shell(host / "build/host")
    check("volume fraction" in said, f"the example by CMake's package says: {said}")


def alone(prefix):
    """The static library: its names, and the example with what pkg-config --static says."""
    archive, made = next(prefix.glob("lib/**/libmesoforge.a")), prefix.parent / "alone"
    names = {line.split()[2] for line in shell("nm", "-g", "--defined-only", archive).splitlines() if " T " in line}
    check(names and all(n.startswith("mesoforge_") for n in names), f"libmesoforge.a has {sorted(names)[:9]}")
    if shutil.which("cc"):
        words = shlex.split(shell("pkg-config", "--static", "--libs", "mesoforge", env={**os.environ, "PKG_CONFIG_PATH": str(prefix / "share/pkgconfig")}))
        shell("cc", f"-I{prefix}/include", prefix / "share/doc/mesoforge/examples/library/characterize.c", archive,
              *(w for w in words if w != "-lmesoforge"), "-o", made)
        said = shell(made)
        check("volume fraction" in said, f"the example with libmesoforge.a says: {said}")


def works(installed, folder):
    """A match from there, in another folder."""
    check(VERSION in shell(installed, "--version"), "its version")
    made = run(str(installed), *"synth --kind gaussian --size 16 16 --output m.npy".split(), cwd=folder)
    made = made if made.status else run(str(installed), *("match --microstructure_filename m.npy --size 16 16 --limit_to 4 "
                                                          "--max_iter 3 --output v.npy").split(), cwd=folder)
    check(made.status == 0 and (folder / "v.npy").is_file(), f"a match from there: {made.status} {made.err[-400:]}")


STAND_INS = """
proc note {args} {puts $args}
foreach c {module-whatis conflict setenv module} {interp alias {} $c {} note $c}
proc prepend-path {name path} {puts "$name=$path"}
proc is-loaded {name} {return [expr {$name eq "there"}]}
source [lindex $argv 0]
ModulesHelp
"""


LEADS = {"LD_LIBRARY_PATH": "libmesoforge.so.1", "PKG_CONFIG_PATH": "mesoforge.pc", "CMAKE_PREFIX_PATH": "include/mesoforge.h",
         "PYTHONPATH": "mesoforge/__init__.py"}


def modulefiles(prefix):
    folder = prefix / "share/modulefiles/mesoforge"
    check({f.name for f in folder.iterdir()} == {VERSION, f"{VERSION}.lua"}, f"modulefiles {list(folder.iterdir())}")
    texts = [(folder / name).read_text() for name in (VERSION, f"{VERSION}.lua")]
    check(texts[0].startswith("#%Module") and all(str(prefix) in t and "@" not in t for t in texts), f"{texts}")
    if shutil.which("tclsh"):
        script = prefix.parent / "modules.tcl"
        script.write_text(STAND_INS)
        for manuals in ("/there", "", None):  # one of ours alone would hide the system's
            said = shell("env", *(["-u", "MANPATH"] if manuals is None else [f"MANPATH={manuals}"]), "tclsh", script, folder / VERSION)
            check(f"PATH={prefix}/bin\n" in said and (f"MANPATH={prefix}/share/man\n" in said) == bool(manuals) and "conflict mesoforge" in said, said)
        for name, file in LEADS.items():
            path = re.search(rf"^{name}=(.*)$", said, re.M)
            check(path and (pathlib.Path(path[1]) / file).is_file(), f"{name} does not lead to {file}: {said}")
    lua = next((l for l in ("lua", "lua5.4", "lua5.3", "lua5.1", "texlua") if shutil.which(l)), None)
    if lua:
        stand_ins = "".join(f"function {f}(...) print('{f}', ...) end " for f in ("whatis", "help", "conflict", "depends_on", "prepend_path"))
        said = shell(lua, "-e", stand_ins + "function pathJoin(a, b) return a .. '/' .. b end", folder / f"{VERSION}.lua")
        check(f"PATH\t{prefix}/bin" in said, said)
    check(all(f'"{name}"' in texts[1] for name in LEADS), f"{texts[1]} has not all of {list(LEADS)}")


def installed(folder):
    prefix = folder / "a place {of} its own"
    shell("cmake", "--install", build, "--prefix", prefix)
    works(is_complete(prefix), folder)
    modulefiles(prefix)


def debian(folder):
    if not all(map(shutil.which, ("cpack", "dpkg-deb", "dpkg-shlibdeps", "file"))):
        print("packaging: no dpkg or file here, so no Debian package")
        return
    shell("cpack", "--config", build / "CPackConfig.cmake", "-G", "DEB", "-B", folder / "deb")
    packages, root = {f.name.split("_")[0]: f for f in (folder / "deb").glob("*.deb")}, folder / "root"
    check(sorted(packages) == ["libmesoforge-dev", "libmesoforge1", "mesoforge", "python3-mesoforge"], f"packages {packages}")
    package = packages["mesoforge"]
    check(re.fullmatch(rf"mesoforge_{VERSION}_\w+\.deb", package.name), f"its name: {package.name}")
    for name in ("libmesoforge-dev", "python3-mesoforge"):
        check(f"libmesoforge1 (= {VERSION})" in shell("dpkg-deb", "-f", packages[name], "Depends"), f"{name} may meet another library")
    check("libmesoforge 1" in shell("dpkg-deb", "-I", packages["libmesoforge1"], "shlibs"), "what programs on the library depend on")
    needs = [part.split()[0] for part in shell("dpkg-deb", "-f", package, "Depends").split(", ")]
    linked = shell("ldd", program)
    for library, part in (("libhdf5", "libhdf5"), ("libmpi", "mpi"), ("libfftw3f", "libfftw3-single"), ("libcairo", "libcairo2"), ("libyaml", "libyaml")):
        check(library not in linked or any(part in n for n in needs), f"{library} is linked and in no dependency: {needs}")
    check(any(n.endswith("-bin") or n == "mpich" for n in needs), f"nothing that starts ranks: {needs}")
    for need in needs:
        shell("dpkg-query", "-W", need)
    listed = shell("dpkg-deb", "-c", package)
    check("modulefiles" not in listed and all("root/root" in line for line in listed.splitlines()), "who owns what")
    for each in packages.values():
        shell("dpkg", "-x", each, root)
    check("not stripped" not in shell("file", root / "usr/bin/mesoforge") if shutil.which("file") else True, "stripped")
    (folder / "from there").mkdir()
    works(is_complete(root / "usr"), folder / "from there")


def images(folder):
    docker = (packaging / "Dockerfile").read_text()
    check((packaging / "Dockerfile.dockerignore").is_file() and "COPY . /source" in docker, "what docker copies")
    recipe = (packaging / "mesoforge.def").read_text()
    copied = re.findall(r"^    (\S+) /source/(\S+)$", recipe, re.M)
    check(len(copied) > 10 and all(a == b for a, b in copied), f"%files {copied}")
    check("bootstrap.sh build" in docker and "bootstrap.sh build" in recipe, "how they build")
    for name, _ in copied:
        check((sources / name).exists(), f"mesoforge.def names {name}, which is not there")
        if (sources / name).exists():
            os.makedirs(folder / "source", exist_ok=True)
            (folder / "source" / name).symlink_to(sources / name)
    # what it copies can be configured; and what is loaded then, a modulefile loads
    shell("cmake", "--preset", "release", "-DMF_CUDA=OFF", "-B", folder / "source/build", cwd=folder / "source",
          env={**os.environ, "LOADEDMODULES": "openmpi/4.1:hdf5"})
    check("\nMF_WERROR:BOOL=OFF\n" in (folder / "source/build/CMakeCache.txt").read_text(), "a newer compiler's warnings stop nobody's build")
    check("MF_WERROR=ON" in (sources / ".ci/run").read_text(), "in CI warnings are errors")
    for kind, line in (("lua", 'depends_on("openmpi/4.1")\ndepends_on("hdf5")\n'), ("tcl", "{module load openmpi/4.1}\n")):
        check(line in (folder / f"source/build/modulefile.{kind}.in").read_text(), f"{line} in {kind}")


def spack():
    """The recipe, executed with stand-ins for Spack: its options are ours, its libraries those that CMake looks for."""
    path = packaging / "spack/packages/mesoforge/package.py"
    needs, cache = [], (build / "CMakeCache.txt").read_text()
    stand_in = types.ModuleType("spack.package")
    both = type("CMakePackage", (), {"define": staticmethod(lambda name, value: name),
                                     "define_from_variant": staticmethod(lambda name, variant: name)})
    vars(stand_in).update(CMakePackage=both, CudaPackage=type("CudaPackage", (), {}), license=lambda *a: None, variant=lambda *a, **k: None,
                          version=lambda *a, **k: None,
                          depends_on=lambda spec, **k: needs.append(re.split(r"[@+~ ]", spec)[0]))
    sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": stand_in})
    names = {"__file__": str(path)}
    exec(compile(path.read_text(), path, "exec"), names)
    package = names["Mesoforge"]()
    package.spec = types.SimpleNamespace(satisfies=lambda s: True, variants={"cuda_arch": types.SimpleNamespace(value=("90",))})
    for option in package.cmake_args():
        check(option == "CMAKE_CUDA_ARCHITECTURES" or re.search(rf"^{option}:", cache, re.M), f"no option {option}")
    check(package.git == sources.as_uri(), f"it builds {package.git}")
    wanted = re.findall(r"^(?:find_package|pkg_check_modules)\((\w+)", (sources / "CMakeLists.txt").read_text(), re.M)
    known = {"MPI": "mpi", "HDF5": "hdf5", "FFTW": "fftw", "YAML": "libyaml", "JANSSON": "jansson", "CAIRO": "cairo", "CRYPTO": "openssl", "PCRE2": "pcre2", "UTF8PROC": "utf8proc", "MICROHTTPD": "libmicrohttpd",
             "PNG": "libpng", "TIFF": "libtiff", "ZLIB": "zlib-api", "PkgConfig": "pkgconfig", "Threads": "c", "OpenMP": "c"}
    for library in wanted:
        check(known.get(library) in needs, f"CMake looks for {library}, the recipe does not")
    check((packaging / "spack/repo.yaml").is_file(), "a repository of Spack")


with tempfile.TemporaryDirectory(prefix="packaging-") as place:
    place = pathlib.Path(place)
    installed(place)
    debian(place)
    images(place)
    spack()
finish("packaging")
