"""What the site has beyond docs/: the top pages of the repository, the OpenAPI document, and links that lead there."""

import os
import posixpath
import re

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
HOST = "https://github.com/colonnade-db/colonnade/blob/main/"
TOP = {"README.md": "overview.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
WORKER = "assets/iframe-worker.js"
REFERENCE = """# API reference

Made of the OpenAPI document that a server answers with, `GET /v1/openapi.json`: [openapi.json](openapi.json). [The API](api.md) explains it, with examples.

<swagger-ui src="openapi.json"/>
"""

# A place outside of fenced blocks and `code` is a link or a picture.
FENCE = re.compile(r"^ *```.*?^ *```", re.M | re.S)
LINK = re.compile(r"(\]\()([^)\s:#]+)(#[^)\s]*)?(\))")


def on_config(config):
    config.copyright = "Colonnade " + os.environ["VERSION"]
    docs = os.path.join(ROOT, "docs")
    inside = next(section["Inside"] for section in config.nav if "Inside" in section)
    inside.append({"Decisions": sorted(("decisions/" + name for name in os.listdir(os.path.join(docs, "decisions"))), key=lambda name: ("README" not in name, name))})
    use = next(section["Use"] for section in config.nav if "Use" in section)
    use += [name for name in sorted(os.listdir(docs)) if name.endswith(".md") and name not in str(config.nav)]
    return config


def on_files(files, config):
    for source, page in TOP.items():
        files.append(File.generated(config, page, abs_src_path=os.path.join(ROOT, source)))
    files.append(File.generated(config, "reference.md", content=REFERENCE))
    files.append(File.generated(config, "openapi.json", abs_src_path=os.environ["OPENAPI"]))
    files.append(File.generated(config, WORKER, abs_src_path=os.path.join(os.path.dirname(__file__), "iframe-worker.js")))
    plots = os.path.join(ROOT, "bench", "peers", "plots")
    for name in os.listdir(plots):
        files.append(File.generated(config, "plots/" + name, abs_src_path=os.path.join(plots, name)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links between documents stay; those to other files of the repository lead to where it is kept."""
    source = page.file.src_uri
    top = next((s for s, p in TOP.items() if p == source), None)
    here = "" if top else posixpath.join("docs", posixpath.dirname(source))

    def target(m):
        path = posixpath.normpath(posixpath.join(here, m[2]))
        if source == "reference.md":
            return m[0]
        if not os.path.exists(os.path.join(ROOT, path)):
            raise PluginError(f"{source} links to {m[2]}, which does not exist")
        if path in TOP:
            path = TOP[path]
        elif path.startswith("docs/"):
            path = path.removeprefix("docs/")
        elif path.startswith("bench/peers/plots/"):
            path = path.removeprefix("bench/peers/")
        else:
            return m[1] + HOST + path + (m[3] or "") + m[4]
        return m[1] + posixpath.relpath(path, posixpath.dirname(source) or ".") + (m[3] or "") + m[4]

    parts, at = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [LINK.sub(target, markdown[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join(parts) + LINK.sub(target, markdown[at:])
