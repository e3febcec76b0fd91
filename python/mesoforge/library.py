"""Finds libmesoforge and declares its functions (include/mesoforge.h)."""

from __future__ import annotations

import ctypes
import importlib
import os
import shutil
import sysconfig
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_ssize_t, c_void_p
from typing import Any

from .errors import DeviceError, UsageError, of_code

ABI = 1
NAME = f"libmesoforge.so.{ABI}"
AXES = 8


class Array(ctypes.Structure):
    """struct mesoforge_array"""

    _fields_ = [
        ("type", c_char_p),
        ("ndim", c_int),
        ("shape", c_size_t * AXES),
        ("stride", c_ssize_t * AXES),
        ("data", c_void_p),
        ("first", c_size_t),
        ("planes", c_size_t),
        ("name", c_char_p),
        ("axes", c_char_p),
    ]


class LastError(ctypes.Structure):
    """struct mesoforge_error"""

    _fields_ = [("code", c_int), ("sentence", c_char_p), ("advice", c_char_p)]


TAKE_LINE = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
GO_ON = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, ctypes.c_double)
TAKE_BROKEN = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)

_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "abi": (c_int, []),
    "version": (c_char_p, []),
    "mpi_version": (c_char_p, []),
    "last_error": (POINTER(LastError), []),
    "on_broken": (None, [TAKE_BROKEN, c_void_p]),
    "open": (c_int, [POINTER(c_void_p), c_char_p]),
    "open_ranks": (c_int, [POINTER(c_void_p), c_void_p, c_char_p]),
    "on_log": (c_int, [c_void_p, TAKE_LINE, c_void_p]),
    "on_progress": (c_int, [c_void_p, GO_ON, c_void_p]),
    "cancel": (c_int, [c_void_p]),
    "close": (c_int, [c_void_p]),
    "slab": (c_int, [c_void_p, c_size_t, POINTER(c_size_t), POINTER(c_size_t)]),
    "slabs": (c_int, [c_void_p, c_int]),
    "field_array": (c_int, [c_void_p, c_char_p, POINTER(Array), POINTER(c_void_p)]),
    "field_free": (c_int, [c_void_p, c_void_p]),
    "characterize": (c_int, [c_void_p, c_void_p, c_char_p, POINTER(c_void_p)]),
    "match": (c_int, [c_void_p, c_void_p, c_char_p, POINTER(c_void_p)]),
    "run": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p, POINTER(c_void_p)]),
    "model_load": (c_int, [c_void_p, c_char_p, c_char_p, POINTER(c_void_p)]),
    "model_json": (c_char_p, [c_void_p]),
    "model_predict": (c_int, [c_void_p, c_void_p, c_char_p, c_char_p, POINTER(c_void_p)]),
    "model_generate": (c_int, [c_void_p, c_void_p, c_char_p, c_char_p, POINTER(c_void_p)]),
    "model_free": (c_int, [c_void_p, c_void_p]),
    "field_target": (c_int, [c_void_p, c_char_p, c_void_p, POINTER(c_void_p)]),
    "target_load": (c_int, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "target_mean": (c_int, [c_void_p, POINTER(c_void_p), POINTER(ctypes.c_double), c_size_t, POINTER(c_void_p)]),
    "result_save": (c_int, [c_void_p, c_void_p, c_char_p]),
    "result_json": (c_char_p, [c_void_p]),
    "result_array": (c_int, [c_void_p, c_size_t, POINTER(Array)]),
    "result_free": (None, [c_void_p]),
}


def _places() -> list[str]:
    """MESOFORGE_LIBRARY alone; else beside the module, in a checkout's build, in the prefix, beside the program."""
    named = os.environ.get("MESOFORGE_LIBRARY")
    if named:
        return [named]
    own = sysconfig.get_config_var("MULTIARCH") or ""  # Debian's folder of this architecture
    here = os.path.dirname(os.path.abspath(__file__))
    above = os.path.dirname(here)
    folders = [here, os.path.dirname(os.path.dirname(above))]  # of a prefix: lib/python3/dist-packages/mesoforge
    folders.append(os.path.join(folders[-1], own))
    if os.path.exists(os.path.join(above, "pyproject.toml")):
        folders[1:] = [os.path.join(os.path.dirname(above), "build", "release")]
    program = shutil.which("mesoforge")
    if program:
        beside = os.path.dirname(os.path.realpath(program))
        prefix = os.path.join(os.path.dirname(beside), "lib")
        folders += [beside, prefix, os.path.join(prefix, own)]
    return list(dict.fromkeys(os.path.join(os.path.normpath(folder), NAME) for folder in folders)) + [NAME]


def _load() -> ctypes.CDLL:
    why = []
    for place in _places():
        try:
            return ctypes.CDLL(place)
        except OSError as error:
            there = os.path.exists(place) or place == NAME
            said = str(error)[len(place) + 2 :] if str(error).startswith(place + ": ") else str(error)
            why.append(f"  {place}: {said if there else 'there is no such file'}")
    looked = "\n".join(why)
    raise ImportError(
        f"libmesoforge is not found. It was looked for here:\n{looked}\n"
        f"Build it (./bootstrap.sh build), and name it: export MESOFORGE_LIBRARY=/path/to/build/release/{NAME}"
    )


def _declare(library: ctypes.CDLL) -> None:
    for name, (result, arguments) in _FUNCTIONS.items():
        try:
            function = getattr(library, "mesoforge_" + name)
        except AttributeError as error:
            raise ImportError(f"{library._name} is no libmesoforge of ABI {ABI}: {error}") from error
        function.restype = result
        function.argtypes = arguments
    if library.mesoforge_abi() != ABI:
        raise ImportError(
            f"libmesoforge has ABI {library.mesoforge_abi()}, and this module needs {ABI}"
        )


def _write_line(_: Any, line: bytes) -> None:
    os.write(2, line)


_say_broken = TAKE_BROKEN(_write_line)
lib = _load()
_declare(lib)
lib.mesoforge_on_broken(_say_broken, None)


def check(code: int) -> None:
    """Raises the refusal of the last call of this thread where `code` is one."""
    if code:
        error = lib.mesoforge_last_error().contents
        raise of_code(error.code, *(text.decode(errors="replace") for text in (error.sentence, error.advice)))


def encoded(value: Any, what: str) -> bytes:
    """A name, a path or words, as the library takes them."""
    try:
        made = os.fsencode(value)
    except (TypeError, UnicodeError):
        raise UsageError(f"{what} is {value!r:.80}, and no text or path") from None
    if b"\0" in made:
        raise UsageError(f"{what} has a character 0")
    return made


def version() -> str:
    """The version of libmesoforge."""
    said: bytes = lib.mesoforge_version()
    return said.decode()


def address_of(comm: Any) -> c_void_p:
    """The address of the MPI_Comm of an mpi4py communicator, of the MPI that libmesoforge uses."""
    MPI = importlib.import_module("mpi4py.MPI")

    own = lib.mesoforge_mpi_version().decode()
    theirs = MPI.Get_library_version()
    if not theirs.startswith(own):
        raise DeviceError(
            f"mpi4py uses {theirs.splitlines()[0]!r}, and libmesoforge {own!r}",
            "an mpi4py that is built with the same MPI",
        )
    return c_void_p(MPI._addressof(comm))


__all__ = ["AXES", "Array", "GO_ON", "TAKE_LINE", "address_of", "byref", "c_void_p", "check", "encoded", "lib", "version"]
