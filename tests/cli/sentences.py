"""What the program says when something is not as it should be: the number, the file, the remedy.

    sentences.py MESOFORGE MPIEXEC       exit status 77: NumPy or h5py is missing
"""
import os
import re
import subprocess
import sys
import tempfile

from hdf5 import h5py
from runs import check, finish, run
from samples import np

PROGRAM = os.path.abspath(sys.argv[1])


def says(code, parts, *words, without=()):
    status, out, err = run(PROGRAM, *" ".join(words).split())
    check(status == code and all(p in out + err for p in parts) and not any(p in out + err for p in without),
          f"{words}: status {status}, {out[-300:]} {err[-600:]}")
    return out + err


scratch = tempfile.TemporaryDirectory(prefix="sentences-")  # gone when the program ends
os.chdir(scratch.name)
random = np.random.default_rng(1)
for name, fraction in (("a", 0.85), ("b", 0.15), ("c", 0.84)):
    np.save(f"{name}.npy", (random.random((24, 24)) < fraction).astype(np.uint8))
    says(0, [], f"characterize {name}.npy --limit_to 4 --output {name}.h5")

# Slices of 4 x 6 voxels cannot each be like the target; their mean can, and the warning says how.
says(0, [], "synth --kind gaussian --size 64 64 --output g.npy")
long = "match g.npy --size 4 6 40 --output l.npy"
says(0, ["try: --slice_objective mean: slices are too small"], long)
says(0, [], long, "--slice_objective mean", without=["interface density of the result"])

# One lag is no S2. A phase of the target that the result has no voxel for.
flat = "match g.npy --size 2 16 16 --max_iter 2 --output l.npy"
says(0, ["S2 is not compared, as L is 1 (--limit_to)"], flat, without=["S2 rms error"])
says(0, ["--gpu-memory-fraction: the cpu back end has no GPU"], flat, "--device cpu --gpu-memory-fraction 0.5")
rare = np.zeros((48, 48), np.uint8)
rare[3, 4] = 1
np.save("rare.npy", rare)
says(0, ["warning: label 1: the target's volume fraction, 0.00043, rounds to no voxel of the result; try: a larger result"],
     "match rare.npy --size 12 12 --limit_to 4 --max_iter 2 --output l.npy")

# Sides of a target whose volume fractions contradict each other.
part = "contradict each other: the volume fraction of label "
for names, words in (("'b.h5' and 'a.h5'", "merge a.h5 b.h5 ab.h5"),
                     ("'b.npy' and 'a.npy'", "match a.npy b.npy c.npy --limit_to 4 --size 12 12 12 --max_iter 2 --output v.npy")):
    text = says(0, [part], words)
    lines = [l for l in text.splitlines() if part in l]
    check(len(lines) == 1 and (names in lines[0] or " and ".join(reversed(names.split(" and "))) in lines[0]), f"{words}: {lines}")
says(0, [], "merge a.h5 c.h5 ac.h5", without=[part])

# What was asked for of synth, where whole objects cannot give it.
fibres = "synth --kind fibres --size 48 40 --volume-fraction 0.3 --output f.npy"
says(0, ["asked for: 0.3 of phase 1; --exact reaches that"], fibres)
says(0, ["volume fraction 0.300000"], fibres, "--exact", without=["asked for"])

# Values that no label can have.
large = np.zeros((8, 8), np.uint64)
large[0, 0] = 2**64 - 1
np.save("u.npy", large)
says(3, ["1.84467e+19"], "characterize u.npy --limit_to 2", without=["9.22337e+18"])
says(3, ["1.84467e+19", "2^63 - 1"], "characterize u.npy --limit_to 2 --labels 0,1")
says(2, ["--labels must be integers from -2^63 to 2^63 - 1"], "characterize u.npy --limit_to 2 --labels 0,18446744073709551615")
says(2, ["fit along any axis, the longest has 7; try: --cell 3"], "synth --kind checkerboard --size 5 7 --output f.npy")
says(0, [], "synth --kind checkerboard --size 5 7 --cell 3 --output f.npy")
says(2, ["--labels must be integers, not 'x'"], "characterize u.npy --limit_to 2 --labels 0,x")
for verb in ("characterize", "smooth", "compare a.npy", "plan match"):  # a label of no voxel is said, whether it is wrong or a phase that is not there
    says(0, ["--labels names 7, -2, of which 'a.npy' has no voxel (it holds 0, 1): empty phases"], verb, "a.npy --labels 7,0,1,-2")
