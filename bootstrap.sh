#!/usr/bin/env bash
# From a bare machine to a result. usage: ./bootstrap.sh demo | test | lint | build
#   demo   install what is missing, build the program, make a sample, reconstruct a volume from it, draw the picture
#   test   install what is missing, build twice (fast; with sanitizers), run all tests
#   lint   install what is missing, build the program, read its sources with clang-tidy
#   build  install what is missing, build the program
# Every step may be repeated; what is done already is not done again.
# MF_JOBS: processes at once (default: cores). MF_WERROR=ON: warnings stop the build. MF_LINT_SECONDS: time for lint (600).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

tools=(gcc libc6-dev make cmake ninja-build pkg-config)
libraries=(openmpi-bin libopenmpi-dev libhdf5-openmpi-dev libfftw3-dev libyaml-dev libjansson-dev libpng-dev
    libtiff-dev libcairo2-dev libdnnl-dev libpcre2-dev libutf8proc-dev libmicrohttpd-dev fonts-dejavu-core zlib1g-dev
    libssl-dev)
for_package=(file dpkg-dev) # cpack -G DEB asks them what a package depends on
for_tests=(g++ python3-h5py python3-numpy python3-mpi4py hdf5-tools abigail-tools clang-format)
for_slurm=(slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libpmix-dev iproute2)
jobs=${MF_JOBS:-$(nproc)}
lint_seconds=${MF_LINT_SECONDS:-600}
updated= # apt-get's lists, by this script

say() { printf '== %s\n' "$*"; }
stop() {
    printf 'bootstrap: %s\n' "$*" >&2
    exit 1
}

# Debian and Ubuntu: the packages that are not there yet.
missing() {
    local package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || echo "$package"
    done
}

