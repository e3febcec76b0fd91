"""reconstruct and match on any number of ranks: the same loss and gradient, the same first losses, and with
--deterministic the same bytes.

    recon_ranks.py MESOFORGE MPIEXEC       exit status 77: NumPy is missing
"""
import json
import os
import sys
import tempfile

from runs import LONG, check, finish, measure, run, some as some_of
from samples import blobs, grey, np, save

PROGRAM, MPIEXEC = sys.argv[1:3]
TWO, THREE = [0.6, 0.4], [0.5, 0.3, 0.2]
EVERY = ("FFTCorrelations Variation VolumeFractions Patches LinealPath LinealPathApproximation LineLinealPathApproximation TwoPointCorrelations Correlations "
         "LineCorrelations StructureTensor FFTCrossCorrelations CrossCorrelations S2_3D CrossS2_3D").split() # with a gradient, without weights from outside


STEPS = 60 if LONG else 24


def apart(a, b):
    return np.linalg.norm(a.astype(float) - b) / np.linalg.norm(b)


def one_field(folder, name, image, shape, many, *words):
    """Loss and gradient of one field on one rank and on many."""
    phases = 3 if image.max() > 1 else 1
    files = [save(folder, "image.npy", image), save(folder, "start.npy", grey(shape, phases, 5))]
    first = None
    for ranks in (1, *some_of(many, 4)):
        json = measure(PROGRAM, "match", files[0], "--size", *shape, "--initial_microstructure_file", files[1], "--max_iter", 0,
                       "--save_gradient", f"{folder}/g.npy", *words, ranks=ranks, mpiexec=MPIEXEC)
        if json is None:
            return
        g = np.load(f"{folder}/g.npy")
        first = first or (json["loss"], g)
        check(abs(json["loss"] - first[0]) <= 1e-6 * first[0], f"{name}, {ranks} ranks: loss {json['loss']!r}, one rank {first[0]!r}")
        check(apart(g, first[1]) <= 1e-6, f"{name}, {ranks} ranks: gradient off by {apart(g, first[1]):.2g}")
        check(json["ranks"] == ranks and len(json["peak_bytes"]["arena"]) == ranks, f"{name}: ranks in {json}")


def by_strips(folder, name, image, shape, many, *words):
    """The same where ranks are on two nodes and slabs are thick: planes beside slabs travel, and no slices (kernels/slices/strips.h)."""
    os.environ["MF_NODES"] = "2"
    one_field(folder, f"{name}, by strips", image, shape, many, *words)
    for ranks in some_of(many, 3):
        status, _, err = run(PROGRAM, "match", f"{folder}/image.npy", "--size", *shape, "--initial_microstructure_file", f"{folder}/start.npy", "--max_iter", 0,
                             "--logging_level", 10, *words, ranks=ranks, mpiexec=MPIEXEC)
        check(status == 0 and "sums of strips" in err, f"{name}, {ranks} ranks: not by strips: {err[-300:]}")
    del os.environ["MF_NODES"]


def lopsided(folder):
    """A target whose windows differ from their opposites a little, as rounded ones of other programs do: the same loss by strips as by slices."""
    save(folder, "image.npy", blobs((48, 48), TWO, 2))
    status, _, err = run(PROGRAM, "characterize", f"{folder}/image.npy", "--limit_to", 4, "--export", f"S2={folder}/s2.npy", "--data_folder", folder)
    window = np.load(f"{folder}/s2.npy")[:1, :1]
    window[..., :3, :] += 4e-5
    window[..., 4:, :] -= 4e-5
    save(folder, "s2.npy", window)
    losses = []
    for nodes, ranks in (("1", 1), ("1", 2), ("2", 2)):
        os.environ["MF_NODES"] = nodes
        json = measure(PROGRAM, "reconstruct", "--target", f"S2={folder}/s2.npy", "--size", 48, 48, 48, "--seed", 3, "--max_iter", 0, "--save_gradient",
                       f"{folder}/g{len(losses)}.npy", ranks=ranks, mpiexec=MPIEXEC)
        losses.append(json["loss"] if json else 0)
    del os.environ["MF_NODES"]
    g = [np.load(f"{folder}/g{i}.npy") for i in range(3)]
    check(max(abs(loss - losses[0]) for loss in losses) <= 1e-6 * losses[0] and apart(g[2], g[0]) <= 1e-6, f"lopsided: {status} {err} {losses}")


