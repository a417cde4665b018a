"""datasets list, info, fetch: the article's data sets on this machine."""

import argparse

from .._errors import printable
from ..datasets import dataset_info, fetch_dataset, list_datasets, verify_dataset
from ..tables import DataFileError
from .console import Console


def _names(args: argparse.Namespace) -> list[str]:
    """Return the sets that were named, as the article prints them; all if none was."""
    return [dataset_info(name)["name"] for name in args.names or list_datasets()]


def list_sets(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr datasets list``."""
    print(f"{'set':<10}{'train':>7}{'test':>7}{'attributes':>12}{'labels':>8}  files")
    for name in _names(args):
        paper = dataset_info(name)["paper"]
        states = {file["state"] for file in verify_dataset(name, args.data_home)}
        state = "here" if states == {"ok"} else "missing" if states == {"missing"} else ", ".join(sorted(states))
        print(f"{name:<10}{paper['train']:>7}{paper['test']:>7}{paper['attributes']:>12}{paper['labels']:>8}  {state}")
    return 0


def info_sets(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr datasets info``."""
    for name in _names(args):
        info = dataset_info(name)
        paper = info["paper"]
        print(f"{info['name']}: {info['subject']}")
        print(f"  article     {', '.join(f'{quantity} {value}' for quantity, value in paper.items())}")
        for rule, value in info["rules"].items():
            print(f"  rule        {rule}: {value}")
        print(f"  home        {info['home']}")
        for found in verify_dataset(name, args.data_home):
            file = info["files"][found["role"]]
            print(printable(f"  {found['role']:<10}  {found['state']}: {found['file']}"))
            print(f"              {file['bytes']} bytes unpacked, sha256 {file['sha256']}")
            print(f"              {file['url']}")
    return 0


def fetch_sets(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr datasets fetch``."""
    for name in _names(args):
        try:
            with console.step(f"fetch {name}"):
                files = fetch_dataset(name, args.data_home)
        except DataFileError as error:  # the names are known to be right, so it is the network or the folder
            console.note(str(error))
            return 1
        for file in files:
            print(printable(str(file)))
    return 0
