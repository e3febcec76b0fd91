#!/usr/bin/python3
"""plan as a user sees it: golden plans for the machines in examples/hardware, the same bytes every time, arrays that add
up, what a run then really takes, and what is refused. With --write the golden plans are written anew.
usage: plan.py MESOFORGE MPIEXEC FOLDER_OF_HARDWARE GOLDEN [--write]"""
import hashlib
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time

from runs import S2, check, finish, some
from samples import blobs, np

program, mpiexec, hardware, golden = sys.argv[1:5]
program, hardware, golden = map(os.path.abspath, (program, hardware, golden))
QUIET = ("--logging_level", "40")

# machine, options
CASES = [
    ("laptop", "--size 128 128 128"),
    ("laptop", "--size 512 512 512"),
    ("laptop", "--size 640 640 640"),
    ("laptop", "--size 768 768 768"),
    ("laptop", "--size 512 512 512 --device cpu"),
    ("laptop", "--size 768 768 768 --device cpu --ranks 4"),
    ("laptop", "--size 512 512"),
    ("laptop", "--size 512 512 --device cuda"),
    ("l4x4", "--size 512 512 512"),
    ("l4x4", "--size 1024 1024 1024"),
    ("l4x4", "--size 1024 1024 1024 --gpu_ids 0 1 2 --history 1"),
    ("l4x4", "--size 512 512 512 --phases 3"),
    ("h100x8", "--size 1024 1024 1024"),
    ("h100x8", "--size 1024 1024 1024 --gpu_ids 3 5"),
    ("h100x8", "--size 2048 2048 2048"),
    ("h100x8", "--size 2048 2048 2048 --exchange host"),
    ("h100x8", "--size 2048 2048 2048 --gpu_ids 0"),
    ("h100x8", "--size 3072 3072 3072"),
    ("h200x8", "--size 1024 1024 1024 --gpu_ids 0"),
    ("l4x4", "--size 768 768 768 --residency host"),
    ("h100x8", "--size 512 512 512 --optimizer_type Adam --loss_type RMS --descriptor_types S2"),
    ("a100x4-64nodes", "--size 64 64 64"),
    ("a100x4-64nodes", "--size 64 64 64 --device cuda"),
    ("a100x4-64nodes", "--size 1024 1024 1024"),
    ("a100x4-64nodes", "--size 4096 4096 4096 --limit_to 32"),
    ("a100x4-64nodes", "--size 2048 2048 2048 --device cpu --non_periodic"),
    ("a100x4-64nodes", "--size 1024 1024 1024 --ranks 10"),
    ("mixed", "--size 1024 1024 1024"),
    ("mixed", "--size 640 640 640 --ranks 6"),
    ("mixed", "--size 640 640 640 --ranks 6 --device cuda"),
    ("mixed", "--size 512 512 512 --ranks 8 --share-gpu --batch_size 4 --device cuda"),
]


def run(*words, ranks=1, verb="plan", **env):
    start = [mpiexec, "-q", "-n", str(ranks)] if ranks > 1 else []
    line = start + [program, verb, *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, env=dict(os.environ, **env))
    return done.returncode, done.stdout, done.stderr


def plan(*words, **more):
    status, out, err = run("reconstruct", *words, "--json", *QUIET, **more)
    check(status == 0, f"plan {words}: {status} {err}")
    return json.loads(out) if status == 0 else None


def row(machine, words):
    p = plan(*words.split(), "--hardware", f"{hardware}/{machine}.json")
    where = "device" if p["settings"].get("offload") == 0 else "host"
    cells = [p["device"], where, *(p[k] for k in ("nodes", "ranks", "ranks_per_node", "ranks_per_gpu", "threads", "exchange")), p["settings"]["batch"]]
    cells += ["/".join(str(p["derived"].get(f"{what}_{a}", 1)) for a in "zyx") for what in ("slices", "rounds")]
    cells += [p["settings"].get("history", "-")]
    cells += [p.get("host_bytes", {}).get("total", 0), p["bytes"]["total"], sum(p["bytes"]["per_rank"]), p["bytes"]["free"]]
    return "\t".join(map(str, [machine, words, *cells, f"{p['seconds_per_evaluation']['total']:.2e}"]))


