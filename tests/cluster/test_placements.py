"""Where nodes are, out of files of several forms."""

from pathlib import Path

import pytest

from kubectl_koord.cluster import edits
from kubectl_koord.errors import KoordError


def read(tmp_path: Path, text: str) -> edits.Placements:
    file = tmp_path / "f"
    file.write_text(text)
    return edits.read(str(file))


def test_slurms_tree_of_switches_is_read_from_the_nodes_up(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "# topograph\nSwitchName=core Switches=spine[1-2]\nSwitchName=spine1 Switches=leaf1\n"
        "SwitchName=leaf1 Nodes=n[08-10],x\nSwitchName=spine2 Nodes=y # no leaf\n",
    )
    assert found.switches == {
        "n08": ("leaf1", "spine1", "core"),
        "n09": ("leaf1", "spine1", "core"),
        "n10": ("leaf1", "spine1", "core"),
        "x": ("leaf1", "spine1", "core"),
        "y": ("spine2", "core"),
    }


def test_blocks_are_switches_without_others_above(tmp_path: Path) -> None:
    assert read(tmp_path, "BlockName=b1 Nodes=n[1,3]\nBlockSizes=2\n").switches == {"n1": ("b1",), "n3": ("b1",)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the first line must name its columns: node and layers or label keys"),
        ("a,b\n", "the first line must name its columns: node and layers or label keys"),
        ("node,a,a\n", "the first line names a column twice"),
        ("node,a\nn1\n", "line 2 has 1 columns, not 2"),
        ("node,a\nn1,x\nn1,y\n", "node 'n1' twice"),
        ("node,a\n,x\n", "a node without a name"),
        ("{", "no JSON: "),
        ('{"n1": "x"}', "node 'n1' must be an object of layers or label keys and their values"),
        ('{"n1": {"a": 1}}', "node 'n1' must be an object of layers or label keys and their values"),
        ('[{"a": "b"}]', "each element of the list must be an object with a node"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n", "line 2: 'n1' is below 'a' as well"),
        ("SwitchName=a Switches=b Nodes=n1\nSwitchName=b Switches=a\n", "switch 'a' is above itself"),
        ("SwitchName=a Nodes=n[1-\n", "line 1: 'n[1-' is no list of names"),
        ("SwitchName=a Nodes=n[1-x]\n", "line 1: 'n[1-x]' is no list of names"),
        ("SwitchName=a Nodes=n[-2]\n", "line 1: 'n[-2]' is no list of names"),
        ("SwitchName=a Nodes=n[1-99999999999]\n", "line 1: 'n[1-99999999999]' is no list of names"),
        ("SwitchName=a Nodes=n[1-99999],m[1-99999]\n", "line 1: more than 100,000 names"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(KoordError) as refused:
        read(tmp_path, text)
    assert refused.value.message.startswith(f"error: {tmp_path / 'f'}: {said}")


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"node,a\nn1,\xff\n")
    with pytest.raises(KoordError, match="no UTF-8 text"):
        edits.read(str(file))
