"""One verb each: obtain a snapshot, ask one question, show the answer."""
