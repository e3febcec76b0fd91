"""report: a page with everything inside, of measurements and of runs; bad input leaves no page.

    report.py PROGRAM MPIEXEC
"""
import base64
import html
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import time

import runs
from runs import check, finish
from samples import np

program, mpiexec = os.path.abspath(sys.argv[1]), sys.argv[2]
TIME = {"min": 1e-5, "median": 2e-5, "max": 4e-5, "samples": 9, "calls": 3}


def measurements(name, ranks, bare=True):
    """A file of bench with every kind of measurement."""
    net = [{"bytes": 8 << 3 * k, "count": 2 << 3 * k, "seconds": TIME, **({"bare_seconds": {**TIME, "median": 1e-5}} if bare else {}), "algorithm_bandwidth": 1e8 * 2**k,
            "bus_bandwidth": 1.5e8 * 2**k, "wrong": 0} for k in range(4)]
    points = [{"ranks": r, "shape": [64, 64, 64], "seconds": 1 / r, "samples": [1 / r], "speedup": float(r), "efficiency": 1.0}
              for r in (1, 2, 4)]
    kernels = [{"kernel": "S2", "calls": 4, "seconds": 0.002, "bandwidth": 5e9, "rate": 7e9, "share_of_memory": 0.25,
                "share_of_fp32": 0.5}]
    tokens = [{"requests": n, "prompt_tokens_per_second": 411.0, "tokens_per_second": 30.0 * n, "first_token_seconds": 1.5 * n, "step_seconds": 0.04,
               "step_seconds_95": 0.05, "bytes_per_token": 5e8 / n, "read_rate": 2e10 if bare else None, "share_of_read_rate": 0.625 if bare else None} for n in (1, 8)]
    ways = {k: TIME for k in ("seconds", "hdf5_seconds", "raw_seconds")}
    with open(name, "w") as file:
        json.dump({"hosts": ["<first>"] * ranks, "ranks": ranks, "threads": 1, "device": "cpu", "mpi": "none", "build": "a & b",
                   "measured": [{"what": "allreduce", "redop": "sum", "rows": net},
                                {"what": "reconstruct", "scaling": "strong", "threads": 1, "rows": points},
                                {"what": "reconstruct", "scaling": "weak", "threads": 1, "rows": points},
                                {"what": "kernels", "shape": [64, 64, 64], "rows": kernels},
                                {"what": "infer", "model": "tiny", "rows": tokens},
                                {"what": "io", "shape": [64, 64, 64], "bytes": 64**3, "write": ways, "read": ways, "wrong": 0}]}, file)


def cells(page):
    return [html.unescape(c) for c in re.findall(r"<td>(.*?)</td>", page)]


