"""The sentences of ways out and next steps, and the commands that go with them."""
