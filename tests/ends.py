"""A pytest plugin (``-p tests.ends``) that keeps of each parametrised test its first case, and with CI=true its last one, too."""

from tests.extent import extent


def pytest_collection_modifyitems(config, items):
    cases = {}
    for item in items:
        cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    kept = {id(item) for group in cases.values() for item in (group[0], *extent(group[-1:], []))}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for item in items if id(item) in kept]
