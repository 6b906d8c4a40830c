"""What the HTML book needs beyond jupyter-book: a Sphinx extension in small parts."""

from pathlib import Path

from . import library_mark, mathematics, model_files, pages

STATIC = Path(__file__).resolve().parent.parent / "static"


def add_static_folder(app, config):
    config.html_static_path.append(str(STATIC))
    app.add_css_file("book.css", priority=900)


def setup(app):
    app.connect("config-inited", add_static_folder)
    library_mark.setup(app)
    mathematics.setup(app)
    model_files.setup(app)
    pages.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
