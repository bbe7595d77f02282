"""Lists of texts and handles in C's memory: members of structs, and variables."""

from __future__ import annotations

import operator
from typing import Any, NoReturn


class Items(list[Any]):
    """A copy of C's items. Assigning one item through a field changes C's, too; other changes are refused."""

    def __init__(self, found: list[Any], who: str, field: Any = None, instance: Any = None) -> None:
        super().__init__(found)
        self._who = who
        self._field = field
        self._instance = instance

    def _place(self, index: Any) -> int:
        """Converts an index to one from the first item."""
        try:
            at = operator.index(index)
        except TypeError:
            got = type(index).__name__
            raise TypeError(f"{self._who}: indices must be integers or slices, not {got}") from None
        if not -len(self) <= at < len(self):
            raise IndexError(f"{self._who}: index {at} is out of range: there are {len(self)} items")
        return at % len(self)

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(index if isinstance(index, slice) else self._place(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        if self._field is None or isinstance(index, slice):
            self._refuse()
        at = self._place(index)
        super().__setitem__(at, self._field.assign_item(self._instance, at, value))

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        cure = "" if self._field is None else f"; assign to single items, or a list of {len(self)} to all"
        raise TypeError(f"{self._who}: this list shows what C has, and cannot be changed like that{cure}")

    __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = _refuse
    pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> Any:
        return list, (list(self),)
