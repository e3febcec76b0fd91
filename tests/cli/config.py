"""--print-config, and the options that outputs keep, run the same again; outputs have the right names or are refused.

    config.py MESOFORGE       exit status 77: NumPy or h5py is missing
"""
import os
import sys
import tempfile

from hdf5 import h5py
from runs import check, finish, run
from samples import blobs, save

PROGRAM = os.path.abspath(sys.argv[1])

# verb, arguments, what it writes; in this order, for each uses what is there then
RUNS = (
    ("synth", ["--size", "24", "32", "--correlation-length", "2", "--seed", "3"], "results/synth_gaussian.h5", "microstructure/phase"),
    ("characterize", ["good.npy", "--limit_to", "4"], "results/good_characterization.h5", None),
    ("characterize", ["--microstructure_filenames", "good.npy", "--limit_to=4"], "results/good_characterization.h5", None),
    ("merge", ["results/good_characterization.h5", "results/good_characterization.h5", "merged.h5"], "merged.h5", None),
    ("match", ["good.npy", "--limit_to", "4", "--max_iter", "5", "--level-weights", "1", "0.5"], "results/good_reconstructed.h5", "microstructure/phase"),
    ("match", ["wide name.npy", "--limit_to", "4", "--max_iter", "5", "--extent_y", "20"], "results/wide name_reconstructed.h5", "microstructure/phase"),
    ("reconstruct", ["--descriptor_filename", "merged.h5", "--max_iter", "5", "--extent_x", "8", "--extent_y", "9", "--extent_z", "10"],
     "results/merged_reconstructed.h5", "microstructure/phase"),
    ("view", ["good.npy", "--limit_to", "4"], "results/good_view.png", None),
    ("info", ["good.npy"], None, None),
)


def content(folder, path, array):
    """The array that a run wrote, or that it wrote anything; the file is gone then."""
    if not path:
        return None
    path = os.path.join(folder, path)
    if not check(os.path.exists(path), f"{path} is missing"):
        return None
    got, options = None, None
    if path.endswith(".h5"):
        with h5py.File(path) as file:
            options = next((file[key].attrs["options"] for key in ("/",) if "options" in file[key].attrs), None)
            got = file[array][...].tobytes() if array else None
    os.rename(path, path + ".old")
    return got, options


def again(folder, verb, words, path, array):
    def go(*more):
        status, out, err = run(PROGRAM, verb, *more, cwd=folder)
        check(status == 0, f"{verb} {words}, {more}: exit {status}: {err[-400:]}")
        return out

    keep = lambda name: os.path.exists(os.path.join(folder, name + ".old")) and os.rename(os.path.join(folder, name + ".old"), os.path.join(folder, name))
    go(*words)
    first = content(folder, path, array)
    open(os.path.join(folder, "c.yaml"), "w").write(go(*words, "--print-config"))
    keep("results/good_characterization.h5"), keep("merged.h5")
    go("--config", "c.yaml")
    second = content(folder, path, array)
    if path:
        check(first and second and first[0] == second[0], f"{verb} {words}: --config made something else")
    if first and first[1] is not None:
        text = first[1] if isinstance(first[1], str) else first[1].decode()
        open(os.path.join(folder, "kept.yaml"), "w").write(text)
        keep("results/good_characterization.h5"), keep("merged.h5")
        go("--config", "kept.yaml")
        third = content(folder, path, array)
        check(third and first[0] == third[0], f"{verb} {words}: its own options made something else")
    if path:
        keep(path)


def misnamed(folder):
    """What is no picture, or no HDF5, is not called so; nothing is written."""
    for status, words in ((2, ["view", "good.npy", "--output", "v.jpg"]), (2, ["characterize", "good.npy", "--limit_to", "4", "--output", "c.npy"]),
                          (7, ["characterize", "good.npy", "--limit_to", "4", "--output", "none/c.h5"]), (2, ["merge", "merged.h5", "merged.h5", "m.npy"]),
                          (2, ["characterize", "good.npy", "other/good.npy", "--limit_to", "4"])):
        before = sorted(os.listdir(folder))
        got, out, err = run(PROGRAM, *words, "--logging_level", "40", cwd=folder)
        check(got == status and not out, f"{words}: exit {got}, want {status}: {err[-300:]} {out[:200]}")
        check(err.count("mesoforge: ") == 1 and err.startswith(f"mesoforge: {words[0]}: "), f"{words}: {err}")
        check(sorted(os.listdir(folder)) == before, f"{words}: left something behind")


