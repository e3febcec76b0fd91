"""A model of ours in PyTorch answers as infer does. usage: pytorch.py MESOFORGE SOURCE     exit status 77: NumPy or PyTorch is missing"""
import json
import os
import sys
import tempfile

import runs
from runs import check, finish

program, source = (os.path.abspath(a) for a in sys.argv[1:3])
sys.path[0] = os.path.join(source, "tools/pytorch")  # not this folder: PyTorch imports cuda.bindings, and cuda.py is here
numpy, torch = runs.optional("numpy"), runs.optional("torch")
if not numpy or not torch:
    sys.exit(77)
os.chdir(tempfile.mkdtemp())
import mesoforge_torch

random = numpy.random.default_rng(1)
SAMPLES, CLASSES = 24, 3
SETS = {  # extents, channels, phases, type
    "grey": ((12, 16), 1, 0, "u1"),
    "colour": ((12, 16), 3, 0, "f4"),
    "two": ((12, 16), 1, 2, "u1"),
    "four": ((12, 16), 1, 4, "u1"),
    "volume": ((6, 4, 5), 1, 3, "u1"),
    "density": ((6, 4, 5), 2, 0, "f4"),
}
CASES = [
    ("classify", "grey", "cnn", "--width", 12, "--depth", 2),
    ("regress", "colour", "cnn", "--width", 6, "--depth", 3),
    ("classify", "four", "vit", "--width", 16, "--depth", 2, "--heads", 4, "--patch", 4),
    ("regress", "grey", "vit", "--width", 16, "--depth", 1, "--heads", 2, "--patch", 4, "--experts", 3, "--balance", 0.5),
    ("classify", "two", "mlp", "--width", 16, "--depth", 2),
    ("classify", "volume", "mlp", "--width", 16, "--depth", 1),
    ("regress", "density", "mlp", "--width", 16, "--depth", 3),
    ("classify", "two", "moe", "--width", 8, "--depth", 1, "--experts", 5, "--features", "cnn", "--balance", 0.5),
    ("regress", "volume", "moe", "--width", 8, "--depth", 2, "--experts", 4, "--features", "none", "--top-k", 1, "--temperature", 0.3, "--balance", 0.1),
    ("classify", "colour", "moe", "--width", 8, "--depth", 1, "--experts", 4, "--features", "none", "--top-k", 3, "--balance", 0),
    ("regress", "colour", "convnext", "--width", 8, "--depth", 2, "--patch", 2, "--blocks", 1, "--deep", 2),
]


def good(*words):
    done = runs.run(program, *words)
    check(done.status == 0, f"{words}: {done}")
    return done.out


def values(extents, channels, phases, kind):
    shape = (SAMPLES, *extents) + ((channels,) if channels > 1 else ())
    if phases:
        return random.integers(0, phases, shape).astype(kind)
    return (random.integers(0, 256, shape) if kind == "u1" else random.normal(3, 2, shape)).astype(kind)


def make_sets():
    for name, (extents, channels, phases, kind) in SETS.items():
        numpy.save(f"{name}.npy", values(extents, channels, phases, kind))
        with open(f"{name}.csv", "w") as file:
            file.write("label,left,right\n" + "".join(f"{k % CLASSES},{100 + k},{numpy.sin(k)}\n" for k in range(SAMPLES)))
        good("data", "import", f"{name}.npy", "--table", f"{name}.csv", "--phases", phases, "--output", f"{name}.h5")


def said(verb, model, *files):
    found = json.loads(good("infer", verb, model, *files, "--json"))["predictions"]
    return numpy.array([list(one["probabilities" if verb == "classify" else "values"].values()) for one in found])


def is_near(got, want, what):
    off = abs(got - want).max() / max(1, abs(want).max()) if got.shape == want.shape else numpy.inf
    check(off < 1e-5, f"{what}: {off} apart\n{got[:2]}\n{want[:2]}")


def answers(model, x):
    with torch.no_grad():
        return model(x).numpy()


def models_answer_alike():
    for at, (verb, data, arch, *sizes) in enumerate(CASES):
        path, x = f"run{at}/model.safetensors", numpy.load(f"{data}.npy")
        good("train", verb, "--data", f"{data}.h5", "--arch", arch, *sizes, "--epochs", 3, "--effective-batch", 8, "--learning-rate", 0.01, "--no-plots", "--results-dir", f"run{at}")
        model = mesoforge_torch.load(path)
        check(model.names == (["0", "1", "2"] if verb == "classify" else ["left", "right"]), f"{arch}: names {model.names}")
        is_near(answers(model, x), said(verb, path, f"{data}.h5"), f"{verb} {data} {arch}")
        if "--balance" in sizes and sizes[-1]:
            check(any(b.abs().max() > 0 for name, b in model.named_buffers() if "balance_bias" in name), f"{arch}: no balance bias")


def larger_samples_are_cut():
    """Tiles of an image; the last of a row overlaps the one before."""
    x = numpy.load("grey.npy")
    wide = numpy.concatenate([x[0], x[1], x[2][:, :7]], 1)
    numpy.save("wide.npy", wide)
    is_near(answers(mesoforge_torch.load("run0/model.safetensors"), wide[None]), said("classify", "run0/model.safetensors", "wide.npy"), "tiles")


def experts_have_numbers():
    """Those that were born and merged are no longer 0, 1, ..."""
    with open("run7/model.safetensors", "rb") as file:
        data = file.read()
    with open("born.safetensors", "wb") as file:
        file.write(data.replace(b"experts.3.", b"experts.8.").replace(b'expert_ids\\":[0,1,2,3,4]', b'expert_ids\\":[0,1,2,8,4]'))
    model = mesoforge_torch.load("born.safetensors")
    check(list(model.net.experts) == ["0", "1", "2", "8", "4"], f"experts {list(model.net.experts)}")
    is_near(answers(model, numpy.load("two.npy")), said("classify", "born.safetensors", "two.h5"), "numbers of experts")


def others_are_refused():
    with open("run4/model.safetensors", "rb") as file:
        data = file.read()
    with open("bare.safetensors", "wb") as file:
        file.write(data.replace(b'"mesoforge":', b'"nobody...":', 1))
    with open("empty.safetensors", "wb") as file:  # its first weights are NaN
        begin = 8 + int.from_bytes(data[:8], "little")
        file.write(data[:begin] + b"\xff" * (len(data) - begin))
    torch.save({"a": 1}, "x.pt")
    for path, x, word in (("run4/model.safetensors", numpy.zeros((2, 1, 12, 16), "u1"), "[2, 1, 12, 16]; the model reads [n][y][x]: channels come last"),
                          ("run4/model.safetensors", numpy.zeros((12, 16), "u1"), "one sample is x[None]"), ("x.pt", None, "is no .safetensors file"),
                          ("grey.h5", None, "is no .safetensors file"), ("empty.safetensors", None, "holds NaN"), ("bare.safetensors", None, "no model of mesoforge"), ("run4/model.safetensors", numpy.zeros((1, 4, 4), "u1"), "smaller"),
                          ("run4/model.safetensors", numpy.full((1, 12, 16), 2), "Class values must be smaller")):
        try:
            mesoforge_torch.load(path)(x)
            check(False, f"{path} is not refused with '{word}'")
        except (ValueError, RuntimeError) as refusal:
            check(word in str(refusal), f"{path}: {refusal}")


torch.set_num_threads(1)
make_sets()
models_answer_alike()
larger_samples_are_cut()
experts_have_numbers()
others_are_refused()
finish("pytorch")
