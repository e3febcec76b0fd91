"""doctor: whole surroundings are ok, broken ones are named with a remedy, and only what the program needs fails it.

    doctor.py MESOFORGE MPIEXEC FOLDER_OF_THE_FALSE_DRIVER
"""
import json
import os
import sys
import tempfile

import runs
from runs import around, check, finish

MESOFORGE, MPIEXEC, DRIVER = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]


def run(*words, ranks=1, **surroundings):
    return runs.run(MESOFORGE, "doctor", *words, ranks=ranks, mpiexec=MPIEXEC,
                    env=around("FAKE_NVML", "CUDA_", "SLURM_", **surroundings))


def finds(*words, status=0, **surroundings):
    rc, out, err = run(*words, "--json", **surroundings)
    check(rc == status, "%s %s: %d %s" % (words, surroundings, rc, err))
    said = json.loads(out)
    found = {}
    for one in said["checks"]:
        found.setdefault(one["what"], one)
        check(set(one) == {"state", "what", "finding", "remedy"} and one["finding"], "%s" % one)
        check(not one["remedy"].startswith("try"), "what is printed before it says so: %s" % one)
        check((one["remedy"] != "") == (one["state"] != "ok"), "a remedy where something is wrong: %s" % one)
    for state in ("ok", "warn", "fail"):
        check(said[state] == sum(one["state"] == state for one in said["checks"]), "number of %s" % state)
    return found


def whole():
    found = finds()
    check({"processor", "threads", "memory", "shared memory", "MPI's memory", "MPI's folder", "copies", "open files", "GPU driver", "CUDA library",
           "NCCL", "launcher", "MPI", "data folder", "free space", "file locks", "HDF5"} <= set(found), list(found))
    for what in ("threads", "shared memory", "data folder", "HDF5", "MPI"):
        check(found[what]["state"] == "ok", found[what])
    check("two ranks" in found["MPI"]["finding"], found["MPI"])
    check(os.listdir(".") == [], "left behind: %s" % os.listdir("."))
    rc, out, _ = run()
    check(rc == 0 and all(line.split()[0] in ("ok", "warn") for line in out.splitlines()), out)
    check("not/there is not there and would be made; in . files" in finds("--data_folder", "not/there")["data folder"]["finding"], "what is not there")
    found = finds(ranks=2)
    check("2 ranks are running" in found["MPI"]["finding"] and "2 ranks wrote" in found["HDF5"]["finding"], found)
    check(os.listdir(".") == [], "left behind: %s" % os.listdir("."))


def broken():
    found = finds("--data_folder", "/proc/results", status=4)
    check(found["data folder"]["state"] == "fail" and "HDF5" not in found, found["data folder"])
    _, _, err = run("--data_folder", "/proc/results")
    check(err.splitlines()[-1].startswith("mesoforge: doctor: 1 of "), err)
    check(finds(MF_SHM="/nowhere")["MPI's memory"]["state"] == "warn", "no shared memory for MPI")
    found = finds(MF_SHM="/proc")["MPI's memory"]
    check(found["state"] == "warn" and "--shm-size" in found["remedy"], found)
    check(finds()["MPI's folder"]["state"] == "ok", "the folder for temporary files")
    for folder, remedy in (("/proc/none", "mkdir"), ("/proc", "make room")):  # Open MPI would make others
        found = finds(TMPDIR=folder)["MPI's folder"]
        check(found["state"] == "warn" and folder in found["finding"] and remedy in found["remedy"], f"TMPDIR={folder}: {found}")
    check(finds(OMP_NUM_THREADS="4096")["threads"]["state"] == "warn", "too many threads")
    os.mkdir("bin")  # a PATH without mpiexec, but with what Open MPI looks for at its start
    with open("bin/ssh", "w") as file:
        file.write("#!/bin/sh\nexit 1\n")
    os.chmod("bin/ssh", 0o755)
    found = finds(PATH=os.path.abspath("bin"))["MPI"]
    check(found["state"] == "warn" and "no mpiexec" in found["finding"], found)
    with open("mpiexec", "w") as file:
        file.write("#!/bin/sh\nexit 9\n")
    os.chmod("mpiexec", 0o755)
    found = finds(PATH=os.getcwd() + ":/usr/bin:/bin")["MPI"]
    check(found["state"] == "warn" and "status 9" in found["finding"], found)
    for allowed, confirmed in (("1", "1"), ("1", ""), ("", "1"), ("yes", "yes")):  # Open MPI takes 1 alone
        remedy = finds(PATH=os.getcwd() + ":/usr/bin:/bin", OMPI_ALLOW_RUN_AS_ROOT=allowed, OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=confirmed)["MPI"]["remedy"]
        told = os.geteuid() == 0 and (allowed, confirmed) != ("1", "1")
        check(("as root" in remedy, "of this MPI" in remedy) == (told, not told), (allowed, confirmed, remedy))
    deaf = runs.run("env", "--ignore-signal=CHLD", MESOFORGE, "doctor", env=around("SLURM_", PATH=os.getcwd() + ":/usr/bin:/bin"))
    check("status 9" in deaf.out, "started by who ignores that children end: %s" % deaf.out)
    os.remove("mpiexec")


def few_files():
    for soft, hard, state, remedy in ((16, 1023, "warn", "administrator"), (16, 2048, "warn", "ulimit -S -n 2048"), (1023, 4096, "warn", "ulimit -S -n 4096"),
                                      (1024, 4096, "ok  ", "")):
        said = runs.run("sh", "-c", f"ulimit -n {hard}; ulimit -S -n {soft}; exec \"$0\" doctor", MESOFORGE, env=around("FAKE_NVML", "CUDA_", "SLURM_"))
        lines = [line for line in said.out.splitlines() if "open files: " in line]
        check(said.status == 0 and len(lines) == 1 and lines[0].startswith(f"{state}  open files: a process may have {soft}"), said)
        check(lines[0].endswith(remedy) if "ulimit" in remedy else remedy in lines[0], (remedy, lines[0]))


def driver():
    found = finds(LD_LIBRARY_PATH=DRIVER)
    check(found["GPU driver"]["state"] == "ok" and "H100" in found["GPU driver"]["finding"], found["GPU driver"])
    check(found["CUDA library"]["state"] == "warn" and found["CUDA library"]["remedy"], found["CUDA library"])
    found = finds("--device", "cuda", status=4)["CUDA library"]
    check(found["state"] == "fail" and found["remedy"], "a GPU that is asked for and not there: %s" % found)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    whole()
    broken()
    few_files()
    driver()
finish("doctor")
