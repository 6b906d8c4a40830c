"""Every page: no loader for remote kernels, a description of its own, a search that also works from a folder."""

from docutils import nodes

# Search shows an excerpt of each hit by fetching the page, which browsers refuse for file:// addresses.
SEARCH_FROM_A_FOLDER = 'if (location.protocol === "file:") { DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false; }'


def drop_thebe(app, config):
    """Take out sphinx-thebe, which jupyter-book always loads: its script names a remote address on every page."""
    for listeners in app.events.listeners.values():
        listeners[:] = [one for one in listeners if not one.handler.__module__.startswith("sphinx_thebe")]
    registry = app.registry
    registry.css_files[:] = [entry for entry in registry.css_files if "thebe" not in str(entry[0])]


def describe(app, pagename, templatename, context, doctree):
    """The promise of a chapter, its first paragraph, as the page's description."""
    if doctree is None:
        return
    paragraph = next(doctree.findall(nodes.paragraph), None)
    if paragraph is not None:
        text = " ".join(paragraph.astext().split())
        context["page_description"] = text if len(text) <= 200 else text[:199].rsplit(" ", 1)[0] + " …"


def plain_search(app, config):
    app.add_js_file(None, body=SEARCH_FROM_A_FOLDER, priority=600)


def setup(app):
    app.connect("config-inited", drop_thebe, priority=900)
    app.connect("config-inited", plain_search)
    app.connect("html-page-context", describe, priority=900)
