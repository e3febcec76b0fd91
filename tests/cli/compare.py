"""compare against brute force in NumPy: the seven measures of texture, specks, score, copied windows, S2 and Variation of
images and volumes, periodic and not, on 1 to 3 ranks; what it refuses. SciPy, where it is, counts components again.

    compare.py MESOFORGE MPIEXEC      exit status 77: NumPy is missing
"""
import itertools
import json
import os
import sys
import tempfile

import counts
import runs
from formulas import in_space
from counts import axes, euler, labels
from runs import check, finish, measure
from samples import blobs, np, page_of, save

h5py, ndimage = runs.optional("h5py"), runs.optional("scipy.ndimage")

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]
SEVEN = ["chords", "lineal_path_5", "lineal_path_10", "lineal_path_15", "euler", "components", "cluster_10"]
WAYS = {"chord_x": (0, 1), "chord_y": (1, 0), "chord_down": (1, 1), "chord_up": (1, -1)}


def lines(shape, way, periodic):
    """Every pixel once, in lines along a way: of a torus closed ones."""
    left = set(itertools.product(*map(range, shape)))
    inside = lambda p: all(0 <= c < n for c, n in zip(p, shape))
    wrap = lambda p: tuple(c % n for c, n in zip(p, shape)) if periodic else p
    for start in sorted(left):
        if start not in left or (not periodic and inside((start[0] - way[0], start[1] - way[1]))):
            continue
        line, p = [], start
        while p in left:
            left.remove(p)
            line.append(p)
            p = wrap((p[0] + way[0], p[1] + way[1]))
        yield line


def chords(a, way, periodic):
    """Lengths of all chords of an image."""
    found = []
    for line in lines(a.shape, way, periodic):
        x = [bool(a[p]) for p in line]
        if periodic and len(set(x)) > 1: # begin where it changes
            start = next(i for i in range(len(x)) if x[i] != x[i - 1])
            x = x[start:] + x[:start]
        groups = [(one, len(list(run))) for one, run in itertools.groupby(x)]
        groups = groups[1:-1] if not periodic else groups if len(groups) > 1 else []
        found += [n for one, n in groups if one]
    return found


def near_places(x, n, axis, periodic, f):
    """f(pixel and the next n - 1 along an axis) summed, and of how many places."""
    size = x.shape[axis]
    stack = np.array([np.roll(x, -k, axis) for k in range(n)])
    good = f(stack)
    if not periodic:
        good = good.take(range(max(size - n + 1, 0)), axis)
    return good.sum(), good.size


def share(x, n, periodic, f):
    one, two = (near_places(x, n, axis, periodic, f) for axis in (0, 1))
    return (one[0] + two[0]) / (one[1] + two[1]) if one[1] + two[1] else None


def textures(slices, label, periodic):
    """Values of one phase over slices, counts added up."""
    pooled, weight = {}, {}

    def add(key, value, by=1):
        pooled[key], weight[key] = pooled.get(key, 0) + value, weight.get(key, 0) + by

    for x in slices:
        a = x == label
        component = np.where(a, labels(a, periodic), -1 - np.arange(a.size).reshape(a.shape))
        size = np.bincount(component[a]) if a.any() else np.zeros(1, int)
        size = size[size > 0]
        if ndimage and not periodic:
            check(ndimage.label(a)[1] == size.size, f"SciPy counts {ndimage.label(a)[1]} components, not {size.size}")
        for key, way in WAYS.items():
            found = chords(a, way, periodic)
            add(key, sum(found), len(found))
        for n in (5, 10, 15):
            for axis in (0, 1):
                add(f"lineal_path_{n}", *near_places(a, n, axis, periodic, lambda s: s.all(0)))
        add("euler_per_pixel", (euler(a, periodic, False) + euler(a, periodic, True)) / 2, a.size)
        add("components_per_pixel", size.size, a.size)
        add("specks", size[size <= 3].sum(), a.size)
        for axis in (0, 1):
            add("cluster_10", *near_places(component, 11, axis, periodic, lambda s: s[0] == s[10]))
    chord = lambda key: 0 if key in WAYS else None
    return {key: float(pooled[key] / weight[key]) if weight[key] else chord(key) for key in pooled}


def relative(got, want):
    return None if got is None or want is None else min(2, abs(got - want) / abs(want)) if want else 2 * (got != 0)


