"""The default loss of match and its gradient against plain sums in NumPy (64 bit), and central differences of these.

    loss_default.py MESOFORGE MPIEXEC       exit status 77: NumPy is missing

Per slice E = norm of d = w_D v_l q_p (D - T) over descriptors, levels and phases; the loss is the mean over directions
of the mean over slices of E. v_l = 0.3^l, w = 1, Variation 5; all phases weigh the same.
"""
import os
import sys
import tempfile

from formulas import COUNTED, FURTHER, cross_correlations
from runs import S2, check, finish, measure, some
from samples import blobs, grey, np, save

PROGRAM, MPIEXEC = sys.argv[1:3]
WEIGHT = {"FFTCorrelations": 1.0, "S2": 1.0, "Variation": 5.0, "VolumeFractions": 1.0, **{name: 1.0 for name in FURTHER}, "CrossCorrelations": 10.0}
PLANE = ((1, 2), (0, 2), (0, 1))  # axes u, v of the slices normal to z, y, x
worst = {"loss": 0.0, "gradient": 0.0}


def pooled(x, level):
    """x [slices][u][v]: means of 2^l x 2^l pixels; what is left over is dropped."""
    k = 2**level
    u, v = x.shape[1] // k, x.shape[2] // k
    return x[:, : u * k, : v * k].reshape(-1, u, k, v, k).mean((2, 4))


def s2(x, lag, periodic):
    n, nu, nv = x.shape
    out = np.empty((n, 2 * lag - 1, 2 * lag - 1))
    for i in range(lag):
        for j in range(1 - lag, lag):
            if periodic:
                value = (x * np.roll(x, (-i, -j), (1, 2))).mean((1, 2))
            else:
                here, there = x[:, : nu - i, max(0, -j) : nv - max(0, j)], x[:, i:, max(0, j) : nv + min(0, j)]
                value = (here * there).sum((1, 2)) / ((nu - i) * (nv - abs(j)))
            out[:, lag - 1 + i, lag - 1 + j] = out[:, lag - 1 - i, lag - 1 - j] = value
    return out.reshape(n, -1)


def variation(x, periodic):
    n, nu, nv = x.shape
    if periodic:
        both = np.abs(np.roll(x, -1, 1) - x) + np.abs(np.roll(x, -1, 2) - x)
        return both.mean((1, 2))[:, None]
    down, along = np.abs(np.diff(x, axis=1)).sum((1, 2)), np.abs(np.diff(x, axis=2)).sum((1, 2))
    return (down / ((nu - 1) * nv) + along / (nu * (nv - 1)))[:, None]


def describe(x, types, lag, levels, periodic):
    """[levels][types] of [slices][entries]"""
    out = []
    for level in range(levels):
        y, row = pooled(x, level), []
        for name in types:
            if name == "Variation":
                row.append(variation(y, periodic))
            elif name == "VolumeFractions":
                row.append(y.mean((1, 2))[:, None])
            elif name == "CrossCorrelations":
                row.append(np.zeros((len(y), 0)))  # of pairs: below
            elif name in FURTHER:
                row.append(FURTHER[name](y, lag, periodic))
            else:
                row.append(s2(y, lag, periodic))
        out.append(row)
    return out


def describe_pairs(fields, lag, levels, periodic):
    """[pairs][levels] of [slices][entries]"""
    pairs = [(x, y) for b, y in enumerate(fields) for x in fields[:b]]
    return [[cross_correlations(pooled(x, level), pooled(y, level), lag, periodic) for level in range(levels)] for x, y in pairs]


def levels_of(nu, nv, lag):
    return int(np.floor(np.log2(min(nu, nv) / lag)))


def slices(x, side):
    """x [z][y][x] -> [slices][u][v]"""
    return np.moveaxis(x, side, 0)


def norm(d, kind):
    """d [slices][entries] -> [slices]"""
    if kind == "L1":
        return np.abs(d).sum(1)
    square = (d**2).sum(1)
    return {"SSE": square, "MSE": square / d.shape[1], "RMS": np.sqrt(square / d.shape[1]), "L2": np.sqrt(square)}[kind]


