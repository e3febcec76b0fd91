"""Trainings from end to end. Killed, stopped and continued on other numbers of ranks and readers they make the same steps and, with
--deterministic, the same weights to the bit. What is wrong is refused in a sentence, and nothing is lost.
usage: train.py MESOFORGE MPIEXEC"""
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import runs
from runs import check, finish, optional, some

program, mpiexec = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:3])
os.chdir(tempfile.mkdtemp())
h5py, numpy = optional("h5py"), optional("numpy")
if not h5py or not numpy:
    sys.exit(77)
SMALL = ("--arch", "mlp", "--width", 16, "--effective-batch", 13, "--threads", 1, "--no-plots", "--no-events")
DICE = random.Random(7)
run, _ = runs.tools(program, mpiexec)


def train(folder, *words, task="classify", data="set.h5", status=0, **more):
    done = run("train", task, "--data", data, "--results-dir", folder, *SMALL, *words, **more)
    check(done.status == status, f"{folder} {words}: {done.status} {done.err[-500:]}")
    return done


def refused(status, says, *words, **more):
    """One sentence, and no hang."""
    done = train("never", *words, status=status, **more)
    own = [line for line in done.err.splitlines() if line.startswith("mesoforge: ")]
    check(says in done.err and len(own) == 1, f"{words}: {done.err}")


def rows(folder, kind="step"):
    with open(f"{folder}/metrics.jsonl") as file:
        return [row for row in map(json.loads, file) if row["kind"] == kind]


def steps_are_whole(folder, want):
    """Each step once, in order, with the loss of the undisturbed run: so its samples are the same."""
    got = rows(folder)
    check([row["step"] for row in got] == [row["step"] for row in want], f"{folder}: steps {[row['step'] for row in got]}")
    off = [(a["step"], a["loss"], b["loss"]) for a, b in zip(got, want) if abs(a["loss"] - b["loss"]) > 2e-5]
    check(not off, f"{folder}: other losses {off}")


def checkpoints(folder):
    return [f"{folder}/model.ckpt-{c}.h5" for c in "ab" if os.path.exists(f"{folder}/model.ckpt-{c}.h5")]


def variant(name, change):
    """A dataset that differs."""
    shutil.copy("set.h5", name)
    with h5py.File(name, "r+") as file:
        change(file)


# -- the same on any ranks --

def ranks_agree():
    for task in ("classify", "regress"):
        said = json.loads(train(f"{task}1", "--epochs", 2, "--json", task=task).out)
        check(said["steps"] == 8 and said["test"]["samples"] == 6 and said["skipped"] == 0, said)
        for n, more in some(((3, ("--zero", 3, "--num-workers", 2)), (2, ("--accumulation-steps", 2))), 1 if task == "classify" else 2):
            train(f"{task}{n}", "--epochs", 2, *more, task=task, ranks=n)
            steps_are_whole(f"{task}{n}", rows(f"{task}1"))
    train("half", "--epochs", 2, "--mixed-precision", "--zero", 3, "--compile", ranks=2)
    off = [(a["loss"], b["loss"]) for a, b in zip(rows("half"), rows("classify1")) if abs(a["loss"] - b["loss"]) > 0.01 * b["loss"]]
    check(len(rows("half")) == len(rows("classify1")) and not off, f"half: other losses {off}")
    check("R2" in train("regress1", "--epochs", 2, "--restart", "auto", task="regress").out, "R2")


def same_files():
    """A model file has the same bytes on any number of ranks, in any folder, by a word or by options. Its JSON has figures of the run, too, also of one that was done before."""
    files = {}
    for ranks, arch in runs.some(((1, ("mlp", "--width", 8)), (3, ("mlp:width=8,depth=2",)), (2, ("mlp:width=8", "--width", 8))), 2):
        words = ("train", "classify", "--data", "set.h5", "--arch", *arch, "--deterministic", "--slots", 8, "--effective-batch", 13, "--epochs", 2, "--no-plots", "--results-dir", f"same{ranks}", "--json")
        said, again = (json.loads(run(*words, *more, ranks=ranks).out) for more in ((), ("--restart", "auto")))
        check(again["done_before"], f"done before: {again}")
        for key in ("output", "seconds", "samples_per_second", "seconds_per_step", "waited_for_data", "peak_memory", "validation", "problem"):
            check(again[key] == said[key], f"{ranks} ranks: {key} {again[key]}, not {said[key]}")
        with open(f"same{ranks}/model.safetensors", "rb") as file:
            files[ranks] = file.read()
    check(len(set(files.values())) == 1, "model files differ")
    check(all(b"same" not in file and b"seconds" not in file for file in files.values()), "a model file says how it was made")


# -- killed and continued --

