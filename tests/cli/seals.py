"""Files of ours that are no longer what was written: whoever reads one says so in one line, and goes on.

    seals.py MESOFORGE MPIEXEC       exit status 77: NumPy or h5py is missing
"""
import json
import os
import shutil
import sys
import tempfile

import runs
from hdf5 import h5py
from runs import check, finish, run
from samples import np

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]


def flip(name, at, to):
    """One bit of a copy."""
    data = bytearray(open(name, "rb").read())
    data[at] ^= 1
    open(to, "wb").write(data)


def edit(name, to):
    """A copy as another program leaves it."""
    shutil.copy(name, to)
    with h5py.File(to, "r+") as f:
        f.attrs["note"] = "mine"


def start_of(name, dataset):
    with h5py.File(name) as f:
        return f[dataset].id.get_offset()


def says(name, part, *words, ranks=1):
    """Runs to its end and warns once."""
    status, out, err = run(PROGRAM, *words, ranks=ranks, mpiexec=MPIEXEC)
    lines = [l for l in err.splitlines() if "mesoforge verify" in l]
    check(status == 0 and len(lines) == (1 if part else 0) and all(part in l and name in l for l in lines),
          f"{words} on {ranks}: status {status}, {lines or err[-400:]}")
    return out


scratch = tempfile.TemporaryDirectory(prefix="seals-")  # gone when the program ends
os.chdir(scratch.name)
for words in ("synth --size 32 32 32 --correlation-length 2 --output v.h5", "synth --size 32 32 --correlation-length 2 --output i.h5",
              "characterize i.h5 --limit_to 8 --output t.h5"):
    status, out, err = run(PROGRAM, *words.split())
    check(status == 0 and "verify" not in err, f"{words}: {status} {err}")
flip("v.h5", start_of("v.h5", "microstructure/phase") + 7, "flip.h5")
flip("i.h5", start_of("i.h5", "microstructure/phase") + 7, "flip2.h5")
flip("t.h5", start_of("t.h5", "all/s2") + 1, "flipt.h5")
edit("v.h5", "edited.h5")
edit("t.h5", "editedt.h5")

damage, change = "is damaged: 1 of 1 block differs", "another program has changed it"
for name, part in (("flip.h5", damage), ("edited.h5", change), ("v.h5", "")):
    says(name, part, "characterize" if part else "view", name, "--limit_to", 8, "--output", "c.h5" if part else "c.png")
    out = says(name, "", "info", name)
    check((part or "checksums: sound") in out, f"info {name}: {out}")
for name in ("flip.h5", "flipt.h5"):
    says(name, damage, "view", name, "--output", "c.png", ranks=2)
says("flip2.h5", damage, "match", "flip2.h5", "--limit_to", 8, "--max_iter", 5, "--output", "m.npy")
for name, part in (("flipt.h5", damage), ("editedt.h5", change), ("t.h5", "")):
    says(name, part, *f"reconstruct --descriptor_filename {name} --extent_x 32 --extent_y 32 --max_iter 3 --polish-rounds 1 --output r.npy".split())
    out = json.loads(says(name, part, "info", "--json", name))
    check(out["checksums"] == {damage: "damaged", change: "none", "": "sound"}[part], f"info {name}: {out.get('checksums')}")
    check(out["sides"]["all"]["slice_shape"] == [32, 32] and "32.0" not in json.dumps(out["sides"]["all"]["slice_shape"]),
          f"slice_shape {out['sides']}")
says("flip2.h5", damage, *("reconstruct --descriptor_filename t.h5 --extent_x 32 --extent_y 32 --max_iter 3 --output r.npy "
                           "--initial_microstructure_file flip2.h5").split())

# A page says it as well.
for name, part, word in (("flip.h5", damage, "damaged"), ("flipt.h5", damage, "damaged"), ("edited.h5", change, "none"), ("v.h5", "", "sound")):
    says(name, part, "report", name, "--output", "page.html")
    check(f"<td>checksums</td><td>{word}</td>" in open("page.html").read(), f"report {name}: no word of its checksums")

# What damage has made unreadable is refused as damaged, not as somebody else's.
flip("v.h5", 0, "head.h5")
flip("v.h5", 100, "lost.h5")
flip("t.h5", 0, "headt.h5")
with h5py.File("t.h5") as f:
    one = int(np.flatnonzero(f["all/example"][:])[0])  # that of a zero would still round to zero
flip("t.h5", start_of("t.h5", "all/example") + 8 * one + 6, "example.h5")
fields, targets = ("info", "characterize", "match", "view", "report", "compare v.h5"), ("info", "view", "report", "reconstruct --extent_x 32 --extent_y 32 --descriptor_filename")
for name, verbs in (("head.h5", fields), ("lost.h5", fields), ("headt.h5", targets), ("example.h5", targets)):
    for verb in verbs:
        status, out, err = run(PROGRAM, *verb.split(), name)
        check(status == 3 and not out and f"'{name}' {damage}" in err and f"mesoforge verify '{name}'" in err, f"{verb} {name}: {status} {out} {err}")
runs.refuses(PROGRAM, [(3, ["characterize", "lost.h5"], damage), (3, ["info", "lost.h5"], damage), (3, ["view", "example.h5"], damage)], ranks=(2,), mpiexec=MPIEXEC)

# Without the name of this program in it, nobody can expect a seal.
shutil.copy("t.h5", "other.h5")
with h5py.File("other.h5", "r+") as f:
    f.attrs["creator"] = "another program"
says("other.h5", "", "info", "other.h5")

# verify: damage is 3, and so is what carries no checksums; of one file there is one sentence.
np.save("plain.npy", np.zeros((8, 8), np.uint8))
for name, code, part in (("flip.h5", 3, damage), ("edited.h5", 3, change), ("plain.npy", 3, "has no checksums"), ("none.h5", 3, "cannot open")):
    status, out, err = run(PROGRAM, "verify", name)
    check(status == code and not out and part in err and len(err.splitlines()) == 1, f"verify {name}: {status} {out} {err}")
status, out, err = run(PROGRAM, "verify", "v.h5", "plain.npy", "--json")
check(status == 3 and [f["sound"] for f in json.loads(out)] == [True, None] and "1 of 2 files" in err, f"verify: {status} {out} {err}")
finish("seals")
