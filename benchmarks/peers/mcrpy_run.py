"""Runs `python -m mcrpy.match` and `mesoforge match` in turn and judges both by measures.py. See README.md."""
import argparse
import importlib.metadata
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import measures

ROOT = os.path.dirname(measures.HERE)
COLUMNS = ("program case n pair iterations evaluations s s_per_evaluation rss_MiB s2_rms_z s2_rms_y s2_rms_x "
           "volume_fraction_error interface_error grey").split()
DESCRIPTORS = ["--descriptor_types", "FFTCorrelations", "Variation", "--limit_to"]


def options():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--iterations", type=int, default=20, help="of MCRpy: 20 for its speed, 500 (its default) in full")
    p.add_argument("--sizes", type=int, nargs="+", default=[64], help="extents of the volumes: 64, 128, 256")
    p.add_argument("--pairs", type=int, default=1, help="turns of both programs")
    p.add_argument("--repeats", type=int, default=3, help="runs of mesoforge in each turn; their median counts")
    p.add_argument("--cores", default=",".join(map(str, sorted(os.sched_getaffinity(0)))), help="cores both may use")
    p.add_argument("--limit-to", type=int, default=16, help="lag")
    p.add_argument("--options", default="", help="more options of mesoforge; none: all defaults, which is what counts")
    p.add_argument("--mesoforge", default=os.path.join(ROOT, "build", "mesoforge"), help="program")
    p.add_argument("--data", default=os.path.join(ROOT, "..", "shared", "data", "mcrpy"), help="MCRpy's micrographs")
    p.add_argument("--out", help="table; standard output without it")
    return p.parse_args()


def child(command, cores, folder, watch=None, **env):
    """Runs a program on these cores. Returns its output, seconds from start to end, and most memory in MiB."""
    start = time.perf_counter()
    # a file and not a pipe keeps what mesoforge says apart from its JSON
    with open(os.path.join(folder, "stderr"), "w+") as said:
        p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True, cwd=folder,
                             env={**os.environ, "PYTHONUNBUFFERED": "1", "TF_CPP_MIN_LOG_LEVEL": "3", **env},
                             preexec_fn=lambda: os.sched_setaffinity(0, cores))
        lines = []
        try:
            for line in p.stdout:
                lines.append(line)
                if watch:
                    watch(line, time.perf_counter(), p.pid)
        except SystemExit:
            p.kill()
            raise
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        if p.returncode:
            said.seek(0)
            sys.exit(f"{' '.join(command)}: status {p.returncode}\n{''.join(lines)[-2000:]}{said.read()[-2000:]}")
    return "".join(lines), time.perf_counter() - start, usage.ru_maxrss / 1024


def mcrpy_match(python, target, words, iterations, cores, folder, priority=0, **env):
    """MCRpy as it is. Returns seconds and memory of the whole, seconds of an evaluation, and how many there were. Its own
    lines 'Iteration 10 of ..' tell the time of an evaluation, start and tracing left out; with a priority they count
    from the 20th on, before which it is given to MCRpy."""
    seen = []

    def watch(line, now, pid):
        at = re.match(r"Iteration (\d+) of", line)
        if at and priority and int(at[1]) == 10:
            subprocess.run(["chrt", "-a", "-f", "-p", str(priority), str(pid)], check=True)
        if at and (not priority or int(at[1]) >= 20):
            seen.append((int(at[1]), now))

    command = [python, "-m", "mcrpy.match", "--microstructure_filenames", target, *words, "--max_iter", str(iterations),
               "--data_folder", folder]
    _, seconds, rss = child(command, cores, folder, watch, **env)
    if len(seen) < 3:
        sys.exit("MCRpy printed fewer than three iterations: let it do 20 or more, with a priority 40")
    (first, start), (last, end) = seen[0], seen[-2]
    evaluations = seen[-1][0]  # the last line comes after the loop and tells how many there were
    return dict(seconds=seconds, rss=rss, each=(end - start) / (last - first), evaluations=evaluations)


