"""datasets list, info, fetch, verify: the article's data sets on this machine."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from nmlsdr._errors import printable

from .arguments import QUIET, add_verb, option
from .console import Console, RunError
from .parser import Parser


def add_parsers(verbs: Any) -> None:
    """Describe the verb and its four parts."""
    parser = verbs.add_parser("datasets", help="list, describe, fetch and verify the article's data sets")
    parts = parser.add_subparsers(
        dest="part_name", required=True, metavar="list|info|fetch|verify", parser_class=Parser
    )
    home = option("DIR", "the folder with the data sets (default: NMLSDR_DATA, else ~/nmlsdr_data)")
    for name, run, summary, nargs in (
        ("list", _list, "names, sizes, and whether the files are here", None),
        ("info", _info, "what a data set holds and where it comes from", "+"),
        ("fetch", _fetch, "download the files and check them", "*"),
        ("verify", _verify, "check the files that are here", "*"),
    ):
        names = {} if nargs is None else {"names": option("NAME", "default: all", nargs=nargs)}
        options = {**names, "--data-home": home, **QUIET}
        add_verb(parts, name, datasets, summary, f"{summary[0].upper()}{summary[1:]}.", options).set_defaults(part=run)


def datasets(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr datasets``."""
    from nmlsdr.datasets._catalog import dataset_info, list_datasets

    names = [dataset_info(name)["name"] for name in getattr(args, "names", []) or list_datasets()]
    run: Callable[..., int] = args.part
    return run(names, args, console)


def _list(names: Sequence[str], args: argparse.Namespace, console: Console) -> int:
    from nmlsdr.datasets._catalog import dataset_info, verify_dataset

    print(f"{'set':<10}{'train':>7}{'test':>7}{'attributes':>12}{'labels':>8}  files")
    for name in names:
        paper = dataset_info(name)["paper"]
        states = {found["state"] for found in verify_dataset(name, args.data_home)}
        state = "here" if states == {"ok"} else "missing" if states == {"missing"} else ", ".join(sorted(states))
        print(f"{name:<10}{paper['train']:>7}{paper['test']:>7}{paper['attributes']:>12}{paper['labels']:>8}  {state}")
    return 0


def _info(names: Sequence[str], args: argparse.Namespace, console: Console) -> int:
    from nmlsdr.datasets._catalog import dataset_info, verify_dataset

    for name in names:
        info = dataset_info(name)
        paper = info["paper"]
        print(f"{info['name']}: {info['subject']}")
        print(f"  article     {', '.join(f'{what} {value}' for what, value in paper.items())}")
        for rule, value in info["rules"].items():
            print(f"  rule        {rule}: {value}")
        print(f"  home        {info['home']}")
        for found in verify_dataset(name, args.data_home):
            file = info["files"][found["role"]]
            print(printable(f"  {found['role']:<10}  {found['state']}: {found['file']}"))
            print(f"              {file['bytes']} bytes unpacked, sha256 {file['sha256']}")
            print(f"              {file['url']}")
    return 0


def _fetch(names: Sequence[str], args: argparse.Namespace, console: Console) -> int:
    from nmlsdr.datasets import DataFileError, fetch_dataset

    for name in names:
        try:
            with console.step(f"fetch {name}"):
                files = fetch_dataset(name, args.data_home)
        except DataFileError as error:  # the names are known to be right, so it is the network or the folder
            raise RunError(str(error)) from error
        for file in files:
            print(printable(str(file)))
    return 0


def _verify(names: Sequence[str], args: argparse.Namespace, console: Console) -> int:
    from nmlsdr.datasets._catalog import verify_dataset

    bad = 0
    for name in names:
        with console.step(f"verify {name}"):
            report = verify_dataset(name, args.data_home)
        for found in report:
            print(printable(f"{name:<10}{found['role']:<8}{found['state']:<12}{found['file']}"))
            bad += found["state"] != "ok"
    if bad:
        raise RunError(f"{bad} of {3 * len(names)} files are missing or have unexpected content; see the list.")
    return 0
