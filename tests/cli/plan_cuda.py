#!/usr/bin/python3
"""Plans of runs on GPUs, on the emulator (MF_CUDA_LIBRARY) with GPUs of the stand-in for the driver's library: what was
foretold of both memories is what was taken, a dry run takes nothing of the device, a GPU that is too small, or lacks kernels.
usage: plan_cuda.py MESOFORGE MPIEXEC FOLDER_OF_FAKE_NVML"""
import json
import os
import re
import sys
import tempfile

import runs
from runs import check, finish
from samples import blobs, np
from weights import network, write

program, mpiexec, fake = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])
SHORT = ("--max_iter", 3, "--polish_rounds", 1, "--logging_level", 30, "--json")


def environment(gpus, **more):
    env = dict(os.environ, LD_LIBRARY_PATH=fake + ":" + os.environ.get("LD_LIBRARY_PATH", ""), FAKE_NVML_GPUS=str(gpus),
               MF_EMU_DEVICES=str(gpus))
    env.update({k: str(v) for k, v in more.items()})
    return env


def match(*words, ranks=1, code=0, **env):
    status, out, err = runs.run(program, "match", *words, *SHORT, ranks=ranks, mpiexec=mpiexec, env=environment(ranks, **env))
    check(status == code, f"match {words} on {ranks} {env}: {status}, want {code}: {err[-600:]}")
    return (json.loads(out) if status == 0 else {}), err


def to_the_byte():
    """Of any layout and GPU: capability 8.9 has less shared memory. Lags above 32 are several groups."""
    l4 = {"FAKE_NVML_KIND": "l4", "MF_EMU_CAPABILITY": 89, "MF_EMU_SHARED": 101376}
    cases = [(1, "two.npy --limit_to 6 --add_dimension 14 --device cuda --threads 3", {}),
             (1, "two.npy --limit_to 6 --add_dimension 14 --device cuda", {}),
             (2, "two.npy --limit_to 6 --add_dimension 15 --device cuda --loss_type RMS --non_periodic --no_polish", {}),
             (3, "three.npy --limit_to 4 --add_dimension 13 --device cuda --deterministic --batch_size 4 {S2}", {}),
             (2, "two.npy --limit_to 4 --size 18 20 22 --device cuda --use_multigrid_reconstruction --history 4", {}),
             (2, "three.npy --limit_to 3 --size 14 15 16 --device cuda --no_polish --descriptor_types Patches LinealPath TwoPointCorrelations", {}),
             (1, "three.npy --limit_to 4 --device cuda --no_polish {S2}", {}),
             (1, "two.npy --limit_to 6 --device cuda --descriptor_types S2 Variation VolumeFractions", {}),
             (2, "volume.npy --limit_to 3 --device cuda --no_polish --descriptor_types S2_3D StructureTensor", {}),
             (1, "wide.npy --limit_to 5 --device cuda --no_polish {S2}", l4),
             (1, "prime.npy --limit_to 5 --device cuda --no_polish --deterministic {S2}", l4),
             (1, "two.npy --limit_to 4 --size 10 12 14 --device cuda --property conductivity_z=.3 --conductivity .1 1", {}),
             (1, "wide.npy --limit_to 40 --device cuda --no_polish {S2}", {})]
    for ranks, words, env in runs.some(cases):
        words = words.format(S2=" ".join(runs.S2)).split()
        done, _ = match(*words, "--output", "p.h5", ranks=ranks, **env)
        peak = done.get("peak_bytes", {})
        check(peak.get("predicted") and peak["predicted"] == peak["arena"], f"host, {words}: {peak}")
        check(peak.get("predicted_device") and peak["predicted_device"] == peak["device"], f"device, {words}: {peak}")
        dry, _ = match(*words, "--dry-run", ranks=ranks, MF_EMU_MEMORY=1, **env)
        check(dry and dry["bytes"]["device"] == peak.get("device"), f"dry, {words}: {dry.get('bytes')} {peak}")
        check(dry and dry["device"] == "cuda", "the dry run's device")


