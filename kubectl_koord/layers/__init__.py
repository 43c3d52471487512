"""The layers that a job goes through, in their order: each is a module that answers whether it holds the job.

Between `BEFORE` and `AFTER` stands the scheduler, which `engine` answers for. A new queue is a module here, and a row
of `cluster/kinds.py` for each kind that it reads.
"""

from kubectl_koord.layers import binding, creation, gates, owner, queue_koord, queue_kueue, queue_volcano, running
from kubectl_koord.layers.base import Layer

BEFORE: tuple[Layer, ...] = (owner, queue_kueue, queue_koord, queue_volcano, creation, gates)
"""Those before the scheduler."""
AFTER: tuple[Layer, ...] = (binding, running)
"""Those after it."""
