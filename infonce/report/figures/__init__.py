"""One module a figure: the data that it shows, and how it is drawn."""
