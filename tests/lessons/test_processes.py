"""Two processes run the functions of a page, one call after another; a failure ends them and names its cause."""

import pytest
import torch

from tests.ci import continuous
from xformer_course.lessons.processes import running, together


def numbers():
    return torch.arange(6.0)


def half_sums(rank):
    mine = numbers()[rank::2].sum()  # noqa: F821
    dist.all_reduce(mine)  # noqa: F821
    return rank, mine


def one_fails(rank):
    if rank == 1:
        raise ValueError("the disk is full")
    dist.all_reduce(torch.zeros(1))  # noqa: F821


@continuous
def test_each_returns_and_the_next_call_finds_them_again():
    for _ in range(2):
        (zero, total), (one, same) = together(half_sums, numbers)
        assert (zero, one) == (0, 1) and total == same == 15
    pair = running(2)
    with pytest.raises(RuntimeError, match="the disk is full"):
        together(one_fails)
    assert all(process.poll() is not None for process in pair.started), "nobody outlives a failure"
    assert together(half_sums, numbers)[0][1] == 15, "a new pair is started"
    running(2).end()
    running.cache_clear()
