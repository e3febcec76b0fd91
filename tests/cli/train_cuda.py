#!/usr/bin/env python3
"""Trainings on GPUs, from end to end: several ranks by NCCL and through the host make the steps that cores make; a killed one continues on
other ranks; with --deterministic the weights are the same to the bit. On the emulator (MF_CUDA_LIBRARY) and the stand-ins of the libraries.
usage: train_cuda.py MESOFORGE MPIEXEC"""
import json
import os
import subprocess
import sys
import tempfile
import time

import runs
from runs import around, check, finish, some

program, mpiexec = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:3])
scratch = tempfile.TemporaryDirectory()  # gone when the program ends
os.chdir(scratch.name)
TRAIN = ("train", "classify", "--data", "set.h5", "--arch", "mlp", "--width", 48, "--depth", 3, "--dropout", 0.1, "--effective-batch", 13,
         "--epochs", 2, "--threads", 1, "--no-plots", "--no-events", "--timeout", 20)


def train(folder, *words, ranks=1, status=0, env=None):
    done = runs.run(program, *TRAIN, "--results-dir", folder, *words, ranks=ranks, mpiexec=mpiexec, env=env and around(**env))
    check(done.status == status, f"{folder} {words}: {done.status} {done.err[-500:]}")
    return done


def rows(folder):
    with open(f"{folder}/metrics.jsonl") as file:
        return [row for row in map(json.loads, file) if row["kind"] == "step"]


def steps_are_whole(folder):
    """Each step once, in order, with the loss that cores make."""
    got, want = rows(folder), rows("cores")
    check([row["step"] for row in got] == [row["step"] for row in want], f"{folder}: steps {[row['step'] for row in got]}")
    off = [(a["step"], a["loss"], b["loss"]) for a, b in zip(got, want) if not abs(a["loss"] - b["loss"]) <= 2e-5]
    check(not off, f"{folder}: other losses {off}")


check(runs.run(program, "synth", "--num-samples", 64, "--kinds", "gaussian,spheres", "--size", 16, 16, "--output", "set.h5").status == 0, "synth")
train("cores")

# Whichever way, in any stage; the line says which.
for ranks, way, stage, more in some(((2, "nccl", 2, ("--accumulation-steps", 2)), (3, "host", 3, ()), (3, "nccl", 1, ()), (4, "nccl", 3, ()),
                                     (2, "host", 1, ()), (1, "nccl", 0, ()))):
    folder = f"{way}{ranks}"
    done = train(folder, "--device", "cuda", "--exchange", way, "--zero", stage, *more, ranks=ranks)
    check(("exchange: NCCL 2.28.9" in done.err) == (way == "nccl"), f"{folder}: {done.err}")
    steps_are_whole(folder)
done = train("auto", "--device", "cuda", ranks=2)
check("exchange: NCCL 2.28.9 (auto: every rank has a GPU of its own)" in done.err, f"auto: {done.err}")
done = train("shared", "--device", "cuda", "--share-gpu", ranks=2, env={"MF_EMU_DEVICES": 1})
check("exchange: through the host's memory (auto: NCCL needs one GPU per rank" in done.err, f"shared: {done.err}")
steps_are_whole("shared")

# auto takes them where every rank has one, and the cores where that cannot be.
done = train("itself", "--plan", "off", ranks=2)
check("device: cuda (auto: it is installed, and every rank has a GPU" in done.err, f"auto: {done.err}")
steps_are_whole("itself")
for folder, ranks, env, words, says in (("few", 2, {"MF_EMU_DEVICES": 1}, (), "device: cpu (auto: "), ("bare", 2, {"MF_CUBLASLT_LIBRARY": "/nowhere.so"}, ("--plan", "off"), "device: cpu after all (auto: ")):
    done = train(folder, *words, ranks=ranks, env=env)
    check(says in done.err, f"{folder}: {done.err}")
    steps_are_whole(folder)

# Killed on two ranks, and continued on three, the other way.
line = runs.line(program, *TRAIN, "--results-dir", "killed", "--device", "cuda", "--checkpoint-every", "1ev", "--zero", 3, ranks=2, mpiexec=mpiexec)
with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as job:
    while job.poll() is None and not (os.path.exists("killed/metrics.jsonl") and len(rows("killed")) > 2):
        time.sleep(0.001)
    runs.kill(job.pid)
check(job.returncode != 0, "it ended before it was killed")
done = train("killed", "--device", "cuda", "--exchange", "host", "--zero", 1, "--restart", "auto", ranks=3)
check("continuing after step" in done.err, f"killed: {done.err}")
steps_are_whole("killed")

# NCCL has no part in the sums of slots.
for ranks in (1, 3, 2):
    train(f"slots{ranks}", "--device", "cuda", "--deterministic", "--slots", 4, ranks=ranks)
    check(runs.weights(f"slots{ranks}/model.safetensors") == runs.weights("slots1/model.safetensors"), f"slots on {ranks} ranks: other weights")

# GPUs of two models: a warning at the start, and their names in the summary.
for mixed in (0, 1):
    done = runs.run(program, "train", "moe", "--data", "set.h5", "--features", "none", "--width", 8, "--experts", 2, "--max-steps", 1, "--sleep-every", 0, "--threads", 1,
                    "--no-plots", "--no-events", "--results-dir", f"mixed{mixed}", "--device", "cuda", "--exchange", "host", ranks=2, mpiexec=mpiexec, env=around(MF_EMU_MIXED=mixed))
    check(done.status == 0, f"mixed{mixed}: {done}")
    check(("GPUs differ, and every step waits for the slowest: 1 x emulated GPU (80 GiB), 1 x emulated GPU of another model (80 GiB)" in done.err) == bool(mixed), done.err)
    with open(f"mixed{mixed}/performance_summary.txt") as file:
        check((": emulated GPU of another model\n" if mixed else " emulated GPU, 2 ranks\n") in file.read(), f"summary of mixed{mixed}")

# A rank whose NCCL fails in the middle of a training holds nobody.
begin = time.time()
done = train("failed", "--device", "cuda", ranks=3, status=4, env={"FAKE_NCCL_LATE": "5:1"})
check("NCCL: an exchange fails on rank 1" in done.err and time.time() - begin < 40, f"failed: {done.err}")
finish("train_cuda")
