"""`infonce doctor`: whether this place can run the grid, and what to do where it cannot."""

from infonce.doctor.examination import examine

__all__ = ["examine"]
