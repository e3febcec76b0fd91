"""A server in a storm: many clients at a time, a tenth of which leave, read slowly, or send broken or cut bytes.

    serve_storm.py MESOFORGE MODEL [REQUESTS [CLIENTS [SERVE-OPTION ...]]]

Every complete answer must be, byte for byte, that of `infer` alone. In the end no page, descriptor or request is left.
Prints rates and the server's memory. MODEL is a folder with a tokenizer.
"""
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM, MODEL = sys.argv[1:3]
REQUESTS = int(sys.argv[3]) if len(sys.argv) > 3 else 10000
CLIENTS = int(sys.argv[4]) if len(sys.argv) > 4 else 200
PROMPTS = [("a pore " * (k % 7 + 1) + str(k), 4 + 5 * (k % 9)) for k in range(30)]
counts = {}


def count(what):
    counts[what] = counts.get(what, 0) + 1


def expected():
    """Answers of infer, which continues all prompts together."""
    found = []
    for prompt, most in PROMPTS:
        done = subprocess.run([PROGRAM, "infer", "text-generation", MODEL, "--prompt", prompt, "--max-new-tokens", str(most), "--json"], capture_output=True, check=True)
        found.append(json.loads(done.stdout)["results"][0]["text"])
    return found


async def exchange(port, data, slow=False, leaves=False):
    """Status and body; None: the server closed the connection first."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        await writer.drain()
        if leaves:
            await asyncio.sleep(random.random() * 0.05)
            return None
        if slow:
            await asyncio.sleep(random.random() * 2)
        head = await reader.readuntil(b"\r\n\r\n")
        body = b""
        if b"chunked" in head:
            while size := int(await reader.readline(), 16):
                body += (await reader.readexactly(size + 2))[:-2]
                if slow:
                    await asyncio.sleep(0.01)
        else:
            length = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
        return int(head.split()[1]), body
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    finally:
        writer.close()


def request(path, body):
    data = json.dumps(body).encode()
    return b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(data)) + data


def answer_of(path, body):
    if path == "/generate":
        return json.loads(body)["generated_text"]
    events = [json.loads(line[5:]) for line in body.decode().split("\n") if line.startswith("data:") and "[DONE]" not in line]
    if path == "/generate_stream":
        return events[-1]["generated_text"] if events and "generated_text" in events[-1] else None
    return "".join(choice["text"] for event in events for choice in event["choices"])


async def one(port, texts):
    k = random.randrange(len(PROMPTS))
    prompt, most = PROMPTS[k]
    path = random.choice(["/generate", "/generate_stream", "/v1/completions"])
    if path == "/v1/completions":
        body = {"prompt": prompt, "max_tokens": most, "temperature": 0, "stream": True}
    else:
        body = {"inputs": prompt, "parameters": {"max_new_tokens": most}}
    data = request(path, body)
    odd = random.choice(["leaves", "slow", "broken", "cut"]) if random.random() < 0.1 else "whole"
    if odd == "broken":
        at = random.randrange(len(data))
        data = data[:at] + bytes(random.randrange(256) for _ in range(8)) + data[at + 8:]
        odd = "broken bytes"
    if odd == "cut":
        data = data[:random.randrange(len(data))]
    try:
        found = await asyncio.wait_for(exchange(port, data, odd == "slow", odd in ("leaves", "cut") or odd == "broken bytes" and random.random() < 0.5), 120)
    except asyncio.TimeoutError:
        found = None
    if odd not in ("whole", "slow"):
        count(odd if not found else f"{odd}: {found[0]}")
        return
    if found is None:
        count(f"{odd}: no answer")
    elif found[0] == 429:
        count("429")
        await asyncio.sleep(0.2)
    elif found[0] != 200:
        count(f"{odd}: status {found[0]}")
    else:
        count("right" if answer_of(path, found[1]) == texts[k] else "WRONG")


async def storm(port, texts):
    left = iter(range(REQUESTS))

    async def client():
        for _ in left:
            await one(port, texts)

    await asyncio.gather(*(client() for _ in range(CLIENTS)))


def state(process, port):
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        resident = next(line.split()[1] for line in file if line.startswith("VmRSS"))
    data = asyncio.run(exchange(port, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"))[1].decode()
    pages, queue = (next(line.split()[1] for line in data.splitlines() if line.startswith(f"mesoforge_{n} ")) for n in ("cache_pages_used", "queue_length"))
    return int(resident) // 1024, len(os.listdir(f"/proc/{process.pid}/fd")), pages, queue


def main():
    random.seed(1)
    texts = expected()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen([PROGRAM, "serve", MODEL, "--port", "0", *sys.argv[5:]], stdout=subprocess.PIPE, stderr=errors)
        port = int(process.stdout.readline().decode().split(":")[2].split()[0])
        before = state(process, port)
        begin = time.monotonic()
        asyncio.run(storm(port, texts))
        seconds = time.monotonic() - begin
        after = state(process, port)
        for _ in range(20):  # the last connections end
            if after[1] > before[1] or after[2:] != ("0", "0"):
                time.sleep(0.5)
                after = state(process, port)
        process.send_signal(signal.SIGTERM)
        status = process.wait(60)
        errors.seek(0)
        said = errors.read().decode()
    print(f"{REQUESTS} requests of {CLIENTS} clients in {seconds:.1f} s; " + ", ".join(f"{k} {v}" for k, v in sorted(counts.items())))
    print("MiB, descriptors, pages, queue: before", before, "after", after, "; exit status", status)
    print(said[-2000:])
    wrong = counts.get("WRONG", 0) or status or after[1] > before[1] or after[2:] != ("0", "0") or "Sanitizer" in said
    sys.exit(1 if wrong else 0)


main()
