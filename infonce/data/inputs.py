"""From rows of tuples to what an encoder is given, on the device."""

from typing import Literal

import torch

from infonce.data.prepared import Prepared
from infonce.data.sphere import log_normal_norms, von_mises_fisher
from infonce.data.tuples import TupleSampler
from infonce.data.views import make_views
from infonce.random import stream_key
from infonce.spec.run import RunSpec


class TupleInputs:
    """Encoder inputs of the tuples of one split.

    * `augment`: anchor and positive are independent views of one image; pool members are views too, one for
      each image and epoch.
    * `class`: the images themselves; the positive is another image of the anchor's class.
    * `sphere`: the points themselves; the positive is a von Mises-Fisher draw around the anchor's
      direction, with a norm of its own.

    The training split gives `spec.tuples` tuples of the spec's design. The held-out split gives one tuple
    for each eligible image, so every labelled image is an anchor once. Images lie on the device as they are
    on the disk.

    Args:
        split: `train` or `held_out`.
        prepared: the data set.
        spec: the run.
        device: where inputs are made.
        purpose: names the random streams; two purposes never share a number.
    """

    def __init__(
        self,
        split: Literal["train", "held_out"],
        prepared: Prepared,
        spec: RunSpec,
        device: torch.device | str,
        purpose: str,
    ) -> None:
        """Bring the split's images to the device; see the class for the arguments."""
        chosen = prepared.train if split == "train" else prepared.held_out
        self.spec, self.device = spec, torch.device(device)
        self.images = torch.from_numpy(chosen.images).to(self.device)
        self.labels = torch.from_numpy(chosen.labels).to(self.device)
        self._key = stream_key(spec.seed, purpose, split)
        labels = torch.from_numpy(chosen.labels)
        eligible = int((labels >= 0).sum()) if spec.positives == "class" else len(labels)
        self.sampler = TupleSampler(
            labels,
            spec.positives,
            spec.tuples if split == "train" else eligible,
            spec.negatives,
            spec.tuple_design if split == "train" else "shared",
            stream_key(self._key, "tuples"),
        )
        shape = (1, -1, 1, 1)
        self._mean = torch.tensor(prepared.mean, dtype=torch.float32, device=self.device).reshape(shape)
        # A channel that never varies has deviation 0; it is centred and left at that.
        deviation = [value or 1.0 for value in prepared.std]
        self._std = torch.tensor(deviation, dtype=torch.float32, device=self.device).reshape(shape)

    def anchor_inputs(self, rows: torch.Tensor, epoch: int = 0) -> torch.Tensor:
        """Inputs (B, …) of the anchors of the rows (B,), float32 and normalised."""
        return self._inputs(self.sampler.anchors(rows, epoch), "anchor", rows, epoch)

    def positive_inputs(self, rows: torch.Tensor, epoch: int = 0) -> torch.Tensor:
        """Inputs (B, …) of the positives of the rows (B,)."""
        images = self.sampler.positives(rows, epoch)
        if self.spec.positives == "sphere":
            return self._sphere_positives(images, rows, epoch)
        return self._inputs(images, "positive", rows, epoch)

    def pool_inputs(self, image_indices: torch.Tensor, epoch: int = 0) -> torch.Tensor:
        """Inputs (B, …) of images as members of the pool of negatives; the same within an epoch."""
        return self._inputs(image_indices, "pool", image_indices, epoch)

    def image_inputs(self, image_indices: torch.Tensor) -> torch.Tensor:
        """Inputs (B, …) of images as they are, without views: what a search by users would embed."""
        images = self.images[image_indices.to(self.device)]
        return images if self.spec.positives == "sphere" else self._normalised(images.to(torch.float32) / 255)

    def _inputs(self, indices: torch.Tensor, role: str, samples: torch.Tensor, epoch: int) -> torch.Tensor:
        if self.spec.positives != "augment":
            return self.image_inputs(indices)
        images = self.images[indices.to(self.device)]
        key = stream_key(self._key, "view", role)
        return self._normalised(make_views(images, key, epoch, samples, self.spec.view_options))

    def _normalised(self, pixels: torch.Tensor) -> torch.Tensor:
        return (pixels - self._mean) / self._std

    def _sphere_positives(self, indices: torch.Tensor, rows: torch.Tensor, epoch: int) -> torch.Tensor:
        options = self.spec.dataset_options
        key = stream_key(self._key, "von Mises-Fisher")
        anchors = torch.nn.functional.normalize(self.images[indices.to(self.device)].to(torch.float64), dim=1)
        samples = rows.to(self.device)
        directions = von_mises_fisher(anchors, options.concentration, key, epoch, samples)
        norms = log_normal_norms(options.norm_sigma, key, epoch, samples)
        return (directions * norms[:, None]).to(torch.float32)
