#!/usr/bin/env python3
"""--device: which back end and which GPU, in one line; match on cuda (the emulator that MF_CUDA_LIBRARY names) as on cpu.
usage: cuda.py MESOFORGE MPIEXEC"""
import json
import os
import re
import sys
import tempfile

import runs
from runs import around, check, finish

MESOFORGE, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]


def save(path, rows):
    """Rows of small numbers as a .npy file."""
    head = "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }" % (len(rows), len(rows[0]))
    head = head.ljust(117) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + bytes(sum(rows, [])))


def run(*words, ranks=1, **emulated):
    return runs.run(MESOFORGE, *words, ranks=ranks, mpiexec=MPIEXEC, timeout=200,
                    env=around(**{"MF_EMU_" + k: v for k, v in emulated.items()}))


def match(*words, image="image.npy", extend=True, **more):
    status, out, err = run("match", image, "--limit-to", 4, *(["--add-dimension", 9] if extend else []), "--max_iter", 4, "--seed", 3, "--json",
                           "--output", "out.h5", *words, **more)
    return (json.loads(out) if status == 0 else None), status, err


def near(a, b, tolerance):
    return abs(a - b) <= tolerance * abs(b)


scratch = tempfile.TemporaryDirectory()  # gone when the program ends
os.chdir(scratch.name)
check(run("synth", "--size", 9, 10, "--correlation-length", 1.5, "--output", "image.npy")[0] == 0, "synth")

# The same run on both.
for more in runs.some((["--no_polish"], ["--no_polish", "--loss-type", "RMS", "--non_periodic"],
                       ["--no_polish", "--descriptor-types", "FFTCorrelations", "Variation", "VolumeFractions", "--optimizer-type", "Adam"],
                       ["--no_polish", "--descriptor-types", "S2", "LinealPath", "Variation", "Correlations"],
                       ["--no_polish", "--descriptor-types", "S2", "Patches"])):
    cpu, _, err = match("--device", "cpu", *more)
    cuda, status, err = match("--device", "cuda", *more)
    check(status == 0, f"match on cuda {more}: {err}")
    if status:
        continue
    check(cuda["device"] == "cuda" and cpu["device"] == "cpu", "the device's name")
    check(near(cuda["loss"], cpu["loss"], 1e-4), f"{more}: {cuda['loss']} on cuda, {cpu['loss']} on cpu")

# What the device counted: the arrays, and what a queue keeps for itself; one block is no multiple of a page here.
peak = cuda["peak_bytes"]
more = peak["device_used"][0] - peak["device"][0]
check(4 << 20 <= more < 5 << 20 and "device_used" not in cpu["peak_bytes"], f"bytes that the device counted: {peak}")

