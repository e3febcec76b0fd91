"""What the library refuses, as exceptions."""

from __future__ import annotations

import re
from typing import Any


_OPTION = re.compile(
    r"--([a-z][a-z0-9_-]*)((?: -?\d[\d.]*(?:,-?\d[\d.]*)*)+| (?:otsu\|VALUE|otsu|[A-Z]{3,}(?:\.\w+)?))?(?![\w-])"
)


def _keyword(found: re.Match[str]) -> str:
    name, values = found[1].replace("-", "_"), re.split("[ ,|]", (found[2] or "").strip())
    if found.string[: found.start()].endswith("'"):
        return name
    if "VALUE" in values or len(values) == 1:
        return f"{name}=" + " or ".join(values).replace("otsu", '"otsu"')
    return f"{name}=[{', '.join(values)}]"


def in_python(text: str) -> str:
    """Options of the program as keyword arguments: `--labels 0,255` is labels=[0, 255]."""
    if re.match("mesoforge .* --", text):
        return ", ".join(map(_keyword, _OPTION.finditer(text)))
    return _OPTION.sub(_keyword, text)


class Error(Exception):
    """A refusal: `sentence` says what is wrong and where, `advice` what to try ("": nothing in particular). Both are
    those of the program; str() names its options as keyword arguments."""

    code = 70

    def __init__(self, sentence: str, advice: str = "") -> None:
        super().__init__(sentence, advice)  # all arguments, or an error would not survive pickle
        self.sentence = sentence
        self.advice = advice

    def __str__(self) -> str:
        return in_python(self.sentence) + (f"; try: {in_python(self.advice)}" if self.advice else "")


class UsageError(Error, ValueError):
    """An option, or a call that is not allowed."""

    code = 2


class InputError(Error):
    """Values of an array or a file that cannot be used."""

    code = 3


class DeviceError(Error):
    """Hardware, MPI or the library itself: it is not there, or does not fit."""

    code = 4


class OutOfMemory(Error, MemoryError):
    """Memory ends, or the limit of the session."""

    code = 5


class NumericalError(Error):
    """Arithmetic has failed: NaN, or divergence."""

    code = 6


class OutputError(Error):
    """A file cannot be written."""

    code = 7


class Stopped(Error):
    """A run was stopped when asked to. `result` is the best so far, with exact volume fractions; None: there is none.
    Of a match with realisations it is the list of structures so far."""

    code = 75
    result: Any = None


_by_code: dict[int, type[Error]] = {kind.code: kind for kind in Error.__subclasses__()}


def of_code(code: int, sentence: str, advice: str) -> Error:
    """The exception for a code of the library. The option that it may advise is a keyword argument here."""
    option = re.fullmatch("--([a-z][a-z0-9_-]*)", advice)
    advice = option[1].replace("-", "_") + "=" if option else advice
    return _by_code.get(code, Error)(sentence, advice.replace("a session with trust-files", "Session(trust_files=True)"))
