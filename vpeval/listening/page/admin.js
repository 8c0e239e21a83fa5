/* The progress of every listener, for the organisers. */
"use strict";

(function () {
  const $ = (selector) => document.querySelector(selector);

  function row(words) {
    const line = document.createElement("tr");
    for (const word of words) {
      const cell = document.createElement("td");
      cell.textContent = word;
      line.append(cell);
    }
    return line;
  }

  const time = (seconds) => new Date(1000 * seconds).toISOString().slice(0, 16).replace("T", " ");

  $("#enter").onsubmit = async (event) => {
    event.preventDefault();
    const headers = { Authorization: `Bearer ${$("#token").value.trim()}` };
    const reply = await fetch("api/admin", { headers, cache: "no-store" });
    const content = await reply.json();
    $("#status").textContent = reply.ok ? "" : content.error;
    $("#result").hidden = !reply.ok;
    if (!reply.ok) return;
    $("#summary").textContent = `${content.finished} finished, ${content.listeners.length} started, ${content.places} places.`;
    $("tbody").replaceChildren(...content.listeners.map((each) => row([
      each.listener, `${each.answers} of ${each.questions}`, each.checks, time(each.since), time(each.last), each.code,
    ])));
  };
})();
