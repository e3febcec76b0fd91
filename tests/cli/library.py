"""The module mesoforge: the bits of the verb for the same options, arrays of any lay, exceptions, examples, start.

    library.py MESOFORGE LIBRARY ROOT [SETS]     exit status 77: NumPy is missing

SETS: how many random sets of options are compared (default 8).
"""
import contextlib
import doctest
import io
import json
import logging
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import runs
from runs import check, finish
from samples import np

h5py = runs.optional("h5py")

MESOFORGE, LIBRARY, ROOT = (os.path.abspath(word) for word in sys.argv[1:4])
SETS = int(sys.argv[4]) if len(sys.argv) > 4 else 8
os.environ["MESOFORGE_LIBRARY"] = LIBRARY
sys.path.insert(0, os.path.join(ROOT, "python"))
sys.dont_write_bytecode = True
import mesoforge  # noqa: E402

RANDOM = random.Random(2)


def blobs(shape, levels, seed):
    """Labels 0 .. levels - 1 in blobs of a few pixels."""
    noise = np.random.default_rng(seed).standard_normal(shape)
    spectrum = np.fft.fftn(noise)
    for axis, n in enumerate(shape):
        wave = np.exp(-8 * np.fft.fftfreq(n) ** 2 * 16)
        spectrum *= wave.reshape([-1 if k == axis else 1 for k in range(len(shape))])
    field = np.fft.ifftn(spectrum).real
    edges = np.quantile(field, [k / levels for k in range(1, levels)])
    return np.digitize(field, edges)


