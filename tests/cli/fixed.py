"""--fixed: voxels that were measured stay as they are, through every stage, on any number of ranks and after a stop.

    fixed.py MESOFORGE MPIEXEC ...       exit status 77: NumPy is missing
"""
import os
import sys
import tempfile

import runs
from runs import S2, check, finish, measure, refuses
from samples import blobs, digest, grey, np, save

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2:]
TWO, THREE = [0.6, 0.4], [0.5, 0.3, 0.2]


def partial(shape, fractions, seed):
    """A slab of another microstructure and some voxels here and there; -1 elsewhere."""
    field = np.full(shape, -1, np.int8)
    other = blobs(shape, fractions, seed)
    field[..., 3:7] = other[..., 3:7]
    some = np.random.default_rng(seed).random(shape) < 0.05
    field[some] = other[some]
    return field


def result(words, ranks=1, **more):
    if os.path.exists("out.npy"):
        os.remove("out.npy")
    said = measure(PROGRAM, "match", *words, *S2, "--output", "out.npy", "--deterministic", ranks=ranks, mpiexec=MPIEXEC, **more)
    return (np.load("out.npy"), said) if said else (None, None)


def stays(name, fixed, words, many=()):
    """The result agrees with what is fixed, has its volume fractions to one voxel, and is the same on many ranks."""
    found, said = result(words)
    if found is None:
        return
    held = fixed >= 0
    check(np.array_equal(found[held], fixed[held]), f"{name}: {np.sum(found[held] != fixed[held])} fixed voxels have changed")
    counts, target = np.bincount(found.ravel()), np.bincount(np.load(words[0]).ravel())
    check(np.all(abs(counts - target * (found.size / target.sum())) < 1), f"{name}: {counts} voxels of the phases")
    if "--no_polish" not in words:
        check(said["swaps"] > 0 and said["loss_final"] < said["loss_cut"], f"{name}: the polish did nothing: {said['swaps']} swaps")
    for ranks in many:
        again, _ = result(words, ranks)
        check(again is not None and np.array_equal(again, found), f"{name}: other bits on {ranks} ranks")


def resumed(words, want):
    """Stopped again and again, in the descent and the polish."""
    legs, code, go = 0, 75, []
    while code == 75 and legs < 30:
        code, _, err = runs.run(PROGRAM, "match", *words, *S2, "--deterministic", "--output", "r.npy", *go, ranks=1 + legs % 3, mpiexec=MPIEXEC, fault="run.leave:visit=11")
        go, legs = ["--restart", "auto"], legs + 1
    if check(code == 0 and legs > 3, f"{legs} legs, the last ended with {code}: {err}"):
        check(digest("r.npy") == want, f"other bits after {legs} legs")


def gradient(image, fixed):
    """Zero where voxels are fixed, and there alone."""
    save(".", "start.npy", grey(fixed.shape, 1, 3))
    measure(PROGRAM, "match", image, "--limit_to", 4, "--initial_microstructure_file", "start.npy", "--fixed", "fixed.npy", "--max_iter", 0, "--save-gradient", "g.npy")
    g = np.load("g.npy")
    check(np.array_equal(g == 0, fixed >= 0), f"{np.sum(g == 0)} zeros in the gradient, {np.sum(fixed >= 0)} fixed voxels")


def labelled():
    """Fixed voxels and the initial field have the labels of the sample; a result has phases, in the order of --labels."""
    phase, held = blobs((16, 16), TWO, 7), np.arange(16) < 5
    quick = [*S2, "--limit_to", 3, "--no_polish", "--output", "out.npy", "--max_iter", 2]

    def keeps(name, want, *words, verb="match"):
        measure(PROGRAM, verb, *words, "--fixed", "part.npy", *quick)
        check(np.array_equal(np.load("out.npy")[want], phase[want]), f"{name}: measured voxels have changed")

    for labels in ((1, 0), (1, 2), (0, 255)):
        name, of = f"labels {labels}", np.array(labels, np.int16)[phase]
        words = [save(".", "sample.npy", of), "--labels", f"{labels[0]},{labels[1]}"]
        for want in (held & (phase < 2), held & (phase == 1)):
            save(".", "part.npy", np.where(want, of, -1))
            keeps(name, want, *words)
        loss = measure(PROGRAM, "match", *words, *S2, "--limit_to", 3, "--initial_microstructure_file", "sample.npy", "--max_iter", 0)["loss"]
        check(loss < 1e-9, f"{name}: the loss of the sample itself is {loss}")
    save(".", "sample.npy", 1 - phase)
    save(".", "part.npy", np.where(held, 1 - phase.astype(np.int8), -1))
    save(".", "real.npy", (1 - phase).astype(np.float32))
    measure(PROGRAM, "characterize", "sample.npy", "--labels", "1,0", "--limit_to", 3, "--data_folder", ".")
    keeps("descriptors", held & (phase < 2), "sample_characterization.h5", verb="reconstruct")
    save(".", "part.npy", np.where(held, phase.astype(np.int8), -1))
    keeps("descriptors, labels that are told", held & (phase < 2), "sample_characterization.h5", "--labels", "0,1", verb="reconstruct")
    loss = measure(PROGRAM, "match", "sample.npy", "--labels", "1,0", *S2, "--limit_to", 3, "--initial_microstructure_file", "real.npy", "--max_iter", 0)["loss"]
    check(loss < 1e-9, f"whole numbers stored as reals: loss {loss}")
    grey_ = save(".", "grey.npy", (40 + 100 * phase + np.arange(16)).astype(np.uint8))
    for start in ("grey.npy", save(".", "phase.npy", phase)):
        loss = measure(PROGRAM, "match", grey_, "--threshold", 90, *S2, "--limit_to", 3, "--initial_microstructure_file", start, "--max_iter", 0)["loss"]
        check(loss < 1e-9, f"{start}: the loss of the sample itself is {loss}")

    save(".", "wrong.npy", np.where(held, phase.astype(np.int16) + 1, -1))
    save(".", "both.npy", np.where(held, phase.astype(np.int16) * 255, -1))
    save(".", "holes.npy", np.where(held, phase, np.nan))
    cases = [(["phase.npy", "--fixed", "wrong.npy"], "holds the value 2, which is no label of the sample (0, 1)"),
             (["phase.npy", "--fixed", "both.npy"], "holds -1 and 255, and neither is a label"),
             (["phase.npy", "--fixed", "holes.npy"], "the first at [0][5]; write -1 where the result is free"),
             ([grey_, "--threshold", 90, "--fixed", "wrong.npy"], "no label of the sample (0, 1, by --threshold)"),
             (["phase.npy", "--initial_microstructure_file", "grey.npy"], "which is no label of the sample (0, 1)")]
    refuses(PROGRAM, [(3, ["match", *words], says) for words, says in cases], *quick, ranks=(1,))
    many = ["reconstruct", "sample_characterization.h5", "--fixed", "part.npy", "--labels", ",".join(map(str, range(1000)))]
    refuses(PROGRAM, [(2, many, "--labels names 1000 phases; at most 32 are possible")], *quick, ranks=(1,))


