"""Every answer in the catalogue of exercises that needs NumPy alone, judged: what the page's Python and any other must agree on."""

import json

import numpy as np

from xformer_course.exercises import api, registry


def verdicts(chapters=()):
    """``{"3.2 the answer": ["passed", ""], …}``: status and recognised misconception of each answer; all chapters if none is named."""
    found = {}
    for number in chapters or registry.chapter_numbers():
        for exercise in registry.chapter(number).exercises:
            if exercise.requires:
                continue
            answers = {"the answer": exercise.reference, "the stub": ...}
            answers |= {f"also right: {name}": answer for name, answer in exercise.alternatives.items()}
            answers |= {f"wrong: {one.name}": one.implementation for one in exercise.misconceptions}
            for name, answer in answers.items():
                result = api.examine(exercise, answer, np.random.default_rng(0))
                found[f"{exercise.id} {name}"] = [result.status, result.misconception]
    return found


def as_json(chapters=()):
    return json.dumps(verdicts(tuple(chapters)))
