"""The verb map: bytes of published models from config.json alone, equal to their numbers of parameters; totals of devices; files that are read again.

    map.py MESOFORGE HARDWARE FIXTURES MPIEXEC
"""
import json
import os
import sys
import tempfile

from runs import check, finish, run

PROGRAM, HARDWARE, FIXTURES = map(os.path.abspath, sys.argv[1:4])
MPIEXEC = sys.argv[4]
L4, H100 = os.path.join(HARDWARE, "l4x4.json"), os.path.join(HARDWARE, "h100x8.json")

LLAMA = {"vocab_size": 32000, "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32}
PUBLISHED = {  # configurations of published models, and their numbers of parameters
    "gpt2": ({"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12}, 124439808),
    "opt-350m": ({"model_type": "opt", "vocab_size": 50272, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
                  "max_position_embeddings": 2048, "ffn_dim": 4096, "word_embed_proj_dim": 512, "do_layer_norm_before": False}, 331196416),
    "opt-6.7b": ({"model_type": "opt", "vocab_size": 50272, "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
                  "max_position_embeddings": 2048, "ffn_dim": 16384}, 6658473984),
    "MiniLM-L6": ({"model_type": "bert", "vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
                   "intermediate_size": 1536, "max_position_embeddings": 512}, 22713216),
    "llama-7b": ({**LLAMA, "model_type": "llama", "intermediate_size": 11008}, 6738415616),
    "mistral-7b": ({**LLAMA, "model_type": "mistral", "intermediate_size": 14336}, 7241732096),
}


def tell(folder, *words, status=0):
    done = run(PROGRAM, "map", *words, "--json", cwd=folder)
    check(done.status == status, f"map {words}: {done.status} {done.err[-400:]}")
    return json.loads(done.out) if done.out else {}


def shared(parts):
    """Bytes that two parts have together: the tied table stands in both."""
    tied = [p for p in parts if p["shares_with"]]
    return min((p["weights"] for p in tied), default=0)


def check_published(folder):
    for name, (config, parameters) in PUBLISHED.items():
        os.makedirs(os.path.join(folder, name))
        json.dump(config, open(os.path.join(folder, name, "config.json"), "w"))
        told = tell(folder, name, "--context", "256", "--hardware", H100, "--devices", "cuda:0")
        whole = tell(folder, name, "--context", "256", "--hardware", L4, "--devices", "cpu")
        parts = whole["parts"]
        numbers = sum(p["numbers"] for p in parts)
        if "head" in parts[0]["shares_with"]:
            numbers -= config["vocab_size"] * config.get("word_embed_proj_dim", config.get("n_embd", config.get("hidden_size")))
        check(numbers == parameters, f"{name} has {numbers} numbers, not {parameters}")
        check(len(parts) == 2 + config.get("n_layer", config.get("num_hidden_layers")), f"{name}: {len(parts)} parts")
        check(0.9 * whole["devices"][0]["needed"] < told["devices"][0]["needed"] < 1.01 * whole["devices"][0]["needed"] + 2**26, f"{name}: a GPU needs work memory beside")
        caches = sum(p["caches"] for p in parts)
        heads = config.get("num_attention_heads", config.get("n_head"))
        width = config.get("n_embd", config.get("hidden_size")) // heads * (8 if name == "mistral-7b" else heads)
        kept = 0 if name == "MiniLM-L6" else 2 * 256 * width * 4 * (len(parts) - 2) + 4 * config["vocab_size"]
        check(abs(caches - kept) <= 4096, f"{name}: {caches} bytes of caches")


def check_totals(folder):
    four = tell(folder, "llama-7b", "--context", "512", "--requests", "2", "--hardware", L4)
    check(four["boundaries"] == 3 and [d["parts"] for d in four["devices"]] == [9, 8, 8, 9], f"four equal GPUs: {four['boundaries']}, {four['devices']}")
    for device in four["devices"]:
        own = [p for p in four["parts"] if p["device"] == device["name"]]
        needed = sum(p["weights"] + p["caches"] for p in own) + max(p["work"] for p in own)
        check(device["needed"] == needed and device["stays_free"] == device["free"] - needed, f"{device} and {needed}")
    check({p["leaves"] for p in four["parts"][:-1]} == {256 * 4096 * 4}, "what leaves a part is an activation of the chunk")
    one = tell(folder, "gpt2", "--hardware", L4, "--devices", "cuda:1")["parts"]
    two = tell(folder, "gpt2", "--hardware", L4, "--devices", "cuda:1", "cuda:0")
    check(sum(d["needed"] - max(p["work"] for p in two["parts"] if p["device"] == d["name"]) for d in two["devices"]) ==
          sum(p["weights"] + p["caches"] for p in one), "both devices hold the tied table")
    alone = tell(folder, "gpt2", "--hardware", L4, "--devices", "cuda:1")["devices"][0]
    check(alone["needed"] == sum(p["weights"] + p["caches"] for p in one) - 50257 * 768 * 4 + max(p["work"] for p in one), "one device holds it once")
    words = ("gpt2", "--requests", "4", "--context", "512", "--threads", "2")
    planned = json.loads(run(PROGRAM, "plan", "infer", *words, "--ranks", "1", "--device", "cpu", "--json", cwd=folder).out)["bytes"]["total"]
    check(tell(folder, *words, "--devices", "cpu")["devices"][0]["needed"] == planned, f"a map and a plan of one rank: {planned} bytes")


def check_types(folder):
    """Weights of 8 and 16 bits: products and the table of tokens; norms, biases and positions have 32."""
    config = PUBLISHED["llama-7b"][0]
    width, inner = config["hidden_size"], config["intermediate_size"]
    products, norms = 4 * width * width + 3 * width * inner, 2 * width
    rows = 5 * width + 2 * inner  # outputs of the products of a layer
    for word, kind, bytes_each, factors in (("bf16", "bf16", 2, 0), ("f16", "f16", 2, 0), ("int8", "int8", 1, rows), ("f32", "f32", 4, 0)):
        layer = tell(folder, "llama-7b", "--context", "256", "--dtype", word, "--hardware", L4)["parts"][1]
        want = {kind: bytes_each * products}
        want["f32"] = want.get("f32", 0) + 4 * (norms + factors)
        check(layer["weights_by_type"] == want and layer["numbers"] == products + norms, f"{word}: {layer}, want {want}")
    tied = tell(folder, os.path.join(FIXTURES, "llama3-tied-bf16"))["parts"][0]
    check(list(tied["weights_by_type"]) == ["bf16"], str(tied))


def check_files(folder):
    """--output is what --map reads, by modules of transformers; and the map in words, too."""
    words = "layers.0-3=cuda:2,layers.7.in.weight=cpu,*=cuda:0"
    first = tell(folder, "gpt2", "--context", "64", "--hardware", L4, "--devices", "cuda,cpu", "--map", words, "--output", "map.json")
    check(first["strategy"] == "custom" and first["parts"][1]["device"] == "cuda:2" and first["devices"][4]["needed"] > 768 * 3072 * 4, str(first["devices"]))
    check(json.load(open(os.path.join(folder, "map.json"))) == first["device_map"] and first["device_map"]["transformer.h.7.mlp.c_fc"] == "cpu", "the file of --output")
    for again in ("map.json", first["map"]):
        second = tell(folder, "gpt2", "--context", "64", "--hardware", L4, "--devices", "cuda,cpu", "--map", again)
        check(second["device_map"] == first["device_map"] and second["devices"] == first["devices"], f"--map {again}")
    done = run(PROGRAM, "map", "gpt2", "--context", "64", "--hardware", L4, "--devices", "cuda,cpu", "--map", "map.json", "--check", cwd=folder)
    check(done.status == 0 and "all 14 parts have a device" in done.out, done.err)
    done = run(PROGRAM, "map", "gpt2", "--hardware", L4, cwd=folder)
    check(done.status == 0 and "layers.1 .. layers.5 " in done.out and "boundaries: 3" in done.out, done.out)


def check_advice(folder):
    told = tell(folder, "llama-7b", "--context", "256", "--hardware", os.path.join(HARDWARE, "mixed.json"), "--recommend")
    check(told["kind"] == "single" and told["devices"] == "cuda:0", str(told))
    told = tell(folder, "llama-7b", "--context", "256", "--hardware", L4, "--recommend")
    check(told["kind"] == "multi" and told["strategy"] == "auto", str(told))
    told = tell(folder, "gpt2", "--context", "256", "--hardware", L4, "--recommend")
    check(told["kind"] == "single" and told["devices"] == "cuda:0", str(told))
    told = tell(folder, "gpt2", "--context", "256", "--hardware", L4, "--recommend", "--policy", "largest")
    check(told["kind"] == "multi" and told["strategy"] == "auto", str(told))
    told = tell(folder, "llama-7b", "--context", "256", "--hardware", L4, "--devices", "cuda:0", "cuda:1", "--recommend", "--policy", "largest")
    check(told["kind"] == "multi" and told["strategy"] == "auto", str(told))
    told = tell(folder, "llama-7b", "--context", "2048", "--requests", "8", "--hardware", L4, "--devices", "cuda:0", "cuda:1", "--recommend", "--policy", "largest")
    check(told["kind"] == "multi" and told["strategy"] == "balanced", str(told))
    told = tell(folder, "llama-7b", "--context", "256", "--hardware", L4, "--devices", "cuda:0", "--recommend", "--policy", "largest")
    check(told["kind"] == "cpu", str(told))
    told = tell(folder, "--estimate", "facebook/opt-1.3b", "--hardware", L4, "--map-algo", "greedy")
    check(told["kind"] == "guess by name" and told["strategy"] == "greedy" and told["boundaries"] == 12 and told["parts"][1]["weights"] == int(0.08 * 2**30), str(told)[:300])
    limited = tell(folder, "gpt2", "--hardware", L4, "--device", "cuda:2", "--memory-limit", "1000")["devices"]
    check([d["name"] for d in limited] == ["cuda:2"] and limited[0]["free"] == 1000 << 20, str(limited))
    done = run(PROGRAM, "map", "llama-7b", "--hardware", L4, "--devices", "cuda:0", "cuda:3", "--tp-config", cwd=folder)
    check(json.loads(done.out) == {"tensor_parallel_size": 2, "gpu_ids": [0, 3], "max_parallel_loading_workers": 4}, done.out)
    done = run(PROGRAM, "map", "gpt2", "--hardware", L4, "--devices", "cuda:7", "rocm:0", "--lenient-devices", "--prefer", "rocm", cwd=folder)
    check(done.status == 0 and "'cuda:7' is not there" in done.err and "no such devices; cuda comes next" in done.err and "boundaries: 3" in done.out, done.err)


def check_weights():
    """A model with its weights: a head in the file is not tied, and types of the file stand in info alone."""
    told = tell(".", os.path.join(FIXTURES, "llama3-tied-bf16"), "--devices", "cpu")
    check(told["parts"][0]["shares_with"] == ["head"] and told["parts"][-1]["shares_with"] == ["embeddings"], str(told["parts"][0]))


def check_runs(folder):
    """A map for four GPUs of a file is run by four ranks, which give the tokens of one."""
    model = os.path.join(FIXTURES, "gpt2")
    told = tell(folder, model, "--hardware", L4, "--output", "four.json")
    check(told["boundaries"] == 3, str(told["map"]))
    words = ("infer", "text-generation", model, "--tokens", "5,7,9", "--json")
    want = json.loads(run(PROGRAM, *words, cwd=folder).out)["results"][0]["tokens"]
    for given in ("four.json", told["map"]):
        done = run(PROGRAM, *words, "--map", given, ranks=4, mpiexec=MPIEXEC, cwd=folder)
        check(done.status == 0 and json.loads(done.out)["results"][0]["tokens"] == want, f"--map {given}: {done.err[-300:]}")
        check(done.err.count("only numbers a stage; every rank computes on the cores") == 1, f"--map {given}: {done.err[-300:]}")
    done = run(PROGRAM, "map", model, "--measure", "--context", "20", "--device", "cpu", "--output", "ranks.json", ranks=2, mpiexec=MPIEXEC, cwd=folder)
    check(done.status == 0 and sorted(set(json.load(open(os.path.join(folder, "ranks.json"))).values())) == ["rank:0", "rank:1"], done.err[-300:])
    done = run(PROGRAM, "map", model, "--map", "ranks.json", "--check", cwd=folder)
    check(done.status == 0 and "have a device" in done.out, done.err)
    done = run(PROGRAM, *words, "--map", "ranks.json", ranks=2, mpiexec=MPIEXEC, cwd=folder)
    check(done.status == 0 and json.loads(done.out)["results"][0]["tokens"] == want and "only numbers" not in done.err, done.err)
    for name, said in (("mixtral", "4 ranks cannot share layers of 4 heads"), ("bert", "GPUs do not share layers of a model of type bert")):
        done = run(PROGRAM, "map", os.path.join(FIXTURES, name), "--hardware", L4, "--tp-config", cwd=folder)
        check(done.status == 2 and said in done.err, f"{name}: {done}")
    for given, ranks, more, said in (("*=foo", 1, (), "'foo' is no device"), ("bogus=cpu", 1, (), "'bogus' meets no part"),
                                     ("head=cuda:1,*=cuda:0", 2, ("--pp", "1"), "names 2 devices, and --pp is 1")):
        done = run(PROGRAM, *words, "--map", given, *more, ranks=ranks, mpiexec=MPIEXEC, cwd=folder)
        check(done.status == 2 and said in done.err, f"--map {given}: {done.err[-300:]}")
    done = run(PROGRAM, *words, "--map", "four.json", cwd=folder)
    check(done.status == 2 and "mpirun -n 4" in done.err, done.err)


with tempfile.TemporaryDirectory() as work:
    check_published(work)
    check_totals(work)
    check_types(work)
    check_files(work)
    check_advice(work)
    check_runs(work)
check_weights()
finish("map")
