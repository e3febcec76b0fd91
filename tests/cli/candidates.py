"""--candidates: each is the run of a seed that is told, the best by the score of compare and, with Patches, twice the square of what
is copied beyond chance is kept, on any number of ranks, and a run that was stopped among them ends as one that was not.

    candidates.py MESOFORGE MPIEXEC       exit status 77: NumPy is missing
"""
import json
import os
import sys
import tempfile

import runs
from runs import S2, check, finish, measure, run
from samples import blobs, np, save

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]
SETTLED = (*S2, "--limit_to", 6, "--max_iter", 28, "--polish_rounds", 2, "--deterministic")


def badness(one, chance):
    """chance: the share that agrees by chance; None: no descriptor copies."""
    return one["score"] + (0 if chance is None or one["copied"] <= chance else 2 * ((one["copied"] - chance) / (1 - chance)) ** 2)


def chosen(folder, name, image, *words):
    """Of three, on 1 and 3 ranks."""
    field = f"{folder}/{name}.npy"
    done = [measure(PROGRAM, "match", image, *SETTLED, *words, "--seed", 4, "--candidates", 3, "--output", field, ranks=ranks, mpiexec=MPIEXEC) for ranks in (1, 3)]
    if not check(all(done), name):
        return
    done, other = done
    for one in (done, other):
        check(all(a <= b <= 1.02 * a + 4096 for a, b in zip(one["peak_bytes"]["arena"], one["peak_bytes"]["predicted"])), f"{name}: {one['peak_bytes']}")
    dry = measure(PROGRAM, "match", image, *SETTLED, *words, "--candidates", 3, "--dry-run", "--output", field)
    check(dry["bytes"]["arena"] == done["peak_bytes"]["predicted"], f"{name}: a dry run's {dry['bytes']}, {done['peak_bytes']}")
    plan = [measure(PROGRAM, "plan", "match", image, *SETTLED, *words, "--ranks", 1, "--candidates", k) for k in (1, 3)]
    if check(all(plan), f"{name}: plans"):
        more = plan[1]["bytes"]["total"] - plan[0]["bytes"]["total"]
        check(more == np.load(field).size, f"{name}: a plan's {more} bytes for the labels of the best")
    check(done["candidates"] == other["candidates"], f"{name}: {done['candidates']} and on 3 ranks {other['candidates']}")
    seeds = [one["seed"] for one in done["candidates"]]
    check(seeds[0] == 4 == done["seed"] and len(set(seeds)) == 3, f"{name}: seeds {seeds}")
    bad = [badness(one, None) for one in done["candidates"]]
    check(len(set(bad)) == 3 and done["kept"] == int(np.argmin(bad)), f"{name}: kept {done['kept']} of {bad}")
    for k, seed in enumerate(seeds):
        alone = measure(PROGRAM, "match", image, *SETTLED, *words, "--seed", seed, "--output", f"{folder}/alone.npy")
        check((k == done["kept"]) == (np.load(alone["output"]) == np.load(field)).all(), f"{name}: candidate {k} against the result")
        said = json.loads(run(PROGRAM, "compare", image, alone["output"], "--json").out)["results"][0]
        check(abs(said["score"] - done["candidates"][k]["score"]) < 1e-12, f"{name}: candidate {k}: {done['candidates'][k]}, compare says {said['score']}")


def automatic(folder):
    """auto has four of a small image, eight of inclusions of one size or of several phases, fewer of a larger one, one of a large one, and as many as it is told."""
    two, three, rare = (40, [0.6, 0.4]), (40, [0.5, 0.3, 0.2]), (40, [0.93, 0.07])
    given, discs = ("--initial_microstructure_file", f"{folder}/image.npy"), (np.hypot(*(np.mgrid[:48, :48] % 12 - 6)) < 4).astype(np.uint8)
    for of, words, count in ((two, (), 4), (three, (), 8), (rare, (), 4), (discs, (), 8), ((100, two[1]), (), 2), ((128, two[1]), (), 1), (two, ("--candidates", 2), 2), (two, given, 1),
                             ((14, two[1]), (), 1), ((520, rare[1]), (), 1)):
        image = save(folder, "image.npy", of if of is discs else blobs((of[0], of[0]), of[1], 1))
        done = measure(PROGRAM, "match", image, *words, "--max_iter", 3, "--no_polish", "--output", f"{folder}/auto.npy")
        check(done and len(done.get("candidates", [0])) == count, f"{of} {words}: {done and done.get('candidates')}")
        if done and count > 1:
            bad = [badness(one, None if of is rare else done["copied_by_chance"]) for one in done["candidates"]]
            check(bad[done["kept"]] <= min(bad) + 1e-12, f"{of} {words}: kept {done['kept']} of {bad}")


def stopped(folder, image):
    """Stopped in its second candidate and gone on with."""
    words, files = ["match", image, *SETTLED, "--candidates", 3, "--json"], [f"{folder}/{name}.h5" for name in ("broken", "whole")]
    code, out, text = run(PROGRAM, *words, "--output", files[0], fault="run.leave:visit=25")
    check(code == 75 and "candidate 1 of 3" in text and "candidate 2 of 3" not in text, f"to stop: {code} {text}")
    code, out, text = run(PROGRAM, *words, "--output", files[0], "--restart", "auto")
    got = json.loads(out) if check(code == 0 and "continuing" in text, f"to go on: {code} {text}") else {}
    want = measure(PROGRAM, *words[:-1], "--output", files[1])
    check(got.get("candidates") == want["candidates"] and got.get("s2_rms_error") == want["s2_rms_error"], f"{got.get('candidates')}, straight {want['candidates']}")
    rows = [[{k: row[k] for k in ("seed", "step", "loss", "stage")} for row in map(json.loads, open(name[:-3] + ".metrics.jsonl"))] for name in files]
    rows = [sorted(some, key=lambda row: (row["seed"], row["step"])) for some in rows]
    check(rows[0] == rows[1] and len({row["seed"] for row in rows[0]}) == 3, f"metrics: {rows}")
    check(not [name for name in os.listdir(folder) if "ckpt" in name], f"left: {os.listdir(folder)}")
    said = measure(PROGRAM, *words[:-1], "--output", files[0], "--restart", "auto")
    check(said and said.get("done_before"), f"asked for again: {said}")


def refusals(folder):
    array = save(folder, "s2.npy", np.full((11, 11), 0.2))
    runs.refuses(PROGRAM, [(3, ("reconstruct", "--target", f"S2={array}", "--descriptor_types", "S2", "--size", 16, 16, "--candidates", 2), "no labels")],
                 "--data_folder", folder, mpiexec=MPIEXEC)


with tempfile.TemporaryDirectory() as place:
    PICTURE = save(place, "picture.npy", blobs((24, 28), [0.6, 0.4], 9))
    chosen(place, "volume", PICTURE, "--add_dimension", 16)
    if runs.LONG:
        chosen(place, "image", PICTURE)
        chosen(place, "phases", save(place, "three.npy", blobs((24, 24), [0.5, 0.3, 0.2], 2)))
    automatic(place)
    stopped(place, PICTURE)
    refusals(place)
finish("candidates")
