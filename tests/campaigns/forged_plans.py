"""Models of tables, and how a random generator forges the plan of the table inside them."""

import copy
import functools
import io
import json
import tempfile
import zipfile
from pathlib import Path

from campaigns.damage import mutated
from campaigns.forged_models import VALUES, places_of
from nmlsdr.cli import main as command

VICTIM = "victim.csv"  # a file in the folder of the command, which no model may name
_KEYS = [
    "out",
    "mask",
    "labels",
    "label_file",
    "reviewed",
    "encoding",
    "max_bytes",
    "data",
    "model",
    "id",
    "label_columns",
    "label_list",
    "annotators",
    "separator",
    "no_label",
    "kind",
    "fill",
    "levels",
    "name",
    "reason",
    "decimal",
    "thousands",
    "month_first",
    "has_missing",
    "has_other",
    "missing",
]
_WORDS = [
    VICTIM,
    "number",
    "date",
    "yes/no",
    "category",
    "words",
    "identifier",
    "text",
    ",",
    ".",
    "0",
    "1",
    "y1",
    "Tags",
    "x" * 10_000,
    *VALUES,
    10**400,
    1e200,
    [1e200],
    {"a": "b"},
    {"yes": "2"},
    [[]],
]


@functools.cache
def models_of_tables():
    """For each of three kinds of tables: its bytes, and those of the model that was fitted on it."""
    numbers = ["x,y,y1,y2", *(f"{i % 7}.5,{3 * i % 5},{int(i % 7 > 3)},{int(3 * i % 5 > 2)}" for i in range(12))]
    raw = ["id,size,seen,smoker,ward,note,Tags"]
    raw += [
        f"p{i},{'n/a' if i % 9 == 4 else f'{i % 7},5'!r},2020-0{1 + i % 6}-15,{'yes' if i % 3 else 'no'},"
        f"{('east', 'west', '', 'Süd')[i % 4]},{('cough and fever', 'cough')[i % 2]} {i},"
        f"{('flu;cold', 'none', 'flu', 'cold', '')[i % 5]}".replace("'", '"')
        for i in range(40)
    ]
    options = ["--n-neighbors", "2", "--classifier", "mlknn", "--jobs", "1", "-q"]
    tables_and_models = []
    for lines, labels in (
        (numbers, ["--label-columns", "y1,y2"]),
        (raw, ["--label-list", "Tags"]),
        (raw, ["--annotators", "Tags", "--drop", "note"]),
    ):
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder, "t.csv")
            model = Path(folder, "m.skops")
            table.write_text("\n".join(lines) + "\n", encoding="utf-8")
            assert command(["fit", str(table), *labels, *options, "--out", str(model)]) == 0
            tables_and_models.append((table.read_bytes(), model.read_bytes()))
    return tuple(tables_and_models)


def files_of_a_plan(rng):
    """A table, a model whose plan is another one, and a file that the plan may name."""
    table, model = rng.choice(models_of_tables())
    with zipfile.ZipFile(io.BytesIO(model)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["schema.json"] = with_another_plan(members["schema.json"].decode(), rng).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return {"t.csv": table, "m.skops": packed.getvalue(), VICTIM: b"x,y1\n1,0\n"}


def with_another_plan(schema, rng):
    """The schema of a model file with some values of its plan changed."""
    schema = json.loads(schema)
    texts = [(node, key) for node, key in places_of(schema) if key == "content" and '"keep_case' in str(node[key])]
    ((holder, _),) = [place for place in texts if place[0]["__loader__"] == "JsonNode"]
    plan = json.loads(json.loads(holder["content"]))
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        places = list(places_of(plan))
        if not places:
            break
        node, key = rng.choice(places)
        kind = rng.randrange(6)
        if kind <= 2:
            node[key] = copy.deepcopy(rng.choice(_WORDS))
        elif kind == 3:
            del node[key]
        elif kind == 4:
            other_node, place = rng.choice(places)
            node[key] = json.loads(json.dumps(other_node[place]))
        else:
            records = [plan, *(holder[key] for holder, key in places if isinstance(holder[key], dict))]
            rng.choice(records)[rng.choice(_KEYS)] = copy.deepcopy(rng.choice(_WORDS))
    text = json.dumps(plan)
    if rng.random() < 0.05:
        text = mutated(text.encode(), rng).decode("utf-8", "replace")
    holder["content"] = json.dumps(text)
    return json.dumps(schema)
