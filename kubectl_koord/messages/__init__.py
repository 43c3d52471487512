"""Reading the scheduler's own words: conditions, events, and what of them still holds."""
