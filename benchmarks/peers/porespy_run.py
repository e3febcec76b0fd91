"""Clusters, Euler number and chords of one volume, by PoreSpy, SciPy and scikit-image and by mesoforge in turn. See ../README.md."""
import argparse
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import cc3d  # PoreSpy labels with it
import numpy as np
import porespy
import scipy.ndimage
import skimage.measure

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import measures

warnings.simplefilter("ignore")
ROOT = os.path.dirname(measures.HERE)
FIGURE = 5
AROUND = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def clusters_scipy(a):
    label, number = scipy.ndimage.label(a)
    return [number, int(np.bincount(label.ravel())[1:].max())]


def clusters_porespy(a):
    label, number = cc3d.connected_components(a, connectivity=6, binary_image=True, return_N=True)
    return [number, int(np.bincount(label.ravel())[1:].max())]


def euler_skimage(a):
    return [int(skimage.measure.euler_number(a, 1))]


def line_of(axis):
    """The neighbours of a voxel along an axis."""
    line = np.zeros((3, 3, 3), int)
    line[tuple(slice(None) if k == axis else 1 for k in range(3))] = 1
    return line


def chords_scipy(a):
    """Runs along each axis, labelled; those at either end do not count."""
    found = []
    for axis in range(3):
        label, _ = scipy.ndimage.label(a, line_of(axis))
        lengths = np.bincount(label.ravel())
        lengths[0] = 0
        for end in (0, -1):
            lengths[label.take(end, axis).ravel()] = 0
        found.append(np.bincount(lengths)[1:].tolist())
    return found


def chords_numpy(a):
    """The places where lines begin and end a run, in order along them."""
    found = []
    for axis in range(3):
        line = np.ascontiguousarray(np.moveaxis(a, axis, -1)).view(np.int8)
        turns = np.diff(line, axis=-1)
        row, at = np.nonzero(turns.reshape(-1, turns.shape[-1]))
        begins = turns.reshape(-1, turns.shape[-1])[row, at] == 1
        chord = begins[:-1] & (row[1:] == row[:-1])
        found.append(np.bincount((at[1:] - at[:-1])[chord])[1:].tolist())
    return found


def chords_porespy(a):
    """As PoreSpy's manual has it: of every second line along both other axes, so of a fourth of them."""
    return [np.bincount(porespy.metrics.chord_counts(porespy.filters.apply_chords(a, axis=axis)))[1:].tolist() for axis in range(3)]


# what is measured: program, what it does, and whether its numbers are to be ours
PEERS = {"clusters": {"scipy.ndimage.label, bincount": clusters_scipy, "cc3d (PoreSpy's), bincount": clusters_porespy},
         "euler": {"skimage.measure.euler_number": euler_skimage},
         "chords": {"scipy.ndimage.label, bincount": chords_scipy, "numpy.diff, nonzero, bincount": chords_numpy}}
SLOW = {"chords": {"porespy.filters.apply_chords, chord_counts": chords_porespy}}


def ours(o, path, ranks):
    command = [*(["mpirun", "-n", str(ranks)] if ranks > 1 else []), os.path.join(o.build, "benchmarks", "bench_counts"), path, "1"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **AROUND}, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def trimmed(counts):
    """Without the zeros at the end."""
    while counts and counts[-1] == 0:
        counts = counts[:-1]
    return counts


def same(what, theirs, said, label):
    """Are a peer's numbers of this phase those of ours?"""
    mine = next(m for m in said[what] if m["label"] == label)[what]
    if what == "clusters":
        return theirs == [mine["number"], mine["largest"]]
    if what == "euler":
        return theirs == [mine["faces"]]
    return [trimmed(t) for t in theirs] == [trimmed(mine[k]["counts"]) for k in "zyx"]


def timed(work, field):
    start = time.perf_counter()
    found = work(field)
    return time.perf_counter() - start, found


def options():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--size", type=int, default=512, help="extent of the volume")
    p.add_argument("--pairs", type=int, default=3, help="turns")
    p.add_argument("--ranks", type=int, default=len(os.sched_getaffinity(0)), help="of mesoforge, one thread each")
    p.add_argument("--length", default="8", help="correlation length of the Gaussian field [voxels]")
    p.add_argument("--porespy-chords", action="store_true", help="PoreSpy's own chords too: milliseconds for each chord")
    p.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="folder of a release build")
    p.add_argument("--out", help="table; standard output without it")
    return p.parse_args()


def turn(o, path, phases, peers):
    """Seconds of every peer beside ours, next to each other in time: {(what, peer): (theirs, ours)}."""
    found = {}
    for what, by in peers.items():
        for peer, work in by.items():
            said = ours(o, path, o.ranks)
            taken = 0.0
            for label, phase in enumerate(phases):
                seconds, theirs = timed(work, phase)
                taken += seconds
                if peer not in SLOW.get(what, {}) and not same(what, theirs, said, label):
                    sys.exit(f"{what} of phase {label} by {peer}: {str(theirs)[:200]} are not ours")
            found[what, peer] = (taken, said["seconds"][what])
    return found


def main():
    o = options()
    out = open(o.out, "w") if o.out else sys.stdout
    measures.header(out, ["peers/porespy.sh", *sys.argv[1:]])
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("porespy", "scipy", "scikit-image", "connected-components-3d"))
    out.write(f"# {versions}; mesoforge on {o.ranks} ranks of one thread, all of both phases\n")
    peers = {what: {**by, **(SLOW.get(what, {}) if o.porespy_chords else {})} for what, by in PEERS.items()}
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "field.npy")
        subprocess.run([os.path.join(o.build, "mesoforge"), "synth", "--size", *[str(o.size)] * 3, "--correlation-length", o.length,
                        "--volume-fraction", "0.4", "--seed", "1", "--output", path], check=True, capture_output=True, env={**os.environ, **AROUND})
        field = np.load(path)
        phases = [field == 0, field == 1]
        for _ in range(o.pairs):
            for key, pair in turn(o, path, phases, peers).items():
                rows.setdefault(key, []).append(pair)
    out.write("what\tpeer\tn\tpeer_s\tmesoforge_s\tratio\tleast\tmost\n")
    kept = True
    for (what, peer), pairs in rows.items():
        ratio = [t / m for t, m in pairs]
        kept = kept and statistics.median(ratio) >= FIGURE
        numbers = [statistics.median(t for t, _ in pairs), statistics.median(m for _, m in pairs)]
        out.write("\t".join([what, peer, str(o.size), *(f"{v:.3f}" for v in numbers),
                             *(f"{v:.1f}" for v in (statistics.median(ratio), min(ratio), max(ratio)))]) + "\n")
    return 0 if kept else 1


sys.exit(main())
