#!/bin/sh
# From one image to a volume whose slices in all three directions look like the image.
#
#   examples/image_to_volume.sh [MICROGRAPH]
#   RANKS=4 OPTIONS="--threshold otsu" examples/image_to_volume.sh steel.png     (a grey image, on four processes)
#
# The volume opens in ParaView (.h5 as VTKHDF, or the .xdmf beside it).
set -eu
program=${MESOFORGE:-mesoforge}
micrograph=${1:-results/sample.npy}
run="$program"
[ "${RANKS:-1}" -eq 1 ] || run="mpirun -n $RANKS $program"

# A sample: discs of radius 6 that may overlap, 40 % of the area.
[ $# -gt 0 ] || { mkdir -p results && "$program" synth --kind spheres --size 64 64 --radius 6 --volume-fraction 0.4 \
    --exact --seed 2 --output "$micrograph"; }

# characterize and reconstruct in one: 64 slices are added along a third axis. What is compared is chosen from the image,
# here S2 up to 15 pixels and the interface density; the result has the phases of the image, their shares exactly.
# shellcheck disable=SC2086
$run match --microstructure_filename "$micrograph" ${OPTIONS:-} --add_dimension 64 --explain \
    --seed 0 --output results/volume.h5

# What the volume has, to be compared with what characterize says about the image.
"$program" characterize --microstructure_filename results/volume.h5 --limit_to 16
