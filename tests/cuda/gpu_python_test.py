"""CUDA arrays in Python, and attend.torch on a GPU: python3 gpu_python_test.py. Needs PyTorch; without it or without a GPU it says so.

Not part of `make test`: tools/gpu.sh runs it.
"""

import gc
import sys
import time
import traceback

try:
    import torch
except ImportError:
    print("left out: there is no PyTorch")
    sys.exit(0)
if not torch.cuda.is_available():
    print("left out: PyTorch finds no GPU")
    sys.exit(0)

import attend
import attend.torch

GPU = torch.device("cuda", 0)
BOUND = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1.5e-2}
left_out = []


class OnlyDLPack:
    """An array that has nothing but DLPack, and notes to which stream it was handed over."""

    def __init__(self, held):
        self.held, self.streams = held, []

    def __dlpack__(self, *, stream=None, max_version=None):
        self.streams.append(stream)
        return self.held.__dlpack__(stream=stream, max_version=max_version)

    def __dlpack_device__(self):
        return self.held.__dlpack_device__()


def normal(*shape, dtype=torch.float32, device=GPU):
    return torch.randn(*shape, device=device).to(dtype)


def exact(q, k, v, causal=False, mask=None):
    """The output and the weights in float64."""
    group = q.shape[1] // k.shape[1]
    q, k, v = (x.double() for x in (q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)))
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        hidden = torch.ones(scores.shape[-2:], device=scores.device, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, -torch.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights, scores.logsumexp(-1)


def close(found, expected, bound, what=""):
    error = (found.double() - expected.double()).abs().max().item()
    assert error <= bound * max(1.0, expected.abs().max().item()), f"{what}: off by {error}"


def refuses(kind, sentence, call):
    try:
        call()
    except kind as error:
        text = str(error)
        assert sentence in text and "\n" not in text, f"says: {text}"
        return
    raise AssertionError(f"not refused: {sentence}")


def there(call, what):
    """What call() gives; None, noted as left out, where the device does not have the operation."""
    try:
        return call()
    except ValueError as error:
        if "is not implemented on cuda:0" not in str(error):
            raise
        left_out.append(f"{what}: {error}")
        return None


def works():
    q = normal(1, 2, 40, 64)
    close(attend.attention(q, q, q), exact(q, q, q)[0], BOUND[q.dtype])


def test_tensors_are_read_and_written_where_they_are():
    for dtype, bound in BOUND.items():
        q, k, v = normal(2, 8, 100, 64, dtype=dtype), normal(2, 4, 120, 64, dtype=dtype), normal(2, 4, 120, 64, dtype=dtype)
        out, state = attend.attention(q, k, v, return_state=True)
        expected, _, lse = exact(q, k, v)
        assert out.device == GPU and out.dtype == dtype and state.max.device == GPU and state.max.dtype == torch.float32
        close(out, expected, bound, dtype)
        close(attend.log_sum_exp(state), lse, 2e-5, "log_sum_exp")
        again = attend.attention(q, k, v, out=torch.full_like(q, 7))
        assert torch.equal(again, out)
        # Other strides: (batch, tokens, heads, d) in memory, and every second row.
        moved = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
        assert torch.equal(attend.attention(*moved), out)
        wide = [torch.stack([x, x + 1], -2).flatten(2, 3)[:, :, ::2] for x in (q, k, v)]
        assert torch.equal(attend.attention(*wide), out)
        one = attend.attention(q[0, 0], k[0, 0], v[0, 0])
        assert one.shape == (100, 64)
        parts = [attend.attention(q, k[:, :, s], v[:, :, s], return_state=True) for s in (slice(0, 50), slice(50, 120))]
        merged, both = attend.merge_attention(*parts[0], *parts[1])
        close(merged, expected, 2 * bound, "merge")
        close(attend.log_sum_exp(both), lse, 2e-5, "merged state")
        assert attend.attention_kernel(q, k).name in ("decode", "hopper", "portable")
    close(attend.scaled_dot_product_attention(q, k, v, enable_gqa=True), expected, bound, "sdpa")


def test_options_go_along():
    q = normal(2, 4, 70, 64)
    mask = torch.rand(70, 70, device=GPU) < 0.7
    mask[:, 0] = True
    close(attend.attention(q, q, q, mask=mask), exact(q, q, q, mask=mask)[0], BOUND[q.dtype], "mask")
    bias = normal(70, 70)
    here = attend.attention(*(x.cpu() for x in (q, q, q)), bias=bias.cpu(), causal=True, softcap=5.0, sinks=[0.1] * 4,
                            alibi_slopes=[0.5] * 4, key_lengths=[70, 33])
    away = attend.attention(q, q, q, bias=bias, causal=True, softcap=5.0, sinks=[0.1] * 4, alibi_slopes=[0.5] * 4, key_lengths=[70, 33])
    close(away.cpu(), here, 1e-5, "all options")
    packed = normal(100, 4, 64)
    here = attend.attention(*(packed.cpu(),) * 3, cumulative_query_lengths=[0, 30, 100], cumulative_key_lengths=[0, 30, 100])
    away = attend.attention(packed, packed, packed, cumulative_query_lengths=[0, 30, 100], cumulative_key_lengths=[0, 30, 100])
    close(away.cpu(), here, 1e-5, "packed")


def test_calls_go_onto_the_current_stream():
    side = torch.cuda.Stream()
    works()  # kernels are loaded
    q = torch.zeros(1, 4, 256, 64, device=GPU)
    fresh = normal(1, 4, 256, 64)
    expected = exact(fresh, fresh, fresh)[0]
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
        q.copy_(fresh)
        out, state = attend.attention(q, q, q, return_state=True)
        lse = attend.log_sum_exp(state)
        q.zero_()  # after it was read
        assert not side.query(), "the call has waited"
    side.synchronize()
    close(out, expected, 2e-6, "side stream")
    close(lse, exact(fresh, fresh, fresh)[2], 2e-5)
    for stream in (side, side.cuda_stream, torch.cuda.ExternalStream(side.cuda_stream)):
        q.zero_()
        torch.cuda._sleep(50_000_000)
        q.copy_(fresh)  # on the current stream, which hands q over to the other
        out = attend.attention(q, q, q, stream=stream)
        side.synchronize()
        close(out, expected, 2e-6, "stream=")


def test_other_arrays_give_device_arrays():
    q, k, v = (normal(1, 2, 50, 64, dtype=torch.bfloat16) for _ in range(3))
    expected, expected_state = attend.attention(q, k, v, return_state=True)
    for side in (None, torch.cuda.Stream()):
        arrays = [OnlyDLPack(x) for x in (q, k, v)]
        torch.cuda.synchronize()
        out, state = attend.attention(*arrays, return_state=True, stream=side)
        assert isinstance(out, attend.DeviceArray) and out.shape == (1, 2, 50, 64) and out.dtype == "bfloat16" and out.device == "cuda:0"
        assert arrays[0].streams == [1 if side is None else side.cuda_stream], arrays[0].streams
        taken = torch.from_dlpack(out)
        assert taken.data_ptr() == torch.from_dlpack(out).data_ptr(), "copied"
        assert torch.equal(taken, expected) and torch.equal(torch.from_dlpack(state.sum), expected_state.sum)
        lse = attend.log_sum_exp(state)  # DeviceArrays come in, too
        assert torch.equal(torch.from_dlpack(lse), attend.log_sum_exp(expected_state))
        del out, state, lse
        gc.collect()
        assert torch.equal(taken, expected), "the memory went away"
    out = attend.attention(*arrays)
    refuses(ValueError, "stream is 0", lambda: out.__dlpack__(stream=0))
    refuses(BufferError, "without a copy", lambda: out.__dlpack__(copy=True))
    refuses(BufferError, "is not copied elsewhere", lambda: out.__dlpack__(dl_device=(1, 0)))


def test_cupy():
    try:
        import cupy
    except ImportError:
        left_out.append("CuPy is not installed")
        return
    q = cupy.random.standard_normal((1, 4, 128, 64), dtype=cupy.float32)
    expected = exact(*(torch.from_dlpack(q),) * 3)[0]
    for _ in range(3):
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            moved = q + 0
            out = attend.attention(moved, moved, moved)
        del stream  # its order is kept, and the result outlives it
        found = cupy.from_dlpack(out)
        close(torch.from_dlpack(found), expected, 2e-6, "cupy")
        del out, found
    into = cupy.zeros_like(q)
    assert attend.attention(q, q, q, out=into) is into
    close(torch.from_dlpack(into), expected, 2e-6, "cupy out")


def test_mistakes_are_one_sentence_and_the_next_call_works():
    q = normal(1, 2, 40, 64)
    here = q.cpu()
    for kind, sentence, call in (
        (ValueError, "[attention] key is on cpu, but query is on cuda:0", lambda: attend.attention(q, here, q)),
        (ValueError, "[attention] value is on cpu", lambda: attend.attention(q, q, here)),
        (ValueError, "is on cuda:0, but query is on cpu", lambda: attend.attention(here, q, q)),
        (ValueError, "mask is on cpu", lambda: attend.attention(q, q, q, mask=torch.ones(40, 40, dtype=torch.bool))),
        (ValueError, "out is on cpu", lambda: attend.attention(q, q, q, out=torch.empty_like(here))),
        (ValueError, "[attention] computes f64 on the host only", lambda: attend.attention(*(q.double(),) * 3)),
        (ValueError, "f16", lambda: attend.attention(q, q.half(), q)),
        (TypeError, "q holds torch.int32", lambda: attend.attention(q.int(), q, q)),
        (TypeError, "q requires a gradient", lambda: attend.attention(q.clone().requires_grad_(), q, q)),
        (TypeError, "stream must be a CUDA stream", lambda: attend.attention(q, q, q, stream="side")),
        (ValueError, "stream is 77, which is not the address of a CUDA stream", lambda: attend.attention(q, q, q, stream=77)),
        (TypeError, "the arrays are not on a GPU", lambda: attend.attention(here, here, here, stream=torch.cuda.Stream())),
        (ValueError, "[softmax] is not implemented on cuda:0", lambda: attend.softmax(q)),
        (ValueError, "q is on meta; attend computes on the CPU and on CUDA devices", lambda: attend.torch.attention(q.to("meta"), q, q)),
        (ValueError, "key is on cpu", lambda: attend.torch.attention(q, here, here)),
    ):
        refuses(kind, sentence, call)
        works()
    row = normal(1, 1, 1, 64)
    huge = OnlyDLPack(row.expand(1, 1, 1 << 33, 64))
    refuses(MemoryError, "2199023255552 bytes on cuda:0", lambda: attend.attention(huge, row, row))
    works()


def test_a_graph_captures_calls():
    q, k = normal(3, 4, 64, 64, dtype=torch.bfloat16), normal(3, 2, 90, 64, dtype=torch.bfloat16)
    sinks = torch.tensor([0.5, -1.0, 2.0, 0.0], device=GPU)

    def work():
        first, state = attend.attention(q, k, k, causal=True, key_lengths=[90, 7, 41], return_state=True)
        second = attend.torch.attention(q, k, k, sinks=sinks, alibi_slopes=[0.1] * 4)
        return first, attend.log_sum_exp(state), second

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        work()  # once before, as PyTorch asks for: kernels are loaded and the sinks are read
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        recorded = work()
    for _ in range(3):
        q.copy_(normal(*q.shape))
        k.copy_(normal(*k.shape))
        for x in recorded:
            x.zero_()
        graph.replay()
        for found, expected in zip(recorded, work()):
            assert torch.equal(found, expected)
    never_read = torch.tensor([0.5] * 4, device=GPU)

    def captured_first():
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            attend.torch.attention(q, k, k, sinks=never_read)

    refuses(ValueError, "cannot be captured", captured_first)
    torch.cuda.synchronize()
    works()


def test_weights_on_demand():
    q, k = normal(2, 4, 300, 64, dtype=torch.bfloat16), normal(2, 2, 300, 64, dtype=torch.bfloat16)
    _, state = attend.attention(q, k, k, causal=True, return_state=True)
    _, weights, _ = exact(q, k, k, causal=True)
    rows = there(lambda: attend.weights(q, k, causal=True, rows=[0, 7, 299], row_state=state), "weights")
    if rows is not None:
        assert rows.device == GPU
        close(rows, weights[:, :, [0, 7, 299]], 1e-5, "rows")
    summary = there(
        lambda: attend.summarize_weights(q, k, causal=True, top_k=8, received=True, entropy=True, map_shape=(5, 7), row_state=state),
        "summaries")
    if summary is not None:
        close(summary.received, weights.sum(-2), 1e-5, "received")
        close(summary.entropy, torch.special.entr(weights).sum(-1), 1e-5, "entropy")
        close(summary.top_weights, weights.topk(8).values, 1e-5, "top")
        at_keys = weights.gather(-1, summary.top_keys.clamp(min=0))
        close(at_keys[summary.top_keys >= 0], summary.top_weights[summary.top_keys >= 0], 1e-5, "top keys")
        graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        call = lambda: attend.summarize_weights(q, k, causal=True, top_k=8, received=True, entropy=True, row_state=state)  # noqa: E731
        with torch.cuda.stream(side):
            call()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            recorded = call()
        for _ in range(2):
            for part in recorded[:4]:
                part.zero_()
            graph.replay()
            for part, expected in zip(recorded[:4], summary[:4]):
                assert torch.equal(part, expected)


def test_autograd():
    for dtype, bound in {torch.float32: 2e-5, torch.bfloat16: 3e-2}.items():
        q, k, v = (normal(2, 4, 80, 64, dtype=dtype).requires_grad_() for _ in range(3))
        d_out = normal(2, 4, 80, 64, dtype=dtype)
        out = attend.torch.attention(q, k, v, causal=True)
        close(out.detach(), exact(*(x.detach() for x in (q, k, v)), causal=True)[0], BOUND[dtype], "forward")
        found = there(lambda: torch.autograd.grad(out, (q, k, v), d_out, retain_graph=True), "backward")
        if found is None:
            return
        copies = [x.detach().double().requires_grad_() for x in (q, k, v)]
        expected = torch.autograd.grad(exact(*copies, causal=True)[0], copies, d_out.double())
        for one, other in zip(found, expected):
            assert one.device == GPU and one.dtype == dtype
            close(one, other, bound, "gradient")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # backward runs on the stream of its forward
            again = attend.torch.attention(q, k, v, causal=True)
            for one, other in zip(torch.autograd.grad(again, (q, k, v), d_out), found):
                assert torch.equal(one, other)
        torch.cuda.current_stream().wait_stream(side)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert attend.torch.attention(*(normal(1, 2, 40, 64) for _ in range(3))).dtype == torch.bfloat16


def models():
    import transformers

    sizes = {"hidden_size": 128, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4}
    torch.manual_seed(1)
    llama = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(vocab_size=97, num_key_value_heads=2, max_position_embeddings=512, **sizes))
    bert = transformers.BertModel(transformers.BertConfig(vocab_size=97, max_position_embeddings=512, **sizes))
    for model in (llama, bert):
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.data.mul_(3)
        yield model.eval().to(GPU)


