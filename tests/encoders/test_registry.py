"""Names, heads and options are checked without torch; one file adds an encoder."""

import subprocess
import sys
import textwrap

import pytest

from infonce.encoders import registry
from infonce.errors import ConfigError


def test_is_importable_and_complete_without_torch():
    code = "import sys; from infonce.encoders import registry; print(*registry.encoders(), 'torch' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.split() == ["convnet", "linear", "mlp", "resnet18", "False"]


def test_an_unknown_name_meets_the_nearest():
    with pytest.raises(ConfigError, match="'resnet81'; did you mean `resnet18`"):
        registry.encoder("resnet81")


def test_a_head_that_the_encoder_cannot_have():
    assert registry.head_problem("mlp", "lift") is None
    assert "'resnet18' cannot have the head 'lift'; it allows normalize" in registry.head_problem("resnet18", "lift")


def test_a_dimension_that_leaves_no_feature():
    assert registry.dimension_problem("lift", 2) is None
    assert registry.dimension_problem("normalize", 1) is None
    assert "'lift' needs an embedding dimension of at least 2" in registry.dimension_problem("lift", 1)


@pytest.mark.parametrize("name", ["convnet", "linear", "mlp", "resnet18"])
@pytest.mark.parametrize("shape", [(8,), (1, 8, 8)])
def test_inputs_are_refused_exactly_where_the_network_cannot_take_them(name, shape):
    import torch

    info = registry.encoder(name)
    network = info.build((1, 8, 8) if info.images_only else shape, 4, **registry.complete_options(name, {}))
    if registry.input_problem(name, shape):
        assert f"'{name}' needs images (C, H, W)" in registry.input_problem(name, shape)
        with pytest.raises(RuntimeError):
            network(torch.zeros(2, *shape))
    else:
        assert network(torch.zeros(2, *shape)).shape == (2, 4)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("mlp", {"widht": 3}, "did you mean `width`"),
        ("mlp", {"width": 0}, "at least 1"),
        ("mlp", {"width": 2.5}, "expected int"),
        ("mlp", {"width": True}, "expected int"),
        ("mlp", {"width": "256"}, "expected int"),
        ("resnet18", {"normalization": "layer"}, "expected one of group, batch"),
        ("linear", {"width": 3}, "known: none"),
    ],
)
def test_options_are_refused_by_name(name, options, words):
    with pytest.raises(ConfigError, match=words):
        registry.check_options(name, options)


def test_options_are_completed():
    assert registry.complete_options("mlp", {"width": 64}) == {"width": 64, "hidden_layers": 1}


def test_one_file_adds_an_encoder(tmp_path):
    (tmp_path / "bag.py").write_text(
        textwrap.dedent(
            """
            from infonce.encoders.registry import Option, register

            @register("bag", description="mean of pixels", heads=("lift",), lipschitz=True,
                      options={"scale": Option(1.0, "a factor")})
            def build(input_shape, features, scale):
                from torch import nn
                return nn.Sequential(nn.Flatten(), nn.Linear(input_shape[0], features, bias=False))
            """
        )
    )
    code = textwrap.dedent(
        f"""
        import infonce.encoders
        infonce.encoders.__path__.append({str(tmp_path)!r})
        from infonce.encoders import registry
        from infonce.encoders.encoder import build_encoder
        import torch
        encoder = build_encoder("bag", (5,), 3, "lift", {{"scale": 2}}, 0)
        print(registry.encoder("bag").module, tuple(encoder(torch.ones(2, 5)).shape))
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "infonce.encoders.bag (2, 3)"
