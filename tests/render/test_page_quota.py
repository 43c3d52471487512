"""The page of `quota`: what is held back, the tree, who lends, findings and the over-use controller."""

from msgspec.structs import replace

from kubectl_koord.render.show import text
from kubectl_koord.render.shown import Shown
from kubectl_koord.reports.capacity import QuotaTreeReport
from tests.render.samples import NO_QUOTAS, PENDING, PIPE, QUOTA, QUOTAS, TERMINAL, TOPO_FOR


def shown(report: QuotaTreeReport) -> str:
    return text(report, style=PIPE)


def test_quotas_in_a_pipe() -> None:
    expected = """\
1 quota holds back 8 GPU of 1 gang (1 pod).
Quota team-a holds back 8 GPU of train/job (1 of 2 pods).
Quota team-b holds back pod train/lone.

Quotas admit 1 of 2 pending pods of train/job.
Room for more pods like its first, from its quota upwards
  QUOTA     RESOURCE   USED   LIMIT   ROOM FOR PODS   NOTES
  team-a    GPU           9       8               0
  company                                             not checked, but limits those below

Counted: GPU (--resource counts another: cpu).
QUOTA        MIN   USED   RUNTIME   MAX   REQUEST   WEIGHT   LENT   BORROWED   NOTES
root           4      9         8    32        24
  company      4      9         8    16        24       16                     tree gpus, does not lend, cycle
    team-a     4      9         8    16        24       16                 5
    team-b     4                8    16        24       16   <= 5

team-b lends up to 5 GPU to team-a.

Findings
  error: company: it is below itself: company < company. Correct the label. (quota-cycle)
  warning: team-a: it uses more than its runtime: 9 of 8 GPU. Wait. (quota-over-used)

The over-use controller is on.
team-a uses more than its runtime (GPU); evicted if that lasts: train/old.
team-b uses more than its runtime (GPU): it has no pods of its own that may be evicted.

Warning: The scheduler's configuration is assumed as the Helm chart sets it. (assumed-config)

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert shown(QUOTAS) == expected


def test_one_quota_in_a_pipe() -> None:
    expected = """\
1 quota holds back 8 GPU of 1 gang (1 pod).
Quota team-a holds back 8 GPU of train/job (1 of 2 pods).
Quota team-b holds back pod train/lone.

Counted: GPU (--resource counts another: cpu).
QUOTA        MIN   USED   RUNTIME   MAX   REQUEST   WEIGHT   LENT   BORROWED   NOTES
root           4      9         8    32        24
  company      4      9         8    16        24       16                     tree gpus, does not lend, cycle
    team-a     4      9         8    16        24       16                 5
    team-b     4                8    16        24       16   <= 5

RESOURCE   MIN   USED   RUNTIME   MAX   REQUEST   WEIGHT   BORROWED
CPU                 8              64
GPU          4      9         8    16        24       16          5

team-a uses 5 GPU above its minimum (from team-b).

POD           REQUESTS       PRIORITY   NODE   LACKS
train/job-1   8 GPU, 4 CPU          9          quota team-a has no room.
train/old     1 GPU                 5   n1

Findings
  error: company: it is below itself: company < company. Correct the label. (quota-cycle)
  warning: team-a: it uses more than its runtime: 9 of 8 GPU. Wait. (quota-over-used)

The over-use controller is off.

Warning: The scheduler's configuration is assumed as the Helm chart sets it. (assumed-config)

Evaluated as Koordinator 1.8 (from the image tag)
"""
    assert shown(QUOTA) == expected


def test_what_lenders_cannot_give_is_not_said_to_be_theirs() -> None:
    team = next(quota for quota in QUOTA.quotas if quota.borrowed)
    share = replace(team.borrowed[0], of_it="2")
    page = shown(replace(QUOTA, quotas=(replace(team, borrowed=(share,)),)))
    assert "team-a uses 5 GPU above its minimum (up to 2 GPU of it from team-b)." in page


def test_of_many_the_first_are_shown_and_how_many_more_there_are() -> None:
    page = text(
        replace(
            QUOTA,
            held_back=QUOTAS.held_back * 2,
            findings=QUOTAS.findings * 2,
            pods=QUOTA.pods * 2,
            quotas=(replace(QUOTAS.quotas[2], lent=QUOTAS.quotas[3].lent * 2, borrowed=()), *QUOTAS.quotas[:3]),
        ),
        style=PIPE,
        shown=Shown(lines=1, rows=1, few=0),
    )
    for more in ("4 more quotas", "3 more quotas", "4 more findings", "3 more (", "3 more pods"):
        assert f"... and {more}" in page


def test_what_could_not_be_read_is_the_first_line() -> None:
    assert shown(NO_QUOTAS).startswith("Cannot show quotas: ElasticQuota could not be read.\n\nWarning: ")


def test_a_quota_tree_fits_a_terminal_of_80_columns() -> None:
    assert max(map(len, text(QUOTAS, style=TERMINAL).splitlines())) <= 80


def test_other_pages_say_what_quotas_hold_back_and_admit() -> None:
    listing = text(replace(PENDING, held_back=QUOTAS.held_back), style=PIPE)
    assert (
        "\nQuota team-a holds back 8 GPU of train/job (1 of 2 pods).\nQuota team-b holds back pod train/lone.\n"
        in listing
    )
    few = text(replace(PENDING, held_back=QUOTAS.held_back * 2), style=PIPE, shown=Shown(few=1))
    assert "... and 3 more quotas (--all shows them)" in few
    assert "\nQuotas admit 1 of 2 pending pods of train/job.\n" in text(
        replace(TOPO_FOR, headroom=QUOTAS.headroom), style=PIPE
    )


def test_headroom_without_a_chain_is_one_line() -> None:
    assert QUOTAS.headroom is not None
    page = shown(replace(QUOTAS, headroom=replace(QUOTAS.headroom, chain=())))
    assert "Quotas admit 1 of 2 pending pods of train/job.\n\nCounted" in page