def test_models_of_transformers():
    try:
        import transformers  # noqa: F401
    except ImportError:
        left_out.append("transformers is not installed")
        return
    attend.torch.install()
    tokens = torch.randint(97, (2, 200), device=GPU)
    padding = torch.ones_like(tokens)
    padding[1, 150:] = 0
    for model in models():
        for given in ({"input_ids": tokens}, {"input_ids": tokens, "attention_mask": padding}):
            with torch.no_grad():
                model.set_attn_implementation("eager")
                matrices = model(**given, output_attentions=True).attentions
                expected = model(**given)[0]
                model.set_attn_implementation("attend")
                found = model(**given)[0]
                kept = padding.bool() if "attention_mask" in given else torch.ones_like(padding, dtype=torch.bool)
                close(found[kept], expected[kept], 2e-4, type(model).__name__)

                def collected():
                    with attend.torch.collect(top_k=8, received=True, entropy=True, rows=[0, -1], heads=[4, 1], model=model) as seen:
                        model(**given)
                    return seen

                seen = there(collected, "collect")
                if seen is None:
                    continue
                assert [one.layer for one in seen] == [1, 2, 3] and len(matrices) == 3
                for one, matrix in zip(seen, matrices):
                    matrix = matrix[:, [3, 0]]
                    close(one.received[0], matrix[0].sum(-2), 1e-4, "received")
                    close(one.entropy[0], torch.special.entr(matrix[0]).sum(-1), 1e-4, "entropy")
                    close(one.top_weights[0], matrix[0].topk(8).values, 1e-4, "top")
                    close(one.rows[0], matrix[0][:, [0, -1]], 1e-4, "rows")


