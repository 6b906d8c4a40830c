// Leaves one of each kind where a page has thousands of equal parts, so that an audit ends in seconds: a formula becomes one
// letter in its colour; of the coloured words of code of one kind on the same ground, the first stays marked; of a table
// its first five rows stay.
(() => {
  for (const formula of document.querySelectorAll(".katex")) formula.replaceChildren("x");
  for (const row of document.querySelectorAll("tbody > tr:nth-child(n + 6)")) row.remove();
  const seen = new Set(),
    same = [];
  const ground = (e) => {
    let all = "";
    for (; e; e = e.parentElement) all += getComputedStyle(e).backgroundColor;
    return all;
  };
  for (const block of document.querySelectorAll("pre")) {
    // first read all, then change: else the page is styled anew for each word
    const behind = ground(block);
    for (const word of block.querySelectorAll("span")) {
      const look = `${behind} ${word.className}`;
      if (seen.has(look)) same.push(word);
      else seen.add(look);
    }
  }
  for (const word of same.reverse()) word.replaceWith(...word.childNodes);
  return document.querySelectorAll("*").length;
})();
