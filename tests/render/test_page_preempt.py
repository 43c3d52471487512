from kubectl_koord.render.show import text
from tests.render.samples import ASCII_TERMINAL, NOT_NEEDED, PIPE, PREEMPT, TERMINAL


def test_every_attempt_with_its_victims_on_a_terminal() -> None:
    expected = """\
default/job: preemption kills 2 pods in 2 attempts, and the gang still cannot
run.

1st attempt: kills 1 pod
  VICTIM             NODE     PRIORITY   BELONGS TO    AGE   BUDGET
  spine-0
  └─ default/low-0   node-0       1000   default/low    2h   low-pdb (violated)
  The API server on evicting default/low-0: accepted

  NODE     NOMINATED FOR IT
  node-0   job-0, job-1

2nd attempt: kills 1 pod
  VICTIM             NODE     PRIORITY   BELONGS TO       NOTE
  spine-0
  └─ default/low-1   node-1       1000   replicaset/web   wasted

  NODE     NOMINATED FOR IT
  node-1   job-1

Running gangs that would fall below their minimum
  GANG          RUNNING   LEFT   MINIMUM
  default/low         4      3         4

Wasted victims: default/low-1 dies in vain, default/job gains nothing from it.

It depends on what cannot be seen from outside the scheduler
  1. If node-1 is tried first: kills default/low-1; nominated: job-0 -> node-1;
     breaks default/low; the gang cannot run even then (not-helpful).

What next
  1. Whether preemption helps cannot be told: see what stops the gang.
     kubectl koord why-pending default/job
  2. Nothing was killed: this command only computes.

Warning: The scheduler's configuration is assumed as the Helm chart sets it.
(assumed-config)

priority of the gang: 9000; as koordinator 1.8 decides (from the image tag)
"""
    assert text(PREEMPT, style=TERMINAL) == expected


def test_every_attempt_with_its_victims_in_a_pipe() -> None:
    expected = """\
default/job: preemption kills 2 pods in 2 attempts, and the gang still cannot run.

1st attempt: kills 1 pod
  VICTIM            NODE     PRIORITY   BELONGS TO    AGE   BUDGET
  spine-0
    default/low-0   node-0       1000   default/low    2h   low-pdb (violated)
  The API server on evicting default/low-0: accepted

  NODE     NOMINATED FOR IT
  node-0   job-0, job-1

2nd attempt: kills 1 pod
  VICTIM            NODE     PRIORITY   BELONGS TO       NOTE
  spine-0
    default/low-1   node-1       1000   replicaset/web   wasted

  NODE     NOMINATED FOR IT
  node-1   job-1

Running gangs that would fall below their minimum
  GANG          RUNNING   LEFT   MINIMUM
  default/low         4      3         4

Wasted victims: default/low-1 dies in vain, default/job gains nothing from it.

It depends on what cannot be seen from outside the scheduler
  1. If node-1 is tried first: kills default/low-1; nominated: job-0 -> node-1; breaks default/low; the gang cannot run even then (not-helpful).

What next
  1. Whether preemption helps cannot be told: see what stops the gang.
     kubectl koord why-pending default/job
  2. Nothing was killed: this command only computes.

Warning: The scheduler's configuration is assumed as the Helm chart sets it. (assumed-config)

priority of the gang: 9000; as koordinator 1.8 decides (from the image tag)
"""  # noqa: E501
    assert text(PREEMPT, style=PIPE) == expected


def test_every_attempt_with_its_victims_on_an_ascii_terminal() -> None:
    expected = """\
default/job: preemption kills 2 pods in 2 attempts, and the gang still cannot
run.

1st attempt: kills 1 pod
  VICTIM             NODE     PRIORITY   BELONGS TO    AGE   BUDGET
  spine-0
  `- default/low-0   node-0       1000   default/low    2h   low-pdb (violated)
  The API server on evicting default/low-0: accepted

  NODE     NOMINATED FOR IT
  node-0   job-0, job-1

2nd attempt: kills 1 pod
  VICTIM             NODE     PRIORITY   BELONGS TO       NOTE
  spine-0
  `- default/low-1   node-1       1000   replicaset/web   wasted

  NODE     NOMINATED FOR IT
  node-1   job-1

Running gangs that would fall below their minimum
  GANG          RUNNING   LEFT   MINIMUM
  default/low         4      3         4

Wasted victims: default/low-1 dies in vain, default/job gains nothing from it.

It depends on what cannot be seen from outside the scheduler
  1. If node-1 is tried first: kills default/low-1; nominated: job-0 -> node-1;
     breaks default/low; the gang cannot run even then (not-helpful).

What next
  1. Whether preemption helps cannot be told: see what stops the gang.
     kubectl koord why-pending default/job
  2. Nothing was killed: this command only computes.

Warning: The scheduler's configuration is assumed as the Helm chart sets it.
(assumed-config)

priority of the gang: 9000; as koordinator 1.8 decides (from the image tag)
"""
    assert text(PREEMPT, style=ASCII_TERMINAL) == expected


def test_preemption_that_is_not_needed() -> None:
    expected = """\
default/job needs no preemption.

What next
  1. Nobody has to be killed: the gang fits as things are.
     kubectl koord why-pending default/job

as koordinator 1.8 decides (from the image tag)
"""
    assert text(NOT_NEEDED, style=PIPE) == expected
