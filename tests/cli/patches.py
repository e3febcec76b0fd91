"""Patches: losses against a brute-force search in NumPy, gradients, ranks and devices, files, and what the polish keeps.

    patches.py MESOFORGE MPIEXEC       exit status 77: NumPy is missing
"""
import json
import os
import sys
import tempfile

import runs
from runs import check, finish, measure, run
from samples import blobs, grey, np, save

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]
SIDE, TWO, THREE = 9, [0.6, 0.4], [0.5, 0.3, 0.2]


def pooled(x, level):
    for _ in range(level):
        x = x[:x.shape[0] // 2 * 2, :x.shape[1] // 2 * 2]
        x = (x[::2, ::2] + x[1::2, ::2] + x[::2, 1::2] + x[1::2, 1::2]) / 4
    return x


def patches(x, periodic):
    """x [u][v][phase] -> all its patches, weighted pixels in a row."""
    k = np.arange(SIDE) - SIDE // 2
    w = np.exp(-(k[:, None] ** 2 + k**2) / (2 * (SIDE / 3) ** 2))
    w = np.sqrt(w / w.sum())[:, :, None]
    nu, nv = x.shape[:2] if periodic else (x.shape[0] - SIDE + 1, x.shape[1] - SIDE + 1)
    x = np.pad(x, ((0, SIDE), (0, SIDE), (0, 0)), mode="wrap")
    return np.array([(x[u:u + SIDE, v:v + SIDE] * w).ravel() for u in range(nu) for v in range(nv)])


def mismatch(x, image, level, periodic):
    """E of one level: mean squared distance to the nearest patch, both ways."""
    p, q = patches(pooled(x, level), periodic), patches(pooled(image, level), periodic)
    d = (p**2).sum(1)[:, None] + (q**2).sum(1) - 2 * p @ q.T
    return d.min(1).mean() + d.min(0).mean()


def one(folder, image, start, *words, **more):
    return measure(PROGRAM, "match", save(folder, "image.npy", image), "--initial_microstructure_file", save(folder, "start.npy", start),
                   "--max_iter", 0, "--descriptor_types", "Patches", "--descriptor_weights", 1, *words, **more)


def brute_force(folder):
    for phases, periodic, levels, lag in ((1, True, 2, 7), (1, False, 1, 14), (3, True, 2, 7)):
        image, x = blobs((30, 34), TWO if phases == 1 else THREE, 1), grey((30, 34), phases, 2)
        words = ["--limit_to", lag, "--loss_type", "SSE"] + ([] if periodic else ["--non_periodic", "--no_multiphase"])
        done = one(folder, image, x, *words, "--save_gradient", f"{folder}/g.npy")
        if not done:
            continue
        fields = x[:, :, None] if phases == 1 else x
        target = (image == 1).astype(float)[:, :, None] if phases == 1 else np.stack([image == p for p in range(3)], -1).astype(float)
        least = sum(0.3 ** (2 * level) * mismatch(fields, target, level, periodic) for level in range(levels))
        low, high = least, 1.1 * least
        check(low * (1 - 1e-5) <= done["loss"] <= high, f"{phases} phases: loss {done['loss']!r}, brute force {low!r} to {high!r}")
        gradient(folder, image, x, done["loss"], words)


def gradient(folder, image, x, loss, words):
    """Along a short step the loss changes as the gradient says, but for the neighbours that change on it."""
    g, step = np.load(f"{folder}/g.npy").astype(float), 2e-3
    way = np.sign(g) if x.ndim == 2 else np.sign(g[..., :1] - g[..., 1:2]) * np.array([1, -1, 0])  # sums stay
    at = [one(folder, image, np.clip(x + s * step * way, 0, 1).astype(np.float32), *words, "--threads", 1) for s in (1, -1)]
    if all(at):
        slope, want = (at[0]["loss"] - at[1]["loss"]) / (2 * step), (g * way).sum()
        check(abs(slope - want) < 0.2 * abs(want), f"slope {slope!r}, gradient {want!r}")


def itself(folder):
    """The image moved along by whole cells has all its patches and no others."""
    image = blobs((32, 32), TWO, 3)
    done = one(folder, image, np.roll(image, (6, 10), (0, 1)).astype(np.float32), "--limit_to", 8)
    check(done and done["loss"] < 1e-6, f"an image against itself: {done and done['loss']!r}")


def ranks(folder):
    """The same bytes on any number of ranks and threads, and on the shadow. Of the larger image patches stand in trees, and three ranks share its work."""
    lineal = ["LinealPath", "--polish_rounds", 2, "--max_iter", 24]
    for shape, words in (((20, 24), ["--polish_rounds", 4, "--max_iter", 40, "--add_dimension", 12]), ((20, 24), ["--polish_rounds", 4, "--max_iter", 40]), ((112, 116), lineal)):
        path = save(folder, "image.npy", blobs(shape, TWO, 4))
        words = ["match", path, "--limit_to", 4, "--deterministic", "--output", f"{folder}/v.npy", "--descriptor_types", "S2", "Variation", "Patches", *words]
        first = None
        for more, n in (([], 1), *runs.some(((["--threads", 2], 1), ([], 3), (["--device", "shadow"], 2), ([], 2)))):
            done = measure(PROGRAM, *words, *more, ranks=n, mpiexec=MPIEXEC)
            data = open(f"{folder}/v.npy", "rb").read() if done else b""
            first = first or (data, done)
            check(data == first[0] and done and done["loss_final"] == first[1]["loss_final"], f"{n} ranks, {more}: other bytes")
            if os.path.exists(f"{folder}/v.npy"):
                os.remove(f"{folder}/v.npy")


def restart(folder):
    """A run that was stopped between two searches goes on in the same bits, also where searches build on earlier ones, and where two ranks share them."""
    import h5py
    grids = ["--use_multigrid_reconstruction", "--coarsest_grid", 64, "--coarse_iter", 40]
    for shape, most, every, more in (((24, 24), 120, 5, []), ((80, 72), 60, 3, []), ((128, 128), 40, 1, grids)):
        path, name = save(folder, "image.npy", blobs(shape, TWO, 5)), f"{folder}/{shape[0]}"
        words = ["match", path, "--descriptor_types", "S2", "Patches", "--limit_to", 4, "--max_iter", most, "--deterministic", "--polish_rounds", 3, *more]
        status, _, err = run(PROGRAM, *words, "--output", f"{name}-whole.h5")
        check(status == 0, f"a whole run: {err}")
        stops = 0
        for visit in range(2, 40, every):
            status, _, err = run(PROGRAM, *words, "--output", f"{name}-parts.h5", "--restart", "auto", fault=f"run.leave:visit={visit}",
                                 ranks=1 + (visit % 2 if more else 0), mpiexec=MPIEXEC)
            stops += status == 75
            if not check(status in (0, 75), f"stopped at {visit}: {status} {err}"):
                return
            if status == 0:
                break
        status, _, err = run(PROGRAM, *words, "--output", f"{name}-parts.h5", "--restart", "auto")
        check(status == 0 and stops > 1, f"{stops} stops, then {status}: {err}")
        whole, parts = (h5py.File(f"{name}-{end}.h5")["microstructure/phase"][:] for end in ("whole", "parts"))
        check((whole == parts).all(), "a run in parts ends in other bits")
        losses = [json.loads(h5py.File(f"{name}-{end}.h5")["results"][()])["loss_final"] for end in ("whole", "parts")]
        check(losses[0] == losses[1], f"a run in parts reports another loss: {losses}")


def files(folder):
    """The example goes through a descriptor file; without one there is a sentence."""
    path, words = save(folder, "image.npy", blobs((24, 24), TWO, 6)), ["--descriptor_types", "S2", "Patches", "--limit_to", 4, "--max_iter", 30]
    status, _, err = run(PROGRAM, "characterize", path, "--limit_to", 4, "--output", f"{folder}/d.h5")
    check(status == 0, err)
    a = measure(PROGRAM, "match", path, *words, "--output", f"{folder}/a.npy")
    b = measure(PROGRAM, "reconstruct", "--descriptor_filename", f"{folder}/d.h5", "--size", 24, 24, *words, "--output", f"{folder}/b.npy")
    check(a and b and a["loss_final"] == b["loss_final"], "match and reconstruct from a file differ")
    s2 = np.fft.fftshift(np.fft.ifft2(np.abs(np.fft.fft2(np.load(path))) ** 2).real) / 576
    for name, command, code, text in (
            ("imported", ["reconstruct", "--descriptor_filename", save(folder, "s2.npy", s2), "--size", 24, 24], 3, "no image of what slices look like"),
            ("grey", ["match", save(folder, "grey.npy", grey((24, 24), 1, 1)), "--grey_values"], 3, "no image of what slices look like"),
            ("small", ["match", save(folder, "small.npy", blobs((8, 30), TWO, 1))], 2, "9 x 9"),
            ("thin", ["match", path, "--size", 8, 30], 2, "9 x 9")):
        status, _, err = run(PROGRAM, *command, *words, "--output", f"{folder}/no.npy")
        check(status == code and text in err and err.count("mesoforge: ") == 1, f"{name}: {status} {err!r}")


def textures(folder):
    """The walls of cells: with Patches nearer to those of the target, S2 and the volume fraction still held."""
    u, v = np.mgrid[0:48, 0:48]
    points = np.random.default_rng(1).uniform(0, 48, (14, 2))
    far = np.sort([np.hypot((u - a + 24) % 48 - 24, (v - b + 24) % 48 - 24) for a, b in points], 0)
    image = (far[1] - far[0] < 2.5).astype(np.uint8)
    left = []
    for types, weights in ((["S2", "Variation"], [1, 5]), (["S2", "Variation", "Patches"], [1, 5, 0.5])):
        done = measure(PROGRAM, "match", save(folder, "image.npy", image), "--descriptor_types", *types, "--descriptor_weights", *weights,
                       "--limit_to", 10, "--max_iter", 300, "--output", f"{folder}/v.npy")
        if not done:
            return
        x = (np.load(f"{folder}/v.npy") == 1).astype(float)
        left.append(mismatch(x[:, :, None], image.astype(float)[:, :, None], 0, True))
        check(abs(x.mean() - image.mean()) <= 1 / x.size, "volume fraction")
        check(done["s2_rms_error"]["1"]["z"] < 4e-3, f"S2 rms {done['s2_rms_error']}")
        check(("copied" in done) == (len(types) == 3), f"copied in {sorted(done)}")
    check(left[1] < 0.85 * left[0], f"mismatch of patches {left}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for test in (brute_force, itself, files, ranks, restart, textures):
            test(folder)
    finish("patches")


main()