def check_page(name, pictures):
    with open(name) as file:
        page = file.read()
    images = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    check(len(images) == pictures, f"{name}: {len(images)} pictures, not {pictures}")
    check(all(base64.b64decode(i, validate=True).startswith(b"\x89PNG") for i in images), f"{name}: a picture is none")
    outside = re.sub(r'src="data:[^"]+"', "", page)
    check("http" not in outside and "src=" not in outside, f"{name}: it needs the network")
    check(page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>"), f"{name}: no whole page")
    return outside


def measured():
    measurements("one.json", 2)
    measurements("two.json", 3)
    status, _, err = runs.run(program, "report", "one.json", "two.json", "--output", "bench.html", "--title", "a < b")
    check(status == 0, f"report: {status} {err}")
    page = check_page("bench.html", 4)  # all-reduce, speedup, efficiency, tokens: both files in each
    check("<title>a &lt; b</title>" in page and "&lt;first&gt;" in page and "<first>" not in page, "escaped texts")
    found = cells(page)
    check({"64 x 64 x 64", "20.00", "0.150", "500.00", "25.0 %", "5.00", "13.107", "411.0", "240.00", "12.0000", "62.5 %"} <= set(found), f"cells: {found}")
    pictures = []  # the curve of MPI alone is in the first one, and in no other
    for bare in (True, False):
        measurements("one.json", 2, bare)
        runs.run(program, "report", "one.json", "--output", "bare.html")
        with open("bare.html") as file:
            pictures.append(re.findall(r'src="data:image/png;base64,([^"]+)"', file.read()))
    check([a == b for a, b in zip(*pictures)] == [False, True, True, True], "MPI alone in the pictures")
    check(page.count("<h2>") == 7, f"{page.count('<h2>')} sections")


def ran():
    name = "a&b.h5"
    run = runs.run(program, "synth", "--size", 24, 24, "--output", "t.npy")
    check(run.status == 0, run.err)
    run = runs.run(program, "match", "t.npy", "--limit_to", 4, "--max_iter", 5, "--polish_rounds", 1, "--output", name)
    check(run.status == 0, run.err)
    said = runs.measure(program, "report", name, "metrics.jsonl", "t.npy", "--output", "run.html", ranks=2, mpiexec=mpiexec)
    check(said == {"output": "run.html"}, f"{said}")
    page = check_page("run.html", 3)
    check("<h2>a&amp;b.h5</h2>" in page and "mesoforge match" in page, "what was run")
    check({"match", "5", "plan: exchange"} <= set(cells(page)), f"{cells(page)}")
    check("plan: batch" not in cells(page) and ("batch", "0") not in list(zip(cells(page), cells(page)[1:])), "a batch that is none")
    run = runs.run(program, "match", "t.npy", "--limit_to", 4, "--max_iter", 1, "--batch_size", 4, "--polish_rounds", 0, "--output", "four.h5", ranks=2, mpiexec=mpiexec)
    check(run.status == 0 and runs.run(program, "report", "four.h5", "--output", "four.html").status == 0, run.err)
    page = check_page("four.html", 1)
    check(("batch", "4") in list(zip(cells(page), cells(page)[1:])), f"slices in flight: {cells(page)}")
    left = [f for f in os.listdir(".") if "run.html" in f and f != "run.html"]
    check(left == [], f"files stay: {left}")


def conducted():
    """What properties found of one file and of several, among other files: a picture, and the numbers."""
    volume = np.random.default_rng(1).integers(0, 2, (8, 9, 10), np.uint8)
    volume[:, :, 4] = 0
    np.save("volume.npy", volume)
    np.save("open.npy", 1 - volume)
    for name, words in (("one.properties.json", ["volume.npy", "--error-bars"]), ("some.properties.json", ["volume.npy", "open.npy"])):
        done = runs.run(program, "properties", *words, "--conductivity", 0, 3, "--output", name)
        check(done.status == 0, f"{done}")
    done = runs.run(program, "report", "one.json", "some.properties.json", "t.npy", "one.properties.json", "--output", "k.html", ranks=2, mpiexec=mpiexec)
    check(done.status == 0, f"{done}")
    page = check_page("k.html", 7)  # four of bench
    check(page.index("<h2>some.properties.json") < page.index("<h2>t.npy") < page.index("<h2>one.properties.json"), "sections in their order")
    rows = re.findall(r"<tr>(.*?)</tr>", page)
    one, some = (json.load(open(f"{name}.properties.json")) for name in ("one", "some"))
    for axis in "zy":
        error = one["conductivity"]["error"]
        want = ["volume.npy", axis, f"{one['conductivity'][axis]:.6g}", *(f"{error[part][axis]:.2g}" for part in ("solver", "grid", "sample")),
                *(f"{one[key][axis]:.5g}" for key in ("tortuosity_factor", "tortuosity_factor_carrying", "formation_factor"))]
        check(want in [cells(row) for row in rows], f"{want} in {rows}")
        want = [axis, f"{some['mean'][axis]:.6g}", f"{some['interval'][axis]:.2g}", f"{some['deviation'][axis]:.3g}"]
        check(want in [cells(row) for row in rows], f"{want} in {rows}")
    check(["volume.npy", "x", "0", "0", *5 * "-"] in [[c.replace("inf", "-") for c in cells(row)] for row in rows], f"no way through: {rows}")
    check(["Wiener", "all axes", *(f"{b:.5g}" for b in some["bounds"]["wiener"])] in [cells(row) for row in rows], f"bounds: {rows}")


def stiff():
    """The same of moduli."""
    words = ("--young", 1, 8, "--poisson", 0.3, 0.2)
    done = [runs.run(program, "properties", "volume.npy", *more, *words, "--output", name) for name, more in (("one.json", ["--error-bars"]), ("some.json", ["open.npy"]))]
    check(all(one.status == 0 for one in done), f"{done}")
    done = runs.run(program, "report", "one.json", "some.json", "--output", "stiff.html")
    check(done.status == 0, f"{done}")
    rows = [cells(row) for row in re.findall(r"<tr>(.*?)</tr>", check_page("stiff.html", 2))]
    one, some = json.load(open("one.json")), json.load(open("some.json"))
    c = one["stiffness"]
    for want in (["volume.npy", *(f"{c['isotropic'][key]:.6g}" for key in ("bulk", "shear", "young", "poisson")), f"{c['isotropic']['distance']:.2g}"],
                 ["xz", *(f"{value:.5g}" for value in c["matrix"][4])], ["Reuss and Voigt", "shear", *(f"{c['bounds'][name]['shear']:.5g}" for name in ("reuss", "voigt"))],
                 ["Young's", f"{some['mean']['young']:.6g}", f"{some['interval']['young']:.2g}", f"{some['deviation']['young']:.3g}"]):
        check(want in rows, f"{want} in {rows}")


def folders():
    """A folder stands for the log of its run; one without is refused, with what is wanted."""
    os.makedirs("of_run", exist_ok=True)
    os.makedirs("of_nothing", exist_ok=True)
    shutil.copy("metrics.jsonl", "of_run")
    for word in ("of_run", "of_run/"):
        done = runs.run(program, "report", word, "t.npy", "--output", "folder.html", ranks=2, mpiexec=mpiexec)
        check(done.status == 0 and check_page("folder.html", 2), f"report {word}: {done}")
    for more in ([], ["--dry-run"]):  # and no folder of results is left
        runs.refuses(program, [(3, ["report", "t.npy", "of_nothing", *more], "'of_nothing' is a folder without the metrics.jsonl of a run; name files")], ranks=(1, 2), mpiexec=mpiexec)


def dry():
    """What it would write, and nothing written."""
    with open("old.html", "w") as file:
        file.write("mine")
    done = runs.run(program, "report", "one.json", "t.npy", "--dry-run", "--output", "old.html")
    check(done.status == 0 and "old.html: a page of 2 files; nothing is written" in done.out, f"{done}")
    done = runs.run(program, "report", "t.npy", "--dry-run", "--json", ranks=2, mpiexec=mpiexec)
    check(json.loads(done.out) == {"dry_run": True, "output": "results/report.html"}, f"{done}")
    check(open("old.html").read() == "mine" and not os.path.exists("results"), "a dry run writes")
    runs.refuses(program, [(3, ["report", "gone.npy", "--dry-run"], "gone.npy"), (3, ["report", "other.json", "--dry-run"], "is no file of bench --output")], ranks=(1, 2), mpiexec=mpiexec)


def read_as_view_does():
    """Labels of another kind, grey pictures, and an array of a file."""
    np.save("gap.npy", np.array([-3, 4, 11])[np.arange(144).reshape(12, 12) % 3])
    np.save("grey.npy", np.arange(144, dtype="f4").reshape(12, 12))
    for words in (["a&b.h5:/microstructure/phase"], ["gap.npy", "--labels", -3, 4, 11], ["grey.npy", "--threshold", "otsu"]):
        done = runs.run(program, "report", *words, "--output", "read.html")
        check(done.status == 0, f"report {words}: {done.err}") and check_page("read.html", 1)


def full_disk():
    """What the verbs behind a page have to say fits no disk either: the disk is named, not the sound file."""
    os.mkdir("disk")
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "disk"], capture_output=True).returncode:
        print("full disk: skipped (cannot mount)")
        return
    try:
        with open("disk/all", "wb") as file:
            file.write(bytes(64 << 10))
        done = runs.run(program, "report", "t.npy", "--output", "disk/r.html")
        check(done.status == 7 and "0 are free on its disk" in done.err and "cannot be reported" not in done.err, f"full disk: {done}")
        check(os.listdir("disk") == ["all"], f"left behind: {os.listdir('disk')}")
    finally:
        subprocess.run(["umount", "disk"])