def judge(got, want, phases):
    """What the directions' errors, specks and score should be; got, want: values by phase."""
    errors = {name: [] for name in SEVEN}
    for p in phases:
        one = {key: relative(got[p][key], want[p][key]) for key in got[p]}
        errors["chords"] += [one[key] for key in WAYS]
        for name in SEVEN[1:]:
            errors[name].append(one[name + "_per_pixel" if name in ("euler", "components") else name])
    errors = {k: None if None in v else float(np.mean(v)) for k, v in errors.items()}
    errors["specks_percent"] = float(100 * abs(sum(got[p]["specks"] - want[p]["specks"] for p in phases)))
    seven = [errors[k] for k in SEVEN]
    return errors, None if None in seven else float(np.mean(seven)) + 0.1 * errors["specks_percent"]


def windows(x, periodic, edge, along=10 ** 6):
    """Evenly spread ones, at most so many along an axis."""
    n = [s if periodic else s - edge + 1 for s in x.shape]
    big = np.pad(x, [(0, edge - 1)] * 2, "wrap") if periodic else x
    return np.array([big[u:u + edge, v:v + edge].ravel() for u in range(0, n[0], -(-n[0] // along)) for v in range(0, n[1], -(-n[1] // along))])


def copied(x, target, periodic, edge, many=1024):
    mine, theirs = windows(x, periodic, edge, many // edge), windows(target, periodic, edge)
    mine = mine[[np.sort(np.bincount(w, minlength=2))[-2] >= 0.1 * edge * edge for w in mine]]
    agree = sum((mine == k).astype(np.float32) @ (theirs == k).astype(np.float32).T for k in np.unique(target))
    return float((agree.max(1) >= 0.95 * edge * edge).mean()) if len(mine) else 0.0


def common(target, edge):
    """What halves of the target share."""
    halves = [(i[:len(i) // 2], i[len(i) // 2:]) for i in (target, target.T)]
    return np.mean([copied(*pair, False, edge, 512) if min(one.shape + other.shape) >= edge else 0 for one, other in halves for pair in ((one, other), (other, one))])


def window(x, target):
    """So large that halves of the target are not alike."""
    edge = 16
    while edge < 64 and 8 * edge <= min(target.shape) and 4 * edge <= min(x.shape) and common(target, edge) > 0.05:
        edge *= 2
    return edge


def s2(slices, label, lag, periodic):
    total = 0
    for x in slices:
        a = (x == label).astype(float)
        shape = a.shape if periodic else tuple(2 * n for n in a.shape)
        of = lambda y: np.fft.ifft2(np.abs(np.fft.fft2(y, shape)) ** 2).real
        lags = np.arange(1 - lag, lag)
        total = total + (of(a) / (a.size if periodic else of(np.ones(a.shape)).round().clip(1)))[np.ix_(lags, lags)]
    return total / len(slices)


def near(a, b):
    if isinstance(b, dict):
        return isinstance(a, dict) and all(near(a.get(k), b[k]) for k in b)
    return a is b if b is None or a is None else abs(a - b) <= 1e-9 * max(1, abs(b))


def slices_of(x, normal):
    return [x] if x.ndim == 2 else list(np.moveaxis(x, "zyx".index(normal), 0))


def some(slices, most):
    """Those that the seven measures look at."""
    n = min(most, len(slices)) if most else len(slices)
    return [slices[(2 * k + 1) * len(slices) // (2 * n)] for k in range(n)]


def field(x, label, periodic):
    """What a field of one phase is as a whole."""
    a = x == label
    clusters = counts.clusters(a, periodic)
    found = {"surface": counts.surface(a, periodic)["crofton"], "clusters_per_pixel": clusters["number"] / a.size,
             "euler_per_pixel": (euler(a, periodic, False) + euler(a, periodic, True)) / 2 / a.size,
             "largest_cluster": clusters["largest"] / a.sum()}
    for axis, name in enumerate(axes(a)):
        found["spanning_fraction_" + name] = clusters["spanning_fraction"][name]
        found["chord_" + name] = counts.chords(a, axis, periodic)["mean"]
    return found


def compared(what, said, got, want, lag, periodic, most):
    phases = range(int(want.max()) + 1)
    scores = []
    for normal in "zyx" if got.ndim == 3 else "z":
        one = said["directions"][normal]
        mine, theirs = slices_of(got, normal), slices_of(want, normal)
        values = [{p: textures(some(s, most), p, periodic) for p in phases} for s in (mine, theirs)]
        errors, score = judge(*values, phases)
        scores.append(score)
        check(near(one["errors"], errors), f"{what}, {normal}: {one['errors']} is not {errors}")
        check(near(one["score"], score), f"{what}, {normal}: score {one['score']} is not {score}")
        for p in phases:
            phase = one["phases"][p]
            pairs = {k: {"result": values[0][p][k], "target": values[1][p][k]} for k in values[0][p]}
            pairs["volume_fraction"] = {"result": float(np.mean(got == p)), "target": float(np.mean(want == p))}
            check(near(phase, pairs), f"{what}, {normal}, label {p}: {phase} is not {pairs}")
            rms = np.sqrt(np.mean((s2(mine, p, lag, periodic) - s2(theirs, p, lag, periodic)) ** 2))
            check(abs(phase["s2_rms"] - rms) < 1e-9, f"{what}, {normal}, label {p}: rms {phase['s2_rms']}, not {rms}")
        middle = [s[len(s) // 2] for s in (mine, theirs)]
        edge = window(*middle)
        share = copied(*middle, periodic, edge) if min(min(m.shape) for m in middle) >= 16 else 0
        check(near(one["copied"], share) and one["copied_window"] == edge,
              f"{what}, {normal}: copied {one['copied']} by {one['copied_window']}, not {share} by {edge}")
        chance = 1 - (1 - common(middle[1], edge)) ** 2 if min(min(m.shape) for m in middle) >= 16 else 0
        check(near(one["copied_by_chance"], chance), f"{what}, {normal}: by chance {one['copied_by_chance']}, not {chance}")
    check(("field" in said) == (got.ndim == want.ndim), f"{what}: whole fields of one kind, and of no others")
    for p, one in enumerate(said.get("field", [])):
        whole = [field(x, p, periodic) for x in (got, want)]
        pairs = {"label": p, **{k: {"result": whole[0][k], "target": whole[1][k]} for k in whole[0]}}
        check(near(one, pairs) and set(one) == set(pairs), f"{what}, label {p}: {one} is not {pairs}")
    mean = None if None in scores else float(np.mean(scores))
    check(near(said["score"], mean), f"{what}: score {said['score']}, not {mean}")


def brute(folder):
    image, like = blobs((24, 30), (0.6, 0.4), 1), blobs((27, 22), (0.55, 0.45), 2)
    three, other = blobs((26, 26), (0.5, 0.3, 0.2), 3, 1.0), blobs((26, 26), (0.45, 0.3, 0.25), 4, 0.7)
    like[2:20, 1:20] = image[4:22, 6:25]
    volume, again = blobs((17, 18, 20), (0.6, 0.4), 5), blobs((18, 17, 16), (0.6, 0.4), 6, 1.2)
    small = blobs((12, 11), (0.6, 0.4), 7)
    paths = {name: save(folder, name + ".npy", x) for name, x in
             {"image": image, "like": like, "three": three, "other": other, "volume": volume, "again": again, "small": small}.items()}
    for words, fields, most in ((["image", "like"], (image, like), 16), (["three", "other"], (three, other), 16),
                                (["image", "volume"], (image, volume), 4), (["volume", "again"], (volume, again), 0),
                                (["image", "small"], (image, small), 16)):
        both = runs.LONG or "like" in words  # with and without opposite borders
        for periodic in (False, True) if both else ("volume" in words,):
            lag = min([8] + [min(f.shape) // 2 for f in fields])
            line = ["compare", *(paths[w] for w in words), "--limit_to", lag, "--slices", most, *["--periodic"] * periodic]
            first = None
            for ranks in (1, 3) if "volume" in words and periodic else (1,):
                said = measure(PROGRAM, *line, ranks=ranks, mpiexec=MPIEXEC)
                if said and first is None:
                    first = said
                    compared(f"{words}, {'' if periodic else 'not '}periodic", said["results"][0], fields[1], fields[0], lag, periodic, most)
                check(said == first, f"{words}: {ranks} ranks differ from one")
    if runs.LONG:
        large_windows(folder)
    said = measure(PROGRAM, "compare", paths["image"], paths["image"], paths["like"])
    check(said and [r["score"] == 0 and r["copied"] == 1 for r in said["results"]] == [True, False], f"itself: {said}")


def large_windows(folder):
    """Of a network of few, large meshes small windows are alike by chance."""
    y, x = np.mgrid[:128, :128]
    target = (((y + 3 * np.sin(x / 9)) % 40 < 4) | ((x + 4 * np.sin(y / 11)) % 37 < 4)).astype(np.uint8)
    got = np.roll(target, (5, 9), (0, 1))[:70, :66]
    got[30:60, 20:50] = np.roll(got, 7, 0)[30:60, 20:50].T
    said = measure(PROGRAM, "compare", save(folder, "meshes.npy", target), save(folder, "mesh.npy", got))
    edge = window(got, target)
    check(edge == 32 and said and said["results"][0]["directions"]["z"]["copied_window"] == 32 and 0 < copied(got, target, False, 32) < 1
          and near(said["results"][0]["copied"], copied(got, target, False, 32)), f"meshes: {edge}, {said}")


def every_kind_of_file(folder):
    """The same microstructure, whatever it is kept in, is the same; a threshold leaves what holds phases alone."""
    path = lambda name: os.path.join(folder, name)
    image = np.load(path("image.npy"))
    save(folder, "grey.npy", (image * 150.0 + 20 + np.arange(30)).astype(np.float32))
    status, _, err = runs.run(PROGRAM, "match", path("image.npy"), "--limit_to", 5, "--max_iter", 3, "--output", path("made.h5"))
    check(status == 0, err)
    said = measure(PROGRAM, "compare", path("grey.npy"), path("image.npy"), path("made.h5"), "--threshold", "otsu")
    check(said and said["results"][0]["score"] == 0 and said["results"][1]["score"] > 0, f"otsu: {said}")
    one = measure(PROGRAM, "compare", path("grey.npy"), path("image.npy"), path("made.h5"), "--threshold", 110)
    check(one and said and [r["score"] for r in one["results"]] == [r["score"] for r in said["results"]], f"a number: {one}")


def descriptors(folder):
    """A descriptor file stands for what it was made of: with its L and borders, and the seven as of its example."""
    path = lambda name: os.path.join(folder, name)
    for words, periodic in (([], True), (["--non_periodic"], False)):
        status, _, err = runs.run(PROGRAM, "characterize", path("image.npy"), "--limit_to", 6, "--descriptor_types", "LinealPath", "StructureTensor", "--output", path("d.h5"), *words)
        check(status == 0, err)
        got = measure(PROGRAM, "compare", path("d.h5"), path("like.npy"), path("volume.npy"), *["--periodic"] * periodic)
        want = measure(PROGRAM, "compare", path("image.npy"), path("like.npy"), path("volume.npy"), "--limit_to", 6, *["--periodic"] * periodic,
                       "--descriptor_types", "FFTCrossCorrelations", "LinealPath", "StructureTensor")
        for one in want["results"] if want else []:
            one.pop("field", None)
            one.pop("measures", None)
        check(got and want and got["results"] == want["results"], f"descriptors, {words}: {got} is not {want}")
    inside = measure(PROGRAM, "compare", path("d.h5"), path("volume.npy"))
    check(inside and want and inside["results"] == want["results"][1:], f"borders of d.h5: {inside}")
    status, _, err = runs.run(PROGRAM, "characterize", path("volume.npy"), "--limit_to", 6, "--output", path("v.h5"))
    picture = path("slices.png")
    status, out, err = runs.run(PROGRAM, "compare", path("v.h5"), path("volume.npy"), "--slices", 1, "--periodic", "--output", picture)
    check(status == 0 and "score 0.000, copied 1.000" in out and os.path.getsize(picture) > 1000, f"its own middle slices: {out} {err}")
    for words, said in ((("all",), True), (("quick",), False)):
        err = runs.run(PROGRAM, "compare", path("image.npy"), path("like.npy"), "--descriptor_types", *words, env=runs.around("MESOFORGE_GRAM")).err
        check(("all descriptors but those that need the weights of VGG-19" in err) == said, f"{words}: {err}")
    np.save(path("soft.npy"), np.load(path("image.npy")) * np.float32(0.75))
    runs.run(PROGRAM, "characterize", path("soft.npy"), "--grey_values", "--limit_to", 6, "--output", path("g.h5"))
    status, _, err = runs.run(PROGRAM, "compare", path("g.h5"), path("like.npy"))
    check(status == 3 and "of the same phases" in err, f"one grey phase: {status} {err}")
    np.save(path("ones.npy"), np.ones((16, 16), np.uint8))
    runs.run(PROGRAM, "characterize", path("image.npy"), "--no_multiphase", "--limit_to", 6, "--output", path("p.h5"))
    status, out, err = runs.run(PROGRAM, "compare", path("p.h5"), path("ones.npy"), "--labels", 1, "--output", picture)
    check(status == 0 and "score -" in out, f"one phase of an image that has another: {status} {out} {err}")
    with_cut(path("d.h5"), path("cut.h5"))
    said = measure(PROGRAM, "compare", path("cut.h5"), path("like.npy"))
    one = said and said["results"][0]
    check(one and one["score"] is None and one["copied"] is None and one["directions"]["z"]["phases"][1]["s2_rms"] > 0, f"no example: {said}")
    out = runs.run(PROGRAM, "compare", path("cut.h5"), path("like.npy")).out
    check("score -, copied -" in out and "no score: slices are" in out and "copies are not counted" in out, f"a dash where nothing is known, and why: {out[:300]}")
    status, _, err = runs.run(PROGRAM, "compare", path("image.npy"), path("d.h5"))
    check(status == 3 and "only the first file" in err, f"descriptors as a result: {status} {err}")


def with_cut(path, cut):
    """A copy without its example."""
    with h5py.File(path) as old, h5py.File(cut, "w") as new:
        new.attrs.update(old.attrs)
        for name in old:
            old.copy(name, new)
        del new["all/example"]


def in_the_volume(folder):
    """Two volumes: S2 in space of every phase and pair, over the lags that both have; with a descriptor file, what that holds."""
    a, b = blobs((8, 10, 9), [0.5, 0.3, 0.2], 1), blobs((9, 8, 12), [0.5, 0.3, 0.2], 2)
    one, other = save(folder, "one.npy", a), save(folder, "other.npy", b)
    fields = [[1.0 * (x == p) for p in range(3)] for x in (a, b)]
    rms = lambda p, q: np.sqrt(np.mean((in_space(fields[0][p], fields[0][q], 4, True) - in_space(fields[1][p], fields[1][q], 4, True)) ** 2))
    said = measure(PROGRAM, "compare", one, other, "--periodic", "--limit_to", 4, ranks=2, mpiexec=MPIEXEC)
    if said is None:
        return
    got = said["results"][0]
    for key, parts in (("s2_3d_rms", [(p, p) for p in range(3)]), ("cross_s2_3d_rms", [(0, 1), (0, 2), (1, 2)])):
        for p, q in parts:
            told = got[key][f"{p}" if p == q else f"{p} {q}"]
            check(abs(told - rms(p, q)) < 1e-6, f"{key} of {p}, {q}: {told}, want {rms(p, q)}")
    status, out, err = runs.run(PROGRAM, "compare", one, other)
    check(status == 0 and "S2 in space" in out and "cross S2 in space" in out, f"{out} {err}")


def further(folder):
    """--descriptor_types: the difference of what characterize exports of both, over all phases and pairs; a file of descriptors compares what it has."""
    a, b = blobs((20, 22), [0.5, 0.3, 0.2], 3), blobs((24, 20), [0.5, 0.3, 0.2], 4)
    files = [save(folder, f"{n}.npy", x) for n, x in (("a", a), ("b", b))]
    every = ["FFTCrossCorrelations", "LinealPath", "LinealPathExact", "LinealPathApproximation", "LineLinealPathApproximation", "TwoPointCorrelations", "Correlations",
             "LineCorrelations", "StructureTensor", "SurfaceCorrelations", "Chords", "CrossCorrelations",
             "EulerNumber", "LocalFraction", "Boundaries", "ClusterFunction", "Clusters", "Tortuosity"]
    arrays = []
    for file in files:
        runs.run(PROGRAM, "characterize", file, "--limit_to", 4, "--non_periodic", "--no_multigrid_descriptor", "--descriptor_types", *every, "--output", f"{file}.h5",
                 "--export", *(f"{name}={file}_{name}.npy" for name in every))
        arrays.append({name: np.load(f"{file}_{name}.npy").ravel() for name in every})
    size = lambda x: np.sqrt(np.mean(x**2))
    for ranks, words, names in ((1, ["all"], every), (3, ["LinealPathExact", "Correlations"], ["LinealPathExact", "Correlations"])):
        said = measure(PROGRAM, "compare", *files, "--limit_to", 4, "--descriptor_types", *words, ranks=ranks, mpiexec=MPIEXEC)
        got = said["results"][0]["directions"]["z"]["descriptors"] if said else {}
        check(sorted(got) == sorted(names), f"{words}: {list(got)}")
        for name in got:
            x, y = (one[name] for one in arrays)
            off, error = size(y - x), size(y - x) / size(x)
            check(abs(got[name]["rms"] - off) < 1e-6 and abs(got[name]["error"] - error) < 1e-4, f"{name}: {got[name]}, want {off}, {error}")
    if h5py:
        said = measure(PROGRAM, "compare", f"{files[0]}.h5", files[1])
        check(said and said["results"][0]["directions"]["z"]["descriptors"].keys() == set(every), f"those of a file: {said}")
    said = measure(PROGRAM, "compare", *files, "--limit_to", 4)
    costly = {"LinealPathApproximation", "Correlations", "CrossCorrelations"}
    got = said["results"][0] if said else {}
    check(got and got["directions"]["z"]["descriptors"].keys() == set(every) - costly, f"all that cost little: {got}")
    check(got and got["measures"].keys() == set(MEASURES) - {"tortuosity, mean and least", "tortuosity, reached"}, f"and measures: {got.get('measures')}")
    out = runs.run(PROGRAM, "compare", *files, "--limit_to", 4).out
    check("StructureTensor" in out and "TwoPointCorrelations  " in out and "variogram  " in out and "tortuosity" not in out, out)
    volume = save(folder, "d.npy", blobs((8, 8, 8), [0.5, 0.3, 0.2], 5))
    for words, lines in (([], 1), (["--descriptor_types", "S2"], 0)):
        out = runs.run(PROGRAM, "compare", files[0], volume, *words).out
        check(out.count("are of one L") == lines and "normal to x" in out, f"of two L, volume, {words}: {out}")
    out = runs.run(PROGRAM, "compare", files[0], save(folder, "c.npy", blobs((8, 8), [0.5, 0.3, 0.2], 5))).out
    check("are of one L" in out and "try: --limit_to 4" in out, f"of two L: {out}")
    runs.refuses(PROGRAM, [(2, ["compare", *files, "--descriptor_types", name], says) for name, says in
                           (("S9", "no descriptor"), ("GramMatrices", "the weights of VGG-19"), ("Patches", "no values"))], ranks=(1,))


MEASURES = {"autocovariance": "*", "variogram": "*", "surface_correlation": "*.*", "local_fraction": "@mean variance", "boundaries, with another phase": "double",
            "boundaries, with two others": "triple", "cluster_function": "*", "tortuosity, mean and least": "*.mean least", "tortuosity, reached": "*.reached"}


def values_of(name, phase):
    """All numbers of a row in what characterize counted of a phase, by their place."""
    own, path = phase[name.split(",")[0]], MEASURES[name]
    found = {}
    if path == "*":
        found = own
    elif path == "*.*":
        found = {(a, b): y for a, x in own.items() for b, y in x.items()}
    elif path[0] == "@":
        found = {key: [one[key] for one in own] for key in path[1:].split()}
    elif path in ("double", "triple"):
        found = {str(one.get("label", one.get("labels"))): [one["density"]] for one in own[path]}
    else:
        found = {(axis, key): [values[key]] for axis, values in own.items() for key in path[2:].split()}
    return {(key, i): x for key, list_of in found.items() for i, x in enumerate(list_of) if x is not None}


def measures(folder):
    """Rows of measures: the difference of what characterize counts of both, named one by one or all; on any number of ranks."""
    a, b = blobs((24, 26), [0.5, 0.3, 0.2], 13), blobs((24, 22), [0.5, 0.3, 0.2], 14)
    u, v = blobs((12, 14, 13), [0.6, 0.4], 15), blobs((14, 12, 13), [0.6, 0.4], 16)
    for one, other in ((a, b), (u, v)):
        files = [save(folder, name + ".npy", x) for name, x in (("mone", one), ("mother", other))]
        known = []
        for file in files:
            status, out, err = runs.run(PROGRAM, "characterize", file, "--limit_to", 5, "--non_periodic", "--measures", "all", "--json", "--data_folder", folder)
            check(status == 0, err)
            known.append(json.loads(out)["measures"])
        said = {words: measure(PROGRAM, "compare", *files, "--limit_to", 5, "--descriptor_types", *words, ranks=3 if words[0] == "all" and one.ndim == 3 else 1, mpiexec=MPIEXEC)
                for words in (("all",), ("variogram", "tortuosity"), ("S2",))}
        rows = {words: one["results"][0]["measures"] if one else {} for words, one in said.items()}
        names = {name for name in MEASURES if any(values_of(name, phase) for field in known for phase in field)}
        check(len(names) >= 7 and rows[("all",)].keys() == names, f"all measures: {rows[('all',)].keys()}, want {names}")
        check(rows[("variogram", "tortuosity")].keys() == {name for name in names if name.split(",")[0] in ("variogram", "tortuosity")} and not rows[("S2",)],
              f"those that are named: {rows}")
        for name in names & rows[("all",)].keys():
            pairs = []
            for x, y in zip(*known):
                x, y = values_of(name, x), values_of(name, y)
                pairs += [(x[key], y[key]) for key in x.keys() & y.keys()]
            if not pairs:
                check(rows[("all",)][name] == {"rms": None, "error": None}, f"nothing in common: {name}")
                continue
            x, y = np.array(pairs).T
            off, size = np.sqrt(np.mean((y - x) ** 2)), np.sqrt(np.mean(x**2))
            got = rows[("all",)][name]
            check(abs(got["rms"] - off) < 1e-9 and (size == 0 or abs(got["error"] - off / size) < 1e-6), f"{name}: {got}, want {off}, {off / size}")
    out = runs.run(PROGRAM, "compare", *files, "--descriptor_types", "variogram").out
    check("variogram  " in out and "StructureTensor" not in out, out)
    status, out, err = runs.run(PROGRAM, "compare", save(folder, "mimage.npy", a[:, :22]), save(folder, "mvolume.npy", blobs((8, 8, 8), [0.5, 0.3, 0.2], 17)),
                                "--descriptor_types", "variogram")
    check(status == 0 and "have no effect" in err and "variogram" not in out, f"no whole fields: {err}")


def pictures(folder):
    """A panel for every row: functions in panels of their own, one for every phase or pair; matrices and numbers as bars."""
    a, b = blobs((26, 26), [0.5, 0.3, 0.2], 23), blobs((26, 24), [0.5, 0.3, 0.2], 24)
    u, v = blobs((12, 14, 13), [0.6, 0.4], 25), blobs((14, 12, 13), [0.6, 0.4], 26)
    bars = {"Correlations", "LineCorrelations", "CrossCorrelations", "EulerNumber", "Boundaries", "Clusters", "Tortuosity"}
    for one, other, ranks in runs.some(((a, b, 1), (u, v, 3))):
        files = [save(folder, name + ".npy", x) for name, x in (("pone", one), ("pother", other))]
        picture, phases = os.path.join(folder, "all.png"), int(one.max()) + 1
        said = measure(PROGRAM, "compare", *files, "--limit_to", 5, "--descriptor_types", "all", "--output", picture, ranks=ranks, mpiexec=MPIEXEC)
        if not said:
            continue
        drawn, result, page = said["picture"]["drawn"], said["results"][0], page_of(picture)
        check(said["picture"]["panels"] == len(drawn) and said["picture"]["left_out"] == 0, f"{said['picture']['panels']} panels")
        count = lambda name: sum(panel["title"].replace(",", " ").split()[0] == name for panel in drawn)
        for normal, direction in result["directions"].items():
            for name in direction["descriptors"]:
                parts = phases * (phases - 1) // 2 if name == "FFTCrossCorrelations" else phases
                check(count(name) == (0 if name in bars else parts * len(result["directions"])), f"{name}: {count(name)} panels")
        check(count("FFTCorrelations") == phases * len(result["directions"]) and count("Errors") == 2 * len(result["directions"]) + 2, "S2, and bars")
        for name in {name.split(",")[0] for name in result["measures"]}:
            kinds = sum(row.split(",")[0] == name for row in result["measures"])
            check(count(name) == phases * kinds or (name == "tortuosity" and 0 < count(name) < phases * kinds), f"{name}: {count(name)} panels of {kinds} rows")
        check(("s2_3d_rms" not in result) or count("S2_3D") == phases, "S2 in space")
        for panel in drawn:
            left, top, wide, tall = panel["box"]
            inside = page[round(top + 0.13 * tall):round(top + 0.84 * tall), round(left + 0.18 * wide):round(left + 0.77 * wide)]
            check((inside != 255).any(2).mean() > 0.002 and (inside != inside[0, 0]).any(), f"{panel} is empty")


def conducts(scratch):
    """Conductivities are those of properties, on any number of ranks, and of whole fields alone."""
    path = lambda name: os.path.join(scratch, name + ".npy")
    for seed in (1, 2):
        np.save(path(f"k{seed}"), np.random.default_rng(seed).integers(0, 2, (9, 11, 10), np.uint8))
    np.save(path("k0"), np.random.default_rng(1).integers(0, 2, (20, 22), np.uint8))
    words = ("--limit_to", 3, "--conductivity", 0.1, 2)
    want, got = (json.loads(runs.run(PROGRAM, "properties", path(f"k{seed}"), "--conductivity", 0.1, 2, "--json").out)["conductivity"] for seed in (1, 2))
    for ranks in (1, 3):
        said = json.loads(runs.run(PROGRAM, "compare", path("k1"), path("k2"), *words, "--json", ranks=ranks, mpiexec=MPIEXEC).out)["results"][0]["conductivity"]
        for axis in "zyx":
            check(np.isclose(said[axis]["target"], want[axis], rtol=1e-6) and np.isclose(said[axis]["result"], got[axis], rtol=1e-6)
                  and np.isclose(said[axis]["error"], abs(got[axis] / want[axis] - 1), atol=1e-6), f"conductivity along {axis} on {ranks} ranks: {said}")
    done = runs.run(PROGRAM, "compare", path("k1"), path("k2"), *words)
    check(f"conductivity along z: {got['z']:.6g}, target {want['z']:.6g}" in done.out, f"as text: {done}")
    done = runs.run(PROGRAM, "compare", path("k0"), path("k2"), *words, "--json")
    check("--conductivity has no effect" in done.err and "conductivity" not in json.loads(done.out)["results"][0], f"an image and a volume: {done}")
    for code, sentence, values in ((3, "has 2 labels, but --conductivity has 3 values", (0, 1, 2)), (2, "all are 0", (0, 0))):
        done = runs.run(PROGRAM, "compare", path("k1"), path("k2"), "--conductivity", *values, ranks=2, mpiexec=MPIEXEC)
        check(done.status == code and sentence in done.err, f"{values}: {done}")


def shown_and_refused(folder):
    path = lambda name: os.path.join(folder, name + ".npy")
    picture = os.path.join(folder, "both.png")
    status, out, err = runs.run(PROGRAM, "compare", path("image"), path("volume"), "--output", picture, ranks=2, mpiexec=MPIEXEC)
    check(status == 0 and os.path.getsize(picture) > 1000, f"a picture: {status} {err}")
    check(all(w in out for w in ("score", "copied", "normal to y", "mean chord along x", "Euler number", "S2, lags")), out)
    for code, sentence, *words in ((2, "two files", path("image")), (3, "of the same phases", path("image"), path("three")),
                                   (3, "the image first", path("volume"), path("image")), (3, "missing", path("image"), path("missing")),
                                   (2, "largest", path("image"), path("small"), "--limit_to", 9),
                                   (2, ".png", path("image"), path("like"), "--output", "both.h5"),
                                   (2, "--slices", path("image"), path("like"), "--slices", -1)):
        status, _, err = runs.run(PROGRAM, "compare", *words)
        check(status == code and sentence in err and err.count("mesoforge: ") == 1, f"{words}: {status}, want {code} {sentence!r}: {err}")


with tempfile.TemporaryDirectory() as scratch:
    brute(scratch)
    every_kind_of_file(scratch)
    if h5py:
        descriptors(scratch)
    in_the_volume(scratch)
    further(scratch)
    measures(scratch)
    conducts(scratch)
    pictures(scratch)
    shown_and_refused(scratch)
finish("compare")
