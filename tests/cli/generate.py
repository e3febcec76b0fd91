"""train unet and generate: a network learns to remove noise, and makes sets that are the same on any number of ranks, after kills and when they
become longer. usage: generate.py MESOFORGE MPIEXEC"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import runs
from runs import check, finish, optional

program, mpiexec = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:3])
os.chdir(tempfile.mkdtemp())
h5py, numpy = optional("h5py"), optional("numpy")
if not h5py or not numpy:
    sys.exit(77)
TRAIN = ["train", "unet", "--data", "set.h5", "--arch", "unet:width=8,depth=2,blocks=1,attention=4,patch=2", "--effective-batch", "16", "--no-plots"]
LAYERS = ["--layers", "decoder_block_6,encoder_block_0,encoder_bottleneck"]


def run(*words, **more):
    return runs.run(program, *words, mpiexec=mpiexec, **more)


def made(*words, **more):
    done = run(*words, **more)
    check(done.status == 0, f"{words}: {done}")
    return done


def arrays(path, first=0, count=None):
    """Arrays with one row for each sample, by name."""
    found = {}
    with h5py.File(path) as file:
        n = file["samples/x"].shape[0]
        file.visititems(lambda name, one: found.update({name: one[first:first + (count or n)]})
                        if isinstance(one, h5py.Dataset) and one.shape[:1] == (n,) else None)
    found.pop("index/split", None)  # the split of a shorter set follows other numbers
    return found


def same(a, b, what):
    check(a.keys() == b.keys() and all(numpy.array_equal(a[k], b[k]) for k in a), f"{what}: arrays differ")


def generate(output, *words, steps=3, layers=LAYERS, ranks=1):
    return made("generate", "--model", "run/model.safetensors", "--steps", str(steps), "--output", output, *layers, *words, ranks=ranks)


def trains():
    """Any number of ranks learns the same, and what was learnt is less than all noise."""
    made("synth", "--num-samples", "60", "--kinds", "gaussian,grains", "--size", "16", "16", "--seed", "3", "--output", "set.h5")
    made(*TRAIN, "--epochs", "12", "--learning-rate", "0.01", "--augment", "shift,flip,turn", "--results-dir", "run")
    results = json.loads(made("info", "--json", "run/model.safetensors").out)["model"]["results"]
    check(0.05 < results["validation"]["explained"] < 0.9, f"validation: {results['validation']}")
    losses = []
    for ranks in (1, 3):
        made(*TRAIN, "--max-steps", "4", "--deterministic", "--slots", "4", "--results-dir", f"on{ranks}", ranks=ranks)
        losses.append(open(f"on{ranks}/model.safetensors", "rb").read())
    check(losses[0] == losses[1], "trained on 1 and 3 ranks, the files differ")
    text = made("eval", "run/model.safetensors", "--data", "set.h5", "--split", "validation").out
    check(f"explained {100 * results['validation']['explained']:.2f} %" in text, f"eval: {text}")


def weights(path):
    """Arrays of a model's file, by name."""
    with open(path, "rb") as file:
        text = file.read(int.from_bytes(file.read(8), "little"))
        numbers = file.read()
    return {name: numpy.frombuffer(numbers[one["data_offsets"][0]:one["data_offsets"][1]], "<f4").reshape(one["shape"])
            for name, one in json.loads(text).items() if name != "__metadata__"}