SLOW = ("train", "classify", "--data", "set.h5", "--arch", "mlp", "--width", 384, "--depth", 3, "--dropout", 0.1, "--effective-batch", 13,
        "--epochs", 3, "--precision-type", "fp16", "--loss-scale", 1 << 28, "--loss-scale-window", 3, "--deterministic", "--slots", 4, "--checkpoint-every", "1ev", "--threads", 1, "--no-plots", "--no-events", "--results-dir")


def kill_at(folder, step, ranks, words=SLOW):
    """Kills a run somewhere within the step behind @step; was it still at work?"""
    def there():
        return os.path.exists(f"{folder}/metrics.jsonl") and f'"step": {step},' in open(f"{folder}/metrics.jsonl").read()
    line = runs.line(program, *words, folder, "--restart", "auto", ranks=ranks, mpiexec=mpiexec)
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as job:
        while job.poll() is None and not there():
            time.sleep(0.001)
        time.sleep(DICE.uniform(0, 0.02))
        runs.kill(job.pid)
    return job.returncode != 0


def killed():
    done, kills = run(*SLOW, "whole"), 0
    check(done.status == 0, done)
    want = rows("whole")
    check(len(want) == 12, want)
    for trial, moments in enumerate(some([(2, 5, 10), (4, 8), (1, 7, 11)], 2)):  # 4 and 8 end an epoch
        folder = f"killed{trial}"
        for k, step in enumerate(moments):
            if kill_at(folder, step, (1, 3, 2)[(k + trial) % 3]):
                kills += 1
                check(not states_results(folder), f"{folder}: says that it is done after step {step}")
        for file in checkpoints(folder)[:trial % 2]:  # of two the other one is used
            damage(file)
        done = run(*SLOW, folder, "--restart", "auto", "--num-workers", 3, ranks=2 + trial % 2)
        check(done.status == 0, f"{folder}: {done}")
        steps_are_whole(folder, want)
        check(scores(folder) == scores("whole") and len(scores(folder)) == 3, f"{folder}: {scores(folder)}, not {scores('whole')}")
        check(runs.weights(f"{folder}/model.safetensors") == runs.weights("whole/model.safetensors"), f"{folder}: other weights")
        check(not checkpoints(folder), f"{folder}: checkpoints are left")
    check(kills > 2, f"{kills} of the runs were killed")
    done = run(*SLOW, folder, "--restart", "auto", "--json", ranks=2)
    check(done.status == 0 and json.loads(done.out)["done_before"], done)


def other_stages():
    """Killed where every rank has its pieces of the parameters alone, and continued on other ranks in another stage."""
    free = [word for word in SLOW[2:] if word not in ("--deterministic", "--slots", 4)]
    check(run("train", "classify", *free, "plain").status == 0, "an undisturbed run")
    for first, second in ((3, 1), (0, 3)):
        folder = f"zero{first}"
        check(kill_at(folder, 5, 2, ("train", "classify", "--zero", first, *free)), f"{folder}: it ended before it was killed")
        done = run("train", "classify", "--zero", second, *free, folder, "--restart", "auto", ranks=3)
        check(done.status == 0 and "continuing after step" in done.err, f"{folder}: {done}")
        steps_are_whole(folder, rows("plain"))


def other_ways():
    """Killed where ranks share layers of two stages, continued alone, then by two stages, and by ranks that share."""
    free = ("--data", "set.h5", "--arch", "vit:width=32,depth=2,heads=4,patch=4", "--epsilon", 1e-4, "--effective-batch", 13, "--epochs", 3, "--checkpoint-every", "1ev",
            "--threads", 1, "--no-plots", "--no-events", "--results-dir")
    check(run("train", "classify", *free, "all").status == 0, "an undisturbed run")
    check(kill_at("parts", 2, 4, ("train", "classify", "--tp", 2, "--pp", 2, *free)), "parts: it ended before it was killed")
    for words, ranks in (((), 1), (("--pp", 2, "--batch-size", 2), 2)):
        done = run("train", "classify", *words, *free, "parts", "--restart", "auto", ranks=ranks, fault="run.leave:visit=2")
        check(done.status == 75 and "continuing after step" in done.err, done)
    done = run("train", "classify", "--tp", 2, *free, "parts", "--restart", "auto", "--json", ranks=2)
    check(done.status == 0 and "2 ranks share every layer" in done.err and "(1 group of 2 ranks x " in done.err, done)
    said = json.loads(done.out)["peak_bytes"]
    check(said["predicted"] == said["arena"], f"planned and taken bytes: {said}")
    steps_are_whole("parts", rows("all"))
    got, want = (numpy.frombuffer(runs.weights(f"{folder}/model.safetensors"), "<f4") for folder in ("parts", "all"))
    check(len(got) == len(want) and abs(got - want).max() < 1e-5, "parts: other weights")


