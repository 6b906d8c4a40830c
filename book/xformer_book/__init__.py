"""What the HTML book needs beyond jupyter-book: a Sphinx extension in small parts."""

from pathlib import Path

from . import finish, glossary, library_mark, live, mathematics, model_files, notebooks, pages, parts, review, search_texts, totals

ROOT = Path(__file__).resolve().parents[2]
STATIC, LOADER = ROOT / "book" / "static", ROOT / "xformer_course" / "explorables" / "assets" / "loader.js"


def add_static_folder(app, config):
    config.html_static_path += [str(STATIC), str(LOADER)]
    app.add_css_file("book.css", priority=900)
    app.add_css_file("look.css", priority=900)
    app.add_css_file("reading.css", priority=901)
    app.add_css_file("live.css", priority=902)
    app.add_js_file("reading.js", loading_method="defer")
    app.add_js_file("loader.js", loading_method="defer")
    app.add_js_file("search.js", loading_method="defer")
    app.add_js_file("page_python.js", loading_method="defer")
    app.add_js_file("live.js", loading_method="defer")
    app.add_js_file("predict.js", loading_method="defer")
    app.add_js_file("review.js", loading_method="defer")
    app.add_js_file("progress.js", loading_method="defer")
    app.add_css_file("print.css", priority=901, media="print")


def setup(app):
    app.connect("config-inited", add_static_folder)
    library_mark.setup(app)
    live.setup(app)
    mathematics.setup(app)
    model_files.setup(app)
    notebooks.setup(app)
    pages.setup(app)
    parts.setup(app)
    review.setup(app)
    search_texts.setup(app)
    totals.setup(app)
    glossary.setup(app)
    finish.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
