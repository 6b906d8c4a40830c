"""Packages as they lie here, and ``results/`` inside the course: a chapter alone, as on Colab, reads the records, too."""

from setuptools import find_namespace_packages, setup

records = [name.replace("results", "xformer_course.results", 1) for name in find_namespace_packages(include=["results*"])]
setup(
    packages=find_namespace_packages(include=["xformer_lib*", "xformer_course*"]) + records,
    package_dir={"xformer_course.results": "results"},
)