def asked():
    """Questions about images, with frozen towers: killed in the middle of an epoch and continued on more ranks in another stage. Each step has the
    questions of the undisturbed run, so each question counts once an epoch. Memory is that of the plan, to the byte."""
    run("synth", "--num-samples", 60, "--questions", 4, "--size", 24, 24, "--output", "asked.h5")
    words = ("train", "vqa", "--data", "asked.h5", "--arch", "vqa:width=8,depth=2,heads=2,text-width=16,text-depth=1,dropout=0.1", "--freeze", "image.stem,text", "--effective-batch", 7,
             "--epochs", 3, "--checkpoint-every", "1ev", "--threads", 1, "--no-plots", "--no-events", "--no-csv", "--results-dir")
    peak = [json.loads(run(*words, f"asked{zero}", "--zero", zero, "--max-steps", 21 if zero == 3 else 2, "--json", ranks=2).out)["peak_bytes"] for zero in (range(4) if runs.LONG else [3])]
    check(all(p["arena"] == p["predicted"] and len(set(p["arena"])) == 1 for p in peak), f"bytes of frozen towers: {peak}")
    check(kill_at("part", 10, 2, (*words[:-1], "--zero", 3, words[-1])), "it ended before it was killed")
    done = run(*words, "part", "--restart", "auto", "--zero", 1, ranks=3)
    check(done.status == 0 and "continuing after step" in done.err and len(rows("part")) == 21, f"part: {done}")
    steps_are_whole("part", rows("asked3"))


def scores(folder):
    return [[row[key] for key in ("epoch", "loss", "val_loss", "val_accuracy")] for row in rows(folder, "epoch")]


def states_results(folder):
    """Does the folder's model state results?"""
    path = f"{folder}/model.safetensors"
    if not os.path.exists(path):
        return False
    data = open(path, "rb").read()
    head = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
    return "results" in json.loads(head["__metadata__"]["mesoforge"])


def damage(path):
    """Cuts a file, or turns one of its bits."""
    data = bytearray(open(path, "rb").read())
    if DICE.random() < 0.5:
        data = data[:DICE.randrange(len(data))]
    else:
        data[DICE.randrange(len(data))] ^= 1 << DICE.randrange(8)
    open(path, "wb").write(data)


# -- stopped --

def stopped():
    train("stop", "--epochs", 2, status=75, fault="run.leave:visit=3", ranks=2)
    check(len(checkpoints("stop")) == 1 and not states_results("stop"), os.listdir("stop"))
    again = train("stop", "--epochs", 2, status=2, ranks=2)
    check("is of a run that has not ended; try: --restart auto" in again.err and len(checkpoints("stop")) == 1, again.err)
    other = train("stop", "--epochs", 2, "--restart", "auto", data="other.h5", status=3)
    check("is of a run with another dataset; try: the input and the options of the stopped run" in other.err and len(checkpoints("stop")) == 1, other.err)
    for words, line in ((("--no-decay",), "'--no-decay: on'"), (("--rate-of", "head=0.5"), "'--rate-of: head=0.5'")):
        other = train("stop", "--epochs", 2, "--restart", "auto", *words, status=3)
        check(line in other.err, other.err)
    more = train("stop", "--epochs", 3, "--restart", "auto", status=3)
    check("'steps: 8'" in more.err and "--epochs" in more.err, more.err)
    words = ("train", "classify", "--data", "set.h5", "--arch", "mlp", "--batch-size", 8, "--epochs", 2, "--no-plots", "--results-dir", "batch")
    check(run(*words, fault="run.leave:visit=3").status == 75, "it is stopped")
    more = run(*words, "--restart", "auto", "--effective-batch", 16, ranks=2)
    check(more.status == 3 and "'--effective-batch: 16': left out, it is the checkpoint's" in more.err, more.err)
    more = run(*words, "--accumulation-steps", 1, "--restart", "auto", ranks=2)
    check(more.status == 0 and "a step has 8 samples, as in the run that goes on; its passes follow from --batch-size" in more.err and "continuing after step 3" in more.err, more.err)
    more = run(*words, "--restart", "auto", ranks=2)
    check(more.status == 0 and "is finished" in more.err, more.err)
    stray = next(name for name in (f"stop/model.ckpt-{c}.h5" for c in "ab") if not os.path.exists(name))
    shutil.copy("set.h5", stray)
    other = train("stop", "--epochs", 2, "--restart", "auto", "--zero", 1, ranks=3, status=7)
    check(f"'{stray}' is no checkpoint, and this run would replace it" in other.err, other.err)
    os.remove(stray)
    train("stop", "--epochs", 2, "--restart", "auto", "--zero", 1, ranks=3)
    steps_are_whole("stop", rows("classify1"))
    again = train("stop", "--epochs", 2, "--restart", "auto")
    check("is finished" in again.err, again.err)
    longer()
    before = runs.weights("stop/model.safetensors")
    with runs.locked("stop/.model.lock", "process 99 on here", "model.safetensors"):
        busy = train("stop", "--epochs", 2, status=7, ranks=2)
        check("process 99 on here" in busy.err and runs.weights("stop/model.safetensors") == before, busy.err)
    train("first", "--max-steps", 5)
    check(json.loads(train("first", "--max-steps", 7, "--restart", "auto", "--json").out)["steps"] == 7, "fewer steps than asked")