def networks():
    """VGG-19: both memories to the byte, weights in either, and the losses of cpu."""
    write("vgg.safetensors", network())
    words = ["--limit_to", 8, "--size", 17, 18, "--no_polish", "--gram_weights_filename", "vgg.safetensors", "--output", "v.npy"]
    for image, types in runs.some((("two.npy", ["S2", "GramMatrices"]), ("three.npy", ["MultiPhaseGramMatrices"]))):
        each = [match(image, "--descriptor_types", *types, *words, "--device", device)[0] for device in ("cpu", "cuda")]
        losses = [one.get("loss") for one in each]
        check(None not in losses and abs(losses[0] - losses[1]) <= 1e-4 * losses[0], f"{types}: losses {losses}")
        peak = each[1].get("peak_bytes", {})
        check(peak.get("predicted") and peak["predicted"] == peak["arena"], f"host, {types}: {peak}")
        check(peak.get("predicted_device") and peak["predicted_device"] == peak["device"], f"device, {types}: {peak}")
        dry, _ = match(image, "--descriptor_types", *types, *words, "--device", "cuda", "--dry-run", MF_EMU_MEMORY=1)
        check(dry and dry["bytes"]["device"] == peak.get("device") and peak["device"][0] > 160e6, f"dry, {types}: {dry.get('bytes')} {peak}")


def nothing_is_taken():
    """A dry run of what no GPU has enough memory says its bytes; the run itself finds no memory."""
    big, _ = match("two.npy", "--limit_to", 6, "--size", 2048, 2048, 2048, "--device", "cuda", "--dry-run", MF_EMU_MEMORY=1)
    check(big and big["bytes"]["device"][0] > 36 * 2048**3, f"{big}")
    status, out, err = runs.run(program, "characterize", "two.npy", "--limit_to", 6, "--device", "cuda", "--dry-run", "--json",
                                env=environment(1, MF_EMU_MEMORY=1))
    check(status == 0 and json.loads(out)["dry_run"], f"characterize --dry-run: {err}")
    match("two.npy", "--limit_to", 6, "--device", "cuda", "--plan", "off", "--output", "o.h5", code=5, MF_EMU_MEMORY=1)


