"""serve: answers over HTTP are those of infer; streams, a full queue, clients that go, bad requests, leaving, ranks;
vectors.

    serve.py MESOFORGE MPIEXEC FIXTURES
"""
import array
import base64
import contextlib
import http.client
import json
import math
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import asks
from asks import ask, at_once, metrics, nothing_left, number, slow_request, wait_for
from runs import check, finish

PROGRAM, MPIEXEC, FIXTURES = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])
PROMPTS = ["a pore", "the", "phase " * 5, "x"]


def make_model(folder):
    """GPT-2 with a long context, and random weights that favour no end."""
    with open(os.path.join(FIXTURES, "language", "gpt2", "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    layers, width, context = 2, 64, 1024
    config |= {"n_layer": layers, "n_embd": width, "n_positions": context, "n_ctx": context, "n_inner": None}
    shapes = {"wte.weight": (config["vocab_size"], width), "wpe.weight": (context, width), "ln_f.weight": (width,), "ln_f.bias": (width,)}
    for k in range(layers):
        shapes |= {f"h.{k}.{name}": shape for name, shape in (
            ("ln_1.weight", (width,)), ("ln_1.bias", (width,)), ("ln_2.weight", (width,)), ("ln_2.bias", (width,)),
            ("attn.c_attn.weight", (width, 3 * width)), ("attn.c_attn.bias", (3 * width,)), ("attn.c_proj.weight", (width, width)), ("attn.c_proj.bias", (width,)),
            ("mlp.c_fc.weight", (width, 4 * width)), ("mlp.c_fc.bias", (4 * width,)), ("mlp.c_proj.weight", (4 * width, width)), ("mlp.c_proj.bias", (width,)))}
    rng, data, header = random.Random(1), b"", {}
    for name, shape in shapes.items():
        n = math.prod(shape)
        values = array.array("f", [1.0] * n if ".ln_" in name and name.endswith("weight") else [rng.uniform(-0.3, 0.3) for _ in range(n)])
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * n]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    with open(os.path.join(FIXTURES, "text", "byte_level", "tokenizer.json"), encoding="utf-8") as file:
        tokenizer = json.load(file)
    tokenizer["model"]["vocab"].update({f"pore{n}": n for n in range(300, 330)})
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump(tokenizer, file)


def server(*words, model=None, **more):
    return asks.server(PROGRAM, model or MODEL, *words, mpiexec=MPIEXEC, **more)


def generate(port, prompt, **parameters):
    status, _, data = ask(port, "/generate", {"inputs": prompt, "parameters": parameters})
    check(status == 200, f"/generate: {status} {data}")
    return json.loads(data)["generated_text"]


def infer(prompt, *words):
    done = subprocess.run([PROGRAM, "infer", "text-generation", MODEL, "--prompt", prompt, "--json", *words], capture_output=True)
    return json.loads(done.stdout)["results"][0]["text"]


def events(data):
    return [json.loads(line[5:]) for line in data.decode().split("\n") if line.startswith("data:") and "[DONE]" not in line]


def answers(port, expected):
    """The same alone, together, streamed, and in another dialect."""
    for prompt, text in expected.items():
        check(generate(port, prompt, max_new_tokens=12) == text, f"'{prompt}' alone")
    many = list(expected) * 6
    for prompt, text in zip(many, at_once(lambda p: generate(port, p, max_new_tokens=12), many)):
        check(text == expected[prompt], f"'{prompt}' among others: {text}")
    for prompt, text in expected.items():
        status, headers, data = ask(port, "/generate_stream", {"inputs": prompt, "parameters": {"max_new_tokens": 12}})
        told = events(data)
        check(status == 200 and headers["Content-Type"].startswith("text/event-stream"), f"a stream: {status} {headers}")
        check("".join(e["token"]["text"] for e in told) == text and told[-1]["generated_text"] == text, f"a stream of '{prompt}': {told}")
        body = {"model": "m", "prompt": prompt, "max_tokens": 12, "temperature": 0}
        choice = json.loads(ask(port, "/v1/completions", body)[2])["choices"][0]
        check(choice["text"] == text, f"/v1/completions of '{prompt}': {choice}")
        data = ask(port, "/v1/completions", {**body, "stream": True})[2]
        check("".join(c["text"] for e in events(data) for c in e["choices"]) == text and data.endswith(b"data: [DONE]\n\n"), f"{data}")
    stop = infer("a pore", "--max-new-tokens", "40", "--ignore-eos")[5:8]
    check(generate(port, "a pore", max_new_tokens=40, stop=[stop]) == infer("a pore", "--max-new-tokens", "40", "--stop", stop), "a stop")


def refusals(port):
    """Each status has one sentence, and the server goes on."""
    for status, path, body, raw, method in (
            (404, "/nothing", {}, None, None), (405, "/generate", None, None, "GET"), (400, "/generate", None, b"{", None),
            (400, "/v1/completions", None, b"\xff\xfe", None), (422, "/generate", {"inputs": ""}, None, None),
            (422, "/generate", {"inputs": "x", "parameters": {"max_new_tokens": 5000}}, None, None),
            (400, "/v1/completions", {"prompt": [9999999], "max_tokens": 1}, None, None),
            (400, "/v1/completions", {"prompt": "x " * 900, "max_tokens": 1}, None, None),
            (413, "/generate", None, b" " * 70000, None), (413, "/generate", None, b" " * 9000000, None), (400, "/generate", None, b"[" * 60000, None)):
        found, _, data = ask(port, path, body, raw=raw, method=method)
        check(found == status and b"error" in data, f"{path} {body or raw and raw[:20]}: {found} {data[:200]}")
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(b"\x01\x02 nonsense\r\n\r\n")
        s.settimeout(10)
        check(s.recv(100)[:12].split()[1:2] in ([b"400"], []), "no HTTP")
    status, headers, _ = ask(port, "/generate", None, method="DELETE")
    check(status == 405 and headers.get("Allow") == "POST", f"a method: {status} {headers}")


def leaving_clients(port):
    """Pages are given back, and nothing remains of the queue."""
    before = metrics(port)
    check(before["cache_pages_used"] == 0, "pages before")
    gone = [slow_request(port, ("/generate", "/generate_stream")[k % 2]) for k in range(20)]
    check(wait_for(lambda: number(port, "requests_active") > 0), "requests run")
    for s in gone:
        s.close()
    check(wait_for(lambda: nothing_left(port, before["ended"] + 20)), "clients have gone")
    half = slow_request(port, "/generate_stream")
    half.recv(1)
    half.close()
    check(wait_for(lambda: nothing_left(port, before["ended"] + 21)), "a client of a stream has gone")


def crowd(port):
    """More clients that keep their connections than the server has: each is answered soon."""
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            idle = stack.enter_context(contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=15)))
            idle.request("GET", "/health")
            check(idle.getresponse().read() == b"", "a crowd")