def longer():
    """A finished training with more epochs goes on from its last step, and its model stays until there is a better one."""
    end, model = 12, open("stop/model.safetensors", "rb").read()
    train("stop", "--epochs", 3, "--restart", "auto", "--learning-rate", 0.5, status=2)
    more = train("stop", "--epochs", 3, status=2)
    check("'stop/model.safetensors' is finished, and this run has 12 steps instead of 8; try: --restart auto, which goes on" in more.err, more.err)
    fewer = train("stop", "--epochs", 1, "--restart", "auto", status=3)
    check("is of a training of 8 steps, and this one has 4" in fewer.err, fewer.err)
    left = train("stop", "--epochs", 3, "--restart", "auto", status=75, fault="run.leave:visit=1")
    check("continuing after step 8 of a finished training" in left.err and open("stop/model.safetensors", "rb").read() == model, left.err)
    done = json.loads(train("stop", "--epochs", 3, "--restart", "auto", "--json", ranks=2).out)
    check((done["steps"], done["epochs"]) == (end, 3) and [row["step"] for row in rows("stop")] == list(range(1, end + 1)), f"{done}")
    check([row["epoch"] for row in rows("stop", "epoch")] == [1, 2, 3], rows("stop", "epoch"))
    os.remove("stop/model.last.h5")
    gone = train("stop", "--epochs", 4, "--restart", "auto", status=3)
    check("'stop/model.last.h5', from which it could go on, is not there" in gone.err, gone.err)


def columns():
    """Of several columns that are predicted, none is another problem."""
    train("several", "--epochs", 2, task="regress", status=75, fault="run.leave:visit=3")
    train("several", "--epochs", 2, "--restart", "auto", task="regress")
    steps_are_whole("several", rows("regress1"))


def others():
    """What is of another training, or of another program, is not replaced."""
    train("mine", "--max-steps", 1)
    for more, status in (((), 2), (("--restart", "auto"), 2), (("--restart", "no"), 0)):
        done = train("mine", "--max-steps", 1, "--depth", 1, *more, status=status, ranks=1 + (status == 2))
        check(status == 0 or "is the model of another training: it says '--depth: 2', this run '--depth: 1'" in done.err, f"{more}: {done.err}")
    kept = open("mine/model.safetensors", "rb").read()
    for number in (1, 2):  # the same network and classes, learnt in another way
        done = train("mine", "--max-steps", 1, "--depth", 1, "--seed", number, ranks=number)
        check(f"is now 'mine/model_earlier{number}.safetensors'" in done.err and "replaces" not in done.err, done.err)
    check(open("mine/model_earlier1.safetensors", "rb").read() == kept, "the model of an earlier training has changed")
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    ways = ((), ("--restart", "auto"), ("--restart", "no"))
    for name, data, says, some in (("model.safetensors", struct.pack("<Q", len(header)) + header + bytes(4), "is not of this program", ways),
                                   ("model.safetensors", b"version https://git-lfs.github.com/spec/v1\n", "this training would replace it", ways[2:]),
                                   ("metrics.jsonl", b'{"epoch": 1, "loss": 2}\n', "is not of this program", ways[2:])):
        shutil.rmtree("theirs", ignore_errors=True)
        os.mkdir("theirs")
        open(f"theirs/{name}", "wb").write(data)
        for more in some:
            done = train("theirs", "--max-steps", 1, *more, status=7)
            check(says in done.err and os.listdir("theirs") == [name] and open(f"theirs/{name}", "rb").read() == data, f"{more}: {done.err}")
    beside(struct.pack("<Q", len(header)) + header + bytes(4))


