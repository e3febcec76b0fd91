"""probe as a user sees it: the table, the JSON that comes back as a hardware file, GPUs that a library stands in for,
who takes which, and what is refused. usage: probe.py MESOFORGE MPIEXEC FOLDER_OF_THE_LIBRARY READER"""
import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time

import runs
from runs import around, check, finish

program, mpiexec, library, reader = sys.argv[1:5]
LITTLE = ("--memory-limit", 100)  # gigabytes of fresh pages take seconds


def run(*words, ranks=1, gpus=None, **more):
    """(status, standard output, standard error); gpus: settings of the library, None: none is there."""
    if gpus is not None:
        more = {"LD_LIBRARY_PATH": library + ":" + os.environ.get("LD_LIBRARY_PATH", ""),
                **{"FAKE_NVML_" + k.upper(): v for k, v in gpus.items()}, **more}
    return runs.run(program, "probe", *words, ranks=ranks, mpiexec=mpiexec, timeout=60,
                    env=around("FAKE_NVML", "CUDA_", "SLURM_", **more))


def complaints(err):
    return [line for line in err.splitlines() if line.startswith("mesoforge: ")]


def refuses(result, part, what):
    status, _, err = result
    lines = complaints(err)
    check(status == 4 and len(lines) == 1 and part in lines[0], f"{what}: {status} {lines}")


def table_of(out):
    """Rows of the ranks."""
    return out.split("network ")[1].split("settings of ")[0].splitlines()[1:]


def settings():
    """It ends with the settings of the training guide: its example is four L4."""
    status, out, _ = run(gpus={"gpus": 4, "kind": "l4"})
    said = dict(line.strip().split("  ", 1) for line in out.split("settings of ")[1].splitlines()[1:])
    want = {"GPUs": "4", "batch size of a GPU": "16", "gradient accumulation": "4", "effective batch size": "256", "mixed precision (fp16)": "on", "gradient checkpointing": "on", "ZeRO stage": "2"}
    check(status == 0 and all(said[key].strip() == value for key, value in want.items()) and "of the smallest" in said["GPU memory"], f"four L4: {said}")
    check("gpu 0     NVIDIA L4: " in out and "free, capability 8.9" in out, f"name, memory, free, capability: {out}")
    status, out, _ = run("--json", gpus={"gpus": 4, "kind": "l4"}, CUDA_VISIBLE_DEVICES="1")
    check((status, json.loads(out)["settings"]["gradient_accumulation_steps"], json.loads(out)["settings"]["zero"]) == (0, 16, 0), f"one of them: {out}")


def no_gpu():
    has_one = "libnvidia-ml.so.1" in subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout
    for ranks in (1, 3):
        status, out, err = run("--json", ranks=ranks)
        check(status == 0 and not complaints(err), f"probe on {ranks}: {status} {err}")
        seen = json.loads(out)
        check(seen["schema"] == "hardware" and seen["schema_version"] == 1 and len(seen["nodes"]) == 1, "head")
        node = seen["nodes"][0]
        check(1 <= node["cores"] <= os.cpu_count() and node["ram_bytes"] > 2**26, f"node {node}")
        check([r["rank"] for r in seen["ranks"]] == list(range(ranks)), "ranks")
        check(seen["launcher"]["kind"] == ("mpirun" if ranks > 1 else "none"), f"launcher {seen['launcher']}")
        cores = {c for r in seen["ranks"] for c in r["core_list"].split(",")}
        check(cores and all(c.replace("-", "").isdigit() for c in cores) and all("nic" in r for r in seen["ranks"]), f"cores {cores}")
        pmix = seen["launcher"]["pmix"]
        check((pmix is None) == (ranks == 1) and (ranks == 1 or pmix["local_size"] == ranks), f"PMIx {pmix}")
        check(all(seen["versions"][k] for k in ("mpi", "hdf5", "fftw")), f"versions {seen['versions']}")
        if not has_one:
            check(node["gpus"] == [] and seen["versions"]["driver"] is None, "no GPU")
            check("no NVIDIA driver" in seen["remarks"][0]["text"], f"remark {seen['remarks']}")
    status, out, _ = run("--measure", "--json", *LITTLE)
    node = json.loads(out)["nodes"][0]
    check(status == 0 and node["memory_gb_per_s"] > 0.1 and node["fp32_tflop_per_s"] > 1e-4, f"measured {node}")