def main():
    two, three = save(".", "two.npy", blobs((24, 24), TWO, 1)), save(".", "three.npy", blobs((16, 16), THREE, 2))
    short = ["--limit_to", 4, "--max_iter", 40]
    flat = partial((24, 24), TWO, 3)
    save(".", "fixed.npy", flat)
    gradient(two, flat)
    stays("image", flat, [two, *short, "--fixed", "fixed.npy"], (2,))
    save(".", "bytes.npy", flat.astype(np.uint8))
    check(np.array_equal(result([two, *short, "--fixed", "bytes.npy"])[0], result([two, *short, "--fixed", "fixed.npy"])[0]), "255 is not as -1")
    deep = partial((12, 24, 24), TWO, 4)
    save(".", "deep.npy", deep)
    volume = [two, *short, "--add_dimension", 12, "--fixed", "deep.npy"]
    stays("volume", deep, volume, (3,))
    resumed(volume, digest("out.npy"))
    stays("a device", deep, [*volume, "--device", "shadow"])
    stays("a device, fields in host memory", deep, [*volume, "--device", "shadow", "--residency", "host"])
    stays("not periodic", flat, [two, *short, "--fixed", "fixed.npy", "--non_periodic"])
    stays("coarse to fine", flat, [two, "--limit_to", 3, "--max_iter", 40, "--fixed", "fixed.npy", "--use_multigrid_reconstruction"])
    for method in runs.some(("SPG", "TNC", "Adam", "Adadelta", "SGD", "RMSprop")):
        stays(method, flat, [two, *short, "--fixed", "fixed.npy", "--optimizer_type", method, "--no_polish"])
    for rule in ("random", "relaxed_neighbor", "neighbor_in_phase"):
        anneal = ["--limit_to", 4, "--max_iter", 3000, "--optimizer_type", "SimulatedAnnealing", "--mutation_rule", rule]
        stays(f"annealing, {rule}", flat, [two, *anneal, "--fixed", "fixed.npy"])
    large = partial((16, 24, 24), TWO, 6)
    save(".", "large.npy", large)
    stays("annealing of a volume", large, [two, *anneal, "--add_dimension", 16, "--fixed", "large.npy"], (3,))
    many = partial((10, 16, 16), THREE, 5)
    save(".", "many.npy", many)
    stays("three phases", many, [three, *short, "--add_dimension", 10, "--fixed", "many.npy"], (3,))

    full, strange = np.ones((24, 24), np.int8), flat.copy()
    strange[0, 0] = 40
    save(".", "full.npy", full)
    save(".", "strange.npy", strange)
    save(".", "third.npy", np.where(flat >= 0, 2, flat))
    open("cut.npy", "wb").write(open("fixed.npy", "rb").read()[:300])
    cases = [(3, "deep.npy", "a field of 12 x 24 x 24, the result has 1 x 24 x 24"), (3, "full.npy", "576 voxels are fixed at phase 1"),
             (3, "strange.npy", "holds the value 40"), (3, "third.npy", "holds the value 2"), (3, "cut.npy", "cut.npy"),
             (3, "none.npy", "none.npy")]
    refuses(PROGRAM, [(code, ["match", two, *short, "--fixed", file], says) for code, file, says in cases], "--output", "no.npy", ranks=(1, 2), mpiexec=MPIEXEC)
    refuses(PROGRAM, [(code, ["match", two, *short, "--fixed", file, "--dry-run"], says) for code, file, says in cases[:4]], ranks=(1, 3), mpiexec=MPIEXEC)
    refuses(PROGRAM, [(2, ["plan", "reconstruct", two, "--fixed", "fixed.npy"], "--fixed")], ranks=(1,))
    check(not os.path.exists("no.npy"), "a refused run has written its output")
    labelled()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
finish("fixed")
