"""deploy: lines of containers for every server, program and set of GPUs, as deploy_lines.txt has them; what a stand-in for docker, podman and apptainer
gets, and what is said while and after it starts; nothing of a secret stands in a line.
usage: deploy.py MESOFORGE HARDWARE FIXTURES LINES DRIVER; DRIVER: the folder of a driver's library that tells what it is asked to; with MF_GOLDEN=1 the lines are written anew"""
import json
import os
import pwd
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from runs import around, check, finish, machine

PROGRAM, HARDWARE, FIXTURES, LINES, DRIVER = map(os.path.abspath, sys.argv[1:6])
FOLDER = os.path.realpath(tempfile.mkdtemp(prefix="deploy-"))
os.chdir(FOLDER)
for name in ("gpt2", "bert"):
    os.symlink(os.path.join(FIXTURES, name), name)
os.makedirs("wide")  # heads that four GPUs cannot share
with open("wide/config.json", "w") as file:
    json.dump({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 99, "n_positions": 64, "n_embd": 30, "n_layer": 4, "n_head": 3}, file)
os.makedirs("hub/models--a--b/snapshots/5", exist_ok=True)  # a cache of models: files are links
os.makedirs("hub/models--a--b/blobs")
shutil.copy("wide/config.json", "hub/models--a--b/blobs/1")
os.symlink("../../blobs/1", "hub/models--a--b/snapshots/5/config.json")
shutil.copytree("wide", "far")
os.symlink("/proc/version", "far/version")
open("own.safetensors", "w").close()
PARTS = json.load(open(os.path.join(HARDWARE, "l4x4.json")))  # a GPU in parts
PARTS["nodes"][0]["gpus"] = [{**{k: v for k, v in PARTS["nodes"][0]["gpus"][0].items() if k != "count"}, "uuid": f"MIG-{i}0000000-0000-0000-0000-000000000000"} for i in (1, 2)]
PARTS["nodes"][0].pop("links", None)
json.dump(PARTS, open("parts.json", "w"))
PARTS["nodes"][0]["gpus"] = []
json.dump(PARTS, open("cores.json", "w"))
HOOK = {"usr/bin/nvidia-container-runtime-hook": ""}
CONFIG = "etc/nvidia-container-runtime/config.toml"
CDI = {"var/run/cdi/nvidia.yaml": "devices:\n- name: \"0\"\nkind: nvidia.com/gpu\n"}
ROOTS = {"hook": machine(HOOK), "none": machine({"etc/x": ""}), "spec": machine(CDI),
         "auto": machine({**HOOK, **CDI, CONFIG: "#mode = \"cdi\"\n[nvidia-container-runtime]\nmode = \"auto\"\n[nvidia-container-runtime.modes.cdi]\nmode = \"cdi\"\n"}),
         "mode": machine({**HOOK, CONFIG: "[nvidia-container-runtime]\n  mode = \"cdi\"\n"}),
         "both": machine({**HOOK, **CDI, CONFIG: "[nvidia-container-runtime]\nmode = \"cdi\"\n"}),
         "labels": machine({"sys/fs/selinux/enforce": "1"}), "tegra": machine({**HOOK, "etc/nv_tegra_release": "x"})}


def deploy(*words, root="hook", **more):
    env = around("CUDA_", "APPTAINERENV_", "HF_", MF_ROOT=ROOTS[root], **more)
    done = subprocess.run([PROGRAM, "deploy", *words], capture_output=True, text=True, env=env, timeout=60)
    return done.returncode, done.stdout, done.stderr


def line(case):
    words = [word.replace("L4", os.path.join(HARDWARE, "l4x4.json")) for word in shlex.split(case)]
    root = words.pop().removeprefix("root=") if words[-1].startswith("root=") else "hook"
    status, out, err = deploy("--dry-run", *words, root=root)
    check(status == 0, f"{case}: {status} {err}")
    return out.replace(" \\\n   ", "").replace(os.path.realpath(FIXTURES), "FIXTURES").replace(FOLDER, "FOLDER").replace("--allow-run-as-root ", "")


def lines():
    """The file has a case behind every $, and behind it what is printed."""
    cases = [part.split("\n", 1) for part in open(LINES).read().split("$ ")[1:]]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(line, [case for case, _ in cases]))
    for (case, want), got in zip(cases, found):
        if os.environ.get("MF_GOLDEN") != "1":
            check(got == want, f"{case}:\n{got}wanted\n{want}")
    if os.environ.get("MF_GOLDEN") == "1":
        open(LINES, "w").write("".join(f"$ {case}\n{got}" for (case, _), got in zip(cases, found)))
    return found


