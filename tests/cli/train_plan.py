"""The plan of a training: the bytes that it predicts are those that a run takes, on any ranks and with any settings; what the user fixes
stays; what is short of memory passes fewer samples at a time; what cannot be is refused with its arithmetic.
usage: train_plan.py MESOFORGE MPIEXEC FOLDER_OF_HARDWARE GOLDEN [--write]"""
import json
import os
import random
import sys
import tempfile

import runs
from runs import check, finish, some

program, mpiexec, hardware, golden = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:5])
os.chdir(tempfile.mkdtemp())
SMALL = ("--data", "set.h5", "--max-steps", 2, "--no-plots")


def run(*words, **more):
    return runs.run(program, *words, mpiexec=mpiexec, **more)


def train(*words, what="classify", **more):
    done = run("train", what, *SMALL, "--results-dir", "run", "--json", *words, **more)
    check(done.status == 0, f"train {what} {words}: {done}")
    return (json.loads(done.out) if done.status == 0 else {}), done.err


def as_planned(result, what):
    peak = result.get("peak_bytes", {})
    check(peak and peak["predicted"] == peak["arena"], f"{what}: {peak}")
    return result.get("plan", {}).get("settings", {})


def exact():
    choose = random.Random(3)
    for ranks in (1, 2, 3):
        for arch in some(("mlp", "cnn", "vit"), 1):
            words = ["--arch", arch, "--effective-batch", choose.choice((6, 24, 33))]
            words += choose.choice(([], ["--batch-size", 5], ["--accumulation-steps", 3]))
            words += ["--zero", choose.choice(("auto", 0, 1, 2)), "--recompute", choose.choice(("auto", "cheap", "blocks"))]
            words += ["--num-workers", choose.choice(("auto", 0, 2))]
            result, _ = train(*words, ranks=ranks, what=choose.choice(("classify", "regress")))
            settings = as_planned(result, f"{words} on {ranks} ranks")
            for name, option in (("batch", "--batch-size"), ("passes", "--accumulation-steps"), ("readers", "--num-workers")):
                if option in words and words[words.index(option) + 1] != "auto":
                    check(settings[name] == words[words.index(option) + 1], f"{words}: {settings}")
    result, _ = train("--deterministic", ranks=3)
    as_planned(result, "slots")


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
    done = run("train", "classify", *SMALL, "--results-dir", "run", *wide, "--memory-limit", 1, ranks=2)
    check(done.status == 5 and "nothing fits into memory: the smallest plan (2 ranks, batch 1, passes 32, zero 2" in done.err, f"{done}")


def out_of_memory():
    """On one rank, in the run: all ranks shrink, and the step stays the same."""
    whole, _ = train("--effective-batch", 32, ranks=2)
    for plan in ("auto", "off"):
        less, err = train("--effective-batch", 32, "--plan", plan, ranks=2, fault="memory:visit=1:rank=1")
        check("(rank 1; 1 of 2 ranks failed); all ranks go on with passes of 8 samples, a step keeps its 32" in err, f"out of memory, {plan}: {err}")
        check(abs(less["validation"]["loss"] - whole["validation"]["loss"]) < 1e-4, f"another result: {less}, {whole}")
    done = run("train", "classify", *SMALL, "--results-dir", "run", "--batch-size", 16, ranks=2, fault="memory:visit=1:rank=1")
    check(done.status == 5 and "go on" not in done.err, f"a fixed batch stays: {done}")


def refusals():
    for words, ranks, says in (
            (("--zero", 1, "--use_ddp"), 1, "--use_ddp is --zero 0: it and --zero 1 contradict each other"),
            (("--use_deepspeed", "--use_ddp"), 1, "--use_ddp and --use_deepspeed contradict each other"),
            (("--use_deepspeed", "--zero", 0), 1, "--use_deepspeed is --zero 1 or 2"),
            (("--auto-batch-size", "--batch-size", 4), 1, "--auto-batch-size chooses --batch-size"),
            (("--auto-batch-size", "--plan", "off"), 1, "--auto-batch-size plans"),
            (("--num-workers", "many"), 1, "--num-workers many: it must be auto, or a number"),
            (("--effective-batch", 2), 3, "of 3 ranks 1 would have none of the 2 samples of a step"),
            (("--effective-batch", 32, "--exact-batch"), 3, "--effective-batch 32 is no multiple of 3 ranks x 1 passes x 1 samples = 3; try: 30"),
            (("--batch-size", 8, "--accumulation-steps", 2, "--effective-batch", 30), 2,
             "--batch-size 8 x --accumulation-steps 2 x 2 ranks is 32, and --effective-batch is 30")):
        done = run("train", "classify", *SMALL, *words, ranks=ranks)
        check(done.status == 2 and says in done.err, f"{words}: {done}")


def words_of_others():
    for words, zero in ((("--use_ddp",), 0), (("--use_deepspeed",), 1)):
        result, _ = train(*words, ranks=2)
        check(as_planned(result, words)["zero"] == zero, f"{words}")
    result, err = train("--auto-batch-size")
    check(len(result["plan"]["verified"]) == 3 and "ms per step" in err, f"tried by real steps: {result.get('plan')}")
    check(result["plan"]["settings"]["batch"] in (16, 32, 64), "one of those that were tried")


done = run("synth", "--num-samples", 120, "--size", 24, 24, "--output", "set.h5")
check(done.status == 0, f"{done}")
exact()
short_of_memory()
out_of_memory()
refusals()
words_of_others()
finish("train_plan")
