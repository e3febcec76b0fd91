"""What match and reconstruct write: binary, volume fractions exact to one voxel, figures that NumPy finds again in the
file, and every way to start and to aim.

    recon_result.py MESOFORGE MPIEXEC       exit status 77: NumPy is missing
"""
import json
import os
import sys
import tempfile

import runs
from runs import S2, check, finish, measure, optional, run
from samples import blobs, grey, np, save

h5py = optional("h5py")

PROGRAM, MPIEXEC = sys.argv[1:3]
KEYS = {"output", "shape", "loss", "loss_final", "evaluations", "seconds", "seconds_per_evaluation", "grey_fraction", "volume_fractions",
        "s2_rms_error", "variation_error", "peak_bytes", "device", "ranks", "threads"}
MORE = {"plan", "batch", "tried", "seed", "loss_cut", "polish_seconds", "problem", "swaps_tried", "swaps", "grey_before_cut", "lag", "periodic", "binarise_from"}


def window(x, normal, lag, periodic=True):
    """Mean over the slices of @x with this normal of the S2 of each: [2L-1][2L-1]"""
    x = np.moveaxis(np.atleast_3d(x) if x.ndim == 3 else x[None], normal, 0).astype(float)
    out = np.empty((2 * lag - 1, 2 * lag - 1))
    n, nu, nv = x.shape
    for i in range(1 - lag, lag):
        for j in range(1 - lag, lag):
            if periodic:
                out[lag - 1 + i, lag - 1 + j] = (x * np.roll(x, (-i, -j), (1, 2))).mean()
            else:
                a = x[:, max(0, -i) : nu - max(0, i), max(0, -j) : nv - max(0, j)]
                b = x[:, max(0, i) : nu - max(0, -i), max(0, j) : nv - max(0, -j)]
                out[lag - 1 + i, lag - 1 + j] = (a * b).mean()
    return out


def jumps(x, normal):
    """Jumps per pixel of the slices with this normal, periodic."""
    x = np.moveaxis(x if x.ndim == 3 else x[None], normal, 0).astype(float)
    return (np.abs(np.roll(x, -1, 1) - x) + np.abs(np.roll(x, -1, 2) - x)).mean()


def labels_of(path):
    if path.endswith(".npy"):
        return np.load(path)
    with h5py.File(path) as file:
        return file["microstructure/phase"][:]


def judge(name, done, images, lag, wanted=None, periodic=True):
    """The figures of @done (one JSON object) against its file. @images: one for all directions, or one each. (The polish
    leaves Variation on coarse levels out, so with a small window that is not periodic the loss may rise.)"""
    x, images = labels_of(done["output"]), list(images) * (3 if len(images) == 1 else 1)
    phases = int(images[0].max()) + 1
    check(x.dtype == np.uint8 and list(x.shape) == done["shape"], f"{name}: {x.dtype} {x.shape}, want {done['shape']}")
    check(set(np.unique(x)) == set(range(phases)), f"{name}: values {np.unique(x)}")
    check(done["grey_fraction"] == 0, f"{name}: grey voxels")
    check(not periodic or done["loss_final"] <= done["loss_cut"], f"{name}: the polish made the loss worse: {done['loss_final']} > {done['loss_cut']}")
    sides = 3 if x.ndim == 3 else 1
    worst = 0
    for p in range(phases):
        want = np.mean([(image == p).mean() for image in images[:sides]])
        have = (x == p).sum()
        check(abs(have - want * x.size) <= 1, f"{name}: phase {p} has {have} voxels, target {want * x.size}")
        check(abs(done["volume_fractions"][str(p)] - have / x.size) < 1e-12, f"{name}: fractions {done['volume_fractions']}")
        for d in range(sides):
            of_target = (lambda f: f((images[d] == p), d if images[d].ndim == 3 else 0))
            want = of_target(lambda a, k: window(a, k, lag, periodic))
            off = np.sqrt(np.mean((window(x == p, d, lag, periodic) - want) ** 2))
            said = done["s2_rms_error"][str(p)]["zyx"[d]]
            check(abs(off - said) < 1e-6, f"{name}: phase {p}, normal {'zyx'[d]}: S2 off by {off}, it says {said}")
            check(wanted is None or off < wanted, f"{name}: phase {p}, normal {'zyx'[d]}: S2 off by {off}, want {wanted}")
            density = of_target(jumps)
            worst = max(worst, abs(jumps(x == p, d) / density - 1))
    if periodic:
        check(abs(worst - done["variation_error"]) < 1e-6, f"{name}: interface density off by {worst}, it says {done['variation_error']}")


