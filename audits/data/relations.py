"""Check the stated neighbouring relation between two inputs as far as possible; the rest is assumed.

Data sets are compared record by record. The order counts in lists, tuples, arrays and data frames, but not in sets
and dictionaries. A permuted list is another data set, because a mechanism may depend on the order. Episodes and users
of a learning problem have rules of their own.

A record is an element of a list, a tuple or an array (a row, if the array has two or more dimensions), a row of a
data frame, an element of a set, or a key of a dictionary with its value. Records are compared by
`dpproof.audits.data.canonical`: 1, 1.0 and True are equal; a list, an array and a tuple of the same values are equal;
and NaN equals NaN.

A dictionary or a tuple can hold records. It can also hold the columns of a table, or a data set together with
settings. If these readings disagree, the relation is not checked, and the evidence reports this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.audits.data.episode_relations import EPISODE_CHECKS
from dpproof.audits.data.records import (
    Records,
    UncomparableError,
    both_records,
    check_depth,
    is_collection,
    records_of,
)
from dpproof.mechanisms.rl.rlsvi.users import Users, differ_only_in_rewards_of_one_user

ADDED = (Adjacency.ADD_REMOVE, Adjacency.EXPERT)
"""The relations under which one input has more records than the other."""
HINT = (
    ". For inputs without records, such as counts, describe the relation in words:"
    " Neighbours(x, y, 'counts at most 1 apart', 'two counts')."
)
Check = Callable[[Any, Any], object]

_TYPED: Sequence[tuple[type, Mapping[Adjacency, Check]]] = (
    (Episodes, EPISODE_CHECKS),
    (Users, {Adjacency.REWARDS_ONLY: differ_only_in_rewards_of_one_user}),
)
"""The checks of inputs with rules of their own: a type (with its subclasses), and a check for each relation."""


@dataclass(frozen=True)
class Standing:
    """The answer to the question whether dpproof checked that two inputs are neighbours.

    Attributes:
        checked: True if the relation was checked, False if it is assumed.
        why: what was checked, or why nothing could be checked.
    """

    checked: bool
    why: str

    @property
    def word(self) -> str:
        """The words for this answer in the evidence: "checked" or "taken on trust"."""
        return "checked" if self.checked else "taken on trust"


def standing_of(
    first: object, second: object, adjacency: Adjacency | str, validator: Check | None
) -> Standing:
    """Return what was checked of the stated relation; raises an error if the two inputs are not neighbours.

    Args:
        first, second: the inputs.
        adjacency: the stated relation.
        validator: a function that has accepted the inputs already. If it is part of dpproof, the relation counts as
            checked.

    Raises:
        ValueError: the inputs are not neighbours; the message shows the difference.

    >>> standing_of([1, 2, 3], [1, 5, 3], Adjacency.REPLACE, None)
    Standing(checked=True, why='1 of 3 elements differs')
    """
    _check_readable(first, "first")
    _check_readable(second, "second")
    if validator is not None and _module(validator).startswith("dpproof."):
        return Standing(True, f"by {_name(validator)}")
    found = _of_inputs(first, second, adjacency)
    if found.checked or validator is None:
        return found
    return Standing(False, f"{found.why}; the pair's own validator, {_name(validator)}, accepts it")


def _check_readable(data: object, which: str) -> None:
    """Reject an iterator, or a collection with one inside. The first call would exhaust it."""
    parts = data.values() if isinstance(data, Mapping) else data if isinstance(data, list | tuple) else ()
    check_depth(f"The {which} input", data)
    for kind, what in ((type(data), "is"), *((kind, "holds") for kind in set(map(type, parts)))):
        if issubclass(kind, Iterator):
            raise ValueError(
                f"The {which} input {what} an iterator, which can be read only once. Give a list instead."
            )


def _of_inputs(first: object, second: object, adjacency: Adjacency | str) -> Standing:
    if not isinstance(adjacency, Adjacency):
        return Standing(False, "the relation is given in words, which dpproof cannot check")
    if adjacency is Adjacency.BY_SENSITIVITY:
        return Standing(
            False, "the relation is about the results that a mechanism computes, not about records"
        )
    both = (checks for kind, checks in _TYPED if isinstance(first, kind) and isinstance(second, kind))
    check = next(both, {}).get(adjacency)
    if check is not None:
        check(first, second)
        return Standing(True, f"by {_name(check)}")
    try:
        readings = _readings(first, second, added=adjacency in ADDED)
        found = [(how, _compared(one, other, adjacency)) for how, one, other in readings]
    except UncomparableError as why:
        return Standing(False, str(why))
    broken = [f"{how}, {said.why}" if how else said.why for how, said in found if said.broken]
    if len(broken) == len(found):
        raise ValueError(" and ".join(broken) + HINT)
    kept = next(said for _, said in found if not said.broken)
    if broken:
        return Standing(False, f"{kept.why}, but {' and '.join(broken)}. So it is unclear what a record is")
    return Standing(kept.certain, kept.why)


@dataclass(frozen=True)
class _Comparison:
    """The result of comparing two inputs: relation broken, or kept; ``certain`` is False if part is not visible."""

    why: str
    broken: bool = False
    certain: bool = True


def _readings(first: object, second: object, *, added: bool) -> list[tuple[str, Any, Any]]:
    """Return the ways to read two inputs as data sets; reading the inputs themselves comes first.

    Args:
        first, second: the inputs.
        added: whether one input has more records. A bundle has the same parts in both inputs, so the records were
            added to one of its parts. Then the bundle itself is not read as the data set if one of its parts can be.
    """
    one, other = _parts(first), _parts(second)
    plain = [("", first, second)]
    if one is None or other is None or one.keys() != other.keys():
        return plain
    if _columnar(one) and _columnar(other):
        inside = [("as the columns of a table", _rows(one), _rows(other))]
        plain = [] if isinstance(first, tuple) and not _some_are(one, list, tuple) else plain
    else:
        inside = list(_inside(one, other, isinstance(first, Mapping), added))
    return inside if inside and added else [*plain, *inside]


def _inside(
    one: Mapping[object, object], other: Mapping[object, object], named: bool, added: bool
) -> Iterator[tuple[str, Any, Any]]:
    """Generate the readings of the only part that differs, if it may be the data set; it may be a bundle itself."""
    changed = [key for key in one if _differ(one[key], other[key])]
    if len(changed) != 1 or not all(is_collection(parts[changed[0]]) for parts in (one, other)):
        return
    (key,) = changed
    if not all(map(is_collection, one.values())) or _may_be_data(one[key], named):
        for how, a, b in _readings(one[key], other[key], added=added):
            yield f"as the data set at {key!r}{', ' if how else ''}{how}", a, b


def _may_be_data(part: object, named: bool) -> bool:
    """Whether a part of a bundle of collections may be a data set, rather than one of the records.

    A dictionary may hold the record of each user under a name. A part with a name counts as a data set only if it
    is a data frame or its own elements are collections. A tuple of lists or arrays is rarely a data set of these.
    """
    if isinstance(part, Mapping | tuple):
        return False
    first = _first(part)
    return not named or hasattr(part, "columns") or np.ndim(first) > 0 or isinstance(first, Mapping)


def _first(part: object) -> Any:
    """Return the first element of an ordered collection; None if it has no order or no element."""
    return part[0] if isinstance(part, Sequence | np.ndarray) and len(part) else None


def _parts(value: Any) -> Mapping[object, object] | None:
    """Return the parts of a possible bundle by name or place; None if the value cannot be one."""
    match value:
        case Counter():
            return None
        case Mapping():
            return value
        case tuple():
            return dict(enumerate(value))
        case list() if all(isinstance(part, np.ndarray) for part in value):
            return dict(enumerate(value))
    return None


def _columnar(parts: Mapping[Any, Any]) -> bool:
    """Whether all parts may be columns: equally long, no sets or mappings, and tuples longer than the bundle."""
    if not parts or not all(map(is_collection, parts.values())):
        return False
    lengths = {len(part) for part in parts.values()}
    if len(lengths) != 1 or _some_are(parts, Mapping, set, frozenset):
        return False
    return not _some_are(parts, tuple) or max(lengths) > len(parts)


def _some_are(parts: Mapping[Any, object], *types: type) -> bool:
    return any(isinstance(part, types) for part in parts.values())


def _rows(parts: Mapping[object, object]) -> list[tuple[Any, ...]]:
    return list(zip(*(records_of(part).keys for part in parts.values()), strict=True))


def _differ(one: object, other: object) -> bool:
    if one is other:
        return False
    if is_collection(one) and is_collection(other):
        a, b = records_of(one), records_of(other)
        return (a.header, _in_order(a)) != (b.header, _in_order(b))
    return records_of([one]).keys != records_of([other]).keys


def _in_order(records: Records) -> Any:
    return list(records.keys) if records.ordered else Counter(records.keys)


def _compared(first: object, second: object, adjacency: Adjacency) -> _Comparison:
    """Compare the records of two inputs under a relation."""
    one, other = both_records(first, second)
    if None not in (one.header, other.header) and one.header != other.header:
        said = f"the {one.unit}s must have the same shape or columns, not {one.header} and {other.header}"
        return _Comparison(said, broken=True)
    if adjacency is Adjacency.REPLACE:
        return _replaced(one, other)
    if adjacency is Adjacency.REWARDS_ONLY:
        found = _replaced(one, other)
        unseen = f"{found.why}, but dpproof cannot see whether only its rewards differ"
        return found if found.broken else _Comparison(unseen, certain=False)
    return _more(one, other, one_expert=adjacency is Adjacency.EXPERT)


def _replaced(one: Records, other: Records) -> _Comparison:
    many, unit = one.count, one.unit
    if many != other.count:
        return _Comparison(
            f"the inputs have {many} and {other.count} {unit}s, but must have equally many", True
        )
    apart = _changed(one, other)
    if apart == 1:
        return _Comparison(f"1 of {many} {unit}s differs")
    moved = _apart(one.keys, other.keys)
    order = (
        f". If both were sorted, only {moved} would differ. Sort both inputs alike"
        if 0 < moved < apart
        else ""
    )
    return _Comparison(f"{apart} of {many} {unit}s differ, but exactly one must{order}", broken=True)


def _changed(one: Records, other: Records) -> int:
    if one.ordered and other.ordered:
        return sum(a != b for a, b in zip(one.keys, other.keys, strict=True))
    return _apart(one.keys, other.keys)


def _apart(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the number of records of the first input, with repetition, that are not among the second's."""
    return (Counter(one) - Counter(other)).total()


