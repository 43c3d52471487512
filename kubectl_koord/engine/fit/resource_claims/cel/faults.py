"""How an evaluation ends without a value."""

from kubectl_koord.engine.reasons.claims import SelectorProblem, SelectorProblemCode


class EvaluationError(Exception):
    """A runtime error of CEL, such as an attribute that a device lacks; `&&`, `||` and their like may absorb it."""

    def __init__(self, code: SelectorProblemCode, about: str = "") -> None:
        """Take what the problem is, and the key, function, attribute or text that it is about."""
        super().__init__(code, about)
        self.problem = SelectorProblem(code, about)


class AbortError(Exception):
    """A runtime error of CEL that nothing absorbs: a value that cannot be looked up in a set."""


class UnsupportedError(Exception):
    """Something outside the subset of CEL that is evaluated."""


def graver(first: Exception | None, second: Exception) -> Exception:
    """Return what several problems amount to: what is not evaluated may be no error, and may absorb one."""
    return first if isinstance(first, UnsupportedError) else second
