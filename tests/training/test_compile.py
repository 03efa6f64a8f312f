"""torch.compile as an option: it works where it works, and falls back with a note where it does not."""

import pytest

from infonce.training.loop import train

COMPILED = {"compile": True, "steps": 4}


@pytest.fixture(autouse=True)
def _no_compiled_code_is_left_over(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))


def test_a_machine_without_a_compiler_runs_eagerly_and_says_so(digits, make_spec):
    import torch._inductor.config as inductor

    with inductor.patch({"cpp.cxx": ("no-such-compiler",)}):
        result = train(make_spec(COMPILED, dimension=7), digits, "cpu", progress=False)
    assert [note for note in result.notes if note.startswith("torch.compile failed, the encoder ran eagerly")]
    eager = train(make_spec({"steps": 4}, dimension=7), digits, "cpu", progress=False)
    assert result.history == eager.history


def test_a_compiled_run_trains_like_an_eager_one(digits, make_spec):
    compiled = train(make_spec(COMPILED), digits, "cpu", progress=False)
    eager = train(make_spec({"steps": 4}), digits, "cpu", progress=False)
    assert compiled.status == "ok" and compiled.notes == ()
    assert compiled.history[-1]["training_loss"] == pytest.approx(eager.history[-1]["training_loss"], abs=1e-3)
    assert compiled.final.keys() == eager.final.keys()
