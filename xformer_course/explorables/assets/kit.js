// What explorables share: arithmetic (checked against the NumPy reference), elements, and controls that a keyboard reaches.
const kit = (() => {
  // ---------------------------------------------------------------- arithmetic on rows of numbers
  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  const transpose = (a) => a[0].map((_, j) => a.map((row) => row[j]));
  const matmul = (a, b) => {
    const columns = transpose(b);
    return a.map((row) => columns.map((column) => dot(row, column)));
  };
  const softmax = (scores, allowed = null) => {
    const kept = scores.filter((_, j) => !allowed || allowed[j]);
    if (!kept.length) return scores.map(() => 0);
    const top = Math.max(...kept);
    const powers = scores.map((score, j) => (!allowed || allowed[j] ? Math.exp(score - top) : 0));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  };
  // Scores, weights and outputs of scaled dot-product attention; a row that may attend to nothing returns zeros.
  const attention = (q, k, v, mask = null, scale = 1 / Math.sqrt(k[0].length)) => {
    const scores = matmul(q, transpose(k)).map((row) => row.map((score) => score * scale));
    const weights = scores.map((row, i) => softmax(row, mask && mask[i]));
    return { scores, weights, output: matmul(weights, v) };
  };
  const sinusoidal = (length, dim, base = 10000) =>
    Array.from({ length }, (_, position) =>
      Array.from({ length: dim }, (_, column) => {
        const angle = position * base ** ((-2 * Math.floor(column / 2)) / dim);
        return column % 2 ? Math.cos(angle) : Math.sin(angle);
      }),
    );

  // ---------------------------------------------------------------- elements
  const holder = document.createElement("template");
  holder.innerHTML = "<svg></svg>";
  const SVG = holder.content.firstChild.namespaceURI;
  const fill = (element, attributes, children) => {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return element;
  };
  const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
  const number = (value, digits = 2) => {
    const text = value.toFixed(digits);
    return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "\u2212");
  };
  let counter = 0;
  const fresh = (word) => `xf-${word}-${++counter}-${Math.floor(performance.now())}`;

  // ---------------------------------------------------------------- colour
  // The style of a cell, as in pictures.py: the weight's violet on paper, and the ink that reads on it by day and by night.
  const shade = (share) => {
    const part = Math.min(1, Math.max(0, share));
    const colour = part < 0.71 ? "var(--xf-on-faint)" : part < 0.8 ? "#000" : "var(--xf-on-deep)";
    return `background:color-mix(in srgb,var(--xf-weight) ${(100 * part).toFixed(0)}%,var(--xf-paper));color:${colour}`;
  };

  // ---------------------------------------------------------------- controls
  const slider = ({ label, min, max, step, value, show = (x) => number(x), oninput }) => {
    const id = fresh("slider");
    const output = h("output", { for: id }, show(value));
    const input = h("input", { type: "range", id, min, max, step, value, "aria-valuetext": show(value) });
    const set = (next) => {
      input.value = next;
      output.textContent = show(Number(input.value));
      input.setAttribute("aria-valuetext", show(Number(input.value)));
    };
    input.addEventListener("input", () => {
      set(input.value);
      oninput(Number(input.value));
    });
    return Object.assign(h("p", { class: "xf-control" }, h("label", { for: id }, label), input, output), { set });
  };
  const button = (label, onclick, attributes = {}) => h("button", { type: "button", onclick, ...attributes }, label);
  // One of several: options are [value, label] pairs; each is a button that says whether it is chosen.
  const choice = ({ label, options, value, onchange }) => {
    const buttons = options.map(([one, text]) =>
      button(
        text,
        () => {
          set(one);
          onchange(one);
        },
        { "aria-pressed": "false" },
      ),
    );
    const set = (next) => buttons.forEach((each, i) => each.setAttribute("aria-pressed", String(options[i][0] === next)));
    set(value);
    return Object.assign(h("fieldset", {}, h("legend", {}, label), buttons), { set });
  };
  // A point of an SVG that pointer and arrow keys move. `x` and `y` are functions from values to places, `range` is [low, high]
  // for each axis; an axis left out stays. With Shift an arrow key goes five steps.
  const handle = ({ svg, shape, label, range, step = 0.1, at, place, show, onmove }) => {
    let now = { ...at };
    shape.classList.add("xf-handle");
    fill(shape, { tabindex: 0, role: "slider", "aria-label": label }, []);
    const set = (next) => {
      now = { ...now, ...next };
      const first = Object.keys(range)[0];
      fill(
        shape,
        {
          "aria-valuemin": range[first][0],
          "aria-valuemax": range[first][1],
          "aria-valuenow": number(now[first]).replace("\u2212", "-"),
          "aria-valuetext": show(now),
          transform: `translate(${place(now).join(" ")})`,
        },
        [],
      );
    };
    const move = (next) => {
      for (const axis of Object.keys(range)) next[axis] = Math.min(range[axis][1], Math.max(range[axis][0], next[axis] ?? now[axis]));
      set(next);
      onmove(now);
    };
    shape.addEventListener("keydown", (event) => {
      const far = step * (event.shiftKey ? 5 : 1);
      const change = { ArrowLeft: ["x", -far], ArrowRight: ["x", far], ArrowUp: ["y", far], ArrowDown: ["y", -far] }[event.key];
      if (!change || !(change[0] in range)) return;
      event.preventDefault();
      move({ [change[0]]: Math.round((now[change[0]] + change[1]) / step) * step });
    });
    shape.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false }); // a browser may not read touch-action inside a picture
    shape.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      shape.focus();
      shape.setPointerCapture(event.pointerId);
      // The inverse of `place`, from where it puts two values: it is a scale and a shift on each axis.
      const low = place({ ...now, ...Object.fromEntries(Object.keys(range).map((axis) => [axis, 0])) });
      const high = place({ ...now, ...Object.fromEntries(Object.keys(range).map((axis) => [axis, 1])) });
      const drag = (moved) => {
        const point = new DOMPoint(moved.clientX, moved.clientY).matrixTransform(svg.getScreenCTM().inverse());
        const next = {};
        if ("x" in range) next.x = (point.x - low[0]) / (high[0] - low[0]);
        if ("y" in range) next.y = (point.y - low[1]) / (high[1] - low[1]);
        move(next);
      };
      const stop = () => {
        shape.removeEventListener("pointermove", drag);
        shape.removeEventListener("pointerup", stop);
        shape.removeEventListener("pointercancel", stop);
      };
      shape.addEventListener("pointermove", drag);
      shape.addEventListener("pointerup", stop);
      shape.addEventListener("pointercancel", stop);
    });
    set(now);
    return { set };
  };
  // A box that scrolls sideways when it must; only then a keyboard stops at it.
  const scroll = (label, ...children) => {
    const box = h("div", { class: "xf-scroll" }, ...children);
    new ResizeObserver(() => {
      const wide = box.scrollWidth > box.clientWidth + 1;
      for (const [name, value] of [
        ["tabindex", "0"],
        ["role", "region"],
        ["aria-label", label],
      ])
        wide ? box.setAttribute(name, value) : box.removeAttribute(name);
    }).observe(box);
    return box;
  };
  // A text in which queries, keys and values have their colours: Q, W_K, k, "value", … as spans.
  const ROLES = { q: "query", k: "key", v: "value" };
  const paint = (text) =>
    text
      .split(/(\bW_[QKV]\b|\b[QKV]\u1d40?(?![\w\u1d40])|\b(?:query|queries|keys?|values?)\b)/)
      .map((part, n) => (n % 2 ? h("span", { class: `xf-${ROLES[part.replace("W_", "")[0].toLowerCase()]}` }, part) : part));
  // The corner of a table: what its rows and its columns are.
  const corner = (rowAxis, columnAxis, attributes = {}) =>
    h("td", { class: "xf-axis", ...attributes }, paint(`${rowAxis} \u2193 ${columnAxis} \u2192`));
  // A matrix as a table: words on both axes, numbers on a ground from `low` to `high`, a dash where `mask` forbids.
  const map = ({
    matrix,
    rows,
    columns,
    rowAxis = "query",
    columnAxis = "key",
    title,
    low = 0,
    high = 1,
    digits = 2,
    mask = null,
    marked = null,
    plain = false,
  }) =>
    scroll(
      title,
      h(
        "table",
        { class: "xf-map" },
        h("caption", {}, title),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            corner(rowAxis, columnAxis),
            columns.map((word) => h("th", { scope: "col" }, word)),
          ),
        ),
        h(
          "tbody",
          {},
          matrix.map((row, i) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, rows[i]),
              row.map((value, j) =>
                mask && !mask[i][j]
                  ? h("td", { class: "xf-forbidden" }, "\u2013")
                  : h(
                      "td",
                      {
                        style: plain ? null : shade((value - low) / (high - low || 1)),
                        class: marked && marked(i, j) ? "xf-marked" : null,
                      },
                      number(value, digits),
                    ),
              ),
            ),
          ),
        ),
      ),
    );

  // ---------------------------------------------------------------- start
  // Bring every figure of this name to life, once. What `start` returns, {set, read}, is kept as figure.explorable.
  const mount = (name, start) => {
    for (const figure of document.querySelectorAll(`figure.xf[data-xf="${name}"]:not([data-live])`)) {
      const data = JSON.parse(figure.querySelector("script.xf-data").textContent);
      const stage = figure.querySelector(".xf-stage");
      const status = h("p", { class: "xf-say", role: "status" });
      figure.explorable = start({
        stage,
        data,
        say: (text) => {
          if (status.textContent !== text) status.textContent = text;
        },
      });
      stage.append(status);
      figure.setAttribute("data-live", "");
    }
  };
  return {
    dot,
    transpose,
    matmul,
    softmax,
    attention,
    sinusoidal,
    h,
    s,
    number,
    fresh,
    shade,
    slider,
    button,
    choice,
    handle,
    scroll,
    paint,
    corner,
    map,
    mount,
  };
})();
