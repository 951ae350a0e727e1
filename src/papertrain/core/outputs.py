"""What a run left behind: its predictions, and the scores that its program wrote."""

from __future__ import annotations

from pathlib import Path

from papertrain.core.workspace import Workspace

PREDICTIONS = (
    "predictions.csv",
    "predictions.jsonl",
    "predictions.parquet",
    "predictions.npz",
    "predictions.json",
    "generated_predictions.jsonl",
)
RESULTS = ("eval_results.json", "all_results.json", "predict_results.json", "metrics.json")


def outputs(work: Workspace, run: str) -> tuple[list[Path], list[Path]]:
    """Prediction files and published scores of one run, the first place that has any."""
    places = [work.run_path(run), work.run_path(run) / "predictions", work.result_path(run)]
    predictions = [p / n for p in places for n in PREDICTIONS if (p / n).is_file()]
    samples = sorted(work.result_path(run).glob("**/samples_*.jsonl")) + sorted(
        work.result_path(run).glob("**/results_*.json")
    )
    reported = [p / n for p in places[:2] for n in RESULTS if (p / n).is_file()]
    return predictions[:1], [*reported, *samples]
