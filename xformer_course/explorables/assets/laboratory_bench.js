// What a laboratory keeps and hands on: settings in words, edits as differences, links, the rows of the bench. What comes from an address, a
// file or this browser is data: it is looked at, shown as text, and runs only when the reader presses.
const lab = (data) => {
  const { h, s } = kit;
  const tasks = Object.fromEntries(data.tasks.map((task) => [task.name, task]));
  const SWITCHES = [
    ["positions", "Positions", "no positions"],
    ["causal_mask", "Causal mask", "no causal mask"],
    ["padding_mask", "Padding mask", "no padding mask"],
    ["scale", "Scale 1/\u221ad", "no scale"],
    ["residuals", "Residuals", "no residuals"],
    ["warm_up", "Warm-up", "no warm-up"],
  ];
  // A name, its label, and of each value what its button says and what a row says of it.
  const NORMS = ["norm", "Norm", ["pre", "first", "norm first"], ["post", "after the sum", "norm after the sum"], ["none", "none", "no norm"]];
  const MORE = [
    ["encoding", "Positions", ["sinusoidal", "sinusoidal", "sinusoidal positions"], ["learned", "learned", "learned positions"], ["rotary", "rotary", "rotary positions"]],
    ["feed_forward", "Feed-forward", ["relu", "ReLU", "ReLU"], ["swiglu", "SwiGLU", "SwiGLU"]],
    ["descent", "Descent", ["adam", "Adam", "Adam"], ["plain", "plain", "plain gradient descent"]],
    ["smoothing", "Label smoothing", [0, "none", "no label smoothing"], [0.1, "0.1", "label smoothing 0.1"]],
    ["readers", "Query heads to a head of keys and values", [1, "1", "1 query head to a key head"], [2, "2", "2 query heads to a key head"], [4, "4", "4 query heads to a key head"]],
    ["tied", "Embeddings", [true, "one matrix", "one embedding"], [false, "three", "three embeddings"]],
    ["model", "Model", ["transformer", "Transformer", "Transformer"], ["recurrent", "recurrent", "recurrent model"]],
  ];
  const CHOICES = [NORMS, ...MORE];
  const NUMBERS = [
    ["layers", "Layers", [1, 2, 3], (n) => `${n} layer${n > 1 ? "s" : ""}`],
    ["heads", "Heads", [1, 2, 4, 8], (n) => `${n} head${n > 1 ? "s" : ""}`],
    ["width", "Width", [8, 16, 24, 32, 64], (n) => `width ${n}`],
    ["rate", "Rate", [0.0025, 0.005, 0.01, 0.02, 0.04, 0.1, 0.3, 1], (n) => `rate ${n}`],
    ["steps", "Steps", [200, 400, 800, 1200, 2400], (n) => `${n} steps`],
  ];
  const SEEDS = [0, 1, 2, 3, 4];
  const ROWS = 60; // as many as the bench keeps
  const idle = (parts, name) => parts.model === "recurrent" && data.idle.includes(name); // it has no effect
  // What is other than the task's own settings, in words.
  const inWords = ({ task, parts }) => {
    const own = tasks[task].parts,
      other = ([name]) => parts[name] !== own[name] && !idle(parts, name);
    const found = [
      ...SWITCHES.filter(other).map(([, , without]) => without),
      ...CHOICES.filter(other).map(([name, , ...options]) => options.find(([value]) => value === parts[name])[2]),
      ...NUMBERS.filter(other).map(([name, , , words]) => words(parts[name])),
    ];
    return found.length ? found.join(", ") : "everything in place";
  };

  // ---------------------------------------------------------------- an edit: where the lines begin, the book's and the reader's
  const difference = (cell, book, text) => {
    const [a, b] = [book.split("\n"), text.split("\n")],
      most = Math.min(a.length, b.length);
    let at = 0,
      end = 0;
    while (at < most && a[at] === b[at]) at += 1;
    while (end < most - at && a.at(-1 - end) === b.at(-1 - end)) end += 1;
    return { cell, at, gone: a.slice(at, a.length - end), come: b.slice(at, b.length - end) };
  };
  // The book's text with an edit, or null where the book has other lines there.
  const applied = (book, { at, gone, come }) => {
    const lines = book.split("\n");
    if (gone.some((line, n) => lines[at + n] !== line)) return null;
    lines.splice(at, gone.length, ...come);
    return lines.join("\n");
  };
  const firstLines = ({ gone, come }) => {
    const places = Math.max(gone.length, come.length),
      others = Array.from({ length: places }, (_, n) => n).filter((n) => gone[n] !== come[n]).length - 1;
    return { minus: gone[0]?.trim(), plus: come[0]?.trim(), more: others > 0 ? `and ${others} more line${others > 1 ? "s" : ""}` : "" };
  };
  const editText = (edit) => {
    const { minus, plus, more } = firstLines(edit);
    return [`${edit.cell}:`, minus && `- ${minus}`, plus && `+ ${plus}`, more].filter(Boolean).join(" ");
  };
  const editView = (edit) => {
    const { minus, plus, more } = firstLines(edit);
    return h(
      "div",
      { class: "xf-lab-edit" },
      `${edit.cell}: `,
      minus ? h("del", {}, h("code", {}, `\u2212 ${minus}`)) : null,
      " ",
      plus ? h("ins", {}, h("code", {}, `+ ${plus}`)) : null,
      more && ` ${more}`,
    );
  };

  // ---------------------------------------------------------------- what may be believed
  const listOf = (fits) => (value) => Array.isArray(value) && value.every(fits);
  const isText = (value) => typeof value === "string";
  const isPoint = (value) => listOf(Number.isFinite)(value) && value.length === 2;
  const isParts = (parts) =>
    parts !== null &&
    typeof parts === "object" &&
    SWITCHES.every(([name]) => typeof parts[name] === "boolean") &&
    CHOICES.every(([name, , ...options]) => options.some(([value]) => value === parts[name])) &&
    NUMBERS.every(([name, , values]) => values.includes(parts[name])) &&
    Object.keys(parts).length === SWITCHES.length + CHOICES.length + NUMBERS.length;
  // What an earlier edition of the page kept, with the parts that it did not know.
  const whole = (one) => (isText(one?.task) && Object.hasOwn(tasks, one.task) ? { ...one, parts: { ...tasks[one.task].parts, ...one.parts } } : one);
  const isEdit = (edit) => isText(edit?.cell) && Number.isInteger(edit.at) && edit.at >= 0 && listOf(isText)(edit.gone) && listOf(isText)(edit.come);
  const isSetting = (one) => isText(one?.task) && Object.hasOwn(tasks, one.task) && isParts(one.parts) && listOf(isEdit)(one.edits);
  const isRun = (run) =>
    [run?.seed, run?.step, run?.seconds].every(Number.isFinite) && (run.last === null || Number.isFinite(run.last)) && [run.loss, run.right].every(listOf(isPoint));
  // There need not be a bet.
  const mayBe = (bet) => (bet ?? null) === null || bets.is(bet);
  const isRow = (row) =>
    isSetting(row) && mayBe(row.bet) && guesses.is(row.guesses ?? []) && isText(row.id) && Number.isInteger(row.n) && listOf(isText)(row.notes) && listOf(Number.isInteger)(row.seeds) && row.runs?.length > 0 && listOf(isRun)(row.runs);

  // ---------------------------------------------------------------- a link: #laboratory= and the settings, the seed and the edits in base64url
  const MARK = "#laboratory=";
  const toLink = ({ task, parts, seed, edits, bet, lecture }) => {
    const own = tasks[task].parts,
      other = Object.fromEntries(Object.entries(parts).filter(([name, value]) => value !== own[name])),
      bytes = new TextEncoder().encode(JSON.stringify({ task, parts: other, seed, edits, ...(bet ? { bet } : {}), ...(lecture ? { lecture } : {}) }));
    return MARK + btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  };
  // What a link sets, or null where it is broken; undefined where it is none of ours.
  const fromLink = (hash) => {
    if (!hash.startsWith(MARK)) return undefined;
    try {
      const bytes = Uint8Array.from(atob(hash.slice(MARK.length).replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
      const { task, parts, seed, edits, bet = null, lecture = false } = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
      const found = whole({ task, parts, seed, edits, bet, lecture: lecture === true });
      return isSetting(found) && mayBe(bet) && SEEDS.includes(seed) ? found : null;
    } catch {
      return null; // cut on its way, or typed
    }
  };

  // ---------------------------------------------------------------- numbers of a row
  const range = (values, digits) => {
    const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => kit.number(value, digits));
    return low === high ? low : `${low}\u2013\u200b${high}`;
  };
  const lossOf = (row) => {
    const known = row.runs.map((run) => run.last).filter((value) => value !== null);
    return known.length ? range(known, Math.max(...known) < 0.1 ? 3 : 2) : "\u2013";
  };
  const shares = (row) => row.runs.filter((run) => run.right.length).map((run) => 100 * run.right.at(-1)[1]);
  const rightOf = (row) => (shares(row).length ? range(shares(row), 0) : "\u2013");
  const stepsOf = (run, row) =>
    run.diverged ? `diverged at step ${run.step}` : run.step < row.parts.steps ? `step ${run.step} of ${row.parts.steps}` : "";

  const quoted = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  // A line for each seed.
  const csv = (rows) =>
    [
      ["run", "task", "settings", "edits", "notes", "seed", "steps", "of", "loss", "held_out_right_percent", "seconds", "bet_percent", "bet_off_points"],
      ...rows.flatMap((row) =>
        row.runs.map((run) => [
          row.n,
          row.task,
          inWords(row),
          row.edits.map(editText).join("; "),
          [...row.notes, ...(run.diverged ? ["diverged"] : [])].join("; "),
          run.seed,
          run.step,
          row.parts.steps,
          run.last ?? "",
          run.right.length ? Math.round(100 * run.right.at(-1)[1]) : "",
          run.seconds.toFixed(1),
          row.bet?.join(" ") ?? "",
          bets.off({ ...row, runs: [run] })?.points.toFixed(1) ?? "",
        ]),
      ),
    ]
      .map((line) => line.map((value) => quoted(String(value))).join(",") + "\n")
      .join("");

  // ---------------------------------------------------------------- why: a cause as bars or as a map
  const bars = ({ bars: rows, part }) => {
    const most = Math.max(...rows.flatMap(({ values }) => values), part === "norm" ? 0 : 1),
      thick = 14;
    return h(
      "dl",
      { class: "xf-lab-bars" },
      rows.map(({ label, values, twin }) => [
        h("dt", {}, label),
        h(
          "dd",
          {},
          s(
            "svg",
            { width: 120, height: thick * values.length, viewBox: `0 0 120 ${thick * values.length}`, "aria-hidden": "true" },
            values.map((value, n) =>
              s("rect", {
                ...{ x: 1, y: n * thick + 2, width: Math.max(1, (117 * value) / most), height: thick - 4, "stroke-width": 1.5 },
                ...{ fill: twin ? "none" : part === "scale" ? "var(--xf-weight)" : "var(--xf-accent)", stroke: part === "scale" ? "var(--xf-weight)" : "var(--xf-accent)" },
              }),
            ),
          ),
          values.map((value) => String(Number(value.toPrecision(3)))).join(", "),
        ),
      ]),
    );
  };
  const cause = (one) =>
    h(
      "div",
      {},
      h("p", {}, one.told),
      one.map
        ? kit.map({ ...one.map, matrix: one.map.weights, title: one.title, high: 100, digits: 0 })
        : [h("p", { class: "xf-quiet" }, one.title), bars(one)],
    );

  // ---------------------------------------------------------------- the rows as a table
  const spark = (row, { stroke, dash }) => {
    const [width, height] = [64, 22],
      x = (step) => (width * step) / row.parts.steps,
      y = (value) => 1 + (height - 2) * (1 - Math.min(value, 3.5) / 3.5);
    return s(
      "svg",
      { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
      row.runs.map((run) =>
        s("polyline", { points: run.loss.map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(" "), fill: "none", stroke, "stroke-width": 2, "stroke-dasharray": dash }),
      ),
    );
  };
  // `style(row)` is how the chart draws it; `chosen(row, shown)` hears of the boxes.
  const table = ({ style, chosen }) => {
    const lines = new Map(),
      caption = h("caption", {}),
      head = h("thead", {}, h("tr", {}, ["Run", "Settings", "Loss", "Right, %", "Time, s"].map((text) => h("th", { scope: "col" }, text)))),
      made = h("table", { class: "xf-lab-runs" }, caption, head),
      box = kit.scroll("The runs", made);
    const line = (row) => {
      const check = h("input", { type: "checkbox", "aria-label": `Run ${row.n} in the chart` });
      check.addEventListener("change", () => chosen(row, check.checked));
      const curve = h("span", {}),
        cells = Array.from({ length: 4 }, () => h("td", {})),
        more = h("td", { colspan: 4 });
      const first = h("tr", {}, h("th", { scope: "rowgroup", rowspan: 2 }, h("label", {}, check, ` ${row.n}`), curve), cells);
      return Object.assign(h("tbody", {}, first, h("tr", {}, more)), {
        update(now) {
          check.checked = now.shown;
          curve.replaceChildren(spark(now, style(now)));
          const ends = now.runs.map((run) => stepsOf(run, now)).filter(Boolean);
          cells[0].replaceChildren(`${inWords(now)}, seed${now.runs.length > 1 ? "s" : ""} ${now.runs.map((run) => run.seed).join(", ")}`);
          more.replaceChildren(...now.edits.map(editView), ...[...now.notes, ...new Set(ends), ...(now.bet ? [bets.inRow(now)] : []), ...(now.guesses?.length ? [`the class: ${guesses.told(now.guesses)}`] : [])].map((text) => h("div", { class: "xf-quiet" }, text)));
          cells[1].textContent = lossOf(now);
          cells[2].replaceChildren(rightOf(now), ...(now.runs.length > 1 ? [h("div", { class: "xf-quiet" }, shares(now).map((share) => kit.number(share, 0)).join(", "))] : []));
          cells[3].textContent = kit.number(
            now.runs.reduce((sum, run) => sum + run.seconds, 0),
            1,
          );
        },
      });
    };
    const show = (rows, title) => {
      box.hidden = !rows.length;
      caption.textContent = title;
      const wanted = [...rows].reverse().map((row) => {
        if (!lines.has(row.id)) lines.set(row.id, line(row));
        lines.get(row.id).update(row);
        return lines.get(row.id);
      });
      if (wanted.length !== made.tBodies.length || wanted.some((one, n) => one !== made.tBodies[n])) made.replaceChildren(caption, head, ...wanted);
    };
    return { box, show };
  };
  // What a reader should know before the press, or nothing.
  const warning = ({ task, parts }) => {
    const own = tasks[task].parts,
      work = ({ steps, layers, width }) => steps * layers * (1 + width / 20),
      times = work(parts) / work(own),
      said = [];
    if (times >= 3) said.push(`This takes about ${Math.round(times)} times as long as the given settings: on a phone, minutes.`);
    if (parts.descent === "plain" && parts.rate !== 1) said.push("Plain gradient descent wants a rate of about 1.");
    if (parts.descent === "adam" && parts.rate > 0.04) said.push("A rate above 0.04 is for plain gradient descent.");
    return said.join(" ");
  };
  return { MORE, NORMS, warning, whole, SWITCHES, NUMBERS, SEEDS, ROWS, tasks, idle, inWords, difference, applied, editView, rightOf, isRow, toLink, fromLink, csv, cause, table };
};