# To the end: the cut and the polish of two phases, and of three on two ranks.
save("three.npy", [[(x // 3 + y // 3) % 3 for x in range(9)] for y in range(8)])
for image, ranks in (("image.npy", 1), ("three.npy", 2)):
    cpu, _, err = match("--device", "cpu", "--polish-rounds", 3, *runs.S2, image=image)
    cuda, status, err = match("--device", "cuda", "--share-gpu", "--polish-rounds", 3, *runs.S2, image=image, ranks=ranks)
    if not check(status == 0 and cuda["swaps"] > 0, f"cut and polish on cuda: {err}"):
        continue
    for key in ("loss_cut", "loss_final"):
        check(near(cuda[key], cpu[key], 1e-3), f"{image}: {key} {cuda[key]} on cuda, {cpu[key]} on cpu")

# What compares pairs of phases, and volumes as a whole.
check(run("synth", "--size", 8, 9, 10, "--correlation-length", 1.5, "--output", "volume.npy")[0] == 0, "synth of a volume")
for image, more in (("three.npy", ["FFTCrossCorrelations", "StructureTensor"]), ("volume.npy", ["S2_3D", "Variation"])):
    each = [match("--device", device, "--no_polish", "--descriptor-types", *more, image=image, extend=image != "volume.npy") for device in ("cpu", "cuda")]
    check(each[1][1] == 0 and near(each[1][0]["loss"], each[0][0]["loss"], 1e-4), f"{more}: {each}")

# What it has no kernels for is refused by name, and left out where all is asked for.
status, _, err = run("characterize", "image.npy", "--limit_to", 4, "--device", "cuda", "--descriptor_types", "Chords", "--output", "c.h5")
check(status != 0 and "no kernels for Chords; try: --device cpu" in err, f"Chords on cuda: {status} {err}")
status, out, err = run("compare", "image.npy", "image.npy", "--limit_to", 4, "--device", "cuda", "--descriptor_types", "all")
check(status == 0 and "StructureTensor" in out and "Chords" not in out, f"all on cuda: {status} {err}")

# What a run asks of the runtime, and of the profiler that watches it.
def report(evaluations, *more):
    """Evaluations made, calls of the runtime, and of every range: how often, its launches and waits; what the run said."""
    path = f"report{evaluations}"
    words = ["match", "image.npy", "--limit-to", 4, "--add-dimension", 8, "--max_iter", evaluations, "--no_polish", "--device", "cuda", "--json",
             "--logging_level", 10, "--checkpoint-every", "off", "--output", "out.h5", *more]
    status, out, err = runs.run(MESOFORGE, *words, timeout=200, env=around(MF_EMU_REPORT=path, NVTX_INJECTION64_PATH="a tool"))
    if not check(status == 0, f"a run that is watched: {err}"):
        finish("cuda")
    lines = open(path).read().splitlines()
    words = lines[0].split()
    ranges = {name: tuple(map(int, n)) for _, *n, name in (line.split(None, 4) for line in lines[1:])}
    return json.loads(out)["evaluations"], dict(zip(words[::2], map(int, words[1::2]))), ranges, err


def annealed(of):
    """Steps of mean-field annealing, shifts that they made, and what the steps asked for beside them."""
    _, calls, ranges, said = of
    shifts = [int(n) for n in re.findall(r"mean field \d+: .* shifts (\d+)$", said, re.M)]
    _, launches, waits = ranges["continuation"]
    return len(shifts), {"launches": launches - sum(shifts), "waits": waits - sum(shifts), "copies": calls["copies"]}


few, many = (report(n, "--loss_type", "SSE") for n in (28, 48))  # no mean-field annealing
made = many[0] - few[0]
each = {key: (many[1][key] - few[1][key]) / made for key in few[1]}
check(made > 10 and 0.8 < each["graphs"] <= 1, f"an evaluation is a graph: {each} for each of {made}")
check(each["waits"] < 6 and each["launches"] < 12 and each["copies"] < 2, f"what is beside it: {each}")

# With it: a step waits once for its evaluation, and for sums. The number of shifts of a step depends on rounding.
(n, few), (m, more) = (annealed(report(n)) for n in (60, 80))
each = {key: (more[key] - few[key]) / (m - n) for key in few}
check(m - n > 10 and each == {"launches": 5, "waits": 5, "copies": 3}, f"each of {m - n} steps of mean-field annealing, without its shifts: {each}")
check(many[1]["open"] == 0 and {"descent", "cut", "descriptors"} <= set(many[2]) and "Variation" not in many[2], f"ranges: {many[1]} {many[2]}")

# Several ranks on several GPUs; two on one only when they are told.
two, status, err = match("--device", "cuda", "--no_polish", ranks=2, DEVICES=2)
one, _, _ = match("--device", "cuda", "--no_polish")
check(status == 0 and near(two["loss"], one["loss"], 1e-5), f"two ranks on two GPUs: {err}")
_, status, err = match("--device", "cuda", "--no_polish", ranks=2)
check(status == 4 and "--share-gpu" in err, f"two ranks on one GPU: {status} {err}")
check(len([l for l in err.splitlines() if l.endswith("<- shared")]) == 2 and "rank  local  sees  takes  id" in err, f"its table: {err}")
_, status, err = match("--device", "cuda", "--no_polish", ranks=3, DEVICES=2)
check(status == 4 and "2 ranks (0, 2) would take one GPU" in err and err.count("<- shared") == 2, f"three ranks on two GPUs: {err}")
two, status, err = match("--device", "cuda", "--no_polish", "--share-gpu", ranks=2)
check(status == 0 and near(two["loss"], one["loss"], 1e-5), f"two ranks that share a GPU: {err}")

# Fields in host memory, slices through the device in rounds, copied beside the kernels.
for more in runs.some((["--batch-size", 2], ["--batch-size", 4, "--loss-type", "RMS"])):
    there, status, err = match("--device", "cuda", "--no_polish", *more)
    here, status, err = match("--device", "cuda", "--no_polish", "--residency", "host", *more)
    check(status == 0 and near(here["loss"], there["loss"], 1e-5), f"residency host {more}: {err}")
    check(here["peak_bytes"]["device"][0] < there["peak_bytes"]["device"][0], f"{here['peak_bytes']}, fields there {there['peak_bytes']}")
two, status, err = match("--device", "cuda", "--no_polish", "--share-gpu", "--residency", "host", ranks=2)
check(status == 0 and near(two["loss"], one["loss"], 1e-5), f"residency host on two ranks: {err}")

# One by number.
check(match("--device", "cuda:1", "--no_polish", DEVICES=2)[1] == 0, "cuda:1")
_, status, err = match("--device", "cuda:2", DEVICES=2)
check(status == 4 and "sees 2 GPUs" in err, f"cuda:2 of two: {status} {err}")
check(match("--device", "cuda:x")[1] == 2 and match("--device", "cpu:0")[1] == 2, "what is no number")
_, status, err = match("--device", "cuda", "--gpu_ids", 1)
check(status == 4 and "--gpu_ids 1" in err, f"--gpu_ids 1 of one: {status} {err}")
_, status, err = match("--device", "cuda", "--gpu_ids", 0, 7, ranks=2, DEVICES=2)
check(status == 4 and "--gpu_ids 7: rank 0" in err and "sees 2 GPUs, 0 to 1" in err and "shared" not in err, f"--gpu_ids 0 7: {status} {err}")

# auto says which and why.
got, status, err = match("--device", "auto", "--no_polish")
check(status == 0 and got["device"] == "cuda" and "device: cuda (auto:" in err, f"auto with a GPU: {err}")
got, status, err = match("--device", "auto", "--no_polish", DEVICES=0)
check(status == 0 and got["device"] == "cpu" and "device: cpu (auto: no CUDA device" in err, f"auto without: {err}")
got, status, err = match("--device", "auto", "--no_polish", CAPABILITY=75)
check(status == 0 and got["device"] == "cpu" and "compute capability 7.5" in err, f"auto with an old GPU: {err}")
got, status, err = match("--device", "auto", "--no_polish", ranks=2)
check(status == 0 and got["device"] == "cpu" and "would take one GPU" in err, f"auto, too few GPUs: {err}")

# What stands in the way is one line and status 4.
for words, want in ((dict(DRIVER=0), "no NVIDIA driver"), (dict(DRIVER=12080), "serves CUDA up to 12.8"),
                    (dict(CAPABILITY=75), "compute capability 7.5"), (dict(DEVICES=0), "no CUDA device")):
    _, status, err = match("--device", "cuda", **words)
    last = [line for line in err.splitlines() if line.startswith("mesoforge: match:")]
    check(status == 4 and len(last) == 1 and want in last[0], f"{words}: {status} {err}")
    if "DEVICES" not in words and not runs.LONG:
        continue
    _, status, err = match("--device", "cuda", ranks=2, **words)
    last = [line for line in err.splitlines() if line.startswith("mesoforge: match:")]
    check(status == 4 and len(last) == 1 and want in last[0], f"two ranks, {words}: {status} {err}")
finish("cuda")
