"""Results appear whole or not at all."""

import os
import signal
import stat
import subprocess
import sys
import textwrap

import pytest

from nmlsdr._output import check_output, replace_file


def write(path, content=b"new", **options):
    with replace_file(path, **options) as file:
        file.write(content)


def test_new_file_and_replacement(tmp_path):
    write(tmp_path / "a", b"one")
    assert (tmp_path / "a").read_bytes() == b"one"
    write(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["a"]


def test_old_content_stays_until_the_end_and_after_an_error(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def interrupted():
        with replace_file(path) as file:
            file.write(b"x" * 1_000_000)
            file.flush()
            assert path.read_bytes() == b"old"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_new_file_has_the_usual_permissions(tmp_path):
    write(tmp_path / "fresh")
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "fresh").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "plain").chmod(0o600)
    write(tmp_path / "plain")
    assert stat.S_IMODE((tmp_path / "plain").stat().st_mode) == 0o600


@pytest.mark.parametrize("exists", [True, False])
def test_an_output_that_is_a_link_is_written_to_its_target(tmp_path, exists):
    (tmp_path / "far").mkdir()
    if exists:
        (tmp_path / "far" / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(os.path.join("far", "real"))
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far" / "real").read_bytes() == b"new"
    assert os.listdir(tmp_path / "far") == ["real"]


def test_pipe_is_written_directly(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write(tmp_path / "pipe")
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as error_info, replace_file(tmp_path / "a") as file:
        file.write(b"a")
    assert error_info.value.filename == str(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_file_name_of_the_largest_length_can_be_written(tmp_path):
    name = "é" * 127  # 254 bytes; the temporary name must be cut, even inside a character
    write(tmp_path / name)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("in", "same file as the input"),
        ("link", "same file as the input"),
        ("hard", "same file as the input"),
        ("there", "is a folder"),
        ("away/", "is not a file name"),
        ("nowhere/a", "does not exist; make it first"),
        ("in/a", "cannot be used"),
        ("circle", "cannot be used"),
        ("a" * 300, "cannot be used"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_and_nothing_changes(tmp_path, name, message):
    (tmp_path / "in").write_bytes(b"old")
    (tmp_path / "link").symlink_to("in")
    (tmp_path / "hard").hardlink_to(tmp_path / "in")
    (tmp_path / "there").mkdir()
    (tmp_path / "circle").symlink_to("back")
    (tmp_path / "back").symlink_to("circle")
    before = sorted(os.listdir(tmp_path))
    for attempt in (check_output, write):
        with pytest.raises(ValueError, match=message) as error:
            attempt(os.path.join(tmp_path, name), inputs=[tmp_path / "in"])
        assert "\n" not in str(error.value)
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "in").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("name", "protected", "message"),
    [("a", "a", "write-protected; choose another name"), ("b", ".", "folder '.*' is write-protected")],
)
def test_a_write_protected_folder_is_refused(tmp_path, monkeypatch, name, protected, message):
    """Asked of os.access, so that the test says the same for root, who may write everywhere."""
    (tmp_path / "a").write_bytes(b"old")
    locked = os.path.realpath(tmp_path / protected)
    monkeypatch.setattr(os, "access", lambda path, mode: os.path.realpath(path) != locked)
    with pytest.raises(PermissionError, match=message):
        check_output(tmp_path / name)


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("point", ["inside the write", "os.fsync", "os.replace"])
def test_killed_at_a_fault_point(tmp_path, point):
    """kill -9 inside the write, before the flush to disk and before the rename leaves the old file."""
    path = tmp_path / "a"
    path.write_bytes(b"old")
    program = textwrap.dedent(
        f"""
        import os, signal
        from nmlsdr._output import replace_file
        def die(*args):
            os.kill(os.getpid(), signal.SIGKILL)
        point = {point!r}
        if point.startswith("os."):
            setattr(os, point[3:], die)
        with replace_file({str(path)!r}) as file:
            file.write(b"n" * 100_000)
            file.flush()
            if point == "inside the write":
                die()
        """
    )
    process = subprocess.run([sys.executable, "-c", program], timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    write(path)
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no device that is full")
def test_an_error_names_the_output_unless_it_names_another_file(tmp_path):
    with pytest.raises(OSError, match="/dev/full"), replace_file("/dev/full") as file:
        file.write(b"x" * 10)
    with pytest.raises(OSError, match="other"), replace_file(tmp_path / "out") as file:
        open(tmp_path / "other")  # noqa: SIM115  (there is none)
    assert list(tmp_path.iterdir()) == []
