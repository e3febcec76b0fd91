#!/usr/bin/python3
"""Runs under a plan: what was predicted is what was taken, a plan from a file is obeyed or refused, less memory means a
smaller batch and the same bits, and what is used stands in the output. usage: plan_run.py MESOFORGE MPIEXEC HARDWARE"""
import json
import os
import subprocess
import sys
import tempfile

import runs
from runs import S2, check, finish
from samples import blobs, np

program, mpiexec, hardware = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])
QUIET = ("--logging_level", "30")
SHORT = ("two.npy", "--limit_to", 8, "--threads", 1, "--max_iter", 4, "--polish_rounds", 1)


def match(*words, ranks=1, code=0, env=None):
    """The object that --json prints, or the one line of a refusal."""
    status, out, err = runs.run(program, "match", *words, "--json", *QUIET, ranks=ranks, mpiexec=mpiexec,
                                env=dict(os.environ, **(env or {})))
    check(status == code, f"match {words} on {ranks}: {status}, want {code}: {err[-500:]}")
    if status == 0:
        return json.loads(out), err
    lines = [line for line in err.splitlines() if line.startswith("mesoforge: ")]
    check(len(lines) == 1, f"{words}: {lines}")
    return (lines or [""])[0], err


def plan(*words, ranks=1):
    status, _, err = runs.run(program, "plan", "reconstruct", *words, *QUIET, ranks=ranks, mpiexec=mpiexec)
    check(status == 0, f"plan {words}: {err}")


def bits(name):
    return np.load(name).tobytes()


def predicted():
    np.save("start.npy", blobs((20, 30, 30), [0.6, 0.4], 3))
    for ranks, words in runs.some(((3, "--add_dimension 21 --loss_type L2"), (1, "--add_dimension 20"), (2, "--add_dimension 20 --initial_microstructure_file start.npy"),
                                   (2, "--add_dimension 21"), (3, "--size 26 30 28 --use_multigrid_reconstruction"), (2, "--add_dimension 24 --realisations 2"),
                                   (2, "--add_dimension 20 --device shadow"), (1, "--max_iter 0 --add_dimension 20"))):
        if "shadow" in words and runs.run(program, "probe", "--device", "shadow")[0]:
            continue
        words = [*SHORT, *words.split()] if "--max_iter" not in words else [*SHORT[:5], *words.split()]
        done, _ = match(*words, "--output", "p.h5", ranks=ranks)
        for one in done if isinstance(done, list) else [done]:
            peak = one["peak_bytes"]
            check(peak["predicted"] == peak["arena"], f"{words} on {ranks}: {peak}")
            check(peak.get("predicted_device") == peak.get("device"), f"{words} on {ranks}: {peak}")


def between_nodes():
    """Ranks of several nodes: the plan knows whether a run goes by strips, what that takes and what travels."""
    for nodes, words, strips in runs.some((("2", "", True), ("4", "", True), ("1", "", False), ("2", "--deterministic", False), ("2", "--batch_size 4", False),
                                           ("2", "--descriptor_types S2 LinealPath", False), ("2", "--non_periodic --use_multigrid_reconstruction", True)), 3):
        names = [] if "--descriptor_types" in words else S2
        done, _ = match("two.npy", "--limit_to", 4, "--threads", 1, "--max_iter", 2, "--no_polish", "--add_dimension", 64, *names, *words.split(), "--output", "n.h5", ranks=4,
                        env={"MF_NODES": nodes})
        peak, made = done["peak_bytes"], done["plan"]
        check(peak["predicted"] == peak["arena"] and made["nodes"] == int(nodes), f"{nodes} nodes, {words}: {peak}, {made['nodes']}")
        check(any("as strips" in n for n in made["notes"]) == strips == ("planes beside slabs" in made["bytes"]["arrays"]), f"{nodes} nodes, {words}: {made['notes']}, {made['bytes']['arrays']}")


