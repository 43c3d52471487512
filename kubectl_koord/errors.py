"""The one exception that users see. An answer is never an exception."""


class KoordError(Exception):
    """Something that stops an answer: one line in kubectl's words, exit code 2.

    Raised only in `cli/` and `cluster/` and printed once, in `cli/main.py`. `message` is the
    whole line without a trailing newline, `error: ` or `Error from server ...` included where
    kubectl prints it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NotFoundError(KoordError):
    """A name that means nothing in what was read."""