class Reference:
    """What a case of match compares, from its images."""

    def __init__(self, case, images):
        self.case, self.sides = case, 3 if len(case["shape"]) == 3 else 1
        self.types, self.lag = case.get("types", list(S2[1:])), case["lag"]
        self.periodic, self.phases = not case.get("non_periodic"), case.get("phases", 1)
        self.weight = case.get("weights", [WEIGHT[t] for t in self.types])
        self.q = case.get("phase_weights", [1.0] * 3)
        self.v = [0.3**level for level in range(16)]
        self.v[: len(case.get("level_weights", []))] = case.get("level_weights", [])
        self.pair = self.types.index("CrossCorrelations") if "CrossCorrelations" in self.types else None
        self.target, self.most, self.pairs = [], [], []
        for side in range(self.sides):
            y = self.stack(images, side)
            levels = 1 if case.get("flat") else levels_of(*y[0].shape[1:], self.lag)
            one = [describe(z, self.types, self.lag, levels, self.periodic) for z in y]
            self.target.append([[[t.mean(0) for t in row] for row in phase] for phase in one])
            self.most.append(levels)
            if self.pair is not None:
                self.pairs.append([[t.mean(0) for t in row] for row in describe_pairs(y, self.lag, levels, self.periodic)])
        if case.get("isotropic"):
            least = min(self.most)
            mean = [[[np.mean([self.target[s][p][l][t] for s in range(3)], 0) for t in range(len(self.types))] for l in range(least)] for p in range(len(self.target[0]))]
            self.target, self.most = [mean] * 3, [least] * 3

    def stack(self, images, side):
        """Indicators of the phases of the image that this direction aims at: each [slices][u][v]"""
        image = images[side if len(images) == 3 else 0]
        wanted = range(self.phases) if self.phases > 1 else [1]
        return [slices(1.0 * (image == p), side) if image.ndim == 3 else 1.0 * (image == p)[None] for p in wanted]

    def loss(self, x):
        """x [phases][z][y][x]"""
        total = 0.0
        for side in range(self.sides):
            y = [slices(field, side) for field in x]
            levels = min(self.most[side], levels_of(*y[0].shape[1:], self.lag))
            d = []
            for p, field in enumerate(y):
                got = describe(field, self.types, self.lag, levels, self.periodic)
                for level in range(levels):
                    for t in range(len(self.types)):
                        d.append(self.q[p] * self.weight[t] * self.v[level] * (got[level][t] - self.target[side][p][level][t]))
            if self.pair is not None:
                for got, want in zip(describe_pairs(y, self.lag, levels, self.periodic), self.pairs[side]):
                    d += [self.weight[self.pair] * self.v[level] * (got[level] - want[level]) for level in range(levels)]
            d = np.concatenate(d, 1)
            total += norm(d.mean(0, keepdims=True) if self.case.get("mean") else d, self.case.get("loss", "MSE")).mean() / self.sides
        return total


def arguments(case, folder, images, start):
    words = ["match", "--microstructure_filenames", *images, "--max_iter", 0, "--limit_to", case["lag"], "--initial_microstructure_file", start,
             "--save-gradient", f"{folder}/g.npy", "--size", *case["shape"], "--loss_type", case.get("loss", "MSE")]
    for key, option in (("types", "--descriptor_types"), ("weights", "--descriptor_weights"), ("level_weights", "--level_weights"), ("phase_weights", "--phase_weights")):
        words += [option, *case[key]] if key in case else []
    for key, option in (("non_periodic", "--non_periodic"), ("flat", "--no_multigrid_descriptor"), ("isotropic", "--isotropic")):
        words += [option] if key in case else []
    words += ["--slice_objective", "mean"] if case.get("mean") else []
    if case.get("phases", 1) == 2:
        words += ["--use_multiphase"]
    return words + (["--no_multiphase"] if case.get("singlephase") or case.get("phases", 1) == 1 else [])


def slope(reference, x, direction, h=1e-6):
    return (reference.loss(x + h * direction) - reference.loss(x - h * direction)) / (2 * h)


