"""infer text-generation: an answer ends before the texts of --stop, and is printed as JSON tells it; penalties; memory.

    text_generation.py MESOFORGE MPIEXEC FIXTURES
"""
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

from runs import check, finish

PROGRAM, FIXTURES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[3])
MODEL = os.path.join(FIXTURES, "language", "gpt2")


def run(folder, *words):
    done = subprocess.run([PROGRAM, "infer", "text-generation", folder, *words], capture_output=True)
    check(done.returncode == 0, f"{words}: {done.stderr.decode()}")
    return done.stdout.decode()


def answer(folder, *words):
    return json.loads(run(folder, *words, "--json"))["results"][0]


def npy(path, kind="q"):
    with open(path, "rb") as file:
        data = file.read()
    numbers = data[10 + int.from_bytes(data[8:10], "little"):]
    return list(struct.unpack(f"<{len(numbers) // 8}{kind}", numbers))


with tempfile.TemporaryDirectory() as folder:
    for name in ("config.json", "model.safetensors"):
        shutil.copy(os.path.join(MODEL, name), folder)
    with open(os.path.join(FIXTURES, "text", "byte_level", "tokenizer.json"), encoding="utf-8") as file:
        tokenizer = json.load(file)
    tokenizer["model"]["vocab"].update({f"pore{n}": n for n in range(300, 330)})
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump(tokenizer, file)

    drawn = [answer(folder, "--prompt", "the", "--temperature", "9", "--seed", str(seed)) for seed in (1, (1 << 32) + 1, (1 << 63) - 1)]
    check(len({str(one["tokens"]) for one in drawn}) == 3, f"seeds that differ in high bits: {drawn}")
    for seed in "12":
        drawn = ("--prompt", "the", "--temperature", "9", "--seed", seed, "--ignore-eos", "--max-new-tokens", "12")
        whole = answer(folder, *drawn)
        text = whole["text"]
        check(whole["ended_by"] == "length" and len(whole["tokens"]) == 12 and len(text) > 12, f"{whole}")
        check(run(folder, *drawn) == "the" + text + "\n", "a text is printed as JSON tells it")
        check(answer(folder, *drawn, "--stop", "no such text", text + "!") == whole, "texts that do not come")
        for at in range(0, len(text) - 4, 7):
            stop = text[at:at + 4]
            short = answer(folder, *drawn, "--stop", text + "!", stop)
            check(short["ended_by"] == "stop" and short["text"] == text[:text.find(stop)], f"stop '{stop}' of '{text}': {short}")
            check(short["tokens"] == whole["tokens"][:len(short["tokens"])], "the tokens that were made")
            check(run(folder, *drawn, "--stop", stop) == "the" + short["text"] + "\n", f"stop '{stop}' as it comes")
        first, later = text[3:5], text[6:9]
        check(answer(folder, *drawn, "--stop", later, first)["text"] == text[:min(text.find(first), text.find(later))], "the first one counts")

    def together(ranks, *words, **more):
        done = subprocess.run([sys.argv[2], "-n", ranks, PROGRAM, "infer", "text-generation", folder, *words], capture_output=True, **more)
        check(done.returncode == 0, f"{ranks} ranks, {words}: {done.stderr.decode()}")
        return done.stdout.decode()

    greedy = ("--prompt", "-", "--max-new-tokens", "12", "--ignore-eos")
    alone = subprocess.run([PROGRAM, "infer", "text-generation", folder, *greedy], capture_output=True, input=b"a pore")
    for ranks, ways in (("2", ("--tp", "2")), ("2", ("--pp", "2")), ("2", ("--zero", "3")), ("4", ())):
        check(together(ranks, *greedy, *ways, input=b"a pore") == alone.stdout.decode(), f"{ranks} ranks, {ways}")
    whole = subprocess.run([PROGRAM, "infer", "text-generation", folder, *greedy, "--zero", "3"], capture_output=True, input=b"a pore")
    check(whole.stdout == alone.stdout and whole.stderr.count(b"--zero 3 has no effect") == 1, f"one rank cuts nothing: {whole}")

    lines = os.path.join(folder, "lines.jsonl")
    with open(lines, "w", encoding="utf-8") as file:
        file.write('{"text": "the"}\n{"text": "a pore"}\n')
    both = ("--prompts", lines, "--max-new-tokens", "4")
    one, two = (answer["text"] for answer in json.loads(run(folder, *both, "--json"))["results"])
    check(run(folder, *both) == f"the{one}\n\na pore{two}\n", "two texts")
    served, planned = (json.loads(subprocess.run([PROGRAM, *verb, folder, "--max-concurrent-requests", "3", "--threads", "1", "--json", *more], capture_output=True).stdout)
                       for verb, more in ((["serve"], ["--dry-run"]), (["plan", "serve"], ["--ranks", "1"])))
    check(served["peak_bytes"]["arena"] == [planned["bytes"]["total"]], f"bytes of a server: {served}, {planned['bytes']}")
    words = ("--tokens", "5,7,9", "--json", "--logits", lines + ".npy")
    results = [json.loads(text)["results"][0] for text in (run(folder, *words), together("2", *words, "--pp", "2"))]
    check(results[0]["tokens"] == results[1]["tokens"], f"JSON and logits of a pipeline: {results}")
    check(together("2", *both, "--pp", "2") == f"the{one}\n\na pore{two}\n", "two texts of a pipeline")
    with open(lines, "w", encoding="utf-8") as file:
        file.writelines(f'{{"text": "{" pore" * (k % 5 + 1)}"}}\n' for k in range(64))
    many = ("--prompts", lines, "--requests", "64", "--max-new-tokens", "50", "--ignore-eos")
    done = subprocess.run([PROGRAM, "infer", "text-generation", folder, *many, "--memory-limit", "1"], capture_output=True)
    check(done.returncode == 0 and b"which do not fit: long requests wait" in done.stderr, f"{done}")
    check(done.stdout.decode() == run(folder, *many), "requests that wait for pages")


