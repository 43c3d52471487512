"""Where options may stand, what they may say, and what is said of those that are wrong."""

import json

import pytest
import yaml

from tests.cli.conftest import Run
from tests.cli.world import lasting


def test_the_topology_is_a_tree_on_a_screen(koord: Run, cluster: str) -> None:
    done = koord("topo", "--snapshot", cluster)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "The topology tree has 2 spines and 4 nodes; 16 of 32 CPU free.\n"
        "\n"
        "DOMAIN      NODES   FREE CPU   TOTAL CPU\n"
        "cluster         4         16          32\n"
        "  spine-a       2          8          16\n"
        "  spine-b       2          8          16\n"
        "\n"
        "Evaluated as Koordinator 1.8 (from the image tag)\n"
    )


def test_preempt_names_the_victim_and_says_yes(koord: Run, cluster: str) -> None:
    done = koord("preempt", "high", "--dry-run", "--snapshot", cluster)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("default/high would preempt 1 pod and then run.\n")
    assert "default/filler-" in done.out


@pytest.mark.parametrize(
    ("gang", "code", "cause"),
    [("job", 1, "insufficient-slots"), ("tiny", 0, None), ("few", 1, "too-few-pods"), ("lost", 1, "no-podgroup")],
)
def test_the_exit_code_is_the_verdict(koord: Run, cluster: str, gang: str, code: int, cause: str | None) -> None:
    done = koord("why-pending", gang, "--snapshot", cluster, "-o", "json")
    report = json.loads(done.out)
    assert (done.code, report["verdict"]) == (code, ["yes", "no"][code])
    assert (report["cause"] or {}).get("code") == cause


def test_global_options_stand_before_and_after_the_verb(koord: Run, cluster: str) -> None:
    after = koord("why-pending", "job", "--snapshot", cluster, "-o", "json", "--koordinator-version", "1.7")
    before = koord("--koordinator-version=1.7", "-ojson", f"--snapshot={cluster}", "why-pending", "job")
    between = koord("-o=json", "why-pending", "--snapshot", cluster, "job", "--koordinator-version=v1.7")
    first, *others = [lasting(json.loads(done.out)) for done in (after, before, between)]
    assert others == [first, first]
    assert {after.code, before.code, between.code} == {1}
    assert first["koordinatorVersion"] == "1.7"


@pytest.mark.parametrize("value", ["true", "1", "T"])
def test_a_switch_takes_a_truth_value_as_kubectls_do(koord: Run, cluster: str, value: str) -> None:
    bare = koord("gangs", "-A", "--pending", "--snapshot", cluster)
    assert koord("gangs", f"--all-namespaces={value}", f"--pending={value}", "--snapshot", cluster).out == bare.out
    assert koord("gangs", f"-A={value}", "--pending", "--snapshot", cluster).out == bare.out


def test_the_last_of_a_switch_counts(koord: Run, cluster: str) -> None:
    every = koord("gangs", "--snapshot", cluster).out
    assert koord("gangs", "--pending", "--pending=false", "--snapshot", cluster).out == every
    assert koord("why-pending", "job", "-w", "--watch=false", "--snapshot", cluster).code == 1
    assert "need a live cluster" in koord("why-pending", "job", "--watch=false", "-w=1", "--snapshot", cluster).err
    assert koord("gangs", "--demo=true", "--demo=false", "-R=false", "--snapshot", cluster).out == every


def test_a_switch_refuses_what_is_no_truth_value_in_kubectls_words(koord: Run, cluster: str) -> None:
    for flag in ("--all-namespaces", "--demo"):
        assert koord("gangs", f"{flag}=yes", "--snapshot", cluster).err == (
            f'error: invalid argument "yes" for "{flag}" flag: strconv.ParseBool: parsing "yes": invalid syntax\n'
        )