def match(folder, name, images, *words, ranks=1, lag=4, output="v.npy", wanted=None, files=None, types=S2):
    files = files or [save(folder, f"image{i}.npy", image) for i, image in enumerate(images)]
    done = measure(PROGRAM, "match", *files, *types, "--limit_to", lag, "--output", os.path.join(folder, output), *words, ranks=ranks, mpiexec=MPIEXEC)
    for one in done if isinstance(done, list) else [done] if done else []:
        judge(name, one, images, lag, wanted, "--non_periodic" not in words)
    return done


def sample(folder, *words):
    """An image of synth."""
    path = os.path.join(folder, "sample.npy")
    status, _, err = run(PROGRAM, "synth", *words, "--output", path)
    check(status == 0, f"synth: {err}")
    return path, np.load(path)


def keys(done):
    check(KEYS <= set(done) <= KEYS | MORE, f"keys {sorted(set(done) ^ KEYS)}")
    peaks = done["peak_bytes"]
    known = peaks["arena"] + peaks["rss"] + (peaks["device"] or [])
    check(set(peaks) - {"predicted_device"} == {"predicted", "arena", "rss", "device"} and min(known) > 0, f"{peaks}")
    check((peaks["device"] is None) == (done["device"] == "cpu"), f"{peaks} on {done['device']}")
    check(done["seconds"] >= done["evaluations"] * done["seconds_per_evaluation"] > 0, f"seconds {done['seconds']}, {done['seconds_per_evaluation']}")


def shapes(folder):
    """Images and volumes, periodic and not, one phase and three, each against its own file."""
    path, image = sample(folder, "--kind", "gaussian", "--size", 48, 48, "--volume-fraction", 0.4, "--correlation-length", 4)
    done = match(folder, "image", [image], lag=12, wanted=2e-3, files=[path])
    if done:
        keys(done)
    for name, of, more in (("image", blobs((28, 30), [0.6, 0.4], 1), ()), ("three phases", blobs((24, 26), [0.5, 0.3, 0.2], 7), ("--add-dimension", 12, "--max_iter", 60))):
        match(folder, f"{name}, what the program chooses", [of], *more, lag=6, types=())
    match(folder, "image, not periodic", [image], "--non_periodic", lag=8, wanted=2e-3, files=[path])
    match(folder, "volume", [blobs((32, 20), [0.6, 0.4], 2)], "--add-dimension", 24, "--max_iter", 150, ranks=2)
    match(folder, "prime extents", [blobs((13, 17), [0.6, 0.4], 3)], "--size", 7, 11, 13, "--max_iter", 60, lag=3)
    match(folder, "three phases", [blobs((20, 24), [0.5, 0.3, 0.2], 4)], "--add-dimension", 16, "--max_iter", 100, ranks=2)
    match(folder, "three images", [blobs(s, [0.6, 0.4], 5) for s in ((16, 20), (12, 20), (12, 16))], "--max_iter", 60)
    match(folder, "volume from a volume", [blobs((12, 14, 16), [0.6, 0.4], 6)], "--max_iter", 60)
    done = match(folder, "Adam", [image], "--optimizer_type", "Adam", "--learning_rate", 0.03, lag=8, wanted=1e-2, files=[path])
    check(done and done["evaluations"] == 500, "Adam: evaluations")
    match(folder, "no polish", [image], "--no-polish", lag=8, files=[path])
    match(folder, "coarse to fine", [image], "--use_multigrid_reconstruction", lag=8, wanted=1e-2, files=[path])
    for kind in runs.some(("RMS", "L1", "SSE", "L2"), 4):
        match(folder, kind, [image], "--loss_type", kind, lag=8, wanted=2e-2, files=[path])
    start = save(folder, "start.npy", blobs((20, 30), [0.6, 0.4], 8))
    match(folder, "start of another size", [image], "--initial_microstructure_file", start, lag=8, wanted=1e-2, files=[path])
    isotropic(folder)
    if runs.LONG:
        further_shapes(folder)


