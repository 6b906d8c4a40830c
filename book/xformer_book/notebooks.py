"""A notebook as the book reads it: links in the book's language, and no output that asks to run something here."""

import json
import re

from sphinx.util import logging

from .links import booklike
from .predictions import with_questions
from .review import closing

UNANSWERED = re.compile(r"^(Exercise \d+\.\d+): not attempted yet\..*(?:\n(?!Exercise ).+)*", re.M)
ELSEWHERE = r"\1: answer it in the notebook; the buttons above this page download it and open it on Colab."
logger = logging.getLogger(__name__)


def unanswered(text):
    """What a check printed in the stored notebook: on a page there is no cell to run again."""
    return UNANSWERED.sub(ELSEWHERE, text)


def read(notebook, complain, name=""):
    """The notebook of that name, changed in place for the book."""
    texts = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    for cell, text in zip(texts, with_questions(name, ["".join(cell["source"]) for cell in texts], complain), strict=True):
        cell["source"] = text
    if ending := closing(name):
        notebook["cells"].append({"cell_type": "markdown", "id": "review", "metadata": {}, "source": ending})
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = booklike("".join(cell["source"]), complain)
        for output in cell.get("outputs", []):
            if output["output_type"] == "stream":
                output["text"] = unanswered("".join(output["text"]))
    return notebook


def rewrite(app, docname, source):
    """Before a notebook is parsed; other pages are the book's own and speak its language."""
    if str(app.env.doc2path(docname)).endswith(".ipynb"):
        notebook = read(json.loads(source[0]), lambda text: logger.warning(text, location=docname), docname.removeprefix("chapters/"))
        source[0] = json.dumps(notebook, ensure_ascii=False)


def setup(app):
    app.connect("source-read", rewrite)
