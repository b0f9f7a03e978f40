"use strict";
// Everything is in the page already: this only shows, hides and copies parts of it, and puts no
// text in as markup.
(() => {
  const root = document.documentElement;
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const at = (id) => document.getElementById(id);
  const sets = JSON.parse(at("data").textContent).sets.map((set) => new Set(set));
  const many = (number, noun) => `${number || "no"} ${noun}${number === 1 ? "" : "s"}`;

  root.classList.add("js");
  all("#tools, #filters, #theme, .copy, .panel").forEach((part) => { part.hidden = false; });

  // Light or dark: the system's choice until the reader makes one.

  const stored = (change) => { try { return change(localStorage); } catch { return null; } };
  const chosen = stored((store) => store.getItem("distcycle-theme"));
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  at("theme").addEventListener("click", () => {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const theme = (root.dataset.theme || system) === "dark" ? "light" : "dark";
    root.dataset.theme = theme;
    stored((store) => store.setItem("distcycle-theme", theme));
  });

  // A choice of target greys what does not hold there.

  const target = at("target");
  const placed = all("[data-on]");
  const cells = all("[data-target]");
  const chooseTarget = () => {
    const place = target.selectedIndex - 1;
    for (const part of placed) {
      part.classList.toggle("off", place >= 0 && !sets[part.dataset.on].has(place));
    }
    for (const cell of cells) cell.classList.toggle("chosen", cell.dataset.target === target.value);
    const loops = all(".loop:not(.off)").length;
    at("told").textContent = place < 0 ? "" : `${many(loops, "loop")} on ${target.value}`;
  };
  target.addEventListener("change", chooseTarget);
  document.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-target]");
    if (!cell) return;
    target.value = target.value === cell.dataset.target ? "" : cell.dataset.target;
    chooseTarget();
  });

  // Search marks packages in the drawings and, with the filters, hides what does not match.

  const findings = all(".finding");
  const words = new Map(all("[data-text]").map((part) => [part, part.textContent.toLowerCase()]));
  const names = new Map(all("[data-name]").map((node) => [node, node.dataset.name.toLowerCase()]));
  const filter = () => {
    const text = at("search").value.trim().toLowerCase();
    const kinds = new Set(all("[name=kind]:checked").map((box) => box.value));
    const code = at("code") ? at("code").value : "";
    for (const [part, own] of words) {
      const { kind, code: ownCode } = part.dataset;
      part.hidden = !own.includes(text) || (kind && !kinds.has(kind)) || (code && ownCode && ownCode !== code);
    }
    for (const [node, own] of names) node.classList.toggle("found", text !== "" && own.includes(text));
    const shown = findings.filter((part) => !part.hidden).length;
    if (at("counted")) at("counted").textContent = `${shown} of ${many(findings.length, "finding")} shown`;
  };
  for (const form of [at("tools"), at("filters")]) {
    if (!form) continue;
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
  }
  filter();

  // Details of what is pointed at or focused. The parts of the list below are shown beside it.

  const listed = (part) => at(part.getAttribute("href").slice(1));
  const heading = (text) => Object.assign(document.createElement("h5"), { textContent: text });
  const copies = (parts) => {
    const list = document.createElement("ul");
    for (const part of parts) {
      const copy = listed(part).cloneNode(true);
      copy.removeAttribute("id");
      list.append(copy);
    }
    return list;
  };
  for (const figure of all(".drawing")) {
    const canvas = figure.querySelector(".canvas");
    const svg = canvas.querySelector("svg");
    const panel = figure.querySelector(".panel");
    const arrows = all(".arrow", svg);
    const nodes = new Map(all(".node", svg).map((node) => [node.getAttribute("href").slice(1), node]));
    const ends = (arrow) => arrow.dataset.ends.split(" ");
    let kept = null;

    const light = (parts) => {
      for (const part of [...arrows, ...nodes.values()]) part.classList.toggle("lit", parts.has(part));
      svg.classList.toggle("dim", parts.size > 0);
    };
    const show = (part) => {
      if (part.matches(".arrow")) {
        panel.replaceChildren(copies([part]));
        light(new Set([part, ...ends(part).map((id) => nodes.get(id))]));
      } else {
        const own = part.getAttribute("href").slice(1);
        const mine = arrows.filter((arrow) => ends(arrow).includes(own));
        const going = mine.filter((arrow) => ends(arrow)[0] === own);
        const coming = mine.filter((arrow) => ends(arrow)[1] === own);
        const sources = coming.map((arrow) => nodes.get(ends(arrow)[0]).dataset.name).join(", ");
        panel.replaceChildren(heading(part.dataset.name), copies(going), `${svg.dataset.passive} by ${sources || "nothing here"}.`);
        light(new Set([part, ...mine, ...mine.flatMap((arrow) => ends(arrow).map((id) => nodes.get(id)))]));
      }
      panel.scrollTop = 0;
    };
    const keep = (part) => {
      kept = part;
      panel.classList.toggle("kept", part !== null);
      if (part) show(part); else light(new Set());
    };
    // Chromium makes a stop for Tab of an svg that listens for focus: the box around it listens.
    let from = null; // the package whose arrows the arrow keys go through
    const on = (kind, act) => canvas.addEventListener(kind, (event) => act(event.target.closest("a"), event));
    on("pointerover", (part) => { if (part && !kept) show(part); });
    on("pointerleave", () => { if (!kept) light(new Set()); });
    on("focusin", (part) => {
      if (!part) return;
      if (part.matches(".node")) from = part;
      if (kept !== part) { keep(null); show(part); }
    });
    on("focusout", () => { if (!kept) light(new Set()); });
    on("click", (part, event) => {
      if (part) event.preventDefault();
      keep(part === kept ? null : part);
    });
    on("keydown", (part, event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") {
        keep(null);
        if (part && part.matches(".arrow") && from) from.focus();
      } else if (step && part && from) {
        event.preventDefault();
        const own = from.getAttribute("href").slice(1);
        const mine = arrows.filter((arrow) => ends(arrow).includes(own));
        const next = part === from ? (step > 0 ? 0 : mine.length - 1) : mine.indexOf(part) + step;
        if (mine.length) mine[(next + mine.length) % mine.length].focus();
      }
    });
    canvas.scrollLeft = (canvas.scrollWidth - canvas.clientWidth) / 2;
  }

  // To copy: the clipboard where there is one, else the text is selected.

  for (const button of all(".copy")) {
    button.addEventListener("click", async () => {
      const part = at(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(part.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(part);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  addEventListener("beforeprint", () => all("details").forEach((part) => { part.open = true; }));
})();