def any_case():
    """An array and options that fit it."""
    volume = RANDOM.random() < 0.3
    shape = (12, 13, 14) if volume else (RANDOM.randint(24, 50), RANDOM.randint(24, 50))
    levels = RANDOM.choice([2, 2, 3, 4])
    array = blobs(shape, levels, RANDOM.randrange(1000)).astype(RANDOM.choice(["u1", "<i4", ">i2", "<f4", ">f8", "u8"]))
    options = {"limit_to": RANDOM.randint(2, min(shape) // 2)}
    grey = RANDOM.random() < 0.25
    if grey:
        array = array / np.array(7, dtype="f4") + np.random.default_rng(1).random(shape, dtype="f4") / 10
        options["threshold"] = RANDOM.choice(["otsu", 0.2])
    elif RANDOM.random() < 0.4:
        array = array * 5 + 3
        options["labels"] = [5 * k + 3 for k in RANDOM.sample(range(levels), levels)]
    if RANDOM.random() < 0.4:
        options["non_periodic"] = True
    if RANDOM.random() < 0.3:
        options["no_multigrid_descriptor"] = True
    if RANDOM.random() < 0.5:
        options["measures"] = RANDOM.sample(["surface", "euler", "clusters", "chords", "local_fraction", "boundaries"], 2)
    if RANDOM.random() < 0.5:
        options["descriptor_types"] = ["FFTCorrelations", RANDOM.choice(["LinealPath", "StructureTensor", "LinealPathExact", "Patches"])]
    if volume and RANDOM.random() < 0.5:
        options["isotropic"] = True
    if RANDOM.random() < 0.3:
        options["spacing"] = 0.25
        options["unit"] = "um"
    if RANDOM.random() < 0.3:
        options["symmetry"] = "mirror"
    if RANDOM.random() < 0.2:
        options["compat"] = "mcrpy"
    return array, options


def typed(options):
    for key, value in options.items():
        yield "--" + key
        if value is not True:
            yield from map(str, value if isinstance(value, list) else [value])


def by_verb(array, options, folder):
    """The file and the --json of the verb; or its refusal."""
    path = os.path.join(folder, "image.npy")
    np.save(path, array)
    status, out, err = runs.run(MESOFORGE, "characterize", path, "--json", "--output", os.path.join(folder, "out.h5"),
                                *typed(options))
    if status:
        return status, err.strip().splitlines()[-1].replace(path, "@image")
    with h5py.File(os.path.join(folder, "out.h5")) as file:
        arrays = {}
        file.visititems(lambda name, item: arrays.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return json.loads(out), {name: value for name, value in arrays.items() if not name.startswith("provenance")}


def lays(array):
    """The same values laid out otherwise."""
    spread = np.zeros([2 * n for n in array.shape], array.dtype)
    spread[tuple(slice(None, None, 2) for _ in array.shape)] = array
    yield np.asfortranarray(array)
    yield spread[tuple(slice(None, None, 2) for _ in array.shape)]
    yield array[::-1].copy()[::-1]
    yield array.astype(array.dtype.newbyteorder())


def compare(array, options):
    with tempfile.TemporaryDirectory() as folder:
        want, arrays = by_verb(array, options, folder)
    said = f"{array.dtype} {array.shape} {options}"
    try:
        got = mesoforge.characterize(array, **options)
    except mesoforge.Error as error:
        check(want == error.code, f"{said}: {error}, and the verb: {arrays if isinstance(want, int) else 'goes'}")
        check(isinstance(want, int) and error.sentence.split(";")[0] in arrays, f"{said}: {error}, not {arrays}")
        return 0
    check(not isinstance(want, int), f"{said}: the verb refuses: {arrays}")
    if isinstance(want, int):
        return 0
    want["file"] = "@image"
    check(got.figures == want, f"{said}: other figures")
    missing = [name for name in got.arrays if name not in arrays]
    check(not missing and len(got.arrays) > 2, f"{said}: the file lacks {missing}")
    wrong = [name for name, values in got.arrays.items() if not np.array_equal(values, arrays.get(name))]
    check(not wrong, f"{said}: other bits in {wrong}")
    for other in lays(array):
        again = mesoforge.characterize(other, **options)
        wrong = [name for name, values in got.arrays.items() if not np.array_equal(values, again[name])]
        check(not wrong, f"{said}: other bits in {wrong} of another lay {other.dtype} {other.strides}")
    return 1


def raises(kind, part, call):
    try:
        call()
    except kind as error:
        check(part in str(error), f"{error!r} does not say {part!r}")
        return error
    else:
        check(False, f"no {kind.__name__} {part!r}")


def refusals():
    image = blobs((30, 30), 2, 1).astype("u1")
    c = mesoforge.characterize
    raises(mesoforge.UsageError, "no option 'limt_to'; try: limit_to=", lambda: c(image, limt_to=3))
    raises(ValueError, "at least 1", lambda: c(image, limit_to=0))
    raises(mesoforge.UsageError, "an option of the program", lambda: c(image, output="x.h5"))
    raises(mesoforge.UsageError, "another session", lambda: c(image, threads=2))
    raises(mesoforge.UsageError, "type 'O'", lambda: c(np.array([["a", None]], dtype=object)))
    raises(mesoforge.UsageError, "type 'c16'", lambda: c(image.astype(complex)))
    raises(mesoforge.InputError, 'give threshold="otsu" or threshold=VALUE; try: size=[8, 8], threshold="otsu"',
           lambda: mesoforge.match(image * 0.3, size=[8, 8]))
    raises(mesoforge.InputError, "labels=[0, 255], or", lambda: c(image * 255))
    raises(mesoforge.UsageError, "limit_to=15", lambda: c(image, limit_to=16))
    raises(mesoforge.InputError, "is grey", lambda: c(image * 0.3))
    raises(mesoforge.InputError, "NaN", lambda: c(np.where(image, np.nan, 0.0)))
    raises(mesoforge.InputError, "is empty", lambda: c(image[:0]))
    raises(mesoforge.InputError, "axes", lambda: c(np.zeros((3, 3, 3, 3, 3))))
    raises(mesoforge.UsageError, "axes", lambda: c(np.zeros((1,) * 12)))
    raises(mesoforge.InputError, "cannot open 'steel.png'", lambda: c("steel.png"))
    raises(mesoforge.InputError, "cannot open 'none.npy'", lambda: c("none.npy"))
    raises(MemoryError, "", lambda: mesoforge.Session(memory_limit=1).characterize(np.indices((96, 128, 128))[0] % 2))
    raises(mesoforge.UsageError, "no option 'thread'; try: threads=", lambda: mesoforge.Session(thread=3))
    closed = mesoforge.Session(threads=1)
    closed.close()
    closed.close()
    raises(mesoforge.UsageError, "closed", lambda: closed.characterize(image))
    check(c(image, limit_to=3, unit="it's \"so\"").figures["shape"] == [30, 30], "quotes of both kinds")


def hurried():
    """What a hurried user gives: no texts, no numbers, no functions; each has one sentence, or works."""
    image = blobs((30, 30), 2, 1).astype("u1")
    usage, c, session = mesoforge.UsageError, mesoforge.characterize, mesoforge.Session(threads=1)
    want = c(image, limit_to=4, labels=[0, 1], non_periodic=True)
    for part, call in (("None is no image", lambda: c(None)), ("{} is no image", lambda: c({})), ("a verb is None", lambda: mesoforge.run(None)),
                       ("value of labels is None", lambda: c(image, labels=[0, None])), ("character 0", lambda: c("a\0.npy")),
                       ("character 0", lambda: want.save("a.h5\0")), ("the path is 3", lambda: want.save(3)), ("is 3, and no function", lambda: c(image, progress=3)),
                       ("no slabs", lambda: session.slab(-1)), ("no slabs", lambda: session.slab(2**70)), ("cannot be pickled", lambda: pickle.dumps(session)),
                       ("cannot begin", lambda: mesoforge.Slab(image, 0, 2**70)), ("no text or path", lambda: c("\ud800.npy"))):
        raises(usage, part, call)
    raises(mesoforge.InputError, "cannot open", lambda: c("\udcff.npy"))
    raises(mesoforge.InputError, "cannot open", lambda: c("\u00e9" * 1000))  # the sentence is cut inside of a letter
    raises(ValueError, "read-only", lambda: want["all/s2"].fill(0))
    given = {"limit_to": np.array(4), "labels": memoryview(np.arange(2)), "non_periodic": np.True_}
    check(np.array_equal(c(image, **given)["all/s2"], want["all/s2"]), "numbers of NumPy are other options")
    check(c(image, limit_to=4).figures["shape"] == [30, 30], "the module goes on")
    session.close()


class Colours:
    """A picture of PIL, as the module sees it."""

    def getbands(self):
        return "R", "G", "B"

    def __array__(self, *_, **__):
        return np.indices((30, 30, 3))[0] % 2


def inputs():
    image = blobs((30, 30), 2, 1).astype("u1")
    cover = np.zeros((30, 30), bool)
    cover[:, :10] = True
    masked = mesoforge.characterize(np.ma.MaskedArray(image, mask=cover), limit_to=4)
    given = mesoforge.characterize(image, mask=cover, limit_to=4)
    plain = mesoforge.characterize(image[:, 10:], limit_to=4, non_periodic=True)
    check(np.array_equal(masked["all/s2"], given["all/s2"]), "a masked array is no mask")
    listed = mesoforge.characterize(image, mask=cover.tolist(), limit_to=4)
    check(np.array_equal(listed["all/s2"], given["all/s2"]), "a list is no mask")
    halves = [cover & (np.indices(cover.shape)[0] % 2 == k) for k in (0, 1)]
    both = mesoforge.characterize(np.ma.MaskedArray(image, mask=halves[0]), mask=halves[1], limit_to=4)
    check(np.array_equal(both["all/s2"], given["all/s2"]), "mask= and a masked array are not both heeded")
    raises(mesoforge.InputError, "the mask has the shape (1, 30)",
           lambda: mesoforge.characterize(np.ma.MaskedArray(image, mask=cover), mask=cover[:1], limit_to=4))
    hidden = np.ma.MaskedArray(image, mask=cover)
    for call in (lambda: mesoforge.compare(image, hidden), lambda: mesoforge.match(image, image, hidden),
                 lambda: mesoforge.characterize(image, mask=hidden)):
        raises(mesoforge.InputError, "only the first input", call)
    raises(mesoforge.InputError, "bands R, G, B; try", lambda: mesoforge.characterize(Colours(), limit_to=4))
    check(np.allclose(masked["all/fraction"][:, 0], plain["all/fraction"][:, 0], atol=1e-15), "a mask leaves out")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.npy")
        np.save(path, image)
        want = mesoforge.characterize(image.tolist(), limit_to=4)
        check(np.array_equal(want["all/s2"], mesoforge.characterize(path, limit_to=4)["all/s2"]), "a path")
    kept = pickle.loads(pickle.dumps(want))
    check(kept.figures == want.figures and kept.axes == want.axes, "pickle loses figures or axes")
    check(np.array_equal(kept["all/s2"], want["all/s2"]), "pickle loses arrays")
    error = pickle.loads(pickle.dumps(mesoforge.UsageError("no", "yes")))
    check((str(error), error.advice) == ("no; try: yes", "yes"), f"pickle makes {error!r} of an error")
    read_only = image.copy()
    read_only.flags.writeable = False
    mesoforge.characterize(read_only, limit_to=4)


def structures():
    """match: the bits of the verb, progress, and stops."""
    image = blobs((32, 32), 2, 3).astype("u1")
    for options in ({"seed": 3, "limit_to": 8, "max_iter": 25, "plan": "off"},
                    {"size": [16, 16, 16], "limit_to": 6, "max_iter": 12, "descriptor_types": ["FFTCorrelations", "Variation"]}):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("image.npy", "out.npy")]
            np.save(paths[0], image)
            status, out, err = runs.run(MESOFORGE, "match", paths[0], "--output", paths[1], "--json", *typed(options))
            check(status == 0, err)
            shares = []
            made = mesoforge.match(image, progress=lambda what, share: shares.append(share or 0), **options)
            check(np.array_equal(made.phase, np.load(paths[1])), f"{options}: other bits than the verb")
            check(made.figures["loss_final"] == json.loads(out)["loss_final"], f"{options}: another loss")
        check(len(shares) > 5 and max(shares) <= 1, f"shares {shares}")
    for no in (False, 0, np.bool_(False)):
        raises(mesoforge.Stopped, "stopped",
               lambda: mesoforge.match(image, limit_to=8, plan="off", progress=lambda what, share: no))
    raises(mesoforge.UsageError, "an option of the program", lambda: mesoforge.run("match", image, realisations=2))
    stops(image)


def stops(image):
    """A stopped match has a result; it goes on from its checkpoint; and a busy session keeps its progress."""
    options = {"limit_to": 8, "max_iter": 30, "plan": "off", "seed": 2}
    steps, inner = [], []

    def fifth(*step):
        steps.append(step)
        return len(steps) < 5

    whole = mesoforge.match(image, **options)
    error = raises(mesoforge.Stopped, "stopped", lambda: mesoforge.match(image, progress=fifth, **options))
    check(len(steps) == 5, f"{len(steps)} steps where the fifth said stop")
    kept = pickle.loads(pickle.dumps(error)).result
    check(kept.figures["stopped"] and np.array_equal(kept.phase, error.result.phase), f"{kept} is kept")
    check(kept.phase.sum() == whole.phase.sum(), "another volume fraction")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.h5")
        steps.clear()
        error = raises(mesoforge.Stopped, "saved", lambda: mesoforge.match(image, output=path, progress=fifth, **options))
        check(error.result.phase.shape == image.shape, "no result beside the checkpoint")
        again = mesoforge.match(image, output=path, restart="auto", **options)
        check(np.array_equal(again.phase, whole.phase) and os.path.exists(path), "another end after a checkpoint")
    continued(image, whole, options, fifth, steps)
    with mesoforge.Session(threads=1) as session:
        def call_back(*step):
            inner.append(step)
            raises(mesoforge.UsageError, "in a call", lambda: session.match(image, progress=print, **options))
            raises(mesoforge.UsageError, "in a call", session.close)

        session.match(image, progress=call_back, **options)
    check(len(inner) > 20, f"{len(inner)} steps around refused calls")


def continued(image, whole, options, fifth, steps):
    """The program goes on with a checkpoint of the module, and the module with one of the program."""
    with tempfile.TemporaryDirectory() as folder:
        own, other = os.path.join(folder, "out.h5"), os.path.join(folder, "image.npy")
        words = ("match", other, "--output", own, "--json", *typed(options))
        np.save(other, image)
        steps.clear()
        raises(mesoforge.Stopped, "saved", lambda: mesoforge.match(image, output=own, progress=fifth, **options))
        status, out, err = runs.run(MESOFORGE, *words, "--restart", "auto", fault="recon.convergence")
        check(status == 5 and "no memory" in err, f"no memory for a checkpoint: {status} {err}")
        status, out, err = runs.run(MESOFORGE, *words, "--restart", "auto")
        check(status == 0 and "continuing from a checkpoint" in err, f"the program: {status} {err}")
        check(json.loads(out)["loss_final"] == whole.figures["loss_final"], "another loss of the program")
        with mesoforge.Session(trust_files=True) as session:
            made = mesoforge.characterize(own, limit_to=8, session=session)["all/s2"]
        check(np.array_equal(made, mesoforge.characterize(whole, limit_to=8)["all/s2"]), "other bits of the program")
        os.unlink(own)
        status, out, err = runs.run(MESOFORGE, *words, "--max-hours", 1e-9)
        check(status == 75 and any("ckpt" in name for name in os.listdir(folder)), f"the program does not stop: {status} {err}")
        again = mesoforge.match(image, output=own, restart="auto", **options)
        check(np.array_equal(again.phase, whole.phase), "other bits after a checkpoint of the program")


def signals():
    """What handlers of signals raise comes out of a call; then the handlers are as before."""
    image = blobs((32, 32), 2, 3).astype("u1")

    def late(*_):
        raise TimeoutError("late")

    def leave(*_):
        sys.exit("leaving")

    for number, kind, said, handler in ((signal.SIGINT, KeyboardInterrupt, "", signal.default_int_handler),
                                        (signal.SIGTERM, SystemExit, "leaving", leave),
                                        (signal.SIGALRM, TimeoutError, "late", late)):
        before, begin = signal.signal(number, handler), time.monotonic()
        threading.Timer(0.3, os.kill, (os.getpid(), number)).start()
        error = raises(kind, said, lambda: mesoforge.match(image, size=[32] * 3, limit_to=8, max_iter=10**5, tolerance=0,
                                                           plan="off", descriptor_types=["FFTCorrelations", "Variation"]))
        check(error.result and error.result.array.shape == (32,) * 3, f"signal {number}: no result")
        check(time.monotonic() - begin < 30, f"signal {number} takes long")
        check(signal.signal(number, before) is handler, f"signal {number} has another handler")


def interrupted():
    """A signal that comes while an array is lent leaves no field behind."""
    image, told = np.eye(32, dtype="u1"), mesoforge.session.check

    def late(code):
        os.kill(os.getpid(), signal.SIGINT)
        told(code)

    with mesoforge.Session(threads=1) as session:
        mesoforge.session.check = late
        raises(KeyboardInterrupt, "", lambda: session.characterize(image, limit_to=4))
        mesoforge.session.check = told
        check(session.characterize(image, limit_to=4).figures["shape"] == [32, 32], "the session is not usable again")


def logs():
    """Lines go to logging, and an exception of a handler comes out of the call."""
    image = blobs((30, 30), 2, 1).astype("u1")
    lines = []

    class Taken(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())
            if "phase 1" in lines[-1]:
                raise KeyError("mine")

        def handleError(self, record):
            raise

    log = logging.getLogger("mesoforge")
    log.setLevel(logging.DEBUG)
    handler = Taken()
    log.addHandler(handler)
    raises(KeyError, "mine", lambda: mesoforge.characterize(image, limit_to=4))
    check(any("phase 1" in line for line in lines), f"no line among {lines}")
    Taken.emit = lambda _, record: lines.append(record.getMessage())
    mesoforge.run("properties", image, conductivity=[1, 10, 3])
    log.removeHandler(handler)
    check("but conductivity= has 3 values" in "".join(lines), f"{lines}")
    check(mesoforge.characterize(image, limit_to=4) is not None, "the session goes on")


def threads():
    """Every thread has a session, and the numbers are the same."""
    image = blobs((40, 40), 3, 1).astype("u1")
    want, wrong = mesoforge.characterize(image, limit_to=8), []

    def work():
        for _ in range(4):
            if not np.array_equal(mesoforge.characterize(image, limit_to=8)["all/s2"], want["all/s2"]):
                wrong.append(1)

    them = [threading.Thread(target=work) for _ in range(4)]
    for thread in them:
        thread.start()
    for thread in them:
        thread.join()
    check(not wrong, "threads get other numbers")
    # With several threads OpenMP of GCC may hang in a child.
    child = os.fork()
    if child == 0:
        with mesoforge.Session(threads=1) as session:
            os._exit(not np.array_equal(session.characterize(image, limit_to=8)["all/s2"], want["all/s2"]))
    check(os.waitpid(child, 0)[1] == 0, "a fork computes nothing")


def examples():
    for module in (mesoforge, sys.modules["mesoforge.session"]):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            failed, tried = doctest.testmod(module)
        check(tried > 0 and failed == 0, f"{module.__name__}: {said.getvalue()}")


def start():
    """How long an import takes beside NumPy's, and what a missing library says."""
    program = "import time, numpy; t = time.process_time(); import mesoforge; print(time.process_time() - t)"
    where = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "python"))
    took = min(float(subprocess.run([sys.executable, "-c", program], env=where, capture_output=True, text=True,
                                    check=True).stdout) for _ in range(2))
    check(took < 0.3, f"import mesoforge takes {took} s")
    away = dict(where, MF_CUDA_LIBRARY="/nowhere/libmesoforge_cuda.so")  # a process loads the module once
    error = subprocess.run([sys.executable, "-c", "import mesoforge; mesoforge.Session(device='cuda')"], env=away,
                           capture_output=True, text=True).stderr
    check("DeviceError" in error and "does not load: /nowhere" in error, error)
    for path, said in (("/nowhere/libmesoforge.so.1", "looked for here:\n  /nowhere/libmesoforge.so.1: there is no such file\nBuild it"),
                       ("libc.so.6", "ImportError: libc.so.6 is no libmesoforge")):
        where["MESOFORGE_LIBRARY"] = path
        error = subprocess.run([sys.executable, "-c", "import mesoforge"], env=where, capture_output=True, text=True).stderr
        check(said in error, error)
    del where["MESOFORGE_LIBRARY"]
    with tempfile.TemporaryDirectory() as folder:  # an installed module finds the library beside the program
        shutil.copytree(os.path.join(ROOT, "python/mesoforge"), os.path.join(folder, "mesoforge"))
        where.update(PYTHONPATH=folder, PATH=f"{os.path.dirname(MESOFORGE)}:{os.environ['PATH']}")
        done = subprocess.run([sys.executable, "-c", "import mesoforge; print(mesoforge.library.lib._name)"], env=where,
                              capture_output=True, text=True)
        check(done.stdout.strip() == os.path.join(os.path.dirname(os.path.realpath(MESOFORGE)), "libmesoforge.so.1"), f"{done}")
    return took


