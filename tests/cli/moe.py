"""Mixtures of experts from end to end: what a training leaves agrees with itself and with its model. Killed behind births and a sleep it goes
on as if nothing had happened. Ranks that share the experts make the same steps. What is wrong is refused in a sentence, before any work.
usage: moe.py MESOFORGE MPIEXEC"""
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

import runs
from runs import check, finish, optional, some

program, mpiexec = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:3])
EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/moe/graphml.py")
os.chdir(tempfile.mkdtemp())
h5py, numpy = optional("h5py"), optional("numpy")
if not h5py or not numpy:
    sys.exit(77)
# Of 96 samples to learn from, the last step of an epoch has one: on several ranks the others have none.
SMALL = {"--features": "none", "--width": 16, "--experts": 4, "--effective-batch": 19, "--epochs": 6, "--threads": 1, "--birth-window": 4, "--birth-cooldown": 8,
         "--max-experts": 6, "--sleep-every": 10, "--sleep-least": 5, "--replay-buffer": 64, "--merge-similarity": 0.35}
PRUNE = ("--top-k", 1, "--balance", 0, "--dormant-steps", 4, "--least-activations", 4000)
STEPS = 36
run, _ = runs.tools(program, mpiexec)


def line(folder, *words, data="set.h5"):
    small = [word for option, value in SMALL.items() if option not in words for word in (option, value)]
    return ("train", "moe", "--data", data, "--results-dir", folder, "--no-events", *small, *words)


def train(folder, *words, status=0, data="set.h5", **more):
    done = run(*line(folder, *words, data=data), **more)
    check(done.status == status, f"{folder} {words}: {done.status} {done.err[-500:]}")
    return done


def refused(status, says, *words, **more):
    """One sentence, and nothing is written."""
    done = train("never", *words, status=status, **more)
    check(says in done.err and len(runs.said(done.err)) == 1, f"{words}: {done.err}")


def rows(folder, kind="step"):
    with open(f"{folder}/metrics.jsonl") as file:
        return [row for row in map(json.loads, file) if row["kind"] == kind]


def load(path):
    with open(path) as file:
        return json.load(file)


def changes(folder):
    return [(row["step"], row["what"], row["expert"], row["experts"]) for row in rows(folder, "change")]


def same_steps(folder, want):
    """Each step once, with the loss of the other run; and the same births, mergers, prunings and sleeps."""
    got, other = rows(folder), rows(want)
    check([row["step"] for row in got] == [row["step"] for row in other], f"{folder}: steps {[row['step'] for row in got]}")
    off = [(a["step"], a["loss"], b["loss"]) for a, b in zip(got, other) if abs(a["loss"] - b["loss"]) > 2e-5]
    check(not off, f"{folder}: other losses than {want}: {off}")
    check(changes(folder) == changes(want), f"{folder}: {changes(folder)}, {want}: {changes(want)}")


# -- what a training leaves --

def summary(folder):
    with open(f"{folder}/performance_summary.txt") as file:
        return {line.split()[0]: line.split(None, 1)[1].strip() for line in file if not line.startswith(" ")}