class Layers(torch.nn.Module):
    """Attention and a linear layer, some times: what calls attend.torch is seen, whoever wrote the model."""

    def __init__(self, layers, heads=8, key_heads=4, size=64):
        super().__init__()
        self.shapes = (heads, key_heads, key_heads)
        self.into = torch.nn.ModuleList(torch.nn.Linear(heads * size, sum(self.shapes) * size) for _ in range(layers))
        self.calls = []

    def forward(self, x):
        self.calls = []
        for into in self.into:
            each = into(torch.nn.functional.layer_norm(x, x.shape[-1:])).unflatten(-1, (sum(self.shapes), -1)).transpose(1, 2)
            q, k, v = (2 * each).split(self.shapes, 1)
            self.calls.append((q, k))
            x = x + attend.torch.attention(q, k, v, causal=True).transpose(1, 2).flatten(2)
        return x


def test_a_model_of_8k_tokens_tells_while_it_runs():
    tokens, heads = 8192, 8
    model = Layers(3, heads).to(GPU, torch.bfloat16)
    x = normal(1, tokens, 512, dtype=torch.bfloat16)

    def run():
        with attend.torch.collect(top_k=8, received=True, entropy=True, model=model) as seen:
            out = model(x)
        return [out] + [part for one in seen for part in (one.top_keys, one.top_weights, one.received, one.entropy)]

    with torch.no_grad():
        plain = model(x)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before, free = torch.cuda.memory_allocated(), torch.cuda.mem_get_info()[0]
        found = run()
        torch.cuda.synchronize()
        grown = torch.cuda.max_memory_allocated() - before + max(0, free - torch.cuda.mem_get_info()[0])
        # One layer's matrices would take 1,074 MB.
        assert grown < 300e6, f"grew by {grown / 1e6:.0f} MB"
        assert torch.equal(found[0], plain) and len(found) == 1 + 4 * 3
        for layer, (q, k) in enumerate(model.calls):
            keys, weights, received, entropy = found[1 + 4 * layer : 5 + 4 * layer]
            for head in (0, heads - 1):
                _, exactly, _ = exact(q[:, head : head + 1], k[:, head // 2 : head // 2 + 1], k[:, :1], causal=True)
                exactly = exactly[0, 0]
                close(received[0, head], exactly.sum(0), 1e-5, f"received, layer {layer}")
                close(entropy[0, head], torch.special.entr(exactly).sum(-1), 1e-5, f"entropy, layer {layer}")
                close(weights[0, head], exactly.topk(8).values, 1e-5, f"top weights, layer {layer}")
                there_are = keys[0, head] >= 0
                assert torch.equal(there_are.sum(-1), torch.arange(1, tokens + 1, device=GPU).clamp(max=8))
                close(exactly.gather(-1, keys[0, head].clamp(min=0))[there_are], weights[0, head][there_are], 1e-5, "top keys")
                del exactly
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            run()  # once before, as PyTorch asks for
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            recorded = run()
        x.copy_(normal(*x.shape))
        graph.replay()
        for kept, now in zip(recorded, run()):
            assert torch.equal(kept, now)


def test_a_graph_captures_a_model():
    try:
        model = next(models())
    except ImportError:
        return
    attend.torch.install()
    model.set_attn_implementation("attend")
    tokens = torch.randint(97, (1, 128), device=GPU)
    with torch.no_grad():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(2):
                model(input_ids=tokens, use_cache=False)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            logits = model(input_ids=tokens, use_cache=False).logits
        tokens.copy_(torch.randint(97, (1, 128), device=GPU))
        graph.replay()
        assert torch.equal(logits, model(input_ids=tokens, use_cache=False).logits)


def report_overhead():
    """What a call costs the host, in microseconds."""
    q, k, v = (normal(1, 4, 64, 64, dtype=torch.bfloat16) for _ in range(3))
    out = torch.empty_like(q)
    calls = {
        "attend.attention": lambda: attend.attention(q, k, v),
        "attend.attention, out=": lambda: attend.attention(q, k, v, out=out),
        "attend.torch.attention": lambda: attend.torch.attention(q, k, v),
        "torch sdpa": lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v),
    }
    for name, call in calls.items():
        for _ in range(50):
            call()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(500):
            call()
        took = time.perf_counter() - start
        torch.cuda.synchronize()
        print(f"    {name:26s} {took / 500 * 1e6:6.1f} us a call")


def report_model(tokens=8192, layers=4):
    """A model of transformers that tells top 8, received and entropy of every layer while it runs, beside eager's matrices."""
    try:
        import transformers
    except ImportError:
        return
    config = transformers.LlamaConfig(vocab_size=1000, hidden_size=2048, intermediate_size=4096, num_hidden_layers=layers,
                                      num_attention_heads=16, num_key_value_heads=8, max_position_embeddings=tokens)
    model = transformers.LlamaForCausalLM(config).to(GPU, torch.bfloat16).eval()
    given = {"input_ids": torch.randint(1000, (1, tokens), device=GPU), "use_cache": False, "logits_to_keep": 1}

    def collected():
        with attend.torch.collect(top_k=8, received=True, entropy=True) as seen:
            model(**given)
        return seen

    def eager():
        told = []
        for matrix in model(**given, output_attentions=True).attentions:
            told.append((matrix.topk(8), matrix.sum(-2), torch.special.entr(matrix).sum(-1)))
        return told

    passes = (("sdpa", "PyTorch's attention", lambda: model(**given)), ("attend", "attend", lambda: model(**given)),
              ("attend", "attend, collecting", collected), ("eager", "eager, the same from its matrices", eager))
    for implementation, name, call in passes:
        model.set_attn_implementation(implementation)
        times = []
        with torch.no_grad():
            for _ in range(3):
                torch.cuda.synchronize()
                torch.cuda.reset_peak_memory_stats()
                before, start = torch.cuda.memory_allocated(), time.perf_counter()
                if there(call, name) is None:
                    break
                torch.cuda.synchronize()
                times.append(time.perf_counter() - start)
        if times:
            grown = torch.cuda.max_memory_allocated() - before
            print(f"    {layers} layers, {tokens} tokens, {name:34s} {min(times) * 1e3:8.2f} ms, {grown / 1e6:8.0f} MB of PyTorch's memory")


failed = 0
for name, test in list(globals().items()):
    if not name.startswith("test_") or (len(sys.argv) > 1 and sys.argv[1] not in name):
        continue
    torch.manual_seed(0)
    try:
        test()
        torch.cuda.synchronize()
        print(f"ok      {name}", flush=True)
    except Exception:
        failed += 1
        print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
report_overhead()
if len(sys.argv) == 1:
    report_model()
for reason in dict.fromkeys(left_out):
    print(f"left out: {reason}")
print(f"{failed} failed")
sys.exit(1 if failed else 0)
