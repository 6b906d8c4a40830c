"""What a colour means in a picture, by day and by night: query, key and value as everywhere in the course, violet for attention."""

LIGHT = {
    "ink": "#1d2329",
    "quiet": "#525c66",
    "line": "#7a8590",
    "paper": "#ffffff",
    "soft": "#f1f4f7",
    "query": "#0063a0",
    "key": "#b34700",
    "value": "#00714f",
    "weight": "#6b2fd9",  # what attention gives: rays, shares, and the bar across the lanes of a machine
    "accent": "#9a3f77",
    "matrix": "#8a6400",  # the one matrix of words
}
DARK = {
    "ink": "#e8ecf0",
    "quiet": "#aeb8c2",
    "line": "#7d8894",
    "paper": "#14181e",
    "soft": "#222932",
    "query": "#6cb8ee",
    "key": "#f0955a",
    "value": "#4fc9a0",
    "weight": "#a08cff",
    "accent": "#e0a0c8",
    "matrix": "#e3b341",
}


def style() -> str:
    """The rules that give each role its colour: the page's own choice of light or dark wins over the system's.

    A picture names a colour twice, as an attribute and as a class. The attribute is what a single SVG file shows;
    on a page the class follows light, dark and the reader's own colours.
    """

    def table(colours: dict[str, str]) -> str:
        return "".join(f"--xp-{role}:{colour};" for role, colour in colours.items())

    night = [f'html[{name}="dark"] .xp' for name in ("data-theme", "theme")] + ['body[data-jp-theme-light="false"] .xp']
    day = [f'html[{name}="light"] .xp' for name in ("data-theme", "theme")] + ['body[data-jp-theme-light="true"] .xp']
    roles = "".join(f".xp .f-{role}{{fill:var(--xp-{role})}}.xp .s-{role}{{stroke:var(--xp-{role})}}" for role in LIGHT)
    return (
        f".xp{{{table(LIGHT)}}}@media (prefers-color-scheme:dark){{.xp{{{table(DARK)}}}}}"
        f"{','.join(day)}{{{table(LIGHT)}}}{','.join(night)}{{{table(DARK)}}}{roles}"
    )
