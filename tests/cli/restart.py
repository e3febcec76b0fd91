#!/usr/bin/python3
"""Runs that are stopped, killed or damaged go on and end in the bits of a run that nothing happened to.
usage: restart.py MESOFORGE MPIEXEC ..."""
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import h5py
import runs
from runs import S2, check, finish, kill
from samples import blobs, digest, np, save

program, launcher = os.path.abspath(sys.argv[1]), sys.argv[2:]
SEED = os.environ.get("FAULTS_SEED", "")  # of when and on how many ranks runs go on
folder = tempfile.mkdtemp(prefix="restart-")
os.chdir(folder)


def run(arguments, ranks=1, fault=None):
    return runs.run(program, *arguments, ranks=ranks, mpiexec=launcher, timeout=300, fault=fault)


def checkpoints(name):
    return [f"{name}.ckpt-{c}.h5" for c in "ab" if os.path.exists(f"{name}.ckpt-{c}.h5")]


def deck(dice, *cards):
    """Each as often as the others, in any order."""
    while True:
        yield from dice.sample(cards, len(cards))


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_OF[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def crc_of(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


CRC_OF = [crc_of(byte) for byte in range(256)]


def seal(path):
    """As docs/FILES.md describes it; a file below 1 MiB is one block; the mark is the number of a checkpoint."""
    sound = open(path, "rb").read()
    footer = struct.pack("<I8sQIII", crc32c(sound), b"MFSEAL01", len(sound), 1, 1 << 20, 9)
    with open(path, "ab") as file:
        file.write(footer + struct.pack("<I", crc32c(footer)))


check(run("synth --kind gaussian --size 32 32 --volume-fraction 0.4 --correlation-length 2 --output t.npy".split())[0] == 0,
      "synth")
run("synth --kind gaussian --size 32 32 --seed 1 --volume-fraction 0.4 --correlation-length 2 --output other.npy".split())
save(".", "solid.npy", blobs((16, 14, 15), [0.78, 0.22], 3, 2))
save(".", "three.npy", blobs((20, 24), [0.5, 0.3, 0.2], 3, 2))
base = [*"match --microstructure_filename t.npy --limit_to 6 --deterministic --max_iter 60 --polish-rounds 12".split(), *S2]
cases = {
    "volume": base + "--add_dimension 20".split(),
    "phases": ["three.npy" if w == "t.npy" else "4" if w == "6" else w for w in base] + "--add_dimension 14".split(),
    "image": base[:-len(S2)],  # what the program chooses
    "adam": base + "--add_dimension 12 --optimizer_type Adam".split(),
    "spg": base + "--optimizer_type SPG --no-polish".split(),
    "space": "match --microstructure_filename solid.npy --limit_to 4 --deterministic --max_iter 60 --polish-rounds 8 --descriptor_types S2_3D S2 Variation".split(),
    "coarse": [w if w != "6" else "4" for w in base] + "--size 24 24 24 --use_multigrid_reconstruction".split(),
}
for name, options in cases.items():
    if name == "image" and not runs.LONG:
        continue  # see patches.py and candidates.py
    code, _, text = run(options + ["--output", f"{name}-whole.npy"])
    check(code == 0, f"{name}: {text}")
    check(name != "space" or ("clusters:" in text and "0 joined, 0 parted" not in text), f"no cluster is joined or parted: {text}")
    want = digest(f"{name}-whole.npy")
    # Stopped again and again, at steps of the descents and rounds of the polish, on changing numbers of ranks.
    legs, code, out, dice = 0, 75, "", random.Random(name + SEED)
    go, ranks = [], deck(dice, 1, 2, 3, 4)
    often, seldom = (2, (4, 7)) if name == "image" else (3, (9, 17))  # it has fewer steps at which it may leave
    visits = deck(dice, *[often] * runs.LONG, *seldom)
    while code == 75 and legs < 40:
        code, out, text = run(options + go + ["--output", f"{name}.npy", "--json"], next(ranks),
                              f"run.leave:visit={next(visits)}")
        go = ["--restart", "auto"]
        legs += 1
        check(code in (0, 75), f"{name}: leg {legs} ended with {code}: {text}")
    check(code == 0 and legs > (3 if runs.LONG else 2), f"{name}: {legs} legs, the last ended with {code}")
    check(digest(f"{name}.npy") == want, f"{name}: other bits after {legs} legs")
    check(not checkpoints(name), f"{name}: checkpoints are left behind")
    said = json.loads(out)
    check(said["evaluations"] >= 30 and len(said["s2_rms_error"]) > 0, f"{name}: {out}")

# Killed without warning, somewhere.
options = cases["volume"] + ["--checkpoint-every", "3ev", "--output", "killed.npy", "--restart", "auto"]
started = time.time()
run(cases["volume"] + ["--output", "timed.npy"])
length = time.time() - started
for trial in runs.some(range(3), 3):
    for file in checkpoints("killed") + (["killed.npy"] if os.path.exists("killed.npy") else []):
        os.remove(file)
    line = runs.line(program, *options, ranks=2, mpiexec=launcher)
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as job:
        time.sleep(dice.uniform(0.3, 1.2) * length)
        kill(job.pid)
    code, _, text = run(options, (1, 3, 4)[trial])
    check(code == 0 and digest("killed.npy") == digest("volume-whole.npy"), f"kill {trial}: {code} {text}")
    for file in os.listdir("."):
        if file.endswith(".tmp"):
            os.remove(file)

# A signal, and a file, ask a run to leave; it says so and exits with 75.
slow = "match --microstructure_filename t.npy --limit_to 6 --size 48 48 48 --max_iter 100000 --tolerance 0".split()
os.mkdir("bin")  # with a squeue that knows one job of an array, and is asked once
with open("bin/squeue", "w") as file:
    file.write('#!/bin/sh\n[ "$*$SQUEUE_STATES" = "-h -j 4_2 -o %L" ] && mkdir asked || { mkdir again; exit 1; }\necho 0:12\necho 0:00\n')
os.chmod("bin/squeue", 0o755)
ASKED = {"SLURM_JOB_ID": 6, "SLURM_ARRAY_JOB_ID": 4, "SLURM_ARRAY_TASK_ID": 2, "SQUEUE_STATES": "PD", "PATH": os.path.abspath("bin") + ":" + os.environ["PATH"]}
for how in ("signal", "file", "hours", "auto", "asked"):
    line = [program] + slow + ["--output", f"{how}.npy"] + {"hours": ["--max-hours", "0.0003"], "auto": ["--max-hours", "auto"], "asked": ["--max-hours", "auto"]}.get(how, [])
    env = runs.around("SLURM_", **{"auto": {"SLURM_JOB_END_TIME": int(time.time()) + 12}, "asked": ASKED}.get(how, {}))  # it keeps 10 s
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=env) as job:
        runs.until(lambda: os.path.exists(f".{how}.lock"), "a run")
        if how == "signal":
            job.send_signal(signal.SIGUSR1)
        if how == "file":
            open("STOP", "w").close()
        text = runs.words_of(job)
    check(job.returncode == 75 and "--restart auto" in text, f"{how}: {job.returncode} {text}")
    check(len(checkpoints(how)) == 1, f"{how}: {os.listdir('.')}")
    if how in ("hours", "auto", "asked"):
        check("--max-hours is over" in text, f"{how}: {text}")
    if os.path.exists("STOP"):
        os.remove("STOP")
check(os.path.exists("asked") and not os.path.exists("again"), f"squeue is asked once, of this job: {os.listdir('.')}")


# The same signal twice in a moment is one wish (what it does after a second: unit test base_stop).
# SIGUSR2 and the file CHECKPOINT ask for a checkpoint, and the run goes on.
line = [program] + slow + ["--output", "twice.npy"]
with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as job:
    time.sleep(1)
    job.send_signal(signal.SIGUSR2)
    runs.until(lambda: len(checkpoints("twice")) == 1, "a checkpoint after SIGUSR2")
    open("CHECKPOINT", "w").close()
    runs.until(lambda: len(checkpoints("twice")) == 2, "a checkpoint after CHECKPOINT")
    check(job.poll() is None, "the run goes on after its checkpoints")
    job.send_signal(signal.SIGINT)
    time.sleep(0.05)
    job.send_signal(signal.SIGINT)
    text = runs.words_of(job)
check(job.returncode == 75 and "--restart auto" in text, f"one wish, said twice: {job.returncode} {text}")

# What a scheduler says while a run waits for its other ranks is heeded when it is there.
def hears(process, number):
    """Whether a process notes a signal; 0 of one that is gone."""
    try:
        lines = open(f"/proc/{process}/status").readlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    masks = [line.split()[1] for line in lines if line.startswith("SigCgt")]
    return int(masks[0], 16) >> number - 1 & 1


begin = [program] + slow + ["--output", "early.npy"]
wait = ["sh", "-c", 'until [ -e go ]; do sleep 0.05; done; exec "$@"', "sh"]
for number in runs.some((signal.SIGUSR1, signal.SIGTERM, signal.SIGUSR2)):
    for left in checkpoints("early"):
        os.remove(left)
    line = launcher + ["-n", "1", *begin, ":", "-n", "1", *wait, *begin]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, start_new_session=True) as job:
        runs.until(lambda: 0 in runs.ranks_of(program, job.pid), "rank 0")
        first = runs.ranks_of(program, job.pid)[0]
        runs.until(lambda: hears(first, number), f"rank 0 notes {number}")
        os.kill(first, number)
        open("go", "w").close()
        if number == signal.SIGUSR2:
            runs.until(lambda: job.poll() is not None or checkpoints("early"), "a checkpoint after an early SIGUSR2")
            check(job.poll() is None, "an early SIGUSR2 ends a run")
            kill(job.pid)
        text = job.communicate(timeout=60)[1]
    os.remove("go")
    check(number == signal.SIGUSR2 or (job.returncode == 75 and "--restart auto" in text and len(checkpoints("early")) == 1), f"early {number}: {job.returncode} {text}")

