"""Draws docs/pictures/notebook.png: cells of a notebook as they are run, by nbconvert and Chromium.

    python docs/pictures/make.py

wants the extra `peers`, chromium and Pillow; nobody else needs it: the picture is in the repository.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from PIL import Image, ImageChops

CELLS = [
    "import numpy as np\n\n%load_ext cwrapjit",
    """%%cwrapjit --threads auto
int longest_run(const double x[n], int n, double limit)
{
    int run = 0, longest = 0;
    for(int i = 0; i < n; i++) {
        run = x[i] > limit ? run + 1 : 0;
        if(run > longest)
            longest = run;
    }
    return longest;
}""",
    """years = np.random.default_rng(1).normal(20, 5, (1000, 365))
longest_run(years, [[20.0], [25.0]])[:, :12]""",
    """%%cwrapjit
double kelvin(double celsius)
{
    return celcius + 273.15;
}""",
]
STYLE = "<style>body { padding: 4px 12px 4px 0 !important; } .jp-Cell { padding: 4px 0 !important; }</style>"
WIDTH = 840


def page() -> str:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in CELLS])
    NotebookClient(notebook, kernel_name="python3", allow_errors=True).execute()
    body, _ = HTMLExporter(template_name="lab").from_notebook_node(notebook)
    return body.replace("</head>", f"{STYLE}</head>")


def main() -> None:
    target = Path(__file__).with_name("notebook.png")
    with tempfile.TemporaryDirectory() as folder:
        html, shot = Path(folder, "page.html"), Path(folder, "shot.png")
        html.write_text(page(), encoding="utf-8")
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--force-device-scale-factor=2",
        ]
        size = f"--window-size={WIDTH},1400"
        subprocess.run(
            ["chromium", *flags, size, f"--screenshot={shot}", html.as_uri()], check=True, capture_output=True
        )
        picture = Image.open(shot).convert("RGB")
    blank = Image.new("RGB", picture.size, picture.getpixel((0, 0)))
    bottom = ImageChops.difference(picture, blank).getbbox()[3]
    picture.crop((0, 0, picture.width, bottom + 24)).quantize(48).save(target, optimize=True)
    print(target, target.stat().st_size)


if __name__ == "__main__":
    main()
