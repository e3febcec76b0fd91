"""A real Slurm of two virtual nodes for one test: slurmctld, two slurmd with fake GPUs, PMIx. The test runs in namespaces
of its own (network, processes, mounts, host name), each node in further ones on a bridge with its own address, name and
shared memory: nothing outside is touched, and all of it ends with the test, however that ends. Needs root."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

NODES, CORES, GPUS, NET = ("n1", "n2"), 4, 2, "198.18.77"
SKIPPED = 77
OWN_WORLD = ["unshare", "--net", "--mount", "--propagation", "private", "--uts", "--ipc", "--pid", "--fork", "--kill-child",
             "--mount-proc"]
CONFIGURATION = """ClusterName=bed
SlurmctldHost=ctl({net}.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge/socket
CredType=cred/munge
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool/%n
TmpFS={dir}/tmp/%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.%n.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.%n.log
MpiDefault=pmix
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_min_interval=0,batch_sched_delay=0,sched_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
SlurmdParameters=config_overrides
PropagateResourceLimits=NONE
ReturnToService=2
InactiveLimit=0
KillWait=10
MinJobAge=300
WaitTime=0
CompleteWait=0
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=20
PartitionName=high Nodes=ALL Default=NO MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
"""


def skip(why):
    print("slurm: skipped:", why)
    sys.exit(SKIPPED)


def is_own_world():
    """Is this process the first of processes of its own? Only there may all others be killed."""
    return bool(os.environ.get("MF_SLURM_BED")) and os.getpid() == 1


def enter():
    """The first call starts the test again in a world of its own; the second, there, returns."""
    if is_own_world():
        return
    if os.environ.get("MF_SLURM_BED"):
        sys.exit("slurm: MF_SLURM_BED is set, and this is no world of its own: unset it")
    if os.geteuid() != 0:
        skip("virtual nodes need root")
    for tool in ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol", "squeue", "ip", "nsenter", "unshare"):
        if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            skip(f"{tool} is not installed (Debian: slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libpmix-dev iproute2)")
    if subprocess.run([*OWN_WORLD, "ip", "link", "add", "try", "type", "bridge"], capture_output=True).returncode != 0:
        skip("the system gives no namespaces or no bridge")
    os.environ["MF_SLURM_BED"] = "1"
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    os.execvp("unshare", [*OWN_WORLD, sys.executable, *sys.argv])


def do(*words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def until(what, seconds, condition):
    end = time.time() + seconds
    while not condition():
        if time.time() > end:
            raise RuntimeError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


def is_file(path):
    return lambda: os.path.exists(path)


class Bed:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="slurm-")
        self.started, self.holder = [], {}
        os.chmod(self.folder, 0o755)
        for name in ("munge", "state", "gpu", *(f"{k}/{n}" for k in ("spool", "tmp") for n in NODES)):
            os.makedirs(f"{self.folder}/{name}")
        self.write_files()
        os.environ["SLURM_CONF"] = f"{self.folder}/slurm.conf"
        self.start_network()
        self.start_munge()
        self.background("slurmctld", "-D")
        for node in NODES:
            self.background(*self.inside(node), "slurmd", "-D", "-N", node)
        until("nodes are idle", 30, lambda: subprocess.run(["sinfo", "-h", "-N", "-p", "main", "-t", "idle", "-o", "%N"],
                                                           capture_output=True, text=True).stdout.split() == list(NODES))

    def write_files(self):
        lines = [f"NodeName={n} NodeAddr={NET}.{11 + i} CPUs={CORES} Boards=1 SocketsPerBoard=1 CoresPerSocket={CORES} "
                 f"ThreadsPerCore=1 RealMemory=4000 Gres=gpu:{GPUS} State=UNKNOWN" for i, n in enumerate(NODES)]
        for i in range(GPUS):  # Slurm wants devices of characters; these are null devices
            os.mknod(f"{self.folder}/gpu/{i}", 0o600 | 0o020000, os.makedev(1, 3))
        for name, text in (("slurm.conf", CONFIGURATION.format(net=NET, dir=self.folder, nodes="\n".join(lines))),
                           ("gres.conf", f"NodeName=n[1-2] Name=gpu File={self.folder}/gpu/[0-{GPUS - 1}]\n"),
                           ("cgroup.conf", "CgroupAutomount=no\nIgnoreSystemd=yes\nCgroupPlugin=cgroup/v1\n"),
                           ("hosts", f"127.0.0.1 localhost\n{NET}.1 ctl\n"
                            + "".join(f"{NET}.{11 + i} {n}\n" for i, n in enumerate(NODES)))):
            with open(f"{self.folder}/{name}", "w") as file:
                file.write(text)

    def background(self, *words):
        with open(f"{self.folder}/said", "a") as said:
            self.started.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said))

    def inside(self, node):
        return ["nsenter", "-t", str(self.holder[node]), "--net", "--uts", "--mount", f"--wd={os.getcwd()}", "--"]

    def start_network(self):
        socket.sethostname("ctl")
        do("mount", "--bind", f"{self.folder}/hosts", "/etc/hosts")
        do("ip", "link", "set", "lo", "up")
        do("ip", "link", "add", "bed", "type", "bridge")
        do("ip", "addr", "add", f"{NET}.1/24", "dev", "bed")
        do("ip", "link", "set", "bed", "up")
        for i, node in enumerate(NODES):
            up = f"{self.folder}/{node}.up"
            self.background("unshare", "--net", "--uts", "--mount", "--propagation", "private", "sh", "-c",
                            'hostname "$1"; mount -t tmpfs -o mode=1777 tmpfs /dev/shm; echo $$ >"$2"; exec sleep infinity', "sh", node, up)
            until(f"{node} is there", 10, is_file(up))
            self.holder[node] = int(open(up).read() or 0)
            do("ip", "link", "add", f"{node}-h", "type", "veth", "peer", "name", "eth0", "netns", self.holder[node])
            do("ip", "link", "set", f"{node}-h", "master", "bed", "up")
            do(*self.inside(node), "ip", "link", "set", "lo", "up")
            do(*self.inside(node), "ip", "addr", "add", f"{NET}.{11 + i}/24", "dev", "eth0")
            do(*self.inside(node), "ip", "link", "set", "eth0", "up")

    def start_munge(self):
        at = f"{self.folder}/munge"
        with open(f"{at}/key", "wb") as key:
            key.write(os.urandom(1024))
        os.chmod(f"{at}/key", 0o400)
        self.background("munged", "--foreground", "--force", f"--key-file={at}/key", f"--socket={at}/socket",
                        f"--pid-file={at}/pid", f"--log-file={at}/log", f"--seed-file={at}/seed")
        until("munge answers", 10, is_file(f"{at}/socket"))

    def close(self):
        if not is_own_world():
            raise RuntimeError("outside of a world of its own nothing is killed")
        os.kill(-1, signal.SIGKILL)  # all others of this world
        for one in self.started:
            one.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
