"""The lines of `version`: nothing is imported here, as nobody waits for these."""

from kubectl_koord.language import say

TYPE_CHECKING = False  # as typing has it: importing that takes longer than all of this

if TYPE_CHECKING:
    from collections.abc import Sequence


def version_lines(version: str, evaluates: "Sequence[str]", newest: str) -> tuple[str, str]:
    """Return which plugin this is, and whose decisions it reproduces; `newest` is what the last of them stands for."""
    *others, last = evaluates
    return say("kubectl-koord {version}", version=version), say(
        "evaluates as koord-scheduler {others} and {last} ({newest})",
        others=", ".join(others),
        last=last,
        newest=newest,
    )
