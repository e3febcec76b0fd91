"""The example scripts of slurm/ do what they say, one after the other, with a srun that starts one rank and small extents.
usage: jobs.py MESOFORGE FOLDER_OF_THE_SCRIPTS"""
import os
import shutil
import subprocess
import sys
import tempfile

from runs import around, check, finish

program, scripts = map(os.path.abspath, sys.argv[1:3])
ORDER = ("synth characterize reconstruct match smooth compare verify view info merge interpolate plan probe doctor "
         "bench report").split()
MAKES = {"synth": "micrograph.npy", "characterize": "results/micrograph_characterization.h5", "reconstruct": "volume.h5",
         "match": "volume.h5", "smooth": "smooth.h5", "compare": "compared.png", "view": "volume.png",
         "merge": "results/fibres.h5", "interpolate": "results/des_interpolated_4.h5", "plan": "plan.json",
         "bench": "bench-3.json", "report": "report.html"}

folder = tempfile.mkdtemp(prefix="jobs-")
os.chdir(folder)
os.mkdir("bin")
os.symlink(program, "bin/mesoforge")
for name, text in (("srun", 'while [ "$1" != mesoforge ]; do shift; done\nexec "$@"\n'), ("scontrol", "exit 1\n")):
    with open(f"bin/{name}", "w") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(f"bin/{name}", 0o755)

verbs = subprocess.run([program, "man", "--list"], capture_output=True, text=True).stdout.split()
check(set(ORDER) <= set(verbs), f"scripts of no verb: {set(ORDER) - set(verbs)}")
check({n[:-7] for n in os.listdir(scripts) if n.endswith(".sbatch")} == set(ORDER), "scripts and this test")
for verb in ORDER:
    text = open(f"{scripts}/{verb}.sbatch").read()
    check(f"#SBATCH --job-name=mesoforge-{verb}\n" in text, f"{verb}: its name")
    made = MAKES.get(verb)
    if made and os.path.exists(made):
        os.remove(made)
    for small in ("256", "512"):
        text = text.replace(small, "32")
    env = around("SLURM_", PATH=f"{folder}/bin:/usr/bin:/bin", SLURM_JOB_ID="1", SLURM_ARRAY_TASK_ID="3")
    done = subprocess.run(["bash"], input=text, capture_output=True, text=True, timeout=120, env=env)
    check(done.returncode == 0, f"{verb}: {done.returncode} {done.stderr[-600:]}")
    check(not made or os.path.exists(made), f"{verb} made no {made}: {done.stdout[-300:]}")
    if verb == "characterize":
        for way in ("along", "across"):
            shutil.copy(made, f"results/{way}_characterization.h5")
shutil.rmtree(folder)
finish("jobs")
