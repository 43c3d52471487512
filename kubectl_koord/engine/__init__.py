"""The scheduler's decisions, recomputed: pure functions from values to values, nothing printed.

What upstream keeps in contexts and counters is returned here as evidence. Names are upstream's
(offer slot, must gather, trigger pod), so that both code bases can be searched alike.
"""
