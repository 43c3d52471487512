"""What the leading scheduler remembers, beside what follows from the objects; and what its log says of pods."""
