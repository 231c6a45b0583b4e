"""What was read of small tensors on GPUs: reading waits for the device, so it is done once for as long as they do not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.weak import WeakTensorKeyDictionary


class Known:
    """Remembers one answer a tensor, until the tensor is written to or gone."""

    def __init__(self) -> None:
        self._answers: Any = WeakTensorKeyDictionary()

    def get(self, tensor: torch.Tensor, read: Callable[[torch.Tensor], Any], while_capturing: Callable[[], Any]) -> Any:
        """read(tensor), or what it was; while_capturing() where a graph is being captured and it is not known."""
        if tensor.device.type == "cpu":
            return read(tensor)
        version = None if tensor.is_inference() else tensor._version  # those of inference mode do not tell when they change
        found = self._answers.get(tensor)
        if found is not None and version is not None and found[0] == version:
            return found[1]
        if torch.cuda.is_current_stream_capturing():
            return while_capturing()
        answer = read(tensor)
        if version is not None:
            self._answers[tensor] = (version, answer)
        return answer