def further_shapes(folder):
    match(folder, "odd image, not periodic", [blobs((25, 31), [0.6, 0.4], 1)], "--non_periodic")
    match(folder, "24x32x20", [blobs((32, 32), [0.55, 0.45], 2)], "--size", 24, 32, 20, "--max_iter", 100)
    match(folder, "three phases, image", [blobs((40, 44), [0.5, 0.3, 0.2], 4)], lag=8)
    match(folder, "coarse to fine, volume", [blobs((32, 32), [0.6, 0.4], 7)], "--add-dimension", 32, "--use_multigrid_reconstruction", "--max_iter", 60, ranks=2)
    start = save(folder, "start3.npy", grey((9, 10, 11), 1, 8))
    match(folder, "volume, start of another size", [blobs((16, 16), [0.6, 0.4], 8)], "--add_dimension", 12, "--max_iter", 60, "--initial_microstructure_file", start, ranks=3)


def isotropic(folder):
    """The target of a volume as one: its extents stay."""
    path = save(folder, "image.npy", blobs((12, 14, 16), [0.6, 0.4], 6))
    done = measure(PROGRAM, "match", path, "--isotropic", "--limit_to", 3, "--max_iter", 30, "--output", f"{folder}/v.npy")
    check(done and done["shape"] == [12, 14, 16], f"isotropic volume: shape {done and done['shape']}")


def snapshots(folder):
    """--outfile_data_steps: grey fields whose loss is that of the row of convergence."""
    for name, phases, words, ranks in (("image", 2, ("--descriptor_types", "S2"), 1), ("volume", 3, ("--descriptor_types", "S2", "--add_dimension", 10), 3)):
        image, out = save(folder, "s.npy", blobs((16, 18), [0.5, 0.3, 0.2] if phases == 3 else [0.6, 0.4], 3)), f"{folder}/{name}"
        words = (image, "--limit_to", 4, *words)
        os.mkdir(out)
        done = measure(PROGRAM, "match", *words, "--max_iter", 16, "--outfile_data_steps", 2, "--convergence_data_steps", 1, "--output", f"{out}/v.h5",
                       ranks=ranks, mpiexec=MPIEXEC)
        files = dict(sorted((int(n[:-4].split("_")[-1]), n) for n in os.listdir(out) if n.startswith("v_level_0_iteration_")))
        rows = {int(r[0]): r[2] for r in measure(PROGRAM, "info", f"{out}/v.h5")["convergence"]}
        check(list(files) == list(range(2, 17, 2)), f"{name}: every other evaluation has a file, not {list(files)}")
        step = min(set(files) & set(rows) - {0})  # rows are of steps; later ones are led by what the mean slice misses
        file = files[step]
        x = np.load(f"{out}/{file}")
        check(x.dtype == np.float32 and list(x.shape) == done["shape"] + ([3] if phases == 3 else []) and 0 <= x.min() < x.max() <= 1, f"{name}: {x.shape}")
        start = measure(PROGRAM, "match", *words, "--max_iter", 0, "--initial_microstructure_file", f"{out}/{file}", ranks=ranks, mpiexec=MPIEXEC)
        check(abs(start["loss"] - rows[step]) <= 2e-3 * rows[step], f"{name}: loss {start['loss']} of the snapshot, row {rows[step]}")
    os.mkdir(f"{folder}/adam")
    measure(PROGRAM, "match", image, *S2, "--limit_to", 4, "--optimizer_type", "Adam", "--max_iter", 20, "--outfile_data_steps", 10, "--output", f"{folder}/adam/v.h5")
    names = [f"v_level_0_iteration_{n}.npy" for n in (10, 20)]
    check(sorted(n for n in os.listdir(f"{folder}/adam") if n.endswith(".npy")) == names, f"the last of Adam: {os.listdir(f'{folder}/adam')}")
    os.mkdir(f"{folder}/tnc")
    measure(PROGRAM, "match", image, *S2, "--limit_to", 4, "--optimizer_type", "TNC", "--max_iter", 12, "--outfile_data_steps", 1, "--convergence_data_steps", 1, "--output", f"{folder}/tnc/v.h5")
    steps = {int(r[0]) for r in measure(PROGRAM, "info", f"{folder}/tnc/v.h5")["convergence"]} - {0}
    fields = {int(n[:-4].split("_")[-1]) for n in os.listdir(f"{folder}/tnc") if n.endswith(".npy")}
    check(steps <= fields and 2 not in fields, f"TNC's points of products are no fields of the run: {fields}, steps {steps}")
    left = []
    for out, fault in ((f"{folder}/whole", None), (f"{folder}/stopped", "run.leave:visit=3")):
        os.mkdir(out)
        words = (image, *S2, "--limit_to", 4, "--max_iter", 12, "--outfile_data_steps", 1, "--output", f"{out}/v.h5")
        run(PROGRAM, "match", *words, fault=fault)
        run(PROGRAM, "match", *words, "--restart", "auto")
        left.append(sorted(n for n in os.listdir(out) if n.endswith(".npy")))
    check(left[0] == left[1] and len(left[0]) == 12, f"a run that was stopped lacks snapshots: {left}")
    refused = run(PROGRAM, "match", image, "--limit_to", 4, "--outfile_data_steps", 5, "--optimizer_type", "SimulatedAnnealing", "--output", f"{folder}/n.h5")
    check(refused.status == 2 and "has none" in refused.err, f"annealing: {refused}")
    refused = run(PROGRAM, "match", image, "--limit_to", 4, "--outfile_data_steps", 5, "--max_iter", 0)
    check(refused.status == 2 and "--max_iter 0 makes none" in refused.err, f"no run: {refused}")
    said = run(PROGRAM, "match", image, "--limit_to", 4, "--max_iter", 5, "--no-polish", "--polish-rounds", 2, "--output", f"{folder}/n.h5")
    check(said.status == 0 and "--polish-rounds has no effect: --no-polish" in said.err, f"rounds of no polish: {said}")


