"""The longest silence of calls of the library: from one step of progress to the next, and from a cancel to the end.

    MESOFORGE_LIBRARY=LIBRARY python3 silence.py [--edge 256] [--cancels 3] [ROW ...]

Seconds are of processors, with one thread, so another load does not count. A ROW is the begin of a name. Progress is
due every 0.5 s, and a call that is cancelled ends within 0.5 s or one evaluation. `where` is what the host heard before
and after the longest silence.
"""
import argparse
import os
import random
import sys
import tempfile
import threading
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
import mesoforge  # noqa: E402

MEASURES = ["autocovariance", "boundaries", "chords", "cluster_function", "clusters", "euler", "local_fraction", "surface",
            "surface_correlation", "tortuosity", "variogram"]
OF_ONE = ["FFTCorrelations", "Variation", "VolumeFractions", "Patches", "S2_3D", "LinealPath", "LinealPathApproximation",
          "LineLinealPathApproximation", "TwoPointCorrelations", "Correlations", "LineCorrelations", "StructureTensor",
          "LinealPathExact"]
OF_PAIRS = ["FFTCrossCorrelations", "CrossS2_3D", "CrossCorrelations"]
COSTLY = ["Patches", "LinealPathApproximation", "LineLinealPathApproximation", "Correlations", "CrossCorrelations"]  # of images alone
COUNTED = ["SurfaceCorrelations", "Chords", "EulerNumber", "LocalFraction", "Boundaries", "ClusterFunction", "Clusters", "Tortuosity"]


class Ear:
    """Hears progress. @longest: seconds, and what was heard before and after."""

    def __init__(self):
        self.begin()

    def begin(self):
        self.last, self.said, self.longest = time.process_time(), "begin", (0, "", "")

    def __call__(self, what, share):
        now = time.process_time()
        self.longest = max(self.longest, (now - self.last, self.said, what))
        self.last, self.said = time.process_time(), what


