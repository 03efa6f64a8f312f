"""Algorithm 1: train an encoder on tuples, with a history, early stopping, preemption and an outcome for every end."""

import logging
import math
import statistics
import time
from pathlib import Path

import torch
from tqdm import tqdm

from infonce.data.prepared import Prepared
from infonce.spec.run import RunSpec
from infonce.training import device as devices
from infonce.training.result import Status, TrainingResult
from infonce.training.schedule import history_steps
from infonce.training.state import SavedState, StateKeeper
from infonce.training.trainer import Trainer

__all__ = ["train"]

log = logging.getLogger(__name__)


def train(
    spec: RunSpec,
    prepared: Prepared,
    device: torch.device | str = "auto",
    threads: int = 1,
    progress: bool = True,
    state_path: Path | None = None,
    state_minutes: float = 10.0,
    code_digest: str = "",
    embed_chunk: int | None = None,
) -> TrainingResult:
    """Train the encoder of `spec`; divergence and exhausted memory are outcomes, not exceptions.

    Args:
        spec: the run.
        prepared: its data set.
        device: `auto`, `cpu`, `cuda` or a torch device.
        threads: of the CPU.
        progress: show a bar, if there is a terminal.
        state_path: where the state is kept that a killed run goes on from; see `state.state_file`, `only_job`.
        state_minutes: between two states at most; see `state.StateKeeper`.
        code_digest: of the code that trains; a state of other code is not taken up.
        embed_chunk: inputs that the encoder sees at once; by default a function of their resolution.

    Raises:
        DeviceError: the device is not there.
        ConfigError, DataError: the encoder or the tuples cannot be had.
        RecordError: the state is another run's.
        SystemExit: after SIGTERM, once the state is kept.
    """
    where = devices.resolve(device)
    identity = {
        "data": prepared.digest,
        "code": code_digest,
        "torch version": torch.__version__,
        "device": where.type,
    }
    keeper = StateKeeper(state_path, spec.content_hash, identity, state_minutes)
    with keeper, devices.threads_set(threads), devices.determinism(spec.training.deterministic, where):
        return Run(Trainer(spec, prepared), where, keeper, progress).result(embed_chunk)


class Run:
    """One call of `train`: the loop, its clock and how it ended."""

    def __init__(self, trainer: Trainer, device: torch.device, keeper: StateKeeper, progress: bool) -> None:
        """Nothing happens before `result`."""
        self.trainer, self.device, self.keeper, self.progress = trainer, device, keeper, progress
        self.options = trainer.options
        self.history: list[dict[str, float]] = []
        self.step_seconds: list[float] = []
        self.attempts, self.earlier_seconds = 1, 0.0
        self.started = time.monotonic()

    def result(self, embed_chunk: int | None) -> TrainingResult:
        """Train to whatever end and describe it."""
        trainer, device = self.trainer, self.device
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        try:
            trainer.place(device, embed_chunk)
            self._resume()
            status, message = self._loop()
        except Exception as error:
            if not devices.out_of_memory(error):
                raise
            status, message = "out_of_memory", self._memory_message(error)
        if message:
            log.warning("%s: %s", trainer.spec.token, message)
        peak = torch.cuda.max_memory_allocated(device) / 2**20 if device.type == "cuda" else None
        return TrainingResult(
            status=status,
            message=message,
            initial=trainer.initial,
            final={name: tensor.cpu().contiguous() for name, tensor in trainer.kept.items()},
            history=self.history,
            steps=trainer.kept_step,
            tuples_seen=trainer.kept_step * trainer.batches.size,
            parameters=sum(parameter.numel() for parameter in trainer.encoder.parameters()),
            displacement=trainer.displacement,
            device=devices.describe(device),
            driver=devices.driver(device),
            precision="bfloat16" if trainer.bfloat16 else "float32",
            deterministic=device.type == "cpu" or self.options.deterministic,
            threads=torch.get_num_threads(),
            seconds=self._seconds(),
            seconds_per_step=statistics.median(self.step_seconds) if self.step_seconds else None,
            peak_device_memory_mib=peak,
            resumed=self.attempts > 1,
            attempts=self.attempts,
            notes=(*trainer.notes, *self.keeper.notes),
        )

    def _resume(self) -> None:
        state = self.keeper.read()
        if state is None:
            return
        self.trainer.restore(state)
        self.history = state.facts["history"]
        self.attempts, self.earlier_seconds = state.facts["attempts"] + 1, state.facts["seconds"]
        log.warning("%s: goes on from step %d", self.trainer.spec.token, self.trainer.kept_step)

    def _loop(self) -> tuple[Status, str | None]:
        trainer, options = self.trainer, self.options
        recorded = history_steps(options)
        if not self.history and (problem := self._record(0)):
            return "diverged", problem
        trainer.encoder.train()
        bar = tqdm(total=options.steps, initial=trainer.kept_step, unit="step", disable=None if self.progress else True)
        with bar:
            for step in range(trainer.kept_step + 1, options.steps + 1):
                began = time.monotonic()
                loss = trainer.step(step - 1)
                problem = trainer.keep_if_finite(step, loss)
                self.step_seconds.append(time.monotonic() - began)
                if problem:
                    return "diverged", f"diverged at step {step}: {problem}"
                bar.update()
                far = self._far_enough(step)
                if (step in recorded or far) and (problem := self._record(step)):
                    return "diverged", problem
                if far := far or self._good_enough(step, recorded):
                    return "stopped_early", far
                self.keeper.after_step(self._state)
        return "ok", None

    def _record(self, step: int) -> str | None:
        """Add a history row, or say that a loss of it is not finite."""
        row = self.trainer.history_row(step)
        if not all(math.isfinite(value) for value in row.values()):
            return f"diverged at step {step}: a loss of the history is not finite"
        self.history.append(row)
        return None

    def _far_enough(self, step: int) -> str | None:
        limit, reached = self.options.stop_at_displacement, self.trainer.displacement
        if limit is None or reached < limit:
            return None
        return f"stopped at step {step}: the displacement {reached:.6g} reached {limit:g}"

    def _good_enough(self, step: int, recorded: set[int]) -> str | None:
        limit = self.options.stop_at_held_out_loss
        if limit is None or step not in recorded or self.history[-1]["held_out_loss"] > limit:
            return None
        return f"stopped at step {step}: the held-out loss {self.history[-1]['held_out_loss']:.6g} reached {limit:g}"

    def _state(self) -> SavedState:
        facts = {"history": self.history, "attempts": self.attempts, "seconds": self._seconds()}
        return self.trainer.saved(facts)

    def _seconds(self) -> float:
        return self.earlier_seconds + time.monotonic() - self.started

    def _memory_message(self, error: BaseException) -> str:
        first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
        keys = "training.batch_size" if self.options.pool == "all" else "training.pool or training.batch_size"
        if self.options.precision == "float32" and self.device.type == "cuda":
            keys += ", or set training.precision to bfloat16"
        return f"out of memory on {self.device} at step {self.trainer.kept_step + 1}: lower {keys} ({first_line})"
