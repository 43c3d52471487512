"""What ending pods does to others, of one pod alone without a look at all that is known of it."""

from kubectl_koord.diagnosis import disruption
from kubectl_koord.model.pods import GangAnnotations, Marks
from kubectl_koord.model.values import EVERYTHING
from kubectl_koord.reports.common import BrokenGang
from tests.build import cluster, having

BARE = cluster("s0: b0[n1]").with_group("two", 2)


def test_one_pod_alone_harms_as_much_as_all_that_is_known_of_it_says() -> None:
    drawing = BARE.with_running("free", on="n1").with_running("spared", on="n1", marks=Marks(protected=True))
    for app in ("none-left", "one-left", "twice"):
        drawing = drawing.with_running(app, on="n1", labels=(("app", app), ("tier", "web")))
    drawing = drawing.with_running("member-0", "n1", gang="default/two").with_running(
        "member-1", "n1", gang="default/two"
    )
    drawing = drawing.with_running("all/covered", on="n1").with_running("other/none-left", on="n1")
    drawing = drawing.with_budget("of-none-left", having(app="none-left"))
    drawing = drawing.with_budget("of-one-left", having(app="one-left"), allowed=1)
    drawing = drawing.with_budget("first", having(app="twice", tier="web"), allowed=1)
    drawing = drawing.with_budget("second", having(app="twice"), allowed=1).with_budget("nobody", None)
    snapshot = drawing.with_budget("all/everybody", EVERYTHING)
    harms = {pod.key: disruption.harm_alone(snapshot, pod) for pod in snapshot.running["n1"]}
    known = {pod.key: disruption.harm(disruption.freed(snapshot, [pod])[0]) for pod in snapshot.running["n1"]}
    assert harms == known
    assert {key for key, level in harms.items() if level == disruption.HARMLESS} == {
        "default/free",
        "default/one-left",
        "other/none-left",
    }
    assert harms["default/spared"] == disruption.PROTECTED


def test_a_gang_that_its_pods_define_breaks_below_what_they_say() -> None:
    drawing = BARE
    for number in range(3):
        terms = GangAnnotations("3")
        drawing = drawing.with_running(f"job-{number}", on="n1", gang="default/job", gang_terms=terms)
    assert disruption.broken_gangs(drawing, drawing.running["n1"][:1]) == (BrokenGang("default/job", 3, 3, 2),)