def memory(folder):
    """Bytes are known before a run. What does not fit is refused, with the longest context that does."""
    words = (MODEL, "--tokens", "5,7,9", "--logits", os.path.join(folder, "logits.npy"), "--json")
    peak = json.loads(run(*words))["peak_bytes"]
    check(peak["predicted"] == peak["arena"] == json.loads(run(*words, "--dry-run"))["peak_bytes"]["arena"], f"{peak}")
    check(json.loads(run(*words, "--plan", "off"))["peak_bytes"]["arena"] == peak["arena"], "without a plan")
    two = [subprocess.run([sys.argv[2], "-n", "2", PROGRAM, "infer", "text-generation", *words, "--pp", "2", *more], capture_output=True) for more in ((), ("--dry-run",))]
    two = [json.loads(done.stdout)["peak_bytes"] if done.returncode == 0 else done.stderr for done in two]
    check(two[0]["predicted"] == two[0]["arena"] == two[1]["arena"] and len(two[0]["arena"]) == 2, f"two ranks: {two}")
    long = (os.path.join(FIXTURES, "language", "llama3-tied-bf16"), "--tokens", "5", "--context", "16000", "--memory-limit", "1")
    done = subprocess.run([PROGRAM, "infer", "text-generation", *long, "--max-new-tokens", "12000"], capture_output=True, text=True)
    found = re.search(r"\(1 rank, requests 1, context 12001, pages 751\) needs (\d+) bytes for arrays of rank 0, but 1048576 are available \(--memory-limit\); "
                      r"try: a context of (\d+), which fits$", done.stderr.strip())
    check(done.returncode == 5 and found and int(found[1]) > 1 << 20 and not done.stdout, f"{done}")
    for more, status in ((-1, 0), (15, 5)):
        words = ("--max-new-tokens", str(int(found[2]) + more), "--dry-run")
        done = subprocess.run([PROGRAM, "infer", "text-generation", *long, *words], capture_output=True, text=True)
        check(done.returncode == status, f"{words}: {done}")


