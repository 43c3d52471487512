"""Compare our answers with what the real schedulers did: agree, unknown or wrong, by family and version.

    python -m tests.conformance [NAME ...] [--family F] [--cases FOLDER] [--show] [-j N]
    python -m tests.conformance --write-known
    python -m tests.conformance --pack FOLDER [--family F] [--cases FOLDER]

NAME is the beginning of the name of a case. Exit code 1 when a result is not as `differences.json`
beside the cases says. `--write-known` writes it anew, and with it the table of the READMEs.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.conformance import known
from tests.conformance.cases import CASES, Case, names_of, pack, read_cases, totals_of
from tests.conformance.grading import Result, judge, summary


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="the beginning of a case's name")
    parser.add_argument("--family", action="append", default=[], help="only this family; may be repeated")
    parser.add_argument("--cases", type=Path, default=CASES, help="a folder of archives or of case folders")
    parser.add_argument("--show", action="store_true", help="print both sides of every answer that does not agree")
    parser.add_argument("-j", type=int, default=os.cpu_count(), dest="processes", help="how many processes")
    parser.add_argument("--write-known", action="store_true", help=f"write {known.FILE} beside the cases anew")
    parser.add_argument("--pack", type=Path, metavar="FOLDER", help="write the case folders in FOLDER as archives")
    return parser.parse_args()


def _chosen(options: argparse.Namespace) -> Iterator[Case]:
    for case in read_cases(options.cases, options.family):
        if not options.names or case.name.startswith(tuple(options.names)):
            yield case


def _print(result: Result, *, both_sides: bool) -> None:
    sys.stdout.write(f"{result.grade}: {result.case} {result.version}: {', '.join(result.differing)}\n")
    if both_sides:
        sys.stdout.write(f"  theirs {json.dumps(result.theirs)}\n")
        for ours in result.ours["outcomes"]:
            sys.stdout.write(f"  ours   {json.dumps(ours)}\n")


def main() -> int:
    """Print what does not agree and the table, or pack, or write the list of known results."""
    options = _options()
    if options.pack:
        for path in pack(options.pack, options.cases, options.family):
            sys.stdout.write(f"{path.name} {path.stat().st_size}\n")
        return 0
    with ProcessPoolExecutor(options.processes) as pool:
        results = [result for group in pool.map(judge, _chosen(options), chunksize=4) for result in group]
    listed = known.read(options.cases)
    if options.write_known:
        known.write(options.cases, known.renewed(listed, results, names_of(options.cases)))
        listed = known.read(options.cases)
        if options.cases == CASES:
            known.write_tables(listed, totals_of(CASES))
    complaints = list(known.complaints(listed, results))
    results = known.with_reasons(listed, results)
    for result in results:
        if result.grade != "agree":
            _print(result, both_sides=options.show)
    sys.stdout.write("".join(f"{line}\n" for line in (summary(results), *complaints)))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