def trickle(port):
    """A client that sends its headers byte by byte does not keep its connection."""
    until = time.monotonic() + 20
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.settimeout(0.2)
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < until:
                s.sendall(b"G")
                with contextlib.suppress(TimeoutError):
                    if not s.recv(1):
                        break
    check(time.monotonic() < until, "a client that sends its headers byte by byte")


def crowded(port, **headers):
    """Requests that have come in part fill the memory for all; when they have gone, others are served."""
    def status():
        return ask(port, "/generate", raw=b" " * 150000, **headers)[0]

    with contextlib.ExitStack() as stack:
        check(status() == 400, "a request before the others")
        for _ in range(2):
            s = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            lines = "".join(f"{k}: {v}\r\n" for k, v in headers.items())
            s.sendall(f"POST /generate HTTP/1.1\r\nHost: x\r\n{lines}Content-Length: 150000\r\n\r\n".encode() + b" " * 149000)
        check(wait_for(lambda: status() == 429), "too many bytes")
        check(ask(port, "/health")[0] == 200, "health needs no bytes")
    check(wait_for(lambda: status() == 400), "bytes are given back")


def turns(port):
    """A request of many prompts has one place a turn, so a later one is answered before it."""
    before = number(port, "ended")
    with slow_request(port, path="/v1/completions", prompt=["the"] * 128, max_tokens=100, ignore_eos=True):
        check(wait_for(lambda: number(port, "requests_active") == 1), "many prompts run")
        generate(port, "the", max_new_tokens=1)
        check(number(port, "ended") == before + 1, "one of many prompts is before it")
        with slow_request(port) as half:
            half.shutdown(socket.SHUT_WR)
            check(b" 499 " in half.recv(100), "a client that waits, and has closed its half")


def floats(values):
    return list(array.array("f", values))


def embedded(folder, text, *words):
    done = subprocess.run([PROGRAM, "infer", "embed", folder, "--prompt", text, "--json", *words], capture_output=True)
    return floats(json.loads(done.stdout)["results"][0]["embedding"])


def embed(port, inputs, path="/embed", **members):
    status, _, data = ask(port, path, {"inputs": inputs, **members})
    check(status == 200, f"{path}: {status} {data[:200]}")
    return [floats(vector) for vector in json.loads(data)]


