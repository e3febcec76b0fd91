"""The whole matrix of `bench` as slurm/bench.sbatch has it, one array of jobs under a real Slurm of two virtual nodes (tests/cli/slurm_bed.py) that
share this machine's cores, and the page that `report` makes of it. Needs root and Slurm. Prints each table as the command itself shows it;
FOLDER gets bench-*.json and matrix.html.

    benchmarks/matrix.py [--mesoforge PROGRAM] [--ranks 2] [--scaling 1,2,4] [--extent 128] [--max_bytes 16M] FOLDER
"""
import argparse
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))

import slurm_bed
from slurm_bed import do


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mesoforge", default=os.path.join(ROOT, "build", "release", "mesoforge"), help="program")
    p.add_argument("--ranks", type=int, default=2, help="on each node")
    p.add_argument("--scaling", default="1,2,4")
    p.add_argument("--extent", type=int, default=128)
    p.add_argument("--max_bytes", default="16M")
    p.add_argument("folder")
    return p.parse_args()


def script(o):
    """The example, for these nodes: every change must find its place."""
    text = open(os.path.join(ROOT, "slurm", "bench.sbatch")).read()
    for old, new in ((r"--ntasks-per-node=16", f"--ntasks-per-node={o.ranks}"), (r"--array=0-10", "--array=0-10%1"), (r"#SBATCH --exclusive\n", ""),
                     (r"scaling=\S+", f"scaling={o.scaling}"), (r'"\$\{ranks\[SLURM_ARRAY_TASK_ID\]\}"', rf"\g<0> --max_bytes {o.max_bytes} --extent {o.extent}"),
                     (r'"\$\{runs\[own\]\}"', rf"\g<0> --weak --extent {o.extent}"), (r"mesoforge bench", f"{o.mesoforge} bench")):
        text, found = re.subn(old, new, text)
        if not found:
            sys.exit(f"slurm/bench.sbatch has no {old}")
    return text


def main():
    o = options()
    o.mesoforge, o.folder = os.path.abspath(o.mesoforge), os.path.abspath(o.folder)
    slurm_bed.enter()
    os.makedirs(o.folder, exist_ok=True)
    os.chdir(o.folder)
    os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")  # nodes share these cores: who polls lets the others work
    bed = slurm_bed.Bed()
    try:
        job = subprocess.run(["sbatch", "--parsable"], input=script(o), capture_output=True, text=True, check=True).stdout.strip()
        while do("squeue", "-h", "-j", job):
            time.sleep(0.5)
        for name in sorted((n for n in os.listdir(".") if n.endswith(".out")), key=lambda n: int(re.search(r"_(\d+)\.out", n)[1])):
            print(open(name).read(), flush=True)
        print(do(o.mesoforge, "report", *sorted(n for n in os.listdir(".") if re.fullmatch(r"bench-\d+\.json", n)), "--output", "matrix.html"), end="")
    finally:
        os.chdir("/")
        bed.close()


main()
