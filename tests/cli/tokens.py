"""infer tokens: texts from the command line, a file, standard input and lines of JSON; numbers back to texts; what it warns of.

    tokens.py MESOFORGE MPIEXEC FIXTURES
"""
import json
import os
import subprocess
import sys
import tempfile

from runs import check, finish

PROGRAM, FIXTURES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[3])


def tokens(name, *words, stdin=b""):
    done = subprocess.run([PROGRAM, "infer", "tokens", os.path.join(FIXTURES, name), *words], input=stdin, capture_output=True)
    check(done.returncode == 0, f"{name} {words}: {done.stderr.decode()}")
    return done.stdout, done.stderr.decode()


for kind in ("byte_level", "fallback", "wordpiece"):
    lines = os.path.join(FIXTURES, kind, "expected.jsonl")
    want = [json.loads(line) for line in open(lines, encoding="utf-8")]
    for flags, key, text in (((), "ids", "decoded"), (("--special",), "ids", "decoded_all"), (("--bare",), "plain", None)):
        got = json.loads(tokens(kind, "--prompts", lines, "--json", *flags)[0])["results"]
        check([g["tokens"] for g in got] == [w[key] for w in want] and [g["text"] for g in got] == [w["text"] for w in want], f"{kind}: {key}")
        check(text is None or [g["decoded"] for g in got] == [w[text] for w in want], f"{kind}: {text}")
        check(all(len(g["pieces"]) == len(g["tokens"]) for g in got), f"{kind}: pieces")

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "text")
    with open(path, "wb") as file:
        file.write("the pores, \u4e2d\n".encode())
    numbers, _ = tokens("byte_level", "--prompt", "@" + path)
    check(numbers == tokens("byte_level", "--prompt", "-", stdin="the pores, \u4e2d\n".encode())[0] == tokens("byte_level", "--prompt", "the pores, \u4e2d\n")[0], "three ways")
    back, _ = tokens("byte_level", "--tokens", ",".join(numbers.decode().split()))
    check(back.decode() == "the pores, \u4e2d\n\n", f"numbers to text: {back}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"tokens": [int(n) for n in numbers.split()]}) + "\n\n")
    check(tokens("byte_level", "--prompts", path)[0] == back, "numbers of a file")

    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"text": "the pores", "text_pair": "a grain"}))
    pair = json.loads(tokens("wordpiece", "--prompts", path, "--json")[0])["results"][0]
    first, second = (tokens("wordpiece", "--prompt", text, "--bare")[0].split() for text in ("the pores", "a grain"))
    check(pair["tokens"] == [2, *map(int, first), 3, *map(int, second), 3] and pair["types"] == [0] * (len(first) + 2) + [1] * (len(second) + 1), f"a pair: {pair}")

special, literal = (tokens("byte_level", "--prompt", "<s>a</s>", "--bare", *flag)[0].split() for flag in ((), ("--literal",)))
check(len(special) == 3 and len(literal) > 3 and special[0] == b"0", f"special tokens in a text: {special}, as text: {literal}")
check("not UTF-8: 2 places became U+FFFD" in tokens("fallback", "--prompt", "-", stdin=b"a\xffb\xe4\xb8")[1], "bytes that are no text")
with tempfile.TemporaryDirectory() as folder:
    sizes = {"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12, "dtype": "float16"}
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(sizes, file)
    plain = subprocess.run([PROGRAM, "info", folder], capture_output=True, text=True).stdout
    told = json.loads(subprocess.run([PROGRAM, "info", os.path.join(folder, "config.json"), "--json"], capture_output=True, text=True).stdout)
    check("language model gpt2" in plain and "124439808; 248879616 bytes in 16 bits" in plain and "tokenizer:  none" in plain, plain)
    check(told["parameters"] == 124439808 and told["sizes"]["head_width"] == 64 and told["dtype"] == "f16" and told["tokenizer"] is None, f"{told}")
    check("weights:    none: there is no model.safetensors" in plain and "model.safetensors" in told["weights_missing"], plain)
    os.rename(os.path.join(folder, "config.json"), os.path.join(folder, "tokenizer.json"))
    check(subprocess.run([PROGRAM, "info", folder], capture_output=True, text=True).stdout.startswith(f"{folder}: no config.json"), "a folder without config.json")
gpt2 = os.path.join(FIXTURES, "..", "language", "gpt2")
told = json.loads(subprocess.run([PROGRAM, "info", gpt2, "--json"], capture_output=True, text=True).stdout)
check(told["weights"]["numbers"] == told["parameters"], f"weights: {told}")

finish("tokens")