def beside(model):
    """Files of others with the names of those beside the model: one that would be replaced refuses, one that would be removed stays."""
    shutil.copytree("mine", "mixed")
    for name, data, says in (("model_epoch1.safetensors", model, "is not of this program"), ("metrics-epoch.csv", b"time,loss\n", "is not of this program"),
                             ("metrics-step.csv", b"mine", "is not of this program"), ("model.last.h5", b"mine\n", "is no checkpoint")):
        open(f"mixed/{name}", "wb").write(data)
        before = open("mixed/model.safetensors", "rb").read()
        done = train("mixed", "--max-steps", 1, "--depth", 1, "--keep-last", 1, "--seed", 2, status=7, ranks=2)
        check(f"'mixed/{name}' {says}" in done.err and open(f"mixed/{name}", "rb").read() == data, done.err)
        check(open("mixed/model.safetensors", "rb").read() == before, f"{name}: the model was replaced")
        os.remove(f"mixed/{name}")
    open("mixed/model.ckpt-a.h5", "wb").write(b"mine\n")
    for more in ((), ("--restart", "no")):
        done = train("mixed", "--max-steps", 1, *more, status=7)
        check("'mixed/model.ckpt-a.h5' is no checkpoint, and this run would replace it" in done.err, done.err)
    os.remove("mixed/model.ckpt-a.h5")
    for name in ("model_epoch1.safetensors", "model_epoch5.safetensors"):
        open(f"mixed/{name}", "wb").write(model)
    shutil.copy("mine/model.safetensors", "mixed/model_epoch6.safetensors")  # it has a card, and goes
    train("mixed", "--max-steps", 1, "--depth", 1, "--seed", 2, "--no-csv")
    check(sorted(n for n in os.listdir("mixed") if "epoch" in n) == ["model_epoch1.safetensors", "model_epoch5.safetensors"], os.listdir("mixed"))


def no_checkpoint():
    """A run that was killed before its first checkpoint, or whose checkpoint is damaged, has left a model: it is not lost."""
    train("early", "--epochs", 2, status=75, fault="run.leave:visit=6")
    model = open("early/model.safetensors", "rb").read()
    file, = checkpoints("early")
    data = open(file, "rb").read()
    open(file, "wb").write(data[:-1000])
    done = train("early", "--epochs", 2, status=2, ranks=2)
    check(f"'{file}' is of a run that has not ended, and it is damaged" in done.err and "--restart auto" not in done.err, done.err)
    check(open("early/model.safetensors", "rb").read() == model, "a damaged checkpoint costs the model")
    shutil.copytree("early", "anew")
    done = train("anew", "--epochs", 2, "--restart", "no")
    check("checkpoints of an earlier run will be replaced; they are damaged" in done.err, done.err)
    os.remove(file)
    done = train("early", "--epochs", 2, "--restart", "auto")
    check("it starts at the beginning" in done.err and "is now 'early/model_earlier1.safetensors'" in done.err, done.err)
    check(open("early/model_earlier1.safetensors", "rb").read() == model, "the model of the killed run is lost")


def moved_away():
    """The model may be moved away, and the training goes on beside its pictures."""
    words = ("train", "classify", "--data", "set.h5", "--results-dir", "away", *(word for word in SMALL if word != "--no-plots"), "--epochs", 2)
    check(run(*words, fault="run.leave:visit=6").status == 75, "it is stopped")
    check(os.path.exists("away/training.png"), "a picture of the first epoch")
    shutil.copy("mine/model.safetensors", "away/model.safetensors")
    done = run(*words, "--restart", "auto", ranks=2)
    check(done.status == 7 and "is the model of another training than the checkpoint: it says '--depth: 1', this run '--depth: 2'" in done.err, done)
    os.remove("away/model.safetensors")
    done = run(*words, "--restart", "auto")
    check(done.status == 0 and "the weights of epoch 1, the best so far, are lost" in done.err, done)


def signals():
    for how, words in (("TERM", ()), ("hours", ("--max-hours", 0.0012))):
        line = runs.line(program, "train", "classify", "--data", "set.h5", "--results-dir", how, *SMALL, "--epochs", 200000, *words, ranks=2, mpiexec=mpiexec)
        with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True) as job:
            runs.until(lambda: os.path.exists(f"{how}/metrics.jsonl") and len(open(f"{how}/metrics.jsonl").read()) > 0, f"{how}: it begins")
            if how == "TERM":
                runs.until(lambda: len(runs.ranks_of(program, job.pid)) == 2, "two ranks")
                os.kill(runs.ranks_of(program, job.pid)[1], signal.SIGTERM)
            text = runs.words_of(job)
        check(job.returncode == 75 and "--restart auto continues" in text, f"{how}: {job.returncode} {text[-500:]}")
        check(len(checkpoints(how)) >= 1, f"{how}: {os.listdir(how)}")


def patience():
    done = train("patient", "--epochs", 500, "--patience", 2, "--keep-last", 3, "--json", "--learning-rate", 0.05, ranks=2)  # they leave together
    said = json.loads(done.out)
    kept = sorted(f for f in os.listdir("patient") if f.startswith("model_epoch"))
    check(said["ended_early"] and said["epochs"] == said["best_epoch"] + 2, said)
    lines = [line for line in done.err.splitlines() if line.startswith("epoch ")]
    check(len(lines) == said["epochs"] and all(" of 500: loss " in line and ", validation loss " in line and ", accuracy " in line for line in lines), lines)
    check(lines[said["best_epoch"] - 1].split("; ")[0].endswith(", the best so far") and lines[-2].endswith(" left") and f"; the best is epoch {said['best_epoch']}" in lines[-1], lines)
    check("the training ends early: none of the last 2 epochs was better (--patience)" in done.err, done.err)
    check(len(kept) == 3 and any(str(said["epochs"]) in name for name in kept), kept)
    accuracy = [row["val_accuracy"] for row in rows("patient", "epoch")]
    shutil.copytree("patient", "again")
    open("again/model_epoch1.txt", "w").close()
    for name in ("events.out.tfevents.1.here.2.0", "confusion.png"):
        open(f"again/{name}", "w").close()
    train("again", "--max-steps", 1, "--no-csv", "--model", f"again/{kept[0]}", "--restart", "no")
    left = sorted(name for name in os.listdir("again") if not name.startswith("."))
    check(left == sorted(["metrics.jsonl", "model.last.h5", "model.safetensors", "model_epoch1.txt", kept[0]]), f"files of an earlier run: {left}")
    check(abs(max(accuracy) - said["validation"]["accuracy"]) < 1e-9, f"the best of {accuracy} is not {said['validation']}")