def golden_plans():
    head = ("# machine, options, device, fields in the memory of, nodes, ranks, a node, a GPU, threads, exchange, batch, in flight z/y/x, rounds, "
            "history, bytes of the fullest rank on its node (GPUs), where its state is, of all, there, seconds")
    rows = [row(*case) for case in CASES]
    if sys.argv[-1] == "--write":
        with open(golden, "w") as file:
            file.write("\n".join([head, *rows]) + "\n")
    if platform.machine() not in ("x86_64", "AMD64"):
        return print("golden plans are of x86-64: vectors of other machines take other work areas")
    wanted = [line for line in open(golden).read().splitlines() if not line.startswith("#")]
    for is_, want in zip(rows, wanted):
        check(is_ == want, f"another plan:\n  is   {is_}\n  want {want}")
    check(len(rows) == len(wanted), "golden plans")


def pure():
    words = ("--size", 512, 512, 512, "--hardware", f"{hardware}/mixed.json")
    texts = set()
    for n, env in ((1, {}), (2, {}), (1, {"OMP_NUM_THREADS": "3"}), (1, {"MF_FAULT": "memory:visit=3"})):
        status, out, err = run("reconstruct", *words, "--json", *QUIET, ranks=n, **env)
        check(status == 0, f"a plan on {n} ranks, {env}: {status} {err}")
        texts.add(out)
    check(len(texts) == 1, f"{len(texts)} different texts of one plan")
    gpus = ("--size", 128, 128, 128, "--hardware", f"{hardware}/h100x8.json", "--gpu_ids", 0, 1)
    status, out, err = run("reconstruct", *gpus, "--json", ranks=2)
    check(status == 0 and json.loads(out)["ranks"] == 1 and "--ranks 2 plans" in err, f"ranks here are none of a file's machine: {err}")
    check(plan(*gpus, "--ranks", 2)["ranks"] == 2, "ranks that are asked for")
    status, out, _ = run("match", "--help")
    check("on this machine those that run" in " ".join(out.split()), "plan --help says whose ranks")
    text = texts.pop()
    body = text[:text.rindex(',"hash":')] + "}\n"
    check(json.loads(text)["hash"] == hashlib.sha256(body.encode()).hexdigest()[:16], "the hash is of the text")


