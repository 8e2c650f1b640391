"""Which runs there are: by date folders, the newest first, without reading whole trees."""

from __future__ import annotations

import difflib
import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from atomic.errors import RunNotFound
from atomic.record.files import place_error
from atomic.record.layout import is_id_prefix, is_run_id

Names = Callable[[PurePosixPath], Iterable[str]]

_NEAREST_AMONG = 2000  # the newest runs: a mistyped id is nearly always one of a recent listing
_DATE_WIDTHS = (4, 2, 2)


def local_names(root: Path) -> Names:
    """The names in folders below a local root; none where there is no such folder."""

    def names(folder: PurePosixPath) -> Iterable[str]:
        path = root / folder
        try:
            return [entry.name for entry in path.iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise place_error(error, path, "list") from error

    return names


def run_ids(sources: Sequence[Names], prefix: str = "") -> Iterator[str]:
    """Ids that begin with ``prefix``, the newest first, each once. Opens only the date folders that can hold one."""
    merged = heapq.merge(*(_of_source(names, prefix) for names in sources), reverse=True)
    return (run_id for run_id, _ in itertools.groupby(merged))


def _of_source(names: Names, prefix: str) -> Iterator[str]:
    for folder in _date_folders(names, PurePosixPath(), prefix, _DATE_WIDTHS):
        date = "".join(folder.parts)
        found = (name for name in names(folder) if is_run_id(name) and name.startswith(date))
        yield from sorted((name for name in found if name.startswith(prefix)), reverse=True)


def _date_folders(names: Names, folder: PurePosixPath, prefix: str, widths: Sequence[int]) -> Iterator[PurePosixPath]:
    if not widths:
        yield folder
        return
    width, head = widths[0], prefix[: widths[0]]
    for name in sorted(names(folder), reverse=True):
        if len(name) == width and name.isascii() and name.isdigit() and name.startswith(head):
            yield from _date_folders(names, folder / name, prefix[width:], widths[1:])


def find_run_id(sources: Sequence[Names], text: str) -> str:
    """The run that ``latest``, an id, or the unique beginning of one names. Raises RunNotFound with the nearest ids."""
    if text == "latest":
        newest = next(run_ids(sources), None)
        if newest is None:
            raise RunNotFound("there are no runs yet", run_id=text, nearest=())
        return newest
    if is_id_prefix(text):
        found = list(itertools.islice(run_ids(sources, text), 4))
        if len(found) == 1 or text in found:
            return text if text in found else found[0]
        if found:
            raise RunNotFound(
                f"{text!r} is the beginning of several runs: {', '.join(found[:3])}{', …' if len(found) > 3 else ''}",
                hint="give more of the id",
                run_id=text,
                nearest=tuple(found[:3]),
            )
    raise not_found(sources, text)


def not_found(sources: Sequence[Names], text: str) -> RunNotFound:
    """The error for a name that no run has, with those that are nearest to it."""
    among = itertools.islice(run_ids(sources), _NEAREST_AMONG)
    nearest = tuple(difflib.get_close_matches(text, among, n=3, cutoff=0.5))
    hint = f"did you mean {' or '.join(nearest)}?" if nearest else "`latest` names the newest run"
    return RunNotFound(f"no run {text!r}", hint=hint, run_id=text, nearest=nearest)
