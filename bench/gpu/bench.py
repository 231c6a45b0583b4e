"""attention() on a GPU beside cuDNN, on PyTorch's tensors, in turns in one run.

    bench.py libattend_gpu_adapter.so [--quick] [--only=forward|decode|options] [--weights | --backward]   (nothing but that)

Checks every case against float32 mathematics first. The figure is a ratio: how many times as fast as cuDNN; milliseconds move by 8% from machine to machine.
"""

import ctypes
import math
import sys
import time
from statistics import median

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


class GpuCall(ctypes.Structure):
    _fields_ = ([(name, ctypes.c_int64) for name in ("b", "h", "key_heads", "n", "keys", "d")]
                + [("type", ctypes.c_int32), ("causal", ctypes.c_int32), ("window", ctypes.c_int64)]
                + [(name, ctypes.c_double) for name in ("softcap", "slope", "sink")]
                + [(name, ctypes.c_void_p) for name in ("q", "k", "v", "mask", "bias", "out", "max", "sum")])


class GpuSummary(ctypes.Structure):
    _fields_ = ([(name, ctypes.c_int64) for name in ("top_k", "map_rows", "map_columns")]
                + [(name, ctypes.c_int32) for name in ("received", "entropy")]
                + [(name, ctypes.c_void_p) for name in ("top_keys", "top_weights", "received_to", "entropy_to", "map_to")])


library = ctypes.CDLL(sys.argv[1])
library.gpu_error.restype = ctypes.c_char_p
quick = "--quick" in sys.argv
only = next((a.split("=")[1] for a in sys.argv if a.startswith("--only=")), None)
TYPES = {torch.bfloat16: 0, torch.float16: 1, torch.float32: 2}


