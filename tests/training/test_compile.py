"""torch.compile as an option: it works where it works, and falls back with a note where it does not."""

import torch
from torch import nn

from infonce.encoders.encoder import Encoder
from infonce.training.loop import train
from infonce.training.step import Embedder, compiled_or_eager


class Uncompilable(nn.Module):
    def forward(self, inputs):
        if torch.compiler.is_compiling():
            raise RuntimeError("not under a compiler")
        return 2 * inputs


def test_an_encoder_that_does_not_compile_runs_eagerly():
    embedder, notes = Embedder(Encoder(nn.Sequential(nn.Linear(3, 2), Uncompilable()), "lift"), (3,)), []
    compiled_or_eager(embedder, torch.ones(4, 3), notes)
    assert notes and notes[0].startswith("torch.compile failed, the encoder ran eagerly")
    assert embedder.apply is embedder.encoder
    assert embedder(torch.ones(4, 3)).shape == (4, 3)


def test_a_compiled_run_trains_like_an_eager_one(digits, make_spec):
    compiled = train(make_spec({"compile": True, "steps": 4}), digits, "cpu", progress=False)
    eager = train(make_spec({"steps": 4}), digits, "cpu", progress=False)
    assert compiled.status == "ok"
    assert abs(compiled.history[-1]["training_loss"] - eager.history[-1]["training_loss"]) < 1e-3
    assert all(parameter.keys() == eager.final.keys() for parameter in [compiled.final, compiled.initial])
