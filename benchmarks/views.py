"""Images per second: views made for a whole batch against torchvision's v2 transforms, sample by sample.

    python benchmarks/views.py [--rounds 7] [--output FILE]

Both get the same uint8 images, use the same cores, and make the same kind of view (SimCLR's, for the size). The
rival is a DataLoader with two workers and one thread each, with tensors and with PIL images; the faster one counts.
Rounds alternate, so that what else the machine does hits all of them; reported are medians and ratios of medians.
Images per second of processor time (of all processes and threads involved) stand beside images per second of the
clock: they tell the same on an idle machine and are disturbed less on a busy one.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import torch
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2

from infonce.allocator import keep_freed_memory
from infonce.data.natural_views import natural_strengths
from infonce.data.views import make_views
from infonce.spec.run import ViewOptions

CORES = 2
EPOCHS = 4  # a whole batch is so fast that one epoch would be over in no time
OPTIONS = ViewOptions(recipe="natural-1")


class PerSample(Dataset):
    """What a training script with torchvision does: one view of one image at a time."""

    def __init__(self, images: torch.Tensor, pil: bool) -> None:
        side = images.shape[-1]
        s = natural_strengths(side, OPTIONS)
        jitter = v2.ColorJitter(s.brightness, s.contrast, s.saturation, s.hue)
        steps = [
            v2.RandomResizedCrop(side, scale=(s.smallest_crop, 1.0), antialias=True),
            v2.RandomHorizontalFlip(s.flip),
            v2.RandomApply([jitter], s.jitter),
            v2.RandomGrayscale(s.grey),
        ]
        if s.blur:
            steps.append(v2.RandomApply([v2.GaussianBlur(side // 10 | 1, (0.1, 2.0))], s.blur))
        finish = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
        self.transform = v2.Compose([*steps, *finish])
        to_pil = v2.ToPILImage()
        self.images = [to_pil(image) for image in images] if pil else list(images)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, row: int) -> torch.Tensor:
        return self.transform(self.images[row])


def one_thread(worker: int) -> None:
    torch.set_num_threads(1)


def per_sample(images: torch.Tensor, batch: int, pil: bool) -> Callable[[], tuple[float, float]]:
    loader = DataLoader(
        PerSample(images, pil), batch, num_workers=CORES, worker_init_fn=one_thread, persistent_workers=True
    )

    def rate() -> tuple[float, float]:
        clock, processor = time.perf_counter(), processor_seconds()
        count = sum(len(views) for views in loader)
        return count / (time.perf_counter() - clock), count / (processor_seconds() - processor)

    return rate


def whole_batch(images: torch.Tensor, batch: int, device: str, threads: int) -> Callable[[], tuple[float, float]]:
    images = images.to(device)

    def rate() -> tuple[float, float]:
        torch.set_num_threads(threads)
        clock, processor = time.perf_counter(), processor_seconds()
        for epoch in range(EPOCHS):
            for first in range(0, len(images), batch):
                rows = torch.arange(first, first + batch)
                make_views(images[first : first + batch], 1, epoch, rows, OPTIONS)
        if device == "cuda":
            torch.cuda.synchronize()
        count = EPOCHS * len(images)
        return count / (time.perf_counter() - clock), count / (processor_seconds() - processor)

    return rate


def processor_seconds() -> float:
    """User and system time of this process and its workers."""
    own = psutil.Process()
    return sum(process.cpu_times().user + process.cpu_times().system for process in [own, *own.children()])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sides", type=int, nargs="+", default=[32, 96])
    parser.add_argument("--output", type=Path, default=Path("benchmarks/output/views.json"))
    arguments = parser.parse_args()
    keep_freed_memory()  # as a training does; the workers inherit it
    results = {"torch": torch.__version__, "machine": platform.machine(), "cores": CORES, "rounds": arguments.rounds}
    for side in arguments.sides:
        batch, count = 256, 4096 if side < 64 else 1024
        images = torch.randint(0, 256, (count, 3, side, side), dtype=torch.uint8)
        contenders = {
            "torchvision, tensors": per_sample(images, batch, pil=False),
            "torchvision, PIL": per_sample(images, batch, pil=True),
            "whole batch": whole_batch(images, batch, "cpu", CORES),
            "whole batch, 1 thread": whole_batch(images, batch, "cpu", 1),
        }
        if torch.cuda.is_available():
            contenders["whole batch, GPU"] = whole_batch(images, batch, "cuda", CORES)
        rates = {name: [] for name in contenders}
        for round_number in range(arguments.rounds + 1):
            for name, rate in contenders.items():
                value = rate()
                if round_number:  # the first round warms up
                    rates[name].append(value)
        by_clock, by_processor = (
            {name: statistics.median(value[kind] for value in values) for name, values in rates.items()}
            for kind in (0, 1)
        )
        rivals = [name for name in rates if name.startswith("torchvision")]
        print(f"{side}×{side}: images per second, and per second of processor time (ratio to the faster torchvision)")
        for name in rates:
            cells = (
                f"{medians[name]:>10,.0f} {medians[name] / max(medians[rival] for rival in rivals):>6.2f}"
                for medians in (by_clock, by_processor)
            )
            print(f"  {name:<22}", *cells)
        results[f"{side}"] = {"by_clock": by_clock, "by_processor": by_processor}
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
