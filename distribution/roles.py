"""The roles for those who look, for those who change something, and for those who ask the scheduler itself."""

from kubectl_koord.cli.verb_table import reading
from kubectl_koord.cluster import rbac

_AGGREGATED = """\
metadata:
  name: kubectl-koord-aggregate-to-view
  labels:
    rbac.authorization.k8s.io/aggregate-to-view: "true"
"""
_BINDINGS = """\
# Examples: replace the names of groups and of the namespace, then kubectl apply -f bindings-example.yaml
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: kubectl-koord-view
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kubectl-koord-view}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: training-users}
---
# In one namespace only: answers that need nodes are unknown then.
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: kubectl-koord-view
  namespace: train
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kubectl-koord-view}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: one-team}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: kubectl-koord-operate
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kubectl-koord-operate}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: cluster-operators}
"""


def files() -> dict[str, str]:
    """Return the roles by the paths of their files."""
    reads = reading().values()
    view = rbac.cluster_role(rbac.VIEW, rbac.viewing(reads))
    return {
        "deploy/bindings-example.yaml": _BINDINGS,
        "deploy/clusterrole-view.yaml": view,
        "deploy/clusterrole-aggregate-to-view.yaml": view.replace(f"metadata:\n  name: {rbac.VIEW}\n", _AGGREGATED),
        "deploy/clusterrole-operate.yaml": rbac.cluster_role(rbac.OPERATE, rbac.operating(reads)),
        "deploy/role-scheduler.yaml": rbac.leader_role(),
    }