def averages():
    """--average: the file of an epoch has the moving average of the weights of all steps."""
    words = [*TRAIN, "--effective-batch", "48", "--epochs", "4", "--keep-last", "4", "--made-samples", "0", "--warmup", "0", "--average"]
    words.remove("16")
    words.remove("--effective-batch")
    made(*words, "0", "--results-dir", "raw")
    made(*words, "0", "--learning-rate", "1e-30", "--results-dir", "start")
    keep = numpy.exp(-1 / (0.5 * 4))
    for ranks, stage in ((1, 0), (2, 1), (3, 3)):
        made(*words, "0.5", "--plan", "off", "--zero", stage, "--results-dir", f"mean{ranks}", ranks=ranks)
        mean = {name: value.astype("f8") for name, value in weights("start/model_epoch1.safetensors").items()}
        for epoch in range(1, 5):
            now, got = weights(f"raw/model_epoch{epoch}.safetensors"), weights(f"mean{ranks}/model_epoch{epoch}.safetensors")
            for name in mean:
                mean[name] = keep * mean[name] + (1 - keep) * now[name]
                check(numpy.allclose(got[name], mean[name], rtol=1e-4, atol=1e-5), f"--average, {ranks} ranks, epoch {epoch}: {name}")
        best = json.loads(made("info", "--json", f"mean{ranks}/model.safetensors").out)["model"]["results"]["best_epoch"]
        last, kept = weights(f"mean{ranks}/model.safetensors"), weights(f"mean{ranks}/model_epoch{best}.safetensors")
        check(best == 4 and all(numpy.array_equal(last[name], kept[name]) for name in kept), f"--average, {ranks} ranks: the result is not epoch {best}")


def is_exact():
    generate("one.h5", "--num-samples", "37")
    whole = arrays("one.h5")
    check(0.05 < whole["samples/x"].mean() < 0.95 and len(numpy.unique(whole["samples/x"].reshape(37, -1), axis=0)) == 37, "samples are alike")
    for ranks in runs.some((3, 2, 4)):
        generate("more.h5", "--num-samples", "37", ranks=ranks)
        same(whole, arrays("more.h5"), f"{ranks} ranks")
        os.remove("more.h5")
    made("generate", "--checkpoint_path", "run", "--num_denoising_steps", "3", "--num_samples", "5", "--batch_size", "8", "--output_dir", "data", *LAYERS)
    same(arrays("one.h5", 0, 5), arrays("data/made.h5"), "the words of DMD2, and a folder")
    done = generate("part.h5", "--num-samples", "11", "--first", "13", "--threads", "2", "--device", "mps", "--lenient-devices")
    check("GPUs of Apple: the cores do the work (--lenient-devices)" in done.err, f"a device that is not there: {done}")
    same(arrays("one.h5", 13, 11), arrays("part.h5"), "samples 13 to 23 alone")
    generate("other.h5", "--num-samples", "37", "--seed", "8")
    check(not numpy.array_equal(whole["samples/x"], arrays("other.h5")["samples/x"]), "another seed makes the same samples")


def goes_on():
    """Killed and started again, and made longer: the samples of one run."""
    command = [program, "generate", "--model", "run/model.safetensors", "--steps", "3", "--num-samples", "250", "--output", "cut.h5", *LAYERS]
    for _ in range(2):
        job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.4)
        job.send_signal(signal.SIGKILL)
        job.wait()
    generate("cut.h5", "--num-samples", "250", ranks=2)
    generate("whole.h5", "--num-samples", "250")
    same(arrays("whole.h5"), arrays("cut.h5"), "killed twice")
    same(arrays("one.h5"), arrays("cut.h5", 0, 37), "the first samples")
    generate("one.h5", "--num-samples", "60")
    same(arrays("cut.h5", 0, 60), arrays("one.h5"), "made longer")
    for words, says in ((["--steps", "4", *LAYERS], "--steps"), (["--steps", "3"], "--layers: encoder_block_0,encoder_bottleneck,decoder_block_6 (now"), (["--steps", "3", "--layers", "midblock"], "--layers: midblock (in")):
        done = run("generate", "--model", "run/model.safetensors", *words, "--num-samples", "80", "--output", "one.h5")
        check(done.status == 2 and says in done.err, f"{words}: {done}")
    shutil.copy("one.h5", "damaged.h5")
    with h5py.File("damaged.h5", "r+") as file:
        text = file["index/settings"][()].replace(b"--pass-size: 8", b"--pass-size: %d" % 2**62)
        del file["index/settings"]
        file.create_dataset("index/settings", data=text, dtype=h5py.string_dtype("ascii", len(text)))
    done = run("generate", "--model", "run/model.safetensors", "--steps", "3", *LAYERS, "--num-samples", "80", "--output", "damaged.h5")
    check(done.status == 2 and "other settings: --pass-size" in done.err, f"a pass without bounds: {done}")