def written(folder):
    """The HDF5 file, its neighbours, and several realisations."""
    image = blobs((24, 28), [0.6, 0.4], 9)
    path = save(folder, "image.npy", np.where(image, 200, 50).astype(np.uint8))
    out = os.path.join(folder, "out")
    done = measure(PROGRAM, "match", path, "--labels", "50,200", "--limit_to", 4, "--spacing", 0.5, 0.25, "--unit", "um", "--add_dimension", 10,
                   "--max_iter", 40, "--convergence_data_steps", 5, "--data_folder", out, "--seed", 4)
    if not done:
        return
    check(done["output"] == f"{out}/image_reconstructed.h5", f"output {done['output']}")
    check(sorted(os.listdir(out)) == ["image_reconstructed.h5", "image_reconstructed.xdmf", "metrics.jsonl"], f"files {os.listdir(out)}")
    check(set(done["volume_fractions"]) == {"50", "200"}, f"labels in {done['volume_fractions']}")
    rows = [json.loads(line) for line in open(f"{out}/metrics.jsonl")]
    if h5py:
        with h5py.File(done["output"]) as file:
            phase = file["microstructure/phase"]
            check(list(phase.attrs["labels"]) == [50, 200], f"labels {phase.attrs['labels']}")
            check(list(phase.attrs["spacing"][1:]) == [0.5, 0.25] and phase.attrs["unit"] == "um", f"spacing {phase.attrs['spacing']}")
            check(phase.shape == (10, 24, 28) and set(np.unique(phase[:])) == {0, 1}, f"phase {phase.shape}")
            rise = file["convergence"][:]
            check(rise.shape == (len(rows), 3) and np.allclose(rise[:, 2], [row["loss"] for row in rows], rtol=0), "convergence against metrics.jsonl")
            check(np.all(np.diff(rise[:, 0]) >= 0) and np.all(np.diff(rise[:, 1]) >= 0), "convergence goes back")
            check(rise[-1, 2] == done["loss_final"] and file.attrs["seed"] == 4, f"last loss {rise[-1]}, seed {file.attrs['seed']}")
            told = json.loads(file["results"][()])
            check(told["loss_final"] == done["loss_final"] and told["output"] == done["output"], "results in the file")
    many = match(folder, "realisations", [image], "--realisations", 3, "--seed", 5, "--max_iter", 40, output="many.npy")
    check([one["output"] for one in many] == [f"{folder}/many_seed{s}.npy" for s in (5, 6, 7)], f"{[one['output'] for one in many]}")
    check(len({open(one["output"], "rb").read() for one in many}) == 3, "realisations are alike")
    alone = match(folder, "its second", [image], "--seed", 6, "--max_iter", 40, output="alone.npy")
    check(open(alone["output"], "rb").read() == open(many[1]["output"], "rb").read(), "a realisation differs from a run with its seed")


