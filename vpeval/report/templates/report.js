"use strict";
// Show elements that need scripts.
document.documentElement.classList.add("scripted");
for (const element of document.querySelectorAll(".with-scripts")) element.hidden = false;

// A click on the head of a column sorts tables of class "sortable".
(() => {
  const number = (text) => {
    const found = text.match(/^[^\d∞−]*(−?(?:[\d.]+|∞))/);
    return found ? Number(found[1].replace("−", "-").replace("∞", "Infinity")) : text;
  };
  const key = (row, head) => {
    const cell = row.cells[head.cellIndex];
    if (cell.dataset.sort !== undefined) return Number(cell.dataset.sort);
    return head.classList.contains("number") ? number(cell.textContent) : cell.textContent;
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b, "en", { numeric: true });
  };
  const sort = (table, head) => {
    const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const rows = Array.from(table.tBodies[0].rows);
    rows.sort((a, b) => direction * compare(key(a, head), key(b, head)));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
    table.tBodies[0].append(...rows);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    for (const head of table.tHead.rows[0].cells) {
      head.firstElementChild.addEventListener("click", () => sort(table, head));
    }
  }
})();

// Search and filters of the table of all numbers.
(() => {
  const table = document.getElementById("all-numbers");
  if (!table) return;
  const rows = Array.from(table.tBodies[0].rows);
  const search = document.getElementById("search");
  const selects = Array.from(document.querySelectorAll(".filter select"));
  const count = document.getElementById("count");

  const value = (row, select) =>
    select.dataset.column ? row.cells[select.dataset.column].textContent : row.dataset[select.name];
  const words = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const filter = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const fits = wanted.every((word) => words.get(row).includes(word))
        && selects.every((select) => !select.value || value(row, select) === select.value);
      row.hidden = !fits;
      shown += fits;
    }
    count.textContent = `${shown} of ${rows.length} numbers`;
  };
  search.addEventListener("input", filter);
  for (const select of selects) select.addEventListener("change", filter);
  document.querySelector(".filter").hidden = false;
  filter();
})();

// Only one player plays at a time.
(() => {
  const players = Array.from(document.querySelectorAll("audio"));
  for (const player of players) {
    player.addEventListener("play", () => players.forEach((other) => other !== player && other.pause()));
  }
})();