def adds_up():
    began = time.monotonic()
    words = ("--extent_x", 1024, "--extent_y", 1024, "--extent_z", 1024, "--hardware", f"{hardware}/h100x8.json")
    status, out, _ = run("reconstruct", *words, "--explain")
    check(status == 0 and time.monotonic() - began < 5, f"explained in {time.monotonic() - began:.1f} s")
    check("on its GPU" in out and "on its node" in out, "two memories")
    table = out[out.index("bytes of rank"):out.index("arrays of all")].splitlines()[1:]
    values = [int(line.split()[-2]) for line in table]
    names = [line.split("  ")[1].strip() for line in table]
    at = names.index("= arrays")
    check(sum(values[:at]) == values[at], "arrays add up")
    check(sum(values[at:-1]) == values[-1], "shares add up")
    check("candidates" in out and "chosen" in out, f"candidates: {out}")
    p = plan(*words)
    b = p["bytes"]
    check(sum(b["arrays"].values()) == b["total"] == max(b["per_rank"]) and len(b["per_rank"]) == p["ranks"], "JSON")
    check(b["arrays"]["field"] == 1024**3 * 4 // p["ranks"] and b["arrays"]["history"] == 4 * b["arrays"]["field"], "field")


def said_why():
    """What stands in the way is named, and what would help is possible."""
    large = ("--size", 20000, 20000, "--hardware", f"{hardware}/h100x8.json")
    status, out, err = run("reconstruct", *large, "--explain")
    check(status == 0 and "16384" in out[out.index("note"):].split("\n")[0], f"too large a slice for GPUs: {out}")
    check("0.000" not in out[out.index("candidates"):], f"bytes of what was not counted: {out}")
    tight = ("--size", 256, 256, 256, "--hardware", f"{hardware}/h100x8.json", "--gpu_ids", 0, "--memory-limit", 10)
    refuses(5, "--residency auto", "reconstruct", *tight, "--residency", "device")
    refuses(5, "more of --gpu_ids", "reconstruct", *tight, "--residency", "host")
    status, out, err = run("reconstruct", "--size", 2048, 2048, 2048, "--memory-limit", 100, "--hardware", f"{hardware}/h100x8.json", "--json")
    check(status == 5 and "the plan is for" not in out + err, f"no plan, and said to be one: {out} {err}")
    laptop = open(f"{hardware}/laptop.json").read()
    with open("own.json", "w") as file:
        file.write(laptop)
    status, _, err = run("reconstruct", "--size", 32, 32, 32, "--hardware", "own.json", "--output", "own.json")
    with open("conf.json", "w") as file:
        file.write("extent_x: 32\n")
    conf, _, why = run("reconstruct", "--config", "conf.json", "--size", 32, 32, 32, "--output", "conf.json")
    check(conf == 2 and "is the input 'conf.json'" in why and open("conf.json").read() == "extent_x: 32\n", f"its configuration as output: {conf} {why}")
    check(status == 2 and "own.json" in err and open("own.json").read() == laptop, f"the machine's own file as output: {status} {err}")
    check('"compute_capability": "8.9"' in laptop, "laptop.json has another GPU now")
    for capability, size in (("3.5", (64, 64, 64)), ("7.5", (64, 64))):
        old = ("--size", *size, "--hardware", "old.json")
        with open("old.json", "w") as file:
            file.write(laptop.replace('"compute_capability": "8.9"', f'"compute_capability": "{capability}"'))
        p = plan(*old)
        check(p["device"] == "cpu" and any(f"has compute capability {capability}, the kernels need 8.0 or newer" in n for n in p["notes"]), f"an old GPU: {p['notes']}")
        refuses(4, f"has compute capability {capability}, the kernels need 8.0", "reconstruct", *old, "--device", "cuda")
    check(plan(*old, "--device", "cpu")["notes"] == [], "cores were asked for")
    status, out, _ = run("reconstruct", "--size", 32, 32, 32, "--device", "shadow")
    check(status == 0 and "(of its device)" in out and "(of its host)" in out, f"two memories: {out}")
    np.save("m.npy", blobs((32, 32), [0.6, 0.4], 1))
    texts = [run(verb, "m.npy", "--limit_to", 8, "--hardware", f"{hardware}/h100x8.json", "--json")[1] for verb in ("match", "reconstruct")]
    check(texts[0] == texts[1] != "", f"plan match and plan reconstruct: {texts}")


def as_in_a_run():
    """What a run's arena held is what was planned, on every rank."""
    np.save("two.npy", blobs((40, 44), [0.6, 0.4], 1))
    np.save("three.npy", blobs((44, 40), [0.5, 0.2, 0.3], 2))
    cases = [("two.npy", 1, 1, ""), ("two.npy", 24, 1, ""), ("two.npy", 25, 3, "--loss_type RMS"),
             ("two.npy", 46, 2, "--use_multigrid_reconstruction"), ("two.npy", 30, 2, "--batch_size 4 --history 5"),
             ("three.npy", 21, 3, "--non_periodic"), ("three.npy", 20, 2, "--deterministic --no_polish"),
             # fuller while a finer grid begins than at any other time
             ("two.npy", 1, 1, "--size 31 54 72 --limit_to 2 --descriptor_types S2 --history 4 --deterministic "
              "--use_multigrid_reconstruction --batch_size 19"),
             ("two.npy", 1, 2, "--size 62 25 69 --limit_to 2 --history 5 --use_multigrid_reconstruction --no_polish "
              "--batch_size 13"),
             # examples of the results are compared
             ("three.npy", 1, 1, "--candidates 2 --no_polish"), ("two.npy", 24, 2, "--candidates 2"),
             ("two.npy", 1, 1, "--descriptor_types S2 Patches --no_polish"), ("two.npy", 16, 2, "--descriptor_types S2 Patches")]
    for file, depth, ranks, words in some(cases):
        common = [file, "--threads", 1, *([] if "--descriptor_types" in words else S2), *words.split(), *(["--add_dimension", depth] if depth > 1 else [])]
        common += [] if "--limit_to" in words else ["--limit_to", 8]
        common += ["--max_iter", 60] if depth == 30 else ["--max_iter", 2, "--polish_rounds", 1]  # 60: mean-field annealing
        p = plan(*common, "--ranks", ranks, "--device", "cpu")
        status, out, err = run(*common, "--json", "--output", "o.h5", *QUIET, ranks=ranks, verb="match")
        check(status == 0, f"match {common}: {err}")
        took = json.loads(out)["peak_bytes"]["arena"]
        check(took == p["bytes"]["per_rank"], f"{common}: planned {p['bytes']['per_rank']}, took {took}")


def dry_run_says_the_sum():
    """Above --memory-limit a dry run names what all arrays need; its bytes are whole numbers."""
    np.save("d.npy", blobs((40, 44), [0.6, 0.4], 1))
    words = ("d.npy", "--size", 32, 32, 32, "--limit_to", 8, "--dry-run", *S2, *QUIET)
    _, out, _ = run(*words, "--json", verb="match")
    need = json.loads(out)["bytes"]["arena"][0]
    check(isinstance(need, int) and need > 1 << 20, f"bytes: {need}")
    status, _, err = run(*words, "--memory-limit", 1, verb="match")
    check(status == 5 and f"the arrays need {need} bytes, --memory-limit is 1048576" in err, f"dry run above the limit: {status} {err}")
    check(run(*words, "--memory-limit", (need >> 20) + 1, verb="match")[0] == 0, "below it")
    np.save("d.npy", blobs((512, 512), [0.6, 0.4], 1))
    status, _, err = run("d.npy", "--dry-run", "--memory-limit", 1, *QUIET, verb="characterize")
    check(status == 5 and "the arrays need" in err, f"characterize: {status} {err}")


def whole_run():
    """Plan and dry run say the seconds of a run; those of an image are its searches, too. What has no such time says none."""
    np.save("w.npy", blobs((96, 96), [0.6, 0.4], 1))
    seen = {}
    for more in (("--candidates", 1), ("--candidates", 3), ("--max_iter", 100), ("--polish_rounds", 1), ("--descriptor_types", "S2", "Variation")):
        words = ("w.npy", "--threads", 1, "--device", "cpu", *more)
        status, out, err = run("match", *words, "--json", *QUIET)
        check(status == 0, f"plan match {words}: {err}")
        p = json.loads(out)
        whole, step = p["seconds_of_run"], p["seconds_per_evaluation"]
        dry = json.loads(run(*words, "--dry-run", "--json", *QUIET, verb="match")[1])
        check(dry["seconds_of_run"] == whole, f"{words}: a plan says {whole}, a dry run {dry['seconds_of_run']}")
        check(abs(sum(v for k, v in whole.items() if k != "total") / whole["total"] - 1) < 1e-2, f"{whole} do not add up")
        check(("patches" in step) == (more[:1] != ("--descriptor_types",)), f"{words}: {step}")
        seen[more[:2]] = whole
    one, three = (seen["--candidates", n]["total"] for n in (1, 3))
    check(abs(three / one - 3) < 0.03 and seen["--max_iter", 100]["evaluations"] < seen["--candidates", 1]["evaluations"], f"{seen}")
    check(seen["--polish_rounds", 1]["polish"] < 0.3 * seen["--candidates", 3]["polish"], f"rounds of the polish: {seen}")
    check("# time: about " in run("w.npy", "--dry-run", *QUIET, verb="match")[1] and "  run  " in run("match", "w.npy", *QUIET)[1], "said to people")
    none = json.loads(run("w.npy", "--dry-run", "--json", "--max_iter", 0, *QUIET, verb="match")[1])
    check("seconds_of_run" not in none, f"no run: {none.get('seconds_of_run')}")


def smaller():
    """Where less is free the plan takes less: smaller batches first, then the history."""
    words = ("--size", 256, 256, 256, "--hardware", f"{hardware}/h100x8.json", "--device", "cpu", "--ranks", 4, "--threads", 1)
    whole = plan(*words)
    mib = whole["bytes"]["total"] >> 20
    tight = plan(*words, "--memory-limit", mib - 8)
    check(tight["settings"]["history"] == 2 and 0 < tight["settings"]["batch"] < whole["derived"]["slices_y"], f"batch {tight['settings']}")
    check(tight["bytes"]["total"] <= (mib - 8) << 20, "below the limit")
    short = plan(*words, "--memory-limit", mib * 17 // 20)
    check(short["settings"]["history"] == 1 and any("history 1" in n for n in short["notes"]), f"notes {short['notes']}")
    check(not any(c["fits"] for c in short["candidates"] if c["settings"]["history"] == 2), "history goes last")


def by_strips():
    """Between nodes S2 and Variation go by strips: less travels than whole slices, which --deterministic and other descriptors have."""
    with open(f"{hardware}/laptop.json") as file:
        machine = json.load(file)
    node = machine["nodes"][0]
    node.pop("gpus", None)
    node.update(count=2, cores=2)
    with open("pair.json", "w") as file:
        json.dump(machine, file)
    words = ("--size", 256, 256, 256, "--hardware", "pair.json", "--ranks", 4, "--threads", 1)
    ways = {more: plan(*words, *more) for more in ((), ("--deterministic",), ("--descriptor_types", "S2", "Variation", "LinealPath"), ("--limit_to", 32))}
    ways = {more[-1] if more else "": one for more, one in ways.items() if one}
    strips = ways.pop("")
    check(strips["nodes"] == 2 and any("exchanged as strips" in n for n in strips["notes"]), f"by strips: {strips['nodes']} nodes, {strips['notes']}")
    for name, one in ways.items():
        took, whole = strips["seconds_per_evaluation"], one["seconds_per_evaluation"]
        check(not any("strips" in n for n in one["notes"]) and 0.2 < took["exchange"] / whole["exchange"] < 0.75, f"{name}: {took} of {whole}, {one['notes']}")
        check(took["waiting"] < whole["waiting"], f"{name}: waits {took['waiting']} of {whole['waiting']}")


def verified():
    """--verify: batches tried here, foretold and taken beside each other; the plan is one that a run obeys."""
    np.save("v.npy", blobs((48, 48), [0.6, 0.4], 1))
    words = ("v.npy", "--limit_to", 8, "--add_dimension", 48, "--threads", 1, "--device", "cpu")
    tried = plan(*words, "--verify", "--output", "v.json", ranks=2)
    batches = [t["settings"]["batch"] for t in tried["verified"]]
    check(batches[0] == 0 and batches[1:] == [12, 6] and tried["settings"]["batch"] in batches, f"tried {tried['verified']}")
    check(all(t["measured"] > 0 and t["predicted"] > 0 for t in tried["verified"]), f"{tried['verified']}")
    check(len(plan(*words, "--verify")["verified"]) == 1, "one rank looks at slices where they lie")
    status, out, _ = run("reconstruct", *words, "--verify", *QUIET)
    check(status == 0 and "verified" in out and "ms measured" in out, out)
    status, out, err = run(*words, "--max_iter", 2, "--polish_rounds", 1, "--plan", "v.json", "--json", "--output", "o.npy", *QUIET, ranks=2, verb="match")
    check(status == 0 and json.loads(out)["batch"] >= 0, f"a verified plan is obeyed: {err}")
    plan(*words, "--dry-run", "--output", "dry.json")
    check(not os.path.exists("dry.json"), "a dry run writes a plan")
    refuses(2, "--verify measures", "reconstruct", *words, "--verify", "--ranks", 3)
    refuses(2, "--verify measures, and --dry-run", "reconstruct", *words, "--verify", "--dry-run")
    refuses(2, "--verify measures", "reconstruct", *words, "--verify", "--hardware", f"{hardware}/mixed.json")


def which_device():
    """auto takes what the model calls faster: small images stay on the cores, and a note says the times of both."""
    for machine, large in (("h100x8", 64), ("laptop", 256), ("a100x4-64nodes", 64)):
        on = ("--hardware", f"{hardware}/{machine}.json", "--limit_to", 8)
        size, small = ("--size", 32, 32), "32 x 32"
        times = {device: plan(*size, *on, "--device", device)["seconds_per_evaluation"]["total"] for device in ("cpu", "cuda")}
        p = plan(*size, *on)
        check(times["cpu"] < 0.9 * times["cuda"] and p["device"] == "cpu", f"{machine}, {small}: {times}, {p['device']}")
        check(any("on the cores and" in n for n in p["notes"]), f"{machine}: {p['notes']}")
        check({c["device"] for c in p["candidates"]} == {"cpu", "cuda"}, f"{machine}: both were looked at")
        p = plan("--size", large, large, large, *on)
        check(p["device"] == "cuda" and p["notes"] == [], f"{machine}, {large}: {p['device']} {p['notes']}")
        check(plan(*size, *on, "--gpu_ids", 0)["device"] == "cuda", f"{machine}: a GPU that was named")
        check(plan(*size, *on, "--residency", "device")["device"] == "cuda", f"{machine}: a memory that was named")


def bench_file(name, device, threads, rows, what="reconstruct"):
    """What bench reconstruct --output writes, of rows (ranks, edge, seconds)."""
    rows = [{"ranks": ranks, "shape": [edge, 64, 64], "seconds": seconds} for ranks, edge, seconds in rows]
    with open(name, "w") as file:
        json.dump({"device": device, "measured": [{"what": what, "threads": threads, "rows": rows}]}, file)


def as_measured():
    """Times of bench reconstruct replace those of the model, for these extents, ranks, threads and this device alone."""
    on = ("--size", 64, 64, 64, "--hardware", f"{hardware}/h100x8.json")
    model = plan(*on)["seconds_per_evaluation"]["total"]
    threads = plan(*on, "--device", "cpu")["threads"]
    bench_file("cpu.json", "cpu", threads, [(1, 64, 5e-5), (1, 128, 1e-9)])
    bench_file("cuda.json", "cuda", 1, [(1, 64, 1e-4)])
    p = plan(*on, "--measured", "cpu.json", "cuda.json")
    check(p["device"] == "cpu" and abs(p["seconds_per_evaluation"]["total"] - 5e-5) < 1e-9, f"measured: {p['device']} {p['seconds_per_evaluation']}")
    check(any("bench reconstruct measured" in n for n in p["notes"]), f"{p['notes']}")
    p = plan(*on, "--measured", "cuda.json")
    check(p["device"] == "cuda" and abs(p["seconds_per_evaluation"]["total"] - 1e-4) < 1e-9, f"cuda alone: {p['seconds_per_evaluation']}")
    status, out, err = run("reconstruct", "--size", 32, 64, 64, *on[4:], "--measured", "cpu.json", "--json")
    check(status == 0 and "'cpu.json' has no evaluation of 32 x 64 x 64 voxels" in err, f"other extents: {status} {err}")
    check(model > 1e-4, f"the model's: {model}")
    refuses(3, "nowhere.json", "reconstruct", *on, "--measured", "nowhere.json")


def measured_otherwise():
    """Times of other threads, another device or another problem leave the model's, and it is said."""
    on = ("--size", 64, 64, 64, "--hardware", f"{hardware}/h100x8.json", "--device", "cpu")

    def seconds(*words):
        status, out, err = run("reconstruct", *on, *words, "--json")
        check(status == 0, f"{words}: {err}")
        p = json.loads(out)
        return p["seconds_per_evaluation"]["total"], " ".join(p["notes"]), err

    model, threads = seconds()[0], plan(*on)["threads"]
    bench_file("cpu.json", "cpu", threads, [(1, 64, 1e-4)])
    for words, other in (("--limit_to 8", "lags"), ("--phases 3", "phases"), ("--optimizer_type Adam", "optimiser"), ("--history 3", "history"),
                         ("--descriptor_types S2", "descriptors"), ("--descriptor_types S2 Variation LinealPath", "descriptors"),
                         ("--loss_type RMS", "loss"), ("--no_multigrid_descriptor", "levels")):
        took, notes, err = seconds(*words.split(), "--measured", "cpu.json")
        check(took == seconds(*words.split())[0] and "this plan has other" in err and other in err.split("has other")[1], f"{words}: {took} {err}")
    bench_file("less.json", "cpu", threads - 1, [(1, 64, 1e-4)])
    took, notes, err = seconds("--measured", "less.json")
    check(took == model and "no time of --measured is of these ranks, threads and settings" in notes, f"other threads: {took} {notes}")
    bench_file("shadow.json", "shadow", threads, [(1, 64, 1e-4)])
    took, notes, err = seconds("--measured", "shadow.json")
    check(took == model and "'shadow.json' is of the device 'shadow'" in err, f"another device: {took} {err}")
    bench_file("later.json", "cpu", threads, [(1, 64, 2e-4), (1, 64, 3e-4)])
    took, notes, err = seconds("--measured", "cpu.json", "later.json")
    check(abs(took - 3e-4) < 1e-9 and "0.0003 s on 1 rank of" in err and "replace 0.0002 s" in err, f"the last counts: {took} {err}")
    bench_file("many.json", "cpu", threads, [(ranks, 64, 1e-4) for ranks in range(40, 0, -1)])
    took, notes, err = seconds("--measured", "many.json")
    check(took == model and "'many.json' has more than 32 times" in err, f"too many: {took} {err}")


def nothing_fits():
    """What was looked at is said, and the least of it, with exit status 5; a volume beyond all addresses just does not fit."""
    h100 = ("--hardware", f"{hardware}/h100x8.json")
    for words in (("--size", 1024, 1024, 1024, "--memory-limit", 1024), ("--size", 36000, 36000, 36000)):
        status, out, err = run("reconstruct", *words, *h100, "--json", *QUIET)
        said = json.loads(out)
        least = said["least"]
        check(status == 5 and f"needs {least['bytes']} bytes" in err and f"{least['free']} are available" in err, f"{words}: {status} {err}")
        check(not any(c["fits"] for c in said["candidates"]) and "hash" not in said and "ranks" not in said, f"{words}")
        check({c["device"] for c in said["candidates"]} == {"cuda", "cpu"}, f"{words}: all devices were looked at")
    status, out, err = run("reconstruct", "--size", 1024, 1024, 1024, "--memory-limit", 1024, *h100, "--explain", *QUIET)
    check(status == 5 and "nothing fits" in out and "candidates" in out and err.count("mesoforge: ") == 1, f"explained: {out}")
    capped = plan("--size", 512, 512, 512, *h100, "--device", "cuda", "--ranks", 2, "--gpu-memory-fraction", 0.05)
    check(capped["bytes"]["free"] == int(0.05 * 85520809984) + 1 >= capped["bytes"]["total"], f"a part of a GPU: {capped['bytes']}")
    shared = ("--size", 64, 64, 64, *h100, "--gpu_ids", 0, "--ranks", 2, "--share-gpu", "--gpu-memory-fraction")
    check(plan(*shared, 0.02)["bytes"]["free"] == int(0.01 * 85520809984) + 1, "ranks that share a GPU have a part each")
    refuses(5, "are available (--gpu-memory-fraction); try: a larger --gpu-memory-fraction, more of --gpu_ids", "reconstruct", *shared, 1e-9)
    for fraction in (0, -0.5, 1.01):
        refuses(2, f"--gpu-memory-fraction {fraction}: it must be above 0 and at most 1", "reconstruct", *shared, fraction)
    check("(--memory-limit)" in run("reconstruct", "--size", 64, 64, 64, "--memory-limit", 1, *h100)[2], "what it is that is short")


def refuses(code, part, *words):
    status, _, err = run(*words)
    lines = [line for line in err.splitlines() if line.startswith("mesoforge: ")]
    check(status == code and len(lines) == 1 and part in lines[0], f"{words}: {status} {lines}")


def refusals():
    h100 = ("--hardware", f"{hardware}/h100x8.json")
    notes = plan(*h100, "--size", 20, 64, 64, "--limit_to", 4, "--ranks", 12, "--device", "cpu")["notes"]
    check(any("12 ranks, and 10 pairs of planes: 2 ranks own none" in n for n in notes), f"more ranks than pairs: {notes}")
    for ranks, crowded in ((1, False), (len(os.sched_getaffinity(0)) + 1, True)):
        notes = plan("--size", 64, 64, 64, "--limit_to", 4, "--ranks", ranks, "--device", "cpu")["notes"]
        check(any(f"{ranks} ranks of 1 thread on" in n for n in notes) == crowded, f"{ranks} ranks on this machine: {notes}")
    threads = len(os.sched_getaffinity(0)) + 1
    notes = plan("--size", 64, 64, 64, "--limit_to", 4, "--ranks", 1, "--threads", threads, "--device", "cpu")["notes"]
    check(any(f"1 rank of {threads} threads on" in n and "start it there" in n for n in notes), f"{threads} threads: {notes}")
    check(plan(*h100, "--size", 64, 64, 64, "--device", "cuda:3")["ranks_per_gpu"] == 1, "cuda:3")
    text = open(f"{hardware}/mixed.json").read()
    for old, new, part in (('"cores": 64', '"cores": 0', "cores is 0"), ('"cores": 64', '"cores": -64', "cores is -64"),
                           ('"cores": 64', '"cores": "64"', "cores must be a whole number, not text"),
                           ('"cores": 64', '"cores": 6.5', "cores must be a whole number"),
                           ('"schema"', '"scheme"', "scheme"), ('"nodes"', '"knots"', "unknown key knots"),
                           ('"simd": "avx512"', '"simd": "avx1024"', "simd is 'avx1024', it must be avx512, avx2 or baseline"),
                           ('"simd": "avx512"', '"simd": 512', "simd must be text"),
                           ('"simd": "avx512"', '"simd": ""', "simd must be text of 1 to"),
                           ('"compute_capability": "8.0"', '"compute_capability": "99.9"', "compute_capability is 99.9, which no machine has"),
                           ('"ram_bytes": ', '"ram_bytes": -', "ram_bytes is -"),
                           ('"ram_bytes": 549755813888', '"ram_bytes": 1e30', "ram_bytes must be a whole number"),
                           ('"memory_bytes": ', '"memory_bytes": -', "memory_bytes is -"),
                           ('"memory_bytes": 85899345920', '"memory_bytes": 9000000000000000000', "which no machine has"),
                           ('"schema_version": 1', '"schema_version": 2', "schema version 2")):
        check(old in text, f"mixed.json has no {old}")
        with open("bad.json", "w") as file:
            file.write(text.replace(old, new, 1))
        refuses(3, part, "reconstruct", "--hardware", "bad.json")
    draw = random.Random(5)
    for _ in range(20):
        at = draw.randrange(len(text))
        with open("bad.json", "w") as file:
            file.write(text[:at])
        refuses(3, "bad.json", "reconstruct", "--hardware", "bad.json")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for part in (golden_plans, pure, adds_up, said_why, as_in_a_run, dry_run_says_the_sum, whole_run, smaller, which_device, as_measured, measured_otherwise, nothing_fits, by_strips, verified, refusals):
        part()
    os.chdir("/")
finish("plan")