says(3, ["'a.npy' holds the value 1, which --labels does not name"], "characterize a.npy --labels 0,7", without=["no voxel"])
says(0, [], "characterize a.npy --labels 1,0 --output r.h5", without=["no voxel"])
says(5, ["needs 999970000299999 bytes", "smaller extents"], "synth --size 99999 99999 99999 --output l.npy")
says(2, ["a volume is no picture"], "match a.npy --add-dimension 12 --limit_to 4 --max_iter 2 --output y.png")

# An output in a folder that is not there, and a word behind numbers that is taken for a file.
for words in ("synth --kind gaussian --size 16 16", "match a.npy --limit_to 4 --max_iter 2", "characterize a.npy --limit_to 4", "view a.npy"):
    output = "no/such/" + {"s": "o.npy", "m": "o.h5", "c": "o.h5", "v": "o.png"}[words[0]]
    says(7, [f"cannot write '{output}': there is no folder 'no/such", "try: mkdir -p 'no/such"], words, "--output", output)
says(2, ["not 2 ('a.npy' .. 'x')"], "match a.npy --level_weights 1 x --output o.npy")

# Help names every descriptor.
known = says(2, ["there are: "], "match a.npy --descriptor_types X").split("there are: ")[1].replace(",", " ").split()
for verb in ("match", "reconstruct", "characterize"):
    lacks = {name for name in known if name[0] != "("} - set(says(0, [], verb, "--help").replace(",", " ").replace(";", " ").replace("(", " ").replace(")", " ").replace(".", " ").split())
    check(len(known) > 10 and not lacks, f"{verb} --help does not name {lacks}")

