"""attend.torch.attention against PyTorch's autograd over the formula in float64."""

import threading

import pytest
import torch
from formula import attention as formula

import attend
import attend.torch

B, H, HKV, LQ, LK, D, DV = 2, 4, 2, 7, 9, 6, 5


def leaf(*shape, dtype=torch.float64, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype).requires_grad_()


def inputs(dtype=torch.float64):
    shapes = [(B, H, LQ, D), (B, HKV, LK, D), (B, HKV, LK, DV)]
    return [leaf(*shape, dtype=dtype, seed=seed) for seed, shape in enumerate(shapes, 1)]


CASES = {
    "plain": {},
    "causal": {"causal": True, "query_offset": LK - LQ},
    "top left": {"causal": True},
    "window": {"window": (3, 1)},
    "lengths": {"key_lengths": [4, 9]},
    "mask": {"mask": torch.rand(B, 1, LQ, LK, generator=torch.Generator().manual_seed(4)) > 0.4},
    "empty rows": {"mask": torch.arange(LQ)[:, None].expand(LQ, LK) > 2},
    "bias": {"bias": leaf(B, H, LQ, LK, seed=5)},
    "broadcast bias": {"bias": leaf(H, 1, LK, seed=6)},
    "slopes": {"alibi_slopes": leaf(H, seed=7)},
    "softcap": {"softcap": 1.5, "scale": 0.7},
    "sinks": {"sinks": leaf(H, seed=8)},
    "everything": {"causal": True, "query_offset": 2, "bias": leaf(1, H, 1, LK, seed=9), "alibi_slopes": leaf(H, seed=10),
                   "sinks": leaf(H, seed=11), "softcap": 2.0, "window": (5, None), "scale": 0.4},
}


def with_gradients(function, arguments, options, d_out):
    arguments = [x.detach().clone().requires_grad_() for x in arguments]
    options = {name: value.detach().clone().requires_grad_() if isinstance(value, torch.Tensor) and value.requires_grad else value
               for name, value in options.items()}
    out = function(*arguments, **options)
    leaves = [*arguments, *(value for value in options.values() if isinstance(value, torch.Tensor) and value.requires_grad)]
    return out, torch.autograd.grad(out, leaves, d_out.to(out.dtype))


@pytest.mark.parametrize("dtype, bound", [(torch.float64, 1e-12), (torch.float32, 2e-5)], ids=["f64", "f32"])
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_the_formula(name, dtype, bound):
    d_out = leaf(B, H, LQ, DV, seed=12).detach()
    expected, expected_gradients = with_gradients(lambda *a, **o: formula(*a, **o)[0], inputs(), CASES[name], d_out)
    options = {key: value.to(dtype).detach().requires_grad_() if isinstance(value, torch.Tensor) and value.requires_grad else value
               for key, value in CASES[name].items()}
    out, gradients = with_gradients(attend.torch.attention, inputs(dtype), options, d_out)
    assert out.dtype == dtype
    torch.testing.assert_close(out.double(), expected, atol=bound, rtol=bound)
    for ours, theirs in zip(gradients, expected_gradients, strict=True):
        assert ours.dtype == dtype and ours.shape == theirs.shape
        torch.testing.assert_close(ours.double(), theirs, atol=bound, rtol=bound)


def test_gradcheck_by_finite_differences():
    bias, sinks = leaf(H, LQ, LK, seed=5), leaf(H, seed=6)

    def attention(q, k, v, bias, sinks):
        return attend.torch.attention(q, k, v, bias=bias, sinks=sinks, causal=True, query_offset=2)

    assert torch.autograd.gradcheck(attention, (*inputs(), bias, sinks))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_16_bit_inputs_keep_the_output_in_f32_for_backward(dtype):
    arguments = inputs(dtype)
    d_out = leaf(B, H, LQ, DV, dtype=dtype, seed=12).detach()
    _, expected = with_gradients(lambda *a: formula(*a)[0], [x.double() for x in arguments], {}, d_out)
    out, gradients = with_gradients(attend.torch.attention, arguments, {}, d_out)
    assert out.dtype == dtype
    # No worse than from the same inputs in f32, rounded once.
    _, wide = with_gradients(attend.torch.attention, [x.float() for x in arguments], {}, d_out.float())
    for ours, same, truth in zip(gradients, wide, expected, strict=True):
        assert ours.dtype == dtype
        error, bound = ((x.to(dtype).double() - truth).abs().max() for x in (ours, same))
        assert error <= 1.01 * bound
    with torch.no_grad():
        assert torch.equal(attend.torch.attention(*arguments), out)