def first_losses(folder, image):
    """The first losses of a run, without --deterministic."""
    path, first = save(folder, "image.npy", image), None
    for ranks in some_of((1, 3, 4, 7), 3):
        out = os.path.join(folder, str(ranks))
        os.mkdir(out)
        measure(PROGRAM, "match", path, "--add_dimension", 16, "--limit_to", 4, "--max_iter", 12, "--no_polish", "--seed", 3,
                "--convergence_data_steps", 1, "--output", f"{out}/v.npy", ranks=ranks, mpiexec=MPIEXEC)
        rows = [json.loads(line) for line in open(f"{out}/metrics.jsonl")]
        losses = np.array([row["loss"] for row in rows[:6]])
        check(len(losses) == 6 and rows[0]["step"] == 0, f"{ranks} ranks: {len(rows)} rows of metrics")
        first = losses if first is None else first
        check(np.allclose(losses, first, rtol=1e-6, atol=0), f"first losses on {ranks} ranks {losses}, on one {first}")


def volume(folder, files, words, ranks=1, threads=1):
    path = os.path.join(folder, "v.npy")
    if os.path.exists(path):
        os.remove(path)
    done = measure(PROGRAM, "match", *files, *words, "--threads", threads, "--output", path, ranks=ranks, mpiexec=MPIEXEC)
    return (open(path, "rb").read(), done) if done else (b"", None)


def same_bytes(folder, name, images, many, *words):
    """Whole runs, to the last bit. @many: (ranks, threads) to compare with one rank of one thread."""
    files = [save(folder, f"image{i}.npy", image) for i, image in enumerate(images)]
    words = ["--limit_to", 4, "--max_iter", 8 if "Patches" in words else STEPS, "--deterministic", *words]
    first, done = volume(folder, files, words)
    for ranks, threads in some_of(many):
        again, more = volume(folder, files, words, ranks, threads)
        check(again == first, f"{name}: {ranks} ranks with {threads} threads write other bytes")
        for key in ("loss", "loss_cut", "loss_final", "evaluations", "swaps"):
            check(more and more[key] == done[key], f"{name}: {key} {more and more[key]!r} on {ranks} ranks, {done and done[key]!r} on one")
    return first