class Case:
    def __init__(self, b, h, n, d, causal=False, key_heads=None, keys=None, dtype=torch.bfloat16, options=None):
        key_heads, keys = key_heads or h, keys or n
        self.causal, self.options = causal, options or {}
        self.q = torch.randn(b, h, n, d, device="cuda").to(dtype)
        self.k, self.v = (torch.randn(b, key_heads, keys, d, device="cuda").to(dtype) for _ in range(2))
        self.out = torch.empty_like(self.q)
        self.state = [torch.empty(b, h, n, device="cuda") for _ in range(2)]
        numbers = {name: value for name, value in self.options.items() if not torch.is_tensor(value)}
        tensors = {name: value.data_ptr() for name, value in self.options.items() if torch.is_tensor(value)}
        self.call = GpuCall(b=b, h=h, key_heads=key_heads, n=n, keys=keys, d=d, type=TYPES[dtype], causal=int(causal), q=self.q.data_ptr(),
                            k=self.k.data_ptr(), v=self.v.data_ptr(), out=self.out.data_ptr(), max=self.state[0].data_ptr(),
                            sum=self.state[1].data_ptr(), **numbers, **tensors)
        self.alone = GpuCall.from_buffer_copy(self.call)
        self.alone.max = self.alone.sum = None
        self.flops = 4 * b * h * n * keys * d / (2 if causal else 1)

    def ours(self):
        """The output alone, which is what cuDNN makes here, too."""
        self._run(self.alone)

    def ours_with_state(self):
        self._run(self.call)

    @staticmethod
    def _run(call):
        if library.gpu_attention(ctypes.byref(call)):
            raise RuntimeError(library.gpu_error().decode())

    def cudnn(self):  # inside sdpa_kernel(CUDNN_ATTENTION)
        F.scaled_dot_product_attention(self.q, self.k, self.v, is_causal=self.causal, enable_gqa=self.q.shape[1] != self.k.shape[1])

    def exact(self, heads=1):
        """float32 mathematics of the first heads of the first sequence."""
        group = self.q.shape[1] // self.k.shape[1]
        q, k, v = self.q[0, :heads].double(), self.k[0, : -(-heads // group)].double(), self.v[0, : -(-heads // group)].double()
        k, v = (x.repeat_interleave(group, 0)[:heads] for x in (k, v))
        s = q @ k.transpose(-1, -2) * self.q.shape[-1] ** -0.5
        n, keys = s.shape[-2:]
        distance = torch.arange(n, device="cuda")[:, None] - torch.arange(keys, device="cuda")
        if cap := self.options.get("softcap"):
            s = cap * torch.tanh(s / cap)
        if "bias" in self.options:
            s = s + self.options["bias"].double()
        if slope := self.options.get("slope"):
            s = s - slope * distance.abs()
        if "mask" in self.options:
            s = s.masked_fill(~self.options["mask"], -math.inf)
        if self.causal:
            s = s.masked_fill(distance < 0, -math.inf)
        if window := self.options.get("window"):
            s = s.masked_fill((distance > window) | (distance < -window), -math.inf)
        if "sink" in self.options:
            s = torch.cat([s, torch.full((*s.shape[:-1], 1), self.options["sink"], device="cuda", dtype=s.dtype)], -1)
            return (s.softmax(-1)[..., :-1] @ v), s.logsumexp(-1)
        return s.softmax(-1) @ v, s.logsumexp(-1)

    def errors(self, cudnn=True):
        """Relative errors of our output (the larger of that with a row state and that without), of cuDNN's, and of our log-sum-exp."""
        expected, lse = self.exact()
        relative = lambda x: ((x.double() - expected).norm() / expected.norm()).item()
        ours = 0.0
        for run in (self.ours, self.ours_with_state):
            self.out.fill_(math.nan)
            run()
            error = relative(self.out[0, :1])
            ours = error if math.isnan(error) else max(ours, error)
        theirs = math.nan
        if cudnn:
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                theirs = relative(F.scaled_dot_product_attention(self.q, self.k, self.v, is_causal=self.causal, enable_gqa=self.q.shape[1] != self.k.shape[1])[0, :1])
        state = self.state[0][0, :1].double() + self.state[1][0, :1].double().log()
        return ours, theirs, (state - lse).abs().max().item()


class GpuBackwardCall(ctypes.Structure):
    _fields_ = ([(name, ctypes.c_int64) for name in ("b", "h", "key_heads", "n", "d")]
                + [("is_f16", ctypes.c_int32), ("causal", ctypes.c_int32), ("window", ctypes.c_int64)]
                + [(name, ctypes.c_void_p) for name in ("q", "k", "v", "out", "max", "sum", "d_out", "d_q", "d_k", "d_v")])


def once(call, times):
    start, end = torch.cuda.Event(True), torch.cuda.Event(True)
    start.record()
    for _ in range(times):
        call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / times


def ahead(call, times=50):
    """Milliseconds of the GPU and of the host for a call, the first while the host is ahead of it."""
    start, end = torch.cuda.Event(True), torch.cuda.Event(True)
    torch.cuda._sleep(10_000_000)  # clocks, some 6 ms: launching takes less
    start.record()
    before = time.perf_counter()
    for _ in range(times):
        call()
    host = (time.perf_counter() - before) * 1000
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / times, host / times


def short_turns(calls, rounds=15):
    """The same of several calls in turns, medians. Launched one by one a short call takes the larger of the two."""
    for call in calls:
        ahead(call)
    measured = [[ahead(call) for call in calls] for _ in range(rounds)]
    return [tuple(median(times) for times in zip(*column)) for column in zip(*measured)]


def turns(calls, rounds=7, turn_ms=8.0):
    for call in calls:
        once(call, 3)
    times = [max(1, int(turn_ms / once(call, 2))) for call in calls]
    measured = [[once(call, count) for call, count in zip(calls, times)] for _ in range(rounds)]
    return [median(column) for column in zip(*measured)]


def row(name, case, cudnn=True):
    ours, theirs, lse = case.errors(cudnn)
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):  # once: entering it takes longer than a short call
        times = turns([case.ours, case.ours_with_state] + ([case.cudnn] if cudnn else []))
    text = f"{name:38s} ours {times[0]:8.3f} ms {case.flops / times[0] / 1e9:5.0f} TFLOP/s"
    if cudnn:
        text += f" | cuDNN {times[2]:8.3f} ms | ratio {times[2] / times[0]:.3f}, with our row state {times[2] / times[1]:.3f}"
    print(text + f" | error {ours:.2e}" + (f" (cuDNN {theirs:.2e})" if cudnn else "") + f", lse {lse:.1e}", flush=True)
    return times[0]


def short_row(name, case):
    """One that takes the GPU no longer than the host takes to launch it: both times."""
    error, _, lse = case.errors()
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        (gpu, host), (their_gpu, their_host) = short_turns([case.ours, case.cudnn])
    print(f"{name:38s} ours {gpu * 1000:5.1f} us on the GPU, {host * 1000:5.1f} us on the host | cuDNN {their_gpu * 1000:5.1f}, {their_host * 1000:5.1f}"
          f" | ratio {their_gpu / gpu:.3f}, launched one by one {max(their_gpu, their_host) / max(gpu, host):.3f} | error {error:.2e}, lse {lse:.1e}", flush=True)


def backward_row(name, b, h, n, d, causal=False, key_heads=None, dtype=torch.bfloat16, window=0):
    """attention_backward() beside the backward pass of cuDNN, after checking the first head against float64."""
    case = Case(b, h, n, d, causal, key_heads, dtype=dtype, options={"window": window} if window else {})
    case.ours_with_state()
    d_out = torch.randn_like(case.q)
    q, k, v = (x.detach().clone().requires_grad_() for x in (case.q, case.k, case.v))
    gradients = [torch.full_like(x, math.nan) for x in (q, k, v)]
    call = GpuBackwardCall(b=b, h=h, key_heads=k.shape[1], n=n, d=d, is_f16=int(dtype == torch.float16), causal=int(causal), window=window,
                           **{name: x.data_ptr() for name, x in zip(("q", "k", "v", "out", "max", "sum", "d_out", "d_q", "d_k", "d_v"),
                              (case.q, case.k, case.v, case.out, *case.state, d_out, *gradients))})

    def ours():
        if library.gpu_attention_backward(ctypes.byref(call)):
            raise RuntimeError(library.gpu_backward_error().decode())

    ours()
    group = h // k.shape[1]
    exact = [x.double().detach().requires_grad_() for x in (q[0, :group], k[0, :1], v[0, :1])]
    s = exact[0] @ exact[1].transpose(-1, -2) * d**-0.5
    distance = torch.arange(n, device="cuda")[:, None] - torch.arange(n, device="cuda")
    if causal:
        s = s.masked_fill(distance < 0, -math.inf)
    if window:
        s = s.masked_fill((distance > window) | (distance < -window), -math.inf)
    expected = torch.autograd.grad(s.softmax(-1) @ exact[2], exact, d_out[0, :group].double())
    relative = lambda xs: " ".join(f"{((x[0, : e.shape[0]].double() - e).norm() / e.norm()).item():.1e}" for x, e in zip(xs, expected))
    text = f"backward {name:30s} error {relative(gradients)}"
    del s, distance, exact, expected
    calls = [ours]
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        if not window:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=group > 1)
            theirs = lambda: torch.autograd.grad(out, (q, k, v), d_out, retain_graph=True)
            calls.append(theirs)
        times = turns(calls)
    flops = 10 * b * h * n * n * d / (2 if causal else 1)
    text += f" | ours {times[0]:8.3f} ms {flops / times[0] / 1e9:5.0f} TFLOP/s"
    if not window:
        text += f" | cuDNN {times[1]:8.3f} ms {flops / times[1] / 1e9:5.0f} | ratio {times[1] / times[0]:.3f}"
    print(text, flush=True)


