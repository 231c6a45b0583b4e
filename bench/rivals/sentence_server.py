"""sentence-transformers behind FastAPI, as its users write it: `uvicorn sentence_server:app`, with MODEL and THREADS in the environment."""

import os

import torch
from fastapi import FastAPI
from pydantic import BaseModel
from sentence_transformers import SentenceTransformer

torch.set_num_threads(int(os.environ["THREADS"]))
model = SentenceTransformer(os.environ["MODEL"], device="cpu")
app = FastAPI()


class Body(BaseModel):
    inputs: str | list[str]


@app.post("/embed")
def embed(body: Body) -> list[list[float]]:
    texts = [body.inputs] if isinstance(body.inputs, str) else body.inputs
    return model.encode(texts, normalize_embeddings=True, show_progress_bar=False).tolist()
