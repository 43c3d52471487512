"""The sentences of the answers, one module per verb: facts in, English out, no verdicts."""
