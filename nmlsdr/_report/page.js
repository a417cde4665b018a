"use strict";
(function () {
  const data = JSON.parse(document.getElementById("rows").textContent);
  const box = document.getElementById("picture"), hint = document.getElementById("hint");
  const circles = Array.from(box.querySelectorAll("circle"));
  const byIndex = new Map(data.names.map((label) => [label.index, label.name]));
  const pick = (id) => document.getElementById(id);

  function kindOf(i, label) {
    const unknown = data.unknown[i];
    if (unknown === null || unknown.includes(label)) return "none";
    return data.labels[i].includes(label) ? "on" : "off";
  }

  // Colours and rings of the chosen label, on the two axes that show it best.
  function color() {
    const label = Number(pick("label").value), suspects = new Set(data.suspects[label]);
    circles.forEach((circle, i) => {
      const kind = kindOf(i, label), ringed = suspects.has(data.rows[i]);
      circle.classList.toggle("on", kind === "on");
      circle.classList.toggle("none", kind === "none");
      circle.classList.toggle("ring", ringed);
      circle.setAttribute("r", ringed ? 9 : 5);
    });
    if (pick("across")) [pick("across").value, pick("up").value] = data.best[label];
    move();
  }

  function move() {
    const [across, up] = pick("across") ? [Number(pick("across").value), Number(pick("up").value)] : [0, 1];
    circles.forEach((circle, i) => {
      circle.setAttribute("cx", data.places[i][across]);
      circle.setAttribute("cy", 1000 - data.places[i][up]);
    });
  }

  function show(circle, left, top) {
    const i = circles.indexOf(circle);
    const names = data.labels[i].map((label) => byIndex.get(label));
    const text = data.unknown[i] === null ? "unlabelled" : names.join(", ") || "no label";
    hint.textContent = data.ids[i] + ": " + text;
    hint.hidden = false;
    const space = box.clientWidth - hint.offsetWidth;
    hint.style.left = Math.max(0, Math.min(left + 12, space)) + "px";
    hint.style.top = top + 14 + "px";
  }

  let lit = null;
  function nearest(event) {
    const place = box.getBoundingClientRect();
    const left = event.clientX - place.left, top = event.clientY - place.top;
    const scale = 1000 / box.clientWidth;
    let best = null, least = 18 * 18 * scale * scale;
    for (const circle of circles) {
      const dx = circle.cx.baseVal.value - left * scale, dy = circle.cy.baseVal.value - top * scale;
      if (dx * dx + dy * dy < least) { least = dx * dx + dy * dy; best = circle; }
    }
    if (lit) lit.classList.remove("lit");
    lit = best;
    if (!best) { hint.hidden = true; return; }
    best.classList.add("lit");
    show(best, left, top);
  }

  // A click on a point shows its entry in the list; the entry's button marks its point here.
  box.addEventListener("click", (event) => {
    nearest(event);
    if (!lit) return;
    const detail = { row: data.rows[circles.indexOf(lit)], label: Number(pick("label").value) };
    document.dispatchEvent(new CustomEvent("review-show", { detail }));
  });
  document.addEventListener("review-picture", ({ detail }) => {
    pick("label").value = detail.label;
    color();
    const i = data.rows.indexOf(detail.row);
    for (const circle of circles) circle.classList.toggle("chosen", circle === circles[i]);
    document.getElementById("embedding").scrollIntoView();
    if (i < 0) return;
    const scale = box.clientWidth / 1000;
    show(circles[i], circles[i].cx.baseVal.value * scale, circles[i].cy.baseVal.value * scale);
  });

  box.addEventListener("pointermove", nearest);
  box.addEventListener("pointerdown", nearest);
  box.addEventListener("pointerleave", () => { hint.hidden = true; if (lit) lit.classList.remove("lit"); });
  pick("label").addEventListener("change", color);
  for (const id of ["across", "up"]) if (pick(id)) pick(id).addEventListener("change", move);
  // The script shows the texts at once; the slow ones of the browser would stand beside it.
  box.querySelectorAll("title").forEach((title) => title.remove());
  document.querySelectorAll(".needs-script").forEach((part) => { part.hidden = false; });
  color();

  // Closed parts would be missing on paper.
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = Array.from(document.querySelectorAll("section > details:not([open])"));
    opened.forEach((part) => { part.open = true; });
  });
  window.addEventListener("afterprint", () => opened.forEach((part) => { part.open = false; }));
  // A link to a folded part opens it.
  function unfold() {
    const part = document.getElementById(location.hash.slice(1));
    if (part instanceof HTMLDetailsElement) part.open = true;
  }
  window.addEventListener("hashchange", unfold);
  unfold();

  document.documentElement.dataset.ready = "yes";
})();