def in_the_output():
    done, _ = match(*SHORT, "--add_dimension", 20, "--output", "q.h5", ranks=2)
    status, out, _ = runs.run(program, "info", "q.h5", "--json")
    check(status == 0 and json.loads(out)["results"]["plan"] == done["plan"], "the plan is in the volume")
    status, out, _ = runs.run(program, "info", "q.h5")
    check(f"plan:      {done['plan']['hash']}: 2 ranks" in out, f"info: {out}")
    for words in (("--plan", "off"), ("--no_auto_gpu_config",)):
        done, _ = match(*SHORT, "--add_dimension", 20, *words, "--output", "q.h5", ranks=2)
        check("plan" not in done and done["peak_bytes"]["predicted"] is None, f"{words}: a plan all the same")


def old_scripts():
    """Options that scripts of other programs give: said to be so already, or to change nothing, and the same bits."""
    words = (*SHORT, "--add_dimension", 20, "--deterministic", "--output", "s.npy")
    match(*words, ranks=2)
    plain = bits("s.npy")
    status, out, err = runs.run(program, "match", *words, "--use_distributed_loss", "--enable_mixed_precision", "--auto_gpu_config", "--json",
                                ranks=2, mpiexec=mpiexec)
    check(status == 0 and bits("s.npy") == plain and "plan" in json.loads(out), f"options of old scripts: {status} {err[-500:]}")
    for said in ("--use_distributed_loss: the loss is always shared by all ranks (2 here)", "--enable_mixed_precision has no effect: ",
                 "--auto_gpu_config: reconstruct and match are planned"):
        check(sum(line.startswith(said) for line in err.splitlines()) == 1, f"'{said}' is not said once: {err}")


def from_a_file():
    problem = ("two.npy", "--limit_to", 8, "--threads", 1, "--add_dimension", 24)
    run = (*problem, "--max_iter", 4, "--polish_rounds", 1, "--output", "r.npy", "--plan")
    plan(*problem, "--ranks", 2, "--batch_size", 6, "--history", 3, "--output", "six.json")
    done, _ = match(*run, "six.json", ranks=2)
    check(done["batch"] == 6 and done["plan"]["settings"] == {"batch": 6, "history": 3}, f"obeyed: {done['plan']}")
    for part, code, words, ranks in (
            ("is for 2 ranks, this run has 3", 2, (), 3), ("--batch_size says 8", 2, ("--batch_size", 8), 2),
            ("--history says 2", 2, ("--history", 2), 2), ("is for 1 thread per rank", 2, ("--threads", 2), 2),
            ("another problem: it says 'loss: MSE', here it is 'loss: L1'", 3, ("--loss_type", "L1"), 2),
            ("another problem: it says 'polish: yes', here it is 'polish: no'", 3, ("--no_polish",), 2)):
        if words[:1] == ("--threads",):
            words = [2 if k and run[k - 1] == "--threads" else w for k, w in enumerate(run)]
            line, _ = match(*words, "six.json", ranks=ranks, code=code)
        else:
            line, _ = match(*run, "six.json", *words, ranks=ranks, code=code)
        check(part in line, f"{words}: {line}")
    if runs.run(program, "probe", "--device", "shadow")[0] == 0:
        line, _ = match(*run, "six.json", "--device", "shadow", ranks=2, code=2)
        check("is for device cpu, this run is on shadow" in line, line)
        plan(*problem, "--ranks", 2, "--device", "shadow", "--output", "shadow.json")
        done, _ = match(*run, "shadow.json", "--device", "shadow", ranks=2)
        check(done["plan"]["device"] == "shadow" and done["device"] == "shadow", "a plan for shadow")
    plan(*problem, "--hardware", hardware, "--output", "other.json")
    line, _ = match(*run, "other.json", ranks=1, code=3)
    check("is a plan of another machine: here it is 'node" in line, line)
    text = open("six.json").read()
    for old, new, part in (('"batch": 6', '"batch": 8', "not as it was written"), ('"plan"', '"plot"', "is no plan"),
                           ('"schema_version": 2', '"schema_version": 1', "is a plan of schema version 1, this program reads 2"),
                           ('"history": 3', '"history": "3"', "settings must be an object of whole numbers"),
                           ('"ranks": 2,', '"ranks": 0,', "ranks must be a whole number"), ("{", "", "six")):
        with open("six-bad.json", "w") as file:
            file.write(text.replace(old, new, 1))
        line, _ = match(*run, "six-bad.json", ranks=2 if runs.LONG else 1, code=3)
        check(part in line, f"{old} -> {new}: {line}")
    match(*run, "none.json", ranks=2, code=3)
    for ranks in (1, 2):
        line, _ = match(*problem, "--max_iter", 0, "--plan", "six.json", "--save_gradient", "six.json", ranks=ranks, code=2)
        check("is the input 'six.json'" in line and open("six.json").read() == text, f"a gradient over the plan: {line}")
    line, _ = match(*run, "auto", "--no_auto_gpu_config", code=2)
    check("contradict" in line, line)
    line, _ = match(*run, "off", "--auto_gpu_config", code=2)
    check("contradict" in line, line)


