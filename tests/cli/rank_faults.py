"""What ranks do to each other without dying: a slow one, a call of MPI that is lost, late or fails, a gradient that is no number on one of them, other builds and options, other
environments; and a long run, which leaks nothing.
usage: rank_faults.py MESOFORGE LIBRARY MPIEXEC ...     LIBRARY: tests/tool/faulty_mpi.c"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

import runs
from runs import check, finish
from samples import digest

program, library, launcher = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
LIMIT = 3  # --timeout [s]
CALLS = ("Allreduce:100", "Allgather:20", "Allgatherv:12", "Bcast:8", "Barrier:1", "Isend:8", "Irecv:8", "Waitall:40")  # that a run makes so often
usual = 0.0  # seconds that a run of two ranks takes here and now


def words(extent, steps, output, *more):
    return (f"match t.npy --limit_to 6 --add_dimension {extent} --deterministic --max_iter {steps} --polish-rounds 4 --threads 1 "
            f"--timeout {LIMIT} --output {output}").split() + list(more)


def apart(*sides, timeout=60):
    """Ranks that differ, one for each side: (environment, program, words)."""
    line = [*launcher, "-q"]
    for number, (more, which, words) in enumerate(sides):
        line += [":"] * (number > 0) + ["-n", "1", "env", *(f"{k}={v}" for k, v in more.items()), which, *words]
    done = subprocess.run(line, capture_output=True, text=True, timeout=timeout)
    return done.returncode, runs.said(done.stderr), done.stderr


def other_build():
    """A copy that the linker would have given another number."""
    content = bytearray(open(program, "rb").read())
    note = content.find(b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0")
    if note < 0:
        return None
    content[note + 16] ^= 1
    with open("other", "wb") as file:
        file.write(content)
    os.chmod("other", 0o755)
    return os.path.abspath("other")


def different():
    run = words(16, 20, "different.npy")
    other = other_build()
    if check(other, "the linker writes no number of the program's contents"):
        status, lines, err = apart(({}, program, run), ({}, other, run))
        check(status == 4 and len(lines) == 1 and "ranks run different builds" in lines[0], f"two builds: {status} {err}")
    status, lines, err = apart(({}, program, [*run, "--seed", "1"]), ({}, program, [*run, "--seed", "2"]))
    check(status == 2 and len(lines) == 1 and "rank 1 was started with other options than rank 0" in lines[0] and "--seed" in lines[0],
          f"two seeds: {status} {err}")
    level = "MESOFORGE_LOG"  # every rank its options, and what is said of rank 1
    for first, second, said in ((({level: "30"}, run), ({level: "10"}, run), "'--logging_level 10', there '--logging_level 30'"),
                                (({}, run), ({level: "10"}, run), "'--logging_level 10', there it is not given"),
                                (({}, run), ({}, [*run, "--device", "cpu"]), "'--device cpu', there it is not given"),
                                (({}, [*run, "--device", "cpu"]), ({}, run), "there '--device cpu', here it is not given"),
                                (({}, ["verify", "t.npy"]), ({}, ["verify", "t.npy", "u.npy"]), "'u.npy', there it is not given")):
        status, lines, err = apart((first[0], program, first[1]), (second[0], program, second[1]))
        check(status == 2 and len(lines) == 1 and lines[0].endswith(f"rank 1 was started with other options than rank 0: {said} (rank 1; 1 of 2 ranks failed)"),
              f"{said}: {status} {err}")
    for first, second in (("verify t.npy", "info t.npy"), ("probe", "doctor"), ("info t.npy", "inof t.npy")):
        status, lines, err = apart(({}, program, first.split()), ({}, program, second.split()))
        check(status == 2 and len(lines) == 1 and f"rank 1 runs '{second.split()[0]}', rank 0 '{first.split()[0]}'" in lines[0], f"{first} : {second}: {status} {err}")
    run = words(16, 20, "here.npy")
    done = runs.run(program, *run)
    want = digest("here.npy")
    global usual
    begin = time.time()
    status, lines, err = apart(({"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo", "HOME": ""}, program, run),
                               ({"LC_ALL": "tr_TR.UTF-8", "OMP_NUM_THREADS": "2", "TMPDIR": "/nowhere"}, program, run))
    usual = time.time() - begin
    check(status == 0 and digest("here.npy") == want, f"two environments: {status} {err}")


def slowed():
    """What --log-view says of the balance of a run whose rank 1 stands still three quarters of the time: what else a busy machine does to the
    others is less."""
    run = ("match t.npy --limit_to 12 --size 64 64 64 --max_iter 80 --no_polish --threads 1 --descriptor_types LinealPath --timeout 12 "
           "--output slow.npy --log-view --json").split()
    line = runs.line(program, *run, ranks=3, mpiexec=launcher)
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=open("log", "w"), text=True) as job:
        runs.until(lambda: "loss" in open("log").read(), "three ranks at work")
        victim = runs.ranks_of(program, job.pid)[1]
        while job.poll() is None:
            for what, seconds in ((signal.SIGSTOP, 0.9), (signal.SIGCONT, 0.3)):
                try:
                    os.kill(victim, what)
                except ProcessLookupError:
                    break
                time.sleep(seconds)
        out = job.communicate(timeout=60)[0]
    check(job.returncode == 0, f"slow: {job.returncode} {open('log').read()}")
    return json.loads(out or "{}").get("log_view", {}).get("balance")


def slow():
    """No false alarm, and who is slow is named, both times: by chance it is one time in nine. How much slower it was is
    not judged: other work on the machine slows all."""
    for _ in range(2):
        balance = slowed()
        print("slow:", balance)
        check(balance and balance["busiest_rank"] == 1, f"slow: {balance}")


def faulty(call, how, rank, wrap=()):
    """A run of three ranks; on @rank something happens to that call of MPI (tests/tool/faulty_mpi.c), which is seen to have been made. Beside how
    it ended: after how many seconds, and its own lines."""
    around = {"FAULTY_MPI_CALL": call, "FAULTY_MPI_HOW": how, "FAULTY_MPI_RANK": rank}
    line = [*wrap, "env", f"LD_PRELOAD={library}", program, *words(16, 20, "faulty.npy")]
    begin = time.time()
    done = runs.run(*line, ranks=3, mpiexec=launcher, env=runs.around(**around))
    took, lines = time.time() - begin, runs.said(done.err)
    print(f"{call}, {how}, rank {rank}: {done.status} after {took:.1f} s: {lines}")
    check(done.err.count(f"faulty_mpi: {call.split(':')[0]}: {how}\n") == 1, f"{call}, {how}: it never came to that: {done.err}")
    return done.status, took, lines


def ends(name, ended, most, *parts):
    """With 4, in time, in one line that says these parts and what may be tried."""
    status, took, lines = ended
    check(status == 4 and took <= most + usual, f"{name}: {status} after {took:.1f} s")
    check(len(lines) == 1 and all(re.search(part, lines[0]) for part in parts), f"{name}: {lines}, want {parts}")
    check(lines and re.search("; what each rank did last: mesoforge-flight-[^;]*; try: [a-z]", lines[0]), f"{name}: no next step: {lines}")


def calls():
    """A call of MPI that is late, never ends, is lost, fails, or is the last of its rank."""
    two = runs.some((CALLS[0], CALLS[-1]))
    inside = r"rank [012] on \S+ (and rank [012] on \S+ )?ha(s|ve) not come (to|out of) [a-z]+|no rank has come out of [a-z]+"
    for call in runs.some(CALLS, 3):
        status, _, lines = faulty(call, "delay:0.6", 1)
        check(status == 0 and not lines and digest("faulty.npy") == digest("here.npy"), f"{call} is late: {status} {lines}")
        os.remove("faulty.npy")
    for call in two:
        ends(f"{call} never ends", faulty(call, "delay:60", 1), LIMIT + 5, inside, f"--timeout {LIMIT}")
    ends("a broadcast is lost", faulty("Bcast:13", "swallow", 0), LIMIT + 5, "rank 1 on .* and rank 2 on .* have not come out of broadcast|no rank has come out of gather")
    ends("a message is lost", faulty("Isend:8", "swallow", 1), LIMIT + 5, inside, f"--timeout {LIMIT}")
    for call in two:
        # the launcher does not hear of it: its own child lives
        ends(f"killed in {call}", faulty(call, "kill", 1, ["sh", "-c", '"$@"; sleep 60', "sh"]), 5, "rank 1 on .* is lost: its process is gone.*; it was in [a-z]+")
        ends(f"{call} fails", faulty(call, "fail", 2), 5, "broken: a rank or a link between ranks is lost: ")


def within_a_step():
    """Ranks share layers of two stages, and one is killed where it gives its activations to the next stage. The others end in time, with one sentence.
    The run goes on by four stages, which have fewer passes than they are, and ends with the weights of one rank."""
    check(runs.run(program, "synth", "--num-samples", 47, "--size", 16, 16, "--output", "set.h5").status == 0, "a set")
    words = ("train", "classify", "--data", "set.h5", "--arch", "vit:width=16,depth=4,heads=2,patch=4", "--epsilon", 1e-4, "--effective-batch", 12, "--max-steps", 5,
             "--checkpoint-every", "1ev", "--threads", 1, "--no-plots", "--no-events", "--no-csv", "--results-dir")
    whole = runs.run(program, *words, "whole")
    check(whole.status == 0, f"an undisturbed run: {whole}")
    around = runs.around(FAULTY_MPI_CALL="Isend:40", FAULTY_MPI_HOW="kill", FAULTY_MPI_RANK=1)
    begin = time.time()
    lost = runs.run("sh", "-c", '"$@"; sleep 60', "sh", "env", f"LD_PRELOAD={library}", program, *words, "parts", "--tp", 2, "--pp", 2, "--batch-size", 1,
                    ranks=4, mpiexec=launcher, env=around)
    said = runs.said(lost.err)
    print(f"within a step: {lost.status} after {time.time() - begin:.1f} s: {said}")
    check(lost.status == 4 and len(said) == 1 and re.search("rank 1 on .* is lost: its process is gone; it was last in start of .* of stages group", said[0]) and
          "--restart auto, which continues from parts/model.ckpt" in said[0], f"a rank of a pipeline is lost: {lost}")
    done = runs.run(program, *words, "parts", "--pp", 4, "--batch-size", 4, "--restart", "auto", "--json", ranks=4, mpiexec=launcher)
    peak = json.loads(done.out or "{}").get("peak_bytes", {})
    check(done.status == 0 and "continuing after step" in done.err and "3 passes are fewer than the 4 stages of the pipeline, which wait for 50 % of a step" in done.err
          and peak["arena"] == peak["predicted"], f"four stages go on: {done}")
    got, want = (np.frombuffer(runs.weights(f"{folder}/model.safetensors"), "<f4") for folder in ("parts", "whole"))
    check(len(got) == len(want) and abs(got - want).max() < 1e-5, "four stages end with the weights of one rank")


def never_together():
    """Before the watch is open: the first broadcast of all is lost, or a rank never comes to MPI. Rank 0 says so, in time, and leaves a record."""
    def left():
        found = glob.glob("mesoforge-flight-*")
        for path in found:
            os.remove(path)
        return found

    left()
    run = words(16, 20, "never.npy")
    begin = time.time()
    lost = runs.run(program, *run, ranks=3, mpiexec=[*launcher, *(w for word in (f"LD_PRELOAD={library}", "FAULTY_MPI_CALL=Bcast:1", "FAULTY_MPI_HOW=swallow", "FAULTY_MPI_RANK=0",
                                                                              f"MF_BEGIN={LIMIT}") for w in ("-x", word))])
    middle = time.time()
    check(left(), "no flight record of a lost message at the start")
    away = apart(({"MF_BEGIN": LIMIT}, program, run), ({}, "sleep", ["5"]))
    check(left(), "no flight record of a rank that is away")
    for what, status, took, lines in (("a lost message", lost.status, middle - begin, runs.said(lost.err)), ("a rank that is away", away[0], time.time() - middle, away[1])):
        print(f"{what} at the start: {status} after {took:.1f} s: {lines}")
        check(status == 4 and took <= LIMIT + 5 + usual and len(lines) == 1 and re.search(rf"rank 0 on .* has waited {LIMIT} s \(--timeout\) for all ranks", lines[0]),
              f"{what} at the start: {status} after {took:.1f} s: {lines}")


def other_files():
    """Every node has a copy of its own: where one differs, nobody reads half of each. Equal copies are as good as one file."""
    here, there = np.random.default_rng(1).integers(0, 2, (2, 12, 12, 12), "u1")
    for folder, volume in (("here", here), ("there", there), ("equal", here)):
        os.mkdir(folder)
        np.save(f"{folder}/v.npy", volume)
        np.save(f"{folder}/y.npy", np.arange(12) % 2)
        with h5py.File(f"{folder}/v.h5", "w") as file:
            file["samples/x"], file["samples/label"] = volume, np.arange(12) % 2
            file["samples/x"].attrs["phases"] = 2
    shutil.copy("here/v.npy", "whole.npy")
    measure = f"characterize %s --descriptor_types S2 --limit_to 3 --data_folder {os.getcwd()}/c"
    train = f"train classify --data v.h5 --arch mlp --epochs 1 --no-plots --no-events --results-dir {os.getcwd()}/r"
    for run in (measure % "v.npy", measure % "v.h5:samples/x", measure % "../whole.npy --mask v.npy", train,
                f"data import v.npy --labels y.npy --output {os.getcwd()}/set.h5"):
        for second, want in (("there", 3), ("equal", 0))[:1 + (run == train)]:
            status, lines, err = apart(*(({}, "env", ["-C", folder, program, *run.split()]) for folder in ("here", second)))
            check(status == want and (want == 0 or len(lines) == 1 and "ranks 0 and 1 see different files called 'v." in lines[0]),
                  f"{run} in {second}: {status} {err}")
    shutil.rmtree("there")
    shutil.copytree("here", "there")
    shutil.copy("r/model.safetensors", "here")
    with open("r/model.safetensors", "rb") as file:
        model = bytearray(file.read())
    model[-1] ^= 1
    with open("there/model.safetensors", "wb") as file:
        file.write(model)
    run = "infer classify model.safetensors v.npy".split()
    status, lines, err = apart(*(({}, "env", ["-C", folder, program, *run]) for folder in ("here", "there")))
    check(status == 3 and "see different files called 'model.safetensors'" in err, f"two models: {status} {err}")
    shutil.copy("here/model.safetensors", "there/model.safetensors")
    np.save("here/one.npy", here[0])
    np.save("there/one.npy", there[0])
    run = "infer classify model.safetensors one.npy ../whole.npy".split()
    for says in ("ranks 0 and 1 see different files called 'one.npy'", "rank 1 sees no 'one.npy', and rank 0 does"):
        status, lines, err = apart(*(({}, "env", ["-C", folder, program, *run]) for folder in ("here", "there")))
        check(status == 3 and says in err, f"two pictures: {status} {err}")
        os.path.exists("there/one.npy") and os.remove("there/one.npy")


def one_rank_calls_it():
    """As from a script on several ranks: it says what it waits for, and with a word in the environment it does not wait."""
    status, lines, err = apart(({"MESOFORGE_MPI": "0"}, program, ["info", "t.npy"]), ({}, "true", []))
    check(status == 0, f"one rank without MPI: {status} {err}")
    status, lines, err = apart(({}, program, ["info", "t.npy", "--timeout", "1"]), ({}, "sleep", ["5"]))
    check(status != 0 and "rank 0 waits for all ranks to start" in err and "MESOFORGE_MPI=0" in err, f"one rank with MPI: {status} {err}")


def not_a_number():
    """On one rank, once: all leave with one sentence, whatever the optimiser makes of it."""
    for optimiser, visit in (("LBFGSB", 13), ("SPG", 1), ("TNC", 1), ("Adam", 13)):
        done = runs.run(program, *words(12, 60, "nan.npy", "--optimizer_type", optimiser), ranks=2, mpiexec=launcher,
                        fault=f"recon.gradient:rank=1:visit={visit}")
        check(done.status == 6 and len(runs.said(done.err)) == 1 and "is not finite" in runs.said(done.err)[0] and not os.path.exists("nan.npy"),
              f"{optimiser}: {done.status} {done.err}")


def long_run(seconds):
    """Thousands of steps, dozens of checkpoints: what it holds does not grow."""
    run = ("match t.npy --limit_to 4 --size 16 16 --max_iter 10000000 --tolerance 0 --no_polish --checkpoint-every 100ev "
             "--convergence_data_steps 1000000 --threads 1 --optimizer_type Adam --output long.npy").split()
    with subprocess.Popen(runs.line(program, *run, ranks=2, mpiexec=launcher), stderr=subprocess.PIPE, text=True) as job:
        runs.until(lambda: os.path.exists("long.ckpt-b.h5"), "two checkpoints")
        for _ in range(4):  # its memory is what it will be after some hundred evaluations, not after some seconds
            before = os.stat("long.ckpt-b.h5").st_mtime_ns
            runs.until(lambda: os.stat("long.ckpt-b.h5").st_mtime_ns != before, "another checkpoint")
        ranks = runs.ranks_of(program, job.pid)
        first = runs.held(ranks)
        time.sleep(seconds)
        last = runs.held(ranks)
        job.send_signal(signal.SIGUSR1)
        err = job.communicate(timeout=60)[1]
    check(job.returncode == 75, f"long: {job.returncode} {err}")
    print("long:", re.findall(r"evaluations (\d+)", err)[-1], "evaluations:", first, last)
    for rank in first:  # one of the two moments may be within a checkpoint, whose file is open
        check(last[rank][0] - first[rank][0] <= 131072 and last[rank][1] <= first[rank][1] + 2 and last[rank][2] <= first[rank][2] + 4,
              f"long: rank {rank} held {first[rank]}, then {last[rank]}")


folder = tempfile.mkdtemp(prefix="rank-faults-")
os.chdir(folder)
runs.run(program, *"synth --kind gaussian --size 32 32 --volume-fraction 0.4 --correlation-length 2 --output t.npy".split())
for part in (different, other_files, one_rank_calls_it, within_a_step, *[slow] * runs.LONG, calls, never_together, not_a_number, lambda: long_run(4)):
    begin = time.time()
    part()
    print(f"  {time.time() - begin:.1f} s")
shutil.rmtree(folder)
finish("rank_faults")
