"""serve: a network of ours answers /predict as infer does. Images as files, base64 and numbers; bad ones, large ones, many
at once, clients that go, options.

    predict.py MESOFORGE MPIEXEC
"""
import base64
import http.client
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import threading
import zlib

from asks import ask, at_once, metrics, nothing_left, number, server, slow_request, wait_for
from runs import check, finish

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]
EDGE = 8


def npy(name, shape, values, code="B", type_="|u1"):
    text = f"{{'descr': '{type_}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head = text.encode() + b" " * (117 - len(text)) + b"\n"
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}{code}", *values)
    with open(name, "wb") as file:
        file.write(data)
    return data


def png(rows, columns, values, claimed=None):
    def piece(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", *(claimed or (columns, rows)), 8, 0, 0, 0, 0)
    lines = b"".join(b"\0" + bytes(values[y * columns:(y + 1) * columns]) for y in range(rows))
    return b"\x89PNG\r\n\x1a\n" + piece(b"IHDR", head) + piece(b"IDAT", zlib.compress(lines)) + piece(b"IEND", b"")


def good(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True)
    check(done.returncode == 0, f"{words}: {done.stderr.decode()}")
    return done.stdout.decode()


def objects(text):
    """The bytes of the answers in JSON."""
    return text[text.index('"predictions":'):].split(',"refused":')[0].split(',"warnings":')[0]


def expected(verb, model, files, *words):
    return objects(good("infer", verb, model, *files, "--json", "--batch-size", "1", *words))


def predict(port, files, as_numbers=None):
    """The answer about files under their names."""
    images = [base64.b64encode(open(name, "rb").read()).decode() for name in files] if as_numbers is None else as_numbers
    status, _, data = ask(port, "/predict", {"images": images, "names": files})
    return objects(data.decode()) if status == 200 else f"{status} {data}"


def nested(values, columns):
    return [list(values[y:y + columns]) for y in range(0, len(values), columns)]


def phases():
    """A model of two phases."""
    rng = random.Random(1)
    sizes = {"a.npy": (EDGE, EDGE), "b.npy": (EDGE, EDGE), "tiles.npy": (3 * EDGE + 1, 2 * EDGE)}
    values = {name: [rng.randrange(2) for _ in range(y * x)] for name, (y, x) in sizes.items()}
    for name, shape in sizes.items():
        npy(name, shape, values[name])
    files, model = list(sizes), "class/model.safetensors"
    want = expected("classify", model, files)
    each = {name: expected("classify", model, [name]) for name in files}
    with server(PROGRAM, model, "--max-body", "1000000", "--max-voxels", "100000") as (port, process):
        facts = json.loads(ask(port, "/info")[2])
        check(facts["task"] == "classify" and facts["shape"] == [1, EDGE, EDGE, 1] and facts["phases"] == 2, f"/info: {facts}")
        check(predict(port, files) == want, f"files: {predict(port, files)}, not {want}")
        check(predict(port, files, [nested(values[name], sizes[name][1]) for name in files]) == want, "numbers")
        many = files * 8
        check(at_once(lambda name: predict(port, [name]), many) == [each[name] for name in many], "many at once")
        for raw in (open("a.npy", "rb").read(), png(*sizes["a.npy"], values["a.npy"])):
            status, _, data = ask(port, "/predict", raw=raw)
            check(status == 200 and objects(data.decode()) == each["a.npy"].replace("a.npy", "image"), f"a file as it is: {data}")
        one = "data:image/png;base64," + base64.b64encode(png(*sizes["b.npy"], values["b.npy"])).decode()
        check(objects(ask(port, "/predict", {"image": one, "name": "b.npy"})[2].decode()) == each["b.npy"], "a URL of data")
        bad_images(port, process)
        gone(port, process, files, want)


def bad_images(port, process):
    row = [0, 1] * (EDGE // 2)
    image = [row] * EDGE
    for status, body, word in (
            (422, {"image": [[0, 1], [1, 0]]}, "reads [1 8 8]"), (422, {"image": [row] * 7 + [[0]]}, "all of one length"), (422, {"image": [[0.5] * EDGE] * EDGE}, "--threshold"),
            (422, {"image": [row] * 7 + [[0, 1, 2, 3] * 2]}, "4 phases"), (422, {"image": [[[[[0]]]]]}, "at most 4 axes"), (422, {"image": [["x"]]}, "rows of numbers"), (422, {"image": True}, "true or false"),
            (422, {"image": "a b"}, "not base64"), (422, {"image": "AAAAA"}, "not base64"), (422, {"image": ""}, "empty"), (422, {"image": base64.b64encode(b"GIF89a..").decode()}, "image"),
            (422, {}, "'image' or 'images'"), (422, {"image": image, "images": [image]}, "has both"), (422, {"images": []}, "1 to 128"), (422, {"images": [image] * 129}, "1 to 128"),
            (422, {"images": [image], "names": []}, "'names'"), (422, {"image": image, "threshold": "otsu"}, "'threshold' is not supported"), (422, {"images": [image], "name": "a"}, "are 'names'"), (422, {"images": [image], "names": ["a\0b"]}, "no NUL"), (422, {"image": image, "name": 1}, "must be text"),
            (422, {"images": [image, [[0]]], "names": ["right", "wrong"]}, "'wrong'")):
        found, _, data = ask(port, "/predict", body)
        check(found == status and word in json.loads(data)["error"], f"{str(body)[:60]}: {found} {data}")
    large = png(400, 400, random.Random(4).randbytes(160000))
    for status, raw, word in (
            (400, b"", "empty"), (400, b"{", "not JSON"), (422, b"[]", "no format"), (422, b"\x89PNG\r\n\x1a\nrubbish", "damaged PNG"), (422, b"II*\0rubbish", "damaged TIFF"),
            (422, large, "at most 100000"), (422, png(8, 8, [0] * 64, (60000, 60000)), "can hold"), (422, png(8, 8, range(64))[:-20], "damaged"),
            (422, b"NRRD0004\ntype: uint8\ndimension: 2\nsizes: 8 8\nencoding: raw\ndata file: /etc/passwd\n\n", "NRRD"), (422, b"\x93NUMPY\x01\x00\xff\xff", "damaged"),
            (413, b" " * 1100000, "1000000"), (400, b'{"image":' + b"[" * 900000, "not JSON")):
        found, _, data = ask(port, "/predict", raw=raw)
        check(found == status and word in json.loads(data)["error"] and b"/proc" not in data, f"{raw[:30]}: {found} {data}")
    for status, path in ((404, "/generate"), (404, "/embed"), (404, "/v1/completions")):
        check(ask(port, path, {"inputs": "a"})[0] == status, path)
    check(ask(port, "/predict")[0] == 405 and process.poll() is None, "a method")


def gone(port, process, files, want):
    """Nothing stays of clients that go."""
    opened = lambda: len(os.listdir(f"/proc/{process.pid}/fd"))
    large = base64.b64encode(npy("large.npy", (300, 300), [0, 1] * 45000)).decode()
    before = number(port, "ended")
    with slow_request(port, "/predict", images=[large] * 7):
        check(wait_for(lambda: number(port, "requests_active") > 0), "large images are at work")
        check(predict(port, files) == want and number(port, "ended") == before + 1, "small images are before large ones")
    check(wait_for(lambda: nothing_left(port, before + 2)), "the client of large images has gone")
    before, had = number(port, "ended"), opened()
    large = nested([0, 1] * 20000, 200)
    for s in [slow_request(port, "/predict", images=[large] * 2) for _ in range(20)]:
        s.close()
    check(wait_for(lambda: nothing_left(port, before + 20)), f"clients have gone: {metrics(port)}")
    check(predict(port, files) == want and wait_for(lambda: opened() <= had), "the server goes on")


def refuses_and_leaves():
    """A server that has bad images alone, one behind the other, still leaves."""
    def send(port):
        try:
            while True:
                ask(port, "/predict", {"image": [[0]]})
        except (OSError, http.client.HTTPException):
            pass  # the server has left

    with server(PROGRAM, "class/model.safetensors") as (port, process):
        clients = [threading.Thread(target=send, args=(port,)) for _ in range(4)]
        for client in clients:
            client.start()
        check(wait_for(lambda: number(port, "ended") > 40), "bad images come")
        process.send_signal(15)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            check(False, "the server does not leave while bad images come")
            process.kill()
        for client in clients:
            client.join()


def options():
    """Options of the server make phases; others are refused."""
    rng, model = random.Random(5), "class/model.safetensors"
    with open("grey.png", "wb") as file:
        file.write(png(EDGE, EDGE, [rng.randrange(256) for _ in range(EDGE * EDGE)]))
    want = expected("classify", model, ["grey.png"], "--threshold", "otsu")
    with server(PROGRAM, model, "--threshold", "otsu") as (port, _):
        check(predict(port, ["grey.png"]) == want, "a threshold")
        check(not [name for name in metrics(port) if "token" in name or "pages" in name], f"images have no tokens: {metrics(port)}")
    large = nested([0, 1] * 45000, 300)
    with server(PROGRAM, model, "--max-body", "1000000", "--max-pending-bytes", "1000000") as (port, _):
        with slow_request(port, "/predict", images=[large] * 3):
            check(wait_for(lambda: number(port, "requests_active") > 0), "an image of numbers is at work")
            status, _, data = ask(port, "/predict", {"image": [[0]]})
            check(status == 429 and b"too many bytes" in data, f"numbers take eight bytes each: {status} {data}")
    for words, ranks, sentence in ((["--api-type", "tgi"], 1, "predicts of images"), (["--labels", "0,1,2"], 1, "--labels names 3 phases"), (["--threshold", "abc"], 1, "'otsu' or a number"), (["--threshold", "otsu", "--labels", "0,1"], 1, "exclude each other"), ([], 2, "one rank serves a network of train, and 2 run")):
        done = subprocess.run([*([MPIEXEC, "-n", str(ranks)] if ranks > 1 else []), PROGRAM, "serve", model, *words], capture_output=True)
        check(done.returncode == 2 and sentence in done.stderr.decode(), f"{words} on {ranks}: {done}")
    done = subprocess.run([PROGRAM, "serve", "class"], capture_output=True)
    check(done.returncode == 3 and b"try: mesoforge serve class/model.safetensors" in done.stderr, f"the folder of a training: {done}")
    counted = json.loads(good("serve", model, "--dry-run", "--json"))["peak_bytes"]["arena"][0]
    check(counted > 0, f"bytes: {counted}")


def images():
    """A model of grey values warns of another scale, and numbers that overflow harm nobody else."""
    rng = random.Random(2)
    grey = [rng.random() / 1000 for _ in range(EDGE * EDGE)]
    for name, values in (("grey.npy", grey), ("wide.npy", [257 * v for v in grey]), ("huge.npy", [3e38 * (-1) ** k for k in range(EDGE * EDGE)])):
        npy(name, (EDGE, EDGE), values, "f", "<f4")
    files, model = ["grey.npy", "wide.npy"], "real/model.safetensors"
    want = expected("regress", model, files)
    with server(PROGRAM, model, "--max-concurrent-requests", "3") as (port, _):
        status, _, data = ask(port, "/predict", {"images": [base64.b64encode(open(name, "rb").read()).decode() for name in files], "names": files})
        check(objects(data.decode()) == want, f"{data}, not {want}")
        warnings = json.loads(data)["warnings"]
        check(len(warnings) == 1 and warnings[0].startswith("'wide.npy': mean") and "'model.safetensors' learnt" in warnings[0], f"a scale: {warnings}")

        def one(name):
            return ask(port, "/predict", raw=open(name, "rb").read())[0]

        found = at_once(one, ["grey.npy", "huge.npy"] * 10)
        check(found == [200, 500] * 10, f"numbers that overflow: {found}")


def queue():
    """A full queue, and leaving."""
    model, large = "mixed/model.safetensors", base64.b64encode(npy("large.npy", (400, 400), [0, 1] * 80000)).decode()
    want = expected("classify", model, ["a.npy", "tiles.npy"])
    with server(PROGRAM, model, "--max-concurrent-requests", "1", "--max-queue", "1", "--grace", "0") as (port, process):
        check(predict(port, ["a.npy", "tiles.npy"]) == want, "a mixture of experts")
        with slow_request(port, "/predict", images=[large] * 20) as busy, slow_request(port, "/predict", images=[large] * 20) as waits:
            check(wait_for(lambda: number(port, "queue_length") + number(port, "requests_active") == 2), "one runs and one waits")
            status, headers, data = ask(port, "/predict", {"image": [[0]]})
            check(status == 429 and headers.get("Retry-After"), f"a full queue: {status} {data}")
            process.send_signal(15)
            check(b" 503 " in busy.recv(100) and b" 503 " in waits.recv(100), "the server leaves")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    good("synth", "--num-samples", "24", "--size", str(EDGE), str(EDGE), "--kinds", "gaussian", "lamellae", "--output", "set.h5")
    good("train", "classify", "--data", "set.h5", "--arch", "cnn", "--epochs", "1", "--results-dir", "class")
    good("train", "moe", "--data", "set.h5", "--experts", "2", "--width", "8", "--epochs", "1", "--results-dir", "mixed")
    noise = random.Random(3)
    npy("greys.npy", (24, EDGE, EDGE), [noise.random() / 1000 for _ in range(24 * EDGE * EDGE)], "f", "<f4")
    with open("greys.csv", "w", encoding="utf-8") as table:
        table.write("value\n" + "".join(f"{k / 24}\n" for k in range(24)))
    good("data", "import", "greys.npy", "--table", "greys.csv", "--output", "greys.h5")
    good("train", "regress", "--data", "greys.h5", "--target", "value", "--arch", "mlp", "--epochs", "1", "--results-dir", "real")
    phases()
    refuses_and_leaves()
    options()
    images()
    queue()
    os.chdir("/")
finish("predict")