def with_gpus():
    status, out, _ = run("--json", gpus={"gpus": 8})
    seen = json.loads(out)
    gpus = seen["nodes"][0]["gpus"]
    check(status == 0 and len(gpus) == 8 and gpus[0]["sms"] == 132 and gpus[7]["compute_capability"] == "9.0", "8 GPUs")
    check(seen["nodes"][0]["links"]["kind"] == "nvlink" and seen["versions"]["cuda"] == "12.8", "links, versions")
    check(seen["ranks"][0]["gpu"] == 0 and seen["ranks"][0]["visible_gpus"] == list(range(8)), "rank 0")
    status, out, _ = run(ranks=3, gpus={"gpus": 4, "kind": "mixed"})
    check(status == 0 and "links" in out, f"table: {out}")
    rows = [line.split() for line in table_of(out)]
    check([(row[0], row[3], row[-1][:5]) for row in rows] == [(str(i), str(i), f"GPU-{i}") for i in range(3)], f"ranks: {out}")
    status, out, _ = run("--json", "--gpu_ids", "3,1", ranks=2, gpus={"gpus": 4}, CUDA_VISIBLE_DEVICES="3,2,1,0")
    check([r["gpu"] for r in json.loads(out)["ranks"]] == [0, 2], "--gpu_ids count as CUDA does")
    for value, want in (("1", [1]), ("", []), ("-1", []), ("2,-1,0", [2]), ("GPU-3", [3]), ("0,0", []), ("1,9", [1])):
        status, out, _ = run("--json", gpus={"gpus": 4}, CUDA_VISIBLE_DEVICES=value)
        seen = json.loads(out)
        check(status == 0 and seen["ranks"][0]["visible_gpus"] == want, f"CUDA_VISIBLE_DEVICES={value}: {seen['ranks']}")
        hidden = [i for i, g in enumerate(seen["nodes"][0]["gpus"]) if g.get("hidden")]
        check(hidden == [i for i in range(4) if i not in want], f"hidden {hidden}")
    status, out, _ = run("--json", gpus={"gpus": 2, "mig": "1:3"}, CUDA_VISIBLE_DEVICES="MIG-12")
    seen = json.loads(out)
    names = [seen["nodes"][0]["gpus"][i]["uuid"] for i in seen["ranks"][0]["visible_gpus"]]
    check(status == 0 and len(names) == 1 and names[0].startswith("MIG-12"), f"part {names}")


def broken_drivers():
    for gpus, part in (({"init": 18}, "different versions"), ({"init": 9}, "module is not loaded"),
                       ({"gpus": 4, "gpu": "1:15"}, "GPU 1 (as nvidia-smi counts) is lost"), ({"gpus": 0}, "finds no GPU")):
        status, out, err = run(ranks=3, gpus=gpus)
        check(status == 0 and out.count(part) == 1, f"{gpus}: {status} {out}{err}")
    with tempfile.TemporaryDirectory() as folder:
        open(os.path.join(folder, "libnvidia-ml.so.1"), "w").close()
        status, out, _ = run("--json", LD_LIBRARY_PATH=folder + ":" + os.environ.get("LD_LIBRARY_PATH", ""))
        check(status == 0 and "too short" in json.loads(out)["remarks"][0]["text"], f"a library that is none: {out}")


def refused():
    result = run(ranks=3, gpus={"gpus": 2})
    refuses(result, "2 ranks (0, 2) would take one GPU, GPU-0", "two on one")
    check("<- shared" in result[2] and table_of(result[1])[-1].split()[0] == "2", f"its table: {result[2]}")
    status, out, err = run("--json", ranks=3, gpus={"gpus": 2})
    check(status == 4 and "would take one GPU" in json.loads(out)["refusal"], "refusal in JSON")
    status, out, err = run("--share-gpu", "--json", ranks=3, gpus={"gpus": 2})
    check(status == 0 and [r["gpu"] for r in json.loads(out)["ranks"]] == [0, 1, 0], f"--share-gpu: {err}")
    for ranks in (1, 3):
        refuses(run("--gpu_ids", "5", ranks=ranks, gpus={"gpus": 4}), "--gpu_ids 5: rank 0 on", "id that is not there")
        refuses(run("--gpu_ids", "0", ranks=ranks, gpus={"gpus": 0}), "sees no GPU", "--gpu_ids without GPUs")
    for device, part in (("cuda", "sees 0 GPUs"), ("cuda:0", "sees 0 GPUs, counted from 0")):
        status, out, err = run("--device", device, "--json", gpus={"gpus": 0})
        check(status == 4 and part in json.loads(out)["refusal"] and part in err, f"{device} where there is none: {status} {err}")
    refuses(run("--device", "cuda:4", gpus={"gpus": 4}), "sees 4 GPUs, counted from 0", "cuda:4 of 4")
    status, out, _ = run("--device", "cuda:3", "--json", gpus={"gpus": 4})
    check(status == 0 and json.loads(out)["ranks"][0]["gpu"] == 3, "cuda:3 of 4")
    status, _, err = run("--gpu_ids", "0", "0", "1", gpus={"gpus": 4})
    check(status == 2 and "names GPU 0 twice" in err, f"an id twice: {status} {err}")


