// Questions that come back: asked one at a time, judged by the reader, and due again when FSRS says so. Kept in this browser alone.
(() => {
  const sets = [...document.querySelectorAll("div.review-set")],
    root = document.documentElement.dataset.content_root;
  if (!sets.length || root === undefined) return;
  const KEY = "xformer-reviewed",
    DAY = { weekday: "long", day: "numeric", month: "long" };
  const { make, load, day, isCard } = window.book;
  const kept = (card) => {
    const found = load(KEY)[card.dataset.id];
    return isCard(found) ? found : undefined;
  };
  const keep = (id, card) => window.book.keep(KEY, { ...load(KEY), [id]: card }); // without a card the question is forgotten
  const cards = sets.flatMap((set) => [...set.querySelectorAll(".review-card")]);
  const fresh = (card) => !kept(card);
  const due = (card) => !fresh(card) && day(kept(card).due) <= day(new Date());
  const open = (card) => fresh(card) || due(card);
  const next = (some) => {
    const [first] = some
      .filter((card) => !fresh(card))
      .map((card) => day(kept(card).due))
      .sort();
    return first ? new Date(`${first}T12:00`).toLocaleDateString("en-GB", DAY) : "";
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
      window.book.news(() => this.again());
      addEventListener("visibilitychange", () => this.again()); // it may be another day
    }

    // Another tab may have answered, and a question that it answered is not asked here again.
    again() {
      if (document.hidden) return;
      if (this.left === null) this.rest(this.before, this.last);
      else if (!open(this.left[0])) this.turn(false);
    }

    // The focus goes to what is new where its button is gone, or where somebody pressed one.
    show(parts, buttons, focus, pressed) {
      const bar = make("div", "live-bar"),
        inside = this.place.contains(document.activeElement);
      bar.append(...buttons.map(([text, act]) => window.book.button(text, act)));
      if ([...parts, bar].map((part) => part.textContent).join("") === this.place.textContent) return; // it stands there
      this.place.replaceChildren(...parts, ...(buttons.length ? [bar] : []));
      if (inside || pressed) (focus ?? bar.firstChild)?.focus();
    }

    rest(before = "", back = []) {
      [this.left, this.before, this.last] = [null, before, back];
      const { text, buttons } = this.choices(),
        words = `${before} ${text}`.trim(),
        said = make("p", "", words);
      said.setAttribute("role", "status");
      said.tabIndex = -1;
      this.show(
        words ? [said] : [],
        [...buttons.filter(([, some]) => some.length).map(([label, some]) => [label, () => this.ask(some)]), ...back],
        words ? said : null,
        false,
      );
    }

    async ask(some) {
      try {
        await scheduler();
      } catch (error) {
        this.rest(error.message);
        return;
      }
      this.left = [...some];
      this.known = 0;
      this.said = [];
      this.turn();
    }

    back() {
      return this.said?.length ? [["Take the last one back", () => this.takeBack()]] : [];
    }

    end() {
      this.rest(this.said.length ? `You knew ${this.known} of ${this.said.length}.` : "", this.back());
    }

    takeBack() {
      const { card, before, knew } = this.said.pop();
      keep(card.dataset.id, before);
      this.known -= knew ? 1 : 0;
      this.left = [card, ...(this.left ?? [])];
      this.turn();
    }

    turn(pressed = true) {
      this.left = this.left.filter(open);
      const card = this.left[0];
      if (!card) {
        this.end();
        return;
      }
      const head = make("p", "review-count", `Question ${this.said.length + 1} of ${this.said.length + this.left.length}`),
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
        const before = kept(card);
        keep(card.dataset.id, window.nextReview(before, knew, day(new Date())));
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
          true,
        );
      const buttons = [["Show the answer", judged], ...this.back(), ["Enough for now", () => this.end()]];
      this.show([head, question], buttons, question, pressed);
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
      const some = own.filter(open);
      return {
        text: some.length ? "" : `The next one is due on ${next(own)}.`,
        buttons: [[`Ask me ${some.length === 1 ? "one question" : `${some.length} questions`}`, some]],
      };
    });
  }
})();
