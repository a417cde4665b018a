"use strict";
// What the review page needs besides its data: texts and elements, pictures of columns, the estimate, lines of files.
const reviewParts = (() => {
  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  // An element with attributes and children; a text becomes a text node.
  function make(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }
  // A text of the table: what is invisible or changes the direction of writing has a mark in its place, and right-to-left
  // text does not reorder its surroundings.
  const readable = (text) => text.replace(/(?![\n\t\u200c\u200d])[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd");
  const isolated = (text) => make("bdi", {}, readable(text));
  const plural = (n, what) => n + " " + (n === 1 ? what : what.replace(/y$/, "ie") + "s");

  const small = (text) => make("span", { class: "quiet" }, text);

  const LONG = 140; // characters of a cell that are shown at once
  function cell(content) {
    if (typeof content !== "string") return [content];
    if (content.length <= LONG) return [isolated(content)];
    const begin = Array.from(content.slice(0, LONG)).slice(0, -1).join(""); // no half of a character
    return [make("details", {}, make("summary", {}, isolated(begin + "…")), isolated(content))];
  }

  // Where this row stands among the rows with the label (above) and without it (below): 5, 25, 50, 75 and 95 % of them.
  // `line` is what the label's rows share: [column, low end, high end, ten quantiles]; only the mark is drawn anew.
  const bases = new Map();
  const shape = (name, attributes, ...children) => {
    const made = document.createElementNS(document.getElementById("rv-curve").namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const rect = (x, y, width, height) => "M" + x + " " + y + "h" + width + "v" + height + "h" + -width + "z";
  function strip(line, at, name) {
    if (at === null) return small("missing here");
    if (typeof at !== "number") return small((at[2] ? "a rare value, as in " : "the same in ") + at[0] + "\u202f% with, " + at[1] + "\u202f% without");
    const [, low, high, ...marks] = line, groups = [marks.slice(0, 5), marks.slice(5)];
    if (!bases.has(line)) {
      const bars = groups.map((q, k) => shape("path", { class: k ? "rv-off" : "rv-on", d: ((y) => rect(2 + q[1], y, Math.max(1, q[3] - q[1]), 8) + rect(1.25 + q[2], y, 1.5, 8)
        + rect(2 + q[0], y + 3, q[1] - q[0], 2) + rect(2 + q[3], y + 3, q[4] - q[3], 2))(k ? 12.5 : 1.5) }));
      bases.set(line, make("div", {}, shape("svg", { viewBox: "0 0 103 22", class: "rv-strip", role: "img" }, ...bars, shape("path", { class: "rv-at" })),
        make("div", { class: "rv-ends" }, isolated(low), isolated(high))));
    }
    const where = (q) => (at < q[0] ? "below nearly all" : at < q[1] ? "low" : at <= q[3] ? "in the middle" : at <= q[4] ? "high" : "above nearly all");
    const drawn = bases.get(line).cloneNode(true);
    drawn.firstChild.setAttribute("aria-label", "this row is " + where(groups[0]) + " of the rows with " + readable(name) + ", " + where(groups[1]) + " of those without");
    drawn.firstChild.lastChild.setAttribute("d", rect(1 + at, 0, 2.5, 22));
    return drawn;
  }

  // Why an entry is doubted: columns are [name, part], words [word, part, percentage of the rows with the label and without].
  const isWord = (reason) => reason.length > 2;
  function reasonsOf(why) {
    const sides = [["▲ for the label: ", why.filter(([, part]) => part > 0)], ["▼ against it: ", why.filter(([, part]) => part < 0)]].filter(([, some]) => some.length);
    const shown = (reason) => [isWord(reason) ? "“" : "", isolated(reason[0]), isWord(reason) ? "” (" + reason[2] + "\u202f% with, " + reason[3] + "\u202f% without)" : ""];
    return sides.flatMap(([head, some], k) => [k ? "; " : "Linear part of the model: ", head, ...some.flatMap((reason, j) => [j ? ", " : "", ...shown(reason)]), k === sides.length - 1 ? "." : ""]);
  }

  // A text in which the words are marked that speak for the label and against it.
  const letter = "[\\p{L}\\p{N}_]", UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
  function marked(text, why) {
    const signs = new Map((why || []).filter(isWord).map(([word, part]) => [word.toLowerCase(), part]));
    if (!signs.size) return isolated(text);
    const patterns = [...signs.keys()].sort((a, b) => b.length - a.length).map((word) => {
      const escaped = word.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
      return UNSPACED.test(word) ? escaped : "(?<!" + letter + ")" + escaped + "(?!" + letter + ")";
    });
    const made = make("bdi");
    let end = 0;
    for (const match of text.matchAll(new RegExp(patterns.join("|"), "giu"))) {
      const part = signs.get(match[0].toLowerCase());
      made.append(readable(text.slice(end, match.index)), make("mark", { class: part > 0 ? "for" : "against" }, readable(match[0])));
      end = match.index + match[0].length;
    }
    made.append(readable(text.slice(end)));
    return made;
  }

  // Columns so wide that no word of up to 20 letters is broken, if need be in smaller letters.  Where a window lacks the room
  // for these, too, the longest words of cells are broken and those of names are not; a narrow one scrolls.
  const pen = document.createElement("canvas").getContext("2d"), PAD = 14, LEAST = 0.8, NARROW = 600;
  function widthsOf(names, lines, table) {
    const room = table.parentNode.clientWidth, family = getComputedStyle(table).fontFamily;
    const longest = (texts, weight) => {
      pen.font = weight + " 13.5px " + family;
      return Math.max(0, ...texts.flatMap((text) => (text.length > LONG ? [] : text.split(/\s+/).map((word) => pen.measureText(word.slice(0, 20)).width))));
    };
    const needs = [Math.max(70, 20 + longest(names.slice(0, 40), 500)), 98, ...lines[0].map((labels, k) => Math.max(56, longest(lines.slice(1, 41).map((texts) => texts[k]), k ? 500 : 600), 0.86 * longest([labels.slice(0, LONG)], k ? 500 : 600)))];
    const whole = needs.reduce((sum, need) => sum + need, 0), fits = room < NARROW ? 1 : Math.min(1, Math.max(LEAST, (room - PAD * needs.length) / whole));
    const widths = needs.map((need) => need * fits + PAD);
    let left = room < NARROW ? Infinity : room - widths[0] - widths[1], most = 0; // the widest cell
    widths.slice(2).sort((a, b) => a - b).forEach((width, k, all) => { most = Math.min(width, left / (all.length - k)); left -= most; });
    table.style.fontSize = 13.5 * fits + "px";
    return make("colgroup", {}, ...widths.map((width, k) => {
      const made = make("col");
      made.style.width = Math.floor(k < 2 ? width : Math.min(width, most)) + "px";
      return made;
    }));
  }

  // What verdicts multiply the odds of an entry by: exp(effect of its kind + effect of its label), as weigh_verdicts of
  // Python computes them. Newton's method; the labels are eliminated, because no verdict concerns two of them.
  function weighVerdicts(verdicts) {
    const labels = [...new Set(verdicts.map((one) => one.label))], zeros = (n) => new Array(n).fill(0);
    const kindEffects = zeros(2), labelEffects = zeros(labels.length), KIND = 1 / 4, LABEL = 1; // the precisions of the priors
    const data = verdicts.map((one) => ({ offset: Math.log(one.odds), kind: one.given, label: labels.indexOf(one.label), wrong: Number(one.verdict !== one.given) }));
    for (let k = 0, largest = 1; k < 30 && largest >= 1e-4; k++) {
      const weights = [zeros(labels.length), zeros(labels.length)], kindSlopes = kindEffects.map((effect) => -KIND * effect), labelSlopes = labelEffects.map((effect) => -LABEL * effect);
      for (const { offset, kind, label, wrong } of data) {
        const p = 1 / (1 + Math.exp(-(offset + kindEffects[kind] + labelEffects[label])));
        weights[kind][label] += p * (1 - p);
        kindSlopes[kind] += wrong - p;
        labelSlopes[label] += wrong - p;
      }
      const curvature = labels.map((_, j) => weights[0][j] + weights[1][j] + LABEL), dot = (a, b) => a.reduce((sum, value, j) => sum + value * b[j] / curvature[j], 0);
      const sum = (values) => values.reduce((total, value) => total + value, 0), right = [0, 1].map((a) => kindSlopes[a] - dot(weights[a], labelSlopes));
      const own = [0, 1].map((a) => sum(weights[a]) + KIND - dot(weights[a], weights[a])), both = -dot(weights[0], weights[1]), det = own[0] * own[1] - both * both;
      const kindStep = [(own[1] * right[0] - both * right[1]) / det, (own[0] * right[1] - both * right[0]) / det];
      const labelStep = labels.map((_, j) => (labelSlopes[j] - kindStep[0] * weights[0][j] - kindStep[1] * weights[1][j]) / curvature[j]);
      largest = Math.max(...[...kindStep, ...labelStep].map(Math.abs));
      kindStep.forEach((step, a) => { kindEffects[a] += step / Math.max(1, largest); });
      labelStep.forEach((step, j) => { labelEffects[j] += step / Math.max(1, largest); });
    }
    const effects = new Map(labels.map((label, j) => [label, labelEffects[j]]));
    return ({ given, label }) => Math.exp(kindEffects[given] + (effects.get(label) || 0));
  }

  // Numbers of the entries in their order: first the audit, some of each label; after a verdict on each of these the
  // others by their odds times what the verdicts say of their kind and label, as rank_suspects does.
  // Those that are not labelled keep their places between the others.
  function inOrder(entries) {
    const all = entries.map((_, i) => i), audit = entries.filter((one) => one.audit);
    if (!audit.length || audit.some((one) => one.verdict === undefined)) return all;
    const factor = weighVerdicts(audit.filter((one) => one.verdict >= 0));
    const keys = entries.map((one) => (one.audit ? Infinity : one.odds === undefined ? -1 : one.odds * factor(one)));
    const labelled = all.filter((i) => entries[i].given >= 0).sort((a, b) => (keys[a] === keys[b] ? a - b : keys[b] - keys[a])).values();
    return all.map((i) => (entries[i].given < 0 ? i : labelled.next().value));
  }

  // How many of the next m are wrong if each is so with the unknown probability of n others, w of which were: the
  // beta-binomial distribution that follows from Jeffreys' prior.  Entries get less suspicious down the list, so the
  // interval leaves out 1 % below and 5 % above; on simulated tables it held the true number in 91 of 100 cases.
  function expected(w, n, m) {
    const a = w + 0.5, b = n - w + 0.5, shares = [1];
    for (let k = 0; k < m; k++) shares.push(shares[k] * (m - k) / (k + 1) * (k + a) / (m - k - 1 + b));
    const whole = shares.reduce((sum, share) => sum + share, 0);
    const end = (part) => { let sum = 0; return shares.findIndex((share) => (sum += share) >= part * whole); };
    return { mean: Math.round(m * a / (a + b)), low: end(0.01), high: end(0.95) };
  }

  // The beginning of a list in which at least four of five entries have a verdict: what the estimate is based on, because
  // entries further down are less doubtful.
  function front(list) {
    let done = 0, end = 0;
    list.forEach((one, k) => { if (one.verdict !== undefined && 5 * ++done >= 4 * (k + 1)) end = k + 1; });
    const first = list.slice(0, end), told = first.filter((one) => one.verdict >= 0);
    return { told, open: list.slice(end).filter((one) => one.verdict === undefined).length, further: done - first.filter((one) => one.verdict !== undefined).length };
  }

  // `wrong` of the entries at the top of the list, how many entries after them are `open`, and how many are decided;
  // `where` says which list.
  function estimate(wrong, open, further, where) {
    const n = wrong.length, count = (some) => some.filter(Boolean).length, last = count(wrong.slice(-20)), m = Math.min(50, open);
    const apart = further ? " Verdicts further down, behind entries that you left out, do not count here: " + further + "." : "";
    if (n < 30) return "After 30 verdicts from the top of a list" + where + ", this line says how many of the next entries are probably wrong. So far: " + n + "." + apart;
    const head = "Of the " + n + " entries that you decided from the top of this list" + where + ", " + count(wrong) + " were wrong; of the last 20 of them, " + last + ". ";
    if (!m) return head + "None is left." + apart;
    const { mean, low, high } = expected(last, 20, m);
    const worth = 10 * low >= m ? "It is worth going on." : 10 * high <= 2 * m ? "It is hardly worth going on, unless every label error matters." : "About one label error in " + Math.round(m / Math.max(mean, 1)) + " checks: go on if that is worth your time.";
    return head + "If the next " + m + " are like these 20, about " + mean + " of them " + (mean === 1 ? "is" : "are") + " wrong (" + low + " to " + high + "). " + worth + apart;
  }

  // Shares of wrong entries: of all so far, of the last 20, and the band of the estimate.
  function drawCurve(wrong) {
    const pick = (id) => document.getElementById("rv-" + id), n = wrong.length;
    pick("chart").hidden = n < 10;
    if (n < 10) return;
    const share = (some) => some.filter(Boolean).length / some.length, x = (k) => 4 + 192 * k / (n - 1), y = (value) => 44 - 40 * value;
    const path = (of) => wrong.map((_, k) => (k ? "L" : "M") + x(k).toFixed(1) + " " + y(of(k)).toFixed(1)).join("");
    const last = share(wrong.slice(-20)), { low, high } = expected(wrong.slice(-20).filter(Boolean).length, Math.min(20, n), 50);
    pick("curve").setAttribute("aria-label", "wrong so far " + Math.round(100 * share(wrong)) + " %, of the last 20 " + Math.round(100 * last) + " %, expected of the next 50 " + 2 * low + " to " + 2 * high + " %");
    pick("all").setAttribute("d", path((k) => share(wrong.slice(0, k + 1))));
    pick("last").setAttribute("d", path((k) => share(wrong.slice(Math.max(0, k - 19), k + 1))));
    pick("band").setAttribute("y", y(high / 50));
    pick("band").setAttribute("height", 40 * (high - low) / 50);
  }

  // A shade and a line say that a table goes on at the side.
  function markWide() {
    for (const box of document.querySelectorAll(".scroll")) {
      box.classList.toggle("wide", box.scrollWidth > box.clientWidth + 1);
      if (box.classList.contains("wide")) box.tabIndex = 0; // scrolled by keys too
      else if (!box.hasAttribute("aria-label")) box.removeAttribute("tabindex");
    }
  }

  // ---------------------------------------------------------------- files

  const csvLine = (cells) => cells.map((cell) => (/[",\r\n]/.test(cell) ? '"' + cell.replace(/"/g, '""') + '"' : cell)).join(",");

  // Lines of cells of a CSV text, whose separator is that of its first line.
  function parse(text) {
    text = text.replace(/^\ufeff/, "");
    const [head] = text.split(/\r?\n/, 1);
    const mark = [",", ";", "\t"].reduce((a, b) => (head.split(b).length > head.split(a).length ? b : a));
    const rows = [[]];
    let cell = "", inside = false;
    for (let k = 0; k < text.length; k++) {
      const c = text[k];
      if (inside) {
        if (c !== '"') cell += c;
        else if (text[k + 1] === '"') { cell += c; k++; }
        else inside = false;
      } else if (c === '"' && !cell) inside = true;
      else if (c === mark || c === "\n") {
        rows[rows.length - 1].push(cell.replace(/\r$/, ""));
        cell = "";
        if (c === "\n") rows.push([]);
      } else cell += c;
    }
    if (cell || rows[rows.length - 1].length) rows[rows.length - 1].push(cell);
    return rows.filter((row) => row.some((one) => one.trim()));
  }

  return { unpack, make, isolated, readable, plural, small, cell, reasonsOf, marked, strip, widthsOf, front, inOrder, estimate, drawCurve, markWide, csvLine, parse };
})();
