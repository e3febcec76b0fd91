"""A real Slurm of two virtual hosts for one test: slurmctld, two slurmd with fake GPUs, PMIx for those who ask for it. Needs root."""
import os
import signal
import subprocess

import virtual_hosts
from virtual_hosts import NAMES, NET, do, is_file, until

CORES, GPUS = 4, 2
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
MpiDefault=none
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


def enter():
    virtual_hosts.enter(("munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol", "squeue"),
                        "slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libpmix-dev iproute2")


class Bed(virtual_hosts.Hosts):
    def __init__(self):
        super().__init__()
        for name in ("munge", "state", "gpu", *(f"{k}/{n}" for k in ("spool", "tmp") for n in NAMES)):
            os.makedirs(f"{self.folder}/{name}")
        self.write_files()
        os.environ["SLURM_CONF"] = f"{self.folder}/slurm.conf"
        self.start_munge()
        self.background("slurmctld", "-D")
        self.daemon = {}
        for node in NAMES:
            self.start_daemon(node)
        until("nodes are idle", 30, lambda: self.idle() == list(NAMES))

    def start_daemon(self, node):
        self.daemon[node] = self.background(*self.inside(node), "slurmd", "-D", "-N", node)

    def crashed(self):
        """Nodes whose slurmd has ended by a fault of its own."""
        return [node for node, daemon in self.daemon.items() if daemon.poll() in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS)]

    @staticmethod
    def idle():
        return subprocess.run(["sinfo", "-h", "-N", "-p", "main", "-t", "idle", "-o", "%N"], capture_output=True, text=True).stdout.split()

    def mend(self, node):
        """Back among the nodes, where it was lost."""
        if self.processes(node):
            return
        self.link(node, "up")
        self.start_daemon(node)
        do("scontrol", "update", f"NodeName={node}", "State=RESUME")
        until(f"{node} is idle", 30, lambda: node in self.idle())

    def write_files(self):
        lines = [f"NodeName={n} NodeAddr={self.address(n)} CPUs={CORES} Boards=1 SocketsPerBoard=1 CoresPerSocket={CORES} "
                 f"ThreadsPerCore=1 RealMemory=4000 Gres=gpu:{GPUS} State=UNKNOWN" for n in NAMES]
        for i in range(GPUS):  # Slurm wants devices of characters; these are null devices
            os.mknod(f"{self.folder}/gpu/{i}", 0o600 | 0o020000, os.makedev(1, 3))
        self.write("slurm.conf", CONFIGURATION.format(net=NET, dir=self.folder, nodes="\n".join(lines)))
        self.write("gres.conf", f"NodeName=n[1-2] Name=gpu File={self.folder}/gpu/[0-{GPUS - 1}]\n")
        self.write("cgroup.conf", "CgroupAutomount=no\nIgnoreSystemd=yes\nCgroupPlugin=cgroup/v1\n")

    def start_munge(self):
        at = f"{self.folder}/munge"
        with open(f"{at}/key", "wb") as key:
            key.write(os.urandom(1024))
        os.chmod(f"{at}/key", 0o400)
        self.background("munged", "--foreground", "--force", f"--key-file={at}/key", f"--socket={at}/socket",
                        f"--pid-file={at}/pid", f"--log-file={at}/log", f"--seed-file={at}/seed")
        until("munge answers", 10, is_file(f"{at}/socket"))
