"""What an evaluation costs on two virtual hosts (tests/cli/virtual_hosts.py) that share this machine's cores: `match` on some ranks of each, and
how much of its time, and of the cores', went to other ranks, as --log-view says. Needs root. Prints a tab-separated table; see README.md.
Further options are match's (or, with --bench, what `bench` is to run: its table is printed instead). --train: a step of `train classify` instead.
--generate: a set of `generate` with activations, which all ranks write into one file.

    benchmarks/hosts.py [--ranks 1 2] [--extent 256] [--image FILE] [--evaluations 20] [--turns 3] [--alone] [--rate 8gbit] [OPTION ...]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))

import virtual_hosts

WITH_OTHERS = ("exchange", "waiting", "reduction")
TRAIN = ("start of an exchange", "end of an exchange", "reduction")
TRAIN_COLUMNS = ("hosts", "ranks", "batch", "steps", "s", "samples_per_s", *(f"{name}_%".replace(" ", "_") for name in TRAIN), "with_others_%")
GENERATE_COLUMNS = ("hosts", "ranks", "samples", "s", "samples_per_s", "network_alone_per_s", "network_%", "measures_%", "writing_%")
COLUMNS = ("hosts", "ranks", "extent", "evaluations", "s", "MB_sent", *(f"{name}_%" for name in WITH_OTHERS), "with_others_%", "of_cores_%")


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mesoforge", default=os.path.join(ROOT, "build", "release", "mesoforge"), help="program")
    p.add_argument("--mpiexec", default="mpirun")
    p.add_argument("--ranks", type=int, nargs="+", default=[1, 2], help="on each host")
    p.add_argument("--extent", type=int, default=256)
    p.add_argument("--evaluations", type=int, default=20)
    p.add_argument("--image", help="target, with as many pixels each way as --extent; without it a Gaussian field, for which auto takes S2 and Variation alone")
    p.add_argument("--turns", type=int, default=3, help="the table has the turn of the median time")
    p.add_argument("--alone", action="store_true", help="all ranks on one of the hosts, for comparison")
    p.add_argument("--rate", help="of the link, each way, as tc says it (8gbit); without it as fast as the cores make it")
    p.add_argument("--train", action="store_true", help="the cnn on 64 samples of 64 x 64 for each rank, in --evaluations steps")
    p.add_argument("--generate", action="store_true", help="samples of 32 x 32 by a small U-Net, 8 passes for each rank")
    p.add_argument("--bench", action="store_true", help="mesoforge bench instead")
    return p.parse_known_args()


def start(hosts, o, ranks, words):
    """The program's standard output, started by mpirun on the first host."""
    agent = hosts.write("agent", f'#!/bin/sh\nread -r holder <"{hosts.folder}/$1.up"\nshift\n'  # as ssh: HOST COMMAND ...
                        f'exec nsenter -t "$holder" --net --uts --mount --wd="{os.getcwd()}" -- sh -c "$*"\n')
    os.chmod(agent, 0o755)
    names = virtual_hosts.NAMES[:1] if o.alone else virtual_hosts.NAMES
    line = [*hosts.inside(names[0]), o.mpiexec, "-q", "--mca", "plm_rsh_agent", agent, "--mca", "btl", "self,vader,tcp",
            "--host", ",".join(f"{n}:{2 * ranks // len(names)}" for n in names), "-n", 2 * ranks, o.mesoforge, *words]
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True, timeout=540)
    if done.returncode != 0:
        sys.exit(f"exit {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def measured(o, ranks, said):
    """A row: parts of the stages that evaluate, over all ranks; last of the seconds that cores worked in them."""
    rows = {row["name"]: row for row in said["log_view"]["rows"]}
    stages = [rows[name] for name in ("descent", "continuation") if name in rows]
    parts = [rows.get(name, {"seconds": {"avg": 0}, "seconds_of_cores": 0}) for name in WITH_OTHERS]
    seconds = sum(s["seconds"]["avg"] for s in stages)
    shares = [100 * part["seconds"]["avg"] / seconds for part in parts]
    cores = 100 * sum(part["seconds_of_cores"] for part in parts) / sum(s["seconds_of_cores"] for s in stages)
    n = said["evaluations"]
    return (1 if o.alone else 2, 2 * ranks, o.extent, n, f"{seconds / n:.4f}", f"{sum(s['bytes_sent'] for s in stages) / n / 1e6:.1f}",
            *(f"{share:.1f}" for share in (*shares, sum(shares), cores)))


def evaluate(hosts, o, ranks, more):
    words = (f"match --microstructure_filename {o.image or 't.npy'} --add_dimension {o.extent} --max_iter {o.evaluations} --no-polish --log-view --json "
             "--output v.npy").split()
    turns = [measured(o, ranks, json.loads(start(hosts, o, ranks, (*words, *more)))) for _ in range(o.turns)]
    middle = statistics.median_low(float(turn[4]) for turn in turns)
    print(*next(turn for turn in turns if float(turn[4]) == middle), sep="\t", flush=True)


def train(hosts, o, ranks, more):
    words = (f"train classify --data s.h5 --arch cnn --effective-batch {128 * ranks} --epochs 1000 --max-steps {o.evaluations} --no-plots --no-csv --no-events "
             "--results-dir r --restart no --log-view --json").split()
    turns = []
    for _ in range(o.turns):
        said = json.loads(start(hosts, o, ranks, (*words, *more)))
        rows = {row["name"]: row["seconds"]["avg"] for row in said["log_view"]["rows"]}
        shares = [100 * rows.get(name, 0) / rows["steps"] for name in TRAIN]
        seconds = rows["steps"] / o.evaluations
        turns.append((1 if o.alone else 2, 2 * ranks, 128 * ranks, o.evaluations, f"{seconds:.4f}", f"{128 * ranks / seconds:.0f}",
                      *(f"{share:.1f}" for share in (*shares, sum(shares)))))
    middle = statistics.median_low(float(turn[4]) for turn in turns)
    print(*next(turn for turn in turns if float(turn[4]) == middle), sep="\t", flush=True)


def generate(hosts, o, ranks, more):
    turns = []
    for turn in range(o.turns):
        words = f"generate --model u --steps 4 --num-samples {128 * ranks} --layers midblock --output made{ranks}-{turn}.h5 --json".split()
        speed = json.loads(start(hosts, o, ranks, (*words, *more)))["speed"]
        shares = [100 * speed[f"{part}_seconds"] / speed["seconds"] for part in ("network", "measuring", "writing")]
        turns.append((1 if o.alone else 2, 2 * ranks, speed["samples"], f"{speed['seconds']:.3f}", f"{speed['samples_per_second']:.1f}",
                      f"{speed['network_alone']:.1f}", *(f"{share:.1f}" for share in shares)))
    middle = statistics.median_low(float(turn[3]) for turn in turns)
    print(*next(turn for turn in turns if float(turn[3]) == middle), sep="\t", flush=True)


def prepare(o):
    """What the runs read."""
    if o.train:
        virtual_hosts.do(o.mesoforge, *"synth --num-samples 1280 --size 64 64 --output s.h5".split())
    elif o.generate:
        virtual_hosts.do(o.mesoforge, *"synth --num-samples 64 --size 32 32 --output s.h5".split())
        virtual_hosts.do(o.mesoforge, *"train unet --data s.h5 --max-steps 1 --made-samples 0 --no-plots --results-dir u".split())
    else:
        virtual_hosts.do(o.mesoforge, *f"synth --kind gaussian --size {o.extent} {o.extent} --volume-fraction 0.4 --output t.npy".split())


def main():
    o, more = options()
    o.mesoforge = os.path.abspath(o.mesoforge)
    o.image = o.image and os.path.abspath(o.image)
    virtual_hosts.enter(("tc",) if o.rate else ())
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")  # hosts share these cores: who polls lets the others work
    hosts = virtual_hosts.Hosts()
    try:
        os.chdir(tempfile.mkdtemp(dir=hosts.folder))
        for name in virtual_hosts.NAMES if o.rate else ():
            virtual_hosts.do(*hosts.inside(name), *f"tc qdisc replace dev eth0 root tbf rate {o.rate} burst 1mb latency 20ms".split())
        if o.bench:
            print(start(hosts, o, o.ranks[-1], ("bench", *more)), end="")
            return
        prepare(o)
        print(*(TRAIN_COLUMNS if o.train else GENERATE_COLUMNS if o.generate else COLUMNS), sep="\t")
        for ranks in o.ranks:
            (train if o.train else generate if o.generate else evaluate)(hosts, o, ranks, more)
    finally:
        os.chdir("/")
        hosts.close()


main()
