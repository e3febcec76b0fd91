"""Sessions, and what goes into them: arrays and options."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import operator
import os
import signal
import sys
import threading
import weakref
from functools import partial
from types import FrameType
from typing import Any, Callable, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

import numpy as np

from .bar import Bar
from .errors import InputError, UsageError, in_python
from .library import AXES, GO_ON, TAKE_LINE, Array, address_of, byref, c_void_p, check, encoded, lib
from .measured import Comparison, Properties
from .result import Result, Structure, Target

Progress = Union[Callable[[str, Optional[float]], object], bool, None]
Lent = List[Tuple[c_void_p, Any]]
Made = TypeVar("Made", bound=Result)

_log = logging.getLogger("mesoforge")
_ALL_VALUES = "numpy.ma.getdata(), which has all its values"


def _quoted(text: object) -> str:
    """A value as the library reads it: quotes keep blanks, and each kind of quote the other kind."""
    return "'" + str(text).replace("'", "'\"'\"'") + "'"


def _plain(value: Any) -> Any:
    """What arrays, tensors and columns of numbers have, in Python's own numbers and lists."""
    return value.tolist() if hasattr(value, "tolist") else value


def _word(key: str, value: Any) -> str:
    value = _plain(value)
    if value is None:
        raise UsageError(f"a value of {key} is None")
    if value is True:
        return key
    if value is False:
        return key + "=false"
    if isinstance(value, float):
        value = repr(value)
    return f"{key}={_quoted(value)}"


def _words(options: Mapping[str, Any]) -> bytes:
    """Keyword arguments as options of the library; None is left out, and a list gives its key again."""
    words: list[str] = []
    for key, value in options.items():
        value = _plain(value)
        if value is None:
            continue
        if isinstance(value, (list, tuple, range)):
            words += [_word(key, one) for one in value] or [key]
        else:
            words.append(_word(key, value))
    return encoded(" ".join(words), "an option")


class Slab:
    """Planes of a volume [z][y][x] or [z][y][x][phase] that one rank has: the first of `array` has the number `first`
    among `planes`. Ranks give slabs that make the volume together."""

    def __init__(self, array: Any, first: int, planes: int) -> None:
        if np.ma.is_masked(array):
            raise InputError("a slab masks nothing", "mask=Slab(..)")
        self.array: np.ndarray[Any, Any] = np.asarray(_array(array))
        self.first, self.planes = operator.index(first), operator.index(planes)
        if not 0 <= first <= planes <= sys.maxsize or planes < 1:
            raise UsageError(f"a slab cannot begin with plane {first} of {planes}")


def _array(image: Any) -> Any:
    """An array as it is, without a copy: of an array, a picture of PIL, a list, or a structure. Slabs stay."""
    if isinstance(image, Slab):
        return image
    if np.ma.is_masked(image):
        raise InputError("only the first input of a call may be a masked array", _ALL_VALUES)
    bands = image.getbands() if hasattr(image, "getbands") else ()
    if len(bands) > 1:
        raise InputError(f"the picture has the bands {', '.join(bands)}", 'its grey values, picture.convert("L")')
    array = np.asarray(image)
    if array.dtype == object and not isinstance(image, np.ndarray) and array.ndim == 0:
        raise UsageError(f"{image!r:.80} is no image", "an array, or the path of an .npy file")
    return array


def _is_array(name: str, value: Any) -> bool:
    """An option that is an array: a list of numbers has one axis, and only a mask is an array then, too."""
    has_values = any(hasattr(value, what) for what in ("__array__", "__array_interface__"))
    return has_values and (name == "mask" or getattr(value, "ndim", 2) > 1)


def _unmasked(image: Any, given: Any) -> tuple[Any, Any]:
    """The image without its mask, and the option mask=: what an image may be, and what a masked array masks besides."""
    if given is not None and not isinstance(given, (str, os.PathLike)):
        given = _array(given)
    if isinstance(image, (str, os.PathLike, Target)) or not np.ma.is_masked(image):
        return image, given
    own, image = np.ma.getmaskarray(image), np.ma.getdata(image)
    if given is None:
        return image, own
    if isinstance(given, (str, os.PathLike)):
        raise InputError("the array is masked, and the mask is a file", "the mask as an array")
    if isinstance(given, Slab):
        raise InputError("the mask is a slab, and the array is none")
    if given.shape != own.shape:
        raise InputError(f"the mask has the shape {given.shape}, the array {own.shape}")
    return image, np.where(own, True, given)


