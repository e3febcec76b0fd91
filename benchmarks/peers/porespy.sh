#!/usr/bin/env bash
# Clusters, Euler number and chords of a volume: PoreSpy, SciPy and scikit-image against mesoforge, by turns on the same cores.
# usage: peers/porespy.sh PYTHON [--size N] [--pairs N] [--build DIR] [--out FILE]
#   PYTHON   of an environment with the three (README.md says how to make one); all other options: porespy_run.py --help
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -ge 1 ] || { sed -n '2,4s/^# //p' "$0" >&2 && exit 2; }
python=$1
shift
"$python" -c 'import porespy, scipy, skimage' 2>/dev/null || {
    echo "porespy.sh: '$python' cannot import porespy, scipy and skimage; benchmarks/README.md says how to make its environment" >&2
    exit 1
}
exec "$python" "$here/porespy_run.py" "$@"