def orders():
    """Beside h5py and mpi4py, which bring an HDF5 and an MPI, in both orders of import."""
    others = [name for name in ("h5py", "mpi4py.MPI") if runs.optional(name.split(".", maxsplit=1)[0])]
    work = """
image = numpy.indices((32, 32)).sum(axis=0) // 4 % 2
with mesoforge.Session(threads=1, trust_files=True) as session:
    target = session.characterize(image, limit_to=4)
    target.save("order.h5", session=session)
    again = mesoforge.Target.load("order.h5", session=session)
if "h5py" in sys.modules:
    with h5py.File("order.h5") as file:
        assert numpy.array_equal(file["all/s2"], again["all/s2"])
os.unlink("order.h5")
print(again["all/s2"].tobytes().hex())
"""
    want = mesoforge.characterize(np.indices((32, 32)).sum(axis=0) // 4 % 2, limit_to=4)["all/s2"].tobytes().hex()
    for names in (["mesoforge", *others], [*others, "mesoforge"]):
        program = f"import os, sys, numpy\nimport {', '.join(names)}{work}"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False,
                              env=dict(os.environ, PYTHONPATH=os.path.join(ROOT, "python")))
        check(done.stdout.strip() == want, f"import {', '.join(names)}: {done.stdout[-300:]} {done.stderr[-900:]}")


def main():
    begin = time.monotonic()
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    went = sum(compare(*any_case()) for _ in range(SETS)) if h5py else SETS
    check(went >= SETS // 2, f"only {went} of {SETS} sets of options go")
    refusals()
    inputs()
    hurried()
    structures()
    signals()
    interrupted()
    logs()
    threads()
    examples()
    orders()
    took = start()
    check(not os.listdir(folder), f"it leaves {os.listdir(folder)}")
    os.rmdir(folder)
    print(f"{went} of {SETS} sets; import {took:.3f} s; {time.monotonic() - begin:.1f} s")


main()
finish("library")
