"""The teacher: all-MiniLM-L6-v2 in torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F  # noqa: N812 (as everyone calls it)

from recollect.embed.weights import EPSILON, HEADS, LAYERS, WIDTH
from recollect.embed.wordpiece import FIRST, LAST

if TYPE_CHECKING:
    from recollect.embed.weights import Tensors


class Teacher:
    """The model on a device. Gives vectors of length 1."""

    def __init__(self, tensors: Tensors, device: torch.device) -> None:
        self.device = device
        self.dtype = torch.float16 if device.type == "cuda" else torch.float32
        self._held = {name: torch.tensor(each, dtype=self.dtype, device=device) for name, each in tensors.items()}

    def of_pieces(self, ids: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
        """A vector for each text, given as its pieces (texts, pieces) and which of them are no padding."""
        ones = torch.ones_like(ids[:, :1])
        count = there.sum(1)
        ids = torch.cat([ones * FIRST, ids, ones], 1)
        ids[torch.arange(len(ids), device=self.device), count + 1] = LAST
        seen = torch.arange(ids.shape[1], device=self.device) < (count + 2)[:, None]
        ids = ids.masked_fill(~seen, 0)
        with torch.no_grad():
            states = self._states(ids, seen).float() * seen[..., None]
            return F.normalize(states.sum(1) / seen.sum(1, keepdim=True), dim=1)

    def _states(self, ids: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        texts, tokens = ids.shape
        x = F.embedding(ids, self._held["embeddings.word_embeddings.weight"])
        x = x + self._held["embeddings.position_embeddings.weight"][:tokens]
        x = self._normalised("embeddings.LayerNorm", x + self._held["embeddings.token_type_embeddings.weight"][0])
        for layer in (f"encoder.layer.{number}." for number in range(LAYERS)):
            heads = (
                self._dense(f"{layer}attention.self.{part}", x).view(texts, tokens, HEADS, -1).transpose(1, 2)
                for part in ("query", "key", "value")
            )
            attended = F.scaled_dot_product_attention(*heads, attn_mask=seen[:, None, None, :])
            attended = self._dense(f"{layer}attention.output.dense", attended.transpose(1, 2).reshape(x.shape))
            x = self._normalised(f"{layer}attention.output.LayerNorm", attended + x)
            wide = F.gelu(self._dense(f"{layer}intermediate.dense", x))
            x = self._normalised(f"{layer}output.LayerNorm", self._dense(f"{layer}output.dense", wide) + x)
        return x

    def _dense(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self._held[f"{name}.weight"], self._held[f"{name}.bias"])

    def _normalised(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (WIDTH,), self._held[f"{name}.weight"], self._held[f"{name}.bias"], EPSILON)