def backward():
    for d in (128, 64):
        for n in (4096, 8192) if quick else (2048, 4096, 8192, 16384):
            for causal in (False, True):
                yield f"1,16,{n},{d} {'causal' if causal else 'full'}", (1, 16, n, d, causal), {}
    yield "1,16,4096,128 causal f16", (1, 16, 4096, 128, True), {"dtype": torch.float16}
    yield "1,32 on 8,4096,128 causal", (1, 32, 4096, 128, True), {"key_heads": 8}
    yield "8,12,512,64 full", (8, 12, 512, 64), {}
    yield "8,12,512,64 causal", (8, 12, 512, 64, True), {}
    yield "1,16,8192,128 window 1024", (1, 16, 8192, 128), {"window": 1024}


def all_backward():
    library.gpu_backward_error.restype = ctypes.c_char_p
    for name, arguments, keywords in backward():
        try:
            backward_row(name, *arguments, **keywords)
        except Exception as error:  # the others are still measured
            print(f"backward {name:30s} FAILED: {str(error)[:200]}", flush=True)
        torch.cuda.empty_cache()


def guarded(name, *arguments, **keywords):
    try:
        return row(name, Case(*arguments, **keywords), cudnn="options" not in keywords and keywords.get("dtype") != torch.float32)
    except Exception as error:  # the others are still measured
        print(f"{name:38s} FAILED: {str(error)[:200]}", flush=True)


