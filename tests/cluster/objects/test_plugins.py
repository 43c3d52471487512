"""Which plugins a profile enables: by its own lists, and by what kube-scheduler enables."""

import pytest

from kubectl_koord.cluster.objects import scheduler
from kubectl_koord.cluster.recording import kept as fields
from kubectl_koord.cluster.recording.kept import kept_settings
from kubectl_koord.model.installation import GATES, INLINE_BATCH, OF_KUBERNETES, POINTS, Extender, Plugins
from kubectl_koord.model.settings import SetOtherwise
from kubectl_koord.model.snapshot import SchedulerConfig
from tests.cluster.objects.wire import thing

KIND = "kind: KubeSchedulerConfiguration\n"
OF_KOORDINATOR = tuple((name, points) for name, points in POINTS.items() if name not in OF_KUBERNETES)
EVERY = ", ".join(f"{{name: {name}}}" for name, _ in OF_KOORDINATOR)
EVERYWHERE = f"multiPoint: {{enabled: [{EVERY}]}}"
LISTED = "postFilter: {disabled: [{name: '*'}], enabled: [%s]}"


def configured(plugins: str) -> SchedulerConfig:
    text = KIND + f"profiles: [{{schedulerName: koord-scheduler, plugins: {{{plugins}}}}}]"
    found, again = (scheduler.config("1.8", "asked", scheduler.parsed(one)) for one in (text, kept_settings(text)))
    assert found == again
    return found


@pytest.mark.parametrize(
    ("plugins", "off"),
    [
        ("", ()),
        (EVERYWHERE, ()),
        ("score: {}", OF_KOORDINATOR),
        (EVERYWHERE + ", filter: {disabled: [{name: TaintToleration}]}", (("TaintToleration", ("filter",)),)),
        (EVERYWHERE + ", preFilter: {disabled: [{name: ElasticQuota}]}", (("ElasticQuota", ("preFilter",)),)),
        (
            EVERYWHERE.replace("enabled", "disabled: [{name: NodePorts}], enabled"),
            (("NodePorts", ("preFilter", "filter")),),
        ),
        (
            EVERYWHERE.replace("enabled", "disabled: [{name: '*'}], enabled"),
            tuple(OF_KUBERNETES.items()),
        ),
        (
            EVERYWHERE + ", permit: {disabled: [{name: '*'}]}, reserve: {enabled: null}, filter: null",
            (("Coscheduling", ("permit",)),),
        ),
    ],
)
def test_plugins_are_enabled_by_the_profile_or_by_default(
    plugins: str, off: tuple[tuple[str, tuple[str, ...]], ...]
) -> None:
    assert configured(plugins).plugins.off == off


@pytest.mark.parametrize(
    ("plugins", "order"),
    [
        ("", ""),
        (LISTED % "{name: Coscheduling}", ""),
        (EVERYWHERE, "first"),
        (EVERYWHERE + ", postFilter: {enabled: [{name: Coscheduling}, {name: DefaultPreemption}]}", "first"),
        (LISTED % "{name: DefaultPreemption}, {name: Coscheduling}", "first"),
        (LISTED % "{name: Coscheduling}, {name: DefaultPreemption}, {name: ElasticQuota}", "first"),
        (LISTED % "{name: Coscheduling}, {name: ElasticQuota}, {name: DefaultPreemption}", "last"),
        (LISTED % "{name: DefaultPreemption}", "last"),
    ],
)
def test_the_profile_tells_when_default_preemption_runs(plugins: str, order: str) -> None:
    assert configured(plugins).plugins.default_preemption == order


ARGUMENTS = "pluginConfig: [{name: Coscheduling, args: {enablePreemption: true}}]"


@pytest.mark.parametrize(("enabled", "preempts"), [("Coscheduling", True), ("ElasticQuota", False)])
def test_jobs_preempt_where_their_plugin_is_enabled_for_it(enabled: str, preempts: bool) -> None:  # noqa: FBT001
    plugins = LISTED % f"{{name: {enabled}}}"
    text = KIND + f"profiles: [{{schedulerName: koord-scheduler, plugins: {{{plugins}}}, {ARGUMENTS}}}]"
    assert scheduler.config("1.8", "asked", scheduler.parsed(text)).preemption is preempts


def test_a_quota_is_asked_where_its_plugin_is_enabled_for_it() -> None:
    assert configured(EVERYWHERE).quotas.enforced
    assert not configured("score: {}").quotas.enforced


@pytest.mark.parametrize(
    ("second", "differing"),
    [
        ("", ()),
        (", pluginConfig: [{name: LoadAwareScheduling, args: {usageThresholds: {cpu: 5}}}]", ("own",)),
        (", plugins: {score: {}}", ("own",)),
        (f", plugins: {{{EVERYWHERE}, postFilter: {{disabled: [{{name: '*'}}]}}}}", ("own",)),
    ],
)
def test_profiles_that_are_configured_otherwise_than_the_first_are_told(
    second: str, differing: tuple[str, ...]
) -> None:
    text = KIND + f"profiles: [{{schedulerName: koord-scheduler}}, {{schedulerName: own{second}}}]"
    for written in (text, kept_settings(text)):
        found = scheduler.config("1.8", "asked", scheduler.parsed(written))
        assert (found.profiles, found.differing) == (("koord-scheduler", "own"), differing)