def files():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "here.json")
        status, out, err = run("--json", "--output", path, ranks=3, gpus={"gpus": 4, "kind": "l4"})
        check(status == 0 and json.load(open(path)) == json.loads(out), f"--output: {err}")
        check(os.listdir(folder) == ["here.json"], "nothing else is left")
        for more in ([], ["--measure", *LITTLE]):
            status, out, _ = run("--output", path, *more, gpus={"gpus": 8, "mig": "1:2"})
            read = subprocess.run([reader, "--read", path], capture_output=True, text=True)
            check(status == 0 and read.returncode == 0, f"our own reader: {read.stderr}")
        with open(path, "w") as file:
            file.write("mine")
        status, out, err = run("--dry-run", "--json", "--output", path)
        check(status == 0 and json.loads(out)["nodes"] and open(path).read() == "mine", f"--dry-run writes: {err}")
        status, _, err = run("--dry-run", "--measure")
        check(status == 2 and len(complaints(err)) == 1, f"--dry-run and --measure: {status} {err}")
        status, _, err = run("--output", "/dev/null/x.json")
        check(status == 7 and len(complaints(err)) == 1, f"a folder that is none: {status} {err}")


def watched():
    """Lines of a pipe, a table on a terminal, objects with --json; it ends in time, by a signal, and where nobody reads."""
    status, out, err = run("--watch", "0.2s", "--max-hours", 0.9 / 3600, ranks=3, gpus={"gpus": 2}, CUDA_VISIBLE_DEVICES="1")
    rows = list(csv.DictReader(io.StringIO(out)))
    columns = list(rows[0])
    looks = sorted({row["time"] for row in rows})
    check(status == 0 and 3 <= len(looks) <= 5, f"looks: {status} {looks} {err}")
    last = [row for row in rows if row["time"] == looks[-1]]
    cores, gpu = last[0], last[1]
    check([row["device"] for row in last] == ["cores"] + ["gpu1"] * 5, f"a GPU that three ranks see, four programs on it: {last}")
    check(0 <= float(cores["use"]) <= 100 and 0 < float(cores["memory"]) < float(cores["total"]), f"cores: {cores}")
    check([gpu[k] for k in ("pid", "use", "memory", "total", "celsius", "watts")] == ["", "87.0", str(600 << 20), str(81559 << 20), "61", "243.4"], f"GPU: {gpu}")
    programs = {row["program"]: row["memory"] for row in last[2:]}
    check(programs == {"mesoforge": str(500 << 20), "": ""}, f"programs: {programs}")
    status, out, _ = run("--watch", "0.1s", "--max-hours", 0.05 / 3600, "--json", gpus={"gpus": 1})
    rows = [json.loads(line) for line in out.splitlines()]
    check(status == 0 and [r["device"] for r in rows] == ["cores", "gpu0", "gpu0", "gpu0"] and rows[0]["use"] is None and all(list(r) == columns for r in rows), f"--json: {out}")
    near, far = pty.openpty()
    job = subprocess.Popen([program, "probe", "--watch", "0.1s"], stdout=far, stderr=far)
    os.close(far)
    text = b""
    while text.count(b"\x1b[H\x1b[J") < 3:
        text += os.read(near, 4096)
    job.send_signal(signal.SIGINT)
    check("node" in text.decode() and "cores" in text.decode() and job.wait(60) == -signal.SIGINT, f"table: {text[-400:]}")
    job = subprocess.Popen([program, "probe", "--watch", "0.1s"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(job.stdout.readline().startswith("time,node,device,pid,program"), "no header")
    job.stdout.readline()
    job.send_signal(signal.SIGSTOP)
    time.sleep(1)
    job.send_signal(signal.SIGCONT)
    looks = [float(job.stdout.readline().split(",")[0]) for _ in range(8)]
    check(looks[7] - looks[0] > 0.3, f"it makes up for looks while it was stopped: {looks}")
    job.stdout.close()
    check(job.wait(60) != 0, "it goes on where nobody reads")
    for words, part in ((["--watch", "1"], "write it as 1s"), (["--watch", "0.01s"], "from 0.1s"), (["--max-hours", "1"], "for --watch alone"), (["--watch", "1s", "--measure"], "contradict"),
                        (["--watch", "1s", "--dry-run"], "contradict"), (["--watch", "1s", "--output", "h.json"], "contradict"), (["--watch", "1s", "--max-hours", "x"], "--max-hours 'x'")):
        status, _, err = run(*words)
        check(status == 2 and part in err and len(complaints(err)) == 1, f"{words}: {status} {err}")


no_gpu()
watched()
settings()
with_gpus()
broken_drivers()
refused()
files()
finish("probe")
