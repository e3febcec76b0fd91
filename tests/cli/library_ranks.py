"""The module mesoforge on communicators of mpi4py: slabs in and out, and what ranks do wrong.

    mpirun -n 3 python3 library_ranks.py LIBRARY ROOT [SETS]     exit status 77: mpi4py or NumPy is missing

SETS: how many random volumes and cuts are compared (default 6).
"""
import os
import random
import shutil
import sys
import tempfile

import runs
from runs import check
from samples import np

if not runs.optional("mpi4py"):
    sys.exit(77)
os.environ["MESOFORGE_LIBRARY"] = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(sys.argv[2], "python"))
sys.dont_write_bytecode = True
import mesoforge  # noqa: E402: in front of MPI, which then loads beside it
from mpi4py import MPI  # noqa: E402

COMM = MPI.COMM_WORLD
SETS = int(sys.argv[3]) if len(sys.argv) > 3 else 6
RANDOM = random.Random(5)  # of all ranks alike


def any_volume(seed):
    """A volume, a mask or None, and options that fit."""
    shape = tuple(RANDOM.randint(8, 24) for _ in range(3))
    noise = np.random.default_rng(seed)
    options = {"limit_to": RANDOM.randint(2, 4)}
    labels = noise.integers(0, 2, shape)
    kind = RANDOM.choice(["labels", "grey", "phases", "mask"])
    if kind == "grey":
        options["threshold"] = RANDOM.choice(["otsu", 0.1])
        return (labels / 7 + noise.random(shape) / 10).astype("f4"), None, options
    if kind == "phases":
        return np.stack([labels == 0, labels == 1], -1).astype(RANDOM.choice(["u1", "f8"])), None, options
    array = labels.astype(RANDOM.choice(["u1", "<i4", ">i2", ">f8", "?"]))
    return array, (noise.random(shape) < 0.2).astype("u1") if kind == "mask" else None, options


def any_cut(session, n):
    """Planes of this rank: the library's, or cuts anywhere, in any order of ranks."""
    cuts = [0, *sorted(RANDOM.choices(range(n + 1), k=COMM.size - 1)), n]
    order = RANDOM.sample(range(COMM.size), COMM.size)
    own = session.slab(n)
    return own if RANDOM.random() < 0.3 else slice(cuts[order[COMM.rank]], cuts[order[COMM.rank] + 1])


def lay(array):
    """The same values, laid out otherwise."""
    return RANDOM.choice([np.asfortranarray, np.ascontiguousarray, lambda a: a[::-1].copy()[::-1]])(array)


def compare(alone, session, seed):
    array, mask, options = any_volume(seed)
    cut = any_cut(session, len(array))
    part = mesoforge.Slab(lay(array[cut]), cut.start, len(array))
    cover = None if mask is None else mesoforge.Slab(mask[cut], cut.start, len(array))
    want = alone.characterize(array, mask=mask, **options)
    got = session.characterize(part, mask=cover, **options)
    wrong = [name for name, values in want.arrays.items() if not np.array_equal(values, got[name], equal_nan=True)]
    check(not wrong, f"set {seed}, {array.dtype} {array.shape}, planes {cut}: other bits in {wrong}")
    return part


def structures(alone, session):
    image = np.random.default_rng(1).integers(0, 2, (12, 12))
    options = {"size": [9, 8, 10], "limit_to": 3, "max_iter": 4}
    want, got = alone.match(image, **options), session.match(image, **options)
    check(want.slab is None and got.slab == (session.slab(9).start, 9), f"slab {got.slab}")
    check(np.array_equal(want.array[session.slab(9)], got.array), "the planes differ from those of the whole")
    solve = {"conductivity": [1, 10], "fields": "@"}  # of slabs that are lent as they came, too
    want, got = alone.run("properties", want, **solve), session.run("properties", got, **solve)
    wrong = [name for name, values in want.arrays.items() if not np.array_equal(values, got[name])]
    check(len(want.arrays) == 6 and not wrong, f"on {COMM.size} ranks other bits in {wrong}")


def refused(kind, part, call):
    try:
        call()
    except kind as error:
        check(part in str(error), f"{error!r} does not say {part!r}")
    else:
        check(False, f"no {kind.__name__} {part!r}")


def refusals(session, part):
    usage, last = mesoforge.UsageError, COMM.rank == COMM.size - 1
    shifted = mesoforge.Slab(part.array, part.first + last, part.planes + 1)
    gap = COMM.allreduce(len(part.array) if last else 0) > 0
    if gap:
        refused(usage, "begins with plane", lambda: session.characterize(shifted, limit_to=2))
    for first, planes in ((-1, 4), (0, 0)):
        refused(usage, "cannot begin", lambda: mesoforge.Slab(part.array, first, planes))
    refused(usage, "has 2 axes", lambda: session.characterize(mesoforge.Slab(np.eye(8), 0, 8)))
    refused(mesoforge.InputError, "masks nothing", lambda: mesoforge.Slab(np.ma.masked_equal(np.eye(8), 0), 0, 8))
    if COMM.size == 1:
        return
    image = np.indices((20, 20))[0] % 2
    call = session.match if COMM.rank else session.characterize
    refused(usage, "rank 0 calls 'characterize @image", lambda: call(image, limit_to=2))
    refused(usage, "with other options", lambda: session.characterize(image, limit_to=2 + COMM.rank))
    refused(usage, "20x2", lambda: session.characterize(image[:, : 20 - COMM.rank], limit_to=2))
    own = (np.arange(8**3).reshape(8, 8, 8) % (2 + COMM.rank) == 0).astype("u1")
    refused(usage, "(checksum", lambda: session.characterize(own, limit_to=2))
    null = MPI.COMM_NULL
    refused(usage, "MPI_COMM_NULL", lambda: mesoforge.Session(comm=null))


