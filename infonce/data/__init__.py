"""Data: which sets there are, how they are fetched and prepared, and how tuples become encoder inputs."""