def vectors(folder):
    """A model of type BERT answers by the vectors of infer embed, whatever else is asked at the same time."""
    texts, words = ["a pore", "the", "a pore in the rock", "rock " * 5, "x"], ("--max-concurrent-requests", "4", "--served-model-name", "m")
    long = "rock " * 300
    unit, plain = ([embedded(folder, text, *more) for text in texts] for more in (("--normalize",), ()))
    booked = subprocess.run([PROGRAM, "serve", folder, "--dry-run", "--json"], capture_output=True)
    check(json.loads(booked.stdout)["peak_bytes"]["arena"][0] > 0, f"a dry run: {booked}")
    with server(*words, model=folder) as (port, process):
        check(json.loads(ask(port, "/info")[2])["max_input_length"] == 40, "/info")
        check(embed(port, texts) == unit and embed(port, texts, "/", normalize=False) == plain, "texts of a request")
        many = list(range(len(texts))) * 8
        check(at_once(lambda k: embed(port, texts[k])[0], many) == [unit[k] for k in many], "texts of many requests")
        check(embed(port, long) == [embedded(folder, long, "--normalize", "--truncate")], "a long text is cut")
        data = json.loads(ask(port, "/v1/embeddings", {"input": texts, "model": "m", "encoding_format": "base64"})[2])["data"]
        check([list(array.array("f", base64.b64decode(row["embedding"]))) for row in data] == plain, "/v1/embeddings")
        for status, path, body in ((422, "/embed", {"inputs": ["a"] * 33}), (422, "/embed", {"inputs": long, "truncate": False}), (400, "/v1/embeddings", {"input": long}),
                                   (422, "/embed", {"inputs": [[1, 110]]}), (400, "/embed", {"inputs": [""]}), (404, "/generate", {"inputs": "a"})):
            found, _, data = ask(port, path, body)
            check(found == status and b"error" in data, f"{path} {body}: {found} {data[:200]}")
        before = number(port, "ended")
        for s in [slow_request(port, "/embed", inputs=texts * 6) for _ in range(20)]:
            s.close()
        check(wait_for(lambda: nothing_left(port, before + 20)), "clients of vectors have gone")
        check(embed(port, "the") == unit[1:2], "the server goes on")


with tempfile.TemporaryDirectory() as folder:
    shutil.copytree(os.path.join(FIXTURES, "language", "bert"), folder, dirs_exist_ok=True)
    shutil.copy(os.path.join(FIXTURES, "text", "wordpiece", "tokenizer.json"), folder)
    vectors(folder)
with tempfile.TemporaryDirectory() as MODEL:
    make_model(MODEL)
    expected = {prompt: infer(prompt, "--max-new-tokens", "12") for prompt in PROMPTS}
    with server("--max-body", "65536", "--served-model-name", "m") as (port, process):
        check(ask(port, "/health")[0] == 200 and ask(port, "/")[0] == 200, "health")
        check(wait_for(lambda: number(port, "cache_pages") == 8 * 1024 / 16), "each request may have its whole context")
        answers(port, expected)
        refusals(port)
        leaving_clients(port)
        answers(port, {"the": expected["the"]})
        check(len(os.listdir(f"/proc/{process.pid}/fd")) < 40, "descriptors are given back")
    with server("--max-concurrent-requests", "1", "--max-queue", "1") as (port, process):
        waits = [slow_request(port, path="/v1/completions", prompt=["the"] * 128, max_tokens=900, ignore_eos=True)]
        check(wait_for(lambda: number(port, "requests_active") == 1), "one runs")
        waits.append(slow_request(port))
        check(wait_for(lambda: number(port, "queue_length") == 1), "one waits")
        status, headers, data = ask(port, "/generate", {"inputs": "x"})
        check(status == 429 and headers.get("Retry-After"), f"a full queue: {status} {headers} {data}")
        taken = subprocess.run([PROGRAM, "serve", MODEL, "--port", str(port)], capture_output=True)
        check(taken.returncode == 4 and f"{port} of 127.0.0.1 cannot be had: Address already in use" in taken.stderr.decode(), f"a port that is taken: {taken}")
        crowd(port)
        for s in waits:
            s.close()
        check(wait_for(lambda: nothing_left(port, 0)), "nothing is left of them")
        turns(port)
    with server("--grace", "0", "--request-seconds", "1") as (port, process):
        trickle(port)
        s = slow_request(port, "/generate_stream")
        check(s.recv(4) == b"HTTP", "a stream begins")
        process.send_signal(signal.SIGTERM)
        data = b""
        while piece := s.recv(65536):
            data += piece
        check(b"error" in data and not data.endswith(b"0\r\n\r\n"), f"a stream that fails says so: {data[-200:]}")
    key = os.path.join(MODEL, "key")
    with open(key, "w", encoding="utf-8") as file:
        file.write("secret\n")
    with server("--api-key-file", key, "--max-body", "200000", "--max-pending-bytes", "300000") as (port, process):
        crowded(port, Authorization="Bearer secret")
        check(ask(port, "/generate", {"inputs": "x"})[0] == 401 and ask(port, "/health")[0] == 200, "no key")
        check(ask(port, "/generate", {"inputs": "x"}, Authorization="Bearer secreT")[0] == 401, "another key")
        check(ask(port, "/generate", {"inputs": "x"}, Authorization="bearer secret")[0] == 200, "the word before the key in small letters")
        check(ask(port, "/generate", {"inputs": "x"}, Authorization="Bearer secret")[0] == 200, "the key")
    for ranks, ways in ((2, ("--tp", "2")), (2, ("--pp", "2")), (4, ())):
        with server(*ways, "--served-model-name", "m", ranks=ranks, ends=signal.SIGUSR1) as (port, process):
            answers(port, {"the": expected["the"]})
            leaving_clients(port)
finish("serve")
