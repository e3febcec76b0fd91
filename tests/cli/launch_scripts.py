"""Scripts of launch where they run: they go back into the queue when that helps, say when the job ends, give containers the job's GPUs and no
others, and start as many ranks as the job has by then.
usage: launch_scripts.py MESOFORGE"""
import os
import shutil
import time

from launching import execute, folder, launch, refused
from runs import LONG, check, finish


def again():
    """75 puts the job back; 4 with a flight record of this job and this start, and mpirun's 205, do not too often; all else is the script's own status."""
    def put_back(script, status, name, old, restarts, back):  # @old: the record was there, 2: and is written again
        if name and old:
            open(name, "w").close()
            os.utime(name, (time.time() + 60,) * 2)  # the clock of its file system is another one than the node's
        got, calls = execute(script, STATUS=status, SLURM_RESTART_COUNT=restarts, **({"FLIGHT": name} if name and old != 1 else {}))
        if name:
            os.remove(name)
        called = [c for c in calls if c[0] == "scontrol"]
        check(got == status and called == ([["scontrol", b"requeue", b"7"]] if back else []), f"{status} {name} {restarts}: {got} {calls}")

    def told_early(script, tell, restarts, back, asks="USR1", status=138):  # what reaches an mpirun in its first seconds is lost: nothing is said to it before they are over
        got, calls = execute(clock + script, TELL=tell, ASKS=asks, SLURM_RESTART_COUNT=restarts)
        check(got == status and [c[0] for c in calls].count("scontrol") == back, f"told at its start: {got} {calls}")
        check(os.path.getsize("record.slept") >= 10, "it is told at once")
        os.remove("record.slept")
        os.remove("record.ready")

    # a second goes by at once, but for the start of the stand-in for mpirun
    clock = b'sleep() { SECONDS=$((SECONDS + $1)); printf . >>"$RECORD.slept"; [ -e "$RECORD.ready" ] || /bin/sleep 0.2; }\n'
    own, others = "mesoforge-flight-7-n1-1.tsv", "mesoforge-flight-77-n1-1.tsv"
    for starter in ((), ("--mpirun",), ("--container", "enroot:i")):
        _, script, _, _ = launch("--launcher", "sbatch", *starter, "--", "probe")
        for status, name, old, restarts, back in ((0, own, 0, 0, 0), (1, own, 0, 0, 0), (75, None, 0, 30, 1), (137, own, 0, 0, 0), (138, None, 0, 0, 0), (140, None, 0, 0, 0), (4, None, 0, 0, 0),
                                                  (4, own, 0, "", 1), (4, own, 0, 9, 1), (4, own, 0, 10, 0), (4, own, 1, 0, 0), (4, own, 2, 0, 1), (4, others, 0, 0, 0),
                                                  (205, None, 0, 9, len(starter)), (205, None, 0, 10, 0)):
            put_back(script, status, name, old, restarts, back)
        for restarts, back in ((0, 1), (10, 0)) if starter else ():  # asked to leave before mpirun listens, it ends by the signal
            told_early(script, 1, restarts, back)
            told_early(script, 1, restarts, back, "USR2", 140)
            told_early(script.replace(b"began=$SECONDS\n", b"began=$SECONDS\nkill -USR1 $$\n"), "later", restarts, back)
        if starter:  # who asks for a checkpoint alone
            got, calls = execute(clock + script, TELL="save")
            check(got == 75 and os.path.getsize("record.slept") >= 10, f"SIGUSR2: {got} {calls}")
            os.remove("record.slept")
            os.remove("record.ready")
        for _ in range((12 if LONG else 3) if starter else 0):  # one that ends before it could be told keeps nobody waiting, and its status is not lost
            open("record.slept", "w").close()
            got, calls = execute(clock.replace(b"SECONDS=$((SECONDS + $1))", b"/bin/sleep 0.1") + script, TELL="ends", STATUS=75)
            check(got == 75 and [c[0] for c in calls].count("scontrol") == 1 and os.path.getsize("record.slept") < 9, f"told, and over: {got} {calls}")
            os.remove("record.slept")
            os.remove("record.ready")
        if starter:
            with open("bin/find", "w") as file:
                file.write('#!/bin/sh\nkill -USR1 "$(cut -d" " -f4 "/proc/$PPID/stat")"\n')
            os.chmod("bin/find", 0o755)
            got, calls = execute(script)
            check(got == 75 and [c[0] for c in calls] == ["scontrol"], f"told before it began: {got} {calls}")
            os.remove("bin/find")
    _, script, _, _ = launch("--launcher", "sbatch", "--array", "3-5", "--", "synth", "--seed", "%a", "--output", "v%a.h5")
    called = [c for c in execute(script, STATUS=75, SLURM_ARRAY_JOB_ID="7", SLURM_ARRAY_TASK_ID="5")[1] if c[0] == "scontrol"]
    check(called == [["scontrol", b"requeue", b"7_5"]], f"an array's task, not all of them: {called}")  # 7 is the last one's number, and all of them
    for path in ("match", "reconstruct"):
        script = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../slurm", path + ".sbatch"), "rb").read()
        put_back(script, 4, own, 0, 0, 1)
        put_back(script, 4, own, 1, 0, 0)
        put_back(script, 4, others, 0, 0, 0)