def blobs(edge, phases=2):
    noise = np.random.default_rng(1).random((edge // 8 + 1,) * 3, dtype="f4")
    big = noise.repeat(8, 0).repeat(8, 1).repeat(8, 2)[:edge, :edge, :edge]
    return np.digitize(big, np.linspace(0, 1, phases + 1)[1:-1]).astype("u1")


def rows(o, session):
    """(name, call)"""
    n, lag = o.edge, min(32, o.edge // 4)
    cached = {}

    def volume(phases=2):
        if phases not in cached:
            cached.clear()
            cached[phases] = blobs(n, phases)
            o.ear.begin()
        return cached[phases]

    def characterize(phases=2, **options):
        return lambda ear: session.characterize(volume(phases), progress=ear, **{"limit_to": lag, **options})

    few = {"size": [n] * 3, "limit_to": lag, "max_iter": 2, "candidates": 1, "seed": 1}

    def match(phases=2, **options):
        said = {**few, "descriptor_types": ["FFTCorrelations", "Variation"], "no_polish": True, **options}
        return lambda ear: session.match(volume(phases)[0], progress=ear, **said)

    def of_volume(phases=2, **options):
        return lambda ear: session.match(volume(phases), progress=ear, **{**few, **options})

    def image(phases=2, **options):
        return lambda ear: session.characterize(volume(phases)[0], progress=ear, **{"limit_to": lag, **options})

    def save(ending):
        def call(ear):
            made = session.run("synth", kind="gaussian", size=[n] * 3, seed=1)
            usual = session._call_of
            session._call_of = lambda _: usual(ear)  # a save tells nobody else
            ear.begin()
            made.save(os.path.join(o.folder, "saved" + ending), session=session)
            session._call_of = usual
        return call

    def read(name, write):
        def call(ear):
            write(os.path.join(o.folder, name))
            ear.begin()
            session.characterize(os.path.join(o.folder, name), progress=ear, limit_to=4)
        return call

    yield "characterize", characterize()
    yield "characterize grey", lambda ear: session.characterize(volume().astype(">f8") * 0.5 + 0.25, progress=ear, threshold="otsu", limit_to=lag)
    yield "characterize real", lambda ear: session.characterize(volume().astype("f4") * 0.5 + 0.25, progress=ear, limit_to=lag, grey_values=True)
    for d in OF_ONE:
        if d not in COSTLY:
            yield f"characterize {d}", characterize(descriptor_types=[d])
    for d in OF_PAIRS:
        if d not in COSTLY:
            yield f"characterize {d}", characterize(3, descriptor_types=[d])
    for d in COSTLY[1:]:
        yield f"image {d}", image(3 if d in OF_PAIRS else 2, descriptor_types=[d])
    for m in MEASURES:
        yield f"characterize {m}", characterize(measures=[m])
    for d in COUNTED:
        yield f"characterize {d}", characterize(descriptor_types=[d])
    yield "match", match()
    yield "match polish", match(no_polish=False, polish_rounds=1)
    yield "match auto", match(descriptor_types=["auto"])
    for d in OF_ONE:
        if d not in ("S2_3D", "LinealPathExact"):
            yield f"match {d}", match(descriptor_types=[d], **({"size": [n, n]} if d in COSTLY else {}))
    yield "match S2_3D", of_volume(descriptor_types=["S2_3D"])
    yield "match CrossS2_3D", of_volume(phases=3, descriptor_types=["CrossS2_3D"])
    for d in ("FFTCrossCorrelations", "CrossCorrelations"):
        yield f"match {d}", match(3, descriptor_types=[d], **({"size": [n, n]} if d in COSTLY else {}))
    yield "match swaps", match(descriptor_types=["FFTCorrelations", "LinealPathExact"], optimizer_type="SimulatedAnnealing", max_iter=20000)
    yield "match non-periodic", match(non_periodic=True)
    yield "reconstruct", lambda ear: session.reconstruct(session.characterize(volume()[0], limit_to=lag), progress=ear, no_polish=True, **few)
    yield "compare", lambda ear: session.run("compare", volume(), volume(), progress=ear, limit_to=lag)
    yield "synth gaussian", lambda ear: session.run("synth", kind="gaussian", size=[n] * 3, seed=1, progress=ear)
    yield "synth spheres", lambda ear: session.run("synth", kind="spheres", size=[n] * 3, radius=6, seed=1, progress=ear)
    yield "synth voronoi", lambda ear: session.run("synth", kind="voronoi", size=[n] * 3, seed=1, progress=ear)
    yield "properties", lambda ear: session.run("properties", volume(), progress=ear, conductivity=[1, 10], tolerance=0.1)
    yield "properties stiffness", lambda ear: session.run("properties", volume(), progress=ear, young=[1, 10], poisson=[0.3, 0.3], tolerance=0.1)
    for ending in (".h5", ".vtkhdf", ".npy", ".tif"):
        yield f"save {ending}", save(ending)
    yield "read .npy", read("read.npy", lambda name: np.save(name, volume()))
    yield "read .h5", read("saved.h5", lambda name: None)
    yield "read .tif", read("saved.tif", lambda name: None)


def cancelled(session, call, seconds):
    """Processor seconds from a cancel, which comes @seconds after the begin, to the end; 0: the call was earlier."""
    at = []

    def cancel():
        at.append(time.process_time())
        mesoforge.session.lib.mesoforge_cancel(session._handle)

    timer = threading.Timer(seconds, cancel)
    timer.start()
    try:
        call(Ear())
        return 0
    except mesoforge.Stopped:
        return time.process_time() - at[0]
    finally:
        timer.cancel()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edge", type=int, default=256)
    parser.add_argument("--cancels", type=int, default=0)
    parser.add_argument("rows", nargs="*", default=[""])
    o = parser.parse_args()
    print("call\tseconds\tsilence\tafter cancel\twhere", flush=True)
    with tempfile.TemporaryDirectory() as o.folder, mesoforge.Session(threads=1, trust_files=True) as session:
        for name, call in rows(o, session):
            if not name.startswith(tuple(o.rows)):
                continue
            ear, begin, wall = Ear(), time.process_time(), time.monotonic()
            o.ear = ear
            try:
                call(ear)
                ear("end", 1)
            except mesoforge.Error as error:
                print(f"{name}\t{error}", flush=True)
                continue
            took, wall = time.process_time() - begin, time.monotonic() - wall
            late = [cancelled(session, call, random.random() * wall) for _ in range(o.cancels)]
            before, after = ear.longest[1:]
            print(f"{name}\t{took:.1f}\t{ear.longest[0]:.2f}\t{max(late, default=0):.2f}\t{before} -> {after}", flush=True)


main()
