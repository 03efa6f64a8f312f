"""Recipe `natural-1`: SimCLR's views of photographs (Chen et al. 2020), for a whole batch at once."""

import torch

from infonce.spec.run import ViewOptions


def natural_views(
    pixels: torch.Tensor, key: int, epoch: int, samples: torch.Tensor, options: ViewOptions
) -> torch.Tensor:
    raise NotImplementedError