def parses(found):
    """A client of docker knows every option; it only finds no daemon."""
    if not shutil.which("docker") or "Docker version" not in subprocess.run(["docker", "--version"], capture_output=True, text=True).stdout:
        print("no docker: its parser of options is left out")
        return
    for text in found:
        words = shlex.split(text)
        if words[0] == "docker" and words[1] == "run":
            done = subprocess.run(words, capture_output=True, text=True, env=around("DOCKER_", DOCKER_HOST="tcp://127.0.0.1:1"), timeout=60)
            check("127.0.0.1:1" in done.stderr and "--help" not in done.stderr.replace("Run 'docker run --help'", ""), f"{text}: {done.stderr}")


STAND_IN = '''#!/usr/bin/python3
import http.server, json, os, sys, time
name, words, at = os.path.basename(sys.argv[0]), sys.argv[1:], os.environ["RECORD"]
with open(at, "a") as file:
    file.write(json.dumps([[name, *words], {k: v for k, v in os.environ.items() if "TOKEN" in k}]) + "\\n")
how = os.environ["HOW"]
if "run" in words or "start" in words:
    if how in ("fails", "lacks"):
        sys.exit("no daemon answers")
    print("0123456789abcdef")
    sys.stdout.flush()
    if how != "dies" and os.fork() == 0:
        os.setsid()
        for i in range(3):
            os.close(i)
        begin = time.time()
        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                well = how == "well" and time.time() - begin > 0.5 and self.path == os.environ["HEALTH"]
                self.send_response(200 if well else 503)
                self.end_headers()
            def log_message(self, *more):
                pass
        server = http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Answer)
        open(at + ".pid", "w").write(str(os.getpid()))
        server.serve_forever()
elif "inspect" in words:
    print({"dies": "exited", "fails": "created", "lacks": ""}.get(how, "running"))
elif "--logs" in words: # of an instance that has ended it tells nothing
    open("log.err" if how != "dies" else os.environ["LEFT"], "w").write("its last words\\n")
    print("NAME PID LOGS\\nx 1 " + (os.path.abspath("log.err") if how != "dies" else ""))
elif "list" in words:
    print("" if how == "dies" else words[-1])
elif "logs" in words:
    print("its last words")
'''


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def started(runtime, how, *words, health="/health", **more):
    """(status, out, err, what the stand-in got, its tokens)."""
    record, port = os.path.abspath("record"), free_port()
    for name in (record, record + ".pid"):
        if os.path.exists(name):
            os.remove(name)
    left = f"{FOLDER}/home/.apptainer/instances/logs/{socket.gethostname()}/{pwd.getpwuid(os.getuid()).pw_name}"
    os.makedirs(left, exist_ok=True)
    done = deploy(runtime, "--model", "gpt2", "--devices", "cpu", "--port", str(port), *words, root="none", PATH=f"{FOLDER}/bin:/usr/bin:/bin",
                  RECORD=record, HOW=how, PORT=port, HEALTH=health, HOME=f"{FOLDER}/home", LEFT=f"{left}/mesoforge-mesoforge-{port}.err", **more)
    if os.path.exists(record + ".pid"):
        os.kill(int(open(record + ".pid").read()), 9)
    calls = [json.loads(text) for text in open(record)] if os.path.exists(record) else []
    return (*done, [call for call, _ in calls], [tokens for _, tokens in calls], port)


