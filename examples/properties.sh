#!/bin/sh
# From one image to the conductivity of the volume behind it, with errors, and to a volume that conducts 10 % better.
#
#   examples/properties.sh [MICROGRAPH]
#   CONDUCTIVITY="1 30" RANKS=4 OPTIONS="--threshold otsu" examples/properties.sh steel.png
set -eu
program=${MESOFORGE:-mesoforge}
micrograph=${1:-results/sample.npy}
conductivity=${CONDUCTIVITY:-0.01 1} # of labels 0 and 1
run="$program"
[ "${RANKS:-1}" -eq 1 ] || run="mpirun -n $RANKS $program"
mkdir -p results

# A sample: blobs, 45 % of the area.
[ $# -gt 0 ] || "$program" synth --size 96 96 --correlation-length 4 --volume-fraction 0.45 \
    --exact --seed 3 --output "$micrograph"

# Three volumes with the statistics of the image; the spread of their conductivities is the error of one.
# shellcheck disable=SC2086
$run match "$micrograph" ${OPTIONS:-} --size 48 48 48 --realisations 3 --output results/volume.h5
# shellcheck disable=SC2086
$run properties results/volume_seed*.h5 --conductivity $conductivity --output results/volumes.json

# A volume with the same statistics that conducts 10 % better along z.
target=$(python3 -c 'import json; print(1.1 * json.load(open("results/volumes.json"))["mean"]["z"])')
# shellcheck disable=SC2086
$run match "$micrograph" ${OPTIONS:-} --size 48 48 48 --conductivity $conductivity \
    --property "conductivity_z=$target" --output results/better.h5
# shellcheck disable=SC2086
$run properties results/better.h5 --conductivity $conductivity --error-bars \
    --fields results/fields.vtkhdf --output results/better.json

"$program" report results/volumes.json results/better.json results/better.h5 --output results/properties.html