def pipes(folder):
    """Files of options and plans may be pipes, whose writers may be slow; one that is empty, or to which nobody writes, is refused, not waited for."""
    words = ("synth", "--size", "32", "30", "--output", "piped.npy")

    def made(*more, **feed):
        status, _, err = run(*more, cwd=folder, **feed)
        name = f"{folder}/piped.npy"
        if not check(status == 0 and os.path.exists(name), f"{more}: {status} {err}"):
            return None
        with open(name, "rb") as file:
            got = file.read()
        os.remove(name)
        return got

    def behind(writer):
        return "sh", "-c", f'({writer}) | "$0" "$@"', PROGRAM, *words, "--config", "/dev/stdin"

    with open(f"{folder}/long.yaml", "w") as file:  # more than a pipe holds, and what counts at its end
        file.write("# a comment\n" * 10000 + "seed: 3\n")
    third = made(PROGRAM, *words, "--seed", "3")
    check(third != made(PROGRAM, *words), "the seed does nothing")
    check(third == made(PROGRAM, *words, "--config", "/dev/stdin", input="seed: 3\n"), "--config from a pipe is not heeded")
    check(third == made(*behind("sleep 0.3; cat long.yaml")), "--config from a long pipe that begins late is not heeded")
    for writer in ("true", "sleep 0.3"):
        status, _, err = run(*behind(writer), cwd=folder, timeout=30)
        check(status == 3 and err.count("mesoforge: ") == 1 and "it is empty, or nobody writes" in err, f"a pipe of '{writer}': {status} {err}")
    os.mkfifo(f"{folder}/pipe")
    for flag, verb in (("--config", words), ("--plan", ("match", "good.npy", "--output", "p.npy")), ("--hardware", ("plan", "match", "good.npy"))):
        status, _, err = run(PROGRAM, *verb, flag, "pipe", cwd=folder, timeout=30)
        check(status == 3 and err.count("mesoforge: ") == 1 and "pipe" in err and "nobody writes" in err, f"{flag} of a pipe that nobody writes to: {status} {err}")


def spared(folder):
    """No output is written over the configuration that asked for it."""
    for verb, *words in (("synth", "--size", "16", "16"), ("match", "good.npy", "--limit_to", "4", "--max_iter", "5"), ("smooth", "good.npy"),
                         ("characterize", "good.npy", "--limit_to", "4"), ("reconstruct", "--descriptor_filename", "good.h5", "--max_iter", "5", "--size", "8", "8")):
        with open(f"{folder}/own.h5", "w") as file:
            file.write(kept := "threads: 1\n")
        if verb == "reconstruct":
            check(run(PROGRAM, "characterize", "good.npy", "--limit_to", "4", "--output", "good.h5", cwd=folder)[0] == 0, "statistics")
        status, _, err = run(PROGRAM, verb, *words, "--config", "own.h5", "--output", "own.h5", cwd=folder)
        check(status == 2 and "the output 'own.h5' is the input 'own.h5'" in err and open(f"{folder}/own.h5").read() == kept, f"{verb}: {status} {err}")
    os.rename(f"{folder}/own.h5", f"{folder}/own.csv")
    status, _, err = run(PROGRAM, "synth", "--kind", "spheres", "--size", "16", "16", "16", "--config", "own.csv", "--list", "own.csv", "--output", "new.h5", cwd=folder)
    check(status == 2 and "is the input 'own.csv'" in err and open(f"{folder}/own.csv").read() == kept, f"its list: {status} {err}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        image = blobs((24, 32), [0.6, 0.4], 1)
        os.mkdir(os.path.join(folder, "other"))
        for name in ("good.npy", "wide name.npy", "other/good.npy"):
            save(folder, name, image)
        for row in RUNS:
            again(folder, *row)
        misnamed(folder)
        pipes(folder)
        spared(folder)
    finish("config")


main()
