"""infer embed: vectors as JSON, lines and a file; pools and lengths as the files of a folder say; long texts.

    embed.py MESOFORGE MPIEXEC FIXTURES
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

from runs import check, finish

PROGRAM, FIXTURES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[3])
MODEL = os.path.join(FIXTURES, "language", "bert")


def run(folder, *words, status=0):
    done = subprocess.run([PROGRAM, "infer", "embed", folder, *words], capture_output=True, text=True)
    check(done.returncode == status, f"{words}: {done.returncode} {done.stderr}")
    return done.stdout if status == 0 else done.stderr


def answer(folder, *words):
    return json.loads(run(folder, *words, "--json"))


def npy(path, kind, size):
    with open(path, "rb") as file:
        data = file.read()
    numbers = data[10 + int.from_bytes(data[8:10], "little"):]
    return list(struct.unpack(f"<{len(numbers) // size}{kind}", numbers))


def write(folder, name, value):
    os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(value, file)


def modules(*kinds):
    return [{"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"} for i, kind in enumerate(kinds)]


ids = ",".join(map(str, npy(os.path.join(MODEL, "expected", "input_ids.npy"), "q", 8)[:23]))
for flags, name in (((), "embedding_mean"), (("--normalize",), "embedding_mean_l2"), (("--pool", "first", "--normalize"), "embedding_cls_l2"), (("--pool", "pooler"), "pooler_output")):
    want = npy(os.path.join(MODEL, "expected", name + ".npy"), "f", 4)[:16]
    got = answer(MODEL, "--tokens", ids, *flags)["results"][0]["embedding"]
    check(max(abs(a - b) for a, b in zip(got, want)) < 1e-5, f"{flags}: {got}, not {want}")

with tempfile.TemporaryDirectory() as folder:
    for name in ("config.json", "model.safetensors"):
        shutil.copy(os.path.join(MODEL, name), folder)
    shutil.copy(os.path.join(FIXTURES, "text", "wordpiece", "tokenizer.json"), folder)
    lines, path = os.path.join(folder, "lines.jsonl"), os.path.join(folder, "vectors.npy")
    texts = ["the pores", "a grain " * 9, "x", "the pores"]
    with open(lines, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
        file.write(json.dumps({"text": "the pores", "text_pair": "a grain"}) + "\n")
    all_of_it = answer(folder, "--prompts", lines)
    vectors = [row["embedding"] for row in all_of_it["results"]]
    check(all_of_it["pool"] == "mean" and not all_of_it["normalized"] and vectors[0] == vectors[3] != vectors[4], f"{all_of_it}")
    check(answer(folder, "--prompt", texts[1])["results"][0]["embedding"] == vectors[1], "a text has other bits alone")
    lasting = run(folder, "--prompts", lines, "--output", path)
    check(not lasting and npy(path, "d", 8) == [x for vector in vectors for x in vector], "vectors in a file")
    plain = [[float(x) for x in line.split()] for line in run(folder, "--prompts", lines).splitlines()]
    check(all(abs(a - b) < 1e-8 for one, two in zip(plain, vectors) for a, b in zip(one, two)) and len(plain) == 5, "vectors as lines")
    check("arrays of rank 0 take" in run(folder, "--prompt", "x", "--dry-run"), "a dry run")

    def together(ranks, *more):
        words = [PROGRAM, "infer", "embed", folder, "--prompts", lines, *more]
        done = subprocess.run([sys.argv[2], "-n", str(ranks), *words] if ranks > 1 else words, capture_output=True, text=True)
        check(done.returncode == 0, f"{ranks} ranks, {more}: {done.stderr}")
        return done.stdout

    for ranks, pool in ((1, "pooler"), (2, "mean"), (3, "pooler")):
        told = json.loads(together(ranks, "--json", "--pool", pool))
        peak = told["peak_bytes"]
        check(pool == "pooler" or [row["embedding"] for row in told["results"]] == vectors, f"vectors of {ranks} ranks")
        dry = json.loads(together(ranks, "--json", "--pool", pool, "--dry-run"))["peak_bytes"]
        check(peak["predicted"] == peak["arena"] == dry["arena"] and len(peak["arena"]) == ranks, f"{peak}, {dry}")
    together(3, "--output", path)
    check(npy(path, "d", 8) == [x for vector in vectors for x in vector], "vectors of three ranks in a file")

    def says(*words):
        told = answer(folder, "--prompt", "the pores", *words)
        return told["pool"], told["normalized"]

    write(folder, "1_Pooling/config.json", {"word_embedding_dimension": 16, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})
    check(says() == ("first", False) and says("--pool", "last") == ("last", False), "an old pool")
    write(folder, "modules.json", modules("Transformer", "Pooling", "Normalize"))
    write(folder, "1_Pooling/config.json", {"embedding_dimension": 16, "pooling_mode": "lasttoken", "include_prompt": True})
    check(says() == ("last", True) and says("--no-normalize") == ("last", False), "a new pool and a norm")
    write(folder, "sentence_bert_config.json", {"max_seq_length": 6, "do_lower_case": False})
    check("has 20 tokens, and the model reads 6; try: --truncate" in run(folder, "--prompt", texts[1], status=2), "a long text")
    short = answer(folder, "--prompt", texts[1], "--truncate", "--pool", "mean")
    check(short["truncated"] == 1 and short["results"][0]["tokens"] == 6, f"a text that was cut: {short}")
    numbers = subprocess.run([PROGRAM, "infer", "tokens", folder, "--prompt", texts[1]], capture_output=True, text=True).stdout.split()
    same = answer(folder, "--tokens", ",".join(numbers[:5] + numbers[-1:]), "--pool", "mean")
    check(same["results"][0]["embedding"] == short["results"][0]["embedding"], "a text is cut before its last special token")

    for name, value, why in (("sentence_bert_config.json", {"max_seq_length": -1}, "-1 is no whole number"),
                             ("1_Pooling/config.json", {"pooling_mode": "max"}, "the pool 'max' is not known here"),
                             ("1_Pooling/config.json", {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}, "several pools at once"),
                             ("1_Pooling/config.json", {}, "names no pool"),
                             ("modules.json", modules("Transformer", "Dense"), "the module 'sentence_transformers.models.Dense' in place 1 is not known"),
                             ("modules.json", [{"type": "a.Transformer"}, {"type": "a.Pooling", "path": "../x"}], "is no folder of the model"),
                             ("modules.json", {}, "must be a list of modules")):
        write(folder, name, value)
        check(why in run(folder, "--prompt", "x", status=3), f"{name}: {why}")
        if name == "1_Pooling/config.json":
            run(folder, "--prompt", "x", "--pool", "mean")
        else:
            os.remove(os.path.join(folder, name))
finish("embed")