def compare(name, case, folder):
    phases, shape = case.get("phases", 1), case["shape"]
    fractions = {1: [0.6, 0.4], 2: [0.6, 0.4], 3: [0.5, 0.3, 0.2]}[3 if case.get("singlephase") else phases]
    images = [blobs(s, fractions, 7 + i) for i, s in enumerate(case["images"])]
    field = grey(shape, phases, 3)
    files = [save(folder, f"image{i}.npy", image) for i, image in enumerate(images)]
    words = arguments(case, folder, files, save(folder, "start.npy", field))
    json = measure(PROGRAM, *words, ranks=case.get("ranks", 1), mpiexec=MPIEXEC)
    if json is None:
        return
    g = np.load(f"{folder}/g.npy").astype(float)
    if not check(g.shape == field.shape and json["shape"] == list(shape), f"{name}: gradient of shape {g.shape}, field {field.shape}"):
        return
    x, g = (np.moveaxis(a, -1, 0) if phases > 1 else a[None] for a in (field.astype(float), g))
    if len(shape) == 2:
        x, g = x[:, None], g[:, None]
    reference = Reference(case, images)
    want = reference.loss(x)
    off = abs(json["loss"] - want) / want
    worst["loss"] = max(worst["loss"], off)
    check(off < 3e-6, f"{name}: loss {json['loss']!r}, want {want!r}")
    random = np.random.default_rng(11)
    for _ in range(3):
        direction = random.standard_normal(x.shape) + 0.5
        got, want = (g * direction).sum(), slope(reference, x, direction)
        off = abs(got - want) / np.linalg.norm(g) / np.linalg.norm(direction) * np.sqrt(g.size)
        worst["gradient"] = max(worst["gradient"], off)
        check(off < 5e-5, f"{name}: slope {got!r}, want {want!r}, off by {off:.2g} of a typical one")