def until_when():
    """--max-hours auto is nothing that the login node knows. A script says when the job ends, where Slurm does not."""
    auto = ("--", "match", "m.npy", "--max-hours", "auto")
    refused(2, "--max-hours '1h': write hours", "--launcher", "sbatch", "--submit", "--", "match", "m.npy", "--max-hours", "1h")
    status, out, err, calls = launch("--launcher", "srun", "--run", *auto)
    check(status == 0 and calls, f"srun: {err}")
    with open("bin/squeue", "w") as file:
        file.write('#!/bin/sh\necho "$* $SLURM_TIME_FORMAT$SQUEUE_STATES" >"$RECORD.asked"\n[ -z "$ENDS" ] || printf "$ENDS\\n1999-01-01T00:00:00\\n"\n')
    os.chmod("bin/squeue", 0o755)
    end = "2031-02-03T04:05:06"
    stamp = str(int(time.mktime(time.strptime(end, "%Y-%m-%dT%H:%M:%S"))))
    for more, asks in ((("--output", "v.h5"), "7"), (("--array", "3-5", *auto, "--seed", "%a", "--output", "v%a.h5"), "7_5")):
        words = more if "--" in more else (*auto, *more)
        _, script, err, _ = launch("--launcher", "sbatch", *words)
        for says, told, known in ((end, stamp, ""), ("", "", ""), (end, "99", "99")):
            execute(script, ENDS=says, SLURM_ARRAY_JOB_ID="7", SLURM_ARRAY_TASK_ID="5", SQUEUE_STATES="PD", SLURM_TIME_FORMAT="%d", **({"SLURM_JOB_END_TIME": known} if known else {}))
            check(open("record.end").read() == told, f"{says} {known}: {open('record.end').read()} {script} {err}")
            check(os.path.exists("record.asked") == (not known) and (known or open("record.asked").read() == f"-h -j {asks} -o %e standard\n"), f"{says} {known}: asked otherwise")
            if not known:
                os.remove("record.asked")
    check(b"squeue" not in launch("--launcher", "sbatch", "--", "match", "m.npy", "--max-hours", "2")[1], "a script that nobody asks")


def own_gpus():
    """A container sees the GPUs of its job and no others, and its program knows the job."""
    device = b"--device=nvidia.com/gpu="
    one = ("--", "match", "m.npy")
    given = {"SLURM_JOB_GPUS": "2,5", "CUDA_VISIBLE_DEVICES": "0,1"}  # of a job that is shut in Slurm counts from 0, which a daemon outside does not
    cases = [(given, [b'--gpus="device=2,5"'], [device + b"2", device + b"5"]), ({"CUDA_VISIBLE_DEVICES": "3"}, [b'--gpus="device=3"'], [device + b"3"]),
             ({"CUDA_VISIBLE_DEVICES": "GPU-8a,MIG-1/2"}, [b'--gpus="device=GPU-8a,MIG-1/2"'], [device + b"GPU-8a", device + b"MIG-1/2"])]
    told = [b"--env=" + name for name in (b"OMP_NUM_THREADS", b"SLURM_JOB_ID", b"SLURM_RESTART_COUNT", b"SLURM_JOB_END_TIME", b"OMPI_MCA_rmaps_base_oversubscribe")]

    def check_words(calls, box, gpus, what):
        words = calls[0][1:] if check(len(calls) == 1 and calls[0][0] == box, f"{what}: {calls}") else []
        check([w for w in words if b"gpu" in w] == gpus and all(w in words for w in told) and not any(b"CUDA" in w for w in words), f"{what}: {words}")

    for kind, box in enumerate(("docker", "podman")):
        for env, *gpus in [*cases, ({}, [b"--gpus=all"], [device + b"all"])]:
            _, _, _, calls = launch("--launcher", "mpirun", "--container", f"{box}:i", "--num_gpus", "2", "--run", *one, **env)
            check_words(calls, box, gpus[kind], f"{box} {env}")
        _, _, _, calls = launch("--container", f"{box}:i", "--run", *one, SLURM_JOB_ID="5", **given)  # all that the job has
        check_words(calls, box, cases[0][1 + kind], f"{box} in a job")
        script = launch("--launcher", "sbatch", "--container", f"{box}:i", "--num_gpus", "2", *one)[1]
        check(b'"mesoforge-flight-$SLURM_JOB_ID-*"' in script, "records of this job")
        for env, *gpus in [*cases, ({}, [b'--gpus="device=all"'], [device + b"all"])]:
            check_words(execute(script, **env)[1], box, gpus[kind], f"script of {box} {env}")
        for wrong in ('0"1', "", "-1", "0,,1", "0,"):
            refused(2, "is no list of GPUs", "--launcher", "mpirun", "--container", f"{box}:i", "--num_gpus", "2", *one, CUDA_VISIBLE_DEVICES=wrong)
        _, _, _, calls = launch("--launcher", "mpirun", "--container", f"{box}:i", "--ntasks", "2", "--run", *one, CUDA_VISIBLE_DEVICES="0, 1")
        check_words(calls, box, [], f"{box}: nobody asked for GPUs")
    check(b" --nv " in launch("--container", "apptainer:i", *one, SLURM_JOB_ID="5", **given)[1], "a job that has GPUs")
    told = {b"--env=OMP_NUM_THREADS", b"--env=SLURM_JOB_ID"}  # enroot makes empty ones of those that are not there
    script = launch("--launcher", "sbatch", "--container", "enroot:i", "--mpirun", *one)[1]
    for run in (execute(script, OMP_NUM_THREADS="3")[1], launch("--launcher", "mpirun", "--container", "enroot:i", "--run", *one, OMP_NUM_THREADS="3", SLURM_JOB_ID="5")[3]):
        check(len(run) == 1 and {w for w in run[0][1:] if w.startswith(b"--env") and b"OMPI" not in w} == told, f"enroot: {run}")


