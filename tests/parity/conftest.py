"""Print the parity table: for each comparison with PyTorch, the largest difference that was seen."""

SHOWN = ("forward", "gradient")


def pytest_terminal_summary(terminalreporter):
    rows = [
        (report.nodeid.split("::")[-1], dict(report.user_properties))
        for report in terminalreporter.getreports("passed")
        if "tests/parity/test_torch_layers" in report.nodeid and report.user_properties
    ]
    if not rows:
        return
    terminalreporter.section("largest differences from PyTorch, copied weights, float64")
    for name, differences in sorted(rows):
        values = "  ".join(f"{kind} {differences[kind]}" for kind in SHOWN if kind in differences)
        terminalreporter.write_line(f"{name:<55} {values}")