def weights():
    one = train("from", "--max-steps", 1, "--learning-rate", 1e-9, "--weight-decay", 0, "--model", "classify1/model.safetensors")
    check(rows("from")[0]["loss"] < rows("classify1")[0]["loss"], one)
    other = train("from", "--max-steps", 1, "--learning-rate", 1e-9, "--weight-decay", 0, "--model", "classify2/model.safetensors", "--restart", "auto", status=2)
    check("it has another --model; try" in other.err, f"other weights at the start: {other.err}")
    wrong = train("never", "--depth", 9, "--model", "classify1/model.safetensors", status=3)
    check("is a model of --arch mlp --width 16 --depth 2, and this run's network is of --arch mlp --width 16 --depth 9; try: --arch mlp --width 16 --depth 2\n" in wrong.err, wrong.err)
    told = run("info", "classify1").out
    check(told.startswith("classify1: model of --arch mlp") and told.splitlines()[1:] == run("info", "classify1/model.safetensors").out.splitlines()[1:], told)
    train("from", "--max-steps", 1, "--learning-rate", 1e-9, "--weight-decay", 0, "--model", "classify1", "--restart", "auto")  # the file of the folder, so it is done
    data = open("classify1/model.safetensors", "rb").read()
    for name, bad in (("cut", data[:200]), ("short", data[:-4]), ("empty", b""), ("huge", struct.pack("<Q", 1 << 62) + data[8:]),
                      ("noise", bytes(DICE.randrange(256) for _ in range(500))), ("json", struct.pack("<Q", 4) + b"{{{{")):
        open(f"{name}.safetensors", "wb").write(bad)
        refused(3, f"{name}.safetensors", "--model", f"{name}.safetensors", ranks=2 if name == "cut" else 1)
    refused(3, "gone.safetensors", "--model", "gone.safetensors")


def fine_tuning():
    """Other classes, other names or other columns: the last layer is new, a line says so, and frozen parts stay as they are."""
    def arrays(folder):
        with open(f"{folder}/model.safetensors", "rb") as file:
            data = file.read()
        begin = 8 + struct.unpack("<Q", data[:8])[0]
        return {name: data[begin + at["data_offsets"][0]:begin + at["data_offsets"][1]]
                for name, at in json.loads(data[8:begin]).items() if name != "__metadata__"}

    first = arrays("classify1")
    names = [f"c{i}" for i in range(8)]
    variant("renamed.h5", lambda file: file["samples/label"].attrs.__setitem__("classes", names))
    for folder, words, more in (("tuned", ("--freeze", "layers"), {"data": "renamed.h5"}), ("columns", ("--freeze", "layers"), {"task": "regress"}),
                                ("asked", ("--freeze", "layers.0,layers.1", "--new-head"), {})):
        done = train(folder, "--max-steps", 1, "--model", "classify1/model.safetensors", *words, **more)
        got = arrays(folder)
        check(all(first[name] == got[name] for name in first if name.startswith("layers")) and first["head.weight"] != got["head.weight"], f"{folder}: {done.err}")
        check("the last layer begins anew: 'classify1/model.safetensors' predicts the classes " in done.err and "of these parameters are frozen" in done.err, done.err)
    train("tuned", "--max-steps", 1, "--model", "classify1/model.safetensors", "--freeze", "head", "--restart", "no", data="set.h5", ranks=2)
    got = arrays("tuned")
    check(first["head.weight"] == got["head.weight"] and first["layers.0.weight"] != got["layers.0.weight"], "a frozen head has moved")
    for status, says, words in ((2, "no part 'layer'; it has layers,head", ("--freeze", "layer")), (2, "nothing is left to train", ("--freeze", "layers,head")),
                                (2, "no part 'layres'; it has layers,head; did you mean 'layers'?", ("--rate-of", "layres=0.5")),
                                (2, "without --model FILE", ("--new-head",))):
        refused(status, says, *words)
    done = train("loose", "--max-steps", 1, "--freeze", "layers")
    check("--freeze without --model: these parts keep the random weights" in done.err, done.err)
    done = run("train", "moe", "--data", "renamed.h5", "--results-dir", "never", "--model", "classify1", "--no-plots", "--no-events")
    check(done.status == 3 and "; try: train classify --arch mlp --width 16 --depth 2" in done.err, done.err)
    done = run("train", "moe", "--data", "set.h5", "--results-dir", "never", "--freeze", "experts", "--no-plots", "--no-events")
    check(done.status == 2 and "experts cannot be frozen" in done.err, done.err)


