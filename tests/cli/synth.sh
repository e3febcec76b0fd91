#!/bin/sh
# synth as a user runs it: the same bytes on 1 to 4 ranks, results in JSON, and one line and status 2 for nonsense.
# usage: synth.sh MESOFORGE MPIEXEC FOLDER
program=$1 mpiexec=$2 folder=$3
failures=0
rm -rf "$folder" && mkdir -p "$folder" && cd "$folder" || exit 1

fail() {
    echo "failed: $*" >&2
    failures=$((failures + 1))
}

# same OPTION ...: one rank with two threads writes what 2, 3 and 4 ranks write
same() {
    "$program" synth "$@" --threads 2 --output one.npy >/dev/null 2>&1 || fail "$*"
    for ranks in 2 3 4; do
        "$mpiexec" -n $ranks "$program" synth "$@" --output many.npy >/dev/null 2>&1 || fail "$ranks ranks: $*"
        cmp one.npy many.npy || fail "$ranks ranks differ: $*"
    done
}

# refused WORDS OPTION ...: status 2, nothing on standard output, one line that says so, no file
refused() {
    words=$1
    shift
    "$program" synth "$@" --logging_level 40 --output never.npy >out 2>err
    [ $? -eq 2 ] || fail "status: $*"
    [ -s out ] && fail "output: $*"
    [ "$(wc -l <err)" -eq 1 ] || fail "lines: $*"
    grep -q -e "$words" err || fail "'$words': $(cat err)"
    [ -e never.npy ] && fail "file: $*"
}

same --kind gaussian --size 14 9 11 --correlation-length 2 --exact
same --kind voronoi --size 23 31 --phases 3 --exact
same --kind hard-spheres --size 1 40 40 --radius 3

refused 'one of gaussian' --kind blobs
refused 'does not apply to --kind gaussian' --radius 3
refused 'at most 0.384' --kind hard-spheres --size 32 32 32 --volume-fraction 0.6
refused 'must be y x, or z y x' --size 8
refused '1 voxel or more' --size 0 8
refused 'give one of them' --size 8 8 --extent_x 8 --extent_y 8
refused 'must be 2 to 32' --phases 1
refused 'between 0 and 1' --volume-fraction -0.1
refused 'more than 1' --phases 3 --volume-fraction 0.7 0.6
refused 'numbers (phases 1 to 2)' --phases 3 --volume-fraction 0.2
refused 'more than half of an extent' --correlation-length 100
refused 'set the same thing' --kind voronoi --grains 5 --grain-size 5
refused 'contradict' --kind fibres --size 16 16 16 --overlap --gap 1
refused 'needs --exact' --kind checkerboard --volume-fraction 0.3
refused 'above 0' --spacing 0
refused "no option '--lenght'" --lenght 3

"$program" synth --kind spheres --size 16 20 24 --exact --volume-fraction 0.25 --json --information a --list l.csv \
    >out 2>err || fail json
grep -q '"shape":\[16,20,24\]' out || fail "shape: $(cat out)"
grep -q '"volume_fraction":0.25,"voxels":1920' out || fail "fraction: $(cat out)"
[ -s results/synth_spheres_a.h5 ] || fail "no file of the standard name"
[ "$(wc -l <l.csv)" -gt 1 ] || fail "no list"
"$program" synth --kind spheres --size 16 20 24 --list l.npy --output l.npy 2>err
[ $? -eq 2 ] && grep -q 'its name must end with .csv' err || fail "a list in the place of the output"
[ $failures -eq 0 ]
