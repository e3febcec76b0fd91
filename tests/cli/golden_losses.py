"""Losses and gradients under --compat mcrpy against values from runs of MCRpy 0.2.0 and of its formulas, on one and several ranks.

    golden_losses.py MESOFORGE FOLDER [RANKS ...]       exit status 77: no golden files, or no NumPy

FOLDER: that of the published values, or tests/data, whose values definitions.py computed of micrographs that synth makes.
"""
import json, os, subprocess, sys, tempfile

import golden
import runs

sys.dont_write_bytecode = True

try:
    import numpy as np
except ImportError:
    print("no numpy")
    sys.exit(77)


def field2d(shape, phases):
    i, j = np.mgrid[0:shape[0], 0:shape[1]]
    x = 0.5 + 0.45 * np.sin(0.37 * i + 1.0) * np.cos(0.53 * j + 0.2 * i)
    if phases == 1:
        return x
    y = [np.exp(np.sin(0.31 * (p + 1) * i + 0.7 * p) + np.cos(0.23 * (p + 2) * j - 0.4 * p)) for p in range(phases)]
    y = np.stack(y, -1)
    return y / y.sum(-1, keepdims=True)


def field3d(shape):
    i, j, k = np.mgrid[0:shape[0], 0:shape[1], 0:shape[2]]
    return 0.5 + 0.45 * np.sin(0.37 * i + 1.0) * np.cos(0.53 * j + 0.2 * k)


def run(program, ranks, folder, image, case):
    shape, phases = case["shape"], case["phases"]
    field = field2d(shape, phases) if len(shape) == 2 else field3d(shape)
    start, gradient = os.path.join(folder, "start.npy"), os.path.join(folder, "gradient.npy")
    np.save(start, field.astype(np.float64))
    command = [program, "match", "--microstructure_filename", image, "--compat", "mcrpy", "--max_iter", "0", "--json",
               "--initial_microstructure_file", start, "--save-gradient", gradient, "--limit_to", str(case["L"]),
               "--loss_type", case["loss"], "--descriptor_types", *case["types"],
               "--descriptor_weights", *[repr(w) for w in case["weights"]], "--size", *[str(n) for n in shape]]
    command += ["--use_multigrid_reconstruction"] if case["levels"] > 1 else []
    command += ["--use_multiphase"] if phases > 1 else ["--no_multiphase"]
    if ranks > 1:
        command = ["mpirun", "-q", "-n", str(ranks)] + command
    out = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if out.returncode:
        raise SystemExit(f"{' '.join(command)}\nexit {out.returncode}: {out.stderr}")
    return json.loads(out.stdout)["loss"], np.load(gradient)


def check(name, case, loss, gradient):
    want, bad = case["gradient"], []
    flat = gradient.astype(float).reshape(-1)
    if flat.size != int(np.prod(want["shape"])):
        return [f"{name}: gradient of shape {gradient.shape}, want {want['shape']}"]
    if abs(loss - case["energy"]) > 1e-5 * abs(case["energy"]):
        bad.append(f"{name}: loss {loss!r}, want {case['energy']!r}")
    norm = np.linalg.norm(flat)
    if abs(flat.sum() - want["sum"]) > 1e-5 * np.abs(flat).sum():
        bad.append(f"{name}: sum of the gradient {flat.sum()!r}, want {want['sum']!r}")
    if abs(norm - want["norm"]) > 1e-5 * want["norm"]:
        bad.append(f"{name}: gradient norm {norm!r}, want {want['norm']!r}")
    for at, value in want["probe"]:
        if abs(flat[at] - value) > 1e-4 * max(abs(value), np.max(np.abs(flat)) * 1e-2):
            bad.append(f"{name}: gradient[{at}] {flat[at]!r}, want {value!r}")
    return bad


def of_formulas(values):
    """The losses of the formulas as those of runs are written."""
    for key, levels, part in [("loss2d", 1, "levels_1"), ("loss2d", 3, "levels_3"), ("loss3d", 1, None)]:
        if key not in values:
            continue
        loss, shape = values[key], [64, 64] if key == "loss2d" else [32, 32, 32]
        want = loss[part] if part else loss
        probe = [[int(np.ravel_multi_index(at, shape)), value] for *at, value in want["grad_probe"]]
        weights = dict(loss["weights"].items())
        yield f"{key} levels={levels}", {"types": list(weights), "weights": list(weights.values()), "loss": "MSE", "L": loss["L"], "shape": shape,
                                         "phases": 1, "levels": levels, "energy": want["energy"],
                                         "gradient": {"shape": shape, "sum": want["grad_sum"], "norm": want["grad_l2"], "probe": probe}}


def of_runs(values):
    """All but what needs the weights of VGG-19 (vgg.py)."""
    return [(key, case) for key, case in values["losses"].items() if "GramMatrices" not in case["types"]]


def main():
    program, shared, ranks = sys.argv[1], sys.argv[2], [int(r) for r in sys.argv[3:]] or [1]
    bad, seen = [], 0
    if not golden.folders(shared):
        print("no golden values at", shared)
        sys.exit(77)
    for name, values in (each for folder in golden.folders(shared) for each in golden.files(folder)):
        images = 0
        with tempfile.TemporaryDirectory() as place:
            image = golden.image(values, shared, os.environ.get("PROGRAM", program), place)
            cases = list(of_runs(values) if "losses" in values else of_formulas(values))
            some = runs.some(cases, 2 if "MF_TEST_DEVICE" in os.environ else 1)  # of a device repeats what was seen of cpu
            for key, case in some:
                images += len(case["shape"]) == 2
                for n in ranks if len(case["shape"]) == 3 or images == 1 else ranks[:1]: # images are rank 0's work
                    found = check(f"{name} {key} on {n} ranks", case, *run(program, n, place, image, case))
                    seen += 1
                    bad += found
                    print("ok  " if not found else "FAIL", name, key, n)
        others = ("/descriptors", "/losses/2d Gram") if "losses" in values else "/phases"
        bad += [f"{name}: nobody looked at {key}" for key in values.unread() if some == cases and not key.startswith(others)] # golden_values.py, vgg.py
    print(f"{seen} cases")
    if bad or not seen:
        raise SystemExit("\n".join(bad) or "no case found")


if __name__ == "__main__":
    main()