def test_several_names_are_answered_one_after_the_other_and_the_worst_is_the_exit_code(
    koord: Run, cluster: str
) -> None:
    source = ("--snapshot", cluster)
    alone = [koord("why-pending", name, *source) for name in ("tiny", "job")]
    both = koord("why-pending", "tiny", "job", "tiny", *source)
    assert (both.code, both.out) == (1, "\n".join(one.out for one in alone))
    assert koord("why-pending", "podgroup", "tiny", "job", *source).out == both.out
    lines = koord("why-pending", "tiny", "job", *source, "-o", "json").out.splitlines()
    assert [json.loads(line)["gang"] for line in lines] == ["default/tiny", "default/job"]
    dry = ("--dry-run", *source)
    alone = [koord("preempt", name, *dry) for name in ("high", "job")]
    assert koord("preempt", "high", "job", *dry).out == "\n".join(one.out for one in alone)


def test_of_several_names_nothing_is_shown_when_one_is_unknown_or_one_only_is_possible(
    koord: Run, cluster: str
) -> None:
    done = koord("why-pending", "tiny", "jbo", "--snapshot", cluster)
    assert (done.code, done.out) == (2, "")
    assert "did you mean default/job" in done.err
    done = koord("why-pending", "tiny", "job", "-o", "html", "--snapshot", cluster)
    assert done.err == "error: one name at a time with -o html, not 2: tiny, job\n"
    done = koord("preempt", "tiny", "job", "--dry-run", "-w", "--snapshot", cluster)
    assert done.err == "error: one name at a time with --watch or --until, not 2: tiny, job\n"


def test_a_listing_is_sorted_downwards_and_what_lacks_the_field_stays_last(koord: Run, cluster: str) -> None:
    found = koord("gangs", "--sort-by=-.pending", "--snapshot", cluster, "-o", "jsonpath={.items[*].pending}").out
    assert found == "2 2 1 1 1"
    sort = ("gangs", "--snapshot", cluster, "-o", "jsonpath={.items[*].mustGather}", "--sort-by")
    assert koord(*sort, "-.cause").out
    up, down = (koord("gangs", "--snapshot", cluster, "-o", "json", f"--sort-by={by}") for by in (".cause", "-.cause"))
    causes = [[item["cause"] for item in json.loads(one.out)["items"]] for one in (up, down)]
    assert causes[0] == sorted(filter(None, causes[0])) + [None] * causes[0].count(None)
    assert causes[1] == sorted(filter(None, causes[0]), reverse=True) + [None] * causes[0].count(None)


def test_names_that_answers_print_can_be_given_back(koord: Run, cluster: str) -> None:
    assert koord("domain", "cluster", "--snapshot", cluster).out.startswith("The cluster's topology tree has 4 nodes;")
    assert koord("domain", "ClusterTopologyLayer/cluster", "--snapshot", cluster).code == 0
    assert koord("domain", "clu", "--snapshot", cluster).err == (
        "error: no domain 'clu', did you mean ClusterTopologyLayer/cluster?\n"
    )
    for name in ("train/PyTorchJob/helped", "PyTorchJob/train/helped"):
        assert koord("why-pending", name, "--demo").out.startswith("train/helped is pending")
    assert koord("why-preempted", "train/PyTorchJob/sweep", "--demo").code < 2
    mistyped = koord("why-pending", "train/PyTorchJob/hlped", "--demo").err
    assert "did you mean train/helped" in mistyped


def test_a_bare_dry_run_takes_no_value_wherever_it_stands(koord: Run, cluster: str) -> None:
    lines = [
        ("preempt", "--dry-run", "high"),
        ("preempt", "high", "--dry-run"),
        ("preempt", "high", "--dry-run=client"),
        ("preempt", "high"),
    ]
    first, *others = [koord(*line, "--snapshot", cluster) for line in lines]
    assert first.code == 0
    assert all(other == first for other in others)


def test_a_name_after_two_dashes_is_a_name(koord: Run, cluster: str) -> None:
    done = koord("why-pending", "--snapshot", cluster, "--", "--demo")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: no gang, pod or owner '--demo' in namespace 'default'")


