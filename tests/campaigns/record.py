"""The last run of each campaign: its commit, date and counts, in last_runs.json beside this file.

A campaign is a search for errors that takes too long for every change.  Its option --record writes what it found.
"""

import datetime
import json
import subprocess
from pathlib import Path

FILE = Path(__file__).with_name("last_runs.json")


def commit_and_date():
    """The commit that is checked out, and today's date."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=FILE.parent, capture_output=True, text=True, check=True
    ).stdout.strip()
    return commit, datetime.datetime.now(datetime.UTC).date().isoformat()


def save(campaign, counts):
    """Replace what the file says about this campaign, a command with its arguments."""
    commit, today = commit_and_date()
    runs = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    runs[campaign] = {"commit": commit, "date": today, "counts": dict(counts)}
    FILE.write_text(json.dumps(dict(sorted(runs.items())), indent=1) + "\n", encoding="utf-8")
