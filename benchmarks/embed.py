#!/usr/bin/env python3
"""Time of `infer embed` beside transformers (PyTorch, f32), turn by turn on one core, and how much vectors differ.

    embed.py MESOFORGE FOLDER [ROUNDS]

FOLDER has a model of type BERT that sentence-transformers wrote, with a mean and vectors of length 1 (MiniLM). Texts are
paragraphs of our documents. Both sort texts by length, and cut long ones. Ours takes the processor seconds of a process,
without those of a process that embeds one word: the start, and reading weights. Needs `pip install torch transformers`.
"""
import glob
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

os.environ |= {"TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
import numpy as np  # noqa: E402
import torch  # noqa: E402
from transformers import AutoModel, AutoTokenizer  # noqa: E402

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BATCH = 32  # as sentence-transformers


def paragraphs():
    found = []
    for path in sorted(glob.glob(f"{HERE}/docs/*.md")):
        with open(path, encoding="utf-8") as file:
            found += [text.strip() for text in re.split(r"\n\n|(?<=\.) ", file.read())]
    return [text for text in found if 20 < len(text) < 900]


class Peer:
    def __init__(self, folder):
        self.tokenizer, self.model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
        with open(os.path.join(folder, "sentence_bert_config.json"), encoding="utf-8") as file:
            self.longest = json.load(file)["max_seq_length"]

    def embed(self, texts):
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        vectors = np.zeros((len(texts), self.model.config.hidden_size))
        for k in range(0, len(order), BATCH):
            part = order[k:k + BATCH]
            batch = self.tokenizer([texts[i] for i in part], padding=True, truncation=True, max_length=self.longest, return_tensors="pt")
            with torch.inference_mode():
                counts = batch["attention_mask"][..., None].float()
                states = self.model(**batch).last_hidden_state
                vectors[part] = torch.nn.functional.normalize((states * counts).sum(1) / counts.sum(1)).numpy()
        return vectors

    def tokens(self, texts):
        return sum(len(self.tokenizer(text, truncation=True, max_length=self.longest)["input_ids"]) for text in texts)


def ours(program, folder, texts, scratch):
    lines, path = os.path.join(scratch, "texts.jsonl"), os.path.join(scratch, "vectors.npy")
    with open(lines, "w", encoding="utf-8") as file:
        file.write("\n".join(json.dumps({"text": text}) for text in texts))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, "infer", "embed", folder, "--prompts", lines, "--truncate", "--output", path, "--threads", "1"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, np.load(path)


def main():
    program, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 5
    torch.set_num_threads(1)
    peer, every = Peer(folder), paragraphs()
    texts = [every[i * 7919 % len(every)] for i in range(400)]
    print("# texts per second of one core: medians; ratios of pairs; vectors: largest difference, least cosine")
    print("texts\ttokens\tours\ttransformers\tratio\tleast\tmost\tdifference\tcosine")
    with tempfile.TemporaryDirectory() as scratch:
        for name, chosen in (("all", texts), ("short", [" ".join(text.split()[:8]) for text in texts])):
            peer.embed(chosen[:BATCH])
            rows = []
            for _ in range(rounds):
                start, mine = ours(program, folder, ["pore"], scratch)[0], ours(program, folder, chosen, scratch)
                began = time.process_time()
                theirs = peer.embed(chosen)
                rows.append((mine[0] - start, time.process_time() - began))
            ratios = [b / a for a, b in rows]
            difference, cosine = abs(mine[1] - theirs).max(), (mine[1] * theirs).sum(1).min()
            print(f"{name}\t{peer.tokens(chosen)}\t{len(chosen) / statistics.median(a for a, _ in rows):.1f}\t{len(chosen) / statistics.median(b for _, b in rows):.1f}\t"
                  f"{statistics.median(ratios):.2f}\t{min(ratios):.2f}\t{max(ratios):.2f}\t{difference:.1e}\t{cosine:.9f}", flush=True)


main()
