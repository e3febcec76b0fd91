"""doctor on clusters: InfiniBand that MPI does not use, limits of control groups of both versions, a launcher that MPI does
not understand, complaints of several nodes, nodes with other libraries or another program, file systems without locks, folders that are not shared.
Machines are made of files (MF_ROOT), strange nodes by a library before the program.

    doctor_cluster.py MESOFORGE MPIEXEC LIBRARY
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from runs import around, check, finish, machine

MESOFORGE, MPIEXEC, LIBRARY = os.path.abspath(sys.argv[1]), shutil.which(sys.argv[2]), os.path.abspath(sys.argv[3])
WITHOUT = ("FAKE_NVML", "CUDA_", "SLURM_", "MF_ROOT")


def finds(*command, status=0, without=(), **more):
    """What it found, by name; several under one name in a row."""
    done = subprocess.run([*command, MESOFORGE, "doctor", "--data_folder", ".", "--json"] if MESOFORGE not in command else command,
                          capture_output=True, text=True, timeout=60, env=around(*WITHOUT, *without, **more))
    check(done.returncode == status, f"{command} {more}: {done.returncode} {done.stdout[-300:]} {done.stderr[-300:]}")
    found = {}
    for one in json.loads(done.stdout)["checks"]:
        found.setdefault(one["what"], []).append(one)
        check((one["remedy"] != "") == (one["state"] != "ok"), f"a remedy where something is wrong: {one}")
    return found


def says(found, what, state, *parts):
    one = found.get(what, [{"state": "nothing", "finding": ""}])[0]
    check(one["state"] == state and all(p in one["finding"] for p in parts), f"{what} is {one}, not {state} {parts}")


ADAPTER = {"sys/class/infiniband/mlx5_0/ports/1/state": "1: DOWN\n"}
UP = {**ADAPTER, "sys/class/infiniband/mlx5_1/ports/1/state": "4: ACTIVE\n"}
DEVICE = {**UP, "dev/infiniband/uverbs0": ""}


def network():
    says(finds(MF_ROOT=machine({})), "InfiniBand", "ok", "none")
    says(finds(MF_ROOT=machine(ADAPTER)), "InfiniBand", "warn", "mlx5_0: no port of 1 adapter")
    says(finds(MF_ROOT=machine(UP)), "InfiniBand", "warn", "mlx5_1", "/dev/infiniband")
    broken = machine({"libibverbs.so.1": ""})  # a library that is none
    says(finds(MF_ROOT=machine(DEVICE), LD_LIBRARY_PATH=broken), "InfiniBand", "warn", "libibverbs.so.1 does not load")
    broken = machine({"libucp.so.0": "", "libfabric.so.1": ""})
    says(finds(MF_ROOT=machine(DEVICE), LD_LIBRARY_PATH=broken), "InfiniBand", "warn", "neither UCX nor libfabric")
    aside = machine({**DEVICE, "etc/openmpi/openmpi-mca-params.conf": "# pml = x\npml = ^ucx\n"})
    says(finds(MF_ROOT=aside, without=("OMPI_MCA_pml",)), "InfiniBand", "warn", "leaves it aside", "pml = ^ucx")
    says(finds(MF_ROOT=machine(DEVICE), OMPI_MCA_pml="ob1"), "InfiniBand", "warn", "OMPI_MCA_pml=ob1")
    says(finds(MF_ROOT=machine(DEVICE), without=("OMPI_MCA_pml",)), "InfiniBand", "ok", "mlx5_1 is up, 2 adapters")


NODE = {"sys/devices/system/cpu/online": "0-63\n", "proc/meminfo": "MemTotal: 67108864 kB\nMemAvailable: 60000000 kB\n",
        "proc/self/cgroup": "3:memory:/job\n2:cpu:/job\n0::/job\n"}
V2 = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
V1 = "".join(f"3{i} 31 0:3{i} / /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}\n" for i, name in enumerate(("cpu", "memory")))


def limits():
    says(finds(MF_ROOT=machine({**NODE, "proc/self/mountinfo": V2})), "control group", "ok", "64 cores and 64.0 GiB")
    two = {"proc/self/mountinfo": V2, "sys/fs/cgroup/job/cpu.max": "800000 100000\n", "sys/fs/cgroup/memory.max": f"{16 << 30}\n"}
    one = {"proc/self/mountinfo": V1, "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "800000\n", "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n",
           "sys/fs/cgroup/memory/job/memory.limit_in_bytes": f"{16 << 30}\n"}
    for files, cores, memory in ((two, "job/cpu.max", "cgroup/memory.max"), (one, "job/cpu.cfs_quota_us", "job/memory.limit_in_bytes")):
        found = finds(MF_ROOT=machine({**NODE, **files}))
        says(found, "cores' limit", "warn", "8 of the node's 64 cores", cores)
        says(found, "memory's limit", "warn", "16.0 of the node's 64.0 GiB", memory)


def launcher():
    """Four tasks of srun that MPI does not bring together: the first speaks, of all else too, the others are silent."""
    step = {"SLURM_NTASKS": 4, "SLURM_JOB_ID": 1, "SLURM_STEP_ID": 0}
    found = finds(SLURM_PROCID=0, status=4, **step)
    says(found, "MPI", "fail", "started 4 tasks, and each believes to be alone")
    check("--mpi=pmix" in found["MPI"][0]["remedy"] and "HDF5" in found, f"{found}")
    done = subprocess.run([MESOFORGE, "doctor"], capture_output=True, timeout=60, env=around(*WITHOUT, SLURM_PROCID=3, **{k: str(v) for k, v in step.items()}))
    check((done.returncode, done.stdout, done.stderr) == (0, b"", b""), f"another task: {done}")


def two(*second, status=0):
    """A rank as it should be, and one that these words start."""
    words = ["doctor", "--data_folder", ".", "--json"]
    return finds(MPIEXEC, "-q", "-n", "1", MESOFORGE, *words, ":", "-n", "1", *second, *words, status=status)


def strange(**more):
    return ["env", f"LD_PRELOAD={LIBRARY}", *(f"{k}={v}" for k, v in more.items()), MESOFORGE]


def versions():
    found = two(MESOFORGE)
    says(found, "versions", "ok", "all 2 ranks")
    says(found, "fcntl locks", "ok")
    mixed = two(*strange(STRANGE_VERSIONS=1), status=4).get("mixed versions", [])
    check([one["state"] for one in mixed] == ["fail", "fail"], f"{mixed}")
    check("'Open MPI v9.9.9' on rank 1" in mixed[0]["finding"] and "'1.8.99' on rank 1" in mixed[1]["finding"], f"{mixed}")
    told = subprocess.run([MESOFORGE, "--version"], capture_output=True, text=True).stdout
    number = bytes.fromhex(re.search(r"id ([0-9a-f]{16,})", told)[1])
    program = open(MESOFORGE, "rb").read()
    check(program.count(number) == 1, "the number of the program stands in it once")
    with open("other", "wb") as file:  # the same but for its number
        file.write(program.replace(number, number[::-1]))
    os.chmod("other", 0o755)
    says(two(os.path.abspath("other"), status=4), "mixed versions", "fail", "mesoforge", "on rank 1")


def folders():
    says(finds("env", f"LD_PRELOAD={LIBRARY}", "STRANGE_LOCKS=refused"), "fcntl locks", "warn", "not implemented")
    says(finds("env", f"LD_PRELOAD={LIBRARY}", "STRANGE_LOCKS=ignored"), "fcntl locks", "warn", "another can lock")
    says(two(*strange(STRANGE_LOCKS="ignored")), "fcntl locks", "warn", "another can lock")
    os.mkdir("elsewhere")
    found = two("sh", "-c", 'cd elsewhere && exec "$0" "$@"', MESOFORGE, status=4)
    check([f["finding"] for f in found["data folder"] if f["state"] == "fail"] == [". is not the same folder on all ranks"], f"{found}")
    check("HDF5" not in found, "no file of all ranks in folders that differ")


def nodes():
    """What further nodes complain of, a line for all that have it; only the first rank of a node is asked."""
    words, host = ["doctor", "--data_folder", ".", "--json"], os.uname().nodename[:64]
    found = finds(MPIEXEC, "-q", "-n", "6", MESOFORGE, *words, MF_NODES=3, MF_SHM="/nowhere")["MPI's memory"]
    check(len(found) == 1 and found[0]["finding"].endswith(f" (on {host}, {host} and 1 more)"), f"{found}")
    bad = ["env", "MF_SHM=/nowhere", MESOFORGE]
    found = finds(MPIEXEC, "-q", "-n", "2", MESOFORGE, *words, ":", "-n", "1", *bad, *words, ":", "-n", "1", *bad, *words, MF_NODES=2)["MPI's memory"]
    check([f["state"] for f in found] == ["ok", "warn"] and found[1]["finding"].endswith(f" (node {host})"), f"{found}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.mkdir("bin")  # whether two ranks can be started is asked by the other test, and takes a second
    os.symlink("/bin/true", "bin/mpiexec")
    os.environ["PATH"] = f"{folder}/bin:{os.environ['PATH']}"
    network()
    limits()
    launcher()
    versions()
    folders()
    nodes()
    left = [name for name in os.listdir(".") + os.listdir("elsewhere") if "doctor" in name]
    check(not left, f"left behind: {left}")
    os.chdir("/")
finish("doctor_cluster")
