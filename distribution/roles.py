"""The roles for those who look, for those who change something, and for those who ask the scheduler itself."""

from kubectl_koord.cli.verb_table import reading
from kubectl_koord.cluster import rbac


def files() -> dict[str, str]:
    """Return the roles by the paths of their files."""
    reads = reading().values()
    return {
        "deploy/clusterrole-view.yaml": rbac.cluster_role(rbac.VIEW, rbac.viewing(reads)),
        "deploy/clusterrole-operate.yaml": rbac.cluster_role(rbac.OPERATE, rbac.operating(reads)),
        "deploy/role-scheduler.yaml": rbac.leader_role(),
    }
