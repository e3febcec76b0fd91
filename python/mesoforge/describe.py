"""The options of verbs, from the library's own tables."""

from __future__ import annotations

import difflib
from typing import Any, Iterator, Mapping, NamedTuple, overload

from .session import Session, default
from .table import Table


class Option(NamedTuple):
    """An option: `takes` is the kind of its value ("flag", "integer", "reals", ..), `default` is as text."""

    name: str
    takes: str
    default: str | None
    help: str
    choices: tuple[str, ...] = ()


class Options(Mapping[str, Option]):
    """The options of a verb by their names. Terminals and notebooks show them as a table."""

    def __init__(self, verb: str, options: list[Option]) -> None:
        self.verb = verb
        self._options = {one.name: one for one in options}

    def __getitem__(self, name: str) -> Option:
        key = str(name).replace("-", "_")
        if key not in self._options:
            near = difflib.get_close_matches(key, self._options, 1)
            raise KeyError(f"{self.verb} has no option {name!r}" + "".join(f"; try: {one!r}" for one in near))
        return self._options[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._options)

    def __len__(self) -> int:
        return len(self._options)

    def table(self) -> Table:
        """A row for each option."""
        return Table(
            {"option": one.name, "takes": one.takes, "default": one.default, "help": ": ".join(filter(None, said))}
            for one, said in ((one, (one.help, ", ".join(one.choices))) for one in self.values())
        )

    def search(self, word: str) -> Options:
        """The options whose name or help has a word."""
        word = word.lower()
        return Options(self.verb, [one for one in self.values() if word in f"{one.name} {one.help}".lower()])

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


@overload
def options(verb: str, *, session: Session | None = None) -> Options: ...


@overload
def options(verb: None = None, *, session: Session | None = None) -> Table: ...


def options(verb: str | None = None, *, session: Session | None = None) -> Options | Table:
    """What a verb takes as keyword arguments: one line for each, as `mesoforge VERB --help` has them.

    Parameters
    ----------
    verb
        Its name, as "match" or "train regress". Without one there is a table of all verbs.

    Returns
    -------
    Options
        A mapping by names, which shows itself as a table.

    Examples
    --------
    >>> options("match")["limit_to"].default
    '16'
    >>> options("properties")["boundary"].choices
    ('plates', 'periodic', 'centres')
    >>> options("match").search("temperature").table().column("option")
    ['initial_temperature', 'final_temperature']
    >>> "train regress" in options().column("verb")
    True
    """
    said = (session or default()).run("help", *(verb or "").split()).figures
    if verb:
        return Options(said["name"], [_option(one) for one in said["options"]])
    return Table({"verb": one["name"], "summary": one["summary"]} for one in said["verbs"])


def _option(said: dict[str, Any]) -> Option:
    return Option(said["name"], said["takes"], said["default"], said["help"], tuple(said.get("choices", ())))
