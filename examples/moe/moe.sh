#!/bin/sh
# Experts over made microstructures become special: which of them serves which morphology?
#
#   examples/moe/moe.sh [-o FOLDER] [-n RANKS] [-q]
#     -o  folder of what is made (moe)
#     -n  ranks, which share the experts (1)
#     -q  small and few epochs: does it work?
set -eu
program=${MESOFORGE:-mesoforge} folder=moe ranks=1 samples=3000 pixels=32 epochs=24 window=40
while getopts o:n:q option; do
    case $option in
    o) folder=$OPTARG ;;
    n) ranks=$OPTARG ;;
    q) samples=200 pixels=16 epochs=3 window=2 ;;
    *) sed -n '4,7s/^# *//p' "$0" >&2 && exit 2 ;;
    esac
done
launch=
[ "$ranks" -eq 1 ] || launch="${MPIEXEC:-mpirun} -n $ranks"

mkdir -p "$folder"
"$program" synth --num-samples "$samples" --size "$pixels" "$pixels" --output "$folder/micro.h5"

# Six experts, an even share of samples for each, births while the router is more uncertain than 0.8.
# shellcheck disable=SC2086
$launch "$program" train moe --data "$folder/micro.h5" --results-dir "$folder/run" --epochs "$epochs" \
    --experts 6 --max-experts 10 --balance 0.02 --birth-threshold 0.8 --birth-window "$window" --birth-cooldown 60 \
    --sleep-every 100 --sleep-least 100 --parallel-strategy expert_parallel

# Experts x morphologies, in percent.
"$program" info "$folder/run/knowledge_graph.json" | tee "$folder/experts.txt"
echo "pictures: $folder/run/expert_activations.png, $folder/run/knowledge_graph_epoch_$epochs.png"
