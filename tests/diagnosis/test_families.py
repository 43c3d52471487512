"""Which labels of nodes may name their place in the network."""

from kubectl_koord.diagnosis.labels import candidates
from tests.build import node


def test_labels_that_divide_the_nodes_are_candidates_and_those_of_kubernetes_are_not() -> None:
    labels = [
        {"rack": f"r{number // 2}", "row": "a", "name": f"n{number}", "empty": "", "kubernetes.io/os": f"{number % 2}"}
        for number in range(4)
    ]
    nodes = [node(f"n{number}", labels=tuple(each.items())) for number, each in enumerate(labels)]
    assert candidates(nodes) == {"rack": 2}
