"""Where an epoch of GraphMix(GCN) goes on CUDA: kernels by time, and launches per epoch."""

import time

import torch

from graphmix.data import load
from graphmix.training import Config, fit


def main() -> None:
    """Profile 20 epochs of 100 trials on Cora, after a warm-up."""
    dataset = load("cora")

    def config(epochs: int) -> Config:
        return Config.for_dataset("cora", trials=100, epochs=epochs, rampup_start=0, rampup_end=1)

    fit(*dataset, config(5), device="cuda")
    for epochs in (20, 220):
        torch.cuda.synchronize()
        started = time.perf_counter()
        fit(*dataset, config(epochs), device="cuda")
        print(f"{epochs} epochs: {time.perf_counter() - started:.3f} s")
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        fit(*dataset, config(20), device="cuda")
    print(profile.key_averages().table(sort_by="self_cuda_time_total", row_limit=30, max_name_column_width=60))


if __name__ == "__main__":
    main()
