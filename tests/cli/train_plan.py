"""The plan of a training: the bytes that it predicts are those that a run takes, on any ranks and with any settings; what the user fixes
stays; what is short of memory passes fewer samples at a time; what cannot be is refused with its arithmetic.
usage: train_plan.py MESOFORGE MPIEXEC FOLDER_OF_HARDWARE GOLDEN [--write]"""
import itertools
import json
import os
import random
import re
import sys
import tempfile

import runs
from runs import check, finish, some

program, mpiexec, hardware, golden = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:5])
os.chdir(tempfile.mkdtemp())
SMALL = ("--data", "set.h5", "--max-steps", 2, "--no-plots")
run, _ = runs.tools(program, mpiexec)


def train(*words, what="classify", **more):
    done = run("train", what, *SMALL, "--results-dir", "run", "--restart", "no", "--json", *words, **more)
    check(done.status == 0, f"train {what} {words}: {done}")
    return (json.loads(done.out) if done.status == 0 else {}), done.err


def as_planned(result, what):
    peak = result.get("peak_bytes", {})
    check(peak and peak["predicted"] == peak["arena"], f"{what}: {peak}")
    return result.get("plan", {}).get("settings", {})


def exact():
    choose = random.Random(3)
    for ranks, arch in some(itertools.product((1, 2, 3), ("mlp", "cnn", "vit")), 4):
        words = ["--arch", arch, "--effective-batch", choose.choice((6, 24, 33))]
        words += choose.choice(([], ["--batch-size", 5], ["--accumulation-steps", 3]))
        words += ["--zero", choose.choice(("auto", 0, 1, 2, 3)), "--recompute", choose.choice(("auto", "cheap", "blocks"))]
        words += ["--num-workers", choose.choice(("auto", 0, 2))]
        result, _ = train(*words, ranks=ranks, what=choose.choice(("classify", "regress")))
        settings = as_planned(result, f"{words} on {ranks} ranks")
        for name, option in (("batch", "--batch-size"), ("passes", "--accumulation-steps"), ("readers", "--num-workers")):
            if option in words and words[words.index(option) + 1] != "auto":
                check(settings[name] in (words[words.index(option) + 1], -(-words[3] // ranks)), f"{words}: {settings}")
    result, _ = train("--deterministic", ranks=3)
    as_planned(result, "slots")
    words = ("--arch", "vit", "--patch", 4, "--width", 32, "--experts", 5, "--tp", 2, "--parallel-strategy", "expert_parallel", "--effective-batch", 8)
    result, _ = train(*words, "--threads", 1, ranks=4)
    as_planned(result, "experts in four parts")
    most, *others = result["peak_bytes"]["arena"]
    check(most > max(others) and len(set(others)) == 1, f"two experts on rank 0, one on others: {result['peak_bytes']}")


def short_of_memory():
    wide = ("--arch", "vit", "--patch", 4)
    free, _ = train(*wide, ranks=2)
    settings = as_planned(free, "vit")
    check(settings["batch"] == 32 and settings["zero"] == 0 and settings["recompute"] == 0, f"enough memory: {settings}")
    need = free["peak_bytes"]["arena"][0] >> 20
    tight, err = train(*wide, "--memory-limit", max(1, need * 2 // 3), ranks=2)
    settings = as_planned(tight, "two thirds of the memory")
    check(settings["batch"] * settings["passes"] == 32 and settings["batch"] < 32, f"two thirds of the memory: {settings}")
    tight, err = train(*wide, "--memory-limit", max(1, need // 2), "--batch-size", 32, ranks=2)
    settings = as_planned(tight, "a fixed batch")
    check(settings["batch"] == 32 and settings["zero"] + settings["recompute"] > 0, f"a fixed batch in half of the memory: {settings}")
    check("plan: backward computes activations a second time" in err or "plan: ranks share" in err, f"what was done for it: {err}")
    done = run("train", "classify", *SMALL, "--results-dir", "run", "--restart", "no", *wide, "--memory-limit", 1, ranks=2)
    check(done.status == 5 and "nothing fits into memory: the smallest plan (2 ranks, batch 1, passes 64, zero 0, recompute 2, partition 1, readers 1, tensor 2)" in done.err, f"{done}")


def ways():
    """Ranks share layers, or are stages, only where the plain run does not fit, or a step is a tenth shorter. The run stays in its plan."""
    wide = ("--arch", "vit", "--patch", 4, "--width", 96, "--depth", 3, "--effective-batch", 8, "--threads", 1)
    vit = (*wide, "--heads", 4)
    free, err = train(*vit, ranks=2)
    check("tensor" not in (is_ := as_planned(free, "enough memory")) and "stages" not in is_ and "without that" not in err, f"enough memory: {free['plan']}")
    for ranks, limit, way in ((2, 3, "2 ranks share every layer"), (4, 2, "4 ranks share every layer"), (4, 3, "stages share the blocks")):
        more = "stages" in way  # three heads cannot be shared by four ranks
        tight, err = train(*wide, "--heads", 3 if more else 4, "--memory-limit", limit, ranks=ranks)
        settings = as_planned(tight, f"{ranks} ranks, {limit} MiB")
        check(settings.get("stages" if more else "tensor", 1) > 1 and max(tight["peak_bytes"]["arena"]) <= limit << 20, f"{ranks} ranks, {limit} MiB: {tight}")
        check(re.search(f"plan: .*{way}: without that rank 0 needs .* for arrays, {limit}.0 MiB are available", err), err)
        check(more or abs(tight["validation"]["loss"] - free["validation"]["loss"]) < 1e-5, f"another loss: {tight}, {free}")
    words = ("train", "classify", *SMALL, "--results-dir", "run", "--restart", "no", *vit, "--memory-limit", 3)
    done = run("plan", *words[:4], *vit, "--memory-limit", 3, "--ranks", 2, "--tp", 1, "--pp", 1)
    check(done.status == 5 and "(2 ranks, batch 1, passes 4, zero 3, recompute 2, readers 1) needs" in done.err, f"the user's own ways: {done}")
    said = json.loads(plan("--data", "set.h5", *vit, "--memory-limit", 3, "--ranks", 2, "--output", "ways.json", "--json"))
    check(said["settings"]["tensor"] == 2 and any("without that rank 0 needs" in n for n in said["notes"]), f"{said}")
    check({c["settings"].get("stages", 1) for c in said["candidates"]} == {1, 2}, f"all ways are tried: {said['candidates']}")
    result, err = train(*vit, "--plan", "ways.json", ranks=2)
    check(as_planned(result, "a stored plan")["tensor"] == 2 and "2 ranks share every layer" in err, f"{result['plan']}")
    dry = json.loads(run(*words, "--dry-run", "--json", ranks=2).out)
    check(dry["tensor"] == 2 and dry["bytes"] == result["peak_bytes"]["arena"], f"a dry run in 3 MiB: {dry}, {result['peak_bytes']}")
    done = run(*words, "--plan", "ways.json", "--tp", 1, ranks=2)
    check(done.status == 2 and "--plan 'ways.json' says tensor 2, and by its options this run has 1" in done.err, f"{done}")


def pieces():
    """Ranks that share layers keep pieces of activations where they are told to, or where whole ones do not fit. The loss keeps its bits."""
    fixed = ("--arch", "vit", "--patch", 2, "--width", 48, "--depth", 3, "--heads", 4, "--effective-batch", 16, "--batch-size", 16, "--recompute", "none", "--threads", 1)
    vit = (*fixed, "--tp", 2)
    free, _ = train(*vit, ranks=2)
    cut, _ = train(*vit, "--partition-activations", ranks=2)
    need, less = (as_planned(r, "pieces") and r["peak_bytes"]["arena"][0] for r in (free, cut))
    tight, err = train(*vit, "--memory-limit", (need - 1) >> 20, ranks=2)
    check("partition" not in free["plan"]["settings"] and cut["plan"]["settings"]["partition"] == 1 and less < need, f"{need}, in pieces {less}")
    check(as_planned(tight, "no room").get("partition") == 1 and "plan: ranks keep pieces of the activations that they have alike" in err, f"{tight['plan']}")
    check(cut["validation"]["loss"] == free["validation"]["loss"] == tight["validation"]["loss"], f"another loss: {free}, {cut}, {tight}")
    for way in ("auto", "off"):
        check("--partition-activations has nothing to cut: every rank has whole layers" in train(*fixed, "--partition-activations", "--plan", way)[1], "nothing to cut")
    plan("--data", "set.h5", *vit, "--ranks", 2, "--output", "whole.json")
    done = run("train", "classify", *SMALL, *vit, "--plan", "whole.json", "--partition-activations", ranks=2)
    check(done.status == 2 and "--plan 'whole.json' does not say --partition-activations" in done.err, f"{done}")


def another_memory():
    """On a device of its own memory the optimiser moves to the host where it does not fit, or where it is told to."""
    fixed = ("--arch", "vit", "--width", 64, "--patch", 4, "--batch-size", 8, "--recompute", "none", "--device", "shadow", "--threads", 1)
    free, _ = train(*fixed)
    check("offload" not in as_planned(free, "enough memory"), f"enough memory: {free['plan']}")
    need = free["peak_bytes"]["device"][0]
    tight, err = train(*fixed, "--memory-limit", (need - 1) >> 20)
    check(as_planned(tight, "offload").get("offload") == 1 and tight["peak_bytes"]["device"][0] < need, f"{tight['plan']}")
    check("plan: the optimiser works in the memory of the node" in err, err)
    far, _ = train(*fixed, "--offload", "optimizer", "--spill-activations", "--zero", 2, ranks=2)
    check(as_planned(far, "two ranks")["spill"] == 1 << 20, f"{far['plan']}")
    for result in (free, tight, far):
        check(result["peak_bytes"]["predicted_device"] == result["peak_bytes"]["device"], f"{result['peak_bytes']}")
    check(tight["validation"]["loss"] == free["validation"]["loss"], f"another loss: {tight}, {free}")
    planned = plan("--data", "set.h5", *fixed, "--offload", "optimizer", "--show-list", "--output", "far.json")
    check("list optimise" in planned and "copied" in planned and "@host+lasting+" in planned, planned)
    for verb, words, says in (
            ("train", ("--offload", "optimizer"), "--offload optimizer: on --device cpu there is no other memory than the host's"),
            ("train", ("--spill-activations",), "--spill-activations: on --device cpu there is no other memory than the host's"),
            ("train", ("--offload", "disk"), "--offload: 'disk' is not one of auto|none|optimizer"),
            ("train", (*fixed, "--spill-activations", "--plan", "far.json"), "--plan 'far.json' and --spill-activations differ"),
            ("plan train", ("--offload", "optimizer"), "there is no other memory than the host's")):
        done = run(*verb.split(), "classify", "--data", "set.h5", *words)
        check(done.status == 2 and says in done.err, f"{words}: {done}")


def out_of_memory():
    """On one rank, in the run: all ranks shrink, and the step stays the same."""
    whole, _ = train("--effective-batch", 32, ranks=2)
    for plan in ("auto", "off"):
        less, err = train("--effective-batch", 32, "--plan", plan, ranks=2, fault="memory:visit=1:rank=1")
        check("(rank 1; 1 of 2 ranks failed); all ranks go on with passes of 8 samples, a step keeps its 32" in err, f"out of memory, {plan}: {err}")
        check(abs(less["validation"]["loss"] - whole["validation"]["loss"]) < 1e-4, f"another result: {less}, {whole}")
    _, err = train("--batch-size", 16, ranks=2, fault="memory:visit=1:rank=1")
    check("all ranks go on with passes of 16 samples, recompute cheap, a step keeps its 32" in err, f"a fixed batch stays: {err}")
    done = run("train", "classify", *SMALL, "--results-dir", "run", "--restart", "no", "--batch-size", 16, "--recompute", "none", "--zero", 0, ranks=2, fault="memory:visit=1:rank=1")
    check(done.status == 5 and "go on" not in done.err and "nothing smaller is left than batch 16, zero 0, recompute 0" in done.err
          and " of parameters, gradients, moments, " in done.err and done.err.rstrip().endswith("try: a smaller --batch-size"), f"all is fixed: {done}")


def ladder():
    """Without a plan: down to what fits, with the same result. What does not fit at all is told part by part."""
    words = ("--arch", "mlp", "--width", 1024, "--plan", "off")
    whole, _ = train(*words, ranks=2)
    less, err = train(*words, "--memory-limit", 24, ranks=2)
    check("all ranks go on with passes of 8 samples, zero 1, recompute blocks, a step keeps its 64" in err and "zero 2" not in err, f"{err}")
    check(abs(less["validation"]["loss"] - whole["validation"]["loss"]) < 1e-4, f"another result: {less}, {whole}")
    done = run("train", "classify", *SMALL, "--results-dir", "run", "--restart", "no", *words, "--memory-limit", 10, ranks=2)
    check(done.status == 5 and "go on with passes of 1 sample, zero 3, recompute blocks" in done.err and "nothing smaller is left than batch 1, zero 3" in done.err, f"{done}")


def random_limits():
    """What fits by the plan runs in what is planned, and never has to shrink. All else is refused before it begins."""
    choose, fitted, plans = random.Random(11), 0, some(range(200), 20)
    for _ in plans:
        arch, ranks = choose.choice(("mlp", "cnn", "vit")), choose.choice((1, 2, 2, 3))
        width = 8 * choose.randint(1, 128) if arch == "mlp" else 8 * choose.randint(1, 16 if runs.LONG else 6)
        words = ["--arch", arch, "--width", width, "--depth", choose.randint(1, 4), "--effective-batch", choose.randint(ranks, 70),
                 "--optimizer", choose.choice(("adamw", "sgd")), "--memory-limit", int(2 ** choose.uniform(0, 6))]
        words += choose.choice(((), (), ("--patch", 4))) if arch == "vit" else ()
        words += choose.choice(((), (), ("--recompute", "none"), ("--zero", choose.randint(0, 3))))
        done = run("train", choose.choice(("classify", "regress")), *SMALL, "--results-dir", "run", "--restart", "no", "--json", *words, ranks=ranks)
        fits = done.status == 0
        fitted += fits
        check(fits or (done.status == 5 and "nothing fits into memory" in done.err), f"{words} on {ranks}: {done}")
        check("go on with passes" not in done.err, f"{words} on {ranks}: {done.err}")
        if fits:
            as_planned(json.loads(done.out), f"{words} on {ranks}")
    check(len(plans) // 4 < fitted < len(plans), f"{fitted} of {len(plans)} fit")


def words_of_others():
    for words, zero in ((("--use_ddp",), 0), (("--use_deepspeed",), 2)):
        result, _ = train(*words, ranks=2)
        check(as_planned(result, words)["zero"] == zero, f"{words}")
    result, err = train("--auto-batch-size")
    check(len(result["plan"]["verified"]) == 3 and "ms per step" in err, f"tried by real steps: {result.get('plan')}")
    check(result["plan"]["settings"]["batch"] in (16, 32, 64), "one of those that were tried")


def plan(*words, what="classify", **more):
    done = run("plan", "train", what, *words, **more)
    check(done.status == 0, f"plan train {what} {words}: {done}")
    return done.out


def as_in_a_run():
    """plan train says what a run then does, its file is taken, and its lists are those that are walked."""
    words = ("--data", "set.h5", "--arch", "mlp", "--effective-batch", 24)
    said = json.loads(plan(*words, "--ranks", 2, "--output", "plan.json", "--json"))
    result, _ = train("--arch", "mlp", "--effective-batch", 24, "--plan", "plan.json", ranks=2)
    check(result["plan"]["settings"] == said["settings"] and result["peak_bytes"]["arena"] == said["bytes"]["per_rank"], f"{said}")
    check(json.load(open("plan.json"))["hash"] == said["hash"], "the file has the plan that is printed")
    for arch, more, ranks, status, says in (("mlp", ("--batch-size", 3), 2, 2, "says batch 12, --batch-size says 3"),
                                            ("mlp", (), 1, 2, "is for 2 ranks, this run has 1"), ("vit", (), 2, 3, "is a plan of another problem")):
        done = run("train", "classify", *SMALL, "--arch", arch, "--effective-batch", 24, "--plan", "plan.json", *more, ranks=ranks)
        check(done.status == status and says in done.err, f"{arch} {more} on {ranks}: {done}")
    lists = plan(*words, "--ranks", 2, "--show-list")
    lists = lists[lists.index("list "):]
    check([w.split(":")[0] for w in lists.splitlines() if w.startswith("list ")] == ["list last", "list reduce", "list optimise", "list evaluate"], lists)
    done = run("train", "classify", *SMALL, "--results-dir", "run", "--restart", "no", "--arch", "mlp", "--effective-batch", 24, "--show-list", ranks=2)
    check(lists in done.out, "train shows the lists of its plan")
    done = run("train", "classify", *SMALL, "--arch", "mlp", "--effective-batch", 24, "--show-list", "--dry-run", ranks=2)
    check(done.status == 0 and "list evaluate" in done.out, f"lists of a dry run: {done}")


def router():
    """A mixture over the numbers of volumes: half as many columns of the router as numbers would be four times these bytes."""
    bytes = json.loads(plan("--size", 16, 16, 16, "--arch", "moe:width=8", "--json", what="regress"))["bytes"]["arrays"]["parameters, gradients, moments"]
    least = 16 * (512 * 4096 + 8 * 8 * 4096)
    check(least < bytes < 1.1 * least, f"router: {bytes}, not {least}")


def verified():
    said = json.loads(plan("--data", "set.h5", "--effective-batch", 32, "--verify", "--json", ranks=2))
    check([t["settings"]["batch"] for t in said["verified"]][0] == 16 and said["settings"]["batch"] <= 16, f"{said.get('verified')}")


TABLE = """\
| GPU Memory | Batch Size | Gradient Accum | Effective Batch |
|------------|------------|----------------|-----------------|
| ≥20 GB (L4, A10) | 16 | 4 | 256 (4 GPUs) |
| 14-20 GB (T4) | 12 | 5 | 240 (4 GPUs) |
| 10-14 GB | 8 | 8 | 256 (4 GPUs) |
| 6-10 GB | 4 | 16 | 256 (4 GPUs) |
| <6 GB | 2 | 32 | 256 (4 GPUs) |
"""
FOUR_L4 = """\
training:
  batch_size_per_gpu: 16
  gradient_accumulation_steps: 4
  # Effective batch: 16 * 4 * 4 = 256
  fp16: true
  gradient_checkpointing: true
  dataloader_num_workers: 12  # 3 per GPU

deepspeed:
  enabled: true
  stage: 2
"""


def machine(name, gib=None, **more):
    """A file of the l4x4 machine with GPUs of another size, or with none."""
    with open(os.path.join(hardware, "l4x4.json")) as file:
        one = json.load(file)
    node = one["nodes"][0]
    if gib:
        node["gpus"][0].update(memory_bytes=int(gib * 2**30), **more)
    else:
        del node["gpus"], node["links"]
    with open(name, "w") as file:
        json.dump(one, file)
    return name


def table():
    words = ("plan", "train", "--profile", "table:train", "--hardware")
    done = run(*words, f"{hardware}/l4x4.json")
    check(done.status == 0 and done.out == FOUR_L4, f"four L4: {done}")
    check(run(*words, f"{hardware}/l4x4.json", "--explain").out == TABLE + "\n" + FOUR_L4, "the table, and four L4")
    for gib, batch, passes, effective in ((22.5, 16, 4, 256), (15, 12, 5, 240), (11, 8, 8, 256), (8, 4, 16, 256), (4, 2, 32, 256)):
        said = json.loads(run(*words, machine("gpus.json", gib), "--json").out)
        row = [said[k] for k in ("batch_size_per_gpu", "gradient_accumulation_steps", "effective_batch", "dataloader_num_workers", "zero")]
        check(row == [batch, passes, effective, 12, 2] and said["fp16"] is True, f"{gib} GiB: {said}")
    said = json.loads(run(*words, f"{hardware}/l4x4.json", "--ranks", 1, "--json").out)
    check((said["gradient_accumulation_steps"], said["zero"]) == (16, 0), f"one GPU: {said}")
    check(json.loads(run(*words, machine("old.json", 16, compute_capability="6.1"), "--json").out)["fp16"] is False, "Pascal has no 16 bits")
    said = json.loads(run(*words, machine("cores.json"), "--json").out)
    check(said == {"profile": "table:train", "gpus": 0, "batch_size_per_gpu": 4, "gradient_accumulation_steps": 8, "effective_batch": 32,
                   "dataloader_num_workers": 4, "zero": 0, "fp16": False, "gradient_checkpointing": True}, f"no GPU: {said}")


def golden_plans():
    vit = ("--size", 64, 64, "--arch", "vit", "--effective-batch", 256, "--explain")
    large = ("--size", 224, 224, "--arch", "vit", "--patch", 16, "--width", 2048, "--depth", 26, "--heads", 16, "--effective-batch", 256)
    cases = ((machine("cores.json"), "classify", vit), (machine("cores.json"), "regress", ("--size", 16, 16, 16, "--arch", "mlp", "--ranks", 3)),
             (f"{hardware}/l4x4.json", "classify", (*vit, "--device", "cuda")), (f"{hardware}/l4x4.json", "classify", (*large, "--device", "cuda")),
             (f"{hardware}/l4x4.json", "classify", (*large, "--device", "cuda", "--zero", 2, "--recompute", "blocks")))
    texts = [f"$ plan train {what} {' '.join(map(str, words))} --hardware {os.path.basename(file)}\n" + plan(*words, "--hardware", file, what=what)
             for file, what, words in cases]
    if sys.argv[-1] == "--write":
        with open(golden, "w") as file:
            file.write("\n".join(texts))
    check(open(golden).read() == "\n".join(texts), "other plans; see them by --write")


def devices():
    """As in a run, auto takes the GPUs, and for what is tiny the cores. On GPUs 16 bits are faster."""
    words = ("plan", "train", "classify", "--size", 64, 64, "--ranks", 1, "--hardware", f"{hardware}/l4x4.json")
    done = run(*words)
    check("device cuda" in done.out, f"{done}")
    tiny = run("plan", "train", "classify", "--size", 16, 16, "--arch", "mlp", "--width", 16, "--effective-batch", 16, *words[-4:])
    check("device cpu" in tiny.out, f"{tiny}")
    takes = [float(re.search(r"arithmetic ([^,]+),", run(*words, "--device", "cuda", *more).out).group(1)) for more in ((), ("--mixed-precision",))]
    check(3.9 < takes[0] / takes[1] < 4.1, f"{takes}")
    spilled = run(*words, "--device", "cuda", "--mixed-precision", "--spill-activations").out
    check(float(re.search(r"copies ([^,]+),", spilled).group(1)) > 0, spilled)


def dry_run():
    """Without a plan, the bytes of a run, and nothing on the disk."""
    for ranks in (1, 3):
        words = ("--arch", "vit", "--effective-batch", 24, "--results-dir", "none")
        said = json.loads(run("train", "classify", *SMALL, *words, "--dry-run", "--json", ranks=ranks).out)
        check(not os.path.exists("none") and said["dry_run"] is True, "a dry run writes nothing")
        check(said["bytes"] == train("--arch", "vit", "--effective-batch", 24, "--plan", "off", ranks=ranks)[0]["peak_bytes"]["arena"], f"{said}")
    apart = ("--arch", "vit", "--effective-batch", 24, "--device", "shadow", "--plan", "off", "--results-dir", "apart", "--no-plots", "--json")
    said, took = (json.loads(run("train", "classify", *SMALL, *apart, *dry).out) for dry in (("--dry-run",), ()))
    took = took["peak_bytes"]
    check((said["bytes"], said["device_bytes"]) == (took["arena"], took["device"]), f"both memories: {said}, {took}")
    done = run("train", "classify", *SMALL, *words, "--dry-run", "--memory-limit", 1)
    check(done.status == 5 and "1048576" in done.err, f"a dry run in a MiB: {done}")
    done = run("train", "classify", *SMALL, "--arch", "vit", "--plan", "off", "--dry-run", "--json", "--memory-limit", 20)
    check(done.status == 0 and json.loads(done.out)["passes"] > 1 and "all ranks go on with passes of" in done.err, f"it becomes smaller as a run: {done}")


done = run("synth", "--num-samples", 120, "--size", 24, 24, "--output", "set.h5")
check(done.status == 0, f"{done}")
exact()
short_of_memory()
ways()
pieces()
another_memory()
out_of_memory()
ladder()
random_limits()
words_of_others()
as_in_a_run()
router()
verified()
table()
golden_plans()
devices()
dry_run()
finish("train_plan")
