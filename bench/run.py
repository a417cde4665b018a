"""Run the benchmarks, print what they say, and store it in a folder of its own or in bench/results.

python bench/run.py                     # suite, peers and growth: under five minutes on two cores
python bench/run.py --full              # the large sizes too (about an hour)
python bench/run.py --replace           # into bench/results
python bench/run.py suite -k neighbours # a part; prints, and stores nothing
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import _harness
import growth
import panel
import pytest

HERE = Path(__file__).resolve().parent
PARTS = ["suite", "peers", "growth", "panel"]
#: The parts that are programs of their own, not files of pytest-benchmark; each is told whether large sizes are run.
PROGRAMS = {"growth": lambda full: growth.run(quick=not full), "panel": lambda full: panel.run(full=full)}


def run_pytest(part: str, *, full: bool, keyword: str | None) -> tuple[int, list[dict[str, Any]]]:
    """Run one file under pytest-benchmark; its exit status and the records' extra_info."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.json"
        command = [
            str(HERE / f"test_{part}.py"),
            "-q",
            "-rs",
            "-p",
            "no:cacheprovider",
            "--benchmark-enable",
            "--benchmark-disable-gc",
            "--benchmark-columns=min,median,rounds",
            "--benchmark-sort=fullname",
            f"--benchmark-json={path}",
            "--timeout=3600",
            "--rootdir",
            str(HERE.parent),
        ]
        command += ["--full"] if full else []
        command += ["-k", keyword] if keyword else []
        status = int(pytest.main(command))
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
    records = json.loads(text)["benchmarks"] if text else []
    return status, [record["extra_info"] for record in records]


def store_suite(records: Sequence[dict[str, Any]], *, command: str) -> None:
    rows = []
    for record in records:
        bytes_ = record.get("peak_bytes")
        rows.append(
            {
                **record,
                "milliseconds": record["seconds"] * 1e3,
                "megabytes": None if bytes_ is None else bytes_ / 1e6,
                "percent": None if "share" not in record else 100 * record["share"],
                "of": {"sgemm_gflops": "sgemm", "copy_gbytes": "copy"}.get(record.get("limit")),
            }
        )
    limits = {row["threads"]: row["limits"] for row in rows if "limits" in row}
    for row in rows:
        row.pop("limits", None)
    notes = "Median of the better half of the rounds; memory is the peak beyond the input, in a process of its own."
    for n_threads, rates in sorted(limits.items()):
        notes += (
            f" Limits of this run on {n_threads} thread(s): sgemm {rates['sgemm_gflops']:.0f} GFLOP/s, dgemm "
            f"{rates['dgemm_gflops']:.0f} GFLOP/s, copy {rates['copy_gbytes']:.1f} GB/s."
        )
    notes += (
        " Share of the limit: the least amount of work divided by the time, and this divided by the limit. The "
        "work compared with sgemm is counted in floating-point operations; a search for the neighbours of all "
        "rows counts half of the products, because the other half is the same. The work compared with copy is "
        "counted in bytes that are read or written."
    )
    _harness.save_table(
        "suite",
        title="Suite",
        command=command,
        notes=notes,
        rows=rows,
        facts={"limits": limits},
        columns=[
            ("case", "work", "s"),
            ("shown", "size", "s"),
            ("threads", "threads", "d"),
            ("milliseconds", "time", ".2f ms"),
            ("megabytes", "memory", ".1f MB"),
            ("percent", "share of the limit", ".0f %"),
            ("of", "limit", "s"),
        ],
    )


def store_peers(records: Sequence[dict[str, Any]], *, command: str) -> None:
    rows = [{**record, "ours": record["seconds"] * 1e3, "theirs": record["peer_seconds"] * 1e3} for record in records]
    _harness.save_table(
        "peers",
        title="Peers",
        command=command,
        rows=rows,
        notes="Two threads each, in turns within one process; a ratio below 1 means that the peer is faster. "
        "plain NumPy: the simple versions in tests/reference/.",
        columns=[
            ("work", "work", "s"),
            ("peer", "peer", "s"),
            ("ours", "nmlsdr", ".2f ms"),
            ("theirs", "peer's time", ".2f ms"),
            ("ratio", "times faster", ".2f x"),
            ("rounds", "rounds", "d"),
        ],
        values={f"{row['work']} {row['peer']}".replace(" ", "_"): row["ratio"] for row in rows},
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the benchmarks and store their results.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--full", action="store_true", help="the large sizes too (about an hour)")
    parser.add_argument("-k", dest="keyword", help="pytest's -k: a part of the suite; nothing is stored")
    _harness.add_replace(parser)
    options = parser.parse_args(arguments)
    _harness.choose_folder(options.replace)
    if unknown := sorted(set(options.parts) - set(PARTS)):
        parser.error(f"no part {', '.join(unknown)}; choose from {', '.join(PARTS)}.")
    began = time.perf_counter()
    worst = 0
    flag = " --full" if options.full else ""
    for part in options.parts or PARTS:
        if part in PROGRAMS:
            if not options.keyword:
                PROGRAMS[part](options.full)
            continue
        status, records = run_pytest(part, full=options.full, keyword=options.keyword)
        worst = max(worst, status)
        if records and status == 0 and not options.keyword:
            store = store_suite if part == "suite" else store_peers
            store(records, command=f"python bench/run.py {part}{flag}")
    print(f"took {time.perf_counter() - began:.0f} s")
    return worst


if __name__ == "__main__":
    sys.exit(main())