def of_a_configuration():
    """The file that a run prints names its input, which its plan is for, too."""
    status, out, _ = runs.run(program, "match", "two.npy", "--size", 24, 30, 32, *QUIET, "--print-config")
    with open("run.yaml", "w") as file:
        file.write(out)
    made = runs.run(program, "plan", "match", "--config", "run.yaml", "--threads", 1, "--output", "run.json")
    done = runs.run(program, "match", "--config", "run.yaml", "--threads", 1, "--plan", "run.json", "--output", "run.npy")
    check(made.status == done.status == 0, f"plan of a configuration: {made} {done}")
    with open("other.yaml", "w") as file:
        file.write("\n".join(line for line in out.splitlines() if not line.startswith("arguments")))
    runs.run(program, "plan", "match", "--config", "other.yaml", "--threads", 1, "--output", "other.json")
    done = runs.run(program, "match", "--config", "run.yaml", "--threads", 1, "--plan", "other.json", "--output", "other.npy")
    check(done.status == 3 and "plan of another problem" in done.err, f"plan of no input: {done}")


def history_of_the_checkpoint():
    """A run that another plan is made for goes on with the history that it has, says so, and is the same run when it is done."""
    words = ("two.npy", "--limit_to", 8, "--add_dimension", 16, "--max_iter", 30, "--polish_rounds", 1, "--threads", 1,
             "--deterministic", "--output", "h.h5")
    plan(*words[:5], "--threads", 1, "--deterministic", "--history", 3, "--ranks", 1, "--output", "three.json")
    match(*words, "--plan", "three.json", code=75, env={"MF_FAULT": "run.leave:visit=9"})
    status, out, err = runs.run(program, "match", *words, "--restart", "auto", "--json")
    check(status == 0 and "history 3" in err, f"another history: {status} {err[-500:]}")
    went_on = json.loads(out) if status == 0 else {"plan": {"settings": {"history": 0}}, "peak_bytes": {}}
    check(went_on["plan"]["settings"]["history"] == 3 and went_on["peak_bytes"]["predicted"] == went_on["peak_bytes"]["arena"], f"its plan: {went_on['plan']['settings']} {went_on['peak_bytes']}")
    match(*words[:-1], "whole.h5", "--plan", "three.json")
    is_, whole = (runs.run(program, "info", name, "--json")[1] for name in ("h.h5", "whole.h5"))
    check(json.loads(is_)["results"]["loss_final"] == json.loads(whole)["results"]["loss_final"], "the loss of one undisturbed run")
    done, _ = match(*words, "--restart", "auto", "--plan", "off")
    check(done.get("done_before"), "with another plan it is no other problem")
    match(*words[:-1], "k.h5", "--history", 2, code=75, env={"MF_FAULT": "run.leave:visit=9"})
    line, _ = match(*words[:-1], "k.h5", "--history", 4, "--restart", "auto", code=3)
    check("pairs of history: 2" in line, f"one that was asked for is another problem: {line}")


