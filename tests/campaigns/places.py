"""Where a mutant is: a pattern within a function.  White space in the pattern stands for any white space."""

import re

_DEFINITION = re.compile(r"^([ \t]*)(?:(?:async )?def|class|c(?:p?def)\b[^\n=]*?)\s+(\w+)\s*[(:]", re.M)
_C_FUNCTION = re.compile(r"^(?![#/*}\s]|typedef)[^\n;={]*?\b(\w+)\(", re.M)


class Missing(LookupError):
    """The pattern is not there exactly once."""


def functions(source, suffix):
    """Yield (name, begin, end) of each function and class in a source file, as positions in its text.

    A Python or Cython block ends before the next line that is indented no deeper; a C function ends with its closing
    brace at the start of a line.
    """
    if suffix == ".h":
        for found in _C_FUNCTION.finditer(source):
            end = re.compile(r"^}", re.M).search(source, found.end())
            yield found[1], found.start(), end.end() if end else len(source)
        return
    for found in _DEFINITION.finditer(source):
        outside = re.compile(rf"^(?![ \t]{{{len(found[1]) + 1}}}|[ \t]*[)\]]|[ \t]*$)", re.M)
        end = outside.search(source, source.index("\n", found.end()) + 1)
        yield found[2], found.start(), end.start() if end else len(source)


def replaced(source, suffix, function, old, new):
    """Return the source with the pattern `old` replaced by `new` in the functions of that name ("": anywhere)."""
    pattern = re.compile(r"\s+".join(map(re.escape, old.split())))
    spans = [(i, j) for name, i, j in functions(source, suffix) if name == function] if function else [(0, len(source))]
    found = {match.span() for i, j in spans for match in pattern.finditer(source, i, j)}
    if len(found) != 1:
        raise Missing(f"{old!r} is there {len(found)} times")
    ((begin, end),) = found
    return source[:begin] + new + source[end:]


def mutated(package, mutant):
    """Return (path, source with the mutant's line broken): in its file or, if its function moved, in another one."""
    first = package / mutant.file
    others = (path for pattern in ("*.py", "*.pyx", "*.h") for path in sorted(package.rglob(pattern)))
    failure = Missing(f"there is no {mutant.file}")
    if first.exists():
        source = first.read_text(encoding="utf-8")
        try:
            return first, replaced(source, first.suffix, mutant.function, mutant.old, mutant.new)
        except Missing as error:
            failure = error
    moved = []
    for path in others if mutant.function else ():
        source = path.read_text(encoding="utf-8")
        try:
            moved.append((path, replaced(source, path.suffix, mutant.function, mutant.old, mutant.new)))
        except Missing:
            continue
    if len(moved) != 1:
        raise failure
    return moved[0]