def losses(folder):
    """--batch_size changes nothing, --dry-run does nothing."""
    words = ["match", save(folder, "image.npy", blobs((16, 20), [0.6, 0.4], 9)), "--limit_to", 4, "--add_dimension", 12]
    for ranks in (1, 3):
        loss = {measure(PROGRAM, *words, "--max_iter", 0, *batch, ranks=ranks, mpiexec=MPIEXEC)["loss"]
                for batch in runs.some(([], ["--batch_size", 1], ["--batch_size", 4], ["--batch_size", 0.5]), ranks)}
        check(max(loss) - min(loss) <= 1e-6 * max(loss), f"--batch_size on {ranks} ranks: {loss}")
    before = sorted(os.listdir(folder))
    status, out, err = run(PROGRAM, *words, "--dry-run", "--data_folder", f"{folder}/none", "--output", f"{folder}/none.h5")
    check(status == 0 and "12 x 16 x 20" in out and sorted(os.listdir(folder)) == before, f"--dry-run: {status} {out} {os.listdir(folder)}")


def dry(folder):
    """--dry-run --json prints one object, which knows the memory of the run."""
    image = save(folder, "image.npy", blobs((24, 32), [0.6, 0.4], 9))
    three = save(folder, "three.npy", blobs((24, 32), [0.5, 0.3, 0.2], 9))
    match = ["match", image, *S2, "--limit_to", 4, "--max_iter"]
    for words in (match + [9], match + [9, "--add_dimension", 20], match + [9, "--add_dimension", 20, "--no-polish", "--optimizer_type", "Adam"], match + [0],
                  match + [9, "--size", 24, 26, 28, "--use_multigrid_reconstruction"], ["match", three, *S2, "--limit_to", 4, "--max_iter", 9, "--size", 16, 18, 20]):
        for ranks in runs.some((3, 1) if "--size" in words else (1, 3)):
            before = sorted(os.listdir(folder))
            plan = measure(PROGRAM, *words, "--dry-run", "--output", f"{folder}/dry.npy", ranks=ranks, mpiexec=MPIEXEC)
            check(plan["dry_run"] is True and sorted(os.listdir(folder)) == before, f"{words}: not dry")
            check(plan["options"]["limit-to"] == "4" and plan["ranks"] == ranks and len(plan["shape"]) in (2, 3), f"{words}: {plan}")
            done = measure(PROGRAM, *words, "--output", f"{folder}/wet.npy", ranks=ranks, mpiexec=MPIEXEC)
            pairs = [pair for key in plan["bytes"] for pair in zip(plan["bytes"][key], done["peak_bytes"][key])]
            check(len(pairs) == ranks * len(plan["bytes"]) and all(abs(a - b) <= 0.01 * b for a, b in pairs), f"{words}, {ranks} ranks: bytes foretold and taken {pairs}")
    plan = measure(PROGRAM, *match, 9, "--dry-run", "--size", 512, 512, 512)
    check(sum(b[0] for b in plan["bytes"].values()) > 36 * 512**3, f"512^3: {plan['bytes']}")
    one, many = (measure(PROGRAM, *match, 9, "--dry-run", "--size", 512, 512, "--threads", t)["bytes"]["arena"][0] for t in (1, 16))
    check(many < 2 * one, f"an image is one slice: {one} bytes on one thread, {many} on 16")
    for words, count in ((["characterize", image, "--limit_to", 4], 1), (["characterize", image, three, "--limit_to", 4], 2), (["synth", "--size", 9, 10, "--correlation-length", 2], 1)):
        plan = measure(PROGRAM, *words, "--dry-run", "--data_folder", folder)
        plan = plan if count > 1 else [plan]
        check(len(plan) == count and all(one["dry_run"] and one["bytes"] and len(one["shape"]) == 2 for one in plan), f"{words}: {plan}")


def gradients(folder):
    """Every realisation has a gradient of its own."""
    words = ["match", save(folder, "image.npy", blobs((16, 20), [0.6, 0.4], 9)), *S2, "--limit_to", 4, "--max_iter", 0]
    many = measure(PROGRAM, *words, "--seed", 3, "--realisations", 2, "--save_gradient", f"{folder}/g.npy")
    check([one["gradient"] for one in many] == [f"{folder}/g_seed{s}.npy" for s in (3, 4)], f"names of gradients: {many}")
    alone = measure(PROGRAM, *words, "--seed", 4, "--save_gradient", f"{folder}/alone.npy")
    check(open(alone["gradient"], "rb").read() == open(f"{folder}/g_seed4.npy", "rb").read(), "a gradient differs from that of its seed")
    check("gradient" not in measure(PROGRAM, *words), "a gradient that nobody wanted")


def same(folder, name, one, other, *words):
    """Two commands, the same bytes."""
    bytes_of = []
    for k, command in enumerate((one, other)):
        done = measure(PROGRAM, *command, *words, "--deterministic", "--max_iter", 40, "--output", f"{folder}/same{k}.npy")
        bytes_of.append(open(done["output"], "rb").read() if done else k)
    check(bytes_of[0] == bytes_of[1], f"{name}: other bytes than match")


