"""Small tables, which terminals and notebooks show."""

from __future__ import annotations

import html
from typing import Any


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return " ".join(map(_text, value))
    return str(value)


class Table(list["dict[str, Any]"]):
    """A list of rows, each a dictionary by the names of columns. `pandas.DataFrame(table)` takes it.

    >>> table = Table([{"name": "young", "value": 2.5}, {"name": "poisson", "value": 0.3}])
    >>> table
    name     value
    young    2.5
    poisson  0.3
    >>> table.column("value")
    [2.5, 0.3]
    """

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in the order of their first rows."""
        return list(dict.fromkeys(key for row in self for key in row))

    def column(self, name: str) -> list[Any]:
        """The values of a column; None where a row has none."""
        return [row.get(name) for row in self]

    def _cells(self) -> list[list[str]]:
        return [[_text(row.get(name)) for name in self.columns] for row in self]

    def __repr__(self) -> str:
        lines = [self.columns, *self._cells()]
        widths = [max(map(len, column)) for column in zip(*lines)]
        return "\n".join("  ".join(cell.ljust(n) for cell, n in zip(line, widths)).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        def row(cells: list[str], tag: str) -> str:
            made = "".join(f'<{tag} style="text-align:left">{html.escape(cell)}</{tag}>' for cell in cells)
            return f"<tr>{made}</tr>"

        rows = "".join(row(cells, "td") for cells in self._cells())
        return f"<table><thead>{row(self.columns, 'th')}</thead><tbody>{rows}</tbody></table>"
