"use strict";
// Search and filter over the statements, and links into what is folded. Without scripts all of the page can be read.
(() => {
  let reset = () => {};
  const openAround = hash => {
    const target = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
    if (!target) return;
    if (target.closest("[hidden]")) reset();
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    const own = target.querySelector(":scope > details");
    if (own) own.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", () => openAround(location.hash));
  addEventListener("click", event => {
    const link = event.target.closest("a[href^='#']");
    if (link) setTimeout(() => openAround(link.getAttribute("href")));
  });
  // On paper: what is open in the page, and all that is refuted.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("section[aria-labelledby=wrong] details:not([open])")];
    for (const one of unfolded) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of unfolded) one.open = false; });
  openAround(location.hash);
  const bar = document.querySelector("[role=search]");
  if (!bar) return;
  const query = bar.querySelector("input"), choices = [...bar.querySelectorAll("select")], told = bar.querySelector("[role=status]");
  const flat = text => text.toLowerCase().replace(/\s+/g, " ");
  const folds = [...bar.parentElement.querySelectorAll(":scope > .fold")];
  const groups = folds.map(fold => ({fold, list: fold.querySelector(".entries"), entries: [...fold.querySelectorAll("li[data-verdict]")].map(entry => ({
    entry, text: flat(entry.textContent), head: flat(entry.id.replace(/[._]/g, " ") + " " + entry.id + " " + entry.querySelector(".source").textContent)}))}));
  // A number in the query is a whole number of the text: "10" does not find "100".
  const pattern = word => {
    const text = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return new RegExp((/^\d/.test(word) ? "(?<!\\d)" : "") + text + (/\d$/.test(word) ? "(?!\\d)" : ""));
  };
  const show = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean).map(pattern);
    const asked = words.length > 0 || choices.some(one => one.value);
    let found = 0, all = 0;
    for (const group of groups) {
      const {fold, list, entries} = group;
      let here = 0;
      group.best = 1;
      const rank = entries.map(({entry, text, head}) => {
        entry.hidden = !(words.every(word => word.test(text)) && choices.every(one => !one.value || entry.dataset[one.name] === one.value));
        const first = !entry.hidden && words.length > 0 && words.every(word => word.test(head));
        if (first) group.best = 0;
        here += entry.hidden ? 0 : 1;
        return first ? 0 : 1;
      });
      for (const wanted of [0, 1]) entries.forEach(({entry}, place) => { if (rank[place] === wanted) list.append(entry); });
      fold.hidden = asked && here === 0;
      fold.open = asked && here > 0;
      found += here; all += entries.length;
    }
    for (const wanted of [0, 1]) for (const {fold, best} of groups) if (best === wanted) bar.parentElement.append(fold);
    told.textContent = asked ? `${found} of ${all} statements match.` : `${all} statements.`;
  };
  reset = () => { query.value = ""; choices.forEach(one => { one.value = ""; }); show(); };
  bar.hidden = false;
  bar.addEventListener("input", show);
  bar.querySelector("button").addEventListener("click", reset);
  show();
  openAround(location.hash);
})();