def already_held():
    """An initial field that a rank holds is among its bytes (that it counts as free: tests/unit/plan_room.c)."""
    n = 96
    np.save("big.npy", np.full((n, n, n), 0.4, np.float32))
    words = ("two.npy", "--limit_to", 8, "--size", n, n, n, "--threads", 1, "--max_iter", 1, "--no_polish", "--output", "b.npy")
    free, _ = match(*words, "--initial_microstructure_file", "big.npy")
    bytes_ = free["plan"]["bytes"]
    check(bytes_["arrays"].get("in use before") == 4 * n**3, f"{bytes_['arrays']}")


def taken_ahead():
    """--no_memory_growth: the planned bytes stand in the process from the start, and the arrays are counted as before."""
    words = ("two.npy", "--limit_to", 8, "--size", 112, 112, 112, "--threads", 1, "--max_iter", 1, "--no_polish", "--output", "b.npy")
    grown, _ = match(*words)
    status, out, err = runs.run(program, "match", *words, "--no_memory_growth", "--json")
    ahead = json.loads(out) if status == 0 else {"peak_bytes": {"arena": None, "rss": [0]}}
    check(ahead["peak_bytes"]["arena"] == grown["peak_bytes"]["arena"] and "MiB are reserved now" in err, f"{err}")
    check(ahead["peak_bytes"]["rss"][0] >= 0.98 * ahead["peak_bytes"]["predicted"][0], f"{ahead['peak_bytes']}")
    status, out, err = runs.run(program, "match", *words, "--no_memory_growth", "--json", ranks=2, mpiexec=mpiexec)
    if check(status == 0, err):
        plan_, taken = json.loads(out)["plan"]["bytes"], float(err.split(" MiB are reserved now")[0].split()[-1]) * 2**20
        shared = plan_["arrays"].get("slices shared", 0)
        check(shared > 2**20 and taken < max(plan_["per_rank"]) - shared + 2**17, f"{taken} bytes are taken, {shared} of {plan_['per_rank']} are shared")
    status, out, err = runs.run(program, "match", *words, "--no_memory_growth", "--plan", "off", "--json")
    check(status == 0 and "--no_memory_growth has no effect" in err, err)
    line, _ = match(*words, "--no_memory_growth", code=5, env={"MF_FAULT": "memory.reserve"})
    check("cannot reserve" in line, line)


def less_memory():
    """Batches and threads do not change bits, so a run that had to do with less ends in the same volume."""
    words = ("three.npy", "--limit_to", 8, "--size", 40, 48, 48, "--max_iter", 4, "--polish_rounds", 1, "--deterministic", *S2)
    whole, _ = match(*words, "--threads", 1, "--output", "whole.npy", ranks=2)
    need = max(whole["peak_bytes"]["arena"]) / 2**20
    less, _ = match(*words, "--threads", 1, "--memory-limit", int(need) - (need == int(need)), "--output", "less.npy", ranks=2)
    check(0 < less["batch"] < 24 and max(less["peak_bytes"]["arena"]) < need * 2**20, f"batch {less['batch']}")
    check(bits("less.npy") == bits("whole.npy"), "a smaller batch, other bits")
    for more in (("--batch_size", 2), ("--threads", 2), ("--threads", 3, "--batch_size", 10)):
        match(*words, *(() if "--threads" in more else ("--threads", 1)), *more, "--output", "more.npy", ranks=2)
        check(bits("more.npy") == bits("whole.npy"), f"{more}: other bits")
    _, err = match(*words, "--threads", 1, "--plan", "off", "--memory-limit", 6, "--output", "off.npy", ranks=2)
    check(err.count("slices in flight instead of") == 1 and bits("off.npy") == bits("whole.npy"), f"--plan off: {err}")
    line, _ = match(*words, "--threads", 1, "--memory-limit", 1, "--output", "never.npy", ranks=2, code=5)
    check("nothing fits into memory: the smallest plan (2 ranks, batch 2" in line and "1048576 are available" in line, line)
    for visit in runs.some(range(12, 80, 9), 3):
        env = {"MF_FAULT": f"memory:visit={visit}:rank=1"}
        status, _, err = runs.run(program, "match", *words, "--threads", 1, "--output", "fault.npy", *QUIET, ranks=2,
                                  mpiexec=mpiexec, env=dict(os.environ, **env))
        shrunk = [line for line in err.splitlines() if "slices in flight instead of" in line]
        check(status == 0 and len(shrunk) < 2 or status == 5, f"no memory at visit {visit}: {status}: {err[-400:]}")
        if status == 0:
            seen.append(len(shrunk))
            check(bits("fault.npy") == bits("whole.npy"), f"no memory at visit {visit}: other bits")
            os.remove("fault.npy")


