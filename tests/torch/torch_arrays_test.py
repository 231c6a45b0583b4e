"""Tensors that are not what their memory holds: marked as negated or conjugated, without memory, elsewhere."""

import numpy as np
import pytest
import torch

import attend
import attend.torch


def negated(*shape):
    """The imaginary part of a conjugate looks at that of its tensor, with a mark that says: negate."""
    x = torch.randn(*shape, dtype=torch.complex64, generator=torch.Generator().manual_seed(len(shape))).conj().imag
    assert x.is_neg()
    return x


def plain(x):
    return x.clone().resolve_neg()


def test_a_negated_tensor_is_read_with_its_sign():
    x, w = negated(2, 3, 5, 8), negated(8, 8)
    for call in (
        lambda x, w: attend.attention(x, x, x, bias=x[..., :5]),
        lambda x, w: attend.scaled_dot_product_attention(x, x, x, x[..., :5]),
        lambda x, w: attend.scaled_dot_product_attention(x[0], x, x),
        lambda x, w: attend.torch.attention(x, x, x, sinks=w[0, :3], alibi_slopes=w[0, :3], bias=x[..., :5]),
        lambda x, w: attend.torch.scaled_dot_product_attention(x, x, x, x[..., :5]),
        lambda x, w: attend.matmul(x, w, w[0], residual=x),
        lambda x, w: attend.matmul(x, attend.PackedMatrix(w)),
        lambda x, w: attend.softmax(x),
        lambda x, w: attend.layer_norm(x, w[0], w[1]),
        lambda x, w: attend.embedding([1, 2], w),
        lambda x, w: attend.weights(x, x),
    ):
        got, expected = call(x, w), call(plain(x), plain(w))
        assert torch.equal(torch.as_tensor(got), torch.as_tensor(expected))
        assert not got.is_neg()


def test_gradients_of_and_by_negated_tensors():
    x, weight = negated(1, 2, 5, 8), negated(1, 2, 5, 8)
    found = []
    for q, d_out in ((x, weight), (plain(x), plain(weight))):
        q = q.detach().requires_grad_()
        attend.torch.attention(q, q, q).backward(d_out)
        found.append(q.grad)
    assert torch.equal(*found)


def test_a_negated_tensor_is_not_written():
    x, out = negated(1, 1, 4, 8), negated(1, 1, 4, 8)
    with pytest.raises(ValueError, match="out is only marked as negated"):
        attend.attention(x, x, x, out=out)
    assert torch.equal(out, negated(1, 1, 4, 8))


def test_parameters_and_inputs_of_multihead_attention():
    module = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    state = {name: torch._neg_view(-value.detach()) for name, value in module.state_dict().items()}
    assert all(value.is_neg() for value in state.values())
    ours = attend.MultiheadAttention(8, 2).load_state_dict(state)
    x = negated(2, 5, 8)
    np.testing.assert_array_equal(ours(x)[0], attend.MultiheadAttention.from_torch(module)(plain(x))[0])
    with pytest.raises(TypeError, match="complex"):
        ours(torch.zeros(2, 5, 8, dtype=torch.complex64).conj())


REFUSED = {
    "conjugated": lambda: torch.randn(4, 8, dtype=torch.complex64).conj(),
    "zeros without memory": lambda: torch._efficientzerotensor(4, 8),
    "memory taken away": lambda: emptied(torch.ones(4, 8)),
    "meta": lambda: torch.empty(4, 8, device="meta"),
    "sparse": lambda: torch.eye(8).to_sparse(),
    "a gradient": lambda: torch.ones(4, 8, requires_grad=True),
    "integers": lambda: torch.ones(4, 8, dtype=torch.int32),
}


def emptied(x):
    x.untyped_storage().resize_(0)
    return x


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused(name):
    with pytest.raises((TypeError, ValueError, BufferError)) as told:
        attend.softmax(REFUSED[name]())
    assert "\n" not in str(told.value)
