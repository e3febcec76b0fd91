#!/bin/sh
# Examples, benchmarks and job scripts can be read by a shell (and by shellcheck, where it is), and no job script exceeds 30 lines
# of 120 columns.
# usage: scripts.sh ROOT
cd "$1" || exit 1
failures=0
for script in examples/*.sh examples/moe/*.sh; do
    sh -n "$script" || failures=1
done
for script in benchmarks/*.sh benchmarks/peers/*.sh examples/gallery/*.sh; do bash -n "$script" || failures=1; done
for script in slurm/*.sbatch; do
    bash -n "$script" || failures=1
    [ "$(wc -l <"$script")" -le 30 ] || { echo "$script: more than 30 lines" && failures=1; }
    ! grep -nE '.{121}' "$script" || { echo "$script: more than 120 columns" && failures=1; }
done
if command -v shellcheck >/dev/null; then
    shellcheck examples/*.sh examples/moe/*.sh slurm/*.sbatch benchmarks/*.sh benchmarks/peers/*.sh examples/gallery/*.sh || failures=1
fi
exit $failures
