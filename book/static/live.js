// Cells that run in the page. Nothing is loaded before a press; then the editor, or Python with NumPy, from the book's own folder.
(() => {
  const found = [...document.querySelectorAll("div.cell.live")];
  if (!found.length || !window.pagePython) return;
  const { make, load, keep } = window.book;
  const { Python, editor, cause, address } = window.pagePython;
  if (window.pagePython.refused) {
    found[0].append(make("p", "live-nothing", window.pagePython.refused));
    return;
  }
  const NAME = /([^/]+?)(?:\.html)?$/.exec(location.pathname)[1],
    CODE = "xformer-typed",
    SOLVED = "xformer-done";
  // Without a text it is forgotten.
  const keepText = (key, text) => keep(CODE, { ...load(CODE), [NAME]: { ...load(CODE)[NAME], [key]: text } });

  // A text in the colours of the editor (editor.js) and of the printed code.
  const KEYWORDS =
    " and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield ";
  const TOKEN =
    /(#.*)|("""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\b(\d[\w.]*)|([-+*/%=<>!&|^~@]+)|([A-Za-z_]\w*)|[^]/g;
  const coloured = (text) => {
    const made = document.createDocumentFragment();
    let named = false;
    for (const [token, comment, string, number, sign, word] of text.matchAll(TOKEN)) {
      const known = word && (KEYWORDS.includes(` ${word} `) ? "k" : /^(True|False|None)$/.test(word) ? "kc" : named && "nf");
      const kind = (comment && "c1") || (string && "s1") || (number && "mi") || (sign && "o") || known;
      if (word) named = word === "def" || word === "class";
      made.append(kind ? make("span", kind, token) : token);
    }
    made.normalize();
    return made;
  };

  // What a check or a hint says: its verdict strong, code as code, and the buttons in the place of a notebook's cells.
  const paragraph = (text) => {
    const said = make("p", "live-text live-said"),
      words = text.replace(/run the cell again; hint\("[\d.]+"\) helps/, "press Check again; Hint helps");
    const end = /^(?:Exercise [^:]*: [^.]*\.?)?/.exec(words)[0].length;
    said.append(make("strong", "", words.slice(0, end)));
    words
      .slice(end)
      .split("`")
      .forEach((part, n) => said.append(n % 2 ? make("code", "", part) : part));
    return said;
  };
  let python = null, // that of this page, once it has been asked
    turns = Promise.resolve();
  const cells = () => window.pagePython.cells(NAME);
  // What stands in the cells that the reader changed, by their numbers.
  const typed = () => Object.fromEntries(all.filter((one) => one.text() !== one.stored).map((one) => [one.number, one.text()]));
  // The page's code with what was typed, as a notebook that Jupyter opens and `xformer grade` reads.
  const save = async () => {
    const mine = typed();
    const made = (await cells()).map(({ source, tags }, n) => ({
      cell_type: "code",
      id: `cell-${n}`,
      execution_count: null,
      metadata: { tags },
      outputs: [],
      source: mine[n] ?? source,
    }));
    const kernel = { kernelspec: { display_name: "Python 3", language: "python", name: "python3" }, language_info: { name: "python" } };
    const text = JSON.stringify({ cells: made, metadata: kernel, nbformat: 4, nbformat_minor: 5 }, null, 1);
    const link = make("a", "");
    link.href = address(text, "application/x-ipynb+json");
    link.download = `${NAME}.ipynb`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };

  // A fold of claims. Its mark leaves when a cell by which they stand or fall is edited; a run of the cell above checks them again.
  class Claims {
    constructor(fold) {
      this.fold = fold;
      this.number = Number(fold.dataset.number);
      this.asks = fold.dataset.asks.split(" ").map(Number);
      this.summary = fold.querySelector("summary");
      this.stored = this.summary.textContent;
      this.count = Number(/\d+/.exec(this.stored)[0]);
      this.said = make("div", "claims-said");
      this.said.setAttribute("aria-live", "polite");
      this.summary.after(this.said);
    }

    // The cells that were edited among those by which they stand or fall, as one text, or "".
    edited() {
      return this.asks
        .map((number) => all.find((one) => one.number === number))
        .filter((one) => one.text() !== one.stored)
        .map((one) => `${one.number} ${one.text()}`)
        .join("\n");
    }

    // What does not hold of what was edited then, a line each.
    checked(lines, edited) {
      Object.assign(this, { lines, of: edited });
    }

    show() {
      const edited = this.edited(),
        lines = edited && this.of === edited ? this.lines : null,
        claims = `${this.count} claim${this.count > 1 ? "s" : ""}`,
        broken = lines ? Math.min(lines.length, this.count) : 0;
      this.fold.classList.toggle("told", Boolean(edited)); // where nothing was edited all hold, and nothing is shown
      if (!edited) this.summary.textContent = this.stored;
      else if (!lines) this.summary.textContent = `${claims} about the book's numbers`;
      else if (!lines.length) this.summary.textContent = `${this.stored} with your numbers, too`;
      else this.summary.textContent = `✗ ${broken} of ${claims} ${broken > 1 ? "do" : "does"} not hold with your numbers`;
      this.said.replaceChildren(...(lines || []).map((line) => make("p", "", line)));
    }
  }

  class Cell {
    constructor(box) {
      this.box = box;
      this.number = Number([...box.classList].find((name) => /^live-\d+$/.test(name)).slice(5));
      this.exercise = box.classList.contains("live-exercise");
      this.code = box.querySelector(".cell_input .highlight");
      this.stored = this.code.querySelector("pre").textContent.replace(/\n$/, "");
      this.id = this.exercise ? /check\("([\d.]+)"/.exec(this.stored)[1] : "";
      this.key = this.id || this.stored; // not its number: the next edition may have another cell there
      this.bar = make("div", "live-bar");
      this.bar.setAttribute("role", "group");
      this.bar.setAttribute("aria-label", this.exercise ? "Answer here" : "Run this cell");
      this.runs = this.button(this.exercise ? "Check" : "Run", () => this.send());
      this.edits = this.button(this.exercise ? "Write your answer" : "Edit", () => this.edit());
      if (this.exercise) this.hints = this.button("Hint", () => this.send(`hint("${this.id}")`));
      this.stops = this.button("Stop", () => this.stop(), true);
      this.resets = this.button("Reset", () => this.reset(), true);
      this.saves = this.button("Save as notebook", () => save().catch((error) => this.say(error.message)), true);
      this.status = make("span", "live-status");
      this.status.setAttribute("role", "status");
      this.out = make("div", "live-out");
      this.out.setAttribute("aria-live", "polite");
      this.bar.append(this.status);
      box.querySelector(".cell_input").after(this.bar, this.out);
      this.shown = box.querySelector(".cell_output");
      if (this.exercise && this.shown) this.shown.hidden = true;
      this.pre = this.code.querySelector("pre");
      this.printed = [...this.pre.childNodes];
      this.recalled = "";
      this.recall();
      window.book.news(() => this.recall("from another tab"));
    }

    // What this browser has kept of the cell, from an earlier visit or from another tab.
    recall(when = "of last time") {
      const kept = load(CODE)[NAME]?.[this.key],
        text = typeof kept === "string" ? kept : undefined,
        changed = (text ?? this.stored) !== this.text();
      if (changed) {
        this.put(text);
        if (!this.turn) this.out.replaceChildren(); // what was said of another text must not stand beside this one
      }
      const words = [
        ...(this.id && load(SOLVED)[this.id] === true ? ["Solved before."] : []),
        ...(text === undefined ? [] : [`This is your text ${when}.`]),
      ].join(" ");
      if (!this.turn && (changed || this.status.textContent === this.recalled)) this.say((this.recalled = words));
    }

    // The reader's text in the place of the printed one, or the printed one again.
    put(text) {
      this.typed = text;
      this.pre.replaceChildren(...(text === undefined ? this.printed : [coloured(text)]));
      if (this.field) this.field.set(text ?? this.stored);
      this.changed(text !== undefined);
    }

    button(text, act, hidden = false) {
      const made = window.book.button(text, act);
      made.hidden = hidden;
      this.bar.append(made);
      return made;
    }

    changed(yes) {
      this.resets.hidden = !yes;
      this.saves.hidden = !yes;
    }

    say(text, share) {
      this.status.textContent = text;
      this.bar.style.setProperty("--done", share === undefined ? 0 : share);
    }

    text() {
      return this.field ? this.field.text() : (this.typed ?? this.stored);
    }

    async edit() {
      try {
        await editor();
      } catch (error) {
        this.say(cause(error));
        return;
      }
      if (!this.field) this.open(); // pressed twice, it opens once
      this.field.focus();
    }

    open() {
      const place = make("div", "live-editor highlight");
      place.style.fontSize = getComputedStyle(this.code.querySelector("pre")).fontSize;
      this.code.after(place);
      this.code.hidden = true;
      this.edits.hidden = true;
      this.field = window.makeEditor(place, this.typed ?? this.stored, {
        label: `Python, cell ${this.number}. Shift and Enter runs it; Escape, then Tab, leaves the editor.`,
        run: () => this.send(),
        changed: () => {
          if (this.text() === (load(CODE)[NAME]?.[this.key] ?? this.stored)) return; // put there by ourselves
          this.changed(true);
          mark();
          if (!keepText(this.key, this.text())) this.say("This browser keeps nothing: save your text as a notebook.");
        },
      });
    }

    // Code, or what stands in the cell, in its turn. Until then it waits, and further presses change nothing.
    send(code) {
      if (this.turn) return;
      const mine = (this.turn = {});
      this.busy(true);
      this.out.replaceChildren(); // what was said of another text must not stand beside this one
      this.say("Waiting …");
      turns = turns.then(async () => {
        if (this.turn !== mine) return;
        await this.ask(code ?? this.text());
        this.busy(false);
      });
    }

    async ask(source) {
      if (!python || python.over) python = new Python(NAME);
      const mine = (this.python = python);
      try {
        await mine.ready((text, share) => this.say(text, share));
        mine.told = true;
        this.say("Running …");
        const began = performance.now();
        const edited = folds.map((one) => one.edited());
        this.show(await mine.ask({ number: this.number, source, typed: typed() }), edited);
        this.say(`${((performance.now() - began) / 1000).toFixed(1)} s`);
      } catch (error) {
        mine.end(error.message);
        this.say(mine.told ? error.message : cause(error));
      }
    }

    stop() {
      if (this.python) this.python.told = true;
      if (this.python) this.python.end("Stopped. What ran above will run again when it is needed.");
      else {
        this.busy(false);
        this.say("Stopped before its turn.");
      }
    }

    busy(on) {
      if (!on) this.turn = this.python = null;
      if (!on && document.activeElement === this.stops) this.runs.focus();
      this.stops.hidden = !on;
      // not `disabled`, which would take the focus from the button that was just pressed
      for (const one of [this.runs, this.hints]) one?.setAttribute("aria-disabled", on);
      this.box.classList.toggle("live-busy", on);
    }

    show({ text, spoken, error, trace, status, claims }, edited) {
      folds.forEach((one, n) => {
        if (claims[one.number]) one.checked(claims[one.number], edited[n]);
      });
      mark();
      if (this.shown) this.shown.hidden = true;
      this.out.replaceChildren();
      if (status === "passed" && this.id) keep(SOLVED, { ...load(SOLVED), [this.id]: true });
      const kind = error || ["crashed", "timed out"].includes(status) ? "stopped" : status === "passed" ? "passed" : status ? "open" : "";
      for (const one of ["passed", "open", "stopped"]) this.out.classList.toggle(`said-${one}`, one === kind);
      if (text) {
        const said = make("pre", "live-text", text.replace(/\n$/, ""));
        said.tabIndex = 0;
        this.out.append(said);
      }
      this.out.append(...spoken.map(paragraph));
      if (error) {
        this.out.append(make("p", "live-error", error));
        const fold = make("details", "live-trace");
        fold.append(make("summary", "", "The whole story"), make("pre", "", trace));
        this.out.append(fold);
      }
      if (!text && !spoken.length && !error) this.out.append(make("p", "live-nothing", "It ran, and printed nothing."));
    }

    reset() {
      keepText(this.key);
      this.put();
      mark();
      (this.field ?? this.edits).focus(); // the button that had it is gone
      this.out.replaceChildren();
      if (this.shown) this.shown.hidden = this.exercise;
      this.say("");
    }
  }
  const all = found.map((box) => new Cell(box));
  const folds = [...document.querySelectorAll("details.claims[data-asks]")].map((fold) => new Claims(fold));
  const mark = () => folds.forEach((one) => one.show());
  mark();
})();
