"""What is found in the installation."""

from collections.abc import Sequence

from kubectl_koord.model.installation import COMPARED
from kubectl_koord.wording.doctor.naming import some
from kubectl_koord.wording.words import count, listed, verb


def missing(name: str, namespace: str) -> str:
    """Return that a Deployment is missing."""
    return f"there is no Deployment {name} in {namespace}, nor one with its label or image."


def unavailable(name: str, available: int, wanted: int) -> str:
    """Return how many replicas are available."""
    return f"{available} of {count(wanted, 'replica')} of {name} {verb(available, 'is', 'are')} available."


def unsupported(image: str) -> str:
    """Return that a version has neither topology nor job preemption."""
    return f"the image {image} is older than 1.7: it has no network topology and no preemption for gangs."


def newer(image: str) -> str:
    """Return that a version may decide otherwise than those which answers are compared with."""
    return f"the image {image} may be newer than what answers are compared with: {COMPARED}."


def differ(images: Sequence[str]) -> str:
    """Return that parts of Koordinator have several versions."""
    return f"the images have different tags: {listed(images)}."


def webhook_missing(kind: str, name: str) -> str:
    """Return that a webhook configuration is missing."""
    return f"there is no {kind} {name}."


def unsigned(name: str, hooks: Sequence[str]) -> str:
    """Return which webhooks have no caBundle."""
    return f"{some(hooks)} of {name} {verb(len(hooks), 'has', 'have')} no caBundle: the API server cannot call it."


def no_classes(missing: Sequence[tuple[str, int]]) -> str:
    """Return which PriorityClasses are missing, and their values in the Helm chart."""
    names = listed([f"{name} ({value})" for name, value in missing], "or")
    return f"there is no PriorityClass {names}: pods that name {verb(len(missing), 'it', 'them')} cannot be created."


def class_value(name: str, value: int, low: int, high: int) -> str:
    """Return that a PriorityClass is outside its band."""
    return f"the value of {name} is {value}, not within {low} to {high}: its pods do not count as {name}."