apt_install() {
    local wanted as_root=()
    read -ra wanted <<<"$(missing "$@" | tr '\n' ' ')"
    if [ ${#wanted[@]} -eq 0 ]; then
        say "packages: all installed"
        return
    fi
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null ||
            stop "these packages are missing and installing them needs root or sudo: ${wanted[*]}"
        as_root=(sudo)
    fi
    say "packages: installing ${wanted[*]}"
    [ -n "$updated" ] || "${as_root[@]}" apt-get update -q || stop "apt-get update failed: is there a network and a package source?"
    updated=yes
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${wanted[@]}" ||
        stop "apt-get could not install: ${wanted[*]}"
}

# Without apt: say what is needed, go on with what modules, Spack or an administrator put there.
use_what_is_there() {
    local tool absent=()
    say "no apt-get here; needed (names of the Debian packages): ${tools[*]} ${libraries[*]}"
    say "using what cmake and pkg-config find (modules and Spack: load or activate them before)"
    for tool in cmake pkg-config mpicc; do command -v "$tool" >/dev/null || absent+=("$tool"); done
    command -v cc >/dev/null || command -v gcc >/dev/null || absent+=("cc")
    command -v ninja >/dev/null || command -v ninja-build >/dev/null || absent+=("ninja")
    [ ${#absent[@]} -eq 0 ] || stop "not found: ${absent[*]}; load or install them and start again"
}

need() {
    if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
        apt_install "$@"
    else
        use_what_is_there
    fi
}

# What makes a Debian package is no reason to stop where it cannot be installed.
need_package() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then return; fi
    (apt_install "${for_package[@]}" 2>/dev/null) || say "cpack will make no Debian package here: it asks ${for_package[*]}"
}

# A Slurm of virtual nodes is a matter of root (CI, containers); elsewhere, and where it cannot be had, its test is skipped.
need_slurm() {
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then return; fi
    (apt_install "${for_slurm[@]}") || say "no Slurm: the test slurm will be skipped"
}

# with_lowest_priority FUNCTION ...: in the background, as the group of processes $beside, which ends with this script. It gets
# the time of cores that others leave.
with_lowest_priority() {
    set -m
    (renice -n 19 -p "$BASHPID" >/dev/null && "$@") &
    beside=$!
    set +m
    trap 'kill -- "-$beside" 2>/dev/null || true' EXIT
}

# build PRESET [TARGET]: into build/PRESET. The target program is what a user starts; all: tests and benchmarks, too.
build() {
    say "build/$1: configure"
    cmake --preset "$1" ${MF_WERROR:+-DMF_WERROR="$MF_WERROR"} ${MF_DEBUG_INFO:+-DMF_DEBUG_INFO="$MF_DEBUG_INFO"} \
        ${MF_CUDA_TOGETHER:+-DMF_CUDA_TOGETHER="$MF_CUDA_TOGETHER"} \
        >"build/$1.configure.log" 2>&1 || {
        tail -n 30 "build/$1.configure.log" >&2
        stop "configuring build/$1 failed; all of it: build/$1.configure.log"
    }
    say "build/$1: compile ($jobs at once)"
    cmake --build --preset "$1" -j "$jobs" --target "${2:-program}" || stop "building build/$1 failed"
}

# check PRESET: runs its tests; the end of the log is printed by whoever asked for tests. They wait more than they work
# (for MPI to start, for ranks that are stopped), so there are more of them at once than cores.
check() {
    say "build/$1: test"
    ctest --preset "$1" -j "$((3 * jobs))" >"build/$1.ctest.log" 2>&1 || {
        awk '/\*\*\*(Failed|Timeout|Exception)/ { left = 40 } / Start +[0-9]+:|   Passed / { left = 0 } left-- > 0' "build/$1.ctest.log" >&2
        tail -n 12 "build/$1.ctest.log" >&2
        stop "tests in build/$1 failed; all of it: build/$1.ctest.log"
    }
    grep -E 'tests passed|Total Test time' "build/$1.ctest.log"
}

# What ctest left out, by name: some tests want root, or what is not on every machine.
left_out() {
    local names
    names=$(sed -n '/^The following tests did not run:/,/^$/s/^[[:space:]]*[0-9]* - \([^ ]*\) .*/\1/p' "build/$1.ctest.log" | tr '\n' ' ')
    [ -z "$names" ] || say "build/$1: not run: $names(each says why in build/$1/Testing/Temporary/LastTest.log)"
}

# clang-tidy on every C file, the changed ones first and most thoroughly.
lint() {
    local status=0 changed
    command -v clang-tidy >/dev/null || stop "clang-tidy is not installed"
    say "lint: clang-tidy, at most $lint_seconds s"
    changed=$(git diff --name-only --diff-filter=d HEAD~1 -- '*.c' 2>/dev/null || true)
    # shellcheck disable=SC2086 # names of ours have no blanks
    tests/lint.sh build/release "$lint_seconds" "$jobs" $changed >build/lint.log || status=$?
    [ "$status" != 3 ] || stop "lint: time is up, $(tail -n 1 build/lint.log)"
    [ "$status" = 0 ] || {
        grep -E '(error|warning):' build/lint.log | sort -u | head -n 30 >&2
        stop "lint: clang-tidy found something; all of it: build/lint.log"
    }
    say "lint: all files are clean"
}

demo() {
    local program=build/release/mesoforge
    if [ "$(id -u)" = 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
    mkdir -p demo
    say "demo: a micrograph that the program makes itself: demo/sample.npy"
    $program synth --kind gaussian --size 128 128 --volume-fraction 0.4 --correlation-length 2.5 --exact --seed 1 \
        --output demo/sample.npy || stop "synth failed"
    say "demo: a volume with its statistics: demo/volume.h5"
    $program match --microstructure_filename demo/sample.npy --size 64 64 64 \
        --output demo/volume.h5 || stop "match failed"
    say "demo: the picture: demo/volume.png"
    $program view demo/volume.h5 --original_ms demo/sample.npy --output demo/volume.png || stop "view failed"
    say "demo: look at demo/volume.png; open demo/volume.xdmf in ParaView"
}

mkdir -p build
case "${1:-}" in
build)
    need "${tools[@]}" "${libraries[@]}"
    need_package
    build release
    say "done: build/release/mesoforge"
    ;;
demo)
    need "${tools[@]}" "${libraries[@]}"
    build release
    demo
    ;;
test)
    need "${tools[@]}" "${libraries[@]}" "${for_tests[@]}"
    need_package
    need_slurm
    build release all
    with_lowest_priority build debug all # tests of the fast build wait for much else than a core
    check release
    wait "$beside"
    check debug
    left_out release
    left_out debug
    say "done: all tests that ran passed"
    ;;
lint)
    need "${tools[@]}" "${libraries[@]}" clang-tidy
    build release
    lint
    ;;
*)
    printf 'usage: %s demo | test | lint | build\n' "$0" >&2
    exit 2
    ;;
esac
