"""A table of web pages: the row key is the URL with its domain reversed, so that a domain's pages are neighbours.

``www.example.org`` and ``shop.example.org`` sort far from each other; ``org.example.www`` and ``org.example.shop`` are in one range. Each
crawl writes a version of the contents, and the family keeps the newest three.
"""

import sys
from urllib.parse import urlsplit

import colonnade


def row_key(url: str) -> str:
    parts = urlsplit(url)
    return ".".join(reversed(parts.netloc.split("."))) + parts.path


def main(url: str) -> None:
    with colonnade.connect(url) as db:
        pages = db.create_table(
            "pages",
            families=["title", "anchor", colonnade.Family("contents", max_versions=3)],
            locality_groups=[["contents"]],  # large, and seldom read with the titles
        )
        for crawl in range(1, 6):
            for page in ("https://www.example.org/", "https://shop.example.org/cart", "https://www.example.com/"):
                pages.write(row_key(page), {"title:": page, "contents:": f"{page} as of crawl {crawl}"})
        # Who links here: the qualifier is the linking page, the value its words.
        pages.write(row_key("https://www.example.org/"), {"anchor:https://news.example.com/": "an example"})

        # A domain with all its hosts: a prefix, and only the titles are read.
        print([row.key for row in pages.scan(prefix="org.example.", families=["title"])])

        home = pages.row("org.example.www/")
        assert home is not None
        print(home.family("anchor"))
        for cell in home.versions("contents:"):
            print(cell.value)


if __name__ == "__main__":
    main(sys.argv[1])
