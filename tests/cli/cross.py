"""FFTCrossCorrelations aimed at: loss and gradient against plain sums in NumPy (64 bit) and their central differences, on 1
to 3 ranks and the shadow; a run that comes near; refusals.

    cross.py MESOFORGE MPIEXEC       exit status 77: NumPy is missing
"""
import sys
import tempfile

from runs import check, finish, measure
from samples import blobs, grey, np, save

PROGRAM, MPIEXEC = sys.argv[1:3]


def pooled(x, level):
    k = 2**level
    u, v = x.shape[1] // k, x.shape[2] // k
    return x[:, : u * k, : v * k].reshape(-1, u, k, v, k).mean((2, 4))


def cross(x, y, lag, periodic):
    """x, y [slices][u][v] -> [slices][(2L-1)^2]"""
    n, nu, nv = x.shape
    out = []
    for i in range(1 - lag, lag):
        for j in range(1 - lag, lag):
            if periodic:
                out.append((x * np.roll(y, (-i, -j), (1, 2))).mean((1, 2)))
            else:
                here = x[:, max(0, -i) : nu - max(0, i), max(0, -j) : nv - max(0, j)]
                there = y[:, max(0, i) : nu + min(0, i), max(0, j) : nv + min(0, j)]
                out.append((here * there).mean((1, 2)))
    return np.stack(out, 1)


def describe(fields, side, lag, levels, periodic):
    """[pairs][levels] of [slices][entries]"""
    y = [np.moveaxis(f, side, 0) for f in fields]
    return [[cross(pooled(y[a], l), pooled(y[b], l), lag, periodic) for l in range(levels)] for a in range(len(y)) for b in range(a + 1, len(y))]


def loss(fields, target, lag, levels, periodic, kind):
    total, sides = 0, 3 if fields.shape[1] > 1 else 1
    for side in range(sides):
        d = [2 * 0.3**l * (g - t.mean(0)) for got, want in zip(describe(fields, side, lag, levels[side], periodic), describe(target, side, lag, levels[side], periodic))
             for l, (g, t) in enumerate(zip(got, want))]
        d = np.concatenate(d, 1)
        total += {"MSE": (d**2).mean(1), "L1": np.abs(d).sum(1)}[kind].mean() / sides
    return total


def levels_of(shape, lag):
    z, y, x = shape
    return [int(np.floor(np.log2(min(e) / lag))) for e in ((y, x), (z, x), (z, y))]


def slopes(folder):
    for shape, phases, lag, periodic, kind in (((16, 14), 3, 3, True, "MSE"), ((13, 19), 4, 2, False, "L1"), ((8, 10, 9), 3, 2, True, "MSE"), ((7, 8, 10), 2, 2, False, "MSE")):
        what, random = f"{shape}, {phases} phases, periodic {periodic}, {kind}", np.random.default_rng(4)
        image, start = blobs(shape, [1 / phases] * phases, 2), grey(shape, phases, 3)
        words = ["--limit_to", lag, "--max_iter", 0, "--initial_microstructure_file", save(folder, "x.npy", start), "--loss_type", kind, "--use_multiphase",
                 "--descriptor_types", "FFTCrossCorrelations", "--descriptor_weights", 2, *([] if periodic else ["--non_periodic"])]
        volume = (1, *shape) if len(shape) == 2 else shape
        x = np.moveaxis(start.astype(float), -1, 0).reshape(phases, *volume)
        target = np.stack([1.0 * (image == p) for p in range(phases)]).reshape(phases, *volume)
        levels = levels_of(volume, lag) if len(shape) == 3 else [int(np.floor(np.log2(min(shape) / lag)))]
        last = None
        for ranks, device in ((1, "cpu"), (3, "cpu"), (2, "shadow")) if len(shape) == 3 else ((1, "cpu"), (1, "shadow")):
            json = measure(PROGRAM, "match", save(folder, "t.npy", image), *words, "--save-gradient", f"{folder}/g.npy", "--deterministic", "--device", device,
                           ranks=ranks, mpiexec=MPIEXEC)
            if json is None:
                return
            g = np.load(f"{folder}/g.npy")
            last = last or (json["loss"], g.tobytes())
            check(last == (json["loss"], g.tobytes()), f"{what}: other bits on {ranks} ranks of {device}")
        g = np.moveaxis(g.astype(float), -1, 0).reshape(x.shape)
        want = loss(x, target, lag, levels, periodic, kind)
        check(abs(json["loss"] - want) < 3e-6 * want, f"{what}: loss {json['loss']}, want {want}")
        way, h = random.standard_normal(x.shape) + 0.5, 1e-6
        slope = (loss(x + h * way, target, lag, levels, periodic, kind) - loss(x - h * way, target, lag, levels, periodic, kind)) / (2 * h)
        off = abs((g * way).sum() - slope) / np.linalg.norm(g) / np.linalg.norm(way) * np.sqrt(g.size)
        check(off < 5e-5, f"{what}: slope {(g * way).sum()}, want {slope}, off by {off:.2g}")


def made(folder):
    """A run beside S2: polish included, the cross-correlations of the result are those of the target."""
    image, out = blobs((32, 32), [0.5, 0.3, 0.2], 6), f"{folder}/made.npy"
    json = measure(PROGRAM, "match", save(folder, "t.npy", image), "--limit_to", 6, "--no_multigrid_descriptor", "--max_iter", 150, "--output", out,
                   "--descriptor_types", "S2", "Variation", "FFTCrossCorrelations", "--seed", 1)
    if json is None:
        return
    x = np.load(out)
    one, two = ([describe(np.stack([1.0 * (f == p) for p in range(3)])[:, None], 0, 6, 1, True)[k][0][0] for k in range(3)] for f in (x, image))
    rms = [float(np.sqrt(((a - b) ** 2).mean())) for a, b in zip(one, two)]
    check(max(rms) < 6e-3 and json["loss_final"] < json["loss_cut"], f"cross-correlations off by {rms}, loss {json['loss_cut']} to {json['loss_final']}")


with tempfile.TemporaryDirectory() as place:
    slopes(place)
    made(place)
finish("cross")