def run_mcrpy(o, target, n, cores, folder):
    words = ["--add_dimension", str(n), *DESCRIPTORS, str(o.limit_to)]
    run = mcrpy_match(sys.executable, target, words, o.iterations, cores, folder)
    return dict(run, field=np.load(os.path.join(folder, "last_frame.npy")))


def run_mesoforge(o, target, n, cores, folder):
    """mesoforge with all its defaults, repeated; the median of the times."""
    output = os.path.join(folder, "ours.npy")
    command = [os.path.abspath(o.mesoforge), "match", "--microstructure_filename", target, "--add_dimension", str(n),
               *DESCRIPTORS, str(o.limit_to), "--threads", str(len(cores)), "--json", "--output", output, *o.options.split()]
    runs = [child(command, cores, folder, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                  OMPI_MCA_hwloc_base_binding_policy="none") for _ in range(o.repeats)]
    said = [json.loads(text) for text, _, _ in runs]
    return dict(seconds=statistics.median(s for _, s, _ in runs), rss=max(r for _, _, r in runs),
                each=statistics.median(s["seconds_per_evaluation"] for s in said),
                evaluations=said[0]["evaluations"], field=np.load(output))


def row(out, program, case, n, pair, iterations, run, field, targets, lag):
    """Two-phase fields, grey or not: the error of phase 1."""
    e = measures.compare(field, {int(targets[0].max()): field}, targets, lag)
    numbers = [run["evaluations"], f"{run['seconds']:.3f}", f"{run['each']:.6f}", f"{run['rss']:.0f}",
               *(f"{e['s2'][k]:.3e}" for k in "zyx"), f"{e['voxels'] / field.size:.2e}", f"{e['signed']:+.4f}",
               f"{e['grey']:.4f}"]
    out.write("\t".join(map(str, [program, case, n, pair, iterations, *numbers])) + "\n")
    out.flush()


def turn(o, out, n, pair, cores, folder):
    """One run of each program. Returns the ratios of whole times and of times per evaluation."""
    case = f"pymks_ms_{n}x{n}_1"
    path = os.path.abspath(os.path.join(o.data, case + ".npy"))
    targets = [np.load(path)]
    theirs = run_mcrpy(o, path, n, cores, folder)
    for name, field in (("mcrpy", theirs["field"]), ("mcrpy rounded", np.round(theirs["field"]))):
        row(out, name, case, n, pair, o.iterations, theirs, field, targets, o.limit_to)
    ours = run_mesoforge(o, path, n, cores, folder)
    row(out, "mesoforge", case, n, pair, o.options or "default", ours, ours["field"].astype(float), targets, o.limit_to)
    return theirs["seconds"] / ours["seconds"], theirs["each"] / ours["each"]


def ratios(out, o, n, pairs):
    """Least, median and most of the paired ratios."""
    for name, values in zip(("whole run", "per evaluation"), zip(*pairs)):
        note = "" if name != "whole run" or o.iterations >= 500 else f" (MCRpy cut short at {o.iterations} iterations)"
        out.write(f"# {n}^3 mcrpy / mesoforge, {name}: median {statistics.median(values):.1f}, "
                  f"least {min(values):.1f}, most {max(values):.1f}, {len(values)} pairs{note}\n")


def main():
    o = options()
    cores = {int(c) for c in o.cores.split(",")}
    out = open(o.out, "w") if o.out else sys.stdout
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # takes the child along
    measures.check()
    measures.header(out, ["peers/mcrpy.sh", *sys.argv[1:]])
    out.write(f"# mcrpy {importlib.metadata.version('mcrpy')}, tensorflow {importlib.metadata.version('tensorflow')}, "
              f"cores {o.cores}, lag {o.limit_to}\n" + "\t".join(COLUMNS) + "\n")
    for n in o.sizes:
        with tempfile.TemporaryDirectory() as folder:
            pairs = [turn(o, out, n, pair, cores, folder) for pair in range(o.pairs)]
        ratios(out, o, n, pairs)


if __name__ == "__main__":
    main()
