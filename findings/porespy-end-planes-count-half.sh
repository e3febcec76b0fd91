#!/usr/bin/env bash
# PoreSpy's tortuosity_fd() fixes concentrations at the centres of the first and the last plane. One would guess that it fixes
# them at the faces of the image, so that all planes count alike. Half of each end plane is left out: a channel that is
# narrow in its first and last plane resists as much as one that is narrow in a single plane of the middle.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install porespy==3.2.0 openpnm==3.6.4 numpy==2.4.6
cd "$folder"
v/bin/python - <<'PY' 2> /dev/null
import numpy
import porespy


def resistance(*narrow):
    """Beside that of an empty channel of the same length and the full width."""
    channel = numpy.ones((16, 2, 2), bool)
    channel[list(narrow), :, 1] = False
    return float(porespy.simulations.tortuosity_fd(channel, axis=0).formation_factor)


both, ends, middle = resistance(4, 11), resistance(0, 15), resistance(8)
print("PoreSpy", porespy.__version__, "resistance of a channel of 16 planes beside an open one")
print(f"  narrow in the first and the last: {ends:.3f}, in one of the middle: {middle:.3f}, in two of the middle: {both:.3f}")
assert abs(ends - middle) < 2e-3 and both - 1 > 1.3 * (ends - 1), "the behaviour has changed"
PY
