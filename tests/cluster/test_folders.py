"""Folders in the place of files: what is read of them."""

import errno
import os
from pathlib import Path

import pytest

from kubectl_koord.cluster.files import files_of
from kubectl_koord.errors import KoordError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inner").mkdir()
    for name in ("b.yaml", "a.json", "c.yml.gz", "notes.txt", "inner/d.json"):
        (tmp_path / name).touch()
    return tmp_path


def test_a_folder_stands_for_its_files_in_name_order(folder: Path) -> None:
    expected = [str(folder / name) for name in ("a.json", "b.yaml", "c.yml.gz")]
    assert files_of(["-", str(folder), "x"]) == ("-", *expected, "x")


def test_folders_within_are_read_when_asked_for(folder: Path) -> None:
    assert files_of([str(folder)], recursive=True)[-1] == str(folder / "inner" / "d.json")


def test_a_folder_without_such_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KoordError, match=r"no file in .*: recognized file extensions are \.json, \.yaml, \.yml"):
        files_of([str(tmp_path)])


def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(path: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", forbidden)
    with pytest.raises(KoordError, match="cannot be read: Permission denied"):
        files_of([str(tmp_path)])