def which_phases(folder):
    """--no_multiphase: the indicator of phase 1 alone; --use_multiphase: a field for each of two phases."""
    three, two = blobs((24, 26), [0.5, 0.3, 0.2], 7), blobs((24, 26), [0.6, 0.4], 7)
    words = ("--limit_to", 4, "--max_iter", 60, "--output", f"{folder}/v.npy")
    measure(PROGRAM, "match", save(folder, "three.npy", three), *S2, "--no_multiphase", *words)
    left = np.load(f"{folder}/v.npy")
    check(set(np.unique(left)) == {0, 1} and abs((left == 1).sum() - (three == 1).sum()) <= 1, f"phase 1 alone: {np.unique(left, return_counts=True)}")
    arena = [match(folder, f"two phases {more}", [two], "--max_iter", 60, *more)["peak_bytes"]["arena"] for more in ((), ("--use_multiphase",))]
    check(arena[0][0] < arena[1][0], f"two fields take no more memory than one: {arena}")
    refused = run(PROGRAM, "match", f"{folder}/three.npy", "--use_multiphase", "--no_multiphase", *words)
    check(refused.status == 2 and "contradict" in refused.err, f"both: {refused}")


def files(folder):
    """Descriptor files of characterize and merge give what match gives."""
    images = [save(folder, f"image{i}.npy", blobs(s, [0.6, 0.4], 5 + i)) for i, s in enumerate(((16, 20), (12, 20), (12, 16)))]
    for image in images:
        status, _, err = run(PROGRAM, "characterize", image, "--limit_to", 4, "--data_folder", folder)
        check(status == 0, f"characterize: {err}")
    sides = [image.replace(".npy", "_characterization.h5") for image in images]
    same(folder, "characterize", ["match", images[0], *S2, "--limit_to", 4], ["reconstruct", "--descriptor_filename", sides[0], "--extent_y", 16, "--extent_x", 20])
    same(folder, "characterize, volume", ["match", images[0], *S2, "--limit_to", 4, "--add_dimension", 12], ["reconstruct", "--descriptor_filename", sides[0], "--size", 12, 16, 20])
    status, _, err = run(PROGRAM, "merge", sides[0], sides[1], f"{folder}/merged.h5", "--z_file", sides[2])
    check(status == 0, f"merge: {err}")
    same(folder, "merge", ["match", *images, *S2, "--limit_to", 4], ["reconstruct", "--descriptor_filename", f"{folder}/merged.h5", "--size", 12, 16, 20])


def many_phases(folder):
    """The polish of many phases takes what made it worse back, makes fewer swaps, and so gets on and comes to its end."""
    for phases in runs.some((4, 6)):
        image = save(folder, f"many{phases}.npy", blobs((20, 20), [1 / phases] * phases, 3))
        status, out, err = run(PROGRAM, "match", image, "--descriptor_types", "LinealPath", "FFTCorrelations", "--max_iter", 20, "--limit_to", 4,
                               "--seed", 1, "--threads", 1, "--logging_level", 10, "--json", "--output", f"{folder}/many.npy")
        done, rounds = json.loads(out) if status == 0 else {}, err.count("polish round ")
        check(status == 0 and 5 < rounds < 200 and done["loss_final"] < 0.25 * done["loss_cut"],
              f"polish of {phases} phases: {rounds} rounds, {done.get('loss_cut')} to {done.get('loss_final')} {err[-300:]}")


def common_phase(folder):
    """Mean-field annealing makes volumes binary, but not where a phase has more than 95 %: it lost the other one there."""
    for common, share in ((0.9, 0.3), (0.98, 0.5)):
        done = match(folder, f"a phase of {common}", [blobs((32, 32), [1 - common, common], 3, 2)], "--add_dimension", 16, "--max_iter", 100)
        check(done["binarise_from"] <= share * 100 < done["binarise_from"] + 10, f"{common}: other stages, {done}")
        check(done["loss_final"] < 2 * done["loss"], f"{common}: {done}")


with tempfile.TemporaryDirectory() as place:
    for part in (shapes, snapshots, written, losses, dry, gradients, which_phases, files, many_phases, common_phase):
        folder = os.path.join(place, part.__name__)
        os.mkdir(folder)
        part(folder)
finish("recon_result")
