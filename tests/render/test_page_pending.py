from kubectl_koord.render.show import text
from tests.render.samples import ASCII_TERMINAL, PENDING, PIPE, TERMINAL


def test_all_pending_gangs_in_a_pipe() -> None:
    expected = """\
2 gangs have pending pods, 1 lone pod is pending: 1 cannot start now, 1 would be placed now, 1 unknown.

GANG                    PENDING   CAUSE                AGE   WHY
default/job (+1 gang)         4   insufficient-slots    5m   no spine has room for its 4 pods, the best has 3.
default/job                   3   (would start)              The scheduler has not tried again yet.
pod/default/single            1   (unknown)             2d   ElasticQuotas may not be read.

kubectl koord why-pending GANG tells more about one of them.

Warning: The scheduler's configuration is assumed as the Helm chart sets it. (assumed-config)

as koordinator 1.8 decides (from the image tag)
"""
    assert text(PENDING, style=PIPE) == expected


def test_all_pending_gangs_on_a_terminal() -> None:
    expected = """\
2 gangs have pending pods, 1 lone pod is pending: 1 cannot start now, 1 would be
placed now, 1 unknown.

GANG                    PENDING   CAUSE                AGE   WHY
default/job (+1 gang)         4   insufficient-slots    5m   no spine has room…
default/job                   3   (would start)              The scheduler has…
pod/default/single            1   (unknown)             2d   ElasticQuotas may…

kubectl koord why-pending GANG tells more about one of them.

Warning: The scheduler's configuration is assumed as the Helm chart sets it.
(assumed-config)

as koordinator 1.8 decides (from the image tag)
"""
    assert text(PENDING, style=TERMINAL) == expected


def test_all_pending_gangs_on_an_ascii_terminal() -> None:
    expected = """\
2 gangs have pending pods, 1 lone pod is pending: 1 cannot start now, 1 would be
placed now, 1 unknown.

GANG                    PENDING   CAUSE                AGE   WHY
default/job (+1 gang)         4   insufficient-slots    5m   no spine has roo...
default/job                   3   (would start)              The scheduler ha...
pod/default/single            1   (unknown)             2d   ElasticQuotas ma...

kubectl koord why-pending GANG tells more about one of them.

Warning: The scheduler's configuration is assumed as the Helm chart sets it.
(assumed-config)

as koordinator 1.8 decides (from the image tag)
"""
    assert text(PENDING, style=ASCII_TERMINAL) == expected
