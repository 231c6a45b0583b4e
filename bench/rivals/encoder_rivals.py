"""Other engines for a sentence encoder, each from token ids or texts to pooled vectors of length 1, with the settings worth trying.

A rival has `ways(texts, tokenized)`: calls by the name of their settings, each of which returns one vector a text. With
`tokenized` the ids are made beforehand, so that only the model is timed.
"""

import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable

import nncf
import numpy as np
import onnx
import onnxruntime
import openvino
import sentence_transformers
import torch
import transformers
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers import optimizer as onnx_optimizer
from tokenizers import Tokenizer

from encoder_batches import padded_batches, sizes_for
from encoder_texts import Writer

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

Way = Callable[[], np.ndarray]


class Pooled(torch.nn.Module):
    """ids and mask to vectors: pooling and normalisation belong to the graph, where engines can fuse them."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        hidden = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        counted = attention_mask.unsqueeze(-1).to(hidden.dtype)
        return torch.nn.functional.normalize((hidden * counted).sum(1) / counted.sum(1), dim=-1)


def load_pooled(folder: Path, attention: str) -> Pooled:
    return Pooled(transformers.AutoModel.from_pretrained(folder, attn_implementation=attention).eval())


EXAMPLE = {"input_ids": torch.tensor([[101, 2023, 102], [101, 102, 0]]), "attention_mask": torch.tensor([[1, 1, 1], [1, 1, 0]])}


class Tokens:
    """The fast tokenizer itself, without transformers around it, which costs more than its work."""

    def __init__(self, folder: Path, max_tokens: int):
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)

    def __call__(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch(texts)]

    def vocabulary(self) -> dict[str, int]:
        return self._tokenizer.get_vocab()


class OnnxRuntime:
    name = f"ONNX Runtime {onnxruntime.__version__}"

    def __init__(self, folder: Path, tokens: Tokens, threads: int, scratch: Path):
        self._tokens, self._threads = tokens, threads
        plain, fused = scratch / "plain.onnx", scratch / "fused.onnx"
        self._export(folder, plain)
        self._fuse(folder, plain, fused)
        self._sessions = {(graph.stem, count): self._session(graph, count)
                          for graph in (plain, fused) for count in {threads, 1}}

    @staticmethod
    def _export(folder: Path, path: Path):
        axes = {0: "batch", 1: "tokens"}
        with warnings.catch_warnings():  # the exporter that the optimizer below knows is called deprecated
            warnings.simplefilter("ignore")
            torch.onnx.export(load_pooled(folder, "eager"), tuple(EXAMPLE.values()), str(path), input_names=list(EXAMPLE),
                              output_names=["vectors"], dynamic_axes={name: axes for name in EXAMPLE}, opset_version=17,
                              dynamo=False)

    @staticmethod
    def _fuse(folder: Path, plain: Path, fused: Path):
        config = transformers.AutoConfig.from_pretrained(folder)
        graph = onnx_optimizer.optimize_model(str(plain), "bert", config.num_attention_heads, config.hidden_size)
        if graph.get_fused_operator_statistics().get("Attention", 0) != config.num_hidden_layers:
            raise RuntimeError("ONNX Runtime's optimizer did not fuse the attention of every layer")
        graph.save_model_to_file(str(fused))

    @staticmethod
    def _session(graph: Path, threads: int) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])

    def ways(self, texts: list[str], tokenized: bool) -> dict[str, Way]:
        ready = self._tokens(texts) if tokenized else None
        ways = {}
        for (graph, threads), session in self._sessions.items():
            workers = self._threads // threads
            if workers > 1 and len(texts) < workers:
                continue
            for size in sizes_for((len(texts) + workers - 1) // workers):
                name = f"{graph} graph, {size} a batch" + (f", {workers} calls at once" if workers > 1 else "")
                ways[name] = lambda session=session, size=size, workers=workers: self._run(
                    session, ready or self._tokens(texts), size, workers)
        return ways

    @staticmethod
    def _run(session: onnxruntime.InferenceSession, ids: list[list[int]], size: int, workers: int) -> np.ndarray:
        vectors = np.empty((len(ids), session.get_outputs()[0].shape[1]), np.float32)

        def one(batch):
            places, matrix, mask = batch
            vectors[places] = session.run(None, {"input_ids": matrix, "attention_mask": mask})[0]

        if workers == 1:
            for batch in padded_batches(ids, size):
                one(batch)
        else:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(one, padded_batches(ids, size)))
        return vectors


class OpenVino:
    name = f"OpenVINO {openvino.__version__.split('-')[0]}"
    COMPUTES_IN = ("f32",)  # what it may compute in where the graph does not say

    def __init__(self, folder: Path, tokens: Tokens, threads: int, scratch: Path):
        self._tokens = tokens
        with warnings.catch_warnings():  # it traces with what PyTorch calls deprecated
            warnings.simplefilter("ignore")
            graphs = self._graphs(folder, scratch)
        core = openvino.Core()
        self._compiled = {(source, hint, precision): core.compile_model(graph, "CPU", {
            "PERFORMANCE_HINT": hint, "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": precision})
            for source, graph in graphs.items() for hint in ("LATENCY", "THROUGHPUT") for precision in self.COMPUTES_IN}

    def _graphs(self, folder: Path, scratch: Path) -> dict[str, openvino.Model]:
        return {"from torch": openvino.convert_model(load_pooled(folder, "sdpa"), example_input=EXAMPLE),
                "from onnx": openvino.convert_model(str(scratch / "plain.onnx"))}

    def ways(self, texts: list[str], tokenized: bool) -> dict[str, Way]:
        ready = self._tokens(texts) if tokenized else None
        ways = {}
        for (source, hint, precision), model in self._compiled.items():
            streams = model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS") if hint == "THROUGHPUT" else 1
            for size in sizes_for((len(texts) + streams - 1) // streams):
                queue = openvino.AsyncInferQueue(model, streams) if streams > 1 else None
                ways[f"{source}, {hint.lower()}, {precision}, {size} a batch"] = lambda model=model, queue=queue, size=size: self._run(
                    model, queue, ready or self._tokens(texts), size)
        return ways

    @staticmethod
    def _run(model: openvino.CompiledModel, queue, ids: list[list[int]], size: int) -> np.ndarray:
        vectors = np.empty((len(ids), model.output(0).get_partial_shape()[1].get_length()), np.float32)

        def keep(request, places):
            vectors[places] = request.get_output_tensor(0).data

        if queue is None:
            request = model.create_infer_request()
            for places, matrix, mask in padded_batches(ids, size):
                request.infer([matrix, mask], share_inputs=True)
                keep(request, places)
        else:
            queue.set_callback(keep)
            for places, matrix, mask in padded_batches(ids, size):
                queue.start_async([matrix, mask], places)
            queue.wait_all()
        return vectors


class SentenceTransformers:
    """On PyTorch, with its own tokenizing and its own sorting by length."""

    name = f"sentence-transformers {sentence_transformers.__version__}"
    COMPUTES_IN = torch.float32

    def __init__(self, folder: Path, tokens: Tokens, threads: int, scratch: Path):
        torch.set_num_threads(threads)
        self._model = sentence_transformers.SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": self.COMPUTES_IN})

    def ways(self, texts: list[str], tokenized: bool) -> dict[str, Way]:
        return {f"{size} a batch": lambda size=size: self._model.encode(texts, batch_size=size, normalize_embeddings=True,
                                                                        show_progress_bar=False)
                for size in sizes_for(len(texts))}


class OnnxRuntimeInt8(OnnxRuntime):
    """Its dynamic quantisation: weights once, by column or as a whole, activations by their range at run time."""

    name = f"ONNX Runtime {onnxruntime.__version__} int8"

    def __init__(self, folder: Path, tokens: Tokens, threads: int, scratch: Path):
        self._tokens, self._threads = tokens, threads
        plain, fused = scratch / "plain.onnx", scratch / "fused.onnx"
        if not plain.exists():
            self._export(folder, plain)
        if not fused.exists():
            self._fuse(folder, plain, fused)
        self._sessions = {}
        for graph in (plain, fused):
            for columns in (True, False):
                held = scratch / f"{graph.stem} int8, {'a scale a column' if columns else 'one scale'}.onnx"
                # It infers no types behind fused operators.
                quantize_dynamic(graph, held, per_channel=columns, weight_type=QuantType.QInt8,
                                 extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
                for count in {threads, 1}:
                    self._sessions[held.stem, count] = self._session(held, count)


class OpenVinoBf16(OpenVino):
    name = f"{OpenVino.name} bf16"
    COMPUTES_IN = ("bf16",)

    def _graphs(self, folder: Path, scratch: Path) -> dict[str, openvino.Model]:
        return {"from torch": openvino.convert_model(load_pooled(folder, "sdpa"), example_input=EXAMPLE)}


class SentenceTransformersBf16(SentenceTransformers):
    name = f"{SentenceTransformers.name} bf16 (torch {torch.__version__.split('+')[0]})"
    COMPUTES_IN = torch.bfloat16


class OpenVinoInt8(OpenVino):
    """NNCF's quantisation after training, for transformers, calibrated with texts of the kind that are measured."""

    name = f"{OpenVino.name} int8 (NNCF {nncf.__version__})"
    COMPUTES_IN = ("f32", "bf16")  # what stays floating-point
    CALIBRATION = 128  # texts

    def _graphs(self, folder: Path, scratch: Path) -> dict[str, openvino.Model]:
        writer = Writer(self._tokens.vocabulary(), seed=2)
        texts = self._tokens(writer.mixed(self.CALIBRATION))
        batches = [[matrix, mask] for _, matrix, mask in padded_batches(texts, 1)]
        graph = openvino.convert_model(load_pooled(folder, "sdpa"), example_input=EXAMPLE)
        return {"from torch": nncf.quantize(graph, nncf.Dataset(batches), model_type=nncf.ModelType.TRANSFORMER,
                                            subset_size=self.CALIBRATION)}


RIVALS = {"f32": (OnnxRuntime, OpenVino, SentenceTransformers),
          "bf16": (OpenVinoBf16, SentenceTransformersBf16),
          "int8": (OnnxRuntimeInt8, OpenVinoInt8)}
VERSIONS = [rival.name for rivals in RIVALS.values() for rival in rivals] + [f"onnx {onnx.__version__}"]
