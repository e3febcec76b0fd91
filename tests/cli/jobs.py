"""The example scripts of slurm/ do what they say, one after the other, with a srun that starts few ranks and small extents; bench every
task of its array.
usage: jobs.py MESOFORGE FOLDER_OF_THE_SCRIPTS"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from runs import around, check, finish, some

program, scripts = map(os.path.abspath, sys.argv[1:3])
ORDER = ("synth characterize reconstruct match smooth compare verify view info merge interpolate plan probe doctor "
         "train train-vqa generate bench report").split()
MAKES = {"synth": "micrograph.npy", "characterize": "results/micrograph_characterization.h5", "reconstruct": "volume.h5",
         "match": "volume.h5", "smooth": "smooth.h5", "compare": "compared.png", "view": "volume.png",
         "merge": "results/fibres.h5", "interpolate": "results/des_interpolated_4.h5", "plan": "plan.json",
         "train": "results/classify/model.safetensors", "train-vqa": "results/vqa/model.safetensors", "generate": "made.h5", "report": "report.html"}
SMALL = (("256", "32"), ("probe --measure", "probe --measure --memory-limit 100"), ("512", "32"), ("samples=100000", "samples=9"), ("scaling=1,2,4,8,16,32", "scaling=1,2"),
         ("mesoforge bench", "mesoforge bench --max_bytes 1K --seconds 0.01 --extent 32 --turns 1"))

folder = tempfile.mkdtemp(prefix="jobs-")
os.chdir(folder)
os.mkdir("bin")
os.symlink(program, "bin/mesoforge")
SRUN = """until [ "${1##*/}" = mesoforge ]; do
    if [ "$1" = -n ]; then RANKS=$2; fi
    shift
done
if [ "$RANKS" = 1 ]; then exec "$@"; fi
unset SLURM_JOB_ID
exec timeout 60 mpirun -q --oversubscribe --bind-to none -n "$RANKS" "$@"
"""
for name, text in (("srun", SRUN), ("scontrol", "exit 1\n")):
    with open(f"bin/{name}", "w") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(f"bin/{name}", 0o755)

listed = subprocess.run([program, "man", "--list"], capture_output=True, text=True).stdout.splitlines()
verbs = {verb.replace(" ", "-") for verb in listed} | {verb.split()[0] for verb in listed}  # plan is of plan match, too
check(set(ORDER) <= verbs, f"scripts of no verb: {set(ORDER) - verbs}")
check({n[:-7] for n in os.listdir(scripts) if n.endswith(".sbatch")} == set(ORDER), "scripts and this test")

def job(verb, made, task=0, ranks=1, changed=()):
    """One job of the script, with what somebody changed in it, which makes this file."""
    text = open(f"{scripts}/{verb}.sbatch").read()
    check(f"#SBATCH --job-name=mesoforge-{verb}\n" in text, f"{verb}: its name")
    if made and os.path.exists(made):
        os.remove(made)
    for old, new in changed:
        check(old in text, f"{verb}: no '{old}' to change")
        text = text.replace(old, new)
    for large, small in SMALL:
        text = text.replace(large, small)
    env = around("SLURM_", PATH=f"{folder}/bin:/usr/bin:/bin", SLURM_JOB_ID="1", SLURM_ARRAY_TASK_ID=task, RANKS=ranks)
    done = subprocess.run(["bash"], input=text, capture_output=True, text=True, timeout=120, env=env)
    check(done.returncode == 0, f"{verb}: {done.returncode} {done.stderr[-600:]}")
    check(not made or os.path.exists(made), f"{verb} made no {made}: {done.stdout[-300:]}")


def benches():
    """Every part that bench has."""
    text = open(f"{scripts}/bench.sbatch").read()
    parts = [name for words in re.findall(r"^(?:ranks|runs)=\((.*?)\)", text, re.MULTILINE) for name in words.split()]
    help_text = subprocess.run([program, "bench", "--help"], capture_output=True, text=True).stdout
    known = re.findall(r"^  ([a-z0-9-]+)  ", help_text.partition("WHAT is")[2].partition("MPI's plain")[0], re.MULTILINE)
    check(sorted(parts) == sorted(set(known)), f"parts of bench: {parts}, not {known}")
    check(f"#SBATCH --array=0-{len(parts) - 1}\n" in text, f"an array of {len(parts)} parts")
    for task, part in some(enumerate(parts), 6):
        made = f"bench-{task}.json"
        job("bench", made, task, ranks=2)
        check(os.path.exists(made) and f'"{part}"' in open(made).read(), f"{made} says nothing of {part}")


def grey():
    """The scripts that take a grey image say what it needs."""
    header = "{'descr': '|u1', 'fortran_order': False, 'shape': (32, 32), }"
    with open("grey.npy", "wb") as file:
        file.write(b"\x93NUMPY\1\0v\0" + header.ljust(117).encode() + b"\n" + bytes((x * y) % 251 for y in range(32) for x in range(32)))
    for verb, made in (("characterize", "results/grey_characterization.h5"), ("match", "volume.h5")):
        job(verb, made, changed=(("micrograph.npy ", "grey.npy "), ("more=()", "more=(--threshold otsu)")))


with open("vqa.yaml", "w") as file:
    file.write("training: {num_epochs: 1}\nwidth: 8\nno-plots: true\n")
for words in ("synth --num-samples 40 --size 16 16 --output micro.h5", "synth --num-samples 40 --questions 2 --size 16 16 --output asked.h5", "train unet --data micro.h5 --arch unet:width=8,depth=1,blocks=1 --max-steps 1 --made-samples 0 --no-plots --results-dir run"):
    subprocess.run([program, *words.split()], capture_output=True, check=True)
for verb in ORDER:
    if verb == "bench":
        benches()
    else:
        job(verb, MAKES.get(verb))
    if verb == "characterize":
        for way in ("along", "across"):
            shutil.copy(MAKES[verb], f"results/{way}_characterization.h5")
grey()
shutil.rmtree(folder)
finish("jobs")