# What a scheduler says to all processes of a run while another decodes the image is the run's to heed, and no damage.
side = 2048
rows = np.zeros((side, side + 1), np.uint8)  # each begins with its filter
rows[:, 1:] = np.random.default_rng(1).integers(0, 2, (side, side)) * 255
parts = {b"IHDR": struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0), b"IDAT": zlib.compress(rows.tobytes(), 1), b"IEND": b""}
with open("big.png", "wb") as file:
    file.write(b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts.items()))


def decodes(job):
    """Whether a child is at its work: its processor time is limited."""
    try:
        return any("unlimited" not in line for child in runs.below(job) for line in open(f"/proc/{child}/limits") if line.startswith("Max cpu time"))
    except (FileNotFoundError, ProcessLookupError):
        return False


line = [program] + [w if w != "t.npy" else "big.png" for w in slow] + ["--labels", "0,255", "--output", "decoded.npy"]


def told_while_it_decodes(number):
    """Last words and exit status; None where the child was gone before it was seen: the run has begun, and is ended."""
    begun = "decoded.metrics.jsonl"
    for left in checkpoints("decoded") + [begun] * os.path.exists(begun):
        os.remove(left)
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, start_new_session=True) as job:
        while not decodes(job.pid) and job.poll() is None and not os.path.exists(begun):
            time.sleep(0.001)  # it is there for a fraction of a second
        missed = os.path.exists(begun)
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL if missed else number)
        return None if missed else (runs.words_of(job), job.wait())


