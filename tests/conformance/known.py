"""The list of results that do not agree: nothing may get worse unseen, and what gets better is taken off the list.

What the list comes to is told by the table of the README, which is made from it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from tests.conformance.grading import Result

FILE = "differences.json"
PAGES = tuple(Path(__file__).parents[2] / name for name in ("README.md", "README.zh-CN.md"))
RENEW = "renew the list with `python -m tests.conformance --write-known`"

EXPLAINED = "explained"
"""The grade of an answer that is wrong as listed, with a reason of its own."""

_ROW = re.compile(r"^\| (\S+) \|(?: \d+ \|){4}$", re.MULTILINE)
_RANKS = ("agree", "unknown", "wrong")
Key = tuple[str, str]


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """One result that does not agree, in one or more versions; a wrong one differs in `fields`.

    `reason` tells why the case differs for good; without it the reason of its family holds.
    """

    case: str
    versions: tuple[str, ...]
    grade: str
    fields: tuple[str, ...] = ()
    reason: str = ""

    @property
    def what(self) -> str:
        """The grade and the fields, in words."""
        return described(self.grade, self.fields)


class KnownResults(msgspec.Struct, frozen=True):
    """The whole list, and by family why its results do not agree yet."""

    families: dict[str, str]
    results: tuple[Known, ...]

    def by_key(self) -> dict[Key, Known]:
        """Return the entries by case and version."""
        return {(entry.case, version): entry for entry in self.results for version in entry.versions}


def described(grade: str, fields: Iterable[str]) -> str:
    """Return a grade and the fields that differ, in words."""
    return ": ".join(filter(None, (grade, ", ".join(fields))))


def read(folder: Path) -> KnownResults:
    """Return the list beside the cases, an empty one where there is none."""
    path = folder / FILE
    return msgspec.json.decode(path.read_bytes(), type=KnownResults) if path.is_file() else KnownResults({}, ())


def write(folder: Path, listed: KnownResults) -> None:
    """Write the list beside the cases, one line each, so that a diff shows what has changed."""
    families = ",\n".join(f"    {_json(family)}: {_json(reason)}" for family, reason in sorted(listed.families.items()))
    results = ",\n".join(f"    {_json(entry)}" for entry in listed.results)
    text = f'{{\n  "families": {{\n{families}\n  }},\n  "results": [\n{results}\n  ]\n}}\n'
    (folder / FILE).write_text(text, "utf-8")


def write_tables(listed: KnownResults, totals: Mapping[str, int]) -> None:
    """Write the table anew on every page that shows it."""
    for path in PAGES:
        path.write_text(with_table(path.read_text("utf-8"), listed, totals), "utf-8")


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode().replace('","', '", "').replace('":', '": ').replace('],"', '], "')


def renewed(listed: KnownResults, results: Iterable[Result], families: Mapping[str, str]) -> KnownResults:
    """Return the list as the results are now; what was not run stays as it is.

    A reason stays as long as the result is of the same grade and differs in nothing more.
    `families`: the family of each case.
    """
    found = {(result.case, result.version): result for result in results}
    before = listed.by_key()
    entries: dict[Key, Known] = {key: entry for key, entry in before.items() if key not in found and key[0] in families}
    for key, result in found.items():
        if result.grade != "agree":
            old = before.get(key)
            keeps = old and old.grade == result.grade and set(result.differing) <= set(old.fields)
            reason = old.reason if old and keeps else ""
            entries[key] = Known(result.case, (), result.grade, result.differing, reason)
    merged: dict[Known, list[str]] = {}
    for (_, version), entry in sorted(entries.items(), key=lambda item: item[0]):
        merged.setdefault(msgspec.structs.replace(entry, versions=()), []).append(version)
    kept = tuple(msgspec.structs.replace(entry, versions=tuple(versions)) for entry, versions in merged.items())
    reasons = {family: listed.families.get(family, "") for family in {families[entry.case] for entry in kept}}
    return KnownResults(reasons, kept)


def complaints(listed: KnownResults, results: Iterable[Result]) -> Iterator[str]:
    """Yield a line for each result that is not as listed, better ones included."""
    known = listed.by_key()
    for result in results:
        entry = known.get((result.case, result.version))
        grade, fields = (entry.grade, entry.fields) if entry else ("agree", ())
        if (result.grade, set(result.differing)) != (grade, set(fields)):
            now, before = described(result.grade, result.differing), described(grade, fields)
            what = _compared((grade, fields), (result.grade, result.differing))
            yield f"{result.case} {result.version} is {what} than listed: {before} -> {now}; {RENEW}"


def _compared(before: tuple[str, tuple[str, ...]], now: tuple[str, tuple[str, ...]]) -> str:
    ranks = _RANKS.index(before[0]), _RANKS.index(now[0])
    if ranks[0] != ranks[1]:
        return "better" if ranks[1] < ranks[0] else "worse"
    if set(now[1]) < set(before[1]):
        return "better"
    return "worse" if set(now[1]) > set(before[1]) else "other"


def with_reasons(listed: KnownResults, results: Iterable[Result]) -> list[Result]:
    """Return the results; those that are wrong as listed, with a reason of their own, are graded `explained`."""
    known = listed.by_key()
    graded = []
    for result in results:
        entry = known.get((result.case, result.version))
        is_as_listed = entry and (entry.grade, set(entry.fields)) == (result.grade, set(result.differing))
        if entry and entry.reason and is_as_listed and result.grade == "wrong":
            graded.append(msgspec.structs.replace(result, grade=EXPLAINED))
        else:
            graded.append(result)
    return graded


def with_table(text: str, listed: KnownResults, totals: Mapping[str, int]) -> str:
    """Return a page with the rows of its table as the list has them; `totals`: the cases of each version.

    A row: the version, and how many agree, are unknown, wrong and explained, wrong and not explained.
    """
    rows = {}
    for version, total in totals.items():
        found = [entry for entry in listed.results if version in entry.versions]
        wrong = [entry for entry in found if entry.grade == "wrong"]
        explained = sum(bool(entry.reason) for entry in wrong)
        numbers = (total - len(found), len(found) - len(wrong), explained, len(wrong) - explained)
        rows[version] = f"| {version} | " + "".join(f"{number} | " for number in numbers)
    return _ROW.sub(lambda row: rows[row[1]].rstrip() if row[1] in rows else row[0], text)
