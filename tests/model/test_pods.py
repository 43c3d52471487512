"""What pods require."""

from kubectl_koord.model.load import ExpectedUse
from kubectl_koord.model.pods import PodAmounts, PodRequirements


def test_what_a_pod_requests_as_a_whole_is_left_out_for_schedulers_that_do_not_know_it() -> None:
    used = (ExpectedUse("cpu", 2000),)
    plain = PodRequirements(requests=(("cpu", 2000),), expected=used, sidecars=True)
    assert plain.of_containers is plain
    whole = PodRequirements(requests=(("cpu", 6000),), sidecars=True, by_containers=PodAmounts((("cpu", 2000),), used))
    assert whole.of_containers == plain