def _described(array: Any) -> Array:
    if isinstance(array, Slab):
        described = _described(array.array)
        described.first, described.planes = array.first, array.planes
        return described
    if array.ndim > AXES:
        raise UsageError(f"the array has {array.ndim} axes; a field has two or three")
    described = Array(type=array.dtype.str.encode(), ndim=array.ndim, data=array.ctypes.data)
    described.shape[: array.ndim] = array.shape
    described.stride[: array.ndim] = array.strides
    return described


def _run(verb: str, session: c_void_p, words: bytes, options: bytes, result: Any) -> int:
    code: int = lib.mesoforge_run(session, encoded(verb, "a verb"), words, options, result)
    return code


def _of_result(verb: str, handle: c_void_p) -> Result:
    """A structure has phases, and a target descriptors."""
    if verb in _KINDS:
        return _KINDS[verb](handle)
    first = Array()
    if not lib.mesoforge_result_array(handle, 0, byref(first)):
        return Result(handle)
    return (Structure if first.name == b"phase" else Target)(handle)


_KINDS: dict[str, type[Result]] = {"properties": Properties, "compare": Comparison}
# Handles of sessions that ended inside of a callback, where the library closes none.
_left: list[tuple[c_void_p, int]] = []


def _close(handle: c_void_p, process: int) -> None:
    if os.getpid() == process and lib.mesoforge_close(handle):
        _left.append((handle, process))


def _close_left() -> None:
    for _ in range(len(_left)):
        with contextlib.suppress(IndexError):  # another thread was first
            _close(*_left.pop(0))


def _realised(make: Callable[..., Any], options: dict[str, Any]) -> Any:
    """A structure; or with realisations a list of them, with seeds that follow each other as the verb's do. A call that
    is stopped has the list so far."""
    count, seed, output = (options.pop(name, None) for name in ("realisations", "seed", "output"))
    if count is None:
        return make(seed=seed, output=output, **options)
    if count < 1:
        raise UsageError(f"{count} realisations are none", "realisations=5")
    made: list[Structure] = []
    for one in range(seed or 0, (seed or 0) + count):
        stem, ending = os.path.splitext(os.fspath(output or ""))
        try:
            path = f"{stem}_seed{one}{ending}" if output and count > 1 else output
            made.append(make(seed=one, output=path, **options))
        except BaseException as error:
            best = getattr(error, "result", None)
            with contextlib.suppress(AttributeError):  # of an exception that takes none
                setattr(error, "result", made + ([best] if best else []))
            raise
    return made