@pytest.mark.parametrize(
    "words", [("why-pending", ""), ("why-pending", "", "-A"), ("topo", "--for", ""), ("topo", "--for=")]
)
def test_an_empty_name_does_not_ask_for_everything(koord: Run, cluster: str, words: tuple[str, ...]) -> None:
    assert koord(*words, "--snapshot", cluster) == (2, "", "error: resource name may not be empty\n")


def test_a_namespace_makes_short_names_long(koord: Run, cluster: str) -> None:
    done = koord("why-pending", "job", "-n", "elsewhere", "--snapshot", cluster)
    assert done.code == 2
    assert done.err == "error: the snapshot contains nothing in namespace 'elsewhere'\n"
    assert koord("why-pending", "job", "-ndefault", "--snapshot", cluster).code == 1


def test_a_gang_goes_by_its_many_names(koord: Run, cluster: str) -> None:
    names = (
        "job",
        "default/job",
        "podgroup/job",
        "pg/job",
        "pod/job-0",
        "job-1",
        "podgroup/default/job",
        "pod/default/job-0",
    )
    answers = {koord("why-pending", name, "--snapshot", cluster) for name in names}
    assert len(answers) == 1


def test_yaml_says_what_json_says(koord: Run, cluster: str) -> None:
    for line in (("topo", "--for", "job"), ("why-pending",), ("why-pending", "job"), ("preempt", "high", "--dry-run")):
        as_json = json.loads(koord(*line, "--snapshot", cluster, "-o", "json").out)
        as_yaml = yaml.safe_load(koord(*line, "--snapshot", cluster, "-o", "yaml").out)
        assert lasting(as_yaml) == lasting(as_json)
        assert as_json["apiVersion"] == "kubectl-koord/v1alpha1"


