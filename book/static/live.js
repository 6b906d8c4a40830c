// Cells that run in the page. Nothing is loaded before a press; then the editor, or Python with NumPy, from the book's own folder.
(() => {
  const found = [...document.querySelectorAll("div.cell.live")];
  const root = document.documentElement.dataset.content_root;
  if (!found.length || root === undefined || typeof DecompressionStream === "undefined") return;
  const BASE = new URL(`${root}_static/python/`, document.baseURI).href;
  const NAME = /([^/]+)\.html/.exec(location.pathname)[1],
    KEY = "xformer-code";
  const make = (name, cls, text = "") => Object.assign(document.createElement(name), { className: cls, textContent: text });
  const kept = () => {
    try {
      return JSON.parse(localStorage.getItem(KEY)) || {};
    } catch {
      return {};
    }
  };
  const keep = (number, text) => {
    const all = kept(),
      page = { ...all[NAME] };
    if (text === null) delete page[number];
    else page[number] = text;
    if (Object.keys(page).length) all[NAME] = page;
    else delete all[NAME];
    try {
      localStorage.setItem(KEY, JSON.stringify(all));
    } catch {
      /* refused: nothing is kept */
    }
  };

  const SOLVED = "xformer-solved";
  const solved = () => {
    try {
      return JSON.parse(localStorage.getItem(SOLVED)) || {};
    } catch {
      return {};
    }
  };
  const solve = (id) => {
    try {
      localStorage.setItem(SOLVED, JSON.stringify({ ...solved(), [id]: true }));
      dispatchEvent(new Event("xformer-progress"));
    } catch {
      /* refused: nothing is kept */
    }
  };

  // One script of the book that hands over its content; the bytes of a part are the characters of a string, read as windows-1252.
  const WIDE =
    "\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178";
  const CODES = new Map([...WIDE].map((sign, n) => [sign.charCodeAt(0), 128 + n]));
  const toBytes = (text) =>
    Uint8Array.from(text, (sign) => {
      const code = sign.charCodeAt(0);
      return code < 256 ? (CODES.get(code) ?? code) : CODES.get(code);
    });
  const address = (content, type) => URL.createObjectURL(new Blob([content], { type }));
  const script = async (name, receives) => {
    let src = BASE + name;
    if (!src.startsWith("file:") && receives) {
      // a server may name another charset for scripts
      const answer = await fetch(src);
      if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
      src = address(await answer.arrayBuffer(), "text/javascript;charset=windows-1252");
    }
    const tag = Object.assign(document.createElement("script"), { src, charset: receives ? "windows-1252" : "utf-8" });
    return new Promise((resolve, reject) => {
      if (receives) window.receivePythonFile = resolve;
      else tag.onload = resolve;
      tag.onerror = () =>
        reject(
          new Error(
            `Python could not be loaded (${name}). Load the page again; if that does not help, the book was copied without its folder _static/python.`,
          ),
        );
      document.head.append(tag);
    }).finally(() => {
      tag.remove();
      if (src.startsWith("blob:")) URL.revokeObjectURL(src);
    });
  };
  let arrivals = Promise.resolve(); // one at a time: all of them arrive at the same function
  const content = (name) => (arrivals = arrivals.catch(() => {}).then(() => script(name, true)));
  // What a check or a hint says: its verdict strong, code as code, and the buttons in the place of a notebook's cells.
  const spoken = (text) => {
    const said = make("p", "live-text live-said"),
      words = text.replace(/run the cell again; hint\("[\d.]+"\) helps/, "press Check again; Hint helps");
    const end = /^Exercise [\d.]+: [^.]*\.?/.exec(words)[0].length;
    said.append(make("strong", "", words.slice(0, end)));
    words
      .slice(end)
      .split("`")
      .forEach((part, n) => said.append(n % 2 ? make("code", "", part) : part));
    return said;
  };
  const unzip = async (bytes) =>
    new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());

  // A value that is fetched once; after a failure, the next asking tries again.
  const once = (get) => {
    let held = null;
    return () =>
      (held ??= get().catch((error) => {
        held = null;
        throw error;
      }));
  };
  let python = null,
    tell = () => {},
    turns = Promise.resolve();
  const editor = once(() => script("editor.js", false));
  const cells = once(async () => JSON.parse(new TextDecoder().decode(toBytes(await content(`pages/${NAME}.js`)))));
  const files = once(async () => {
    const list = await content("list.js"),
      total = list.parts.reduce((sum, part) => sum + part.bytes, 0),
      all = new Uint8Array(total);
    let at = 0;
    for (const part of list.parts) {
      const bytes = toBytes(await content(part.name));
      if (bytes.length !== part.bytes) throw new Error(`${part.name} was cut off; try again.`);
      all.set(bytes, at);
      at += bytes.length;
      tell(`Loading Python, once for this page: ${(at / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`, at / total);
    }
    at = 0;
    const raw = Object.fromEntries(list.files.map(({ name, bytes }) => [name, all.slice(at, (at += bytes))]));
    for (const name of Object.keys(raw).filter((one) => one.endsWith(".gz"))) {
      raw[name.slice(0, -3)] = await unzip(raw[name]);
      delete raw[name];
    }
    return raw;
  });
  // The page's code with what was typed, as a notebook that Jupyter opens and `xformer grade` reads.
  const save = async () => {
    const typed = kept()[NAME] || {};
    const made = (await cells()).map(({ source, tags }, n) => ({
      cell_type: "code",
      id: `cell-${n}`,
      execution_count: null,
      metadata: { tags },
      outputs: [],
      source: typed[n] ?? source,
    }));
    const kernel = { kernelspec: { display_name: "Python 3", language: "python", name: "python3" }, language_info: { name: "python" } };
    const text = JSON.stringify({ cells: made, metadata: kernel, nbformat: 4, nbformat_minor: 5 }, null, 1);
    const link = make("a", "");
    link.href = address(text, "application/x-ipynb+json");
    link.download = `${NAME}.ipynb`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };

  // Python in its worker, asked one thing at a time. A stop or a fault ends it for good; the next turn begins another.
  class Python {
    constructor() {
      this.ended = new Promise((_, reject) => {
        this.refuse = reject;
      });
      this.ended.catch(() => {});
    }

    ready() {
      return Promise.race([this.ended, (this.begun ??= this.begin())]);
    }

    async begin() {
      const { "python.js": code, ...others } = await files(),
        page = await cells();
      if (python !== this) return;
      tell("Starting Python …", 1);
      const src = address(code, "text/javascript");
      this.worker = new Worker(src);
      this.worker.onerror = (event) => this.end(event.message || "The browser does not allow Python here.");
      await this.ask({ files: others, cells: JSON.stringify(page) }).finally(() => URL.revokeObjectURL(src));
    }

    ask(message) {
      return Promise.race([
        this.ended,
        new Promise((resolve) => {
          this.worker.onmessage = ({ data }) => {
            if (data.step) tell(`Starting ${data.step} …`, 1);
            else if (data.failed) this.end(data.failed);
            else resolve(data);
          };
          this.worker.postMessage(message);
        }),
      ]);
    }

    end(why) {
      if (this.worker) this.worker.terminate();
      if (python === this) python = null;
      tell = () => {};
      this.refuse(new Error(why));
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
      this.bar = make("div", "live-bar");
      this.bar.setAttribute("role", "group");
      this.bar.setAttribute("aria-label", this.exercise ? "Answer here" : "Run this cell");
      this.runs = this.button(this.exercise ? "Check" : "Run", () => this.run());
      this.edits = this.button(this.exercise ? "Write your answer" : "Edit", () => this.edit());
      if (this.exercise) this.hints = this.button("Hint", () => this.hint());
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
      const before = (kept()[NAME] || {})[this.number],
        pre = this.code.querySelector("pre");
      this.printed = [...pre.childNodes];
      if (before !== undefined) {
        this.typed = before;
        this.changed(true);
        pre.replaceChildren(before);
      }
      this.status.textContent = [
        ...(this.id && solved()[this.id] ? ["Solved before."] : []),
        ...(before === undefined ? [] : ["This is your text of last time."]),
      ].join(" ");
    }

    button(text, act, hidden = false) {
      const made = make("button", "live-button", text);
      made.type = "button";
      made.hidden = hidden;
      made.addEventListener("click", act);
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
      if (this.field) {
        this.field.focus();
        return;
      }
      try {
        await editor();
      } catch (error) {
        this.say(error.message);
        return;
      }
      const place = make("div", "live-editor highlight");
      place.style.fontSize = getComputedStyle(this.code.querySelector("pre")).fontSize;
      this.code.after(place);
      this.code.hidden = true;
      this.edits.hidden = true;
      this.field = window.makeEditor(place, this.typed ?? this.stored, {
        label: `Python, cell ${this.number}. Shift and Enter runs it; Escape, then Tab, leaves the editor.`,
        run: () => this.run(),
        changed: () => {
          this.changed(true);
          keep(this.number, this.text());
        },
      });
      this.field.focus();
    }

    hint() {
      return this.send(`hint("${this.id}")`);
    }

    run() {
      return this.send(this.text());
    }

    send(source) {
      turns = turns.then(async () => {
        this.busy(true);
        this.out.replaceChildren(); // what was said of another text must not stand beside this one
        const mine = (python ??= new Python());
        tell = (text, share) => this.say(text, share);
        try {
          await mine.ready();
          this.say("Running …");
          const began = performance.now();
          this.show(await mine.ask({ number: this.number, source }));
          this.say(`${((performance.now() - began) / 1000).toFixed(1)} s`);
        } catch (error) {
          mine.end(error.message);
          this.say(error.message);
        } finally {
          this.busy(false);
        }
      });
      return turns;
    }

    stop() {
      if (python) python.end("Stopped. What ran above will run again when it is needed.");
    }

    busy(on) {
      this.stops.hidden = !on;
      for (const one of [this.runs, this.hints]) if (one) one.disabled = on;
      this.box.classList.toggle("live-busy", on);
    }

    show({ text = "", error = "", trace = "", status = "" }) {
      if (this.shown) this.shown.hidden = true;
      this.out.replaceChildren();
      if (status === "passed" && this.id) solve(this.id);
      const kind = error || ["crashed", "timed out"].includes(status) ? "stopped" : status === "passed" ? "passed" : status ? "open" : "";
      for (const one of ["passed", "open", "stopped"]) this.out.classList.toggle(`said-${one}`, one === kind);
      if (text.startsWith("Exercise ")) this.out.append(spoken(text.trim()));
      else if (text) {
        const said = make("pre", "live-text", text.replace(/\n$/, ""));
        said.tabIndex = 0;
        this.out.append(said);
      }
      if (error) {
        this.out.append(make("p", "live-error", error));
        const fold = make("details", "live-trace");
        fold.append(make("summary", "", "The whole story"), make("pre", "", trace));
        this.out.append(fold);
      }
      if (!text && !error) this.out.append(make("p", "live-nothing", "It ran, and printed nothing."));
    }

    reset() {
      this.typed = undefined;
      this.code.querySelector("pre").replaceChildren(...this.printed);
      if (this.field) this.field.set(this.stored);
      keep(this.number, null);
      this.changed(false);
      this.out.replaceChildren();
      if (this.shown) this.shown.hidden = this.exercise;
      this.say("");
    }
  }
  for (const box of found) new Cell(box);
})();
