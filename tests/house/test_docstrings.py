"""Every example in a docstring runs as printed, and every public function has one."""

import dataclasses
import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import nmlsdr

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(nmlsdr.__path__, "nmlsdr.") if not module.name.endswith("__main__")
)


def has_examples(name):
    """Whether the source of a module holds an example; a compiled module may."""
    source = Path(importlib.util.find_spec(name).origin)
    return source.suffix != ".py" or ">>> " in source.read_text(encoding="utf-8")


@pytest.mark.usefixtures("default_forest")
@pytest.mark.parametrize("name", [name for name in MODULES if has_examples(name)])
def test_examples_run_as_printed(name):
    module = importlib.import_module(name)
    failures, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert failures == 0


def public_objects():
    for name in MODULES:
        if any(part.startswith("_") or part == "experiments" for part in name.split(".")[1:]):
            continue  # the experiments are an application: their door is the command line
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", []):
            public_object = getattr(module, public)
            if inspect.isfunction(public_object) or inspect.isclass(public_object):
                yield f"{name}.{public}", public_object


@pytest.mark.parametrize(
    ("name", "public_object"), list(public_objects()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_public_things_are_documented_with_an_example(name, public_object):
    text = inspect.getdoc(public_object) or ""
    assert text, f"{name} has no docstring"
    if inspect.isclass(public_object) and (
        issubclass(public_object, (Exception, tuple)) or dataclasses.is_dataclass(public_object)
    ):
        return  # errors and records: the functions that give them have the examples
    assert ">>>" in text or _method_has_example(public_object), f"{name} has no example"


def _method_has_example(public_object):
    return inspect.isclass(public_object) and any(
        ">>>" in (inspect.getdoc(member) or "") for member in vars(public_object).values()
    )


def parameters_with_defaults():
    """(name, docstring, parameter, default) of what is public: functions, constructors and methods."""
    for name, public_object in public_objects():
        members = [(name, public_object, public_object)]
        if inspect.isclass(public_object):
            members = [(name, public_object, public_object.__init__)] if "__init__" in vars(public_object) else []
            members += [(f"{name}.{key}", f, f) for key, f in inspect.getmembers(public_object, inspect.isfunction)]
        for label, documented, function in members:
            text = inspect.getdoc(documented) or ""
            if label.rpartition(".")[2].startswith("_") or not function.__module__.startswith("nmlsdr"):
                continue
            if "Parameters\n" not in text:
                continue  # a helper whose one sentence says it all
            for parameter in inspect.signature(function).parameters.values():
                if parameter.default is not inspect.Parameter.empty:
                    yield pytest.param(text, parameter.name, parameter.default, id=f"{label}-{parameter.name}")


@pytest.mark.parametrize(("text", "parameter", "default"), list(parameters_with_defaults()))
def test_parameters_say_their_default(text, parameter, default):
    (line,) = re.findall(rf"^(?:.*, )?{parameter}(?:, .*)? : .*$", text, flags=re.MULTILINE)
    _, _, documented_default = line.partition("default=")
    assert documented_default, line
    assert eval(documented_default.replace(" GiB", " * 2**30")) == default


def described(text):
    """(section, names, description) of the entries of the sections Parameters and Attributes of a docstring."""
    for section in ("Parameters", "Attributes"):
        body = re.search(rf"^{section}\n-+\n(.*?)(?:\n\n[A-Z][\w ]+\n-+\n|\Z)", text, flags=re.MULTILINE | re.DOTALL)
        for entry in re.split(r"\n(?=\S)", body.group(1)) if body else ():
            names, _, description = entry.partition("\n")
            yield section, names.partition(" : ")[0], " ".join(description.split())


def documented_members():
    for name, public_object in public_objects():
        yield pytest.param(inspect.getdoc(public_object) or "", id=name)
        for key, member in (
            inspect.getmembers(public_object, inspect.isroutine) if inspect.isclass(public_object) else ()
        ):
            if not key.startswith("_") and (getattr(member, "__module__", None) or "").startswith("nmlsdr"):
                yield pytest.param(inspect.getdoc(member) or "", id=f"{name}.{key}")


@pytest.mark.parametrize("text", list(documented_members()))
def test_every_parameter_and_attribute_is_described_in_sentences(text):
    for _, names, description in described(text):
        assert re.match(r"\S+ \S+.*\.$", description), names


SHARED = {
    "n_neighbors",
    "edge_weights",
    "sigma",
    "metric",
    "alpha_labeled",
    "alpha_unlabeled",
    "neighbors",
    "propagation_solver",
    "tol",
    "max_iter",
    "n_jobs",
    "graph",
    "alpha",
    "labeled",
    "smoothing",
    "at_least_one",
    "components_",
    "effective_rank_",
    "label_distributions_",
    "transduction_",
    "label_flips_",
    "n_neighbors_",
    "n_iter_",
    "residual_",
    "n_unreached_",
    "propagation_solver_",
    "neighbors_",
    "classes_",
    "label_names_in_",
    "n_features_in_",
    "feature_names_in_",
}
OWN = {  # what these estimators call by a shared name is something else
    "ExactNeighborsTransformer": {"n_neighbors"},  # not lowered, and it has another default
    "MLDA": {"max_iter", "n_iter_"},  # epochs
    "MVMD": {"effective_rank_"},  # as far as it was computed
}


@pytest.mark.parametrize("shared", sorted(SHARED))
def test_estimators_describe_a_shared_parameter_in_the_same_words(shared):
    texts = set()
    for name in nmlsdr.__all__:
        public_object = getattr(nmlsdr, name)
        if hasattr(public_object, "fit") and shared not in OWN.get(name, ()):
            entries = [*described(inspect.getdoc(public_object)), *described(inspect.getdoc(public_object.fit))]
            texts |= {text for _, names, text in entries if names == shared}
    assert texts, "no estimator has it"
    shortest = min(texts, key=len)
    other_descriptions = [text for text in texts if not text.startswith(shortest)]
    assert not other_descriptions, f"{other_descriptions} does not begin with {shortest!r}"
