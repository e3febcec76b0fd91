#!/usr/bin/env python3
"""Time of our tokenizers beside those of the library `tokenizers`, turn by turn, on one core.

    tokens.py BENCH_TOKENS [ROUNDS [KIND ...]]

It trains a tokenizer of each kind on texts of this machine (documents and sources of the repository and of Python), and
encodes and decodes other ones. All numbers of tokens must be equal. Needs `pip install tokenizers`.
"""
import glob
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import tokenizers  # noqa: E402
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VOCABULARY, TRAINED, TIMED, PART = 30000, 6 << 20, 1 << 20, 2000  # bytes of texts; characters of one


def texts():
    """Parts of files, in an order that mixes them."""
    found = []
    for pattern in (f"{HERE}/docs/*.md", f"{HERE}/src/**/*.[ch]", f"{sysconfig.get_paths()['stdlib']}/*.py", f"{sysconfig.get_paths()['stdlib']}/*/*.py"):
        for path in sorted(glob.glob(pattern, recursive=True)):
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            found += [text[i:i + PART] for i in range(0, len(text), PART)]
    return [found[i * 7919 % len(found)] for i in range(len(found))]


def byte_level(pattern=None, **more):
    made = Tokenizer(models.BPE(**more))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if pattern:
        made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    return made, trainers.BpeTrainer(vocab_size=VOCABULARY, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def fallback():
    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    made.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")  # while it is trained
    made.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return made, trainers.BpeTrainer(vocab_size=VOCABULARY, show_progress=False, special_tokens=["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)])


def wordpiece():
    made = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece(prefix="##")
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made, trainers.WordPieceTrainer(vocab_size=VOCABULARY, show_progress=False, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])


KINDS = {"gpt2": byte_level, "llama3": lambda: byte_level(LLAMA3, ignore_merges=True), "llama": fallback, "bert": wordpiece}


def make(kind, folder, learnt):
    made, trainer = KINDS[kind]()
    made.train_from_iterator(learnt, trainer)
    path = os.path.join(folder, "tokenizer.json")
    made.save(path)
    if kind == "llama":  # its bytes are no added tokens, and nothing cuts a text
        with open(path, encoding="utf-8") as file:
            all_of_it = json.load(file)
        all_of_it["added_tokens"] = all_of_it["added_tokens"][:3]
        all_of_it["pre_tokenizer"] = None
        with open(path, "w", encoding="utf-8") as file:
            json.dump(all_of_it, file)
    return Tokenizer.from_file(path)


def timed(work):
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def compare(kind, bench, rounds, learnt, others):
    with tempfile.TemporaryDirectory() as folder:
        peer = make(kind, folder, learnt)
        path = os.path.join(folder, "texts.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(json.dumps({"text": t}) for t in others))
        with subprocess.Popen([bench, folder, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as ours:
            def ask(line):
                ours.stdin.write(line + "\n")
                ours.stdin.flush()
                return ours.stdout.readline().split()

            want = peer.encode_batch_fast(others)
            equal = [int(x) for x in ask("tokens")] == [i for e in want for i in e.ids]
            ids, size = [e.ids for e in want], sum(len(t.encode()) for t in others)
            rows = []
            for _ in range(rounds):
                encode, decode, _ = (float(x) for x in ask("1"))
                peer_encode, _ = timed(lambda: peer.encode_batch_fast(others))
                peer_decode, _ = timed(lambda: peer.decode_batch(ids))
                rows.append((encode, peer_encode, decode, peer_decode))
            ours.stdin.close()
    for name, mine, theirs in (("encode", 0, 1), ("decode", 2, 3)):
        ratios = [r[theirs] / r[mine] for r in rows]
        print(f"{kind}\t{name}\t{size / 1e6 / statistics.median(r[mine] for r in rows):.1f}\t{size / 1e6 / statistics.median(r[theirs] for r in rows):.1f}\t"
              f"{statistics.median(ratios):.2f}\t{min(ratios):.2f}\t{max(ratios):.2f}\t{'yes' if equal else 'NO'}", flush=True)
    return equal


def main():
    bench, rounds, kinds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 9, sys.argv[3:] or list(KINDS)
    every, learnt, others, size = texts(), [], [], 0
    for text in every:
        if size < TRAINED:
            learnt.append(text)
        elif size < TRAINED + TIMED:
            others.append(text)
        size += len(text)
    print(f"# tokenizers {tokenizers.__version__}, one core; MB/s of processor time, median of {rounds} turns; times: theirs / ours, median, least, most")
    print("kind\twhat\tours MB/s\ttheirs MB/s\ttimes\tleast\tmost\tsame tokens", flush=True)
    return 0 if all([compare(kind, os.path.abspath(bench), rounds, learnt, others) for kind in kinds]) else 1


if __name__ == "__main__":
    sys.exit(main())
