"""A training step on two views, against lightly's SimCLR with its DataLoader: seconds per embedded image.

    python benchmarks/training_step.py [--encoders convnet resnet18] [--images 512] [--rounds 3] [--device cpu]

Both embed the same number of 32×32 images in a step with the same network and apply SGD with momentum. lightly embeds
two views of images/2 images and contrasts each with the rest of the batch; ours embeds images/3 anchors, as many
positives and a pool of as many views, and draws k = 256 negatives for each anchor. Views: lightly's SimCLRTransform in
a DataLoader with one worker a thread, against the recipe `natural-1` made for the batch as a whole. Each way has a
process of its own, ours with the allocator set as our training sets it; the two take turns in blocks of steps, and
the workers are started for a block and ended with it, so that none prepares batches while the other way is timed. CPU
seconds are those of the process and its workers, with the start of a block.
"""

import argparse
import itertools
import multiprocessing
import resource
import statistics
import time

import numpy as np
import torch

from infonce.allocator import keep_freed_memory
from infonce.data.prepared import Prepared, Split
from infonce.encoders.encoder import encoder_of
from infonce.spec.run import RunSpec, TrainingOptions, ViewOptions
from infonce.training.trainer import Trainer

SIDE, DATA = 32, 4096


def photographs():
    images = np.random.default_rng(0).integers(0, 256, (DATA, 3, SIDE, SIDE), dtype=np.uint8)
    split = Split(images, np.arange(DATA, dtype=np.int64) % 10)
    small = Split(images[:64], split.labels[:64])
    return Prepared("photographs", tuple("0123456789"), split, small, (0.5,) * 3, (0.25,) * 3, "", {})


def spec_of(encoder, images, precision):
    third = images // 3
    return RunSpec(
        dataset="cifar10",
        positives="augment",
        encoder=encoder,
        head="normalize",
        dimension=128,
        loss="infonce",
        negatives=256,
        temperature=0.1,
        tuples=DATA,
        tuple_design="shared",
        seed=0,
        view_options=ViewOptions(recipe="natural-1"),
        training=TrainingOptions(
            optimizer="sgd",
            learning_rate=0.05,
            batch_size=third,
            pool=images - 2 * third,
            tuples_drawn="each_epoch",
            precision=precision,
        ),
    )


class Ours:
    name = "infonce"

    def __init__(self, spec, prepared, device, images):
        keep_freed_memory()
        self.trainer, self.device = Trainer(spec, prepared), device
        self.trainer.place(device)
        self.trainer.encoder.train()
        self.steps = itertools.count()

    def begin(self):
        pass

    def end(self):
        pass

    def step(self):
        step = next(self.steps)
        self.trainer.keep_if_finite(step + 1, self.trainer.step(step))


class Lightly:
    name = "lightly"

    def __init__(self, spec, prepared, device, images):
        from lightly.loss import NTXentLoss
        from lightly.transforms import SimCLRTransform
        from PIL import Image

        pictures = [Image.fromarray(image.transpose(1, 2, 0)) for image in prepared.train.images]
        transform = SimCLRTransform(input_size=SIDE, gaussian_blur=0.0)

        class Views(torch.utils.data.Dataset):
            def __len__(self):
                return len(pictures)

            def __getitem__(self, index):
                return transform(pictures[index])

        workers = torch.get_num_threads()
        self.loader = torch.utils.data.DataLoader(
            Views(), images // 2, shuffle=True, drop_last=True, num_workers=workers, multiprocessing_context="fork"
        )
        self.encoder = encoder_of(spec, prepared.input_shape).to(device).train()
        self.loss, self.device, self.bfloat16 = NTXentLoss(0.1), device, spec.training.precision == "bfloat16"
        self.optimizer = torch.optim.SGD(self.encoder.parameters(), 0.05, momentum=0.9)

    def begin(self):
        self.batches = iter(self.loader)

    def end(self):
        del self.batches

    def step(self):
        first, second = next(self.batches)
        self.optimizer.zero_grad()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
            embeddings = [self.encoder(view.to(self.device, non_blocking=True)) for view in (first, second)]
        loss = self.loss(*embeddings)
        loss.backward()
        self.optimizer.step()
        loss.item()


def serve(kind, encoder, options, connection):
    """In a process of its own: time one block of steps whenever asked."""
    torch.set_num_threads(options.threads)
    device = torch.device(options.device)
    spec = spec_of(encoder, options.images, "bfloat16" if device.type == "cuda" else "float32")
    way = kind(spec, photographs(), device, options.images)
    while connection.recv():
        used = cpu_time()
        way.begin()
        way.step()  # untimed: the workers start, the caches fill
        began = clock(device)
        for _ in range(options.steps):
            way.step()
        seconds = (clock(device) - began) / options.steps
        way.end()
        connection.send((seconds, (cpu_time() - used) / (options.steps + 1)))


def clock(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def cpu_time():
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoders", nargs="+", default=["convnet", "resnet18"])
    parser.add_argument("--images", type=int, default=384, help="embedded in a step")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=6, help="in a block")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    print(f"{options.images} images of {SIDE}×{SIDE} in a step, {options.threads} threads, torch {torch.__version__}\n")
    print("| encoder | way | seconds per step | ratio | CPU seconds per step | ratio |\n|---|---|---|---|---|---|")
    for encoder in options.encoders:
        show(encoder, measured(encoder, options))


def measured(encoder, options):
    """Seconds and CPU seconds per step of each way and round, the ways taking turns."""
    context = multiprocessing.get_context("spawn")
    connections, processes = {}, []
    for kind in (Ours, Lightly):
        connections[kind.name], other_end = context.Pipe()
        processes.append(context.Process(target=serve, args=(kind, encoder, options, other_end)))
        processes[-1].start()
        other_end.close()
    times = {name: [] for name in connections}
    for _, name in itertools.product(range(options.rounds), connections):
        connections[name].send(True)
        times[name].append(connections[name].recv())
    for connection, process in zip(connections.values(), processes, strict=True):
        connection.send(False)
        process.join()
    return times


def show(encoder, times):
    medians = {name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in times.items()}
    reference, cpu_reference = medians["infonce"]
    for name, (middle, cpu) in medians.items():
        ratios = f"{middle / reference:.2f} | {cpu:.3f} | {cpu / cpu_reference:.2f}"
        print(f"| {encoder} | {name} | {middle:.3f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
