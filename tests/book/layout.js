// What sticks out, is cut off or lies over something else, in sentences. All folds are opened first.
(() => {
  const found = [];
  const article = document.querySelector("article") || document.querySelector("main") || document.body;
  const say = (e) =>
    e.tagName.toLowerCase() +
    (e.id ? `#${e.id}` : "") +
    [...e.classList]
      .slice(0, 2)
      .map((c) => `.${c}`)
      .join("");
  const box = (e) => e.getBoundingClientRect();
  const shown = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && box(e).width > 1 && box(e).height > 1;
  const inside = (e, selector) => e.closest(selector) !== null;
  const OURS = ":not(.katex *):not(.svg-inline--fa):not(.svg-inline--fa *):not(.btn *)";
  article.querySelectorAll("details").forEach((fold) => {
    fold.open = true;
  });

  const window_width = document.documentElement.clientWidth;
  if (document.scrollingElement.scrollWidth > window_width + 1)
    found.push(`the page scrolls sideways: ${document.scrollingElement.scrollWidth} px in a window of ${window_width}`);

  // Nothing leaves the window, and no text is clipped, except inside of what scrolls by itself.
  const overflow = (e) => getComputedStyle(e).overflowX;
  const holder = (e, kinds) => {
    for (e = e.parentElement; e && e !== document.body; e = e.parentElement) if (kinds.includes(overflow(e))) return e;
    return null;
  };
  for (const e of [...article.querySelectorAll(`*${OURS}`), ...document.querySelectorAll(".prev-next-area :is(a, p)")]) {
    if (inside(e, "svg *")) continue;
    const clips = ["hidden", "clip"].includes(overflow(e));
    if ((!clips && box(e).right <= window_width + 1) || !shown(e)) continue;
    if (box(e).right > window_width + 1 && !holder(e, ["auto", "scroll", "hidden", "clip"]))
      found.push(`${say(e)} leaves the window: ${Math.round(box(e).right)} of ${window_width} px`);
    if (clips && e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1 && e.textContent.trim())
      found.push(`${say(e)} is cut off: ${e.scrollWidth} px of content in ${e.clientWidth}`);
  }

  const FIGURES = "img, svg, table, canvas, figure";
  const figures = [...article.querySelectorAll(FIGURES)].filter((e) => e.matches(OURS) && shown(e) && !inside(e.parentElement, "svg"));
  for (const e of figures) {
    const mine = box(e);
    // Within whatever clips it; what scrolls may hold more than it shows.
    const frame = holder(e, ["auto", "scroll", "hidden", "clip"]);
    if (frame && ["hidden", "clip"].includes(overflow(frame))) {
      const its = box(frame);
      if (mine.left < its.left - 1 || mine.right > its.right + 1) found.push(`${say(e)} is cut off by ${say(frame)}`);
    }
    const around = box(article);
    if (!frame && (mine.left < around.left - 2 || mine.right > around.right + 2)) found.push(`${say(e)} leaves the column`);
    if (e.tagName === "IMG") {
      if (!e.complete || !e.naturalWidth) found.push(`${say(e)} is not loaded: ${e.getAttribute("src")}`);
      else if (e.naturalHeight && getComputedStyle(e).objectFit === "fill") {
        const style = getComputedStyle(e),
          side = (a, b) => parseFloat(style[a]) + parseFloat(style[b]);
        const wide = mine.width - side("paddingLeft", "paddingRight") - side("borderLeftWidth", "borderRightWidth");
        const high = mine.height - side("paddingTop", "paddingBottom") - side("borderTopWidth", "borderBottomWidth");
        const stretch = wide / high / (e.naturalWidth / e.naturalHeight);
        if (Math.abs(stretch - 1) > 0.03 && Math.abs(wide - (high * e.naturalWidth) / e.naturalHeight) > 3)
          found.push(`${say(e)} is stretched by ${stretch.toFixed(2)}`);
      }
    }
    if (e.tagName === "svg") {
      for (const text of e.querySelectorAll("text")) {
        const its = box(text);
        if (!text.checkVisibility() || !text.textContent.trim() || its.width < 1) continue;
        if (its.left < mine.left - 1.5 || its.right > mine.right + 1.5 || its.top < mine.top - 1.5 || its.bottom > mine.bottom + 1.5)
          found.push(`${say(e)}: the text "${text.textContent.trim().slice(0, 30)}" leaves the picture`);
      }
    }
  }

  // No figure lies over text or over another figure.
  const BLOCKS =
    "p, pre, li, h1, h2, h3, h4, h5, h6, dt, dd, summary, figcaption, div.math-display, blockquote, label, button, input, output, " +
    FIGURES;
  const blocks = [...article.querySelectorAll(BLOCKS)]
    .filter((e) => e.matches(OURS) && !e.matches(".copybtn, .headerlink") && shown(e) && !inside(e.parentElement, "svg"))
    .map((e) => ({ e, at: box(e) }));
  const compared = new Set();
  for (const e of figures) {
    const a = box(e);
    compared.add(e);
    for (const { e: other, at: b } of blocks) {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left),
        high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide <= 2 || high <= 2 || compared.has(other) || other.contains(e) || e.contains(other)) continue;
      if (inside(e, ".xf-handle, [data-overlay]") || inside(other, ".xf-handle, [data-overlay]")) continue;
      found.push(`${say(e)} and ${say(other)} overlap by ${Math.round(wide)} × ${Math.round(high)} px`);
    }
  }
  return [...new Set(found)].slice(0, 12);
})();
