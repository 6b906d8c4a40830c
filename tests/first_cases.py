"""What checks shapes, and a pytest plugin (``-p tests.first_cases``): of each parametrised test the first case, in CI the last, too."""

from beartype import BeartypeConf, beartype

from tests.ci import in_ci

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))  # to type checkers, too, a whole number is a float


def pytest_collection_modifyitems(config, items):
    cases = {}
    for item in items:
        cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    kept = {id(item) for group in cases.values() for item in (group[0], *in_ci(group[-1:], []))}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for item in items if id(item) in kept]
