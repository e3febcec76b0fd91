"""What `match --property` costs, and what it reaches: targets by factors of the conductivity of the run without one.

    match_property.py MESOFORGE [--edges 32 64] [--seeds 8] [--low 0.01] [--factors 0.9 1.1]

The sample has a volume fraction of 0.5; conductivities are --low and 1. A row for each edge, seed and factor: error of the conductivity as
`properties` finds it, rms of the S2 errors along z, y, x, the same of the run without a target, processor seconds of both (one thread), swaps.
"""
import argparse
import json
import os
import resource
import subprocess
import tempfile

LENGTH = {32: 2.5, 64: 4}  # correlation length of the sample


def run(program, *words):
    """JSON and processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, *map(str, words), "--json", "--threads", "1"], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rms(result):
    return (sum(x * x for x in result["s2_rms_error"]["1"].values()) / 3) ** 0.5


def conductivity(program, file, low):
    return run(program, "properties", file, "--conductivity", low, 1, "--axes", "z")[0]["conductivity"]["z"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mesoforge")
    parser.add_argument("--edges", type=int, nargs="+", default=[32, 64])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--low", type=float, default=0.01)
    parser.add_argument("--factors", type=float, nargs="+", default=[0.9, 1.1])
    o = parser.parse_args()
    program = os.path.abspath(o.mesoforge)
    print("edge\tseed\ttarget\terror [%]\tS2\tS2 without\tover it\tseconds\tseconds without\tover it\tswaps")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for edge in o.edges:
            run(program, "synth", "--size", edge, edge, edge, "--correlation-length", LENGTH.get(edge, edge / 16), "--volume-fraction", 0.5, "--exact",
                "--seed", 5, "--output", "sample.npy")
            for seed in range(1, o.seeds + 1):
                words = ("match", "sample.npy", "--isotropic", "--limit-to", 8, "--seed", seed, "--output", "like.npy")
                free, seconds = run(program, *words)
                k = conductivity(program, "like.npy", o.low)
                for factor in o.factors:
                    got, took = run(program, *words, "--conductivity", o.low, 1, "--property", f"conductivity_z={factor * k:.6g}")
                    error = 100 * (conductivity(program, "like.npy", o.low) / (factor * k) - 1)
                    print(f"{edge}\t{seed}\t{factor * k:.4f}\t{error:+.2f}\t{rms(got):.2e}\t{rms(free):.2e}\t{rms(got) / rms(free):.2f}\t"
                          f"{took:.2f}\t{seconds:.2f}\t{took / seconds:.2f}\t{got['swaps']}", flush=True)


if __name__ == "__main__":
    main()