def decode_row(b, h, key_heads, keys, d, dtype=torch.bfloat16, n=1):
    """Few queries on many keys, beside the better of cuDNN and FlashAttention; the figure is bytes of K and V a second."""
    name = f"{b} x {keys} keys, {h} on {key_heads}, {d}" + (f", {n} queries" if n > 1 else "")
    case = Case(b, h, n, d, key_heads=key_heads, keys=keys, dtype=dtype)
    ours, _, lse = case.errors(cudnn=False)
    size = 2 * case.k.numel() * case.k.element_size()
    texts, best = [], 0
    for label, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("flash", SDPBackend.FLASH_ATTENTION)):
        try:
            with sdpa_kernel(backend):
                times = turns([case.ours, case.cudnn])
        except RuntimeError as error:
            texts.append(f"{label}: {str(error)[:40]}")
            continue
        speed = [size / t / 1e9 for t in times]
        best = max(best, speed[1])
        texts.append(f"{label} {speed[1]:.2f} (ours {speed[0]:.2f} TB/s, {times[0] * 1000:.1f} us, ratio {speed[0] / speed[1]:.3f})")
    print(f"{name:38s} {' | '.join(texts)} | error {ours:.2e}, lse {lse:.1e}", flush=True)


def guarded_decode(*arguments, **keywords):
    try:
        decode_row(*arguments, **keywords)
    except Exception as error:
        print(f"{arguments} FAILED: {str(error)[:200]}", flush=True)


class Weights:
    """summarize_weights() of a case, beside what PyTorch's eager path does to see the same."""

    def __init__(self, case, **wanted):
        self.case, self.wanted = case, GpuSummary(**wanted)

    def ours(self):
        if library.gpu_summarize(ctypes.byref(self.case.call), ctypes.byref(self.wanted)):
            raise RuntimeError(library.gpu_error().decode())

    def with_output(self):
        self.case.ours_with_state()
        self.ours()

    def eager(self):
        case = self.case
        group = case.q.shape[1] // case.k.shape[1]
        k, v = (x.repeat_interleave(group, 1) if group > 1 else x for x in (case.k, case.v))
        s = case.q @ k.transpose(-1, -2) * case.q.shape[-1] ** -0.5
        if case.causal:
            s = s.masked_fill(torch.ones(s.shape[-2:], device="cuda", dtype=torch.bool).triu(1), -math.inf)
        w = s.softmax(-1)
        return w @ v, w.topk(8), w.sum(-2, dtype=torch.float32), -torch.xlogy(w, w).sum(-1, dtype=torch.float32)

    def errors(self):
        """Of weights, received and entropy, absolute, of the last head; and how many top keys are another's."""
        case = self.case
        b, h, n, d = case.q.shape
        keys = case.k.shape[2]
        top, weights = (torch.zeros(b, h, n, 8, device="cuda", dtype=t) for t in (torch.int64, torch.float32))
        received, entropy = torch.zeros(b, h, keys, device="cuda"), torch.zeros(b, h, n, device="cuda")
        self.case.ours_with_state()
        Weights(case, top_k=8, received=1, entropy=1, top_keys=top.data_ptr(), top_weights=weights.data_ptr(), received_to=received.data_ptr(),
                entropy_to=entropy.data_ptr()).ours()
        torch.cuda.synchronize()
        s = case.q[-1, -1].double() @ case.k[-1, -1].double().T * d ** -0.5
        if case.causal:
            s = s.masked_fill(torch.ones(n, keys, device="cuda", dtype=torch.bool).triu(1), -math.inf)
        w = s.softmax(-1)
        best = w.topk(min(8, keys), -1)
        there = top[-1, -1] >= 0
        chosen = torch.where(there, w.gather(-1, top[-1, -1].clamp(min=0)), 0.0)
        return ((weights[-1, -1] - best.values).abs().max().item(), (chosen - best.values).abs().max().item(),
                (received[-1, -1] - w.sum(-2)).abs().max().item(), (entropy[-1, -1] + torch.xlogy(w, w).sum(-1)).abs().max().item(),
                abs(received[-1, -1].sum().item() / n - 1))


