"""Around a run on a cluster: what the site needs, what the grid's jobs are doing, and how to go on after a fault."""
