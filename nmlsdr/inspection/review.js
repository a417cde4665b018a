// The lists of annotations to check: one entry at a time, one key a verdict.  All texts of the table are set as text,
// never as markup.  Other scripts of the page see the events "review-ready", "review-entry" and "review-picture" of the
// document, and send "review-show" with {row, label}.
(async function () {
  const { unpack, make, isolated, readable, plural, small, cell, reasonsOf, marked, strip, widthsOf, front, inOrder, estimate, drawCurve, markWide, csvLine, parse } = reviewParts;
  const pick = (id) => document.getElementById("rv-" + id);
  if (!window.DecompressionStream) { pick("old").hidden = false; return; }
  const data = await unpack(pick("data").textContent);
  const entries = data.entries, FOLDED = 40, FIRST = 14; // lines of a table, and those of them that are drawn at once
  const kindOf = (one) => (data.kind === "random" ? "random" : one.given < 0 ? "open" : one.given ? "wrong" : "forgotten"); // open: not labelled
  const parts = data.kind === "all" ? ["forgotten", "wrong"] : [data.kind];
  if (data.kind !== "open" && entries.some((one) => one.given < 0)) parts.push("open");
  const kinds = parts.length > 1 ? ["all", ...parts] : parts;
  const CHECKED = kinds.length; // the number of the last tab
  const titles = { all: "All", forgotten: "Maybe missing", wrong: "Maybe wrong", open: "Not labelled", random: "Random sample" };
  const titleOf = (k) => titles[kinds[k]];
  const inList = (one, k) => one.kind !== "" && (kinds[k] === "all" || one.kind === kinds[k]);
  const places = new Map(data.rows.map((row, k) => [row, k])); // of a row in data.ids, data.has and each column
  const idOf = (row) => data.ids[places.get(row)];
  const prefix = "nmlsdr " + data.digest + " ";
  const keyOf = (one) => prefix + one.row + " " + one.label;
  const keys = new Map(entries.map((one, i) => [keyOf(one), i]));
  const UNCLEAR = data.words.unclear, words = new Map(Object.entries(data.words)), n_listed = entries.length;
  const ranks = { forgotten: 0, wrong: 0, open: 0, random: 0 };
  for (const one of entries) {
    const kind = kindOf(one), place = ["forgotten", "wrong"].includes(kind) ? ranks.forgotten + ranks.wrong : Infinity; // among the doubtful ones
    Object.assign(one, { kind, rank: ++ranks[kind], place });
  }
  let tab = 0, view = [], current = -1, unfolded = false, saved = true, clock = 0, rest = 0, early = false;
  let history = []; // {i, before} of each verdict, the last one last

  function nameOf(row) {
    const number = "row\u00a0" + row;
    return idOf(row) === null ? [number] : [isolated(idOf(row)), " (" + number + ")"];
  }
  // An entry of another label of a listed row, which a person found wrong although it is not on the list.
  function extra(row, label) {
    const i = keys.get(prefix + row + " " + label);
    if (i !== undefined) return i;
    if (!places.has(row) || !data.labels[label] || data.unknown[places.get(row)].includes(label)) return undefined;
    const given = data.has[places.get(row)].includes(label) ? 1 : 0;
    keys.set(prefix + row + " " + label, entries.push({ row, label, given, kind: "", rank: "", having: [], lacking: [], near: [], pull: [], at: [], place: Infinity }) - 1);
    return entries.length - 1;
  }
  const quoted = (label) => ["“", isolated(data.labels[label]), "”"];
  const yesNo = (value) => (value === UNCLEAR ? "cannot tell" : value ? "yes" : "no");

  // ---------------------------------------------------------------- what the browser keeps
  // Each verdict is an item of its own, "value time", so that two windows do not overwrite each other.

  let store = null, full = false; // what is kept is shown even where no more can be kept
  try { store = window.localStorage; } catch { full = true; }

  function keep(i) {
    const one = entries[i], key = keyOf(one);
    saved = false;
    if (!store) return;
    try {
      if (one.verdict === undefined) store.removeItem(key);
      else store.setItem(key, one.verdict + " " + one.time);
    } catch { full = true; } // the space is used up
  }

  // Take over what an item says; null: it was removed.
  function take(key, item) {
    const place = key.startsWith(prefix) ? /^(\d+) (\d+)$/.exec(key.slice(prefix.length)) : null;
    const i = place ? extra(Number(place[1]), Number(place[2])) : undefined;
    const found = /^([01]|-2) (\d+)$/.exec(item === null ? "" : item);
    if (i === undefined || (item !== null && !found)) return;
    entries[i].verdict = found ? Number(found[1]) : undefined;
    entries[i].time = found ? Number(found[2]) : undefined;
    clock = Math.max(clock, entries[i].time || 0);
  }

  function restore() {
    for (let k = 0; store && k < store.length; k++) take(store.key(k), store.getItem(store.key(k)));
    history = decided().reverse().map((i) => ({ i, before: undefined }));
    try {
      store.setItem(prefix + "test", "0 0");
      store.removeItem(prefix + "test");
    } catch { full = true; }
  }

  window.addEventListener("storage", (event) => {
    if (event.key === null) for (const one of entries) one.verdict = one.time = undefined; // everything was removed
    else take(event.key, event.newValue);
    history = history.filter(({ i }) => entries[i].verdict !== undefined);
    showAll();
  });

  window.addEventListener("beforeunload", (event) => {
    if (full && !saved) event.preventDefault();
  });

  // ---------------------------------------------------------------- verdicts

  const decided = () => entries.map((_, i) => i).filter((i) => entries[i].verdict !== undefined)
    .sort((a, b) => entries[b].time - entries[a].time); // the last one first
  const isTold = (one) => one !== undefined && (one.verdict === 0 || one.verdict === 1);
  const isOpen = (one) => one.given < 0; // not labelled
  const isWrong = (one) => isTold(one) && !isOpen(one) && one.verdict !== one.given;
  // The entries of the list that is chosen, of the label that is chosen, in their order and without the audit.
  const listed = () => inOrder(entries).map((i) => entries[i]).filter((one) => !one.audit && !isOpen(one) && inList(one, tab === CHECKED ? 0 : tab) && (tab === CHECKED || ["", String(one.label)].includes(pick("label").value)));

  function decide(i, value) {
    history.push({ i, before: entries[i].verdict });
    setVerdict(i, value);
  }

  function setVerdict(i, value) {
    clock = Math.max(Date.now(), clock + 1);
    entries[i].verdict = value;
    entries[i].time = value === undefined ? undefined : clock;
    keep(i);
  }

  function answer(value) {
    if (current < 0) return;
    decide(current, value);
    say("");
    if (entries[current].audit && entries.every((one) => !one.audit || one.verdict !== undefined)) showList(); // which orders the others
    later();
  }

  // Go to the next open entry of the list, after the last one to the first.
  function later() {
    const place = view.indexOf(current);
    const ahead = [...view.slice(place + 1), ...view.slice(0, place)];
    const next = tab === CHECKED ? view[place + 1] : ahead.find((i) => entries[i].verdict === undefined);
    if (next === undefined && entries[current] && entries[current].verdict !== undefined)
      say("Nothing is left to check in this list" + (pick("label").value || pick("search").value ? " as it is filtered." : "."));
    go(next === undefined ? current : next);
  }

  function undo() {
    const last = history.pop();
    if (!last) { say("There is no verdict to take back."); return; }
    setVerdict(last.i, last.before);
    reveal(last.i);
    say("The last verdict was taken back.");
  }

  function move(step) {
    const next = view[view.indexOf(current) + step];
    if (next !== undefined) go(next);
  }

  // ---------------------------------------------------------------- what is shown

  function inView(i) {
    const one = entries[i], label = pick("label").value, text = pick("search").value.trim().toLowerCase();
    if (tab === CHECKED ? one.verdict === undefined : !inList(one, tab)) return false;
    if (label !== "" && one.label !== Number(label)) return false;
    if (!text || String(one.row) === text || (idOf(one.row) || "").toLowerCase().includes(text)) return true;
    return data.cells.some((column) => column[places.get(one.row)].toLowerCase().includes(text));
  }

  function showList() {
    view = (tab === CHECKED ? decided() : inOrder(entries)).filter(inView);
    if (!view.includes(current)) {
      const open = view.find((i) => entries[i].verdict === undefined);
      current = open !== undefined ? open : view.length ? view[0] : -1;
    }
    const earlier = tab === CHECKED && !pick("label").value && !pick("search").value ? data.earlier : []; // row, label, given, verdict
    pick("list").replaceChildren(...view.map(option), ...earlier.map(([row, label, , verdict]) =>
      make("p", { role: "option", "aria-disabled": true }, ...nameOf(row), " · ", isolated(data.labels[label]), " · " + yesNo(verdict) + " (earlier)")));
    pick("list-title").textContent = (tab === CHECKED ? "Checked" : titleOf(tab)) + " (" + (view.length + earlier.length) + ")";
  }

  function option(i) {
    const one = entries[i], mark = one.verdict === undefined ? "" : yesNo(one.verdict);
    return make("div", { role: "option", id: "rv-o" + i, "aria-selected": i === current, class: one.verdict === undefined ? "" : "done" },
      make("span", { class: "rv-who" }, ...nameOf(one.row)), make("span", { class: "rv-what" }, isolated(data.labels[one.label])),
      make(mark && isWrong(one) ? "b" : "span", { class: "rv-mark" }, mark));
  }

  function showTabs() {
    pick("tabs").replaceChildren(...[...kinds.map((_, k) => [titleOf(k), entries.filter((one) => inList(one, k)).length]), ["Checked", decided().length + data.earlier.length]]
      .map(([title, n], k) => make("button", { type: "button", role: "tab", id: "rv-tab" + k, "aria-selected": k === tab,
        "aria-controls": "rv-panel", tabindex: k === tab ? 0 : -1 }, title, " ", make("span", { class: "quiet" }, String(n)))));
    pick("panel").setAttribute("aria-labelledby", "rv-tab" + tab);
  }

  function showLabels() {
    const counts = new Map();
    for (const one of entries) if (tab === CHECKED ? one.verdict !== undefined : inList(one, tab)) counts.set(one.label, (counts.get(one.label) || 0) + 1);
    const before = pick("label").value;
    pick("label").replaceChildren(make("option", { value: "" }, "all"),
      ...[...counts].map(([label, n]) => make("option", { value: label }, readable(data.labels[label]) + " (" + n + ")")));
    pick("label").value = counts.has(Number(before)) ? before : "";
  }

  function showProgress() {
    const done = decided(), made = done.map((i) => entries[i]), wrong = made.filter(isWrong).length, answered = made.filter((one) => isTold(one) && isOpen(one)).length;
    const more = done.filter((i) => i >= n_listed).length, unclear = made.filter((one) => !isTold(one)).length, top = front(listed()), audit = entries.filter((one) => one.audit), left = audit.filter((one) => one.verdict === undefined).length;
    pick("progress").textContent = (done.length - more) + " of " + plural(n_listed, "entry") + " checked" + (data.kind === "open" ? "" : "; label errors: " + wrong) + (answered ? "; " + plural(answered, "new label") : "")
      + (unclear ? ", and it cannot be told in " + unclear : "") + (more ? "; " + more + (more === 1 ? " of them is another label" : " of them are other labels") + " of these rows" : "")
      + (data.earlier.length ? "; " + data.earlier.length + " more were checked earlier" : "") + ". "
      + (left ? "The list begins with an audit of its labels, of which " + left + " of " + audit.length + " are left; then come the kinds and labels with more label errors. " : "")
      + (!full ? "Each verdict is kept in this browser." : "This browser keeps nothing more for this page: save the verdicts as a file before you close it.");
    pick("progress").classList.toggle("rv-alarm", full);
    pick("estimate").textContent = kinds[tab] === "open" ? "" : data.kind === "random" ? sampled(made) : estimate(top.told.map(isWrong), top.open, top.further, audit.length ? ", after its audit" : "");
    drawCurve(data.kind === "random" ? [] : top.told.map(isWrong));
    pick("undo").disabled = !history.length;
    pick("forget").disabled = !done.length;
    pick("save").disabled = !done.length && !data.earlier.length;
    pick("kept").textContent = "The file has a line for each verdict" + (data.earlier.length ? ", also for those that were given earlier" : "")
      + ". The command reads it with --reviewed, Python with read_verdicts. To go on from a file, drop it on this page or choose it here.";
  }

  // What the verdicts on a random sample show so far; the command prints the interval.
  function sampled(made) {
    const told = made.filter((one) => isTold(one) && one.kind === "random"), wrong = told.filter(isWrong).length;
    return "A random sample shows how many labels are wrong, without any model. So far " + wrong + " of " + told.length + " were wrong. The command prints the error rate and its interval when it reads the verdicts (--reviewed).";
  }

  function showEntry() {
    pick("entry").hidden = current < 0;
    pick("empty").hidden = current >= 0;
    if (current < 0) { pick("list").removeAttribute("aria-activedescendant"); return; }
    const one = entries[current], done = one.verdict !== undefined;
    pick("question").replaceChildren("Does ", ...nameOf(one.row), " have ", ...quoted(one.label), "?");
    const known = one.near.filter((value) => value >= 0), of = known.length, near = known.filter((value) => value === 1).length;
    pick("given").replaceChildren(...(isOpen(one) ? [make("b", {}, "Not labelled"), "; the model is unsure."] : ["Given: ", make("b", {}, yesNo(one.given)), "."]),
      ...(data.copies[one.row] ? [" This row stands " + data.copies[one.row] + " times in the table; a verdict counts for all of them."] : []));
    pick("verdict").hidden = !done;
    pick("verdict").textContent = done ? "Your verdict: " + yesNo(one.verdict) + (isTold(one) && !isOpen(one) ? isWrong(one) ? ". The given label is wrong." : ". The given label is right." : ".") : "";
    // What the list is sorted by would answer in place of the reader, so it comes after the verdict.
    pick("place").textContent = !done && !early ? "Place in the list and score: after your verdict (key\u00a0k goes back to it), or now (key\u00a0e)."
      : "Entry " + (view.indexOf(current) + 1) + " of " + view.length + (tab === CHECKED ? ", checked" : "") + (one.audit ? ", audit" : "") + "."
        + (of ? " Of its " + of + " nearest labelled rows " + near + (near === 1 ? " has" : " have") + " the label." : "")
        + (one.score === undefined || data.kind === "random" ? "" : (isOpen(one) ? " Probability by the model " : " Score ") + Number(one.score.toPrecision(2)) + ".");
    for (const [id, value] of [["yes", 1], ["no", 0], ["unclear", UNCLEAR]]) pick(id).setAttribute("aria-pressed", one.verdict === value);
    pick("own").hidden = !data.pictures;
    if (data.pictures) pick("own").replaceChildren(pictureOf(one.row));
    showOthers(one);
    showTexts(one);
    showCells(one);
    for (const other of pick("list").querySelectorAll("[aria-selected=true]")) other.setAttribute("aria-selected", "false");
    const item = document.getElementById("rv-o" + current);
    if (item) {
      item.setAttribute("aria-selected", "true");
      pick("list").setAttribute("aria-activedescendant", item.id);
      const top = item.offsetTop - pick("list").offsetTop, box = pick("list");
      if (top < box.scrollTop || top + item.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 3;
    }
    document.dispatchEvent(new CustomEvent("review-entry", { detail: { row: one.row, label: one.label } }));
  }

  // What to know of the label of another row before one counts on it: it is doubtful itself, or what was said of it.
  function noteOn(row, label) {
    const i = keys.get(prefix + row + " " + label), one = entries[i];
    if (!one || one.verdict === undefined) return one && one.place < data.doubtful ? "doubtful too" : "";
    return isTold(one) ? "you said: " + (!isWrong(one) ? "right" : one.given ? "wrong label" : "missing label") : "you could not tell";
  }

  function labelsOf(row) {
    const names = (some) => some.map((c) => data.labels[c]).join(", "), has = data.has[places.get(row)], unknown = data.unknown[places.get(row)];
    return (names(has) || "none") + (unknown.length ? "; unknown: " + (unknown.length > 3 ? plural(unknown.length, "label") : names(unknown)) : "");
  }

  // The texts of the row, in which the words are marked that speak for the label and against it, and those of its neighbours.
  function showTexts(one) {
    const textsOf = (row) => data.texts.map((j) => [data.columns[j], data.cells[j][places.get(row)]]).filter(([, text]) => text);
    const line = ([name, text], contents) => make("p", { class: "rv-text" }, ...(data.texts.length > 1 ? [small(readable(name) + ": ")] : []), ...contents(text));
    pick("text").replaceChildren(...textsOf(one.row).map((pair) => line(pair, (text) => [marked(text, one.why)])));
    pick("why").replaceChildren(...reasonsOf(one.why || []));
    const side = (word, rows) => (rows.length ? [make("h4", {}, "Texts of the nearest rows " + word + " ", ...quoted(one.label)), ...rows.flatMap(([row]) => [make("p", { class: "rv-whose quiet" }, ...nameOf(row)), ...textsOf(row).map((pair) => line(pair, cell))])] : []);
    pick("near").replaceChildren(...(data.texts.length ? [...side("with", one.having), ...side("without", one.lacking)] : []));
  }

  // The row beside its nearest labelled rows: a line for each column that is no text.
  function showCells(one) {
    const sides = [one.having, one.lacking], near = sides.flat(), rows = [one.row, ...near.map(([row]) => row)], at = rows.map((row) => places.get(row));
    const edges = new Set([1, 1 + one.having.length]), classOf = (k) => (k ? edges.has(k) ? "edge" : "" : "own");
    const heads = ["with", "without"].map((word, k) => sides[k].length
      ? make("th", { colspan: sides[k].length, scope: "colgroup", class: "side" }, "nearest " + (sides[k].length === 1 ? "row " : "rows ") + word + " ", ...quoted(one.label), small("distance " + [...new Set([sides[k][0][1], sides[k].slice(-1)[0][1]])].join(" to "))) : "");
    const notes = rows.map((row, k) => (k ? noteOn(row, one.label) : ""));
    const names = rows.map((row, k) => make("th", { scope: "col", class: classOf(k) }, ...(k ? [...(idOf(row) === null ? [] : [isolated(idOf(row))]),
      small("row\u00a0" + row), ...(notes[k] ? [make("span", { class: "rv-note" }, notes[k])] : [])] : ["this row"])));
    const told = data.told[one.label] || [], lines = new Map(told.map((line, k) => [line[0], k])), pulls = new Map(one.pull.map((k) => [told[Math.abs(k) - 1][0], k]));
    const columns = [...new Set([...pulls.keys(), ...lines.keys(), ...data.columns.keys()])].filter((j) => !data.texts.includes(j));
    const shown = columns.filter((j, place) => unfolded || place < FOLDED || data.always.includes(j));
    const given = rows.map(labelsOf), texts = shown.map((j) => at.map((place) => data.cells[j][place]));
    const line = (head, drawn, contents) => make("tr", {}, head, make("td", {}, drawn), ...contents.map((content, k) =>
      make("td", { class: classOf(k) + (k && content === contents[0] ? " same" : "") }, ...cell(content))));
    const lineOf = (j, k) => {
      const pull = pulls.get(j), arrow = pull ? [make("span", { class: "pull", role: "img", "aria-label": pull > 0 ? "speaks for the label" : "speaks against the label" }, pull > 0 ? "▲" : "▼"), "\u00a0"] : [];
      return line(make("th", { scope: "row" }, ...arrow, isolated(data.columns[j])), lines.has(j) ? strip(told[lines.get(j)], one.at[lines.get(j)], data.labels[one.label]) : "", texts[k]);
    };
    const body = [...(data.pictures ? [line(make("th", { scope: "row" }, "picture"), "", rows.map(pictureOf))] : []),
      line(make("th", { scope: "row", class: "labels" }, "labels given"), "", given), ...shown.slice(0, FIRST).map(lineOf)];
    clearTimeout(rest); // the other columns after the next picture, so that a key is answered at once
    rest = setTimeout(() => { pick("cells").lastChild.append(...shown.slice(FIRST).map((j, k) => lineOf(j, k + FIRST))); markWide(); }, 30);
    pick("cells").replaceChildren(
      widthsOf(shown.map((j) => data.columns[j]), [given, ...(idOf(one.row) === null ? [] : [rows.map(idOf)]), ...texts], pick("cells")),
      make("thead", {}, make("tr", {}, make("td"), make("td"), make("td", { class: "own" }), ...heads), make("tr", {}, make("th", { scope: "col" }, data.columns.length ? "column" : ""),
        make("th", { scope: "col" }, told.length ? "all rows" : ""), ...names)),
      make("tbody", {}, ...body));
    pick("order").replaceChildren(...(data.columns.length ? sentence(one, told.length) : ["The cells of the table are not on this page."]),
      ...(notes.includes("doubtful too") ? [" Doubtful too: that row’s own ", ...quoted(one.label), " is near the top of this list, so do not count on it."] : []));
    pick("fold").hidden = columns.length <= FOLDED || columns.length === shown.length && !unfolded;
    pick("fold").textContent = unfolded ? "Show fewer columns" : "Show " + plural(columns.length - shown.length, "more column");
    pick("fold").setAttribute("aria-expanded", unfolded);
    pick("picture").hidden = !data.linked;
  }

  function sentence(one, any) {
    const same = " A grey cell equals that of this row.";
    if (!any) return ["No column tells these rows apart by itself, so they stand in the order of the table." + same];
    return ["▲ speaks for ", ...quoted(one.label), " in this row, ▼ against it. Under “all rows”: rows with the label above (blue), without it below (grey), this row (red); the numbers are the ends of the scale. A column without such a drawing tells nothing by itself." + same];
  }

  // The other labels of the row as switches: who sees one more label error records it.
  function showOthers(one) {
    const has = data.has[places.get(one.row)], unknown = data.unknown[places.get(one.row)];
    const some = data.labels.map((_, c) => c).filter((c) => c !== one.label && !unknown.includes(c) && !data.earlier.some(([row, label]) => row === one.row && label === c));
    const shown = some.length <= 16 ? some : some.filter((c) => has.includes(c)), rest = some.length <= 16 ? [] : some.filter((c) => !has.includes(c));
    const button = (c) => {
      const i = keys.get(prefix + one.row + " " + c), other = entries[i], given = has.includes(c) ? 1 : 0;
      const made = make("button", { type: "button", "aria-pressed": (isTold(other) ? other.verdict : given) === 1, class: isWrong(other) ? "changed" : "" }, isolated(data.labels[c]));
      made.addEventListener("click", () => change(one, c, given));
      return made;
    };
    pick("others").replaceChildren(...(some.length ? ["Click another label of this row if it is wrong, too: ", ...shown.map(button), ...(rest.length ? [make("details", {}, make("summary", {}, plural(rest.length, "more label")), ...rest.map(button))] : [])] : []));
  }

  function change(one, c, given) {
    const i = extra(one.row, c), last = history.filter((one) => one.i === i && one.before !== entries[i].verdict).pop();
    decide(i, isWrong(entries[i]) ? last && last.before : 1 - given); // a second click gives back what stood there
    say("");
    showAll();
  }

  function pictureOf(row) {
    const [name, source] = data.pictures[places.get(row)];
    return source ? make("button", { type: "button", class: "rv-enlarge" }, make("img", { src: source, alt: readable(name) })) : readable(name);
  }

  function showAll() {
    showTabs();
    showLabels();
    showList();
    showProgress();
    showEntry();
  }

  // Show an entry; the heading gets the focus, so that a screen reader reads the question and space is no click.
  function go(i, focus = true) {
    const before = current;
    current = i;
    if (tab === CHECKED) { showLabels(); showList(); }
    for (const k of [before, i]) {
      const item = document.getElementById("rv-o" + k);
      if (item) item.replaceWith(option(k));
    }
    showTabs();
    showProgress();
    showEntry();
    if (focus && current >= 0) {
      pick("question").focus({ preventScroll: true });
      if (pick("question").getBoundingClientRect().top < 0) pick("panel").scrollIntoView();
    }
  }

  // Show an entry wherever it is: in its list, without a filter that hides it.
  function reveal(i, focus = true) {
    if (tab === CHECKED || !inList(entries[i], tab)) tab = entries[i].kind ? 0 : CHECKED;
    showLabels();
    if (!inView(i)) pick("label").value = pick("search").value = "";
    current = i;
    showAll();
    go(i, focus);
  }

  function say(text) {
    pick("said").textContent = text;
    pick("said").hidden = !text;
  }

  // ---------------------------------------------------------------- files

  // A cell that a spreadsheet does not read as a formula, in quotes where it needs them.
  const formula = new RegExp(data.formula);
  const escaped = (cell) => (formula.test(cell) ? "'" + cell : cell);
  const named = (row) => (data.key ? [escaped(idOf(row)), row] : [row]), checkOf = (row) => data.checks[places.get(row)];

  // The list as --reviewed takes it: the columns of the list of `nmlsdr review`.
  function save() {
    const head = [...(data.key ? [escaped(data.key)] : []), "row", "label", "score", "suggest", "kind", "rank", "audit", "check", "verdict"];
    const said = (verdict) => (verdict === UNCLEAR ? "unclear" : verdict), suggested = (given) => ["add", "remove"][given] || "";
    const lines = [...data.earlier.map(([row, label, given, verdict]) => [...named(row), escaped(data.labels[label]), "", suggested(given), "", "", "", checkOf(row), said(verdict)]),
      ...entries.filter((one) => one.verdict !== undefined).map((one) => [...named(one.row), escaped(data.labels[one.label]),
        one.score === undefined ? "" : Number(one.score.toPrecision(3)), suggested(one.given), one.kind, one.rank, one.audit ? "yes" : "", checkOf(one.row), said(one.verdict)])];
    const text = [head, ...lines].map((cells) => csvLine(cells.map(String))).join("\r\n");
    const file = new Blob(["\ufeff" + text + "\r\n"], { type: "text/csv;charset=utf-8" });
    const link = make("a", { href: URL.createObjectURL(file), download: data.file });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    saved = true;
    say(plural(lines.length, "verdict") + " written to " + data.file + ".");
  }

  // Take the verdicts of a list, which may have been saved by a spreadsheet.  A row is found by its check and by its id.
  function load(text, name) {
    const [head = [], ...lines] = parse(text), bare = (one) => (one || "").trim().replace(/^'/, ""), word = (one) => bare(one).normalize("NFC").toLowerCase().normalize("NFC");
    const names = head.map(word), [check, label, verdict, suggest] = ["check", "label", "verdict", "suggest"].map((one) => names.indexOf(one)), id = data.key ? names.indexOf(word(data.key)) : -1;
    if (Math.max(check, id) < 0 || label < 0 || verdict < 0) { say(name + " has no columns check" + (data.key ? " or " + data.key : "") + ", label and verdict, so nothing was taken from it."); return; }
    const labels = new Map(data.labels.map((name, c) => [bare(name), c])), checks = new Map(data.checks.map((one, k) => [one, data.rows[k]]));
    const ids = new Map(data.key ? data.ids.map((one, k) => [bare(one), data.rows[k]]) : []), found = new Map(); // of each entry what was said, and whether all said it
    let others = 0, unclear = 0, changed = 0;
    for (const cells of lines) {
      const said = word(cells[verdict]), own = bare(cells[id]), c = labels.get(bare(cells[label])), same = checks.get(bare(cells[check]));
      if (!said || said === "?") continue;
      const at = same === undefined && data.unique ? ids.get(own) : same, before = data.earlier.find(([row, label]) => row === at && label === c), i = before ? -1 : extra(at, c);
      if (i === undefined || ids.has(own) && bare(idOf(at)) !== own) { others++; continue; } // which has the check of one row and the id of another, too
      const value = said === "keep" ? ({ add: 0, remove: 1 })[word(cells[suggest])] ?? (before || [0, 0, entries[i].given])[2] : words.get(said);
      if (value === undefined || value === -1) { unclear++; continue; } // -1: keeps what is not labelled
      changed += same === undefined && check >= 0;
      const one = found.get(at + " " + c) || { i, value: (before ? before[3] : entries[i].verdict) ?? value, agree: true };
      found.set(at + " " + c, { ...one, agree: one.agree && one.value === value });
    }
    const taken = [...found.values()].filter(({ i, agree }) => agree && i >= 0 && entries[i].verdict === undefined), differ = [...found.values()].filter(({ agree }) => !agree).length;
    for (const { i, value } of taken) decide(i, value);
    if (tab !== CHECKED && current >= 0 && entries[current].verdict !== undefined) current = -1; // the first open entry, so that no key changes a verdict of the file
    showAll();
    say("Took " + plural(taken.length, "verdict") + " from " + name + "." + (others ? " " + plural(others, "line") + " of other entries " + (others === 1 ? "was" : "were") + " not taken: keep that file, since the next one will not have them." : "")
      + (differ ? " Two verdicts differ on " + plural(differ, "entry") + ", and neither was taken: what was decided here before stays. Decide these here." : "")
      + (changed ? " The cells of the row are others than on this page: " + plural(changed, "line") + ", found by the id." : "")
      + (unclear ? " Neither yes nor no: " + plural(unclear, "line") + "." : ""));
  }

  function forget() {
    if (!window.confirm("Forget the verdicts that were given on this page? They are removed from this browser and cannot be restored.")) return;
    for (const i of decided()) { entries[i].verdict = entries[i].time = undefined; keep(i); }
    history = [];
    saved = true;
    say("The verdicts given on this page were forgotten." + (data.earlier.length ? " Those of the earlier file stay." : ""));
    showAll();
  }

  // ---------------------------------------------------------------- keys and clicks

  const actions = { 1: () => answer(1), 0: () => answer(0), x: () => answer(UNCLEAR), e: () => { early = !early; showEntry(); }, " ": later, u: undo, j: () => move(1), k: () => move(-1), "?": () => pick("help").showModal() };

  document.addEventListener("keydown", (event) => {
    const at = event.target instanceof Element ? event.target : document.body;
    if (data.linked && !pick("part").contains(at)) return; // in a report, where space scrolls, they are those of this part only
    if (event.ctrlKey || event.altKey || event.metaKey || pick("help").open || at.closest("input, select, textarea")) return;
    if (event.key === " " && at.closest("button, summary, a")) return; // there it is a click
    const action = actions[event.key.toLowerCase()];
    if (!action || (event.repeat && !"jk".includes(event.key))) return; // a key held down is one verdict
    event.preventDefault();
    action();
  });

  pick("list").addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], end = { Home: view[0], End: view[view.length - 1] }[event.key];
    const next = step ? view[view.indexOf(current) + step] : end;
    if (next === undefined) return;
    event.preventDefault();
    go(next, false);
  });
  pick("list").addEventListener("click", (event) => {
    const item = event.target.closest("[role=option][id]");
    if (item) go(Number(item.id.slice(4)));
  });
  function choose(k) {
    tab = k;
    pick("label").value = "";
    current = -1;
    showAll();
  }
  pick("tabs").addEventListener("click", (event) => {
    const item = event.target.closest("[role=tab]");
    if (item) { choose(Number(item.id.slice(6))); pick("tabs").querySelector("[aria-selected=true]").focus(); }
  });
  pick("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    choose((tab + step + CHECKED + 1) % (CHECKED + 1));
    pick("tabs").querySelector("[aria-selected=true]").focus();
  });
  pick("entry").addEventListener("click", (event) => {
    const picture = event.target.closest(".rv-enlarge img") || (event.target.closest(".rv-enlarge") || pick("empty")).querySelector("img");
    if (!picture) return;
    pick("larger").replaceChildren(picture.cloneNode());
    pick("large").showModal();
  });
  pick("large").addEventListener("click", () => pick("large").close());
  for (const [id, action] of [["yes", () => answer(1)], ["no", () => answer(0)], ["unclear", actions.x], ["later", later], ["undo", undo], ["save", save], ["forget", forget],
    ["keys", actions["?"]], ["fold", () => { unfolded = !unfolded; showEntry(); }]]) pick(id).addEventListener("click", action);
  // After a click of the mouse the next space is "later" and not another click.
  pick("part").addEventListener("click", (event) => {
    if (event.detail && event.target.closest("button, summary")) pick("question").focus({ preventScroll: true });
  });
  pick("label").addEventListener("change", () => { current = -1; showList(); showProgress(); showEntry(); });
  pick("search").addEventListener("input", () => { showList(); showEntry(); });
  pick("picture").addEventListener("click", () => {
    const one = entries[current];
    document.dispatchEvent(new CustomEvent("review-picture", { detail: { row: one.row, label: one.label } }));
  });
  document.addEventListener("review-show", ({ detail }) => {
    const found = entries.map((_, i) => i).filter((i) => entries[i].row === detail.row);
    const i = found.find((one) => entries[one].label === detail.label);
    if (i === undefined && !found.length) return;
    reveal(i === undefined ? found[0] : i);
    pick("panel").scrollIntoView();
  });

  async function loadFiles(files) {
    for (const file of files) load(await file.text(), file.name);
  }
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => { event.preventDefault(); loadFiles([...event.dataTransfer.files]); });
  pick("file").addEventListener("change", () => { loadFiles([...pick("file").files]); pick("file").value = ""; });
  window.addEventListener("resize", () => { showEntry(); markWide(); });
  document.addEventListener("toggle", markWide, true);

  restore();
  showAll();
  document.documentElement.dataset.review = "ready";
})();
