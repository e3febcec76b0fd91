"""What the system counts of a run's memory is what the run has booked: at most 3 % and 6 MiB more (what MPI and HDF5
keep), and hardly less (what short lists of the polish do not fill), on 1 to 3 ranks, whose shared memory counts once.

    peaks.py MESOFORGE MPIEXEC     exit status 77: NumPy is missing
"""
import json
import os
import sys
import tempfile

import runs
from runs import S2, check, finish
from samples import blobs, np

MESOFORGE, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]


def run(*words, ranks=1):
    done = runs.run(MESOFORGE, *words, "--threads", 1, ranks=ranks, mpiexec=MPIEXEC, timeout=500)
    check(done.status == 0, f"{words}: {done.status} {done.err}")
    return done


def measured(what, *words, ranks=1):
    done = run("match", *words, *S2, "--max-iter", 24, "--polish-rounds", 1, "--json", ranks=ranks)
    peaks = json.loads(done.out)["peak_bytes"]
    check(set(peaks) == {"predicted", "arena", "rss", "device"} and peaks["device"] is None, "%s: %s" % (what, peaks))
    check(len(peaks["arena"]) == len(peaks["rss"]) == ranks, "%s: %s" % (what, peaks))
    for arena, rss in zip(peaks["arena"], peaks["rss"]):
        check(0.85 * arena < rss < 1.03 * arena + 6 * 2**20, "%s on %d ranks: booked %.1f MiB, measured %.1f MiB" %
              (what, ranks, arena / 2**20, rss / 2**20))
    lines = [line for line in done.err.splitlines() if line.startswith("memory of the fullest rank")]
    check(len(lines) == 1 and "booked" in lines[0] and "measured" in lines[0], "%s: %s" % (what, lines))


def language_model():
    """Random weights of 67 MB. oneDNN keeps more than MPI and HDF5 do."""
    with open("config.json", "w") as file:
        json.dump({"model_type": "llama", "vocab_size": 8192, "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8}, file)
    done = run("bench", "infer", ".", "--requests", 2, "--prompt-tokens", 40, "--new-tokens", 3, "--json")
    peaks = json.loads(done.out)["measured"][0]["peak_bytes"] if done.status == 0 else {}
    check(peaks and peaks["predicted"] == peaks["arena"] and peaks["arena"][0] > 64 << 20, f"a language model: {peaks}")
    check(peaks and 0.9 * peaks["arena"][0] < peaks["rss"][0] < 1.03 * peaks["arena"][0] + (12 << 20), f"a language model: {peaks}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    language_model()
    np.save("two.npy", blobs((64, 64), [0.5, 0.5], 3))
    np.save("three.npy", blobs((64, 64), [0.4, 0.3, 0.3], 3))
    for ranks in runs.some((3, 1, 2), 3):
        measured("a volume", "two.npy", "--size", 112, 112, 112, "--output", "v.h5", ranks=ranks)
    measured("three phases", "three.npy", "--size", 80, 80, 80, "--output", "v.npy", ranks=2)
    measured("an image", "two.npy", "--size", 1200, 1200, "--output", "v.png")
finish("peaks")
