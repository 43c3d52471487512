"""The Krew manifest and the archives: what Krew's validator and its index refuse is refused here first."""

import io
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from distribution import krew
from distribution.bundle import LINK, PROGRAM, archive_name, pack
from distribution.generated import ROOT
from distribution.release import OWNERS, SETTINGS, TEMPLATE, Refused, manifest, owned
from kubectl_koord import __version__

SET = {"homepage": "https://git.example.com/koord", "archives": "https://get.example.com/{version}/"}
SYSTEMS = [("linux", "amd64"), ("linux", "arm64"), ("darwin", "amd64"), ("darwin", "arm64")]


def bundle(folder: Path) -> Path:
    """Make what PyInstaller makes, in small."""
    (folder / "_internal").mkdir(parents=True)
    (folder / PROGRAM).write_text("#!/bin/sh\n")
    (folder / PROGRAM).chmod(0o755)
    (folder / "LICENSE").write_text("as is\n")
    (folder / "_internal" / "lib.so.1").write_text("code")
    (folder / "_internal" / "lib.so").symlink_to("lib.so.1")
    (folder / LINK).symlink_to(PROGRAM)
    return folder


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """Return a folder with an archive for each system."""
    made = bundle(tmp_path / "bundle")
    for system in SYSTEMS:
        pack(made, tmp_path / archive_name(*system))
    return tmp_path


def template() -> str:
    return TEMPLATE.read_text("utf-8")


def test_a_manifest_of_the_release_is_what_krew_takes(released: Path) -> None:
    written = yaml.safe_load(manifest(released, SET, template()))
    assert krew.problems(written, "koord") == []
    assert written["spec"]["version"] == f"v{__version__}"
    assert "unofficial" in written["spec"]["description"]
    platforms = written["spec"]["platforms"]
    assert [tuple(one["selector"]["matchLabels"].values()) for one in platforms] == SYSTEMS
    assert platforms[0]["uri"] == f"https://get.example.com/v{__version__}/{archive_name('linux', 'amd64')}"
    assert len({one["sha256"] for one in platforms}) == 1  # the same files pack to the same bytes


def test_there_is_no_release_while_its_addresses_are_unset(released: Path) -> None:
    told = "packaging/release.toml: homepage and archives must be set: it says where this is published"
    with pytest.raises(Refused, match=r"^\.github/CODEOWNERS: @OWNERS must be replaced by those who answer$"):
        owned(OWNERS.read_text("utf-8"))
    owned("* @somebody\n")
    with pytest.raises(Refused, match=f"^{told}$"):
        manifest(released, {"homepage": "", "archives": ""}, template())
    assert [line for line in SETTINGS.read_text("utf-8").splitlines() if "=" in line and '""' not in line] == []


def test_there_is_no_release_without_the_archive_of_each_system(released: Path) -> None:
    (released / archive_name("darwin", "arm64")).unlink()
    with pytest.raises(Refused, match=r"darwin-arm64\.tar\.gz is missing: make bundle makes it on darwin arm64"):
        manifest(released, SET, template())


def test_an_archive_that_krew_would_not_unpack_is_not_released(released: Path) -> None:
    with tarfile.open(released / archive_name("linux", "arm64"), "w:gz") as archive:
        archive.addfile(tarfile.TarInfo(PROGRAM), io.BytesIO())
    with pytest.raises(Refused, match=r"linux-arm64\.tar\.gz: kubectl-koord must be a program in it; LICENSE must be"):
        manifest(released, SET, template())


def test_an_archive_holds_files_alone_and_the_licence(released: Path) -> None:
    archive = released / archive_name("linux", "amd64")
    assert krew.archive_problems(archive, PROGRAM) == []
    with tarfile.open(archive) as opened:
        modes = {member.name: member.mode for member in opened.getmembers()}
    assert modes == {PROGRAM: 0o755, "LICENSE": 0o644, "_internal/lib.so": 0o644, "_internal/lib.so.1": 0o644}


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("kind", "Plug", f"apiVersion and kind must be {krew.API_VERSION} and Plugin"),
        ("metadata.name", "koo rd", "metadata.name must be lower-case words and dashes"),
        ("metadata.name", "kube-koord", "metadata.name must be lower-case words and dashes"),
        ("metadata.name", "koor", "metadata.name must be the name of the file"),
        ("spec.version", "0.1.0", "spec.version must be a semantic version that begins with v"),
        ("spec.version", "v01.2.3", "spec.version must be a semantic version that begins with v"),
        ("spec.version", "v1.2", "spec.version must be a semantic version that begins with v"),
        ("spec.shortDescription", "a\nb", "spec.shortDescription must be one line"),
        ("spec.shortDescription", "x" * 51, "spec.shortDescription must be one line"),
        ("spec.description", "", "spec.description must be there"),
        ("spec.homepage", "$homepage", "spec.homepage must be an https address"),
        ("spec.platforms", [], "spec.platforms must be there"),
        ("spec.platforms", [{}, {}], "spec.platforms must differ"),
        ("spec.platforms.0.selector.matchLabels.os", "beos", "spec.platforms[0].selector must be an os"),
        ("spec.platforms.0.selector.matchExpressions", [], "spec.platforms[0].selector must be an os"),
        ("spec.platforms.0.selector.matchLabels.os", "windows", "spec.platforms[0].bin must end in .exe"),
        ("spec.platforms.0.uri", "http://x/y.tar.gz", "spec.platforms[0].uri must be the https address"),
        ("spec.platforms.0.sha256", "A" * 64, "spec.platforms[0].sha256 must be 64 lower-case"),
        ("spec.platforms.0.bin", "../kubectl", "spec.platforms[0].bin must be a path within the archive"),
        ("spec.platforms.0.bin", "/usr/bin/x", "spec.platforms[0].bin must be a path within the archive"),
        ("spec.platforms.0.files", [], "spec.platforms[0].files must be left out, or name some"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_each_rule_of_krew_is_held(released: Path, field: str, value: object, problem: str) -> None:
    broken: Any = yaml.safe_load(manifest(released, SET, template()))
    *folders, last = field.split(".")
    at = broken
    for name in folders:
        at = at[int(name)] if name.isdigit() else at[name]
    at[last] = value
    found = krew.problems(broken, "koord")
    assert [one for one in found if one.startswith(problem)], found


@pytest.mark.parametrize(
    ("member", "problem"),
    [
        ({"name": "a/../../b"}, "a/../../b leads out of the archive, or might"),
        ({"name": "/etc/x"}, "/etc/x leads out of the archive, or might"),
        ({"name": "link", "type": tarfile.SYMTYPE, "linkname": PROGRAM}, "link is no file and no folder"),
    ],
)
def test_a_member_that_krew_refuses_is_named(released: Path, member: dict[str, Any], problem: str) -> None:
    path = released / "odd.tar.gz"
    pack(released / "bundle", released / "good.tar.gz")
    odd = tarfile.TarInfo()
    for name, value in member.items():
        setattr(odd, name, value)
    with tarfile.open(released / "good.tar.gz") as good, tarfile.open(path, "w:gz") as archive:
        for one in good.getmembers():
            archive.addfile(one, good.extractfile(one))
        archive.addfile(odd)
    assert krew.archive_problems(path, PROGRAM) == [problem]


def test_no_address_is_invented_anywhere() -> None:
    for name in ("packaging", "deploy", "man", "completions"):
        for path in (ROOT / name).rglob("*"):
            if path.is_file():
                assert re.findall(r"\w+://(?!127\.0\.0\.1:)[^.\s]\S*", path.read_text("utf-8")) == [], path
