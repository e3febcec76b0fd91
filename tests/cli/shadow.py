"""Whatever the program computes on a device, it computes in the bits of cpu: --device shadow, whose memory the host cannot
touch, against one rank of cpu, on 1 to 4 ranks, with fields there or (--residency host) in host memory; a run that was
stopped on one goes on on the other.

    shadow.py MESOFORGE MPIEXEC       exit status 77: NumPy is missing
"""
import os
import sys
import tempfile

from runs import LONG, check, finish, measure, run, some
from samples import blobs, grey, save

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]
TWO, THREE = [0.6, 0.4], [0.5, 0.3, 0.2]
HOME = ("--residency", "host")
SAME = ("loss", "loss_cut", "loss_final", "evaluations", "swaps", "s2_rms_error", "variation_error")


def go(folder, device, ranks, words, output):
    """What a run says and the bytes it writes."""
    path = os.path.join(folder, output)
    done = measure(PROGRAM, *words, "--device", device, "--threads", 1, ranks=ranks, mpiexec=MPIEXEC)
    if done is None or not check(os.path.exists(path), f"{words}: no {path}"):
        return None, b""
    bytes_of = open(path, "rb").read()
    os.remove(path)
    return done, bytes_of


def volume(folder, name, images, many, *words, where=()):
    """A whole run, from the image to the volume; @where: words for the shadow alone."""
    files = [save(folder, f"image{i}.npy", image) for i, image in enumerate(images)]
    words = ["match", *files, "--limit_to", 4, "--max_iter", 30 if LONG else 12, "--polish-rounds", 4 if LONG else 2, "--deterministic", "--output", f"{folder}/v.npy", *words]
    want, first = go(folder, "cpu", 1, words, "v.npy")
    for ranks in some([*many[1:], many[0]], 4):
        done, again = go(folder, "shadow", ranks, [*words, *where], "v.npy")
        check(again == first, f"{name}: other bytes on {ranks} ranks of shadow {where}")
        for key in SAME:
            check(done and want and done[key] == want[key], f"{name}, {ranks} ranks: {key} {done and done[key]!r}, cpu {want and want[key]!r}")
        check(done and done["device"] == "shadow" and len(done["peak_bytes"]["device"]) == ranks, f"{name}: {done}")


def gradient(folder, name, image, shape, many, *words, where=()):
    """The loss and the gradient of a field."""
    files = [save(folder, "image.npy", image), save(folder, "start.npy", grey(shape, 3 if image.max() > 1 else 1, 5))]
    words = ["match", files[0], "--size", *shape, "--initial_microstructure_file", files[1], "--max_iter", 0, "--limit_to", 2, "--deterministic",
             "--save_gradient", f"{folder}/g.npy", *words]
    want, first = go(folder, "cpu", 1, words, "g.npy")
    for ranks in some(many[::-1]):
        done, again = go(folder, "shadow", ranks, [*words, *where], "g.npy")
        check(again == first and done["loss"] == want["loss"], f"{name}: other gradient on {ranks} ranks of shadow")


def characterised(folder, name, field, many, *words):
    """Descriptors, as they are printed."""
    path, first = save(folder, "field.npy", field), None
    for device, ranks in (("cpu", 1), *(("shadow", n) for n in some(many[::-1]))):
        got = measure(PROGRAM, "characterize", path, "--limit_to", 2, "--device", device, "--data_folder", folder, "--deterministic", *words, ranks=ranks, mpiexec=MPIEXEC)
        first = first or got
        check(got == first, f"{name}: other descriptors on {ranks} ranks of {device}")