def test_only_the_gradients_that_are_needed():
    q, k, v = inputs(torch.float32)
    k.requires_grad_(False)
    out = attend.torch.attention(q, k, v)
    out.sum().backward()
    assert q.grad is not None and v.grad is not None and k.grad is None
    assert not attend.torch.attention(*(x.detach() for x in (q, k, v))).requires_grad


def test_non_contiguous_inputs_and_gradients():
    q, k, v = (x.detach().transpose(1, 2).contiguous().transpose(1, 2).requires_grad_() for x in inputs())
    assert not q.is_contiguous()
    d_out = torch.ones(1, 1, 1, 1, dtype=torch.float64).expand(B, H, LQ, DV)
    got = torch.autograd.grad(attend.torch.attention(q, k, v), (q, k, v), d_out)
    want = torch.autograd.grad(formula(q, k, v)[0], (q, k, v), d_out)
    for ours, theirs in zip(got, want):
        torch.testing.assert_close(ours, theirs)


def test_fewer_axes_and_packed_sequences():
    q, k, v = (x.detach()[0, 0].requires_grad_() for x in inputs())
    got = torch.autograd.grad(attend.torch.attention(q, k, v).sum(), (q, k, v))
    want = torch.autograd.grad(formula(q[None, None], k[None, None], v[None, None])[0].sum(), (q, k, v))
    for ours, theirs in zip(got, want):
        torch.testing.assert_close(ours, theirs)
    x = leaf(10, H, D)
    lengths = torch.tensor([0, 4, 10])
    packed = attend.torch.attention(x, x, x, cumulative_query_lengths=lengths, cumulative_key_lengths=lengths)
    (gradient,) = torch.autograd.grad(packed.sum(), x)
    parts = [formula(*[part.transpose(0, 1)[None]] * 3)[0][0].transpose(0, 1) for part in (x[:4], x[4:])]
    torch.testing.assert_close(packed, torch.cat(parts))
    torch.testing.assert_close(gradient, torch.autograd.grad(sum(part.sum() for part in parts), x)[0])


def test_dropout_follows_the_generator_and_repeats_in_backward():
    q, k, v = (leaf(1, 2, 33, 8, seed=seed) for seed in range(3))

    def dropped(seed):
        torch.manual_seed(seed)
        return attend.torch.attention(q, k, v, dropout=0.5)

    assert torch.equal(dropped(1), dropped(1)) and not torch.equal(dropped(1), dropped(2))
    assert torch.autograd.gradcheck(lambda v: attend.torch.attention(q.detach(), k.detach(), v, dropout=0.5, dropout_seed=3), (v,))
    small = [x.detach()[:, :, :5].requires_grad_() for x in (q, k, v)]
    assert torch.autograd.gradcheck(lambda *x: attend.torch.attention(*x, dropout=0.3, dropout_seed=3), small)


def test_row_state_has_no_gradient():
    out, state = attend.torch.attention(*inputs(), return_state=True)
    assert out.requires_grad and not state.max.requires_grad and not state.sum.requires_grad
    torch.testing.assert_close(attend.log_sum_exp(state), state.max + state.sum.log())


REFUSED = "attend.torch.attention: attend has no second derivative"


@pytest.mark.parametrize("loss", [lambda out: out.sum(), lambda out: out.square().sum()], ids=["linear", "square"])
@pytest.mark.parametrize("place", range(3), ids="qkv")
def test_a_second_derivative_is_refused(loss, place):
    """Also where the gradient of the output is a constant, and the gradients depend on the inputs alone."""
    given = inputs()
    out = attend.torch.attention(*given)
    (gradient,) = torch.autograd.grad(loss(out), given[place], create_graph=True)
    for second in (gradient.sum(), gradient.square().sum() + out.sum()):
        with pytest.raises(RuntimeError, match=REFUSED):
            second.backward(retain_graph=True)
    assert all(x.grad is None for x in given)


@pytest.mark.parametrize("name", ["bias", "alibi_slopes", "sinks"])
def test_a_second_derivative_by_an_option_is_refused(name):
    option = CASES["everything"][name].detach().clone().requires_grad_()
    q, k, v = (x.detach() for x in inputs())
    out = attend.torch.attention(q, k, v, **{name: option})
    (gradient,) = torch.autograd.grad(out.sum(), option, create_graph=True)
    with pytest.raises(RuntimeError, match=REFUSED):
        (gradient.sum() + out.sum()).backward()


def test_a_graph_of_gradients_that_nobody_differentiates_is_no_mistake():
    q, k, v = inputs()
    (d_q,) = torch.autograd.grad(attend.torch.attention(q, k, v).sum(), q, create_graph=True)
    (expected,) = torch.autograd.grad(attend.torch.attention(q, k, v).sum(), q)
    assert torch.equal(d_q, expected) and d_q.requires_grad
    (by_v,) = torch.autograd.grad(attend.torch.attention(q, k, v).sum() + d_q.detach().sum(), v)
    assert by_v is not None


