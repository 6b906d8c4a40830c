"""A pytest plugin (``-p tests.first_cases``) that keeps of each parametrised test its first case, and with CI=true its last one, too."""

from tests.ci import in_ci


def pytest_collection_modifyitems(config, items):
    cases = {}
    for item in items:
        cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    kept = {id(item) for group in cases.values() for item in (group[0], *in_ci(group[-1:], []))}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for item in items if id(item) in kept]