def numbers(folder, said):
    """Graph, history, metrics and summary are of one run."""
    graph, course, told = load(f"{folder}/knowledge_graph.json"), load(f"{folder}/expert_activations.json"), summary(folder)
    living = {node["id"]: node for node in graph["nodes"]}
    events = [(e["step"], e["kind"], e.get("expert")) for e in course["events"]]
    check(events == [row[:3] for row in changes(folder)], f"{folder}: events {events}, changes {changes(folder)}")
    for kind in ("birth", "merge", "prune", "sleep"):
        check(int(told[f"{kind}s"]) == sum(e[1] == kind for e in events), f"{folder}: {kind}s of {told}, events {events}")
    check(int(told["experts_at_end"]) == len(living) == rows(folder, "epoch")[-1]["experts"], f"{folder}: {told}, {len(living)} in the graph")
    born = [e[2] for e in events if e[1] == "birth"]
    check(born == list(range(4, 4 + len(born))) and graph["next_id"] == 4 + len(born), f"{folder}: ids {born}, then {graph['next_id']}")
    check(abs(float(told["accuracy"].removesuffix(" (test split)")) - said["test"]["accuracy"]) < 1e-5 and int(told["steps"]) == STEPS, f"{folder}: {told}, {said['test']}")
    ends = {end for edge in graph["edges"] for end in (edge["source"], edge["target"])}
    check(ends <= set(living), f"{folder}: edges of {ends}, experts {set(living)}")
    served = {}
    for part in graph["expert_concepts"]:
        served[part["expert"]] = served.get(part["expert"], 0) + part["weight"]
    check(all(abs(share - 1) < 1e-9 for share in served.values()), f"{folder}: shares of classes {served}")
    table = [row.split() for row in run("info", f"{folder}/knowledge_graph.json").out.splitlines()]
    check(all((row[5] == "-") == (int(row[0]) not in served) for row in table if row[0].isdigit()), f"{folder}: info of experts without samples: {table}")
    best = next(row for row in table if row[0] == "best")[1:]
    check(len(best) == len(graph["concepts"]) and all(one == "-" or int(one) in served for one in best), f"{folder}: the best experts {best}, samples of {served}")
    strong = sorted((round(edge["weight"], 2) for edge in graph["edges"]), reverse=True)[:12]
    check([float(row[-1]) for row in table if row[0] == "experts"] == strong, f"{folder}: relations {table}, {strong}")
    got = {int(row[0]): float(row[1]) for row in table if row[0].isdigit()}
    check(got == {one: node["activation_count"] for one, node in living.items()}, f"{folder}: info: {got}")
    return living, course


def rows_of(course):
    total = {}
    for time_ in course["times"]:
        for expert, count in zip(time_["experts"], time_["rows"]):
            total[expert] = total.get(expert, 0) + count
    return total


def leaves_files():
    said = json.loads(train("merge", "--json", ranks=2).out)
    pictures = {"training_metrics.png", "expert_activations.png", "expert_device_distribution.png", "confusion.png",
                *(f"knowledge_graph_epoch_{n}.png" for n in range(1, 7))}
    there = {name for name in os.listdir("merge") if not name.startswith(".")}
    check(there == pictures | {"model.safetensors", "model.last.h5", "metrics.jsonl", "metrics-step.csv", "metrics-epoch.csv", "metrics-change.csv",
                               "knowledge_graph.json", "expert_activations.json",
                               "performance_summary.txt"}, f"files: {sorted(there)}")
    check(all(open(f"merge/{name}", "rb").read(8) == b"\x89PNG\r\n\x1a\n" for name in pictures), "pictures")
    living, course = numbers("merge", said)
    total = rows_of(course)
    check(sum(total.values()) == 2 * 96 * 6, f"rows {total}")  # two experts for every sample of six epochs
    check(sum(node["activation_count"] for node in living.values()) == sum(total.values()), "rows of merged experts are lost")
    check({row[1] for row in changes("merge")} == {"birth", "merge", "sleep"}, f"changes {changes('merge')}")
    with open("/proc/cpuinfo") as file:
        model = re.search(r"^model name\s*: (.*)", file.read(), re.M)
    check(summary("merge")["devices"] == f"{model[1] if model else 'cpu'}, 2 ranks", f"{summary('merge')}")
    check(summary("merge")["parallel_strategy"] == "data_parallel" and summary("merge")["mode"] == "cpu", f"{summary('merge')}")
    with open("merge/metrics-change.csv") as file:
        check([int(row["step"]) for row in csv.DictReader(file)] == [row[0] for row in changes("merge")], "metrics-change.csv")
    done = train("prune", "--json", "--no-plots", *PRUNE)
    said = json.loads(done.out)
    living, course = numbers("prune", said)
    total = rows_of(course)
    check(all(node["activation_count"] == total.get(one, 0) for one, node in living.items()), f"rows {total}, {living}")
    check({row[1] for row in changes("prune")} == {"birth", "prune", "sleep"}, f"changes {changes('prune')}")
    check(not [name for name in os.listdir("prune") if name.endswith(".png")], "--no-plots draws")


