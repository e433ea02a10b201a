"""Tables of a run, with rows, and with columns of fixed types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from . import _native
from ._errors import ColumnError

if TYPE_CHECKING:
    import pandas
    import pyarrow


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    #: Name of the column in files and rows.
    key: str
    #: Heading that users see.
    title: str
    #: Unit of the numbers. Empty if they have none.
    unit: str
    #: Meaning of the column.
    description: str
    #: Arrow type of the values, the same for every run: ``int64``, ``double``, ``large_string`` or ``bool``.
    type: str = ""


@dataclass(frozen=True)
class TableInfo:
    """A table that every run has, possibly without rows."""

    #: Name for :meth:`Profile.table`.
    name: str
    #: One-line description.
    description: str
    #: Values for ``by``. The first one is the default.
    forms: tuple[str, ...]


class Table:
    """A table of a run. Values that were not measured are None (in pandas and Arrow: missing)."""

    def __init__(self, name: str, columns: _native.Columns) -> None:
        self.name = name
        about = columns.about()
        #: The columns, in order.
        self.columns = [Column(key, title, unit, description, kind) for key, title, unit, description, kind, _ in about]
        self._has_values = [has_values for *_, has_values in about]
        self._places = {column.key: place for place, column in enumerate(self.columns)}
        self._native = columns

    def __len__(self) -> int:
        return len(self._native)

    @overload
    def __getitem__(self, key: str) -> list[Any]: ...

    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, key: slice) -> Table: ...

    def __getitem__(self, key: str | int | slice) -> list[Any] | dict[str, Any] | Table:
        """Returns the values of a column by its key, a row by its index, or a table with some of the rows (``table[:10]``).

        Raises:
            ColumnError: The column does not exist. The error is also a KeyError.
            IndexError: The row does not exist.
        """
        if isinstance(key, slice):
            rows = range(*key.indices(len(self)))
            return Table(self.name, self._native.part(rows.start, rows.step, len(rows)))
        if isinstance(key, int):
            try:
                row = range(len(self))[key]
            except IndexError:
                raise IndexError(f"The table {self.name} has {len(self)} rows: there is no row {key}.") from None
            (values,) = self[row : row + 1].rows()
            return values
        place = self._places.get(key) if isinstance(key, str) else None
        if place is None:
            known = list(self._places)
            raise ColumnError(
                f"The table {self.name} has no column {key!r}; it has {', '.join(known)}.{_native.suggestion(str(key), known)}"
            )
        return self._native.values(place, len(self))

    def rows(self) -> list[dict[str, Any]]:
        """Returns each row as a dict, with the keys of the columns."""
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, values)) for values in zip(*(self[key] for key in keys))]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return (self.name, self.columns) == (other.name, other.columns) and self.rows() == other.rows()

    __hash__ = None  # type: ignore[assignment]

    def arrow(self) -> pyarrow.Table:
        """Returns the table as ``pyarrow.Table`` without copying. The types are the same for every run, and whole numbers are signed.
        The metadata of each field contains its title, unit and description.

        Raises:
            ImportError: pyarrow is not installed.
        """
        import pyarrow

        return pyarrow.table(self)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Exports the table without a copy to libraries that support Arrow's interface: ``polars.DataFrame(table)``,
        ``pyarrow.record_batch(table)``."""
        return self._native.__arrow_c_array__(requested_schema)

    def pandas(self) -> pandas.DataFrame:
        """Returns the table as ``pandas.DataFrame``, with the keys of the columns.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas

        return pandas.DataFrame({column.key: self[column.key] for column in self.columns})

    def __reduce__(self) -> tuple[Any, ...]:
        values = [(column.key, column.title, column.unit, column.description, column.type) for column in self.columns]
        return _rebuilt, (self.name, len(self), [(about, self[about[0]]) for about in values])

    def __repr__(self) -> str:
        return f"<crossprof table {self.name}: {len(self)} rows, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        """Shows the first rows in a notebook."""
        import html

        most = 20
        shown = [column for column, has_values in zip(self.columns, self._has_values) if has_values]
        head = "".join(
            f'<th title="{html.escape(column.description)}">{html.escape(column.title)}'
            f"{f' ({html.escape(column.unit)})' if column.unit else ''}</th>"
            for column in shown
        )
        rows = zip(*(self._native.values(self._places[column.key], most) for column in shown))
        body = "".join("<tr>" + "".join(f"<td>{html.escape(_shown(value))}</td>" for value in row) + "</tr>" for row in rows)
        more = f"<p>{len(self) - most} more rows</p>" if len(self) > most else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _rebuilt(name: str, rows: int, columns: list[Any]) -> Table:
    """Restores a pickled table."""
    return Table(name, _native.Columns.rebuilt(name, rows, columns))


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