def on_terminal(*words):
    """What a terminal gets of a command."""
    near, far = pty.openpty()
    job, text = subprocess.Popen([program, *words], stdout=far, stderr=far), b""
    os.close(far)
    try:
        while part := os.read(near, 65536):
            text += part
    except OSError:  # it has ended
        pass
    os.close(near)
    return job.wait(60), text.decode()


def followed():
    """Rows as they come, without those that are half written; the end by the lock of the output, or by the row of the end."""
    os.mkdir("live")
    with open("live/metrics.jsonl", "w") as file:
        def row(end="\n", **keys):
            file.write(json.dumps({"output": "m.safetensors", **keys}) + end)
            file.flush()

        row(kind="step", step=1, loss=2.5)
        with runs.locked("live/.m.lock", "process 1 on elsewhere", "m.safetensors"):
            job = subprocess.Popen([program, "report", "--follow", "live"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            check(job.stdout.readline() == "step: step 1, loss 2.5\n", "the first row")
            row(end="", kind="epoch", step=2, epoch=1, loss=None)
            time.sleep(1.5)
            file.write("\n")
            file.flush()
            check(job.stdout.readline() == "epoch: step 2, epoch 1, loss -\n", "a row in two parts")
            check(job.poll() is None, "it ends while the run works")
            file.truncate(0)
            file.seek(0)
            row(step=1, loss=0.125)
            check(job.stdout.readline() == "step 1, loss 0.125\n", "rows that are written again")
            with open("live/other", "w") as other:
                for step in (7, 8):
                    other.write(json.dumps({"output": "m.safetensors", "step": step}) + "\n")
            os.link("live/metrics.jsonl", "live/kept")
            os.rename("live/other", "live/metrics.jsonl")
            check([job.stdout.readline() for _ in range(2)] == ["step 7\n", "step 8\n"], "a longer file in its place")
            os.rename("live/kept", "live/metrics.jsonl")
            check(job.stdout.readline() == "step 1, loss 0.125\n", "the first file again")
            open("live/m.ckpt-b.h5", "w").close()
        said = job.communicate(timeout=60)
        check(job.returncode == 0 and said[0] == "" and "stopped or killed before its end, and left a checkpoint" in said[1], f"a run that was stopped: {said}")
        os.remove("live/m.ckpt-b.h5")
        with runs.locked("live/.m.lock", "process 1 on elsewhere", "m.safetensors"):
            job = subprocess.Popen([program, "report", "--follow", "live"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            job.stdout.readline()
        said = job.communicate(timeout=60)
        check("the run is gone" in said[1], f"a run that was killed: {said}")
        row(kind="end", step=1)
    for ranks in (1, 2):
        done = runs.run(program, "report", "--follow", "live/metrics.jsonl", "--json", ranks=ranks, mpiexec=mpiexec)
        check(done.status == 0 and done.out == open("live/metrics.jsonl").read() and done.err.count("the run has ended") == 1, f"a run that has ended, --json: {done}")
    status, text = on_terminal("report", "--follow", "live")
    check(status == 0 and re.search(r"m.safetensors\r\n +step +loss\r\n +1 +0.125\r\n +step\r\nend +1\r\n.*the run has ended\r\n$", text), "the table of a terminal")
    with open("kinds.jsonl", "w") as file:
        for kind in [*range(63), *["epoch"] * 8, "end"]:
            file.write(json.dumps({"output": "m", "kind": str(kind), "a": "x" + 50 * "é", "b": 50 * "é", "step": 1}) + "\n")
    status, text = on_terminal("report", "--follow", "kinds.jsonl")
    check(status == 0 and "62 " in text, f"more kinds of rows than a table keeps: {status}")
    with open("live/metrics.jsonl", "a") as file:
        file.write("mine\n")
    runs.refuses(program, [(3, ["report", "--follow", "live"], "no file of metrics: it has the line 'mine"), (2, ["report", "--follow", "live", "live"], "--follow needs one run"),
                           (2, ["report", "--follow", "live", "--dry-run"], "contradict"), (3, ["report", "--follow", "gone"], "cannot read 'gone': No such file or directory; a run makes its folder")], mpiexec=mpiexec)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    followed()
    measured()
    ran()
    conducted()
    stiff()
    measurements("one.json", 2)
    folders()
    read_as_view_does()
    full_disk()
    with open("other.json", "w") as file:
        file.write("{}")
    with open("strange.json", "w") as file:
        file.write('{"measured": [{"what": "nothing", "rows": []}]}')
    with open("empty.json", "w") as file:
        file.write('{"measured": [], "conductivity": {}, "files": [{"conductivity": 1}]}')
    dry()
    runs.refuses(program, [
        (2, ["report"], "report needs files"),
        (2, ["report", "one.json", "--output", "page.pdf"], ".html"),
        (3, ["report", "other.json"], "is no file of bench --output"),
        (3, ["report", "empty.json"], "is no file of bench --output"),
        (3, ["report", "strange.json"], "the measurement 'nothing'"),
        (3, ["report", "gone.json"], "gone.json"),
        (3, ["report", "gone.npy"], "gone.npy"),
    ], ranks=(1, 2), mpiexec=mpiexec)
    failed = runs.run(program, "report", "t.npy", "--output", "failed.html", fault="memory:visit=1")
    check(failed.status == 5 and "no memory" in failed.err, f"the status of the verb that failed: {failed}")
    check(not os.path.exists("report.html") and not os.path.exists("results/report.html"), "a page of nothing")
finish("report")
