"""What a call of the module mesoforge costs beside the program's verb, and beside a peer in the same Python process.

    PYTHON library.py MESOFORGE LIBRARY [--pairs 5] [--edge 96] [--micrograph FILE.npy]

PYTHON has PoreSpy (two_point_correlation), or MCRpy (DMCR), or both. Seconds are of processors, ours of one thread
and the median of pairs. `over the verb` is a call less the verb, which also starts a program and writes a file.
"""
import argparse
import contextlib
import io
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAMES = ["FFTCorrelations", "Variation"]
LAG = 16


def own(call):
    begin = time.process_time()
    result = call()
    return time.process_time() - begin, result


def verb(*words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*map(str, words), "--json", "--threads", "1"], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def typed(options):
    for key, value in options.items():
        yield "--" + key
        if value is not True:
            yield from map(str, value if isinstance(value, (list, tuple)) else [value])


def row(what, pairs, ours, by_verb, peer):
    """@peer: called once; the others in turn."""
    theirs = peer()[0]
    times = [(ours()[0], by_verb()) for _ in range(pairs)]
    library, program = (statistics.median(column) for column in zip(*times))
    over = [1e3 * (a - b) for a, b in times]
    print(f"{what}\t{library:.4f}\t{program:.4f}\t{theirs:.3f}\t{theirs / library:.1f}\t{min(over):+.1f}\t{statistics.median(over):+.1f}",
          flush=True)


def by_radius(window):
    """The mean of S2 [dz >= 0][dy][dx] by radius, as PoreSpy bins it: both halves of the lags count."""
    n = window.shape[0]
    z, y, x = np.ogrid[:n, 1 - n:n, 1 - n:n]
    bins = np.sqrt(z * z + y * y + x * x).astype(int)
    weight = np.broadcast_to(np.where(z > 0, 2.0, 1.0), bins.shape)
    inside = bins < n - 1
    return (np.bincount(bins[inside], (window * weight)[inside]) / np.bincount(bins[inside], weight[inside]))[1:]


def correlations(o, session):
    """S2 of a volume in space. PoreSpy computes the phase that is 1."""
    import porespy

    volume = np.asarray(porespy.generators.blobs([o.edge] * 3, porosity=0.4, seed=1))
    np.save("volume.npy", volume)
    options = {"limit_to": o.edge // 2, "non_periodic": True, "descriptor_types": ["S2_3D"]}
    got = by_radius(session.characterize(volume, **options)["s2_3d"][1])
    want = porespy.metrics.two_point_correlation(volume).probability[1:]
    n = min(len(got), len(want)) - 2
    print(f"# S2 by radius: largest difference {np.abs(got[:n] / volume.mean() - want[:n] / want[0] * got[0] / volume.mean()).max():.1e}")
    row(f"two_point_correlation, {o.edge}^3", o.pairs, lambda: own(lambda: session.characterize(volume, **options)),
        lambda: verb(o.mesoforge, "characterize", "volume.npy", *typed(options)),
        lambda: own(lambda: porespy.metrics.two_point_correlation(volume)))


def reconstructions(o, session):
    """The same descriptors and iterations. A call of MCRpy includes what TensorFlow traces for it."""
    import mcrpy
    from mcrpy.src.DMCR import DMCR

    import mesoforge.mcrpy

    image = np.load(o.micrograph)
    np.save("image.npy", image)
    settings = mcrpy.CharacterizationSettings(descriptor_types=NAMES, limit_to=LAG, use_multigrid_descriptor=False, target_folder="mcrpy")
    theirs = mcrpy.characterize(mcrpy.Microstructure(image), settings)
    target = session.characterize(image, limit_to=LAG, no_multigrid_descriptor=True)
    target.save("target.h5", session=session)
    for size, iterations in (((64, 64), 100), ((32, 32, 32), 20)):
        common = {"descriptor_types": NAMES, "limit_to": LAG, "max_iter": iterations}
        options = {"no_multigrid_descriptor": True, "plan": "off", "tolerance": 0, **common}

        def peer():
            solver = DMCR(descriptor_weights=[1.0, 1.0], n_phases=settings.n_phases, save_to="mcrpy", **common)
            with contextlib.redirect_stdout(io.StringIO()):
                return own(lambda: solver.reconstruct([theirs[name] for name in NAMES], size))

        def ours():
            solver = mesoforge.mcrpy.DMCR(strategy=session, **options)
            return own(lambda: solver.reconstruct(target, size))

        shape = "x".join(map(str, size))
        print(f"# {shape}: {iterations} iterations; evaluations of ours: {ours()[1][0]['evaluations']}")
        row(f"DMCR, {shape}", o.pairs, ours,
            lambda: verb(o.mesoforge, "reconstruct", "target.h5", "--size", *size, "--output", "out.npy", *typed(options)), peer)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mesoforge", type=os.path.abspath)
    parser.add_argument("library", type=os.path.abspath)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--edge", type=int, default=96)
    parser.add_argument("--micrograph", type=os.path.abspath)
    o = parser.parse_args()
    os.environ.update(MESOFORGE_LIBRARY=o.library, TF_CPP_MIN_LOG_LEVEL="3")
    sys.path.insert(0, os.path.join(ROOT, "python"))
    import mesoforge

    print(subprocess.run([os.path.join(ROOT, "benchmarks", "machine.sh"), *sys.argv], check=True, text=True, capture_output=True).stdout, end="")
    print("what\tlibrary_s\tverb_s\tpeer_s\tpeer / library\tover the verb, least [ms]\tmedian [ms]")
    with tempfile.TemporaryDirectory() as folder, mesoforge.Session(threads=1) as session:
        os.chdir(folder)
        for peer, compare in (("porespy", correlations), ("mcrpy", reconstructions)):
            try:
                __import__(peer)
            except ImportError:
                print(f"# no {peer} here")
            else:
                compare(o, session)
        os.chdir("/")


main()
