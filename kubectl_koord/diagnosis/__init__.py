"""What an answer rests on: causes, evidence, what was not read or is not evaluated, who goes first."""
