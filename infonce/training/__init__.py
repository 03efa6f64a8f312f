"""Training an encoder on fixed or renewed tuples, with a pool of negatives that a step embeds once."""