def polish_left_out():
    """Mean-field annealing fails in so small a volume, and the polish that follows is in no plan: without memory for it the run ends well."""
    np.save("coarse.npy", blobs((32, 32), [0.6, 0.4], 3, 2))
    words = ("coarse.npy", "--limit_to", 4, "--size", 8, 8, 8, "--descriptor_types", "FFTCorrelations", "Variation", "--threads", 1, "--plan", "off", "--batch_size", 2)
    done, err = match(*words, "--output", "polished.npy")
    check(done["polish_seconds"] > 0 and "no polish" not in err, f"a polish after mean-field annealing: {done} {err}")
    done, err = match(*words, "--output", "cut.npy", env={"MF_FAULT": "memory:visit=120"})
    check(done["swaps_tried"] == 0 and "no polish:" in err and "no memory" in err, f"no memory for the polish: {done} {err}")


def address_space():
    """A limit of address space (RLIMIT_AS), on a lone process and on one rank of two: from room enough downwards all runs end well, until one is
    refused with a line and without a file."""
    if subprocess.run(["sh", "-c", 'ulimit -v 4000000; exec "$0" version', program], capture_output=True).returncode != 0:
        return  # sanitizers map terabytes
    words = ("match", "two.npy", "--limit_to", 8, "--size", 128, 128, 128, "--threads", 1, "--max_iter", 1, "--no_polish", "--output", "as.npy", *QUIET)
    for ranks in runs.some((2, 1)):
        done, kilobytes = runs.Done(0, "", ""), 600000
        while done.status == 0 and kilobytes > 50000:
            if os.path.exists("as.npy"):
                os.remove("as.npy")
            kilobytes = int((0.92 if runs.LONG else 0.85) * kilobytes)
            limited = f'[ "${{OMPI_COMM_WORLD_RANK:-1}}" != 1 ] || ulimit -v {kilobytes}; exec "$@"'
            done = runs.run("sh", "-c", limited, "sh", program, *words, ranks=ranks, mpiexec=mpiexec)
        lines = runs.said(done.err)
        print(f"address space, {ranks} ranks: {kilobytes} kB: {done.status} {lines}")
        check(done.status == 5 and len(lines) == 1 and "bytes" in lines[0] and not os.path.exists("as.npy"), f"{kilobytes} kB on one of {ranks}: {done}")


seen = []
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    np.save("two.npy", blobs((30, 32), [0.6, 0.4], 1))
    np.save("three.npy", blobs((48, 48), [0.5, 0.2, 0.3], 2))
    for part in (predicted, between_nodes, in_the_output, old_scripts, from_a_file, of_a_configuration, history_of_the_checkpoint, already_held, taken_ahead, less_memory, polish_left_out, address_space):
        part()
    check(sum(seen) >= (3 if runs.LONG else 1), f"went on with less memory {sum(seen)} times")
    os.chdir("/")
finish("plan_run")