def _more(one: Records, other: Records, *, one_expert: bool) -> _Comparison:
    small, large = sorted((one, other), key=lambda records: len(records.keys))
    more, unit = len(large.keys) - len(small.keys), one.unit
    if more != 1 and not (one_expert and more):
        said = f"the inputs have {one.count} and {other.count} {unit}s"
        return _Comparison(
            f"{said}, but one must have {'more' if one_expert else 'exactly one more'}", broken=True
        )
    if not _contains(large, small):
        missing = _apart(small.keys, large.keys)
        said = f"{missing} are missing from it" if missing else "their order differs"
        return _Comparison(
            f"the larger input must contain all {unit}s of the smaller one, but {said}", broken=True
        )
    if more > 1:
        return _Comparison(
            f"one input has {more} {unit}s more, but dpproof cannot see whether one expert has them all",
            certain=False,
        )
    return _Comparison(f"one input has 1 {unit} more than {small.count}")


def _contains(large: Records, small: Records) -> bool:
    if not (large.ordered and small.ordered):
        return not _apart(small.keys, large.keys)
    rest = iter(large.keys)
    return all(any(key == found for found in rest) for key in small.keys)


def _module(validator: Check) -> str:
    validator = _unwrapped(validator)
    return str(getattr(validator, "__module__", "") or type(validator).__module__)


def _name(validator: Check) -> str:
    validator = _unwrapped(validator)
    return str(getattr(validator, "__qualname__", type(validator).__qualname__))


def _unwrapped(validator: Check) -> Check:
    while isinstance(validator, partial):
        validator = validator.func
    return validator