def test_listings_say_yes_and_end_with_0(koord: Run, cluster: str) -> None:
    done = koord("why-pending", "--snapshot", cluster, "-o", "json")
    items = {item["gang"]: item["verdict"] for item in json.loads(done.out)["items"]}
    assert done.code == 0
    assert items == {
        "default/few": "no",
        "default/high": "no",
        "default/job": "no",
        "default/lost": "no",
        "default/tiny": "yes",
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nonsense",), "error: No such command 'nonsense'; see 'kubectl koord --help'"),
        (("topp",), "error: No such command 'topp', did you mean topo? see 'kubectl koord --help'"),
        (("help", "topp"), "error: No such command 'topp', did you mean topo? see 'kubectl koord --help'"),
        (("annotate", "pod", "x"), "error: No such command 'pod', did you mean pods, podgroup? see 'kubectl koord an"),
        (("why-pending", "job", "-A"), "error: a resource cannot be retrieved by name across all namespaces"),
        (("-A", "why-pending", "job"), "error: a resource cannot be retrieved by name across all namespaces"),
        (("preempt", "high", "--dry-run", "-A"), "error: No such option: -A"),
        (("topo", "--nonsense"), "error: No such option: --nonsense; see 'kubectl koord topo --help'"),
        (
            ("topo", "--depht", "3"),
            "error: No such option: --depht, did you mean --depth? see 'kubectl koord topo --help'",
        ),
        (("topo", "--snap-shot", "x"), "error: No such option: --snap-shot, did you mean --snapshot? see"),
        (("gangs", "--name-space=x"), "error: No such option: --name-space, did you mean --namespace? see"),
        (("gangs", "--al"), "error: No such option: --al, did you mean --all, --as, --all-namespaces? see"),
        (("topo", "surplus"), "error: No such command 'surplus'"),
        (("devices", "--all", "--nonsense"), "error: No such option: --nonsense"),
        (("topo", "--depth", "x"), "error: Invalid value for '--depth'"),
        (("preempt", "--dry-run"), "error: Missing argument 'GANG...'; see 'kubectl koord preempt --help'"),
        (
            ("preempt", "high", "--dry-run=none"),
            "error: --dry-run=none is not one of client, server: this command only shows",
        ),
        (
            ("preempt", "high", "--dry-run=x"),
            "error: --dry-run=x is not one of client, server: this command only shows",
        ),
        (("preempt", "high", "--dry-run=server"), "error: --dry-run=server needs a live cluster"),
        (("preempt", "hihg", "--dry-run"), "error: no gang, pod or owner 'hihg' in namespace 'default', did you mean"),
        (("topo", "--for", "nobody"), "error: no gang, pod or owner 'nobody' in namespace 'default'"),
        (("topo", "-o", "xml"), "error: unable to match a printer suitable for the output format 'xml', allowed"),
        (("topo", "-o"), "error: flag needs an argument: -o"),
        (("topo", "--color=sometimes"), "error: --color 'sometimes' is not one of auto, always, never"),
        (("topo", "--koordinator-version", "9"), "error: --koordinator-version '9' is not one of 1.7, 1.8, main"),
        (("topo", "--demo"), "error: --demo and --snapshot cannot be used together"),
        (("topo", "--request-timeout=x"), "error: Invalid timeout value."),
        (("annotate", "nodes", "x"), "error: No such command 'nodes'"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(koord: Run, cluster: str, words: tuple[str, ...], said: str) -> None:
    done = koord("--snapshot", cluster, *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(said)
    assert done.err.count("\n") == 1


def test_flags_of_a_verb_may_stand_before_it(koord: Run, cluster: str) -> None:
    at = ("--snapshot", cluster)
    assert koord("-A", "why-pending", *at) == koord("why-pending", "-A", *at)
    assert koord("--all-namespaces", *at, "why-pending").code == 0
    assert koord("--nodes", "topo", *at) == koord("topo", "--nodes", *at)
    assert koord("--dry-run", "preempt", "high", *at) == koord("preempt", "high", "--dry-run", *at)


@pytest.mark.usefixtures("no_kubectl")
@pytest.mark.parametrize("words", [(), ("topo",), ("why-pending",), ("annotate",), ("annotate", "pods")])
def test_help_is_a_verb_and_needs_no_cluster(koord: Run, words: tuple[str, ...]) -> None:
    assert koord("help", *words) == koord(*words, "--help")
    assert koord("help", *words).code == 0


def test_the_version_is_told_as_a_verb_and_as_a_flag(koord: Run) -> None:
    assert koord("--version") == koord("version")
    assert koord("--version").out.startswith("kubectl-koord ")


@pytest.mark.parametrize("words", [(), ("annotate",)])
def test_no_verb_is_a_question_for_help(koord: Run, words: tuple[str, ...]) -> None:
    assert koord(*words) == koord(*words, "--help")


@pytest.mark.usefixtures("no_kubectl")
@pytest.mark.parametrize("words", [(), ("topo",), ("why-pending",), ("preempt",), ("annotate",), ("annotate", "pods")])
def test_help_needs_no_cluster(koord: Run, words: tuple[str, ...]) -> None:
    for flag in ("-h", "--help"):
        done = koord(*words, flag)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith(" ".join(("Usage: kubectl koord", *words)))
        assert not [line for line in done.out.splitlines() if len(line) > 80]


@pytest.mark.parametrize("words", [(), ("gangs",), ("annotate", "pods"), ("topo", "init")])
def test_the_short_help_leaves_examples_to_the_long_one(koord: Run, words: tuple[str, ...]) -> None:
    short, long = (koord(*words, flag).out for flag in ("-h", "--help"))
    assert short.endswith("\n  Examples: --help. Options of every command: kubectl koord --help.\n")
    head = short.rpartition("\n  Examples:")[0]
    assert long.startswith(head)
    assert len(long) > len(short)


@pytest.mark.usefixtures("no_kubectl")
def test_the_demo_needs_no_cluster(koord: Run) -> None:
    for words in (("topo",), ("why-pending",)):
        done = koord(*words, "--demo")
        assert (done.code, done.err) == (0, "")
        assert done.out