def test_what_is_not_differentiated_is_not_taken_for_a_number():
    q, k, v = inputs()
    learned = torch.tensor(0.5, requires_grad=True)
    for options in ({"scale": learned}, {"softcap": learned}, {"sinks": [learned] * H}, {"alibi_slopes": [learned] * H}):
        with pytest.raises(TypeError, match=f"{next(iter(options))} requires a gradient"):
            attend.torch.attention(q, k, v, **options)
        with torch.no_grad():
            attend.torch.attention(q, k, v, **options)


def test_a_derivative_in_forward_mode_is_refused():
    q, k, v = (x.detach() for x in inputs())
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(k, torch.ones_like(k))
        with pytest.raises(RuntimeError, match="attend has no derivative in forward mode"):
            attend.torch.attention(q, dual, v)
    by_q = torch.func.grad(lambda x: attend.torch.attention(x, k, v).sum())
    for_each = torch.func.vmap(lambda x: attend.torch.attention(x, k[0], v[0]))
    for transformed in (by_q, for_each):
        with pytest.raises(RuntimeError):
            transformed(q)


def test_writing_to_an_input_before_backward_is_noticed():
    q, k, v = inputs()
    mask = torch.ones(LQ, LK, dtype=torch.bool)
    out = attend.torch.attention(q * 1, k, v, mask=mask)
    mask[0, 0] = False
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_a_graph(mode):
    q, k, v = inputs(torch.float32)
    with mode():
        out = attend.torch.attention(q, k, v)
        made_here = attend.torch.attention(q + 0, k + 0, v + 0)
    assert not out.requires_grad and torch.equal(out, attend.torch.attention(q, k, v)) and torch.equal(out, made_here)


def test_autocast_casts_as_for_pytorch():
    q, k, v = inputs(torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        out = attend.torch.attention(q, k, v.bfloat16())
    assert out.dtype == torch.bfloat16
    out.float().sum().backward()
    assert q.grad.dtype == torch.float32


def test_inside_a_compiled_function():
    q, bias = leaf(1, 2, 8, 4), leaf(8, 8, seed=1)

    def function(q, bias):
        return attend.torch.attention(q * 2, q, q, bias=bias).square().sum()

    compiled = torch.compile(function, backend="eager")
    got, expected = (torch.autograd.grad(f(q, bias), (q, bias)) for f in (compiled, function))
    assert all(torch.equal(a, b) for a, b in zip(got, expected))


def test_refusals_are_one_sentence():
    q, k, v = inputs(torch.float32)
    with pytest.raises(ValueError, match=r"q is on meta; attend computes on the CPU and on CUDA devices"):
        attend.torch.attention(q.to("meta"), k, v)
    with pytest.raises(ValueError, match=r"mask is on meta"):
        attend.torch.attention(q, k, v, mask=torch.ones(LQ, LK, dtype=torch.bool, device="meta"))
    with pytest.raises(TypeError, match=r"k is a ndarray, expected a torch.Tensor"):
        attend.torch.attention(q, k.detach().numpy(), v)
    with pytest.raises(ValueError, match="torch.sparse_coo"):
        attend.torch.attention(q.detach().to_sparse(), k, v)
    with pytest.raises(TypeError, match="takes no out"):
        attend.torch.attention(q, k, v, out=q)
    with pytest.raises(TypeError, match="did you mean 'causal'"):
        attend.torch.attention(q, k, v, casual=True)
    with pytest.raises(TypeError, match="requires a gradient; use attend.torch"):
        attend.attention(q, k, v)


def test_threads_share_nothing():
    q, k, v = inputs(torch.float32)
    expected = torch.autograd.grad(attend.torch.attention(q, k, v).sum(), (q, k, v))
    wrong = []

    def work():
        for _ in range(20):
            got = torch.autograd.grad(attend.torch.attention(q, k, v).sum(), (q, k, v))
            wrong.extend(1 for a, b in zip(got, expected) if not torch.equal(a, b))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_import_attend_does_not_import_torch():
    import subprocess
    import sys

    subprocess.run([sys.executable, "-c", "import attend, sys; assert 'torch' not in sys.modules"], check=True)
    hidden = "import sys; sys.modules['torch'] = None\ntry:\n import attend.torch\nexcept ImportError as e: print(e)"
    said = subprocess.run([sys.executable, "-c", hidden], check=True, capture_output=True, text=True).stdout
    assert said == "attend.torch needs PyTorch, which is not installed (pip install torch)\n"
