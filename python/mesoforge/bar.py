"""A bar of progress, in a terminal or a notebook."""

from __future__ import annotations

import html
import importlib
import sys
import time
from typing import Any

_WIDTH = 30


def _display() -> Any:
    """The function of IPython that shows things in a notebook; None: this is none."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return importlib.import_module("IPython.display").display


class Bar:
    """What progress=True shows while a call runs: what is done, how far it is, and the seconds.

    >>> with Bar() as bar:              # a call does this
    ...     bar("match", 0.5)
    >>> print(bar.text("match", 0.5, 3.2))
    match [###############...............] 50 %, 3 s
    >>> print(bar.text("reading", None, 0.4))
    reading, 0 s
    """

    def __init__(self) -> None:
        self._display = _display()
        self._start = time.monotonic()
        self._shown: Any = None
        self._drawn = ""

    def text(self, what: str, share: float | None, seconds: float) -> str:
        """The line of a terminal."""
        if share is None:
            return f"{what}, {seconds:.0f} s"
        full = int(min(max(share, 0), 1) * _WIDTH)
        return f"{what} [{'#' * full}{'.' * (_WIDTH - full)}] {share:.0%}, {seconds:.0f} s".replace("%", " %")

    def _html(self, what: str, share: float | None, seconds: float) -> str:
        value = "" if share is None else f' value="{share:.3f}"'
        return f"<progress{value}></progress> {html.escape(what)}, {seconds:.0f} s"

    def __call__(self, what: str, share: float | None) -> None:
        seconds = time.monotonic() - self._start
        if self._display:
            said = {"text/html": self._html(what, share, seconds), "text/plain": self.text(what, share, seconds)}
            if self._shown is None:
                self._shown = self._display(said, raw=True, display_id=True)
            else:
                self._shown.update(said, raw=True)
        elif sys.stderr.isatty():
            line = self.text(what, share, seconds)
            sys.stderr.write("\r" + line.ljust(len(self._drawn)))
            sys.stderr.flush()
            self._drawn = line

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        """Takes the bar away."""
        if self._shown is not None:
            self._shown.update({"text/html": "", "text/plain": ""}, raw=True)
        elif self._drawn:
            sys.stderr.write("\r" + " " * len(self._drawn) + "\r")
            sys.stderr.flush()
