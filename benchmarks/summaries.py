"""From every sample's seconds to medians, ratios and a printed table."""

import statistics

import numpy as np


def quartiles(values: list[float]) -> dict:
    """Median, and the two values between which the middle half lies."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return {"median": round(float(middle), 3), "low": round(float(low), 3), "high": round(float(high), 3)}


def compare(rows: list[dict], clock: str) -> None:
    """Add to each row its seconds over ours, round by round."""
    ours = next(row for row in rows if row["name"] == "ours")[clock]
    for row in rows:
        row["over_ours"] = quartiles([a / b for a, b in zip(row[clock], ours)])


def peak_of(floor: list[dict], clock: str) -> dict:
    """The fastest shape's median, in gigaflop a second."""
    place = 0 if clock == "cpu_seconds" else 1
    shapes = {shape: quartiles([found[shape][place] for found in floor]) for shape in floor[0]}
    return max(({"shape": shape, **found} for shape, found in shapes.items()), key=lambda one: one["median"])


def summarise_training(table: dict, clock: str) -> None:
    """Tokens a second, seconds over ours, and the share of the floor's speed that is the model's own arithmetic."""
    compare(table["rows"], clock)
    table["peaks"] = {precision: peak_of(found, clock) for precision, found in table["floor"].items()}
    for row in table["rows"]:
        speed = [flops / seconds for flops, seconds in zip(table["gigaflop"], row[clock])]
        row["tokens_per_second"] = round(statistics.median(t / s for t, s in zip(table["target_tokens"], row[clock])))
        row["gigaflop_per_second"] = round(statistics.median(speed), 1)
        row["fraction_of_peak"] = round(statistics.median(speed) / table["peaks"][row["precision"]]["median"], 3)


def summarise_decoding(table: dict, clock: str) -> None:
    compare(table["rows"], clock)
    for row in table["rows"]:
        row["sentences_per_second"] = round(table["sentences"] / sum(row[clock]), 1)
        row["tokens_per_second"] = round(row["tokens"] / sum(row[clock]))


def print_table(title: str, rows: list[dict], columns: list[str]) -> None:
    """One line a contender."""
    print(f"\n{title}", flush=True)
    cells = [columns] + [[show(row[column]) for column in columns] for row in rows]
    widths = [max(len(line[n]) for line in cells) for n in range(len(columns))]
    for line in cells:
        print("  " + "  ".join(f"{cell:<{w}}" if n == 0 else f"{cell:>{w}}" for n, (cell, w) in enumerate(zip(line, widths))))


def show(value) -> str:
    """A cell: a median with its middle half, a number, or nothing."""
    if isinstance(value, dict):
        return f"{value['median']:.2f} ({value['low']:.2f}–{value['high']:.2f})"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


TRAINING_COLUMNS = ["name", "parameters", "precision", "tokens_per_second", "over_ours", "fraction_of_peak", "peak_memory_mb"]
DECODING_COLUMNS = ["name", "weights", "equal_to_ours", "sentences_per_second", "tokens_per_second", "over_ours"]