def stopped_samples(folder, data):
    """Rank 0 is stopped while ranks that have parts of the weights make samples: all end."""
    heard = []

    def ear(what, share):
        heard.append((what, share))
        return COMM.rank > 0 or ("train", 1) not in heard[:-1]

    call = {"arch": "unet:width=16", "zero": 3, "made_samples": 64, "epochs": 1}
    with mesoforge.Session(comm=COMM, threads=1, trust_files=True) as session:  # it is not deterministic, which has no parts
        refused(mesoforge.Stopped, "stopped", lambda: mesoforge.train("unet", data, results_dir=folder, progress=ear, session=session, **call))


def models(alone, session):
    """Ranks share images, or stages of a model: the answers of one rank."""
    folder = COMM.bcast(tempfile.mkdtemp() if COMM.rank == 0 else None)
    data, path = os.path.join(folder, "set.h5"), os.path.join(folder, "model.safetensors")
    mesoforge.synth(num_samples=24, size=[16, 16], output=data, session=session)
    mesoforge.train("classify", data, arch="cnn", epochs=1, results_dir=folder, session=session)
    images = np.random.default_rng(3).integers(0, 2, (7, 16, 16))
    want = mesoforge.Model(path, session=alone, batch_size=2).predict(images).array
    for options in ({}, {"pp": COMM.size}, {"zero": 3}):
        with mesoforge.Model(path, session=session, batch_size=2, **options) as model:
            got = [model.predict(images).array for _ in range(2)]
            check(all(np.array_equal(one, want) for one in got), f"{options}: other answers")
            places = {f"rank:{k}" for k in range(COMM.size)} if "pp" in options and COMM.size > 1 else {"cpu"}
            check(set(model.map.values()) == places, f"{options}: {model.map}")
            if COMM.size > 1:
                refused(mesoforge.UsageError, "of model", lambda: model.predict(images[COMM.rank:]))
    maker = os.path.join(folder, "unet")
    mesoforge.train("unet", data, arch="unet:width=16", epochs=1, results_dir=maker, session=session)
    made = [mesoforge.Model(os.path.join(maker, "model.safetensors"), session=one).generate(21, first=3, steps=2) for one in (alone, session)]
    check(np.array_equal(*made), "ranks make other samples")
    stopped_samples(os.path.join(folder, "stopped"), data)
    language = os.path.join(sys.argv[2], "tests/fixtures/language/gpt2")
    said = [mesoforge.Model(language, session=one, context=16, zero=zero).generate((), tokens=[5, 7, 9])
            for one, zero in ((alone, 0), (session, 3))]
    check(said[0].figures["results"][0]["tokens"] == said[1].figures["results"][0]["tokens"], "ranks say other tokens")
    if COMM.size == 3:
        with mesoforge.Model(language, session=session, context=16, map="layers.0=rank:1,layers.1=rank:2,*=rank:0") as cut:
            check(set(cut.map.values()) == {"rank:0", "rank:1", "rank:2"} and cut.map["layers.1"] == "rank:2", f"map {cut.map}")
    left = mesoforge.Model(path, session=session, pp=COMM.size)  # ends with the session
    if COMM.size > 1:
        first, second = (mesoforge.Model(path, session=session) for _ in range(2))
        refused(mesoforge.UsageError, "of model", lambda: (first if COMM.rank else second).predict(images))
    last = mesoforge.Session(comm=COMM, threads=1)
    last.kept = mesoforge.Model(path, session=last, pp=COMM.size)  # until MPI has ended
    COMM.barrier()
    if COMM.rank == 0:
        shutil.rmtree(folder)
    return left, last


def main():
    part = None
    with mesoforge.Session(threads=1, deterministic=True) as alone:
        with mesoforge.Session(comm=COMM, threads=1, deterministic=True, slabs=True, trust_files=True) as session:
            for seed in range(SETS):
                part = compare(alone, session, seed)
            structures(alone, session)
            kept, last = models(alone, session)
            refusals(session, part)
        refused(mesoforge.UsageError, "the session is closed", lambda: kept.predict(np.eye(16)))
    wrong = COMM.allreduce(len(runs.failures))
    if COMM.rank == 0:
        print(f"library_ranks: {SETS} sets on {COMM.size} ranks, {wrong} failures")
    MPI.Finalize()
    last.close()
    sys.exit(1 if wrong else 0)


main()
