#!/usr/bin/env python3
"""A server of a language model on one core beside llama.cpp's, turn by turn, with the same random weights.

    serve.py MESOFORGE LLAMA_SERVER [ROUNDS [TYPE [MODEL ...]]]

Clients of /v1/completions read streams: prompts of 64 tokens, answers of 64. LLAMA_SERVER: llama.cpp's llama-server, with
-np 8 --cache-ram 0. Tokens per second are those of processor time of the server; seconds of the first token are of the
clock. "infer" is `mesoforge infer text-generation --prompts` with the same prompts: what HTTP costs. Prints TSV: medians,
and the median of paired ratios. Needs `pip install gguf numpy`.
"""
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import gen

CLIENTS, PROMPT, ANSWER, CONTEXT = 8, 64, 64, 128


def write_tokenizer(folder, vocabulary):
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump({"model": {"type": "BPE", "vocab": {f"t{i}": i for i in range(vocabulary)}, "merges": []}}, file)


def used(pid):
    """Seconds of processor time of a process."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def stream(port, prompt, begin):
    """When the first token came, and how many came."""
    body = json.dumps({"prompt": prompt, "max_tokens": ANSWER, "temperature": 0, "stream": True, "ignore_eos": True, "cache_prompt": False}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    first, tokens = None, 0
    while line := await reader.readline():
        if line.startswith(b"data: {"):
            first = first or time.monotonic() - begin
            tokens += 1
    writer.close()
    return first, tokens


async def together(port, prompts):
    begin = time.monotonic()
    return await asyncio.gather(*(stream(port, p, begin) for p in prompts))


class Server:
    def __init__(self, words, port):
        self.port = port
        self.process = subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ, OMP_NUM_THREADS="1"))
        for _ in range(600):
            try:
                if asyncio.run(self.health()):
                    return
            except OSError:
                pass
            time.sleep(0.1)
        sys.exit(f"serve.py: '{words[0]}' does not answer")

    async def health(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        line = await reader.readline()
        writer.close()
        return b" 200 " in line

    def ask(self, prompts):
        """Tokens per second of processor time; seconds of the first token: median and last."""
        before = used(self.process.pid)
        found = asyncio.run(together(self.port, prompts))
        seconds = used(self.process.pid) - before
        firsts = sorted(f for f, _ in found)
        return len(prompts) * ANSWER / seconds, statistics.median(firsts), firsts[-1], sum(n for _, n in found)

    def peak(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024

    def close(self):
        self.process.terminate()
        self.process.wait()


def infer(program, folder, kind, prompts):
    """Seconds of processor time of the same work without HTTP: those of a run, less those of a run of one token."""
    path = os.path.join(folder, "prompts.jsonl")

    def run(prompts, most):
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"tokens": p}) + "\n" for p in prompts)
        before = os.times()
        subprocess.run([program, "infer", "text-generation", folder, "--prompts", path, "--max-new-tokens", str(most), "--ignore-eos", "--dtype", kind, "--threads", "1", "--requests",
                        str(CLIENTS)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    return run(prompts, ANSWER) - run([[1]], 1)


def measure(program, peer, folder, model, kind, rounds):
    name, _, _, theirs, vocabulary, about = model
    path = os.path.join(folder, f"{name}.gguf")
    gen.write_gguf(path, name, theirs, vocabulary, about, kind)
    ours = Server([program, "serve", os.path.join(folder, name), "--port", "18181", "--dtype", kind, "--threads", "1", "--max-concurrent-requests", CLIENTS, "--max-total-tokens", CONTEXT + 16], 18181)
    other = Server([peer, "-m", path, "--port", "18182", "-t", "1", "-tb", "1", "-np", CLIENTS, "--cache-ram", "0", "-c", CLIENTS * (CONTEXT + 16), "--no-webui"], 18182)
    rng = np.random.default_rng(2)
    rows = {1: [], CLIENTS: []}
    for turn in range(rounds + 1):  # the first one warms up
        for clients, found in rows.items():
            prompts = rng.integers(0, vocabulary, (clients, PROMPT)).tolist()
            pair = [None, None]
            for k in ((0, 1), (1, 0))[turn % 2]:
                pair[k] = (ours, other)[k].ask(prompts)
            if turn:
                found.append(pair)
    for clients, found in rows.items():
        middle = [[statistics.median(pair[k][i] for pair in found) for i in range(4)] for k in (0, 1)]
        ratio = statistics.median(pair[0][0] / pair[1][0] for pair in found)
        print("\t".join([name, kind, str(clients), *(f"{m[0]:.1f}" for m in middle), f"{ratio:.3f}", *(f"{m[i]:.3f}" for i in (1, 2) for m in middle), f"{ours.peak():.0f}", f"{other.peak():.0f}",
                         f"{middle[0][3]:.0f}/{middle[1][3]:.0f}"]), flush=True)
    prompts = rng.integers(0, vocabulary, (CLIENTS, PROMPT)).tolist()
    costs = []
    for _ in range(rounds):
        before = used(ours.process.pid)
        asyncio.run(together(ours.port, prompts))
        costs.append((used(ours.process.pid) - before) / infer(program, os.path.join(folder, name), kind, prompts))
    print(f"# {name} {kind}: processor time of serve over that of infer, without its start: {statistics.median(costs):.3f}", flush=True)
    ours.close()
    other.close()
    os.remove(path)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    kind = sys.argv[4] if len(sys.argv) > 4 else "bf16"
    print("model\ttype\tclients\tours\tllama.cpp\tratio\tfirst s\tllama.cpp\tlast s\tllama.cpp\tours MiB\tllama.cpp MiB\tevents")
    with tempfile.TemporaryDirectory() as folder:
        for make in (gen.gpt2, gen.llama):
            if len(sys.argv) > 5 and make.__name__ not in sys.argv[5:]:
                continue
            model = make(np.random.default_rng(1))
            os.mkdir(os.path.join(folder, model[0]))
            with open(os.path.join(folder, model[0], "config.json"), "w", encoding="utf-8") as file:
                json.dump(model[1], file)
            write_tokenizer(os.path.join(folder, model[0]), model[4])
            gen.write_safetensors(os.path.join(folder, model[0], "model.safetensors"), model[2])
            measure(sys.argv[1], sys.argv[2], folder, model, kind, rounds)


main()