def numbered_words():
    """Of an array: the number goes into the words of the verb alone."""
    os.mkdir("arr%ay")
    script = launch("--launcher", "sbatch", "--array", "0-1", "--container", "apptainer:im%age.sif", "--mount", "./arr%ay", "--", "synth", "--seed", "%a", "--output", "v%a.h5")[1].decode()
    check("im%age.sif" in script and f"{folder}/arr%ay:" in script and 'v"$SLURM_ARRAY_TASK_ID".h5' in script, script)
    os.rmdir("arr%ay")


def others_asked():
    """mpirun in a script starts the tasks that the job has, on each node those that Slurm has put there, and in a container those of its node:
    somebody may have made the job smaller or larger (scontrol update, sbatch -n)."""
    def starts(script, *has, **tasks):
        _, calls = execute(script, **tasks)
        line = b" ".join(calls[0][1:]).decode() if check(len(calls) == 1, f"{tasks}: {calls}") else ""
        for part in has:
            check(part in line, f"{tasks}: no '{part}' in {line}")

    two = ("--launcher", "sbatch", "--nodes", "2", "--ntasks-per-node", "2")
    script = launch(*two, "--mpirun", "--", "probe")[1]
    for tasks, ranks in (("2(x2)", 4), ("2", 2), ("2(x4)", 8), ("3,1(x2),4", 9), ("12(x10),7", 127)):
        starts(script, f"-n {ranks} --map-by slot --bind-to none", SLURM_TASKS_PER_NODE=tasks)
    starts(script, "-n 4 --map-by slot --bind-to none")
    starts(script, "-n 8 --map-by slot", SLURM_TASKS_PER_NODE="2(x4)", SLURM_NTASKS="4")  # as it was handed in
    starts(launch("--launcher", "sbatch", "--nodes", "2", "--ntasks", "3", "--mpirun", "--", "probe")[1], "-n 3 --map-by slot", SLURM_TASKS_PER_NODE="2(x2)", SLURM_NTASKS="3")
    script = launch(*two, "--mpirun", "--cpus-per-task", "3", "--", "probe")[1]
    starts(script, "-n 2 --map-by slot:PE=3 --bind-to core", SLURM_TASKS_PER_NODE="2")
    starts(script, "-n 2 --map-by slot:PE=4 --bind-to core", SLURM_TASKS_PER_NODE="2", SLURM_CPUS_PER_TASK="4")
    script = launch("--launcher", "sbatch", "--ntasks", "5", "--container", "docker:i", "--", "probe")[1]
    for tasks, ranks in (("3", 3), ("4(x2)", 4), ("2,1", 2), ("", 5)):
        starts(script, f"-n {ranks} --map-by slot --bind-to none", SLURM_TASKS_PER_NODE=tasks)


numbered_words()
others_asked()
own_gpus()
until_when()
again()
shutil.rmtree(folder)
finish("launch_scripts")