def main():
    with tempfile.TemporaryDirectory() as folder:
        one_field(folder, "cube", blobs((16, 16), TWO, 1), (16, 16, 16), (3, 2, 4, 7), "--limit_to", 4)
        one_field(folder, "7x10x12", blobs((14, 17), TWO, 2), (7, 10, 12), (7, 2, 3, 4), "--limit_to", 2)
        one_field(folder, "7x10x12, not periodic", blobs((14, 17), TWO, 2), (7, 10, 12), (2, 7), "--limit_to", 3, "--non_periodic", "--no_multiphase", "--loss_type", "RMS")
        one_field(folder, "three phases", blobs((14, 17), THREE, 3), (7, 10, 12), (3, 4), "--limit_to", 2)
        for some, words in ((EVERY[:8], []), (EVERY[8:], []), (EVERY[:8], ["--non_periodic"]), (EVERY[8:], ["--non_periodic"])):
            one_field(folder, f"{some} {words}", blobs((18, 20, 21), THREE, 3), (18, 20, 21), (2, 3, 4), "--limit_to", 4, "--descriptor_types", *some, *words)
        one_field(folder, "image", blobs((17, 14), TWO, 4), (17, 14), (2,), "--limit_to", 4)
        for name, image, shape, many, *words in some_of((
                ("48^3", blobs((48, 48), TWO, 2), (48, 48, 48), (2, 3, 4), "--limit_to", 4),
                ("24x40x31, not periodic, L1", blobs((40, 40), TWO, 2), (24, 40, 31), (2,), "--limit_to", 3, "--non_periodic", "--no_multiphase", "--loss_type", "L1"),
                ("three phases", blobs((32, 32), THREE, 3), (40, 32, 34), (2,), "--limit_to", 4, "--descriptor_types", "S2", "Variation"),
                ("S2 alone, one level", blobs((32, 32), TWO, 3), (26, 33, 35), (2, 3), "--limit_to", 3, "--descriptor_types", "S2", "--no_multigrid_descriptor"),
                ("S2 alone, not periodic", blobs((48, 48), TWO, 2), (48, 48, 48), (2,), "--limit_to", 4, "--descriptor_types", "S2", "--non_periodic", "--no_multiphase", "--no_multigrid_descriptor"),
                ("Variation alone, SSE", blobs((32, 32), TWO, 3), (32, 33, 34), (2,), "--limit_to", 2, "--descriptor_types", "Variation", "--loss_type", "SSE"))):
            by_strips(folder, name, image, shape, many, *words)
        lopsided(folder)
        first_losses(folder, blobs((16, 16), TWO, 1))
        some = ((1, 2), (3, 1))
        a = same_bytes(folder, "image", [blobs((24, 32), TWO, 5)], ((1, 2), (2, 1)), "--seed", 1)
        lines = ("--descriptor_types", "S2", "LinealPath", "Patches", "--polish-rounds", 1)  # two ranks and more share such images
        same_bytes(folder, "shared image, three phases", [blobs((96, 90), THREE, 5)], ((2, 1), (3, 2)), *lines, "--loss_type", "RMS", "--non_periodic")
        same_bytes(folder, "shared image, coarse to fine", [blobs((96, 96), TWO, 5)], ((2, 2),), *lines, "--use_multigrid_reconstruction")
        b = same_bytes(folder, "volume", [blobs((16, 20), TWO, 6)], ((1, 2), (2, 2), (3, 1), (4, 1)), "--add_dimension", 13, "--seed", 1)
        same_bytes(folder, "three phases", [blobs((12, 16), THREE, 7)], some, "--add_dimension", 10)
        same_bytes(folder, "Adam, coarse to fine", [blobs((16, 16), TWO, 9)], some, "--add_dimension", 16, "--optimizer_type", "Adam", "--use_multigrid_reconstruction")
        same_bytes(folder, "drawn slices", [blobs((12, 14), TWO, 9)], some, "--add_dimension", 10, "--optimizer_type", "Adam", "--greedy", "--batch_size", 0.3, "--no_polish")
        same_bytes(folder, "mean slice", [blobs((12, 14), TWO, 9)], some, "--add_dimension", 10, "--slice_objective", "mean")
        if LONG:
            same_bytes(folder, "three phases, image", [blobs((24, 20), THREE, 7)], ((4, 1),))
            same_bytes(folder, "three images", [blobs(s, TWO, 8) for s in ((16, 20), (12, 20), (12, 16))], some, "--loss_type", "L1")
            same_bytes(folder, "not periodic", [blobs((16, 18), TWO, 9)], some, "--add_dimension", 12, "--non_periodic")
            same_bytes(folder, "lines", [blobs((16, 20), TWO, 6)], some, "--add_dimension", 10, "--descriptor_types", "S2", "LinealPath", "Variation")
        for nodes, many in (("2", ((3, 1), (4, 1))), ("2r", ((3, 1),))):  # as if these ranks were on two, side by side or in turn
            os.environ["MF_NODES"] = nodes
            same_bytes(folder, f"nodes {nodes}", [blobs((12, 16), TWO, 6)], many, "--add_dimension", 12, "--batch_size", 4)
        del os.environ["MF_NODES"]
        os.environ["MF_FAULT"] = "mpi.share:visit=3:rank=1"  # a second phase's slices go by messages
        same_bytes(folder, "a phase without shared memory", [blobs((12, 16), THREE, 7)], ((2, 1),), "--add_dimension", 10)
        del os.environ["MF_FAULT"]
        files = [save(folder, "image.npy", blobs((16, 20), TWO, 6))]
        for seed, equal in ((1, True), (2, False)):
            words = ["--limit_to", 4, "--max_iter", STEPS, "--deterministic", "--add_dimension", 13, "--seed", seed]
            check((volume(folder, files, words)[0] == b) == equal, f"seed {seed} against seed 1")
        check(len(a) > 0 and len(b) > 0, "empty volumes")
    finish("recon_ranks")


main()
