"""Verbs of two words are verbs like the others: found, refused with the nearest, helped, described, configured, launched.
usage: two_words.py PROGRAM MPIEXEC MAN_CMAKE   PROGRAM: tests/tool/two_words.c"""
import os
import subprocess
import sys
import tempfile

import runs
from runs import check, finish

program, mpiexec, pages = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:4])


def says(status, out, err, *words, **more):
    done = runs.run(program, *words, mpiexec=mpiexec, **more)
    check(done.status == status and out in done.out and err in done.err and (err or not done.err), f"{words}: {done}")
    return done


def refusals():
    for ranks in (1, 2):
        says(2, "", "mesoforge: data: which verb? There is: data export, data import\n", "data", ranks=ranks)
        says(2, "", "mesoforge: data: no verb 'data imprt'; try: data import\n", "data", "imprt", ranks=ranks)
        says(3, "", "mesoforge: data import: nothing to import\n", "data", "import", ranks=ranks)
    says(2, "", "which verb?", "data", "--json")
    says(2, "", "no verb 'data zzzz'; try: data export, data import\n", "data", "zzzz")
    says(2, "", "no verb 'import'", "import")
    says(2, "", "no verb 'dta'", "dta", "import")
    says(2, "", "mesoforge: data import: no option '--sed'; try: --seed\n", "data", "import", "--sed", "1")


def helps():
    listed = "  data export    a verb of two words\n  data import    a verb of two words\n"
    for words in (("help",), ("help", "data"), ("data", "--help"), ("data", "--seed", "1", "-h")):
        says(0, listed, "", *words)
    for words in (("help", "data", "import"), ("data", "import", "--help")):
        says(0, "usage: mesoforge data import FILE\n", "", *words)
    for words in (("help", "data", "imprt"), ("data", "imprt", "--help")):
        says(2, "", "mesoforge: data: no verb 'data imprt'; try: data import", *words)
    says(2, "", "data: which verb?", "man", "data")
    subprocess.run(["cmake", f"-DPROGRAM={program}", "-DOUT=man", "-P", pages], check=True)
    check(sorted(os.listdir("man"))[:4] == ["mesoforge-alone.1", "mesoforge-data-export.1", "mesoforge-data-import.1", "mesoforge-launch.1"], f"pages: {os.listdir('man')}")
    page = open("man/mesoforge-data-import.1").read()
    check(page.startswith(".TH MESOFORGE-DATA-IMPORT 1") and ".B mesoforge data import\n" in page and "\nmesoforge\\-data\\-import \\- a verb" in page, f"the page: {page[:300]}")


def configured():
    for ranks in (1, 2):
        says(0, f"a.h5 on {ranks}\n", "", "data", "import", "a.h5", ranks=ranks)
    printed = says(0, "# mesoforge data import\narguments: [\"a.h5\"]\n", "", "data", "import", "a.h5", "--seed", "3", "--print-config").out
    with open("c.yaml", "w") as file:
        file.write(printed)
    says(0, "a.h5 on 1\n", "", "data", "import", "--config", "c.yaml")
    says(0, 'seed: 3  # file', "", "data", "import", "--config", "c.yaml", "--print-config")


def unfolded(text):
    """A shell's lines that go on in the next one, as one."""
    return text.replace("\\\n    ", "")


def launched():
    verb = ("--", "data", "import", "a.h5")
    line = says(0, "mpirun", "", "launch", "--launcher", "mpirun", "--ntasks", "2", *verb).out
    check(unfolded(line).split()[-3:] == list(verb[1:]), f"the line: {line}")
    script = says(0, "#SBATCH --job-name=mesoforge-data-import\n", "", "launch", "--launcher", "sbatch", "--ntasks", "2", *verb, "--max-hours", "auto").out
    check(all(w in unfolded(script) for w in (" data import a.h5 --max-hours auto --restart auto\n", "--signal=USR1@300", "SLURM_JOB_END_TIME")), f"the script: {script}")
    says(2, "", "launch: data: no verb 'data imprt'; try: data import\n", "launch", "--", "data", "imprt")
    says(2, "", "try: -- data import\n", "launch", "data", "import", "--limit", "3")
    says(2, "", "--restart no: Slurm requeues a script", "launch", "--launcher", "sbatch", *verb, "--restart", "no")
    says(2, "", "launch: data import: no option '--limit'", "launch", *verb, "--limit", "3")
    array = ("launch", "--launcher", "sbatch", "--array", "0-1", *verb)
    says(2, "", "would write the same file", *array, "--seed", "%a")
    for more in (("--results-dir", "r%a"), ("--results_dir", "r%a"), ("--data_folder", "d%a")):
        says(0, "--array=0-1", "", *array, *more)
    line = says(0, "--results-dir few --logging-level 10", "", "launch", "--launcher", "mpirun", "--ntasks", "2", "--debug", *verb).out
    check("max-iter" not in line, f"options of another verb: {line}")
    open("plan.json", "w").close()
    says(3, "", "'plan.json' is no plan of 2 ranks for no", "launch", "--launcher", "mpirun", "--ntasks", "2", *verb, "--plan", "plan.json")
    os.symlink("/etc/passwd", "import")
    says(0, "docker", "", "launch", "--launcher", "mpirun", "--container", "docker:image", *verb)
    says(0, "docker", "'import' is outside", "launch", "--launcher", "mpirun", "--container", "docker:image", "--", "data", "import", "import")
    says(0, "a.h5 on 2\n", "", "launch", "--launcher", "mpirun", "--ntasks", "2", "--run", *verb)


def planned():
    for words in (("plan", "data", "import", "a.npy"), ("plan", "reconstruct")):
        says(2, "", "try: plan match", *words)
    says(2, "", "one FILE", "plan", "match", "a.npy", "b.npy")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    refusals()
    helps()
    configured()
    launched()
    planned()
finish("two_words")