for number in runs.some((signal.SIGUSR1, signal.SIGTERM, signal.SIGXCPU), 3):
    said = next(filter(None, (told_while_it_decodes(number) for _ in range(20))), ("the decoder was never seen", None))
    check(said[1] == 75 and "--restart auto" in said[0] and len(checkpoints("decoded")) == 1, f"decoding, {number}: {said}")

# The plan has the history of the newest of two, which the run goes on from, not that of one that an earlier run left.
options = cases["volume"] + ["--output", "history.npy", "--json"]
for history in (5, 2, 3):
    run(options + ["--history", str(history), "--restart", "no"], 1, "run.leave:visit=3")
    if history == 2:
        shutil.copy("history.ckpt-a.h5", "earlier.h5")
check(checkpoints("history") == ["history.ckpt-b.h5"], f"replaced: {checkpoints('history')}")
os.rename("earlier.h5", "history.ckpt-a.h5")
code, out, text = run(options + ["--restart", "auto"], 2)
check(code == 0 and json.loads(out)["plan"]["settings"]["history"] == 3 and "it is kept" not in text, f"history of the newest: {code} {text}")

# The newest of two is damaged: named, and the one before is taken. Both: refused.
options = cases["volume"] + ["--output", "hurt.npy"]
run(options + ["--checkpoint-every", "5ev"], 1, "run.leave:visit=25")
check(len(checkpoints("hurt")) == 2, "two checkpoints")
newest = max(checkpoints("hurt"), key=os.path.getmtime)
other = min(checkpoints("hurt"), key=os.path.getmtime)
sound = open(newest, "rb").read()
with open(newest, "r+b") as file:
    file.seek(len(sound) // 2)
    file.write(bytes([sound[len(sound) // 2] ^ 16]))
kept = open(other, "rb").read()
code, _, text = run(options + ["--restart", "auto"], 2)
check(code == 0 and newest in text and "damaged" in text, f"one damaged: {code} {text}")
check(digest("hurt.npy") == digest("volume-whole.npy"), "one damaged: other bits")
for name in (newest, other):
    with open(name, "wb") as file:
        file.write(kept[: len(kept) * 2 // 3])
code, _, text = run(options + ["--restart", "auto"], 2)
check(code == 3 and "hurt.ckpt" in text, f"both damaged: {code} {text}")
code, _, text = run(options, 2)
check(code == 2 and "is of a run that has not ended, and it is damaged" in text, f"both damaged, and nobody says what is to become of them: {code} {text}")
with open("strange.ckpt-a.h5", "w") as file:
    file.write("mine")
code, _, text = run(cases["volume"] + ["--output", "strange.npy", "--restart", "no"], 2)
check(code == 7 and "'strange.ckpt-a.h5' is no checkpoint, and this run would replace it" in text, f"a file of others: {code} {text}")
os.remove("strange.ckpt-a.h5")

# A checkpoint of another problem is refused, and says in what they differ.
with open(newest, "wb") as file:
    file.write(sound)
os.remove(other)
code, _, text = run([o if o != "60" else "70" for o in options] + ["--restart", "auto"], 2)
check(code == 3 and "max_iter: 60" in text and "cannot be prolonged" in text, f"other problem: {code} {text}")

for change, word in ((["--polish-rounds", "13"], "rounds of polish: 12"),
                     (["--descriptor_types", "FFTCorrelations"], "it says 'descriptor Variation: 5', this run nothing of it"),
                     (["--descriptor_types", "S2", "Variation", "VolumeFractions"], "it says nothing of it, this run 'descriptor VolumeFractions"),
                     (["--limit_to", "5"], "--limit_to: 6"), (["--non_periodic"], "phases: 1"),
                     (["--microstructure_filename", "other.npy"], "another target: the micrograph")):
    spare, at = options[:], options.index(change[0]) if change[0] in options else len(options)
    while at < len(spare) and (spare[at] == change[0] or not spare[at].startswith("--")):
        del spare[at]
    code, _, text = run(spare + change + ["--restart", "auto"])
    check(code == 3 and word in text, f"another problem, {change}: {code} {text}")

# One that another version of the program wrote goes on; one of another schema is refused, whatever its seal says.
for attribute, value, word in (("creator", "mesoforge 9.9.9", None), ("checkpoint_schema", np.int64(4), "schema 4"),
                               ("checkpoint_schema", np.int64(99), "schema 99")):
    with open(newest, "wb") as file:
        file.write(sound)
    with h5py.File(newest, "r+") as file:
        file.attrs[attribute] = value
    seal(newest)
    code, out, text = run(["verify", newest])
    check(code == (3 if word else 0) and (not word or word in out + text), f"verify, {attribute} {value}: {code} {out} {text}")
    code, _, text = run(options + ["--restart", "auto"], 2)
    if word:
        check(code == 3 and word in text and "remove the run's checkpoints" in text, f"{attribute} {value}: {code} {text}")
    else:
        check(code == 0 and digest("hurt.npy") == digest("volume-whole.npy"), f"another version: {code} {text}")
check(run(options + ["--checkpoint-every", "often"])[0] == 2, "nonsense interval")
check(run(options + ["--max-hours", "-1"])[0] == 2, "negative hours")
check(run(options + ["--max-hours", "2h"])[0] == 2, "hours with a unit")
for empty in (["--max-hours", ""], ["--max-hours="], ["--max-hours", " "]):
    code, _, text = run(options + empty)
    check(code == 2 and "--max-hours '" in text, f"{empty}, of a variable that is not set: {code} {text}")
code, _, text = run(options + ["--max-hours", "auto"], 2)
check(code == 2 and "the end of the job is unknown" in text and "squeue needs a job" in text, f"auto without a job: {code} {text}")
for says, part in (("exit 1", "squeue does not answer"), ("echo INVALID", "squeue says INVALID"), ("echo 0:00", "was over")):
    with open("bin/squeue", "w") as file:
        file.write(f"#!/bin/sh\n{says}\n")
    done = runs.run(program, *options, "--max-hours", "auto", env=runs.around("SLURM_", SLURM_JOB_ID=6, PATH=ASKED["PATH"]))
    check(done.status == 2 and part in done.err and "-0" not in done.err, f"auto, {says}: {done}")
with open("bin/squeue", "w") as file:
    file.write("#!/bin/sh\necho UNLIMITED\n")
done = runs.run(program, *cases["volume"], "--output", "endless.npy", "--max-hours", "auto", env=runs.around("SLURM_", SLURM_JOB_ID=6, PATH=ASKED["PATH"]))
check(done.status == 0 and done.err.count("no time limit") == 1, f"auto in a job without a limit: {done}")
check(digest("endless.npy") == digest("volume-whole.npy"), "auto in a job without a limit: other bits")

# A checkpoint that is due and cannot be written is a warning; one on leaving a refusal. Nothing else is lost.
code, _, text = run(cases["volume"] + ["--output", "full.npy", "--checkpoint-every", "5ev"], 2, "io.create:visit=2")
check(code == 0 and "continues without" in text, f"due and not written: {code} {text}")
check(digest("full.npy") == digest("volume-whole.npy"), "due and not written: other bits")

# A disk that is full when the time is over: what ended the run, and that it is not saved.
code, _, text = run(cases["volume"] + ["--output", "over.npy", "--max-hours", "0.00001"], 2, "io.create:visit=1")
check(code == 7 and "--max-hours is over" in text and "not saved" in text, f"time over on a full disk: {code} {text}")

# The target of a volume is the same on any number of ranks, also where nothing else promises bits.
run("synth --kind gaussian --size 48 48 48 --volume-fraction 0.4 --correlation-length 3 --output v48.npy".split())
options = "match --microstructure_filename v48.npy --limit_to 6 --max_iter 40 --no-polish --output dealt.npy".split() + [*S2]
for count in (1, 2, 3):
    code, _, text = run(options + ["--restart", "auto"], count, "run.leave:visit=2" if count < 3 else None)
    check(code == (75 if count < 3 else 0), f"target of a volume on {count} ranks: {code} {text}")

# A run from its begin replaces the checkpoints of an earlier one, and nothing goes on from those any more.
options = cases["volume"] + ["--output", "anew.npy"]
run(options + ["--checkpoint-every", "5ev"], 1, "run.leave:visit=25")
kept = [open(name, "rb").read() for name in checkpoints("anew")]
for ranks in (1, 2):
    code, _, text = run(options + ["--seed", "9"], ranks)
    check(code == 2 and "is of a run that has not ended; try: --restart auto" in text, f"a stopped run is replaced: {code} {text}")
check([open(name, "rb").read() for name in checkpoints("anew")] == kept, "other checkpoints")
code, _, text = run(options + ["--seed", "9", "--restart", "no"], 1, "run.leave:visit=3")
check(code == 75 and "earlier run" in text and len(checkpoints("anew")) == 1, f"anew: {code} {checkpoints('anew')} {text}")
code, _, text = run(options + ["--seed", "9", "--restart", "auto"], 2)
check(code == 0, f"going on after anew: {code} {text}")

# Rank 0 cannot write what it alone writes: all ranks leave. (On a slow machine a checkpoint would come first.)
for site in ("io.write:rank=0", "io.write.text:rank=0"):
    code, _, text = run(base + ["--add_dimension", "12", "--checkpoint-every", "off", "--output", "late.h5"], 3, site)
    check(code == 7 and "late.h5" in text and not os.path.exists("late.h5"), f"{site}: {code} {text}")

# Realisations that are done are left alone.
many = base + ["--realisations", "3", "--output", "many.h5"]
code, _, text = run(many + ["--restart", "auto"], 1, "run.leave:visit=60")
first = sorted(f for f in os.listdir(".") if f.startswith("many") and f.endswith(".h5"))
check(code == 75 and "many_seed0.h5" in first and "many_seed2.h5" not in first, f"realisations: {code} {first} {text}")
code, _, text = run(many)
check(code == 2 and "'many_seed1.ckpt-" in text and "seed 0" not in text, f"a realisation that was stopped refuses all: {code} {text}")
code, out, text = run(many + ["--restart", "auto", "--json"])
said = json.loads(out) if code == 0 else []
check(len(said) == 3 and said[0].get("done_before") and not said[2].get("done_before"), f"realisations: {code} {out} {text}")
check(all("s2_rms_error" in one for one in said), f"realisations: {out}")

# What was stopped in its second realisation has the bits and the metrics of one that was not.
run(base + ["--realisations", "3", "--output", "straight.h5"])
for seed in range(3):
    with h5py.File(f"many_seed{seed}.h5") as got, h5py.File(f"straight_seed{seed}.h5") as want:
        check((got["microstructure/phase"][:] == want["microstructure/phase"][:]).all(), f"realisation {seed}: other bits")
rows = {}
for name in ("many", "straight"):
    with open(f"{name}.metrics.jsonl") as file:
        rows[name] = [(row["seed"], row["step"], row["loss"], row["stage"]) for row in map(json.loads, file)]
check(rows["many"] == rows["straight"] and {row[0] for row in rows["many"]} == {0, 1, 2}, f"metrics of realisations: {rows}")

code, out, text = run([w if w != "60" else "50" for w in many] + ["--restart", "auto", "--json"])
check(code == 0 and not any(one.get("done_before") for one in json.loads(out)), f"another problem: {code} {out} {text}")

code, out, text = run([w if w != "many.h5" else "many.npy" for w in many] + ["--restart", "auto"])
check(code == 2 and ".h5" in text, f"realisations that do not say whether they are finished: {code} {text}")

# Stopped all the same, it says how that one goes on.
several = [w if w != "many.h5" else "many.npy" for w in many]
code, _, text = run(several, 1, "run.leave:visit=5")
check(code == 75 and "--output 'many_seed0.npy' --seed 0 --restart auto" in text and "--seed 1 --realisations 2" in text,
      f"realisations without results: {code} {text}")
code, _, text = run(base + "--output many_seed0.npy --seed 0 --restart auto".split())
check(code == 0 and "continuing" in text, f"the one that was stopped: {code} {text}")

# One volume that is done, asked for again on two ranks; with another spacing it is another.
one = base + ["--add_dimension", "12", "--output", "one.h5", "--restart", "auto", "--json"]
check(run(one)[0] == 0, "one volume")
code, out, text = run(one, 2)
check(code == 0 and json.loads(out).get("done_before"), f"done before, on two ranks: {code} {out} {text}")
check("plan:" not in text, f"a run that is done was planned again: {text}")
code, out, text = run(one + ["--spacing", "0.5", "--unit", "um"])
check(code == 0 and not json.loads(out).get("done_before") and "is the result of another problem" in text, f"another spacing: {code} {out} {text}")

# What a run leaves that is killed while it writes, the next one uses.
options = cases["volume"] + ["--output", "torn.npy", "--checkpoint-every", "5ev"]
for name in (".torn.ckpt-a.h5.tmp", ".torn.ckpt-b.h5.tmp"):
    with open(name, "wb") as file:
        file.write(b"half a checkpoint")
code, _, text = run(options, 2)
left = [n for n in os.listdir(".") if n.startswith(".torn")]
check(code == 0 and not left, f"torn: {code} {left} {text}")

# A loss that is no number ends the run before it is written anywhere.
code, _, text = run(base + "--add_dimension 12 --level_weights 1e200 1e200 --output nan/v.h5".split() +
                    (os.makedirs("nan") or []))
check(code == 6 and "--level-weights" in text and not any("nan" in open("nan/" + n).read() for n in os.listdir("nan")),
      f"not finite: {code} {text}")
for nonsense in ("--batch_size 1e300", "--max_iter 9223372036854775807"):
    code, _, text = run([w for w in base if w not in ("--max_iter", "60")] + nonsense.split())
    check(code == 2 and "1e9" in text, f"{nonsense}: {code} {text}")

shutil.rmtree(folder)
finish("restart")
