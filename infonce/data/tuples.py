"""Training and held-out tuples after assumption (A): an anchor, its positive and k independent negatives.

Indices are generated when they are asked for, each from the counters (epoch, row, place) of a stream, so
that k is limited by nothing but the size of one batch and a row is the same in whatever batch it stands.
"""

import torch

from infonce.errors import DataError
from infonce.random import integers, random_bits, stream_key, uniforms
from infonce.spec.run import Positives, TupleDesign

_ATTEMPTS = 100
"""Orders tried for an epoch of disjoint tuples drawn anew; the first epoch takes its first order or refuses."""


class TupleSampler:
    """Image indices of n tuples with k negatives each; π is uniform on the eligible images.

    Args:
        labels: int64 (N,), the class of each image, -1 = unlabelled.
        positives: `class` pairs an anchor with another image of its class, and leaves unlabelled images
            out; `augment` and `sphere` make the positive from the anchor's own image, so its index is the
            anchor's.
        tuples: n. Anchors are drawn without replacement, so n is at most the number of eligible images.
        negatives: k; i.i.d. uniform with replacement over the eligible images but the anchor's own, so k
            may exceed them. For `class` they may share the anchor's class: they are draws from π.
        tuple_design: `shared` lets tuples use the same images; `disjoint` gives each tuple images of its
            own, drawn without replacement, so that tuples are independent as far as the images are.
        seed: key of the streams, from `infonce.random.stream_key`.

    Raises DataError where the images cannot give that many tuples, naming the largest number.
    """

    def __init__(
        self,
        labels: torch.Tensor,
        positives: Positives,
        tuples: int,
        negatives: int,
        tuple_design: TupleDesign,
        seed: int,
    ) -> None:
        """Check that the images suffice; see the class for the arguments."""
        labels = torch.as_tensor(labels, dtype=torch.int64).cpu()
        labelled = positives == "class"
        self.images = torch.nonzero(labels >= 0).flatten() if labelled else torch.arange(len(labels))
        self.labels = labels[self.images]
        self.tuples, self.negative_count, self.tuple_design = tuples, negatives, tuple_design
        self.positive_is_another_image = labelled
        self._order_key = stream_key(seed, "anchors")
        self._positive_key = stream_key(seed, "positives")
        self._negative_key = stream_key(seed, "negatives")
        self._cached_epoch: int | None = None
        self._check_counts()
        self._class_order, self._class_start, self._class_size = _by_class(self.labels)
        self._class_rank = torch.empty_like(self._class_order)
        self._class_rank[self._class_order] = torch.arange(len(self.labels))
        self._class_rank -= self._class_start[self.labels.clamp_min(0)]
        if labelled:
            self._check_classes()
        self._arrange(0)

    @property
    def effective(self) -> int:
        """Tuples that a strict reading of (A) allows: ⌊N/(k+2)⌋ where images are shared, else n."""
        if self.tuple_design == "disjoint":
            return self.tuples
        return len(self.images) // (self.negative_count + 2)

    @property
    def negatives_exceed_pool(self) -> bool:
        """Whether k is larger than the number of images that negatives are drawn from."""
        return self.negative_count > len(self.images) - 1

    def anchors(self, rows: torch.Tensor, epoch: int = 0) -> torch.Tensor:
        """Image index (B,) of each row's anchor; over an epoch no image is an anchor twice."""
        return self._image_of(self._anchor_places(rows, epoch), rows)

    def positives(self, rows: torch.Tensor, epoch: int = 0) -> torch.Tensor:
        """Image index (B,) of each row's positive."""
        if not self.positive_is_another_image:
            return self.anchors(rows, epoch)
        if self.tuple_design == "disjoint":
            self._arrange(epoch)
            return self._image_of(self._reserved[rows.cpu()], rows)
        anchors = self._anchor_places(rows, epoch)
        label = self.labels[anchors]
        start, others = self._class_start[label], self._class_size[label] - 1
        draw = (uniforms(self._positive_key, epoch, rows.cpu()) * others).to(torch.int64).clamp_(max=others - 1)
        draw += draw >= self._class_rank[anchors]
        return self._image_of(self._class_order[start + draw], rows)

    def negatives(self, rows: torch.Tensor, epoch: int = 0) -> torch.Tensor:
        """Image indices (B, k) of each row's negatives."""
        k = self.negative_count
        if self.tuple_design == "disjoint":
            self._arrange(epoch)
            places = self._order[rows.cpu()[:, None] * (k + 1) + 1 + torch.arange(k)]
            return self._image_of(places, rows)
        column = torch.arange(k, device=rows.device)
        draw = integers(self._negative_key, len(self.images) - 1, epoch, rows[:, None], column)
        own = self._anchor_places(rows, epoch).to(rows.device)
        draw += draw >= own[:, None]
        return self.images.to(rows.device)[draw]

    def _anchor_places(self, rows: torch.Tensor, epoch: int) -> torch.Tensor:
        """Positions among the eligible images, on the CPU."""
        self._arrange(epoch)
        stride = self.negative_count + 1 if self.tuple_design == "disjoint" else 1
        return self._order[rows.cpu() * stride]

    def _image_of(self, places: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return self.images[places].to(rows.device)

    def _arrange(self, epoch: int) -> None:
        """The epoch's permutation of the eligible images, kept until another epoch is asked for."""
        if self._cached_epoch == epoch:
            return
        for attempt in range(_ATTEMPTS):
            bits = random_bits(self._order_key, epoch, attempt, torch.arange(len(self.images)))
            self._order = torch.argsort(bits, stable=True)
            if not (self.tuple_design == "disjoint" and self.positive_is_another_image):
                break
            self._reserved, lacking = self._reserve_positives()
            if lacking is None:
                break
            if epoch == 0 or attempt == _ATTEMPTS - 1:
                raise DataError(
                    f"{self.tuples} disjoint tuples with {self.negative_count} negatives leave too few images "
                    f"of class {lacking} for positives; the largest number of tuples for this seed is "
                    f"{self._largest_disjoint()}"
                )
        self._cached_epoch = epoch

    def _reserve_positives(self) -> tuple[torch.Tensor, int | None]:
        """For each row the place of a positive that no tuple has used; and a class of which too few are left.

        Anchors and negatives are the first n·(k+1) images of the permutation, whatever their classes, and
        positives come from the rest in order, so given its anchor's class a positive depends on nothing
        else.
        """
        block = self.negative_count + 1
        reserve = self._order[self.tuples * block :]
        anchor_labels = self.labels[self._order[torch.arange(self.tuples) * block]]
        positives = torch.empty(self.tuples, dtype=torch.int64)
        for label in torch.unique(anchor_labels):
            wanted = torch.nonzero(anchor_labels == label).flatten()
            available = reserve[self.labels[reserve] == label]
            if len(available) < len(wanted):
                return positives, int(label)
            positives[wanted] = available[: len(wanted)]
        return positives, None

    def _largest_disjoint(self) -> int:
        """The largest n that leaves every class enough positives: more tuples need more and leave fewer."""
        low, high = 0, self.tuples
        while high - low > 1:
            middle = (low + high) // 2
            block = self.negative_count + 1
            need = torch.bincount(self.labels[self._order[torch.arange(middle) * block]], minlength=1)
            left = torch.bincount(self.labels[self._order[middle * block :]], minlength=len(need))
            low, high = (middle, high) if bool((left[: len(need)] >= need).all()) else (low, middle)
        return low

    def _check_counts(self) -> None:
        n, k, images = self.tuples, self.negative_count, len(self.images)
        if n < 1 or k < 1:
            raise DataError(f"{n} tuples with {k} negatives; expected at least one of each")
        if images < 2:
            raise DataError(f"{images} images can be anchors and negatives; at least 2 are needed")
        per_tuple = 1
        if self.tuple_design == "disjoint":
            per_tuple = k + 2 if self.positive_is_another_image else k + 1
        if n * per_tuple > images:
            largest = f"the largest number of tuples is {images // per_tuple}"
            if self.tuple_design == "disjoint":
                largest += f" with {k} negatives, the largest number of negatives {images // n - per_tuple + k}"
                largest += f" with {n} tuples" if images // n - per_tuple + k >= 1 else " (none)"
            raise DataError(
                f"{n} {self.tuple_design} tuples with {k} negatives need {n * per_tuple} images, there are "
                f"{images}; {largest}"
            )

    def _check_classes(self) -> None:
        alone = torch.nonzero(self._class_size == 1).flatten().tolist()
        if alone:
            raise DataError(
                f"class {alone[0]} has a single image, so it has no positive of its class; give every class "
                "at least two images (a larger limit), or use another generator of positives"
            )


def _by_class(labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Places sorted by class, where each class starts in that order, and each class's size."""
    order = torch.argsort(labels, stable=True)
    size = torch.bincount(labels.clamp_min(0), minlength=1)
    return order, torch.cumsum(size, 0) - size, size