# What has no effect is said, and nothing is said of what a run has not; a remedy is something else than what was done.
np.save("bands.npy", (np.indices((24, 24)).sum(0) // 6 % 2).astype(np.uint8))
np.save("gap.npy", np.eye(24, dtype=np.uint8) * 3)
short = "--limit_to 4 --max_iter 2 --no_polish --output w.npy"
s2, both = "--descriptor_types S2", "--descriptor_types S2 Variation"
says(0, ["--level_weights gives 5 weights, and the pyramid has 2 levels", "try: more --max_iter, and FFTCorrelations and Variation together"], "match bands.npy", short, s2, "--level_weights 1 1 1 1 1")
says(0, ["try: more --max_iter"], "match bands.npy", short, both, "--level_weights 1 1 --optimizer_type Adam", without=["together", "no effect", "history"])
percent = re.search(r"largest relative error (\S+) %", says(0, [], "match bands.npy --size 32 32 32", short, s2)).group(1)
check(float(percent) > 100 and "e" not in percent, f"interfaces are off by {percent} %")
says(0, ["try: more --max_iter"], "match bands.npy", short, both, "Patches", without=["alone"])
first, fifth = (float(re.search(r"loss (\S+) grey", says(0, [], "match bands.npy", short.replace("iter 2", f"iter {n}"), s2)).group(1)) for n in "15")
check(fifth < 0.9 * first, f"five evaluations come to a loss of {fifth}, one to {first}")  # they are those of one descent
whole = f"--max_iter 500 --tolerance 1e9 {short.replace('--max_iter 2', '')}"
says(0, ["try: FFTCorrelations and Variation alone"], "match bands.npy", whole, both, "Patches", without=["more"])
says(0, ["try: FFTCorrelations and Variation together"], "match bands.npy", whole, s2, without=["more"])
for words, part in (("--max_iter 50", "try: more --max_iter"), ("--tolerance 1", "try: a smaller --tolerance"),
                    ("--initial_temperature 1 --final_temperature 0.9 --cooldown_factor 0.999 --acceptance_distribution exponential", "slower cooling")):
    says(0, [part], "match bands.npy --limit_to 4 --output w.npy --optimizer_type SimulatedAnnealing", words, both, without=["weight", "together"])
says(0, ["an image is one slice"], "plan reconstruct --size 16 16 --limit_to 4 --optimizer_type Adam", without=["normal to y", "history", "batch 0"])
says(0, ["3 ranks, and work of the image for 2: 1 only waits"], "plan reconstruct --size 100 100 --ranks 3 --device cpu --descriptor_types S2 Patches")
says(0, ["history   2", "chosen by the run: ", "1 rank owns none and only waits"], "plan reconstruct --size 6 16 16 --limit_to 3 --ranks 4 --device cpu")
says(0, [], "characterize a.npy --no_multiphase --limit_to 4 --export S2=s2.npy --output a.h5")
np.save("off.npy", np.roll(np.load("s2.npy"), 1, -1))
says(3, ["the S2 is "], "reconstruct --target S2=off.npy --output w.npy", without=["phase"])
says(3, ["mesoforge: report: 'gap.npy'"], "report gap.npy --output w.html", without=["mesoforge: view"])

# Rows of convergence: none is missing, whatever a step took.
says(0, [], "match c.npy --limit_to 4 --max_iter 95 --tolerance 0 --convergence-data-steps 5 --polish-rounds 1 --output r.h5")
with h5py.File("r.h5") as f:
    rows = [int(e) for e in f["convergence"][:-1, 0]]
check(rows[0] == 0 and len(rows) == len(set(r // 5 for r in rows)) >= 18 and max(b - a for a, b in zip(rows, rows[1:])) < 10, f"rows {rows}")
says(0, [], "characterize c.npy --non_periodic --limit_to 4 --output open.h5")
says(0, ["the result is periodic; of its target, which is not,"], "reconstruct open.h5", short.replace("--limit_to 4 ", ""))

# A file of another kind than the one that is wanted, and outputs that cannot be, before anything is looked at.
says(0, [], "reconstruct a.h5", short.replace("--limit_to 4 ", ""))
os.mkfifo("pipe.h5")
os.mkfifo("pipe.log")
says(7, ["cannot write 'pipe.h5': it is not a plain file"], "match a.npy --limit_to 4 --max_iter 2 --output pipe.h5", without=["label 0"])
for words in ("info a.npy", "match a.npy --limit_to 4 --max_iter 2"):
    says(2, ["--logfile_name: './pipe.log' is not a plain file"], words, "--data_folder . --logfile_name pipe")
open("plain", "w").close()
says(7, ["cannot make folder 'plain/r': Not a directory; try: --output FILE"], "match a.npy --limit_to 4 --data_folder plain/r")
os.makedirs("closed/results")
os.chmod(".", 0o755)
os.chmod("closed/results", 0o555)
other = {"user": 65534} if os.geteuid() == 0 else {}  # root may write everywhere
for words, part in (("--data_folder results", "cannot write 'results/a_smoothed.h5': Permission denied; try: another folder (--output, --data_folder)"),
                    ("", "cannot make folder 'results': Permission denied; try: --output FILE, or another --data_folder")):
    os.chmod("closed", 0o555)
    got = subprocess.run([PROGRAM, "smooth", "../a.npy", *words.split()], cwd="closed", capture_output=True, text=True, env={**os.environ, "HOME": "/tmp"}, **other)
    check(got.returncode == 7 and part in got.stderr, f"a closed folder: {got.returncode} {got.stderr}")
    os.chmod("closed", 0o755)
    if os.path.exists("closed/results"):
        os.rmdir("closed/results")
says(2, ["both name descriptors"], "reconstruct a.h5 --descriptor_filename c.h5")
for verb in ("smooth", "match"):
    says(3, ["'a.h5' holds descriptors, but a microstructure is needed; try: mesoforge reconstruct --descriptor_filename a.h5"], verb, "a.h5")
with open("words.dat", "w") as file:
    file.write("words\n")
says(3, ["VTK's XML, DREAM.3D)"], "match words.dat")
says(2, ["more than half of an extent of 6; try: --correlation-length"], "synth --size 6 300")
says(3, ["looks like a microstructure; try: mesoforge match a.npy"], "reconstruct a.npy --limit_to 4")
np.save("nan.npy", np.where(np.load("a.npy"), 1, np.nan))
says(3, ["it is NaN at ["], "reconstruct nan.npy --limit_to 4")
holed = np.load("a.npy").astype(np.float32)
covers = np.zeros((24, 24), np.uint8)
holed[20, 3], holed[17, 5] = np.nan, np.inf
covers[17, 5] = 1
np.save("holed.npy", holed)
np.save("holed_turned.npy", np.asfortranarray(holed))
np.save("covers.npy", covers)
for name in ("holed", "holed_turned"):
    for ranks in (1, 3):
        status, _, err = run(PROGRAM, "match", f"{name}.npy", ranks=ranks, mpiexec=sys.argv[2])
        check(status == 3 and "holds 2 values that are NaN or infinite, the first at [17][5]; try: --mask" in err, f"{name} on {ranks}: {status} {err}")
says(3, ["holds 1 value that is NaN or infinite, the first at [20][3]; try: --mask"], "match holed.npy --mask covers.npy")
np.save("one.npy", np.zeros((24, 24), np.uint8))
says(3, ["'one.npy' holds only one phase"], "match one.npy --labels 0,1 --limit_to 4 --output w.npy", without=["micrograph is taken"])
says(0, ["does not apply to volumes)"], "match a.npy --add_dimension 24 --limit_to 4 --max_iter 2 --no_polish --output w.npy")
says(2, ["its name must end with"], "match a.npy --limit_to 4 --output w.foo", without=["label 0"])
says(2, ["is the input 'a.npy'"], "match a.npy --limit_to 4 --output a.npy", without=["label 0"])
says(0, ["limit_to: 4  # flag"], "info c.h5", without=["# default"])
check("# default" in says(0, [], "info c.h5 --json"), "the defaults are in info --json")

says(2, ["--phase_weights must be", "none negative"], "match a.npy --limit_to 4 --phase_weights -1")
says(0, [], "synth --size 1 24 24 --output plane.h5")
for verb in ("characterize", "match", "compare plane.h5"):
    says(3, ["1 x 24 x 24 is too short", "one plane is an image: an array of two axes"], verb, "plane.h5", without=["half of the shortest"])

# A name that no folder takes, or that of a checkpoint made of it, is found before the work is done.
most = os.pathconf(".", "PC_NAME_MAX")
for name, longest in (("n" * (most - 3) + ".npy", most + 1), ("n" * (most - 8) + ".h5", most + 2), ("n" * (most - 11) + ".tif", most)):
    words = f"match a.npy --limit_to 4 --max_iter 2 --no_polish --descriptor_types S2 --output {name}"
    says(0 if longest <= most else 7, [] if longest <= most else [f"its name has {longest} bytes, at most {most} are possible"], words,
         without=["rename", "without this checkpoint"] + ["first loss"] * (longest > most))
    check(os.path.exists(name) == (longest <= most), f"{name} is there: {os.path.exists(name)}")
says(7, [f"its name has {most + 7} bytes"], "match a.npy --limit_to 4 --max_iter 2 --information", "i" * (most - 12), without=["first loss"])
np.save("c" * (most - 20) + ".npy", np.load("a.npy"))
says(7, [f"its name has {most + 1} bytes"], "characterize --limit_to 4 a.npy", "c" * (most - 20) + ".npy", without=["characterised in"])
says(7, [f"its name has {most + 2} bytes"], "synth --size 16 16 --output", "n" * (most - 3) + ".h5", without=["is complete"])

# A symmetry's word of the other kind of field, and what labels are not.
says(0, ["--symmetry cubic of an image is that of a square"], "characterize a.npy --limit_to 4 --symmetry cubic --output y.h5")
says(0, ["--symmetry cubic of an image is that of a square"], "match a.npy", short, s2, "--symmetry cubic")
says(0, [], "characterize a.npy --limit_to 4 --symmetry square --output y.h5", without=["--symmetry"])
np.save("cube.npy", (random.random((8, 8, 8)) < 0.5).astype(np.uint8))
says(0, ["--symmetry square of a volume is that of a cube"], "characterize cube.npy --limit_to 2 --symmetry square --output y.h5")
for words in ("--symmetry cubic", "--symmetry square --slice_mode sample"):
    says(0, [], "characterize cube.npy --limit_to 2 --output y.h5", words, without=["--symmetry"])
says(0, ["--grey_values has no effect: the field holds labels"], "characterize a.npy --limit_to 4 --grey_values --output y.h5")
says(2, ["'cube.npy' is a volume; three inputs must be images"], "match a.npy a.npy cube.npy --limit_to 4 --output w.npy", without=["micrograph is taken"])

# Descriptors named twice, with commas, all of them where they are aimed at, and a file that is taken for one.
for verb, instead in (("characterize a.npy", "once is enough"), ("compare a.npy c.npy", "once is enough"), ("match a.npy", "--descriptor_weights"), ("reconstruct a.h5", "--descriptor_weights"),
                      ("plan match a.npy", "--descriptor_weights")):
    says(2, ["names Variation twice; " + instead], verb, "--descriptor_types Variation Variation")
    says(2, ["names FFTCorrelations twice, as S2 and as FFTCorrelations; " + instead], verb, "--descriptor_types S2 FFTCorrelations")
    says(2, ["'S2,Variation'; names stand apart: S2 Variation"], verb, "--descriptor_types S2,Variation", without=["try: Variation"])
says(2, ["'euler,surface'; names stand apart"], "characterize a.npy --measures euler,surface")
says(2, ["names variogram twice; once is enough"], "compare a.npy c.npy --descriptor_types variogram variogram")
says(2, ["names LinealPathApproximation twice, as LinealPath and as LinealPathApproximation"], "characterize a.npy --compat mcrpy --descriptor_types LinealPath LinealPathApproximation")
for words in ("euler euler", "euler all", "all all"):
    says(2, [f"--measures {words.split()[1]}: it is named twice, or beside all"], "characterize a.npy --measures", words)
says(2, ["all is for characterize and compare"], "match a.npy --descriptor_types all")
for word in ("all", "quick"):
    says(2, [f"--descriptor_types {word} stands alone"], "compare a.npy c.npy --descriptor_types S2", word)
for words in ("characterize --descriptor_types S2 a.npy", "characterize --measures euler a.npy", "compare --descriptor_types S2 a.npy c.npy", "match --descriptor_types S2 a.npy"):
    says(2, ["'a.npy'; a file stands before the options"], words, without=["there are:"])
says(2, ["no verb 'plan a.npy'; try: plan generate, plan infer, plan match"], "plan a.npy")
for words in ("plan reconstruct a.h5", "plan reconstruct --size 8 8 8"):
    says(2, ["--add_dimension makes a volume of an image, and none is named"], words, "--add_dimension 8")

# A file whose name begins as an option does.
np.save("-a.npy", random.random((8, 8)))
says(2, ["the file of that name is './-a.npy'"], "info -a.npy")
says(2, ["no option '-b.npy': options begin with '--'"], "info -b.npy", without=["the file"])
says(0, [], "info ./-a.npy")

# Results and lines about them in one file stand in the order in which they were said.
one = subprocess.run([PROGRAM, "compare", "a.npy", "c.npy", "--output", "ac.png"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
check(0 < one.find("mean chord") < one.find("wrote ac.png"), f"out of order: {one}")
finish("sentences")
