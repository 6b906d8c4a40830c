// The work around the model, as xformer_lib.translation does it: a text becomes plain sentences that the model can read, and what is
// no letter of the model's is lifted out; each answer gets it back. Patterns and tables come from the Python modules, as data.
const typedWith = ({ patterns, breaks, space, twins, titles, endings, signs, hole, closed, before, longest, shouted, firstTry, listed }) => {
  const first = Object.fromEntries(Object.entries(patterns).map(([name, source]) => [name, new RegExp(source, "u")]));
  const every = Object.fromEntries(Object.entries(patterns).map(([name, source]) => [name, new RegExp(source, "gu")]));
  const ENCLOSED = ["number", "address"], // what brackets may hold
    ASIDE = ["symbol", "mark"], // what stays out of the model's sight at the ends of a sentence
    BREAKS = breaks.map((source) => new RegExp(source, "gu")),
    READABLE = new RegExp(`^(?:${patterns.READABLE})$`, "u"),
    BEFORE = new RegExp(`^[${space}]+`, "u"),
    ROMAN = new RegExp(`^(?:${patterns.ROMAN})$`, "u"),
    LISTED = new RegExp(`^(?:${patterns.LISTED})$`, "u"),
    SHORT = new RegExp(patterns.SHORT, "uy"),
    ONE_SIGN = new RegExp(`[${signs}]`, "gu");
  // Backwards, for a pattern that is looked for from every place of a long line takes its square of steps.
  const reversed = (text) => Array.from(text).reverse().join(""),
    endStrip = (text) => reversed(reversed(text).replace(BEFORE, "")),
    strip = (text) => endStrip(text).replace(BEFORE, "");
  const isLetter = (letter) => /\p{L}/u.test(letter),
    isSmall = (letter) => /\p{Lowercase}/u.test(letter),
    isCapital = (letter) => /\p{Uppercase}/u.test(letter);
  const capitalize = (word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase();
  const holesIn = (text) => text.split(hole).length - 1,
    wordsOf = (text) => text.match(every.WORD) || [];

  // ---------------------------------------------------------------- what people type, as xformer_lib.data.typed
  const twin = (typed) => {
    const letter = twins[typed.codePointAt(0)] ?? typed;
    if (READABLE.test(letter) || first.RAISED.test(letter)) return letter;
    const compatible = letter.normalize("NFKC");
    return READABLE.test(compatible) ? compatible : letter;
  };
  const simplify = (typed) => Array.from(typed.normalize("NFC"), twin).join("");
  const isKnown = (word, words) => words.has(word) || words.has(word.toLowerCase()) || words.has(capitalize(word));
  // Parts without empty texts, and with texts that follow each other as one.
  const joined = (parts) => {
    const found = [];
    for (const part of parts) {
      if (typeof part === "string" && typeof found.at(-1) === "string") found.push(found.pop() + part);
      else if (part) found.push(part);
    }
    return found;
  };
  // A text, cut at capitalised words that are not known; a Roman number is a quantity.
  const names = (typed, words) => {
    const parts = [],
      text = typed.replaceAll("`", "'");
    let end = 0;
    for (const { 0: name, index } of words.size ? text.matchAll(every.NAME) : []) {
      const titled = first.TITLE.test(text.slice(Math.max(0, index - 9), index)),
        small = !Array.from(name).some(isCapital),
        camel = isSmall(name[0]) && !small, // iPhone
        known = wordsOf(name).every((word) => (camel ? words.has(word.toLowerCase()) : isKnown(word, words))),
        roman = ROMAN.test(name) && !(known && text.startsWith("War ", index - 4)); // World War II is a phrase
      if (roman || (name.length > 1 && !small && (!known || (titled && !camel)))) {
        parts.push(text.slice(end, index), { text: name, kind: roman ? "number" : "name" });
        end = index + name.length;
      }
    }
    return [...parts, text.slice(end)];
  };
  const isAddress = (text, words) =>
    first.FIGURE.test(text) ||
    (text.includes("/") && wordsOf(text).some((word) => word.length === 1)) || // n/a
    (words.size > 0 && !wordsOf(text).every((word) => word.length === 1 || isKnown(word, words)));
  // A line as texts that the model can read, and items {text, kind} that it cannot, in their order.
  const takeOut = (text, words) => {
    const typed = Array.from(text.normalize("NFC").replace(every.HIDDEN, "")),
      letters = typed.map((letter) => (letter === "`" ? letter : twin(letter))), // for code stands in backticks
      line = letters.join(""),
      place = letters.flatMap((some, number) => Array(some.length).fill(number)),
      parts = [];
    let done = 0;
    const all = spans(line, words),
      whole = enclosed(
        line,
        all.filter((span) => span[2] !== "mark"),
      ),
      inside = new Set(whole.flatMap(([begin, end]) => Array.from({ length: end - begin }, (_, n) => begin + n))),
      marks = all.filter(([begin, , kind]) => kind === "mark" && !inside.has(begin));
    for (const span of [...whole, ...marks].sort((one, other) => one[0] - other[0])) {
      const [begin, end] = span;
      let item = typed.slice(place[begin], place[end - 1] + 1).join(""),
        kind = span[2];
      if (kind === "other") {
        if (!strip(item.replace(every.UNSEEN, ""))) item = "";
        kind = isLetter(item) ? "script" : "symbol";
      }
      parts.push(...names(line.slice(done, begin), words), item && { text: item, kind });
      done = end;
    }
    return joined([...parts, ...names(line.slice(done), words)]);
  };
  // Where each item of a line begins and ends, and its kind; a short word that was never read is the unit of its number.
  const spans = (line, words) => {
    const found = [];
    every.TAKEN.lastIndex = 0;
    for (let match = every.TAKEN.exec(line); match; match = every.TAKEN.exec(line)) {
      const { 0: text, index: begin, groups } = match,
        kind = Object.keys(groups).find((name) => groups[name] !== undefined);
      if (kind === "doubt" && !isAddress(text, words)) {
        for (const { 0: mark, index } of text.matchAll(every.STROKE)) found.push([begin + index, begin + index + mark.length, "mark"]);
        continue;
      }
      let end = begin + text.length;
      if (kind === "number" && words.size && first.FIGURE.test(line[end - 1])) {
        SHORT.lastIndex = end;
        const unit = SHORT.exec(line);
        if (unit && !isKnown(unit[1], words)) every.TAKEN.lastIndex = end += unit[0].length;
      }
      found.push([begin, end, kind === "doubt" || kind === "code" ? "address" : kind]);
    }
    return found;
  };
  // The spans with the brackets, quotes or stars that hold quantities or addresses alone, and with the mark of inches.
  const enclosed = (line, spans) => {
    const found = [];
    let number = 0,
      done = 0,
      quotes = 0;
    while (number < spans.length) {
      let [begin, end, kind] = spans[number++];
      quotes += line.slice(done, begin).split('"').length - 1;
      const opened = ENCLOSED.includes(kind) ? first.OPENED.exec(line.slice(Math.max(done, begin - before), begin)) : null,
        mark = opened ? opened.slice(1).find((group) => group !== undefined) : "",
        close = closed[mark] ?? mark;
      let last = number,
        stop = end;
      while (opened && ENCLOSED.includes(spans[last]?.[2]) && LISTED.test(line.slice(stop, spans[last][0]))) stop = spans[last++][1];
      if (line.startsWith(` ${close}`, stop)) stop += 1;
      if (opened && line.startsWith(close, stop)) {
        [begin, end, number] = [begin - opened[0].length, stop + close.length, last];
        if (mark === '"') quotes += 1;
        if (opened[0].startsWith("]")) kind = "mark"; // behind the words of a link
      } else if (kind === "number" && quotes % 2 === 0 && line[end] === '"' && !/[\p{L}\p{N}]/u.test(line[end + 1] ?? "")) end += 1;
      found.push([begin, end, kind]);
      done = end;
    }
    return found;
  };
  const textsOf = (items) => items.map((item) => item.text);
  const putBack = (text, items) => {
    const left = new Map(items.slice(0, signs.length).map((item, n) => [signs[n], item])),
      said = [];
    let close = false;
    for (const letter of text) {
      const item = left.get(letter);
      left.delete(letter);
      if (item?.left && said.at(-1) === " ") said.pop();
      if (!((letter === " " && close) || (signs.includes(letter) && !item))) said.push(item ? item.text : letter);
      close = Boolean(item?.right);
    }
    return left.size ? [endStrip(said.join("")), ...textsOf([...left.values()])].join(" ") : said.join("");
  };

  // ---------------------------------------------------------------- sentences, as xformer_lib.data._sentences
  const splitSentences = (line) => {
    const found = [];
    let begin = 0;
    for (const { 0: text, 1: marks = "", 2: gap, 3: dash, index } of line.matchAll(every.END)) {
      const end = index + text.length;
      if (marks && !ends(line.slice(Math.max(begin, index - longest), index), marks, behind(line, end))) continue;
      found.push([line.slice(begin, index + marks.length), gap ?? dash]);
      begin = end;
    }
    const text = endStrip(line.slice(begin));
    return begin < line.length ? [...found, [text, line.slice(begin + text.length)]] : found;
  };
  // The first letter from a place on, behind quotes and brackets.
  const OPENING = new RegExp(patterns.OPENING, "uy");
  const behind = (line, place) => {
    OPENING.lastIndex = place;
    OPENING.test(line);
    return Array.from(line.slice(OPENING.lastIndex, OPENING.lastIndex + 2))[0] ?? "";
  };
  const ends = (before, marks, after) => {
    const word = before.split(first.BEFORE_WORD).at(-1).toLowerCase(),
      small = isSmall(after),
      closed = /["')]$/.test(marks);
    if (!marks.startsWith(".")) return !(small && closed);
    if (titles.includes(word) || (word.length === 1 && isLetter(word) && word !== "i")) return false;
    return !(small && (endings.includes(word) || marks.startsWith("..") || closed));
  };

  // ---------------------------------------------------------------- the plan of a text, as xformer_lib.translation
  const isSentence = (part) => typeof part !== "string";
  const list = (texts) => texts.slice(0, listed).join(", ") + (texts.length > listed ? ` and ${texts.length - listed} more` : "");
  const planned = (parts, notes) => ({ parts: joined(parts), sentences: parts.filter(isSentence), notes });
  // {parts, sentences, notes}; a part is a text that stays, or a sentence {text, items, shouted}.
  const cut = (typed, { fits, signed, words }) => {
    const parts = [],
      carried = new Set(),
      split = typed.replace(/(?<! ) +$/, "").split(first.LINE_END),
      lines = split.filter((_, n) => n % 2 === 0),
      code = fenced(lines);
    let broken = 0;
    lines.forEach((typedLine, number) => {
      const lead = code[number] ? "" : typedLine.match(LEAD)[0],
        line = typedLine.slice(lead.length);
      parts.push(lead);
      const [holed, items] = code[number] ? [line, []] : withHoles(takeOut(line, signed ? words : new Set()), signed);
      if (code[number]) {
        carried.add(strip(line));
        parts.push(line);
      } else if (!first.HAS_LETTER.test(holed)) {
        parts.push(line); // marks, numbers, symbols alone: as they were typed
      } else {
        let used = 0;
        for (const [sentence, gap] of splitSentences(holed)) {
          const own = items.slice(used, (used += holesIn(sentence))),
            pieces = partsOf(sentence, own, fits, signed);
          if (!own.length && pieces.filter(isSentence).length > 1) broken += 1;
          parts.push(...pieces, gap);
        }
      }
      for (const { text, kind } of items) if (kind !== "name" && kind !== "mark" && (kind !== "number" || first.SPOKEN.test(text))) carried.add(text);
      parts.push(split[2 * number + 1] ?? "");
    });
    const read = new Set(parts.filter(isSentence).flatMap(({ text }) => wordsOf(text))),
      strange = words.size ? [...read].filter((word) => word.length > 1 && !isKnown(word, words)) : [],
      notes = [];
    if (carried.size) notes.push(`carried through unchanged: ${list([...carried])}`);
    if (broken) notes.push(`too long for the model, so read in parts: ${broken} sentence${broken > 1 ? "s" : ""}`);
    if (strange.length) notes.push(`hardly ever read in training: ${list(strange)}`);
    return planned(parts, notes);
  };
  // For each line, whether it belongs to code between two fences.
  const fenced = (lines) => {
    const inside = lines.map(() => false);
    let start = 0,
      mark = "";
    lines.forEach((line, number) => {
      const found = line.match(new RegExp(`^(?:${patterns.FENCE})`, "u"));
      if (found && !mark) [start, mark] = [number, found[1]];
      else if (found && found[1].startsWith(mark) && !strip(line.slice(found[0].length))) {
        inside.fill(true, start, number + 1);
        mark = "";
      }
    });
    return inside;
  };
  // The line with one letter for private use in the place of each item; numbers are text for a model without signs.
  const withHoles = (parts, signed) => {
    const items = [];
    const line = parts.map((part) => {
      if (!isSentence(part)) return part;
      if ((part.kind === "number" || part.kind === "mark") && !signed) return simplify(part.text);
      items.push(part);
      return hole;
    });
    return [line.join("").replace(every.UNSEEN, ""), items];
  };
  const filled = (text, items) =>
    text
      .split(hole)
      .flatMap((piece, n) => (n ? [items[n - 1].text, piece] : [piece]))
      .join("");
  // A sentence in parts; symbols at the ends of each stay out of the model's sight. What is left to do stands on a stack.
  const [EDGE, LEAD, BEFORE_WORDS, BEHIND_WORDS] = ["EDGE", "LEAD", "BEFORE", "BEHIND"].map((name) => new RegExp(`^(?:${patterns[name]})`, "u"));
  const partsOf = (sentence, items, fits, signed) => {
    const done = [],
      stack = [[sentence, items]];
    while (stack.length) {
      const top = stack.pop();
      if (typeof top === "string") {
        done.push(top);
        continue;
      }
      let [text, own] = top;
      if (!first.HAS_LETTER.test(text)) {
        done.push(filled(text, own));
        continue;
      }
      let begin = text.match(EDGE)[0].length,
        end = text.length - reversed(text).match(EDGE)[0].length,
        from = holesIn(text.slice(0, begin)),
        to = own.length - holesIn(text.slice(end));
      const kept = (some) => !signed || some.every((item) => ASIDE.includes(item.kind));
      if (!kept(own.slice(0, from))) begin = from = 0;
      if (!kept(own.slice(to))) [end, to] = [text.length, own.length];
      done.push(filled(text.slice(0, begin), own.slice(0, from)));
      stack.push(filled(text.slice(end), own.slice(to)));
      const core = text.slice(begin, end);
      own = own.slice(from, to);
      const pieces = atHoles(core, own, signed) || thatFit(core, own, fits);
      if (pieces.length === 1) done.push(sentenceOf(core, own, signed));
      else stack.push(...pieces.reverse());
    }
    return done;
  };
  // Pieces with at most as many items as there are signs; for a model without them, the items apart.
  const atHoles = (core, items, signed) => {
    const most = signed ? signs.length : 0,
      texts = core.split(hole);
    if (items.length <= most) return null;
    if (!signed) return texts.flatMap((text, n) => [[text, []], items[n]?.text ?? ""]);
    const pieces = [];
    for (let n = 0; n < items.length; n += most) {
      const some = texts.slice(n ? n + 1 : 0, n + most + 1).join(hole);
      pieces.push([n ? hole + some : some, items.slice(n, n + most)]);
    }
    return pieces;
  };
  // Pieces that fit, each cut behind a comma or the like, else at a space; no more is read than about twice what fits.
  const thatFit = (core, items, fits) => {
    const letters = Array.from(core),
      pieces = [];
    let begin = 0,
      used = 0;
    while (begin < letters.length) {
      const rest = letters.length - begin,
        upTo = (size) => letters.slice(begin, begin + size).join("");
      let low = 1,
        high = Math.min(firstTry, rest);
      while (fits(upTo(high)) && high < rest) [low, high] = [high, Math.min(2 * high, rest)];
      if (!fits(upTo(high))) {
        high -= 1;
        while (low < high) {
          const middle = Math.floor((low + high + 1) / 2);
          if (fits(upTo(middle))) low = middle;
          else high = middle - 1;
        }
        low = goodEnd(upTo(low));
      } else low = rest;
      const piece = upTo(low);
      pieces.push([piece, items.slice(used, (used += holesIn(piece)))]);
      begin += low;
    }
    return pieces;
  };
  // Only letters of one code unit are in the texts that the model reads, so a place in a text is a number of letters.
  const goodEnd = (text) => {
    for (const one of BREAKS) {
      const end = Array.from(text.matchAll(one), ({ 0: mark, index }) => index + mark.length)
        .filter((place) => 2 * place > text.length)
        .at(-1);
      if (end) return end;
    }
    return text.length;
  };
  // Signs in place of the holes, small letters if it was shouted; a model without signs gets the capitals that it has always read.
  const sentenceOf = (core, items, signed) => {
    let text = core.replace(every.BESIDE, " "),
      next = 0;
    const letters = Array.from(text).filter(isLetter),
      loud = letters.length >= shouted && !letters.some(isSmall);
    if (loud) text = text.toLowerCase();
    if (!signed) text = (text[0].toUpperCase() + text.slice(1)).replace(every.SMALL_I, "I");
    const beside = Array.from(core.matchAll(new RegExp(hole, "gu")), ({ index }) =>
        [core[index - 1], core[index + 1]].map((letter) => strip(letter ?? "") !== ""),
      ),
      glued = items.map((item, n) => (ASIDE.includes(item.kind) ? { ...item, left: beside[n][0], right: beside[n][1] } : item));
    return { text: text.replaceAll(hole, () => signs[next++]), items: glued, shouted: loud };
  };

  // The model's answer with its items again, and the whole text with an answer for each sentence.
  const finish = ({ text, items, shouted, inner }, answer) => {
    const said = inner && isSmall(text[0]) ? answer.slice(0, 1).toLowerCase() + answer.slice(1) : answer;
    return putBack(shouted ? said.toUpperCase() : said, items);
  };
  const misplaced = ({ items }, answer) => textsOf(items.filter((_, n) => !answer.includes(signs[n])));
  // Quantities and marks whose sign is gone; marks in another order, or without what they divide.
  const lost = ({ text, items }, answer) => {
    const isMark = (item) => item.kind === "mark" || first.PLACED.test(item.text),
      isNumber = (item) => item.kind === "number",
      itemOf = (sign) => items[signs.indexOf(sign)],
      own = Array.from(signs).slice(0, items.length),
      [marks, numbers] = [isMark, isNumber].map((is) => own.filter((sign) => is(itemOf(sign)))),
      gone = own.filter((sign) => !answer.includes(sign) && (marks.includes(sign) || numbers.includes(sign))),
      said = divided(answer, marks, numbers),
      moved =
        Array.from(answer)
          .filter((letter) => marks.includes(letter))
          .join("") !== marks.join("") || divided(text, marks, numbers).some((had, n) => [...had].some((one) => !said[n].has(one)));
    return textsOf((gone.length ? gone : moved ? marks : []).map(itemOf));
  };
  // What stands before, between and behind the marks: the signs of numbers, and "" for words.
  const divided = (text, marks, numbers) => {
    const found = [new Set()];
    for (const letter of text) {
      if (marks.includes(letter)) found.push(new Set());
      else if (first.HAS_LETTER.test(letter)) found.at(-1).add("");
      else if (numbers.includes(letter)) found.at(-1).add(letter);
    }
    return found;
  };
  // What stands between the items of a sentence as sentences of their own, and the items.
  const apart = ({ text, items, shouted }) =>
    text.split(ONE_SIGN).flatMap((piece, n) => {
      const said = n ? [items[n - 1].text] : [];
      if (n && items[n - 1].right) piece = piece.replace(/^ /, "");
      if (items[n]?.left) piece = piece.replace(/ $/, "");
      if (!first.HAS_LETTER.test(piece)) return [...said, piece];
      const begin = piece.match(BEFORE_WORDS)[0].length,
        end = piece.length - reversed(piece).match(BEHIND_WORDS)[0].length,
        core = { text: piece.slice(begin, end), items: [], shouted, inner: n > 0 };
      return [...said, piece.slice(0, begin), core, piece.slice(end)];
    });
  // The plan in which a sentence is read in parts if its answer (one for each sentence, or none) has lost a quantity.
  const withoutLoss = ({ parts, notes }, answers) => {
    const gone = [];
    let next = 0;
    const whole = parts.flatMap((part) => {
      const answer = isSentence(part) ? answers[next++] : undefined,
        missed = answer === undefined ? [] : lost(part, answer);
      gone.push(...missed);
      return missed.length ? apart(part) : [part];
    });
    return gone.length ? planned(whole, [...notes, `read in parts, for the model lost the place of a number or mark: ${list(gone)}`]) : null;
  };
  // What a model wrote as one line, without what cannot be seen.
  const visible = (answer) => answer.replace(every.BLANK, "").replace(every.GAP, " ");
  const join = ({ parts }, answers) => {
    let next = 0;
    return parts.map((part) => (isSentence(part) ? finish(part, answers[next++]) : part)).join("");
  };
  return { signs, list, simplify, takeOut, putBack, splitSentences, cut, finish, misplaced, withoutLoss, visible, join };
};