def described():
    """The host of a large volume on a GPU needs most when the labels are counted: a byte of a voxel, and its bit twice."""
    words = ("two.npy", "--limit_to", 6, "--device", "cuda", "--no_polish")
    voxels = 512**3
    dry, _ = match(*words, "--size", 512, 512, 512, "--dry-run")
    check(dry and voxels * 5 // 4 < dry["bytes"]["arena"][0] < voxels * 13 // 10, f"512^3: {dry.get('bytes')}")
    if not runs.LONG:
        return
    peak = match(*words, "--size", 272, 272, 272, "--max_iter", 1, "--output", "d.npy")[0].get("peak_bytes", {})
    check(peak.get("predicted") and peak["predicted"] == peak["arena"], f"272^3: {peak}")


def too_small():
    """auto goes on on the cores, says so in one line, and plans them; --device cuda refuses. 1496 MiB leave none for arrays,
    wherever the fields are."""
    words = ("two.npy", "--limit_to", 6, "--size", 20, 20, 20, "--no_polish", "--output", "s.npy")
    done, err = match(*words, "--device", "auto", FAKE_NVML_MEMORY=1496)
    said = [line for line in err.splitlines() if "cpu after all" in line]
    check(done.get("device") == "cpu" and len(said) == 1 and re.search(r"no GPU has enough memory \(rank 0 needs .* MiB.*are available", said[0]),
          f"auto: {done.get('device')} {err}")
    check(done["plan"]["device"] == "cpu" and done["peak_bytes"]["predicted"] == done["peak_bytes"]["arena"], "its plan")
    _, err = match(*words, "--device", "cuda", code=5, FAKE_NVML_MEMORY=1496)
    check("nothing fits into memory" in err and "on GPUs" in err and "try: a GPU with more free memory, or --device cpu" in err, err)
    _, err = match(*words, "--device", "cuda", "--residency", "device", "--plan", "off", "--gpu-memory-fraction", 1e-6, code=5)
    check(f"the memory limit is {int(80 * 2**30 / 1e6) + 1}; try: a larger --gpu-memory-fraction" in err, f"a part of its memory: {err}")
    done, _ = match(*words, "--device", "cuda", "--plan", "off", "--gpu-memory-fraction", 1e-6)
    check(0 < done["peak_bytes"]["device"][0] <= 80 * 2**30 / 1e6 + 1, f"fields on the host leave room: {done.get('peak_bytes')}")
    _, err = match(*words, "--device", "auto", "--gpu_ids", 0, code=5, FAKE_NVML_MEMORY=1496)
    check("nothing fits into memory" in err and "try: more of --gpu_ids" in err, f"a GPU that was named: {err}")
    status, out, err = runs.run(program, "plan", "reconstruct", *words[:-3], "--json", "--ranks", 1,
                                env=environment(1, FAKE_NVML_MEMORY=1496))
    check(status == 0 and json.loads(out)["device"] == "cpu", f"plan agrees: {status} {err}")
    check(status == 0 and any("no GPU has enough memory" in note for note in json.loads(out)["notes"]), f"and says why: {out[:300]}")


def slower():
    """What the model calls faster on the cores goes there under auto, in a run as in a plan, and by the plan's file."""
    words = ("two.npy", "--limit_to", 6, "--size", 20, 20)
    run = (*words, "--no_polish", "--output", "f.npy")
    done, err = match(*run, "--device", "auto")
    said = [line for line in err.splitlines() if "cpu after all" in line]
    check(done.get("device") == "cpu" and len(said) == 1 and "on the cores and" in said[0], f"auto: {done.get('device')} {err}")
    check(done["plan"]["device"] == "cpu" and done["peak_bytes"]["predicted"] == done["peak_bytes"]["arena"], "its plan")
    check(match(*run, "--gpu_ids", 0)[0].get("device") == "cuda", "a GPU that was named")
    for device in ("auto", "cuda"):
        status, _, err = runs.run(program, "plan", "match", *words, "--no_polish", "--max_iter", 3, "--polish_rounds", 1, "--ranks", 1,
                                  "--device", device, "--output", f"{device}.json", env=environment(1))
        check(status == 0, f"plan: {err}")
        done, err = match(*run, "--device", "auto", "--plan", f"{device}.json")
        check(done.get("device") == {"auto": "cpu", "cuda": "cuda"}[device], f"--plan {device}.json: {done.get('device')} {err}")


def counted():
    """What no GPU counts: auto takes the cores before anything is measured and says why, a GPU that was named refuses, plans agree."""
    why = "the cuda back end has no kernels for Chords"
    anneal = ("--limit_to", 4, "--optimizer_type", "SimulatedAnnealing", "--descriptor_types", "S2", "Chords", "--max_iter", 50)
    file = ("characterize", "two.npy", "--limit_to", 4, "--descriptor_types", "Chords", "--output", "counted.h5")
    again = ("reconstruct", "--descriptor_filename", "counted.h5", "--size", 16, 18, *anneal[2:], "--output", "c.npy")
    for turn, words in enumerate((file, ("match", "two.npy", *anneal, "--output", "c.npy"), again, (*again, "--plan", "off"))):
        status, _, err = runs.run(program, *words, env=environment(1))
        said = [line for line in err.splitlines() if "cpu after all" in line]
        check(status == 0 and len(said) == 1 and f"(auto: {why})" in said[0], f"{words}: {status} {err}")
        ways = [("--device", "cuda"), ("--device", "cuda:0"), ("--gpu_ids", 0)]
        for device in ways if runs.LONG else [ways[turn % 3]]:
            status, _, err = runs.run(program, *words, *device, env=environment(1))
            check(status == 4 and runs.said(err) == [f"mesoforge: {words[0]}: {why}; try: --device cpu"], f"{words} {device}: {status} {err}")
    words = ("plan", "reconstruct", *anneal, "--size", 16, 18, "--json", "--ranks", 1)
    status, out, err = runs.run(program, *words, env=environment(1))
    check(status == 0 and json.loads(out)["device"] == "cpu" and f"{why}: the plan is for the cores" in json.loads(out)["notes"], f"plan: {out[-300:]} {err}")
    status, _, err = runs.run(program, *words, "--device", "cuda", env=environment(1))
    check(status == 4 and f"plan reconstruct: {why}; try: --device cpu" in err, f"plan: {status} {err}")
    done, err = match("two.npy", "--limit_to", 4, "--descriptor_types", "TwoPointCorrelations", "--gpu_ids", 0, "--output", "c.npy")
    check(done.get("device") == "cuda" and "after all" not in err, f"what it has kernels for: {err}")


def taken_ahead():
    """--no_memory_growth: the planned bytes of both memories at once, or a refusal before anything is computed."""
    words = ("two.npy", "--limit_to", 6, "--add_dimension", 14, "--device", "cuda", "--output", "g.npy")
    done, _ = match(*words)
    need = int(done["peak_bytes"]["device"][0])
    more, _ = match(*words, "--no_memory_growth")
    check(more["peak_bytes"]["device"] == done["peak_bytes"]["device"], "counted alike")
    beside = 4 << 20  # the queue's own
    _, err = match(*words, "--no_memory_growth", code=5, MF_EMU_MEMORY=need // 2 + beside)
    check(re.search(r"cannot reserve \d+ bytes", err) and "wrote" not in err, err)


def conduction():
    """Conductivities have the bits of cpu, on any number of GPUs. Their plan knows both memories to the byte."""
    for ranks, words in runs.some(((1, ("large.npy", "--conductivity", 0, 1)), (2, ("large.npy", "--conductivity", 0, 1, "--axes", "z")),
                                   (2, ("large.npy", "--conductivity", 0.1, 1, "--boundary", "periodic", "--axes", "y")),
                                   (1, ("three.npy", "--conductivity", 0.01, 0.1, 1, "--boundary", "centres")))):
        each = []
        for device in ("cpu", "cuda"):
            status, out, err = runs.run(program, "properties", *words, "--device", device, "--json", ranks=ranks, mpiexec=mpiexec, env=environment(ranks))
            check(status == 0, f"properties {words} on {ranks} of {device}: {err}")
            each.append(json.loads(out) if status == 0 else {})
        used = [[one.pop(key, None) for key in ("bytes", "device_bytes", "seconds")] for one in each]
        check(each[0] == each[1] and used[0][1] is None, f"{words} on {ranks}: {each}")
        status, out, err = runs.run(program, "plan", "properties", *words, "--device", "cuda", "--ranks", ranks, "--json", env=environment(ranks))
        plan = json.loads(out) if status == 0 else {"bytes": {}}
        check(plan["bytes"].get("per_rank", [0])[0] == used[1][1] and plan.get("host_bytes", {}).get("per_rank", [0])[0] == used[1][0],
              f"plan of {words} on {ranks}: {plan}, used {used[1]}: {err}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    np.save("two.npy", blobs((16, 18), [0.6, 0.4], 1))
    np.save("three.npy", blobs((16, 18), [0.5, 0.2, 0.3], 2))
    np.save("volume.npy", blobs((7, 9, 10), [0.6, 0.4], 5))
    np.save("large.npy", blobs((42, 30, 32), [0.4, 0.6], 6))
    np.save("wide.npy", blobs((128, 96), [0.5, 0.5], 3))
    np.save("prime.npy", blobs((134, 26), [0.5, 0.5], 4))
    for part in (to_the_byte, *[networks] * runs.LONG, nothing_is_taken, described, too_small, slower, counted, taken_ahead, conduction):
        part()
    os.chdir("/")
finish("plan_cuda")
