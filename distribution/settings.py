"""docs/settings.md: what a scheduler may be told, and what each of it is to the answers."""

from collections.abc import Iterator

from kubectl_koord.model.settings import ALL, TABLE, Kind, Setting

PATH = "docs/settings.md"
_HEAD = """\
# Settings of the scheduler

Every feature gate and plugin argument of koord-scheduler 1.7.0, 1.8.0 and main (July 2026), its flags, and what of
kube-scheduler bears on decisions. *Evaluated* is what answers follow. What *decides* and is set otherwise than by
default is named in a warning, and makes an answer *unknown* where it can bear on it; so does what is in no row here, or
not for the scheduler's version.
"""
_TITLES: tuple[tuple[Kind, str], ...] = (
    ("feature gate", "Feature gates"),
    ("flag", "Flags"),
    ("key", "Keys of the KubeSchedulerConfiguration"),
    ("argument", "Arguments of plugins"),
)


def text() -> str:
    """Return the page as it is kept."""
    return "\n".join([_HEAD, *(line for kind, title in _TITLES for line in _section(kind, title))])


def _section(kind: Kind, title: str) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| name | versions | | |"
    yield "|---|---|---|---|"
    yield from (_row(one) for one in TABLE if one.kind == kind)
    yield ""


def _row(one: Setting) -> str:
    name = f"--{one.name}" if one.kind == "flag" else one.name
    versions = "all" if one.versions == ALL else ", ".join(one.versions)
    return f"| {name} | {versions} | {one.says} | {one.why} |"