# -- refusals --

def one_value(file):
    """Validation has one sample."""
    split = file["index/split"][:]
    split[numpy.flatnonzero(split == 1)[1:]] = 0
    file["index/split"][:] = split


def inputs():
    variant("label.h5", lambda file: file["samples/label"].__setitem__(5, 99))
    variant("nan.h5", lambda file: file["samples/properties"].__setitem__((5, 0), numpy.nan))
    variant("none.h5", lambda file: file["index/split"].__setitem__(slice(None), 2))
    variant("one.h5", one_value)
    variant("unknown.h5", lambda file: file["samples/label"].__setitem__(slice(0, 40), -1))
    variant("whole.h5", lambda file: file["index/split"].__setitem__(slice(None), 0))
    variant("blank.h5", lambda file: file["samples/label"].__setitem__(slice(None), -1))
    variant("phase.h5", lambda file: file["samples/x"].__setitem__(slice(None), 7))
    refused(3, "label 99 of sample 5", data="label.h5", ranks=2)
    refused(3, "sample 5 is not a finite number", data="nan.h5", task="regress")
    refused(3, "no sample in its train split", data="none.h5")
    refused(3, "phase.h5", data="phase.h5", ranks=3)  # found by readers, in the middle of a step
    refused(3, "gone.h5", data="gone.h5")
    variant("alike.h5", lambda file: file["samples/label"].__setitem__(slice(None), 3))
    for done in (train("alike", "--max-steps", 1, data="alike.h5"), run("data", "info", "alike.h5")):
        check("all labels of the train split are of one class, '" in done.err, done.err)
    full = train("full", status=7, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))
    check("full/model.safetensors': it needs" in full.err and not os.path.exists("full/metrics.jsonl"), full)
    said = json.loads(train("one", "--epochs", 2, "--json", task="regress", data="one.h5").out)
    check(said["validation"]["r2"][0] is None and "R2 none" in train("one", "--epochs", 2, "--restart", "auto", task="regress", data="one.h5").out, said)
    many = train("diverged", "--epochs", 30, "--learning-rate", 1e30, "--schedule", "constant", "--clip", 0, status=6, ranks=2)
    check("20 steps in a row" in many.err and " is the first" in many.err, many.err)
    half = train("diverged", "--epochs", 30, "--learning-rate", 1e30, "--schedule", "constant", "--clip", 0, "--precision-type", "f16",
                 "--loss-scale", 4, "--max-skips", 3, status=6, ranks=2)
    check("3 steps in a row" in half.err and " is the first" in half.err, half.err)
    once = train("diverged", "--epochs", 30, "--learning-rate", 1e30, "--schedule", "constant", "--clip", 0, "--max-skips", 1, status=6, ranks=2)
    check("1 step had" in once.err and " is the first" in once.err, once.err)
    few = train("diverged", "--epochs", 2, "--learning-rate", 1e30, "--schedule", "constant", "--clip", 0, status=6)
    check("wrote no model: no epoch has a finite loss (7 of 8 steps" in few.err and "no weight changes" in few.err, few)
    check("loss none, " in few.err and "nan" not in few.err, f"progress: {few.err}")
    check(not os.path.exists("diverged/model.safetensors"), "a model of no use")
    shutil.copytree("patient", "kept")
    train("kept", "--epochs", 1, "--learning-rate", 1e30, "--schedule", "constant", "--clip", 0, "--restart", "no", status=6)
    lost = train("kept", "--max-steps", 3, "--precision-type", "fp16", "--loss-scale", 1 << 32, "--restart", "no", status=6)
    check("a smaller --loss-scale" in lost.err, lost.err)
    check(runs.weights("kept/model.safetensors") == runs.weights("patient/model.safetensors"), "a finished model is lost to a run that diverged")
    said = json.loads(train("unknown", "--epochs", 2, "--json", data="unknown.h5", ranks=2).out)
    check(said["skipped"] == 0 and said["test"]["samples"] == 6 and said["test"]["labelled"] < 6, said)
    done = train("unknown", "--epochs", 2, "--restart", "auto", data="unknown.h5")
    check(f"(6 samples, {said['test']['labelled']} labelled)" in done.out, done.out)
    refused(3, "has no label in its train split: all are -1", data="blank.h5")