def stops():
    """Asked to leave, it keeps what is made (75). What the disk has damaged since is made again. An output that is a link stays one."""
    os.mkdir("far")
    os.symlink("far/stopped.h5", "link.h5")
    words = ["generate", "--model", "run/model.safetensors", "--steps", "3", "--num-samples", "37", "--output", "link.h5", *LAYERS]
    open("far/STOP", "w").close()
    os.utime("far/STOP", (time.time() + 1000,) * 2)
    for more, ranks, why in (((), 2, "the file STOP"), (("--max-hours", "1e-5"), 1, "--max-hours is over")):
        done = run(*words, *more, ranks=ranks)
        check(done.status == 75 and why in done.err and "far/stopped.h5.partial' has them" in done.err, f"{why}: {done}")
        os.utime("far/STOP", (0, 0))
    done = run("data", "info", "far/stopped.h5.partial")
    check(done.status == 3 and "is not finished: 24 of its 37 samples are made" in done.err, f"info: {done}")
    with h5py.File("far/stopped.h5.partial") as file:
        at = file["samples/x"].id.get_offset() + 9 * 256
    with open("far/stopped.h5.partial", "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))
    done = made(*words)
    check("1 of its 24 complete samples differs from the checksum" in done.err and os.path.islink("link.h5"), f"damaged: {done}")
    same(arrays("one.h5"), arrays("far/stopped.h5"), "stopped twice, and damaged")
    done = run("synth", "--num-samples", "5", "--size", "16", "16", "--output", "link.h5")
    check(done.status == 2 and "is a set of generated samples" in done.err, f"synth over it: {done}")


def convolve(w, name, x):
    """3 x 3 pixels of x [n][c][y][x], with zeros around it."""
    kernel, (ny, nx) = w[name + ".weight"], x.shape[2:]
    x = numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    y = sum(numpy.einsum("ncyx,oc->noyx", x[:, :, i:i + ny, j:j + nx], kernel[:, :, i, j]) for i in range(3) for j in range(3))
    return y + w[name + ".bias"][:, None, None]


def first_layer(w, phases):
    """Of samples whose scaled values are 1 and -1."""
    n, ny, nx = phases.shape
    x = (2.0 * phases - 1).reshape(n, ny // 2, 2, nx // 2, 2).transpose(0, 2, 4, 1, 3)
    return convolve(w, "model.enc.8x8_conv", x.reshape(n, 4, ny // 2, nx // 2))


def last_layers(w, h):
    """Norm, SiLU and convolution of the last block's output [n][c][y][x], as an image [n][y][x] of one channel in patches of 2 x 2."""
    n, c, ny, nx = h.shape
    groups = h.reshape(n, c // 4, -1).astype("f8")
    groups = (groups - groups.mean(-1, keepdims=True)) / numpy.sqrt(groups.var(-1, keepdims=True) + 1e-5)
    h = groups.reshape(h.shape) * w["model.out_norm.weight"][:, None, None] + w["model.out_norm.bias"][:, None, None]
    y = convolve(w, "model.out_conv", h / (1 + numpy.exp(-h)))
    return y.reshape(n, 2, 2, ny, nx).transpose(0, 3, 1, 4, 2).reshape(n, 2 * ny, 2 * nx)


def looks():
    """In one step a sample is what the last layers make of the last block's output, but for 3e-3 of the noise. In more steps the network sees the
    sample in the last one, and noise in the first."""
    text = made("generate", "--model", "run/model.safetensors", "--layers", "list", "--output", "list.h5").out
    check("decoder_block_6             8      8      8" in text and "encoder_block_3)" in text and not os.path.exists("list.h5"), f"list: {text}")
    generate("bare.h5", "--num-samples", "37", layers=["--layers", "none"])
    names = arrays("bare.h5").keys()
    check(all(numpy.array_equal(a, arrays("one.h5", 0, 37)[k]) for k, a in arrays("bare.h5").items()), "layers change samples")
    check({k for k in arrays("one.h5") if k not in names} == {"activations/decoder_block_6", "activations/encoder_block_0", "activations/encoder_bottleneck"},
          f"arrays: {names}")
    generate("step.h5", "--num-samples", "19", steps=1, ranks=2)
    step = arrays("step.h5")
    check(step["activations/encoder_bottleneck"].shape == (19, 16, 4, 4), "extents of the bottleneck")
    w = weights("run/model.safetensors")
    alike = [numpy.corrcoef(first_layer(w, a["samples/x"]).ravel(), a["activations/encoder_block_0"].ravel())[0, 1] for a in (step, arrays("one.h5"))]
    check(alike[0] < 0.5 and alike[1] > 0.8, f"the first layer sees samples to {alike}")
    want = last_layers(w, step["activations/decoder_block_6"])
    clear = abs(want) > 0.05
    check(clear.mean() > 0.5 and numpy.array_equal(want[clear] > 0, step["samples/x"][clear] == 1), "the last block's output is of other samples")


def obeys():
    generate("set2.h5", "--num-samples", "12", "--samples-per-class", "3", "--condition", "volume_fraction=0.25")
    with h5py.File("set2.h5") as file:
        names = [str(name) for name in file["samples/properties"].attrs["names"]]
        label, real = file["samples/label"][()], file["samples/properties"][()]
    check(list(label) == [0, 0, 0, 1, 1, 1] * 2, f"classes: {label}")
    check(numpy.all(real[:, names.index("wanted_volume_fraction")] == numpy.float32(0.25)), "wanted_volume_fraction")
    fraction = arrays("set2.h5")["samples/x"].reshape(12, -1).mean(1)
    check(numpy.allclose(fraction, real[:, names.index("volume_fraction")], atol=1e-6), "volume_fraction is not what was made")
    made("train", "classify", "--data", "set2.h5", "--max-steps", "2", "--no-plots", "--results-dir", "classes")


def one_step():
    """A generator of one step follows from its teacher, on any number of ranks, also when it goes on. Its file says where it begins."""
    words = ["train", "unet", "--data", "set.h5", "--teacher", "run/model.safetensors", "--effective-batch", "16", "--score-steps", "2", "--schedule", "constant",
             "--made-samples", "16", "--keep-last", "9", "--no-plots", "--results-dir"]
    done = made(*words, "fast", "--epochs", "2")
    check("from noise of level 2.5; its score network makes 2 steps" in done.err and "made samples, from validation: distance" in done.err, f"train: {done}")
    card = json.loads(made("info", "--json", "fast/model.safetensors").out)["model"]
    check(set(weights("fast/model.safetensors")) == set(weights("run/model.safetensors")), "the file has other arrays than the teacher's")
    made(*words, "on3", "--epochs", "1", ranks=3)
    made(*words, "on3", "--epochs", "2", "--restart", "auto", ranks=2)
    one, other = weights("fast/model_epoch2.safetensors"), weights("on3/model_epoch2.safetensors")
    check(all(numpy.allclose(one[name], other[name], atol=2e-5) for name in one), "trained on 1, and on 3 and 2 ranks, the weights differ")
    check(any(abs(one[name] - array).max() > 1e-3 for name, array in weights("run/model.safetensors").items()), f"the generator is its teacher: {card}")
    for ranks in (1, 3):
        made("generate", "--model", "fast", "--num-samples", "37", "--output", f"fast{ranks}.h5", ranks=ranks)
    same(arrays("fast1.h5"), arrays("fast3.h5"), "one step on 1 and 3 ranks")
    with h5py.File("fast1.h5") as file:
        settings = str(dict(file.attrs))
    check("steps: 1  #" in settings and "conditioning-sigma: 2.5  #" in settings, f"settings: {settings}")
    for more, says in ((["generate", "--model", "fast", "--steps", "4"], "makes samples in one step: steps 1 and"), (["generate", "--model", "fast", "--conditioning-sigma", "80"], "noise level 2.5 and"),
                       ([*words[:5], "fast", *words[6:], "again"], "makes samples in one step already")):
        done = run(*more)
        check(done.status in (2, 3) and says in done.err, f"{more}: {done}")


def write_weights(path, w):
    """A file without a card, as other programs publish."""
    header, at = {}, 0
    for name, array in w.items():
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in w.values()))


def takes_weights_of_others():
    """A made image has c_skip sigma z + c_out F, (x + 1) 127.5 in bytes; z is normal. All conditions of the file count as classes."""
    w = weights("run/model.safetensors")
    write_weights("foreign.safetensors", w)
    for sigma in (80, 2.5):
        done = made("generate", "--model", "foreign.safetensors", "--arch", TRAIN[5], "--num_denoising_steps", "1", "--conditioning_sigma", str(sigma), "--num-samples", "11",
                    "--layers", "decoder_block_6", "--samples_per_class", "2", "--output", f"foreign{sigma}.h5", ranks=2)
        a = arrays(f"foreign{sigma}.h5")
        x = a["samples/x"].reshape(11, 16, 16)
        check(x.dtype == numpy.uint8 and list(a["samples/label"]) == [0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1], f"bytes and classes: {x.dtype}, {done}")
        z = (x + 0.5) / 127.5 - 1 - sigma * 0.5 / numpy.hypot(sigma, 0.5) * last_layers(w, a["activations/decoder_block_6"])
        z = z[(x > 0) & (x < 255)] * (sigma**2 + 0.25) / 0.25 / sigma
        off = 0.5 / 127.5 * (sigma**2 + 0.25) / 0.25 / sigma  # of a byte
        check(len(z) > 1000 and abs(z.mean()) < 0.1 and abs(z.std() - 1) < 0.1 + off and abs(z).max() < 5 + off, f"sigma {sigma}: {len(z)}, {z.mean()}, {z.std()}, {abs(z).max()}")


def plans():
    """A plan has the bytes that a run takes. Where memory is short, a new set gets smaller passes on all ranks, and keeps them."""
    for words, ranks in ((["--model", "run", *LAYERS], 1), (["--model", "run", "--mask", "one.h5", "--mask-layers", "encoder_bottleneck", "--pass-size", "5"], 3),
                         (["--model", "grey", "--mixed-precision", "bf16"], 1), (["--model", "foreign.safetensors", "--arch", TRAIN[5], "--layers", "midblock"], 2)):
        words = [*words, "--num-samples", "11", "--steps", "2", "--threads", "1", "--json"]
        plan = json.loads(made("plan", "generate", *words, "--ranks", ranks).out)["bytes"]["per_rank"]
        for more in (["--dry-run"], []) if ranks == 1 or runs.LONG else ([],):
            peaks = json.loads(made("generate", *words, *more, "--output", "planned.h5", ranks=ranks).out)["peak_bytes"]
            check(peaks["predicted"] == plan and (more or peaks["arena"] == plan), f"{words}: planned {plan}, {peaks}")
        os.remove("planned.h5")
    short = ["--model", "run", "--steps", "2", "--memory-limit", "1", "--threads", "1"]
    plan = json.loads(made("plan", "generate", *short, "--pass-size", "64", "--json").out)
    short += ["--output", "short.h5", "--num-samples"]
    done = made("generate", *short, "40", "--pass-size", "64", ranks=2)
    check(plan["settings"]["pass"] == 32 and "all ranks go on with passes of 32 samples" in done.err, f"little memory: {plan['settings']}, {done}")
    made("generate", *short, "70")
    generate("long.h5", "--num-samples", "70", "--pass-size", "32", steps=2, layers=[])
    same(arrays("long.h5"), arrays("short.h5"), "passes that were made smaller")
    done = run("generate", *short, "99", "--pass-size", "1000")
    check(done.status == 5 and "cannot change" in done.err, f"an old set: {done}")
    hardware = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/hardware/l4x4.json")
    table = json.loads(made("plan", "generate", "--profile", "table:generate", "--hardware", hardware, "--json").out)
    check(table["pass_size"] == 128 and table["most"] is None, f"table: {table}")
    plan = json.loads(made("plan", "generate", "--model", "run", "--hardware", hardware, "--device", "cuda", "--json").out)
    check(plan["device"] == "cuda" and plan["settings"]["pass"] == 64, f"GPUs: {plan['device']}, {plan['settings']}")


def heun(z, levels, network):
    """Second order of Heun without added noise, of 2 len(levels) - 1 looks, which are numbered. @network: what it gives in a look."""
    def clean(x, sigma, look):
        far = sigma**2 + 0.25
        return 0.25 / far * x + sigma * 0.5 / far**0.5 * network(look)
    x = levels[0] * z
    for i, sigma in enumerate(levels):
        slope = (x - clean(x, sigma, 2 * i)) / sigma
        following = levels[i + 1] if i + 1 < len(levels) else 0
        end = x + (following - sigma) * slope
        if following:
            end = x + (following - sigma) * (slope + (end - clean(end, following, 2 * i + 1)) / following) / 2
        x = end
    return x


def masks():
    """A masked last layer alone says what the network gives. The way of samples through masked steps and one free step, in double precision."""
    random = numpy.random.default_rng(1)
    with h5py.File("grey.h5", "w") as file:
        file["samples/x"] = random.normal(10, 3, (24, 16, 16)).astype("f4")
    made("train", "unet", "--data", "grey.h5", *TRAIN[4:6], "--max-steps", "3", "--learning-rate", "0.01", "--made-samples", "0", "--no-plots", "--results-dir", "grey")
    w = weights("grey/model.safetensors")
    with open("grey/model.safetensors", "rb") as file:
        card = json.loads(json.loads(file.read(int.from_bytes(file.read(8), "little")))["__metadata__"]["mesoforge"])["input"]
    one, each = random.normal(0, 3, (1, 8, 8, 8)).astype("f4"), random.normal(0, 3, (11, 8 * 8 * 8)).astype("f4")
    for name, array in (("one", one), ("each", each)):
        with h5py.File(f"{name}_mask.h5", "w") as file:
            file["activations/decoder_block_6"] = array
    base = ["generate", "--model", "grey", "--num-samples", "11", "--conditioning-sigma", "0.5"]
    scaled = lambda path: (arrays(path)["samples/x"].reshape(11, 16, 16).astype("f8") - card["mean"][0]) / card["deviation"][0] * 0.5
    made(*base, "--steps", "1", "--mask", "one_mask.h5", "--output", "z.h5")
    given = last_layers(w, one.astype("f8"))
    z = (scaled("z.h5") - 0.5 / 2**0.5 * given) / 0.25
    check(abs(z.mean()) < 0.1 and abs(z.std() - 1) < 0.1, f"noise: {z.mean()}, {z.std()}")
    levels = [(0.5**(1 / 7) + i / 2 * (0.002**(1 / 7) - 0.5**(1 / 7)))**7 for i in range(3)]
    for name, array, ranks in (("one", one, 1), ("each", each, 3)):
        given = last_layers(w, array.reshape(-1, 8, 8, 8).astype("f8"))
        words = ["--steps", "3", "--mask", f"{name}_mask.h5", "--layers", "decoder_block_6"]
        made(*base, *words, "--mask-steps", "2", "--output", f"{name}_2.h5", ranks=ranks)
        free = last_layers(w, arrays(f"{name}_2.h5")["activations/decoder_block_6"].astype("f8"))
        want, got = heun(z, levels, lambda look: free if look == 4 else given), scaled(f"{name}_2.h5")
        check(abs(want - got).max() < 1e-5 and abs(free - given).max() > 0.1, f"--mask-steps 2, {name}: {abs(want - got).max()}")
        if name == "one" and not runs.LONG:
            continue
        made(*base, *words, "--output", f"{name}_3.h5", ranks=4 - ranks)
        want, got = heun(z, levels, lambda look: given), scaled(f"{name}_3.h5")
        check(abs(want - got).max() < 1e-5, f"masked in all steps, {name}: {abs(want - got).max()}")
    for kind, most in (("bf16", 0.02), ("fp16", 0.003)):
        for ranks in (1, 3) if kind == "bf16" or runs.LONG else (1,):
            made(*base, "--steps", "3", "--mixed-precision", kind, "--layers", "decoder_block_6", "--output", f"{kind}{ranks}.h5", ranks=ranks)
            same(arrays(f"{kind}1.h5"), arrays(f"{kind}{ranks}.h5"), f"{kind} on 1 and {ranks} ranks")
        if kind == "bf16":
            made(*base, "--steps", "3", "--layers", "decoder_block_6", "--output", "f32.h5")
        for name, scale in (("samples/x", 3), ("activations/decoder_block_6", 1)):
            off = abs(arrays("f32.h5")[name].astype("f8") - arrays(f"{kind}1.h5")[name]).max() / scale
            check(0 < off < most, f"{kind}: {name} differs by {off}")
    generate("own.h5", "--num-samples", "11", "--mask", "step.h5", "--mask-layers", "encoder_bottleneck", steps=1, layers=[])
    same(arrays("own.h5"), {k: a for k, a in arrays("step.h5", 0, 11).items() if "activations" not in k}, "masked by its own activations")
    for status, words, says in ((3, ["--mask", "set.h5"], "has no activations of this network"),
                                (3, ["--mask", "each_mask.h5", "--first", "3"], "has 11 rows, and samples 0 to 13 want 1 or at least 14"),
                                (3, ["--mask", "each_mask.h5", "--mask-layers", "midblock"], "has no /activations/midblock")):
        done = run(*base, *words, "--output", "never.h5")
        check(done.status == status and says in done.err and not os.path.exists("never.h5.partial"), f"{words}: {done}")


def guides():
    """A guided estimate lies on the line through those with and without conditions: bytes of one step, where none is cut. Without, classes are alike."""
    x = {}
    for scale in (0, 1, 3):
        made("generate", "--model", "foreign.safetensors", "--arch", TRAIN[5], "--steps", "1", "--conditioning-sigma", "0.3", "--num-samples", "11", "--samples-per-class", "2",
             "--guidance-scale", scale, "--output", f"guided{scale}.h5", ranks=1 + scale // 3)
        x[scale] = arrays(f"guided{scale}.h5")["samples/x"].astype("f8")
    clear = numpy.all([(a > 0) & (a < 255) for a in x.values()], axis=0)
    off = abs(x[3] - x[0] - 3 * (x[1] - x[0]))[clear]
    check(clear.sum() > 1000 and off.max() <= 4 and abs(x[1] - x[0])[clear].max() > 5, f"guidance: off by {off.max()}, {abs(x[1] - x[0])[clear].max()}")
    for label in (0, 1):
        generate(f"class{label}.h5", "--num-samples", "9", "--condition", f"class={label}", "volume_fraction=0.2", "--guidance-scale", "0", layers=[])
    check(numpy.array_equal(arrays("class0.h5")["samples/x"], arrays("class1.h5")["samples/x"]), "without conditions, classes differ")
    plan = json.loads(made("plan", "generate", "--model", "run", "--guidance-scale", "3", "--threads", "1", "--ranks", "1", "--json").out)["bytes"]["per_rank"]
    peaks = json.loads(made("generate", "--model", "run", "--guidance-scale", "3", "--threads", "1", "--num-samples", "1", "--steps", "1", "--json", "--output", "guided.h5").out)["peak_bytes"]
    check(plan == peaks["arena"], f"guided: planned {plan}, {peaks}")
    for model, scale, status, says in (("run", "1e300", 6, "a guidance of 1e+300 makes numbers overflow"), ("fast", "3", 0, "learnt from no sample without its condition")):
        done = run("generate", "--model", model, "--guidance-scale", scale, "--num-samples", "1", "--output", f"guided_{model}.h5")
        check(done.status == status and says in done.err, f"{model}, guided: {done}")


trains()
averages()
is_exact()
stops()
goes_on()
looks()
masks()
obeys()
one_step()
takes_weights_of_others()
guides()
plans()
finish("generate")