class Session:
    """Where calls compute: on which device and ranks, with how many threads and how much memory.

    Functions of the module use a session of their thread, with all cores. One thread at a time uses a session, and the
    child of a fork opens one with threads=1. A session has the functions characterize(), match(), reconstruct() and
    run(); all functions of the module take session=.

    Parameters
    ----------
    device
        "auto", "cpu", "cuda" or "cuda:1".
    threads
        Per rank; all cores if left out.
    memory_limit
        Most memory for arrays [MiB], of the host and of a device each.
    gpu_ids
        GPUs to use: rank k takes the k-th.
    trust_files
        Pictures, HDF5 and other files are decoded in this process, which a damaged one may take down.
    comm
        A communicator of mpi4py. Every call is then collective, with the same arrays on all ranks, or slabs.
    slabs
        Volumes come out in slabs, too.
    **options
        deterministic=True, exchange="host", timeout=600 [s], gpu_memory_fraction=0.5, share_gpu=True.

    Examples
    --------
    >>> import numpy as np
    >>> with Session(threads=1, memory_limit=100) as session:
    ...     result = session.characterize(np.eye(32, dtype=bool), limit_to=4)
    >>> float(result["all/fraction"][1, 0])
    0.03125
    """

    def __init__(
        self,
        *,
        device: str | None = None,
        threads: int | None = None,
        memory_limit: int | None = None,
        gpu_ids: Sequence[int] | None = None,
        trust_files: bool = False,
        comm: Any = None,
        slabs: bool = False,
        **options: Any,
    ) -> None:
        handle = c_void_p()
        own = {"device": device, "threads": threads, "memory_limit": memory_limit, "gpu_ids": gpu_ids}
        text = _words({**own, "trust_files": trust_files or None, **options})
        if comm is None:
            check(lib.mesoforge_open(byref(handle), text))
        else:
            check(lib.mesoforge_open_ranks(byref(handle), address_of(comm), text))
        self._handle: c_void_p | None = handle
        self._process = os.getpid()
        self._raised: BaseException | None = None
        self._calling = threading.Lock()
        self._take_line = TAKE_LINE(self._log_line)
        self._go_on = GO_ON(self._step)
        self._progress: Callable[[str, float | None], object] | None = None
        self._alone = comm is None
        self._left_models: list[c_void_p] = []  # that ended inside of a call
        check(lib.mesoforge_on_log(handle, self._take_line, None))
        check(lib.mesoforge_on_progress(handle, self._go_on, None))
        check(lib.mesoforge_slabs(handle, bool(slabs)))
        # Whoever has ranks closes it on all of them: a collector of garbage would on some.
        self._finalizer = weakref.finalize(self, _close, handle, self._process)
        if comm is not None:
            self._finalizer.detach()

    def _log_line(self, _: Any, level: int, line: bytes) -> None:
        try:
            _log.log(level, "%s", in_python(line.decode(errors="replace")))
        except BaseException as error:  # it comes out of the call
            self._raised = self._raised or error

    def _step(self, _: Any, what: bytes, share: float) -> int:
        """Between two steps of work. Handlers of signals run here, too."""
        try:
            said = None if self._progress is None else self._progress(what.decode(errors="replace"), share if share >= 0 else None)
            if said is not None and not said:
                return 0
        except BaseException as error:
            self._raised = self._raised or error
        return 0 if self._raised is not None else 1

    def slab(self, planes: int) -> slice:
        """The planes of a volume of so many that this rank computes. Slabs that are cut so are not copied."""
        first, count = ctypes.c_size_t(), ctypes.c_size_t()
        if not 0 < operator.index(planes) <= sys.maxsize:
            raise UsageError(f"a volume of {planes} planes has no slabs")
        check(lib.mesoforge_slab(self._open(), planes, byref(first), byref(count)))
        return slice(first.value, first.value + count.value)

    def close(self) -> None:
        """Ends the session; results stay."""
        with self._call_of(None):
            if self._handle is not None:
                with self._holding_signals():
                    code = lib.mesoforge_close(self._handle)
                if code == 0:
                    self._finalizer.detach()
                    self._handle = None
                self._settle(code, None)

    def __reduce_ex__(self, _: Any) -> Any:
        raise UsageError("a session is of this process, and cannot be pickled or copied", "a session there")

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> c_void_p:
        if self._handle is None:
            raise UsageError("the session is closed")
        return self._handle

    def _lend(self, name: str, value: Any, lent: Lent) -> str:
        """The word for an array or a target, which is lent until the call ends."""
        field = c_void_p()
        if isinstance(value, Target) or (isinstance(value, Structure) and value._owner):
            check(lib.mesoforge_field_target(self._open(), name.encode(), value._handle(), byref(field)))
        else:
            value = _array(value)
            check(lib.mesoforge_field_array(self._open(), name.encode(), byref(_described(value)), byref(field)))
        lent.append((field, value))
        return "@" + name

    def _lend_options(self, options: Mapping[str, Any], lent: Lent) -> Iterator[tuple[str, Any]]:
        for name, value in options.items():
            if isinstance(value, dict) and all(np.ndim(one) == 0 for one in value.values()):  # numbers by their names
                value = [_word(key, one).replace("'", "") for key, one in value.items()]
            elif isinstance(value, dict):  # arrays by their names
                value = [f"{key}={self._lend(f'{name}-{key}.npy', one, lent)}" for key, one in value.items()]
            elif isinstance(value, (Slab, Result)) or _is_array(name, value):
                value = self._lend(name, value, lent)
            elif isinstance(value, os.PathLike):
                value = os.fspath(value)
            yield name, value

    def _input(self, value: Any, lent: Lent) -> str:
        if isinstance(value, (str, bytes, os.PathLike)):
            return _quoted(os.fsdecode(value))
        return self._lend(f"image{len(lent) + 1 if lent else ''}", value, lent)

    def _settle(self, code: int, result: Result | None) -> None:
        """What a callback raised comes first. Both have the result of a call that was stopped."""
        raised, self._raised = self._raised, None
        try:
            if raised is not None:
                raise raised
            check(code)
        except BaseException as error:
            with contextlib.suppress(AttributeError):  # of an exception that takes none
                setattr(error, "result", result)
            raise

    @contextlib.contextmanager
    def _call_of(self, progress: Progress) -> Iterator[None]:
        """One call at a time: another one is refused before it touches anything."""
        if not (progress is None or isinstance(progress, bool) or callable(progress)):
            raise UsageError(f"progress is {progress!r:.80}, and no function", "progress=True")
        if not self._calling.acquire(blocking=False):
            raise UsageError("the session is in a call, of another thread or of the one that called back")
        try:
            with Bar() if progress is True else contextlib.nullcontext(progress or None) as self._progress:
                yield
        finally:
            self._progress = None
            while self._left_models and self._handle is not None:
                lib.mesoforge_model_free(self._handle, self._left_models.pop())
            self._calling.release()
            _close_left()

    def characterize(self, image: Any, *, progress: Progress = None, **options: Any) -> Target:
        """As `mesoforge.characterize`."""
        made: Target = self.run("characterize", image, progress=progress, **options)
        return made

    def match(self, *images: Any, target: Any = None, progress: Progress = None, **options: Any) -> Any:
        """As `mesoforge.match`: a structure, or a list of them."""
        if target is not None and images:
            raise UsageError("match has a target, and images")
        if target is not None:
            return self.reconstruct(target, progress=progress, **options)
        return _realised(lambda **own: self.run("match", *images, progress=progress, **own), options)

    def reconstruct(self, target: Any, *, progress: Progress = None, **options: Any) -> Any:
        """As `mesoforge.reconstruct`: a structure, or a list of them."""
        if not isinstance(target, (Target, dict, str, bytes, os.PathLike)):
            raise InputError(f"the target is of type {type(target).__name__}", "match(image), or characterize(image) first")
        inputs = () if isinstance(target, dict) else (target,)
        if not inputs:
            options["target"] = target
        return _realised(lambda **own: self.run("reconstruct", *inputs, progress=progress, **own), options)

    def run(self, verb: str, *inputs: Any, progress: Progress = None, **options: Any) -> Any:
        """As `mesoforge.run`."""
        masked = bool(inputs) and np.ma.is_masked(inputs[0])
        if inputs:
            first, options["mask"] = _unmasked(inputs[0], options.get("mask"))
            inputs = first, *inputs[1:]
        try:
            with self._call_of(progress):
                return self._call_on(partial(_run, verb), inputs, options, partial(_of_result, verb))
        except UsageError as error:
            if masked and "no option '--mask'" in error.sentence:
                raise InputError(f"{verb} has no mask, and the array is masked", _ALL_VALUES) from None
            raise

    @contextlib.contextmanager
    def _holding_signals(self) -> Iterator[None]:
        """What a handler of a signal raises stops the call, and comes out of it. A handler may run where a callback
        begins, and ctypes would lose what it raises there."""
        before: dict[int, Any] = {}
        calling = threading.current_thread() is threading.main_thread()

        def hold(number: int, frame: FrameType | None) -> None:
            try:
                before[number](number, frame)
            except BaseException as error:
                if not calling:
                    raise
                self._raised = self._raised or error
                lib.mesoforge_cancel(self._handle)

        try:
            for number in map(int, signal.valid_signals() if calling else ()):
                before[number] = signal.getsignal(number)
                if callable(before[number]):
                    signal.signal(number, hold)
            yield
        finally:
            calling = False
            for number, handler in before.items():
                if signal.getsignal(number) is hold:
                    signal.signal(number, handler)

    def _ask(self, function: Callable[..., int], *arguments: Any) -> None:
        """Calls a function of the library that gives no result."""
        with self._holding_signals():
            code = function(self._open(), *arguments)
        self._settle(code, None)

    def _call_on(
        self,
        ask: Callable[..., int],
        inputs: Sequence[Any],
        options: Mapping[str, Any],
        kind: Callable[[c_void_p], Made],
    ) -> Made:
        lent: Lent = []
        made: Made | None = None
        handle, result, code = self._open(), c_void_p(), 0
        with self._holding_signals():  # a field that is lent is freed, whenever a signal comes
            try:
                words = encoded(" ".join(self._input(value, lent) for value in inputs), "an input")
                text = _words(dict(self._lend_options(options, lent)))
                code = 0 if self._raised else ask(handle, words, text, byref(result))
                made = kind(result) if result else None
            except BaseException as error:
                self._raised = self._raised or error
            finally:
                for field, _ in lent:
                    lib.mesoforge_field_free(handle, field)
        self._settle(code, made)
        assert made is not None  # a call that is not refused has a result
        return made


_own = threading.local()


def default() -> Session:
    """The session of this thread, of functions of the module."""
    session: Session | None = getattr(_own, "session", None)
    if session is None or session._process != os.getpid():
        session = Session()
        _own.session = session
    return session
