"""Counting: products, bytes, the largest tensor and the calls of a function."""

import pytest
import torch
import torch.nn.functional as F

from xformer_lib.nn import MultiHeadAttention
from xformer_lib.nn.cost import Cost, measure_cost
from xformer_lib.nn.layers import EncoderLayer


@pytest.fixture(autouse=True)
def forward_alone():
    with torch.no_grad():
        yield


def test_a_matrix_product_by_hand():
    cost = measure_cost(torch.mm, torch.randn(3, 5), torch.randn(5, 7))
    assert cost == Cost(products=105, moved=4 * (15 + 35 + 21), largest=21, calls=1)
    assert cost.intensity == 210 / 284


@pytest.mark.parametrize(
    "call,products",
    [
        (lambda: F.linear(torch.randn(2, 3, 5), torch.randn(7, 5), torch.randn(7)), 2 * 3 * 5 * 7),
        (lambda: torch.bmm(torch.randn(2, 3, 5), torch.randn(2, 5, 7)), 2 * 3 * 5 * 7),
        (lambda: torch.einsum("hid,hjd->hij", torch.randn(2, 3, 5), torch.randn(2, 7, 5)), 2 * 3 * 5 * 7),
        (lambda: torch.nn.Conv1d(3, 5, 7, padding=3)(torch.randn(2, 3, 11)), 2 * 11 * 3 * 5 * 7),
        (lambda: torch._int_mm(torch.ones(3, 5, dtype=torch.int8), torch.ones(5, 7, dtype=torch.int8)), 105),
        (lambda: F.scaled_dot_product_attention(*(torch.randn(2, 3, n, d) for n, d in ((5, 7), (11, 7), (11, 7)))), 2 * 3 * 5 * 11 * 14),
        (lambda: torch.randn(3, 5).softmax(dim=-1), 0),
    ],
)
def test_products(call, products):
    assert measure_cost(call).products == products


def test_views_are_free_and_changes_in_place_are_not():
    x = torch.randn(3, 5)
    assert measure_cost(lambda: x.t().reshape(15)[2:].view(13, 1)).calls == 1  # the reshape copies
    assert measure_cost(lambda: x.t()[1:]) == Cost(0, 0, 0, 0)
    assert measure_cost(lambda: x.mul_(2)) == Cost(0, 4 * 30, 15, 1)


def test_a_spread_row_counts_once():
    assert measure_cost(lambda row: row.expand(7, 5) + 1, torch.randn(5)).moved == 4 * (5 + 35)


def test_a_look_up_reads_its_rows_alone():
    table, ids, zeros = torch.randn(331, 5), torch.tensor([3, 7]), torch.zeros(11, dtype=torch.long)
    assert measure_cost(F.embedding, ids, table).moved == 8 * 2 + 2 * 4 * 10
    assert measure_cost(lambda: table[ids]).moved == 8 * 2 + 2 * 4 * 10
    assert measure_cost(lambda: table[:2].clone()[zeros]).moved == 2 * 4 * 10 + 4 * 10 + 8 * 11 + 4 * 55


def test_arguments_in_lists_and_options_count():
    cost = measure_cost(torch.cat, [torch.randn(3, 5), torch.randn(2, 5)], dim=0)
    assert (cost.moved, cost.calls) == (4 * 50, 1)


@pytest.mark.parametrize("length", [7, 53])
def test_attention_is_two_terms(length):
    layer, x = MultiHeadAttention(22, 2), torch.randn(3, length, 22)
    cost = measure_cost(layer, x, x, x)
    assert cost.products == 3 * (4 * length * 22**2 + 2 * length**2 * 22)
    assert cost.largest == 3 * max(2 * length**2, length * 22)


def test_the_backward_pass_counts_when_it_is_in_the_call():
    w = torch.randn(5, 7, requires_grad=True)

    def both_ways():
        with torch.enable_grad():
            (torch.randn(3, 5, requires_grad=True) @ w).sum().backward()

    assert measure_cost(both_ways).products == 3 * 105


def test_inference_mode_counts_what_no_grad_counts():
    """There an operation such as F.linear arrives whole."""
    layer, x = EncoderLayer(20, 5, 28), torch.randn(3, 7, 20)
    costs = []
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            costs.append(measure_cost(layer, x).products)
    assert costs[0] == costs[1] == 3 * (7 * 20 * (4 * 20 + 2 * 28) + 2 * 7 * 7 * 20)


def test_the_kernel_going_back():
    """Five products: the scores again, then d_q, d_k, d_v and those of the weights."""
    q, k = (torch.randn(2, 3, length, 8, requires_grad=True) for length in (11, 13))
    with torch.enable_grad():
        cost = measure_cost(lambda: F.scaled_dot_product_attention(q, k, k).sum().backward())
    assert cost.products == 7 * 2 * 3 * 11 * 13 * 8
