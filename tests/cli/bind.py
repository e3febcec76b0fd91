"""--bind: ranks of a job that may all use the whole of an idle node of several NUMA nodes keep to shares of their own, all
others to what they were given; --verbose says in the log where every rank is. The node is made of files (MF_ROOT).
usage: bind.py MESOFORGE MPIEXEC"""
import json
import os
import subprocess
import sys
import tempfile

import runs
from runs import around, check, finish, machine

program, mpiexec = os.path.abspath(sys.argv[1]), sys.argv[2]
cores = sorted(os.sched_getaffinity(0))
if cores != list(range(os.cpu_count())) or len(cores) < 2:
    print("bind: this test needs two cores and all of them")
    sys.exit(77)
half, everything = len(cores) // 2, ",".join(map(str, cores))


def node(busy=0.01, numa=2, quota=None):
    """This machine's cores on so many NUMA nodes."""
    parts = [cores] if numa == 1 else [cores[:half + len(cores) % 2], cores[half + len(cores) % 2:]]
    files = {"proc/loadavg": f"{busy * len(cores)} 0 0 1/9 9\n", "sys/devices/system/cpu/online": everything,
             "sys/devices/system/node/online": "0" if numa == 1 else "0-1",
             **{f"sys/devices/system/node/node{i}/cpulist": ",".join(map(str, part)) for i, part in enumerate(parts)}}
    if quota:
        files.update({"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": "31 23 0:28 / /g rw - cgroup2 cgroup2 rw\n",
                      "g/cpu.max": f"{int(quota * 100000)} 100000\n"})
    return machine(files)


def members(text):
    ends = [tuple(map(int, part.split("-"))) for part in text.split(",")]
    return [core for end in ends for core in range(end[0], end[-1] + 1)]


def lists(*words, ranks=2, **more):
    """The cores of every rank."""
    done = runs.run(program, "probe", "--json", *words, ranks=ranks, mpiexec=mpiexec, timeout=60,
                    env=around("FAKE_NVML", "CUDA_", "SLURM_", "OMP_", **{"SLURM_JOB_ID": 1, "SLURM_JOB_NUM_NODES": 1, **more}))
    check(done.status == 0, f"probe {words}: {done}")
    return [members(rank["core_list"]) for rank in json.loads(done.out)["ranks"]]


def bound():
    """Each rank has the cores of a NUMA node."""
    both = lists(MF_ROOT=node())
    check(both == [cores[:half + len(cores) % 2], cores[half + len(cores) % 2:]], f"{both}")


def left_alone():
    both = [cores, cores]
    check(lists("--bind", "none", MF_ROOT=node()) == both, "--bind none")
    check(lists(MF_ROOT=node(), SLURM_JOB_ID="") == both, "no job")
    check(lists(MF_ROOT=node(busy=0.5)) == both, "a node that others use")
    check(lists(MF_ROOT=node(numa=1)) == both, "one NUMA node")
    check(lists(MF_ROOT=node(quota=1)) == both, "a quota")
    told = lists("--bind", "none", OMP_PROC_BIND="true")
    check(lists(MF_ROOT=node(), OMP_PROC_BIND="true") == told, "OpenMP is told")
    check(lists("--threads", str(len(cores)), MF_ROOT=node()) == both, "threads for which a share has no room")
    check(lists(ranks=1, MF_ROOT=node()) == [cores], "one rank")
    many = len(cores) + 1
    check(lists(ranks=many, MF_ROOT=node()) == [cores] * many, "more ranks than cores")
    by_core = {"MF_ROOT": node(), "OMPI_MCA_hwloc_base_binding_policy": "core"}
    narrow, told = lists(**by_core), lists("--bind", "none", **by_core)
    check(narrow == told and all(len(own) < len(cores) for own in told), f"what the launcher bound stays so: {narrow}, it was {told}")


def openmp_binds():
    """It ties the first thread to a part of the cores before the program begins: the others are still this rank's."""
    for told in ({"OMP_PROC_BIND": "true"}, {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}, {"OMP_PLACES": "threads"}):
        check(lists(ranks=1, **told) == [cores], f"{told}: {lists(ranks=1, **told)}")
    check(lists(ranks=1, OMP_PLACES="{0}") == [[0]], "the user's one place")
    shell = runs.run("taskset", "-c", "1", program, "probe", "--json", env=around("OMP_", "SLURM_", OMP_PROC_BIND="true"))
    check(json.loads(shell.out)["ranks"][0]["core_list"] == "1", f"never more than the launcher gave: {shell}")


def it_goes_on_as_another_program():
    """As itself where the machine is busy (threads.py), and as what launch starts."""
    told = around("GOMP_SPINCOUNT", "OMP_", "SLURM_", OMP_PROC_BIND="true")
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in [*cores, 0]]
    shell = runs.run(program, "probe", "--json", env=told, timeout=60)
    started = runs.run(program, "launch", "--launcher", "mpirun", "--ntasks", "1", "--run", "--", "probe", "--json",
                       env={**told, "OMPI_MCA_hwloc_base_binding_policy": "none"}, timeout=60)
    for other in others:
        other.kill()
        other.wait()
    for done in (shell, started):
        check(done.status == 0 and members(json.loads(done.out)["ranks"][0]["core_list"]) == cores, f"all cores: {done}")


def verbose():
    words = "synth --kind gaussian --size 16 16 --output m.npy".split()
    for more, want in ((("--verbose",), ["0", "1"]), ((), [])):
        done = runs.run(program, *words, *more, ranks=2, mpiexec=mpiexec, timeout=60, env=around("SLURM_", MF_ROOT=node(), SLURM_JOB_ID=1, SLURM_JOB_NUM_NODES=1))
        lines = [line.split() for line in done.err.splitlines()]
        rows = [line for line in lines if line and line[0] in ("0", "1")]
        check(done.status == 0 and [row[0] for row in rows] == want and len(done.out.splitlines()) == 4, f"{more}: {done}")
        check(all(row[1] == os.uname().nodename for row in rows) and ("share each" in done.err), f"{rows}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    bound()
    left_alone()
    openmp_binds()
    it_goes_on_as_another_program()
    verbose()
    os.chdir("/")
finish("bind")