def test_a_plugin_is_partial_where_more_than_its_filter_is_missed() -> None:
    plugins = Plugins((("DeviceShare", ("filter",)), ("NodePorts", ("filter",)), ("LoadAwareScheduling", ("reserve",))))
    told = {name: (plugins.filters(name), plugins.is_partial(name)) for name, _ in plugins.off}
    assert told == {"DeviceShare": (True, True), "NodePorts": (False, False), "LoadAwareScheduling": (True, True)}
    assert (plugins.filters("TaintToleration"), plugins.is_partial("TaintToleration")) == (True, False)


ADDED = "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}"


@pytest.mark.parametrize(
    ("plugin", "arguments", "expected"),
    [
        ("NodeAffinity", ADDED, Plugins(adds_affinity=True)),
        ("NodeAffinity", "{addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}", Plugins()),
        ("NodeAffinity", "{addedAffinity: 5}", Plugins()),
        (
            "NodeResourcesFit",
            "{ignoredResources: [example.com/a], ignoredResourceGroups: [example.org]}",
            Plugins(ignored=("example.com/a",), ignored_groups=("example.org",)),
        ),
        ("NodeResourcesFit", "{ignoredResources: 5}", Plugins()),
    ],
)
def test_arguments_of_kubernetes_plugins_are_read_and_recorded(plugin: str, arguments: str, expected: Plugins) -> None:
    text = (
        KIND + f"profiles: [{{schedulerName: koord-scheduler, pluginConfig: [{{name: {plugin}, args: {arguments}}}]}}]"
    )
    for written in (text, kept_settings(text)):
        assert scheduler.config("1.8", "asked", scheduler.parsed(written)).plugins == expected


@pytest.mark.parametrize(
    ("extenders", "expected"),
    [
        ("[]", ()),
        ("5", ()),
        ("[{urlPrefix: http://x/, prioritizeVerb: order}, 5]", ()),
        ("[{urlPrefix: http://x/, filterVerb: secret}]", (Extender(filters=True),)),
        (
            "[{preemptVerb: p, managedResources: [{name: example.com/a}]}]",
            (Extender(preempts=True, resources=("example.com/a",)),),
        ),
    ],
)
def test_extenders_that_have_a_say_are_told_and_not_where_they_are(
    extenders: str, expected: tuple[Extender, ...]
) -> None:
    for profiles in ("", ", profiles: [{schedulerName: koord-scheduler}]"):
        text = f"{{kind: KubeSchedulerConfiguration, extenders: {extenders}{profiles}}}"
        assert "secret" not in kept_settings(text)
        for written in (text, kept_settings(text)):
            assert scheduler.config("1.8", "asked", scheduler.parsed(written)).extenders == expected


@pytest.mark.parametrize(
    ("version", "flag", "gates"),
    [
        ("1.8", "", ()),
        ("1.8", "PriorityTransformer=true,Other=true", ("PriorityTransformer",)),
        ("1.8", "AllAlpha=true,PriorityTransformer=false", tuple(GATES)[1:4]),
        ("main", "EnableInlineBatchSchedule=true", (INLINE_BATCH,)),
        ("1.8", "EnableInlineBatchSchedule=true", ()),
        ("1.7", "AllAlpha=true", tuple(GATES)[:3]),
    ],
)
def test_gates_with_which_the_scheduler_sees_something_else_are_told(
    version: str, flag: str, gates: tuple[str, ...]
) -> None:
    for text in ("kind: KubeSchedulerConfiguration", "profiles: [{}]"):
        found = scheduler.parsed(text)
        for flags in ([f"--feature-gates={flag}"], ["--v=4", "--feature-gates", flag]):
            assert scheduler.config(version, "asked", found, flags).gates == gates


@pytest.mark.parametrize("words", [["--feature-gates=A=true"], ["--feature-gates", "A=true"]])
def test_gates_of_a_command_line_are_recorded_whichever_way_they_are_written(words: list[str]) -> None:
    containers = [{"name": "scheduler", "args": ["--v=4", *words]}]
    written = thing("Deployment", "koord-scheduler", spec={"template": {"spec": {"containers": containers}}})
    recorded = fields.kept_fields("Deployment", written, set())
    assert recorded is not None
    assert "--feature-gates=A=true" in recorded["spec"]["template"]["spec"]["containers"][0]["args"]


def test_settings_that_decide_or_are_not_known_are_told_and_recorded_without_what_they_say() -> None:
    text = (
        "{kind: KubeSchedulerConfiguration, profiles: [{schedulerName: koord-scheduler, pluginConfig: ["
        "{name: Reservation, args: {enablePreemption: true, token: secret, Odd_Name: secret}},"
        "{name: Coscheduling, args: {enablePreemption: true}}, {name: Mine, args: {password: secret}},"
        "{name: PodTopologySpread, args: {defaultConstraints: [{topologyKey: secret}]}}]}]}"
    )
    expected = (
        SetOtherwise("feature gate", "Mine", known=False),
        SetOtherwise("flag", "mine", known=False),
        SetOtherwise("argument", "Reservation.enablePreemption", "reservations"),
        SetOtherwise("argument", "Reservation.token", known=False),
        SetOtherwise("argument", "PodTopologySpread.defaultConstraints"),
    )
    flags = ["--feature-gates=Mine=true,SyncBarrier=true", "--mine=secret", "--v=4"]
    live = scheduler.config("1.8", "asked", scheduler.parsed(text), flags).settings
    assert [one for one in live if one.name != "Reservation.Odd_Name"] == [*expected]
    assert "secret" not in kept_settings(text)
    assert scheduler.config("1.8", "asked", scheduler.parsed(kept_settings(text)), flags).settings == expected
    own = scheduler.config("1.8", "asked", None, flags, ["--v=4"]).settings
    assert own == expected[:1]
    assert scheduler.config("1.8", "asked", None, ["--feature-gates="]).settings == ()