def stopped(folder):
    """Legs of one run on changing back ends and ranks."""
    image = save(folder, "image.npy", blobs((16, 20), TWO, 6))
    for name, more in some((("L-BFGS", []), ("Adam", ["--optimizer_type", "Adam"]))):
        words = ["match", image, "--limit_to", 4, "--add_dimension", 13, "--max_iter", 30, "--polish-rounds", 6, "--deterministic", *more,
                 "--output", f"{folder}/s.npy"]
        want = go(folder, "cpu", 1, words, "s.npy")[1]
        legs = [("shadow", 3, 7), ("cpu", 2, 9), ("shadow", 2, 9, *HOME), ("shadow", 1, 3), ("shadow", 3, 3, *HOME), ("cpu", 1, 5)]
        for k, (device, ranks, visit, *where) in enumerate(legs):
            env = dict(os.environ, MF_FAULT=f"run.leave:visit={visit}")
            status, _, err = run(PROGRAM, *words, "--device", device, *where, *(["--restart", "auto"] if k else []), ranks=ranks, mpiexec=MPIEXEC, env=env)
            check(status in (0, 75) and (k or status == 75), f"{name}, leg {k} on {ranks} ranks of {device}: exit {status}: {err[-400:]}")
            if status == 0:
                break
        if status == 75:
            status, _, err = run(PROGRAM, *words, "--device", "shadow", "--restart", "auto", ranks=2, mpiexec=MPIEXEC)
        check(status == 0 and open(f"{folder}/s.npy", "rb").read() == want, f"{name}: other bits after {k + 1} legs on both back ends: {err[-400:]}")
        os.remove(f"{folder}/s.npy")


def foretold(folder):
    """--dry-run knows both memories."""
    image = save(folder, "image.npy", blobs((16, 20), TWO, 9))
    for words in some((["--max_iter", 28, "--add_dimension", 12, *HOME], ["--max_iter", 28, "--add_dimension", 12],
                       ["--max_iter", 28, "--size", 16, 16, 16, "--use_multigrid_reconstruction", "--optimizer_type", "Adam"])):
        words = ["match", image, "--limit_to", 4, "--device", "shadow", "--output", f"{folder}/d.npy", *words]
        plan = measure(PROGRAM, *words, "--dry-run", ranks=2, mpiexec=MPIEXEC)
        done = measure(PROGRAM, *words, ranks=2, mpiexec=MPIEXEC)
        for key in ("arena", "device"):
            pairs = list(zip(plan["bytes"][key], done["peak_bytes"][key]))
            check(len(pairs) == 2 and all(abs(a - b) <= 0.01 * b for a, b in pairs), f"{words}: {key} foretold and taken {pairs}")


def passes(folder):
    """With --residency host the device holds slices and nothing as large as the volume, as was planned."""
    image, peak = save(folder, "image.npy", blobs((16, 20), TWO, 9)), {}
    for n in (24, 48):
        done = measure(PROGRAM, "match", image, "--limit_to", 4, "--size", n, n, n, "--max_iter", 1, "--no_polish", "--batch_size", 4,
                       "--device", "shadow", *HOME, "--threads", 1, "--output", f"{folder}/p.npy", ranks=2, mpiexec=MPIEXEC)
        peak[n] = done["peak_bytes"]["device"]
        check(peak[n] == done["peak_bytes"]["predicted_device"] and done["peak_bytes"]["arena"] == done["peak_bytes"]["predicted"], f"{done['peak_bytes']}")
        check(done["plan"]["settings"]["offload"] == 1 and done["device"] == "shadow", f"{done['plan']}")
        check(min(done["peak_bytes"]["arena"]) > 36 * n**3 / 2, f"vectors are in host memory: {done['peak_bytes']}")
    check(max(peak[48]) < 4.5 * max(peak[24]), f"the device's memory grows with the volume: {peak}")
    status, _, err = run(PROGRAM, "match", image, "--limit_to", 4, "--max_iter", 2, "--device", "cpu", *HOME, "--output", f"{folder}/c.npy")
    check(status == 0 and "--residency host: the cpu back end has one memory" in err, f"on cpu: {status} {err[-300:]}")


def refused(folder):
    """A device without enough memory, and auto, which never takes the shadow."""
    image = save(folder, "image.npy", blobs((16, 20), TWO, 9))
    words = ["match", image, "--limit_to", 4, "--max_iter", 5, "--output", f"{folder}/r.npy"]
    for ranks in (1, 3):
        status, _, err = run(PROGRAM, *words, "--size", 64, 64, 64, "--memory-limit", 1, "--device", "shadow", ranks=ranks, mpiexec=MPIEXEC)
        check(status == 5 and err.count("mesoforge: match: ") == 1, f"little memory, {ranks} ranks: exit {status}: {err[-400:]}")
    done = measure(PROGRAM, *words)
    check(done and done["device"] != "shadow", f"auto: {done}")


