"""One page per report: what a person reads, as blocks. The verdict sentence always comes first."""
