"""What is wrong with the arguments of a command, found before its module and the libraries that it needs are loaded."""

import argparse
import os
from pathlib import PurePath
from typing import Any

from .._errors import InputError, import_extra
from .._output import check_output
from .parser import EXAMPLES, InputFile, is_model

ALPHAS = ("alpha_labeled", "alpha_unlabeled")
PARQUET = (".parquet", ".pq")
POSITIONAL = ("data", "first", "second")


def check_arguments(args: argparse.Namespace) -> argparse.Namespace:
    """Raise for files of the wrong kind, in the wrong order or absent, and for options that contradict each other.

    Returns
    -------
    Namespace
        The arguments, and for `fit` the classifier and threshold that its method has by default, if none was given.
    """
    _check_files(args.verb, *(getattr(args, name, None) or "" for name in ("data", "model", "labels")))
    if getattr(args, "out", None) is not None and hasattr(args, "suffixes"):
        _check_outputs(args)
    if getattr(args, "settled", None) is not None and args.out is None:
        raise InputError("--settled joins two files of verdicts; add --out FILE.csv for the joined one.")
    chosen = _choices(args) if args.verb == "fit" else {}
    for name, path in vars(args).items():
        if isinstance(path, InputFile) and path != "-" and not os.path.exists(path):
            subject = f"{name} file" if name in POSITIONAL else f"file of --{name.replace('_', '-')}"
            raise InputError(f"{path} does not exist; check the path of the {subject}.")
    return argparse.Namespace(**vars(args) | chosen)


def _check_files(verb: str, data: str, model: str, labels: str) -> None:
    """Raise for what the names of the files reveal before any is read."""
    if "://" in data + model:
        raise InputError("nmlsdr cannot read from an address; download the file and give its path.")
    if is_model(data) and not model:
        raise InputError(f"nmlsdr {verb} takes a table, and {data!r} is a model file; give the table of its fit.")
    if is_model(data) and not is_model(model):
        raise InputError(f"the model file comes before the table; write nmlsdr {verb} {data} {model}.")
    if model and not os.path.lexists(model):
        raise InputError(f"the model file {model!r} cannot be used: No such file; write it first: {EXAMPLES['fit']}.")
    if labels and not labels.endswith(".xml") and not os.path.exists(labels):
        raise InputError(f"--labels takes an XML file; for columns of the table write --label-columns {labels}.")


def input_files(args: argparse.Namespace) -> list[str]:
    """Return the files that the arguments name as inputs."""
    return [value for value in vars(args).values() if isinstance(value, InputFile) and value != "-"]


def _check_outputs(args: argparse.Namespace) -> None:
    """Raise if a file of --out cannot be written, or does not end in one of the suffixes of the command."""
    paths = [args.out] if isinstance(args.out, str) else args.out
    for path in paths:
        if path == "-" and ".skops" not in args.suffixes:  # a model is no stream
            continue
        suffix = PurePath(path).suffix.lower()
        if suffix not in args.suffixes:
            raise InputError(f"The output {path!r} must end in {', '.join(args.suffixes)}; rename it.")
        if suffix in PARQUET:
            need_pyarrow()
        check_output(path, inputs=input_files(args))
    if len(set(map(os.path.abspath, paths))) < len(paths):
        raise InputError(f"--out {paths[-1]} is given twice; give two files, such as a list and a page.")


def need_pyarrow() -> object:
    """Return the package that writes Parquet files."""
    return import_extra("pyarrow.parquet", "Writing Parquet files", "parquet")


def _choices(args: argparse.Namespace) -> dict[str, Any]:
    """Return the method, its classifier and the threshold, and refuse options that contradict each other."""
    from .._article_methods import METHODS, find_method

    method = METHODS[find_method(args.method)]
    method.check_alpha(args.alpha_labeled)
    takes_residual = method.name in ("NMLSDR", "NMLSDR*")
    classifier = args.classifier or ("residual" if takes_residual else "semi-supervised")
    if classifier == "residual" and not takes_residual:
        raise InputError(
            f"--classifier residual goes with --method NMLSDR only, got {method.name}; change one of them."
        )
    if args.threshold is not None and classifier == "none":
        raise InputError("--threshold is for a classifier, got --classifier none; leave it out.")
    if not (method.semi_supervised or classifier == "semi-supervised"):
        _refuse_graph_options(args, method.name, classifier)
    threshold = _default_threshold(classifier) if args.threshold is None else args.threshold
    return {"method": method.name, "classifier": classifier, "threshold": threshold}


def _default_threshold(classifier: str) -> str | float:
    return "f1" if classifier == "residual" else 0.5


def _refuse_graph_options(args: argparse.Namespace, method_name: str, classifier: str) -> None:
    """Raise for the first option of a neighbour graph; the method and the classifier make none."""
    options = [alpha for alpha in ALPHAS if getattr(args, alpha) is not None]
    if args.metric != "euclidean" and classifier == "none":
        options.append("metric")
    if options:
        option = f"--{options[0].replace('_', '-')}"
        raise InputError(f"{option} has no effect on {method_name} with --classifier {classifier}; leave it out.")
