"""Why a node refuses a pod, and why a gang or a pod is not tried: a sentence for each class of the engine."""
