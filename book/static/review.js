// Questions that come back: asked one at a time, judged by the reader, and due again when FSRS says so. Kept in this browser alone.
(() => {
  const sets = [...document.querySelectorAll("div.review-set")],
    root = document.documentElement.dataset.content_root;
  if (!sets.length || root === undefined) return;
  const KEY = "xformer-reviewed",
    DAY = { weekday: "long", day: "numeric", month: "long" };
  const make = (name, cls, text = "") => Object.assign(document.createElement(name), { className: cls, textContent: text });
  const load = (key, empty) => {
    try {
      return JSON.parse(localStorage.getItem(key)) ?? empty;
    } catch {
      return empty;
    }
  };
  const keep = (id, card) => {
    // without a card the question is forgotten
    try {
      localStorage.setItem(KEY, JSON.stringify({ ...load(KEY, {}), [id]: card }));
      dispatchEvent(new Event("xformer-progress"));
    } catch {
      /* refused: nothing is kept */
    }
  };
  const midnight = (date) => new Date(date).setHours(0, 0, 0, 0);
  const cards = sets.flatMap((set) => [...set.querySelectorAll(".review-card")]);
  const fresh = (card) => !load(KEY, {})[card.dataset.id];
  const due = (card) => {
    const kept = load(KEY, {})[card.dataset.id];
    return Boolean(kept) && midnight(kept.due) <= midnight(Date.now());
  };
  const next = (some) => {
    const dates = some
      .map((card) => load(KEY, {})[card.dataset.id]?.due)
      .filter(Boolean)
      .map(midnight);
    return dates.length ? new Date(Math.min(...dates)).toLocaleDateString("en-GB", DAY) : "";
  };

  const panel = document.getElementById("review-due");
  const source = (card) => {
    const line = make("p", "review-count", "From "),
      link = make("a", "", card.closest("section").querySelector("h2").firstChild.textContent);
    link.href = `../${card.closest(".review-set").dataset.page}.html`;
    line.append(link);
    return line;
  };

  let schedule = null;
  const scheduler = () =>
    (schedule ??= new Promise((resolve, reject) => {
      const tag = Object.assign(document.createElement("script"), { src: new URL(`${root}_static/schedule.js`, document.baseURI).href });
      tag.onload = resolve;
      tag.onerror = () => {
        schedule = null;
        reject(new Error("The schedule could not be loaded; was the book copied without its folder _static?"));
      };
      document.head.append(tag);
    }));

  // One place that asks: a sentence and buttons at first, then a question, its answer, and what the reader says of it.
  class Stage {
    constructor(place, choices) {
      this.place = place;
      this.choices = choices;
      place.classList.add("review-stage");
      this.rest();
    }

    show(parts, buttons, focus = null) {
      const bar = make("div", "live-bar");
      for (const [text, act] of buttons) {
        const button = make("button", "live-button", text);
        button.type = "button";
        button.addEventListener("click", act);
        bar.append(button);
      }
      this.place.replaceChildren(...parts, ...(buttons.length ? [bar] : []));
      if (focus) focus.focus();
    }

    rest(before = "", back = []) {
      const { text, buttons } = this.choices(),
        words = `${before} ${text}`.trim(),
        said = make("p", "", words);
      said.setAttribute("role", "status");
      this.show(words ? [said] : [], [
        ...buttons.filter(([, some]) => some.length).map(([label, some]) => [label, () => this.ask(some)]),
        ...back,
      ]);
    }

    async ask(some) {
      try {
        await scheduler();
      } catch (error) {
        this.rest(error.message);
        return;
      }
      this.left = [...some];
      this.count = this.left.length;
      this.known = 0;
      this.said = [];
      this.turn();
    }

    back() {
      return this.said.length ? [["Take the last one back", () => this.takeBack()]] : [];
    }

    end() {
      this.rest(this.said.length ? `You knew ${this.known} of ${this.said.length}.` : "", this.back());
    }

    takeBack() {
      const { card, before, knew } = this.said.pop();
      keep(card.dataset.id, before);
      this.known -= knew ? 1 : 0;
      this.left.unshift(card);
      this.turn();
    }

    turn() {
      const card = this.left[0];
      if (!card) {
        this.end();
        return;
      }
      const head = make("p", "review-count", `Question ${this.count - this.left.length + 1} of ${this.count}`),
        question = make("div", "review-question"),
        answer = make("div", "review-answer");
      const copy = card.cloneNode(true),
        fold = copy.querySelector("details");
      fold.querySelector("summary").remove();
      answer.append(...fold.childNodes);
      fold.remove();
      question.append(...copy.childNodes);
      for (const part of [question, answer]) part.tabIndex = -1;
      if (panel) answer.append(source(card));
      const say = (knew) => () => {
        const before = load(KEY, {})[card.dataset.id];
        keep(card.dataset.id, window.nextReview(before, knew, new Date()));
        this.known += knew ? 1 : 0;
        this.said.push({ card, before, knew });
        this.left.shift();
        this.turn();
      };
      const judged = () =>
        this.show(
          [head, question, answer],
          [
            ["I knew it", say(true)],
            ["Not yet", say(false)],
          ],
          answer,
        );
      this.show([head, question], [["Show the answer", judged], ...this.back(), ["Enough for now", () => this.end()]], question);
    }
  }

  if (panel) {
    new Stage(panel, () => {
      const read = new Set(load("xformer-read", [])),
        now = cards.filter(due);
      const unasked = cards.filter((card) => fresh(card) && read.has(card.closest(".review-set").dataset.page)),
        date = next(cards);
      const text = now.length
        ? `${now.length} ${now.length === 1 ? "question is" : "questions are"} due.`
        : date
          ? `Nothing is due before ${date}.`
          : "Nothing was asked yet: begin at the end of a chapter, or with a page that you have read.";
      return {
        text,
        buttons: [
          ["Ask what is due", now],
          [`Ask ${unasked.length} new ones of the pages that you have read`, unasked],
        ],
      };
    });
    return;
  }
  for (const set of sets) {
    const own = [...set.querySelectorAll(".review-card")],
      place = make("div", ""),
      list = make("details", "review-list");
    list.append(make("summary", "", `All ${own.length} questions as a list`), ...own);
    set.append(place, list);
    new Stage(place, () => {
      const some = own.filter((card) => fresh(card) || due(card));
      return {
        text: some.length ? "" : `The next one is due on ${next(own)}.`,
        buttons: [[`Ask me ${some.length === 1 ? "one question" : `${some.length} questions`}`, some]],
      };
    });
  }
})();