def ids_of(folder):
    with open(f"{folder}/model.safetensors", "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return {int(found[1]) for found in (re.search(r"experts\.(\d+)\.", name) for name in header) if found}


def best_is_early():
    """The best epoch has experts that later became one with others. Pictures and summary tell of the last epoch."""
    train("early", "--epochs", 4, "--replay-buffer", 2000, "--parallel-strategy", "expert_parallel", ranks=2)
    living = {node["id"] for node in load("early/knowledge_graph.json")["nodes"]}
    check(ids_of("early") - living, f"the model has {ids_of('early')}, the graph {living}")
    check(os.path.exists("early/expert_device_distribution.png") and int(summary("early")["experts_at_end"]) == len(living), f"{summary('early')}")


def model_works():
    """The experts of the best epoch are in the file; eval and infer know them."""
    ids = ids_of("merge")
    said = json.loads(train("merge", "--restart", "auto", "--json").out)
    best = rows("merge", "epoch")[said["best_epoch"] - 1]
    check(len(ids) == best["experts"] and said["done_before"], f"experts {ids} in the model, {best}")
    done = run("info", "merge/model.safetensors")
    check(f"experts:    {len(ids)}, of which 2 for each row" in done.out and "model of --arch moe, --width 16" in done.out, f"info: {done}")
    told = json.loads(run("info", "merge/model.safetensors", "--json").out)
    check(told["kind"] == "model" and set(told["model"]["expert_ids"]) == ids, f"info: {told}")
    for ranks in (1, 2):
        done = run("eval", "merge/model.safetensors", "--data", "set.h5", "--json", ranks=ranks)
        check(done.status == 0 and abs(json.loads(done.out)["accuracy"] - said["test"]["accuracy"]) < 1e-9, f"eval on {ranks}: {done}")
    done = run("infer", "classify", "merge/model.safetensors", "set.h5", "--output", "told.csv")
    with open("told.csv") as file:
        check(done.status == 0 and len(list(csv.reader(file))) == 121, f"infer: {done}")
    for option, value, says in (("--replay-bytes", 100, "and --replay-bytes is 100: sleeps"), ("--replay-buffer", 0, "--replay-buffer 0: sleeps")):
        done = train("none", option, value, "--max-steps", 1, "--no-plots", "--restart", "no")
        check(f"{says} repeat nothing" in done.err, f"no record fits: {done.err}")
    done = train("again", "--model", "merge/model.safetensors", "--max-steps", 1, "--learning-rate", 1e-12, "--json", "--no-plots")
    check(f"--experts has no effect: 'merge/model.safetensors' has {best['experts']}" in done.err, done.err)
    again = json.loads(done.out)
    done = train("more", "--model", "merge/model.safetensors", "--max-experts", 4, "--no-plots", status=2)
    check(f"has {best['experts']} experts: they must be from --min-experts 2 to --max-experts 4" in done.err, done.err)
    check(abs(again["test"]["loss"] - said["test"]["loss"]) < 0.05, f"a training that starts from it: {again['test']}, {said['test']}")


def predicts_values():
    """Without classes, eighths of the samples take their place; info names them so that they differ."""
    done = train("values", "--target", "volume_fraction", "interface_density", "--max-steps", 12, "--no-plots", "--json", "--label-smoothing", 0.1)
    check("--label-smoothing has no effect" in done.err, done.err)
    said = json.loads(done.out)["test"]
    with open("values/performance_summary.txt") as file:
        r2 = file.read().split("\nR2 ")[1].split("\n")
    check(abs(float(r2[0].split()[0]) - sum(said["r2"]) / 2) < 1e-5 and "mean of 2 columns" in r2[0], f"{r2}, {said}")
    check([line.split(": ")[0].strip() for line in r2[1:3]] == ["volume_fraction", "interface_density"] and
          all(abs(float(line.split(": ")[1]) - value) < 1e-5 for line, value in zip(r2[1:], said["r2"])), f"{r2}, {said}")
    done = run("info", "values/knowledge_graph.json")
    check("volum..hth 1  volum..hth 2" in done.out, done)


def words_of_others():
    """What the guide of Morph calls its options, and what stands in its configuration."""
    with open("config.yaml", "w") as file:
        file.write("data: set.h5\ndevice: cpu\nmixed-precision: true\nprecision_type: auto\ngpu_memory_fraction: 0.9\ngpu_mode: auto\n"
                   "parallel_strategy: data_parallel\naccumulation_steps: 1\nnum_workers: -1\nmin_experts: 2\n")
    for words in (("--config", "config.yaml"), ("--data", "set.h5", "--gpu-mode", "cpu", "--mixed-precision", "--precision-type", "bf16", "--accumulation-steps", 2,
                                                "--compile", "--compile-mode", "default", "--compile-scope", "gate", "--monitor-gpu", "--experts", 4, "--parallel-strategy", "data_parallel"),
                  ("--data", "set.h5", "--auto-batch-size", "--compile", "--gpu-mode", "auto")):
        left = ("knowledge_graph_epoch_7.png", "expert_device_distribution.png", "metrics-change.csv")
        for name in left if os.path.exists("words") else ():
            open(f"words/{name}", "w").close()
        done = run("train", "moe", *words, "--epochs", 1, "--features", "none", "--threads", 1, "--no-plots", "--results-dir", "words", "--restart", "no")
        check(done.status == 0 and not any(os.path.exists(f"words/{name}") for name in left), f"{words}: {done}, {os.listdir('words')}")
    check(run("train", "moe", "--data", "set.h5", "--epochs", 1, "--features", "none", "--threads", 1, "--no-events").status == 0 and
          os.path.exists("results/gpu_training/performance_summary.txt"), "results/gpu_training")


MORPH = """gpu_acceleration:
  device: cpu
  enable_mixed_precision: False
  precision_type: auto
  gpu_memory_fraction: 0.9
  gpu_mode: auto
  parallel_strategy: data_parallel
  auto_batch_size: True
  accumulation_steps: 1
data_loading:
  num_workers: -1
  pin_memory: True
batch_size: 64
num_initial_experts: 4
expert_k: 2
expert_hidden_size: 16
enable_dynamic_experts: False
expert_creation_uncertainty_threshold: 0.3
min_experts: 2
max_experts: 32
enable_sleep: True
sleep_cycle_frequency: 5
enable_adaptive_sleep: False
min_sleep_frequency: 500
max_sleep_frequency: 2000
memory_replay_batch_size: 32
memory_buffer_size: 2000
replay_learning_rate: 0.0001
enable_expert_reorganization: False
overlap_threshold: 0.3
specialization_threshold: 0.7
expert_similarity_threshold: 0.99
dormant_steps_threshold: 5000
min_lifetime_activations: 100
enable_meta_learning: False
meta_learning_intervals: 10
knowledge_edge_decay: 0.99
knowledge_edge_min: 0.1
learning_rate: 0.001
weight_decay: 0.00001
"""


def morph():
    """Its configuration as it stands; what it switches off is off. The verb prints its own defaults."""
    with open("morph.yaml", "w") as file:
        file.write(MORPH)
    done = run("train", "moe", "--data", "set.h5", "--config", "morph.yaml", "--epochs", 6, "--features", "none", "--threads", 1, "--no-plots", "--results-dir", "morph")
    check("a step has 64 samples, and its passes are chosen" in done.err, done.err)
    check(done.status == 0 and {row[1] for row in changes("morph")} == {"sleep"} and [row[0] for row in changes("morph")] == [5, 10], f"{done}")
    done = run("train", "moe", "--print-config")
    for line in ('# results-dir: "results/gpu_training"  # default', '# arch: "moe"  # default', "# experts: 8  # default", "# effective-batch: 128  # default"):
        check(line in done.out.splitlines(), f"no {line}: {done.out}")


def ends_its_births():
    """Of a task that is solved in a hundred steps: one while the router is new, at most. What experts drop is said."""
    draw = numpy.random.default_rng(0)
    labels, patterns = draw.integers(0, 4, 800), draw.normal(size=(4, 8, 8))
    numpy.save("x.npy", (100 + 20 * (patterns[labels] + 0.3 * draw.normal(size=(800, 8, 8)))).clip(0, 255).astype(numpy.uint8))
    numpy.save("y.npy", labels)
    check(run("data", "import", "x.npy", "--labels", "y.npy", "--output", "easy.h5").status == 0, "a set")
    words = ("train", "moe", "--data", "easy.h5", "--features", "none", "--width", 16, "--effective-batch", 64, "--threads", 1, "--no-plots", "--no-events")
    done = run(*words, "--epochs", 55, "--results-dir", "easy")
    check(done.status == 0 and len(changes("easy")) <= 1 and rows("easy", "epoch")[-1]["val_accuracy"] > 0.98, f"{changes('easy')} {done.err[-400:]}")
    done = run(*words, "--epochs", 1, "--capacity-factor", 1, "--results-dir", "drops")
    dropped = sum(row["dropped"] for row in rows("drops", "step"))
    check(0 < dropped and f"; --capacity-factor dropped {dropped} of 1280 rows" in done.err, f"{dropped}: {done.err}")


def weights(path):
    """Arrays of a model's file, by name."""
    with open(path, "rb") as file:
        head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    return {name: numpy.frombuffer(data[slice(*one["data_offsets"])], "<f4").reshape(one["shape"]).astype("f8") for name, one in head.items() if name[0] != "_"}


def averages():
    """--average: the average of a newborn expert begins at its weights, and those of the others go on. One step is an epoch, whose file has it."""
    words = ("--no-plots", "--effective-batch", 96, "--epochs", 14, "--keep-last", 14, "--sleep-every", 1000, "--warmup", 0)
    train("raw", *words)
    train("mean", *words, "--average", 0.5, "--plan", "off", "--zero", 1, ranks=2)
    check([row[1] for row in changes("mean")] == ["birth", "birth"] and changes("mean") == changes("raw"), f"births: {changes('mean')}")
    keep, mean = numpy.exp(-1 / (0.5 * 14)), {}
    for epoch in range(1, 15):
        now, got = (weights(f"{folder}/model_epoch{epoch}.safetensors") for folder in ("raw", "mean"))
        for name, value in now.items():
            old = len(mean[name]) if name in mean else 0
            if old and "balance" not in name:  # which training does not learn
                value[:old] = keep * mean[name] + (1 - keep) * value[:old]
            check(epoch == 1 or numpy.allclose(got[name], value, rtol=1e-4, atol=1e-5), f"--average, epoch {epoch}: {name}")
        mean = got


# -- the same on other ranks, and behind a kill --

def ranks_agree():
    train("alone", "--no-plots")
    same_steps("merge", "alone")
    for ranks in (2, 3):
        done = train(f"shared{ranks}", "--no-plots", "--parallel-strategy", "expert_parallel", ranks=ranks)
        check(f"expert-parallel size {ranks}" in done.err, done.err)
        check(summary(f"shared{ranks}")["parallel_strategy"] == "expert_parallel", f"{summary(f'shared{ranks}')}")
        same_steps(f"shared{ranks}", "alone")
    done = train("few", "--no-plots", "--parallel-strategy", "expert_parallel", "--experts", 2, "--max-steps", 2, ranks=3)
    check("each of 3 ranks has all 2 experts" in done.err, done.err)


def kill_behind(folder, step, *words):
    """Kills a run when it has made a step."""
    def there():
        return os.path.exists(f"{folder}/metrics.jsonl") and f'"step": {step},' in open(f"{folder}/metrics.jsonl").read()
    command = runs.line(program, *line(folder, *words), ranks=2, mpiexec=mpiexec)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as job:
        while job.poll() is None and not there():
            time.sleep(0.001)
        runs.kill(job.pid)
    return job.returncode != 0


def killed():
    """Two runs go on from one checkpoint, which has the measured speeds of the ranks: only one of them is killed again. A third one has lost its model."""
    for strategy, others in some((("expert_parallel", 3), ("data_parallel", 1))):
        words = ("--no-plots", "--checkpoint-every", "1ev", "--restart", "auto", "--parallel-strategy", strategy)
        whole, folder, moved = f"whole-{strategy}", f"killed-{strategy}", f"moved-{strategy}"
        check(kill_behind(folder, 2, *words), f"{strategy}: nothing was killed")
        shutil.copytree(folder, whole)
        train(whole, *words, ranks=2)
        same_steps(whole, "alone")
        for step in (11, 23):  # births, mergers and a sleep, then more of them
            check(kill_behind(folder, step, *words), f"{strategy}: nothing was killed behind step {step}")
            if step == 11:
                shutil.copytree(folder, moved)
        done = train(folder, *words, ranks=2)
        check("continuing" in done.err, done.err)
        same_steps(folder, whole)
        check(runs.weights(f"{folder}/model.safetensors") == runs.weights(f"{whole}/model.safetensors"), f"{strategy}: other weights")
        for name in ("knowledge_graph.json", "expert_activations.json"):
            check(open(f"{folder}/{name}").read() == open(f"{whole}/{name}").read(), f"{strategy}: another {name}")
        os.remove(f"{moved}/model.safetensors")
        done = train(moved, *words, ranks=others)
        check("a later epoch will be the best" in done.err and os.path.exists(f"{moved}/model.safetensors"), done.err)
        same_steps(moved, whole)


# -- refusals --

def refusals():
    blank = numpy.zeros((40, 16, 16), dtype=numpy.uint8)
    numpy.save("blank.npy", blank)
    check(run("data", "import", "blank.npy", "--output", "blank.h5").status == 0, "a dataset without labels")
    for status, says, *words in (
            (2, "--top-k 2 is above --min-experts 1: a sample could not go to so many; try: --min-experts 2", "--min-experts", 1),
            (2, "--top-k 5: a row goes to 1 expert at least, and to 4 at most", "--top-k", 5),
            (2, "--top-k 0: it must be from 1", "--top-k", 0),
            (2, "--experts 1: it must be from --min-experts 2 to --max-experts 6", "--experts", 1, "--top-k", 1),
            (2, "--experts 7: it must be from --min-experts 2 to --max-experts 6", "--experts", 7),
            (2, "--temperature 0: it must be above 0", "--temperature", 0),
            (2, "train moe: --arch cnn: only moe and vit have experts", "--arch", "cnn"),
            (2, "--gpu-mode cpu: --device cpu and --device cuda contradict each other", "--gpu-mode", "cpu", "--device", "cuda"),
            (2, "--gpu-mode multi_gpu: --device cuda and --device cpu contradict each other", "--gpu-mode", "multi_gpu", "--device", "cpu"),
            (2, "--merge-similarity 2: it must be from 0 to 1", "--merge-similarity", 2)):
        refused(status, says, *words)
    refused(3, "'blank.h5' has no labels", data="blank.h5")
    refused(2, "--expert-ways 2: the expert-parallel size must divide the 3 ranks, and be at most the 4 experts; try: 1", "--parallel-strategy", "expert_parallel",
            "--expert-parallel-size", 2, ranks=3)
    refused(2, "of 3 ranks 1 would have none of the 2 samples of a step", "--effective-batch", 2, ranks=3)
    check(not os.path.exists("never"), "refused runs leave files")
    done = train("small", "--memory-limit", 1, status=5)
    check("fewer --experts, a smaller --width, or smaller samples" in done.err, done.err)
    for option, value, says in (("--patch", 5, "--patch 5 does not divide images of 16 x 16; try: --patch 4"), ("--heads", 3, "--width 16 is no multiple of --heads 3; try: --width 18")):
        done = train("vit", "--arch", "vit", option, value, status=2)
        check(says in done.err, done.err)
    open("file", "w").close()
    done = train("file/in", status=7, ranks=2)
    check("cannot make folder 'file/in': Not a directory" in done.err and not rows_there("file/in"), done.err)
    os.makedirs("taken/knowledge_graph.json")
    done = train("taken", status=7)
    check("knowledge_graph.json" in done.err and not rows_there("taken"), done.err)
    os.mkdir("theirs")
    open("theirs/knowledge_graph.json", "w").close()
    done = train("theirs", status=7, ranks=2)
    check("'theirs/knowledge_graph.json', which is written beside 'theirs/model.safetensors', is there already" in done.err, done.err)
    with open("merge/knowledge_graph.json") as whole, open("cut.json", "w") as cut:
        cut.write(whole.read()[:-100])
    done = run("info", "cut.json")
    check(done.status == 3 and "cut.json" in done.err, f"a graph that is cut: {done}")
    with h5py.File("old.h5", "w") as old:
        old.attrs["schema"] = "knowledge graph"
    done = run("info", "old.h5")
    check(done.status == 3 and "which older versions wrote; try: the .json beside it" in done.err, f"a graph in HDF5: {done}")
    made = subprocess.run([sys.executable, EXAMPLE, "merge/knowledge_graph.json"], capture_output=True, text=True)
    graph, tree = json.load(open("merge/knowledge_graph.json")), xml.etree.ElementTree.fromstring(made.stdout)
    check(len(tree.findall(".//{*}node")) == len(graph["nodes"]) and len(tree.findall(".//{*}edge")) == len(graph["edges"]), f"GraphML: {made.stderr}")


def rows_there(folder):
    return os.path.exists(f"{folder}/metrics.jsonl")


run("synth", "--num-samples", 120, "--size", 16, 16, "--output", "set.h5")
for part in (leaves_files, best_is_early, model_works, predicts_values, words_of_others, morph, ends_its_births, averages, ranks_agree, killed, refusals):
    began = time.time()
    part()
    print(f"{part.__name__}: {time.time() - began:.1f} s", flush=True)
finish("moe")
