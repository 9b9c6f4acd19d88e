"use strict";
// Search and filter over the statements, and links into what is folded. Without scripts all of the page can be read.
(() => {
  const openAround = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let at = target; at; at = at.parentElement) { at.hidden = false; if (at.tagName === "DETAILS") at.open = true; }
    const own = target.querySelector(":scope > details");
    if (own) own.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", openAround);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(one => { one.open = true; }));
  openAround();
  const bar = document.querySelector("[role=search]");
  if (!bar) return;
  const query = bar.querySelector("input"), choices = [...bar.querySelectorAll("select")], told = bar.querySelector("[role=status]");
  const groups = [...bar.parentElement.querySelectorAll(".fold")].map(fold => ({fold, entries: [...fold.querySelectorAll("li[data-verdict]")]
    .map(entry => ({entry, text: entry.textContent.toLowerCase().replace(/\s+/g, " ")}))}));
  const show = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean), asked = words.length > 0 || choices.some(one => one.value);
    let found = 0, all = 0;
    for (const {fold, entries} of groups) {
      let here = 0;
      for (const {entry, text} of entries) {
        entry.hidden = !(words.every(word => text.includes(word)) && choices.every(one => !one.value || entry.dataset[one.name] === one.value));
        here += entry.hidden ? 0 : 1;
      }
      fold.hidden = asked && here === 0;
      fold.open = asked && here > 0;
      found += here; all += entries.length;
    }
    told.textContent = asked ? `${found} of ${all} statements match.` : `${all} statements.`;
  };
  bar.hidden = false;
  bar.addEventListener("input", show);
  show();
  openAround();
})();