with tempfile.TemporaryDirectory() as place:
    volume(place, "image", [blobs((24, 32), TWO, 5)], (1, 2))
    volume(place, "volume", [blobs((16, 20), TWO, 6)], (1, 2, 3, 4), "--add_dimension", 13)
    volume(place, "three phases", [blobs((12, 16), THREE, 7)], (1, 3), "--add_dimension", 10)
    volume(place, "Adam, coarse to fine", [blobs((16, 16), TWO, 9)], (1, 3), "--add_dimension", 16, "--optimizer_type", "Adam", "--use_multigrid_reconstruction")
    volume(place, "labels as start", [blobs((16, 16), TWO, 9)], (2,), "--add_dimension", 12, "--initial_microstructure_file", save(place, "begin.npy", blobs((9, 10, 11), TWO, 3)))
    volume(place, "at home", [blobs((16, 20), TWO, 6)], (1, 2, 4), "--add_dimension", 13, where=(*HOME, "--batch_size", 4))
    if LONG:
        volume(place, "three phases, image", [blobs((16, 20), THREE, 7)], (1,))
        volume(place, "three images", [blobs(s, TWO, 8) for s in ((12, 14), (10, 14), (10, 12))], (3,), "--loss_type", "L1")
        volume(place, "at home, three phases, RMS", [blobs((12, 16), THREE, 7)], (1, 3), "--add_dimension", 10, "--loss_type", "RMS", where=(*HOME, "--batch_size", 2))
        volume(place, "at home, image", [blobs((24, 32), TWO, 5)], (1,), where=HOME)
        volume(place, "RMS, not periodic", [blobs((16, 18), TWO, 9)], (2,), "--add_dimension", 12, "--non_periodic", "--loss_type", "RMS")
        volume(place, "at home, Adam, coarse to fine", [blobs((16, 16), TWO, 9)], (2,), "--add_dimension", 16, "--optimizer_type", "Adam",
               "--use_multigrid_reconstruction", where=HOME)
    os.environ["MF_SHARE"] = "0"
    volume(place, "through messages, in rounds", [blobs((16, 20), TWO, 6)], (2,), "--add_dimension", 13, "--batch_size", 4)
    volume(place, "at home, through messages", [blobs((16, 20), TWO, 6)], (2,), "--add_dimension", 13, where=(*HOME, "--batch_size", 4))
    del os.environ["MF_SHARE"]
    os.environ["MF_NODES"] = "2"
    volume(place, "at home, two nodes", [blobs((12, 16), TWO, 6)], (3,), "--add_dimension", 12, where=(*HOME, "--batch_size", 4))
    del os.environ["MF_NODES"]
    gradient(place, "at home, 7x10x12", blobs((14, 17), TWO, 2), (7, 10, 12), (1, 3), "--loss_type", "L1", where=(*HOME, "--batch_size", 2))
    gradient(place, "7x10x12", blobs((14, 17), TWO, 2), (7, 10, 12), (1, 3))
    gradient(place, "three phases, L2", blobs((14, 17), THREE, 3), (7, 10, 12), (1, 4), "--loss_type", "L2")
    lines = ["--descriptor_types", "S2", "LinealPath", "LinealPathApproximation", "LineLinealPathApproximation", "TwoPointCorrelations", "Correlations", "LineCorrelations",
             "StructureTensor"]
    volume(place, "lines", [blobs((16, 20), TWO, 6)], (1, 3), "--add_dimension", 9, *lines)
    gradient(place, "lines, three phases", blobs((14, 17), THREE, 3), (7, 10, 12), (1, 3), *lines, "--non_periodic")
    characterised(place, "lines", blobs((12, 14, 16), THREE, 4), (1, 3), *lines)
    characterised(place, "labels", blobs((12, 14, 16), THREE, 4), (1, 3))
    characterised(place, "a grey image", grey((24, 28), 1, 4), (1, 2), "--grey_values")
    characterised(place, "a grey volume", grey((8, 12, 10), 1, 4), (1, 3), "--grey_values", "--non_periodic")
    stopped(place)
    foretold(place)
    passes(place)
    refused(place)
finish("shadow")