def starts():
    os.makedirs("bin")
    for name in ("docker", "podman", "apptainer"):
        with open(f"bin/{name}", "w") as file:
            file.write(STAND_IN)
        os.chmod(f"bin/{name}", 0o755)
    status, out, err, calls, tokens, port = started("docker", "well", "--env", "HF_TOKEN=canary", "DB_PASS=canary", "MAX_TOTAL_TOKENS=7")
    check(status == 0 and calls[0][:3] == ["docker", "run", "--detach"] and f"http://127.0.0.1:{port}\n" in out, f"it starts: {status} {out} {err}")
    check(out.count("curl") == 2 and "/generate" in out and "/v1/completions" in out and f"--stop mesoforge-mesoforge-{port}" in out, out)
    check("canary" not in out + err + str(calls) and tokens[0].get("HF_TOKEN") == "canary" and "--env=HF_TOKEN" in calls[0], "a secret goes by the environment")
    check("--env=MAX_TOTAL_TOKENS=7" in calls[0], calls)
    check(not [call for call in calls if "all" in " ".join(call)], "never all GPUs")
    status, out, err, calls, tokens, port = started("apptainer", "well", "--env", "HF_TOKEN=canary", "--json")
    told = json.loads(out)
    check(status == 0 and calls[0][:3] == ["apptainer", "instance", "start"] and tokens[0].get("APPTAINERENV_HF_TOKEN") == "canary" and "canary" not in str(calls), calls)
    check(told["url"] == f"http://127.0.0.1:{port}" and len(told["requests"]) == 2, out)
    status, out, err, *_ = started("podman", "well", "--api-type", "vllm", "--json")
    check(status == 0 and json.loads(out)["requests"][0][1].endswith("/v1/completions"), f"{out} {err}")
    for runtime in ("docker", "apptainer"):
        status, out, err, calls, *_ = started(runtime, "dies")
        check(status == 4 and "its last words" in err and "has ended" in err and not out, f"{runtime} dies: {status} {err}")
        status, out, err, calls, *_ = started(runtime, "sick", "--wait", "1")
        check(status == 4 and "its last words" in err and "not healthy within 1 s" in err and not out, f"{runtime} is sick: {status} {err}")
    status, out, err, calls, _, port = started("docker", "fails")
    check(status == 4 and "no daemon answers" in err and f"ends with status 1 and starts no server; its reason is above; it left a container, which is removed by: mesoforge deploy docker --stop mesoforge-mesoforge-{port}" in err, err)
    status, out, err, *_ = started("docker", "lacks")
    check(status == 4 and "its image is made by: docker build -t mesoforge -f packaging/Dockerfile ." in err, err)
    status, out, err, calls, *_ = started("docker", "sick", "--wait", "0")
    check(status == 0 and len(calls) == 1, err)


def numbers():
    """GPUs of this machine by the driver's numbers, whatever CUDA calls them."""
    for visible, devices, want in (("3,5", ["cuda:1"], "5"), ("3,5", [], "3,5"), (None, ["cuda:6", "cuda:2"], "6,2")):
        more = {"CUDA_VISIBLE_DEVICES": visible} if visible else {}
        status, out, err = deploy("docker", "--model", "gpt2", "--dry-run", "--json", *(["--devices", *devices] if devices else []), LD_LIBRARY_PATH=DRIVER, FAKE_NVML_GPUS="8", FAKE_NVML_KIND="h100", **more)
        check(status == 0 and json.loads(out)["devices"] == want, f"{visible} {devices}: {out} {err}")


def others():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        status, out, err = deploy("docker", "--model", "gpt2", "--devices", "cpu", "--port", str(taken.getsockname()[1]), PATH=f"{FOLDER}/bin:/usr/bin:/bin", RECORD="r", HOW="fails")
        check(status == 4 and "cannot be taken" in err and not os.path.exists("r") and not out, f"a port that is taken: {err}")
    status, out, err = deploy("docker", "--model", "gpt2", "--devices", "cpu", "--port", str(free_port()), PATH=f"{FOLDER}/empty")
    check(status == 4 and out.startswith("docker run --detach") and "cannot be started" in err, f"no runtime: {status} {out} {err}")
    record = os.path.abspath("record.stop")
    env = {"PATH": f"{FOLDER}/bin:/usr/bin:/bin", "RECORD": record, "HOW": "well"}
    for runtime, want in (("docker", [["stop", "a"], ["rm", "a"]]), ("podman", [["stop", "a"], ["rm", "a"]]), ("apptainer", [["instance", "stop", "a"]])):
        status, out, err = deploy(runtime, "--stop", "a", "--dry-run", **env)
        check(status == 0 and out.split("\n")[:-1] == [shlex.join([runtime, *words]) for words in want] and not os.path.exists(record), out)
        status, out, err = deploy(runtime, "--stop", "a", **env)
        got = [json.loads(text)[0] for text in open(record)]
        os.remove(record)
        check(status == 0 and got == [[runtime, *words] for words in want], f"{got} {err}")
    status, out, err = deploy("--detect-only", "--json", "--hardware", os.path.join(HARDWARE, "l4x4.json"), root="both", PATH=f"{FOLDER}/bin:/usr/bin:/bin")
    told = json.loads(out)
    check([d["name"] for d in told["devices"]] == ["cuda:0", "cuda:1", "cuda:2", "cuda:3", "cpu"], out)
    check([r["gpus"] for r in told["runtimes"]] == ["--device nvidia.com/gpu=", "--device nvidia.com/gpu=", "--nv"], out)
    status, out, err = deploy("--detect-only")
    check(status == 0 and "cpu" in out and "docker" in out, f"{out} {err}")


found = lines()
parses(found)
starts()
numbers()
others()
shutil.rmtree(FOLDER)
finish("deploy")
