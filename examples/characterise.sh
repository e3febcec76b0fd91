#!/bin/sh
# Characterise a micrograph: how much of each phase, how it is correlated, how much interface.
#
#   examples/characterise.sh [MICROGRAPH]      (.png .tif .npy .h5; without one, a sample is made)
#
# A grey image needs --threshold otsu (or a value); an image of labels that are not 0, 1, ... needs --labels 0,128,255.
# Both can be given here: OPTIONS="--threshold otsu" examples/characterise.sh steel.tif
set -eu
program=${MESOFORGE:-mesoforge}
micrograph=${1:-results/sample.h5}

# A sample whose statistics are known: a Gaussian field, 35 % of phase 1, correlation length 4 pixels of 0.5 um.
[ $# -gt 0 ] || { mkdir -p results && "$program" synth --kind gaussian --size 128 128 --volume-fraction 0.35 --exact \
    --correlation-length 4 --spacing 0.5 --unit um --seed 1 --output "$micrograph"; }

# S2 of every phase for lags up to 15 pixels, interface density and volume fractions, as text and in results/.
# shellcheck disable=SC2086
"$program" characterize --microstructure_filename "$micrograph" --limit_to 16 ${OPTIONS:-}

# The same as one JSON object for a script of your own.
# shellcheck disable=SC2086
"$program" characterize --microstructure_filename "$micrograph" --limit_to 16 ${OPTIONS:-} --json >results/statistics.json
echo "results/statistics.json holds the numbers"
