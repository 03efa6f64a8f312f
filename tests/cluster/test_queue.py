import pytest

from infonce.cluster import queue
from infonce.errors import ClusterError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0:07", 7), ("59:59", 3599), ("1:00:00", 3600), ("2-03:04:05", 183845), ("UNLIMITED", None), ("INVALID", None)],
)
def test_times_of_slurm(text, seconds):
    assert queue.seconds(text) == seconds


def test_a_missing_command_says_where_to_go():
    with pytest.raises(ClusterError, match="no-such-command: no such command here; log in to a node of the cluster"):
        queue.answer("no-such-command")


def test_a_failing_command_is_quoted_with_its_last_line():
    with pytest.raises(ClusterError, match=r"^sh: the second$"):
        queue.answer("sh", "-c", "echo the first >&2; echo the second >&2; exit 3")


def test_a_silent_controller_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(queue, "SECONDS", 0.1)
    with pytest.raises(ClusterError, match="sleep: no answer within"):
        queue.answer("sleep", "5")
