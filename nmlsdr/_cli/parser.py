"""The argument parser of all verbs, and one table of answers to frequent slips."""

import argparse
import difflib
import itertools
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from .._errors import InputError


def _by_word(table: Mapping[str, str]) -> dict[str, str]:
    return {word: answer for words, answer in table.items() for word in words.split()}


#: A complete command for each verb.
EXAMPLES = {
    "plan": "nmlsdr plan train.csv --label-columns flu,cold",
    "fit": "nmlsdr fit train.csv --label-columns flu,cold --out model.skops",
    "predict": "nmlsdr predict model.skops test.csv --out predicted.csv",
    "correct": "nmlsdr correct train.csv --label-columns flu,cold --reviewed checked.csv --out corrected.csv",
    "agree": "nmlsdr agree checked_by_anna.csv checked_by_ben.csv",
    "evaluate": "nmlsdr evaluate model.skops test.csv --label-columns flu,cold",
    "review": "nmlsdr review train.csv --label-columns flu,cold --out review.html",
    "report": "nmlsdr report train.csv --label-columns flu,cold --out report.html",
    "reproduce": "nmlsdr reproduce toy",
    "transform": "nmlsdr transform model.skops test.csv --out embedding.csv",
    "datasets": "nmlsdr datasets fetch Birds Emotions",
}

_LABELS = (
    "write --label-columns NAME,... for columns of 0 and 1, or --label-list NAME for one column that lists the labels"
)
_FILE = f"write the file without an option, as in {EXAMPLES['predict']}"
_OPTIONS = _by_word(
    {  # options of other programs
        "--sep --field-separator": "write --delimiter for the character between the cells of a CSV file, or "
        "--separator for the one between the labels of --label-list",
        "--label --target --targets --target-column --target-columns --class --classes --y -y -l": _LABELS,
        "--output --outfile --output-file --save": "write --out FILE",
        "--model --data --input --file --train --test -i -f -m": _FILE,
        "--k --knn --neighbors --neighbours --n-neighbours -k -n": "write --n-neighbors K",
        "--n-jobs --threads --n-threads --cores --workers -j -t": "write --jobs J",
        "--random-state --random-seed": "write --seed S",
        "--components --dimensions --dim -d": "write --n-components D",
        "--index --index-col --ids --row-names": "write --id NAME",
        "--features --columns": "every column that is not a label is a feature; leave columns out with --drop NAME,...",
        "--categorical --categories --dummies": "write --one-hot NAME,...",
        "--na --na-values --nan": "write --missing WORD,...",
        "--header --no-header": "line 1 of a table always gives the names of the columns",
        "--threshold --cutoff": "thresholds are chosen at fit: write nmlsdr fit --threshold f1, macro, prior or "
        "NUMBER; predict --probabilities writes the probabilities",
        "--alpha": "write --alpha-labeled A or --alpha-unlabeled A",
        "--verbose -v": "progress is shown unless you add --quiet",
        "--version -V": "write nmlsdr --version",
        "--standardize --scale --normalize": "features are standardized unless you add --no-standardize",
    }
)
_VERBS = _by_word(
    {  # verbs of other programs
        "train learn": "fit",
        "classify apply": "predict",
        "embed reduce": "transform",
        "test score eval validate": "evaluate",
        "clean check": "review",
        "fetch download": "datasets fetch",
        "list ls": "datasets list",
        "describe show": "info",
    }
)
_PARTS = _by_word({"download get": "fetch", "ls": "list", "show describe check verify": "info"})


def is_model(path: str) -> bool:
    """Whether a file has the suffix of a model."""
    return path.lower().endswith(".skops")


class InputFile(str):
    """The type of every option that names a file to read, so that no output can replace one."""


