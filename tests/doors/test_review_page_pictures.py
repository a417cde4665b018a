"""Pictures on the review page: small data of four kinds, and no file but those below the folder of the table."""

import base64
import os
import re

import pytest

from nmlsdr.inspection._images import thumbnails


@pytest.fixture
def pictures(tmp_path):
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "data"
    (folder / "deep").mkdir(parents=True)
    image.new("RGB", (1000, 500), "red").save(folder / "a.png")
    image.new("RGBA", (10, 10), (0, 0, 0, 0)).save(folder / "deep" / "b.webp")
    image.new("P", (30, 20)).save(folder / "c.gif")
    image.new("L", (30, 20)).save(folder / "d.jpeg")
    image.new("RGB", (5, 5)).save(folder / "e.bmp")
    image.new("RGB", (5, 5)).save(tmp_path / "outside.png")
    (folder / "f.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')
    (folder / "g.png").write_text("<script>")
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    (folder / "linked").symlink_to(tmp_path)
    return folder


def test_pictures_are_small_data_of_four_kinds(pictures):
    image = pytest.importorskip("PIL.Image")
    import io

    pictures_read = thumbnails(str(pictures), ["a.png", "deep/b.webp", "c.gif", "d.jpeg", "a.png", ""])
    assert [name for name, _ in pictures_read] == ["a.png", "deep/b.webp", "c.gif", "d.jpeg", "a.png", ""]
    assert pictures_read[-1] == ["", ""]
    for _, uri in pictures_read[:-1]:
        kind, text = re.fullmatch(r"data:image/(png|jpeg);base64,(.*)", uri).groups()
        opened = image.open(io.BytesIO(base64.b64decode(text)))
        assert opened.format == kind.upper()
        assert max(opened.size) <= 480
    assert opened.size == (480, 240)


@pytest.mark.parametrize(
    "name",
    [
        "../outside.png",
        "deep/../../outside.png",
        "link.png",
        "linked/outside.png",
        "http://example.org/a.png",
        "file:a.png",
        "e.bmp",
        "f.svg",
        "g.png",
        "deep",
        "no.png",
        "..\\outside.png",
        "\0",
        "C:\\a.png",
        "a.png/",
        ".",
    ],
)
def test_nothing_else_is_read(pictures, name):
    ((picture_name, uri),) = thumbnails(str(pictures), [name])
    assert uri == "" or name == "a.png/"
    assert picture_name.startswith(name)
    ((_, absolute),) = thumbnails(str(pictures), [str(pictures.parent / "outside.png")])
    assert absolute == ""


def test_a_pipe_that_waits_for_a_writer_is_not_opened(pictures):
    os.mkfifo(pictures / "pipe.png")
    ((picture_name, uri),) = thumbnails(str(pictures), ["pipe.png"])
    assert (picture_name, uri) == ("pipe.png (not a picture below the folder of the data)", "")


def test_a_picture_with_a_very_long_side_is_not_read(pictures):
    image = pytest.importorskip("PIL.Image")
    for side, shown in ((20_000, True), (20_001, False)):
        image.new("L", (side, 1)).save(pictures / "long.png")
        assert bool(thumbnails(str(pictures), ["long.png"])[0][1]) == shown


def test_pictures_beyond_the_limit_are_named(pictures, monkeypatch):
    monkeypatch.setattr("nmlsdr.inspection._images.MOST_BYTES", len(thumbnails(str(pictures), ["a.png"])[0][1]))
    pictures_read = thumbnails(str(pictures), ["a.png", "c.gif", "a.png"])
    assert pictures_read[0] == pictures_read[2]
    assert pictures_read[0][1]
    assert pictures_read[1] == ["c.gif (the page has no room for it)", ""]