CASES = {
    "image": {"images": [(32, 32)], "shape": (32, 32), "lag": 4},
    "image, prime extents": {"images": [(13, 11)], "shape": (13, 11), "lag": 2},
    "image, odd extents, pyramid": {"images": [(45, 39)], "shape": (45, 39), "lag": 4},
    "image, not periodic": {"images": [(45, 39)], "shape": (45, 39), "lag": 4, "non_periodic": 1},
    "prime extents, not periodic": {"images": [(13, 11)], "shape": (13, 11), "lag": 2, "non_periodic": 1},
    "image of another size": {"images": [(40, 64)], "shape": (26, 35), "lag": 3},
    "one level": {"images": [(32, 32)], "shape": (32, 32), "lag": 4, "flat": 1},
    "level weights": {"images": [(32, 32)], "shape": (32, 32), "lag": 4, "level_weights": [1, 0.7]},
    "weights": {"images": [(24, 32)], "shape": (24, 32), "lag": 3, "types": ["VolumeFractions", "Variation", "S2"], "weights": [2, 0.5, 3]},
    "S2 alone": {"images": [(24, 32)], "shape": (24, 32), "lag": 3, "types": ["S2"]},
    "Variation alone": {"images": [(24, 32)], "shape": (24, 32), "lag": 3, "types": ["Variation"]},
    **{f"{name}{more}": {"images": [(22, 27)], "shape": (22, 27), "lag": 4, "types": [name], **words} for name in FURTHER if name not in COUNTED
       for more, words in (("", {}), (", not periodic", {"non_periodic": 1, "loss": "L1"}))},
    **{f"pairs of many lags{more}": {"images": [(26, 23)], "shape": (26, 23), "lag": 9, "types": ["TwoPointCorrelations"], **words}
       for more, words in (("", {}), (", not periodic", {"non_periodic": 1}))},
    "pairs of many lags, volume": {"images": [(20, 18)], "shape": (17, 18, 20), "lag": 8, "types": ["TwoPointCorrelations", "S2"], "ranks": 3},
    "lineal path beside others, volume": {"images": [(16, 20)], "shape": (9, 16, 20), "lag": 4, "types": ["S2", "LinealPath", "Variation"]},
    "lineal path, wide": {"images": [(16, 150)], "shape": (16, 150), "lag": 3, "types": ["LinealPath", "LineLinealPathApproximation"]},
    "soft descriptors, volume on 3 ranks": {"images": [(12, 14)], "shape": (7, 8, 9), "lag": 2, "ranks": 3,
                                            "types": ["LinealPathApproximation", "TwoPointCorrelations", "LinealPath"]},
    "lineal path, three phases": {"images": [(21, 32)], "shape": (21, 32), "lag": 3, "phases": 3, "types": ["LinealPath"]},
    "cross, two phases": {"images": [(24, 27)], "shape": (24, 27), "lag": 3, "phases": 2, "types": ["CrossCorrelations"]},
    "cross, three phases, not periodic": {"images": [(21, 25)], "shape": (21, 25), "lag": 3, "phases": 3, "types": ["S2", "CrossCorrelations"], "non_periodic": 1, "loss": "L2"},
    "cross, volume, 3 ranks": {"images": [(9, 10)], "shape": (7, 8, 9), "lag": 2, "phases": 3, "types": ["CrossCorrelations", "Variation"], "ranks": 3},
    "mean slice": {"images": [(16, 20)], "shape": (9, 8, 10), "lag": 2, "mean": 1},
    "mean slice, three phases": {"images": [(9, 10)], "shape": (7, 8, 9), "lag": 2, "phases": 3, "mean": 1, "loss": "RMS", "ranks": 3,
                                 "types": ["S2", "LinealPath", "CrossCorrelations", "Variation"], "phase_weights": [1, 0.5, 2]},
    "phase weights": {"images": [(21, 32)], "shape": (21, 32), "lag": 3, "phases": 3, "phase_weights": [0.5, 0, 2]},
    "two phases": {"images": [(24, 32)], "shape": (24, 32), "lag": 3, "phases": 2},
    "three phases": {"images": [(21, 32)], "shape": (21, 32), "lag": 3, "phases": 3},
    "three phases, one optimised": {"images": [(21, 32)], "shape": (21, 32), "lag": 3, "singlephase": 1},
    "three phases, not periodic": {"images": [(21, 32)], "shape": (21, 32), "lag": 3, "phases": 3, "non_periodic": 1, "loss": "RMS"},
    "volume": {"images": [(16, 20)], "shape": (12, 16, 20), "lag": 4},
    "volume on 3 ranks": {"images": [(16, 20)], "shape": (12, 16, 20), "lag": 4, "ranks": 3},
    "volume, prime extents": {"images": [(19, 23)], "shape": (9, 10, 11), "lag": 2},
    "volume, not periodic": {"images": [(19, 23)], "shape": (9, 10, 11), "lag": 2, "non_periodic": 1},
    "volume, not periodic, 2 ranks": {"images": [(19, 23)], "shape": (9, 10, 11), "lag": 2, "non_periodic": 1, "ranks": 2},
    "three images": {"images": [(16, 20), (12, 20), (12, 16)], "shape": (12, 16, 20), "lag": 4},
    "three images, several levels": {"images": [(16, 20), (12, 20), (12, 16)], "shape": (12, 16, 20), "lag": 2, "loss": "L2", "ranks": 2},
    "volume from a volume": {"images": [(12, 16, 20)], "shape": (12, 16, 20), "lag": 3},
    "volume from an isotropic volume": {"images": [(12, 12, 16)], "shape": (12, 12, 16), "lag": 3, "isotropic": 1},
    "volume, three phases": {"images": [(16, 20)], "shape": (12, 16, 20), "lag": 3, "phases": 3},
    "volume, three phases, 3 ranks": {"images": [(16, 20)], "shape": (7, 9, 10), "lag": 2, "phases": 3, "ranks": 3, "non_periodic": 1},
}
for kind in ("SSE", "RMS", "L1", "L2"):
    CASES[f"image, {kind}"] = {"images": [(26, 32)], "shape": (26, 32), "lag": 4, "loss": kind}
    CASES[f"volume, {kind}"] = {"images": [(19, 23)], "shape": (9, 10, 11), "lag": 2, "loss": kind}
    CASES[f"three phases, {kind}"] = {"images": [(21, 32)], "shape": (21, 32), "lag": 3, "phases": 3, "loss": kind}

for name, case in some(CASES.items(), 3 if "MF_TEST_DEVICE" in os.environ else 1):  # of a device repeats what was seen of cpu
    case.setdefault("types", list(S2[1:]))
    with tempfile.TemporaryDirectory() as folder:
        compare(name, case, folder)
print(f"{len(CASES)} cases, largest relative error of a loss {worst['loss']:.2g}, of a slope {worst['gradient']:.2g}")
finish("loss_default")