def _similar_word(word: str, words: Sequence[str], aliases: Mapping[str, str]) -> str | None:
    """The word that somebody probably meant: the one that has this alias, or the most similar one, if any is."""
    if word in aliases:
        return aliases[word]
    return next(iter(difflib.get_close_matches(word, words, n=1)), None)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence that says what to write instead, without the usage text."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Raise instead of leaving the process."""
        choice = re.search(r"argument (.*): invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if choice is not None:
            message, advice = self._wrong_choice(message, choice[1], choice[2], re.findall(r"[\w-]+", choice[3]))
        elif message.startswith("the following arguments are required") and self._verb in EXAMPLES:
            advice = f"; for example: {EXAMPLES[self._verb]}"
        else:
            advice = ""
        advice = advice or f"; see '{self.prog} --help'"
        raise InputError(message + advice + ("" if advice.endswith("?") else "."))

    @property
    def _verb(self) -> str:
        return self.prog.split(" ")[1] if " " in self.prog else ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; the parser of a verb itself raises for words that are too many."""
        seen_actions: list[argparse.Action] = []
        for word in args:
            if word == "--" or (self._subparsers is not None and not word.startswith("-")):
                break  # what follows a verb is for the parser of the verb
            self._refuse_unknown(word.partition("=")[0])
            known = self._option_string_actions
            short = word[:2] if word[:2] != "--" else ""
            action = known.get(word.partition("=")[0]) or known.get(short)
            if isinstance(action, argparse._StoreAction):
                if action in seen_actions:
                    name = action.option_strings[-1]
                    raise InputError(f"{self.prog} takes {name} once, and it is given twice; leave one out.")
                seen_actions.append(action)
        parsed, unknown_words = super().parse_known_args(args, namespace)
        if unknown_words:
            raise InputError(
                f"unrecognized arguments: {' '.join(unknown_words)}; {self._why_too_many(args, unknown_words[0])}."
            )
        return parsed, unknown_words

    def _refuse_unknown(self, word: str) -> None:
        """Raise for an option that the parser does not have."""
        known = self._option_string_actions
        plain = word.lstrip("-\N{EN DASH}\N{EM DASH}")
        if plain == word or not plain[:1].isalpha() or word in known or (word[:2] in known and f"-{word}" not in known):
            return
        if f"--{plain}" in known:
            advice = f"write it with two hyphens: --{plain}"
        else:
            similar = difflib.get_close_matches(word, known, n=1)
            advice = _OPTIONS.get(word) or (f"did you mean {similar[0]}?" if similar else f"see '{self.prog} --help'")
        raise InputError(f"{self.prog} has no option {word}; {advice}" + ("" if advice.endswith("?") else "."))

    def _wrong_choice(self, message: str, subject: str, word: str, words: Sequence[str]) -> tuple[str, str]:
        """Return what is wrong, and what was probably meant or an empty text."""
        is_verb = subject == "COMMAND" or "|" in subject  # and not the value of an option
        if subject == "COMMAND" and ("." in word or os.path.exists(word)):
            return f"there is no command {word!r}", f"; write a command before the file, as in {EXAMPLES['fit']}"
        aliases = _VERBS if subject == "COMMAND" else _PARTS if is_verb else {}
        meant = _similar_word(word.lower(), words, aliases)
        if is_verb:
            message = f"there is no command {word!r}" + ("" if meant else f" among {', '.join(words)}")
        return message, f"; did you mean {meant!r}?" if meant else ""

    def _why_too_many(self, args: Sequence[str], first: str) -> str:
        """Explain a word that is neither an option nor expected."""
        place = list(args).index(first)
        option = next((word for word in reversed(args[:place]) if word in self._option_string_actions), "")
        metavar = getattr(self._option_string_actions.get(option), "metavar", None)
        if is_model(first) or (any(map(is_model, args[:place])) and self._verb in ("fit", "review", "report")):
            return f"{self.prog} takes a table and no model file"
        if metavar == "NAME,...":
            values = itertools.takewhile(lambda word: not word.startswith("-"), args[args.index(option) + 1 :])
            names = ",".join(word.strip(",") for word in values if not os.path.exists(word))
            return f"write names with commas and without blanks between them: {option} {names}"
        if metavar in ("NAME", "WORD") and args[place - 2] == option:
            return f'put a name that contains blanks in double quotes: {option} "{args[place - 1]} {first}"'
        return f"for example: {EXAMPLES[self._verb]}" if self._verb in EXAMPLES else f"see '{self.prog} --help'"
