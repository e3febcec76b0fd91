#!/bin/sh
# An anisotropic volume from three images: one of the slices normal to z, one to y, one to x.
#
#   examples/anisotropic.sh [NORMAL_TO_Z NORMAL_TO_Y NORMAL_TO_X]
#
# Rows and columns of the images are (y, x), (z, x) and (z, y): what runs along z is vertical in the last two.
set -eu
program=${MESOFORGE:-mesoforge}

if [ $# -eq 3 ]; then
    along_z=$1 along_y=$2 along_x=$3
else
    # Samples of a material drawn out along x: correlation length 3 along z and y, 9 along x. Seen along x it is
    # isotropic. The volume fraction must be the same in all three, and samples large enough not to contradict each other.
    along_z=results/normal_z.npy along_y=results/normal_y.npy along_x=results/normal_x.npy
    mkdir -p results
    common="--size 256 256 --volume-fraction 0.4 --exact --correlation-length 3"
    # shellcheck disable=SC2086
    {
        "$program" synth $common --stretch 1 3 --seed 1 --output $along_z
        "$program" synth $common --stretch 1 3 --seed 2 --output $along_y
        "$program" synth $common --seed 3 --output $along_x
    }
fi

# Three images: the targets of the slices normal to z, y and x, in this order.
"$program" match --microstructure_filenames "$along_z" "$along_y" "$along_x" --size 64 64 64 \
    --output results/anisotropic.h5

# The result, one table per direction.
"$program" characterize --microstructure_filename results/anisotropic.h5 --limit_to 16