def weights_row(name, *arguments, eager=True, **keywords):
    try:
        case = Case(*arguments, **keywords)
        everything = dict(top_k=8, received=1, entropy=1)
        all_of_it = Weights(case, **everything)
        errors = all_of_it.errors()
        parts = [Weights(case, top_k=8), Weights(case, received=1), Weights(case, entropy=1)]
        torch.cuda.synchronize()
        free = torch.cuda.mem_get_info()[0]
        times = turns([case.ours, all_of_it.with_output, all_of_it.ours] + [part.ours for part in parts])
        more = max(0, free - torch.cuda.mem_get_info()[0]) / 1e6
        text = (f"{name:30s} forward {times[0]:7.3f} ms | + top 8, received, entropy {times[1]:7.3f} ms, {times[1] / times[0]:.2f} x | these alone {times[2] / times[0]:.2f}"
                f", top 8 {times[3] / times[0]:.2f}, received {times[4] / times[0]:.2f}, entropy {times[5] / times[0]:.2f} | memory grew by {more:.0f} MB")
        if eager:
            eager_ms = turns([all_of_it.eager], rounds=3)[0]
            text += f" | eager {eager_ms:.1f} ms, {eager_ms / times[1]:.1f} x ours"
        print(text + " | errors: weights {:.1e}, chosen {:.1e}, received {:.1e}, entropy {:.1e}, sum {:.1e}".format(*errors), flush=True)
    except Exception as error:
        print(f"{name:30s} FAILED: {str(error)[:200]}", flush=True)


def weights_table():
    for d in (128, 64):
        for n in (4096, 8192) if quick else (4096, 8192, 16384):
            for causal in (False, True):
                weights_row(f"1,16,{n},{d} {'causal' if causal else 'full'}", 1, 16, n, d, causal, eager=n <= 8192 and not causal)
    weights_row("1,32 on 8,4096,128 causal", 1, 32, 4096, 128, True, key_heads=8, eager=False)
    weights_row("8,12,512,64 full", 8, 12, 512, 64)


torch.manual_seed(0)
if "--weights" in sys.argv:
    weights_table()
    sys.exit()
print(torch.cuda.get_device_name(), torch.__version__, "cuDNN", torch.backends.cudnn.version())
if "--backward" in sys.argv:  # nothing else
    all_backward()
    sys.exit()
for d in (128, 64) if only in (None, "forward") else ():
    for n in (4096, 8192) if quick else (4096, 8192, 16384):
        for causal in (False, True):
            guarded(f"1,16,{n},{d} {'causal' if causal else 'full'}", 1, 16, n, d, causal)
for d in (96, 192, 256) if only in (None, "forward") else ():
    for causal in (False, True):
        guarded(f"1,16,4096,{d} {'causal' if causal else 'full'}", 1, 16, 4096, d, causal)
if only in (None, "decode"):
    for shape in ((1, 32, 8, 32768, 128), (16, 32, 8, 8192, 128), (64, 32, 8, 4096, 128), (8, 16, 16, 4096, 64), (4, 16, 8, 8192, 256)):
        guarded_decode(*shape)
    for sequences, keys in ((1, 2048), (1, 4096), (1, 8192), (16, 1024)):
        guarded_decode(sequences, 32, 8, keys, 128)
    for n in (4, 8):
        guarded_decode(16, 32, 8, 8192, 128, n=n)
if only in (None, "forward"):
    guarded("1,16,4096,128 causal f16", 1, 16, 4096, 128, True, dtype=torch.float16)
    guarded("1,32 on 8,4096,128 causal", 1, 32, 4096, 128, True, key_heads=8)
    guarded("1,16,4000,128 causal", 1, 16, 4000, 128, True)
    for shape in ((8, 12, 512, 64), (32, 12, 128, 64)):
        for causal in (False, True):
            short_row(f"{','.join(map(str, shape))} {'causal' if causal else 'full'}", Case(*shape, causal))
if only in ("forward", "decode"):
    sys.exit()
n = 4096 if quick else 8192
plain = guarded(f"1,16,{n},128 plain", 1, 16, n, 128, options={})
for name, option in {"window 1024": {"window": 1024}, "softcap": {"softcap": 30.0}, "ALiBi": {"slope": 0.01}, "sinks": {"sink": 0.5},
                     "mask": {"mask": torch.rand(n, n, device="cuda") < 0.9}, "bias": {"bias": torch.randn(n, n, device="cuda")}}.items():
    took = guarded(f"1,16,{n},128 {name}", 1, 16, n, 128, options=option)
    if took and plain:
        print(f"    {took / plain:.2f} of the plain call's time")
guarded("1,4,1024,128 f32 (portable)", 1, 4, 1024, 128, dtype=torch.float32)
weights_table()
all_backward()