def options():
    refused(2, "--batch-size 0: it must be from 1", "--batch-size", 0)
    for says, *words in (("--arch mlp:width=4: --width 4 and --width 16 contradict each other", "mlp:width=4", "--width", 16), ("--arch cnm: there is no network 'cnm'; there are mlp, cnn", "cnm"),
                         ("--arch mlp:depth=two: depth=two must be a whole, positive number", "mlp:depth=two"),
                         ("--arch unet removes noise and predicts no classes", "unet:width=24,blocks=1"), ("--arch cnn:blocks=3: cnn has no blocks", "cnn:blocks=3")):
        done = run("train", "classify", "--data", "set.h5", "--results-dir", "never", "--arch", *words, ranks=2)
        check(done.status == 2 and says in done.err, f"{words}: {done}")
    refused(2, "--loss-scale 3: it must be a power of two", "--precision-type", "fp16", "--loss-scale", 3)
    refused(2, "--compile and --compile-mode none contradict", "--compile", "--compile-mode", "none")
    refused(2, "--compile-scope gate: this network has no experts", "--compile-scope", "gate")
    refused(2, "--compile-scope", "--compile-scope", "router")
    refused(2, "--max-skips 0: it must be at least 1", "--max-skips", 0)
    refused(2, "--precision-type", "--precision-type", "fp8")
    refused(2, "--accumulation-steps 9223372036854775807: it must be from 1", "--accumulation-steps", (1 << 63) - 1)
    refused(2, "--exact-batch: --effective-batch 13 is no multiple of", "--exact-batch", ranks=2)
    refused(2, "is 24, and --effective-batch is 13", "--batch-size", 4, "--accumulation-steps", 3, ranks=2)
    for words in (("--effective-batch", 1 << 20), ("--batch-size", 1 << 20), ("--batch-size", 1 << 20, "--plan", "off")):
        done = run("train", "classify", "--arch", "mlp", "--data", "set.h5", *words, "--max-steps", 2, "--results-dir", "vast", "--restart", "no", timeout=30)
        check(done.status == 0 and rows("vast")[-1]["step"] == 2, f"a step of many more samples than there are: {words} {done}")
    refused(2, "it has: volume_fraction, length, interface_density", "--target", "nosuch", task="regress")
    done = train("said", "--max-steps", 1, "--momentum", 0.5, "--patience", 1, "--data_folder", "x", data="whole.h5")
    for says in ("--momentum has no effect: --optimizer adamw", "--patience has no effect: there is no validation", "--data_folder has no effect: all files go to --results-dir"):
        check(says in done.err, f"'{says}' is not said: {done.err}")
    open("file", "w").close()
    done = run("train", "classify", "--data", "set.h5", *SMALL, "--results-dir", "file/in")
    check(done.status == 7 and "--results-dir" in done.err, done)
    done = run("train", "classify", "--data", "set.h5", *SMALL, "--results-dir", "file", ranks=2)
    check(done.status == 7 and "Not a directory" in done.err, done)


def another_memory():
    """The optimiser and large activations in the node's memory: the same steps, also behind a stop and without."""
    want = rows("classify1")
    far = ("--device", "shadow", "--offload", "optimizer", "--spill-activations")
    train("far", "--epochs", 2, *far, "--zero", 1, ranks=2)
    steps_are_whole("far", want)
    for first, then in ((far, ()), ((), far)):
        shutil.rmtree("moved", ignore_errors=True)
        train("moved", "--epochs", 2, *first, "--max-hours", 1e-9, status=75)
        check(checkpoints("moved"), f"{first}: no checkpoint")
        train("moved", "--epochs", 2, *then, "--restart", "auto", ranks=2)
        steps_are_whole("moved", want)


def many_ranks():
    """Seven ranks, five samples to learn from."""
    def few(file):
        split = file["index/split"][:]
        split[numpy.flatnonzero(split == 0)[5:]] = 2
        file["index/split"][:] = split
    variant("few.h5", few)
    done = run("train", "classify", "--data", "few.h5", "--results-dir", "few", *SMALL, "--epochs", 2, ranks=7)
    check(done.status in (0, 2) and (done.status == 0 or "7 ranks" in done.err), done)


run("synth", "--num-samples", 60, "--size", 16, 16, "--output", "set.h5")
run("synth", "--num-samples", 60, "--size", 16, 16, "--seed", 9, "--output", "other.h5")
for part in (ranks_agree, same_files, killed, other_stages, other_ways, asked, stopped, columns, others, moved_away, no_checkpoint, signals, patience, weights, fine_tuning, inputs, options, another_memory, many_ranks):
    began = time.time()
    part()
    print(f"{part.__name__}: {time.time() - began:.1f} s", flush=True)
left = [name for name in os.listdir("never") if name.endswith((".safetensors", ".tmp", ".partial"))]
check(not left, f"a refused run leaves {left}")
finish("train")