def full(folder):
    """Logits that do not fit into a file are refused before the work."""
    words = ["infer", "text-generation", MODEL, "--tokens", "5,6,7", "--logits", os.path.join(folder, "x.npy")]
    done = subprocess.run([PROGRAM, *words], capture_output=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    check(done.returncode == 7 and b"x.npy': it needs 7920 bytes" in done.stderr and not done.stdout, f"{done}")


def exchanged(folder):
    """Queries and keys together have the rows that they should have, and each has those of the other one."""
    llama = os.path.join(FIXTURES, "language", "llama3-tied-bf16")
    shutil.copy(os.path.join(llama, "config.json"), folder)
    with open(os.path.join(llama, "model.safetensors"), "rb") as file:
        data = file.read()
    end = 8 + int.from_bytes(data[:8], "little")
    arrays = json.loads(data[8:end])
    query, key = (f"model.layers.0.self_attn.{one}_proj.weight" for one in "qk")
    arrays[query], arrays[key] = arrays[key], arrays[query]
    header = json.dumps(arrays).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header + data[end:])
    done = subprocess.run([PROGRAM, "infer", "text-generation", folder, "--tokens", "5"], capture_output=True, text=True)
    faults = [f"'{name}' has other extents" for name in (query, key)]
    check(done.returncode == 3 and ": 2 differ; " + "; ".join(faults) in done.stderr, f"{done}")


def rounded(folder):
    """Rounded weights are the same on two ranks. They move logits, but not far."""
    logits = {}
    for kind, ranks in (("f32", "1"), ("bf16", "1"), ("bf16", "2"), ("int8", "1"), ("int8", "2")):
        path = os.path.join(folder, kind + ranks + ".npy")
        words = (MODEL, "--tokens", "5,6,7", "--max-new-tokens", "1", "--dtype", kind, "--tp", ranks, "--logits", path)
        done = subprocess.run([sys.argv[2], "-n", ranks, PROGRAM, "infer", "text-generation", *words], capture_output=True)
        check(done.returncode == 0, f"{words}: {done}")
        logits[kind, ranks] = npy(path, "d")
    exact = logits["f32", "1"]
    scale = (sum(x * x for x in exact) / len(exact)) ** 0.5
    for kind in ("bf16", "int8"):
        one, two = logits[kind, "1"], logits[kind, "2"]
        apart, moved = (max(abs(a - b) for a, b in zip(one, other)) / scale for other in (two, exact))
        check(apart < 1e-5 and 1e-4 < moved < 0.2, f"{kind}: {apart} between ranks, {moved} from f32")


def numbers():
    """Prompts of numbers need no tokenizer. They may come from standard input."""
    lines = b'{"tokens": [5, 7, 9]}\n{"tokens": [3]}\n'
    for ranks in ([], [sys.argv[2], "-n", "2"]):
        done = subprocess.run([*ranks, PROGRAM, "infer", "text-generation", MODEL, "--prompts", "-", "--json"], capture_output=True, input=lines)
        check(done.returncode == 0 and b"told by their numbers" in done.stderr, f"{done}")
        made = [one["tokens"] for one in json.loads(done.stdout)["results"]]
        check(made == [answer(MODEL, "--tokens", words)["tokens"] for words in ("5,7,9", "3")], f"{made}")


with tempfile.TemporaryDirectory() as folder:
    exchanged(folder)
    rounded(folder)
    full(folder)
    numbers()
with tempfile.TemporaryDirectory() as folder:
    memory(folder)
prompt = ",".join(map(str, npy(os.path.join(MODEL, "expected", "input_ids.npy"))))
for penalty, name in (("1", "greedy.npy"), ("1.3", "penalised.npy")):
    got = answer(MODEL, "--tokens", prompt, "--ignore-eos", "--max-new-tokens", "9", "--repetition-penalty", penalty)["tokens"]
    check(got == npy(os.path.join(MODEL, "expected", name))[:9], f"a penalty of {penalty}: {got}")
finish("text generation")
