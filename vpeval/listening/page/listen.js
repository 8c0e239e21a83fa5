/* A session: shows the pages in order and saves every answer before the next question. */
"use strict";

(function () {
  const { Recording, playerButton, stopAll, Board } = window.listening;
  const $ = (selector, root = document) => root.querySelector(selector);
  const SERVER = document.body.dataset.mode === "server";

  const QUESTIONS = {
    tones: {
      title: "How many tones do you hear?",
      text: "A short check that the sound still works: count the tones and choose their number.",
      ends: ["", ""],
    },
    quietest: {
      title: "Which tone is the quietest?",
      text: "A short check of your headphones: you hear three tones, one after the other. Which of them is the quietest?",
      ends: ["", ""],
    },
  };
  for (const { dataset } of document.querySelectorAll("#words > [data-task]")) {
    QUESTIONS[dataset.task] = { title: dataset.title, text: dataset.text, ends: [dataset.low, dataset.high] };
  }
  const TASKS = {
    volume: [], quietest: ["quietest"], rating: ["naturalness", "similarity", "intelligibility"],
    tones: ["tones"], board: ["board"], comment: ["comment"],
  };

  let token = "";
  let session = null;
  let done = new Set();
  let briefed = false;
  let timer = null;
  let recordings = new Map();
  let resume = null;

  /* Storage: a server, or this browser and a file. */

  async function request(method, path, body) {
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    if (body !== undefined) headers["Content-Type"] = "application/json";
    return fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" });
  }

  const server = {
    async open() {
      const answer = await request("GET", "api/session");
      if (answer.status === 401) return null;
      if (!answer.ok) throw new Error(String(answer.status));
      return answer.json();
    },
    async consent(text) {
      const answer = await request("POST", "api/consent", { consent: text });
      if (!answer.ok) throw new Error(String(answer.status));
    },
    /** Returns once the server has the answer on disk. A refused answer is not sent again. */
    async save(answer) {
      const reply = await request("POST", "api/answers", answer);
      if (reply.status === 429 || reply.status >= 500) throw new Error(String(reply.status));
      if (reply.ok) return (await reply.json()).code || "";
      const reason = (await reply.json()).error;
      if (reply.status === 409) return "";
      throw Object.assign(new Error(reason), { refused: true });
    },
    async audio(name) {
      const reply = await request("GET", `api/audio/${name}`);
      if (!reply.ok) throw new Error(String(reply.status));
      return URL.createObjectURL(await reply.blob());
    },
    async data() {
      return (await request("GET", "api/data")).json();
    },
    async forget() {
      const reply = await request("DELETE", "api/data");
      if (!reply.ok) throw new Error(String(reply.status));
    },
  };

  const file = {
    key: () => `listening ${token}`,
    read() {
      return JSON.parse(localStorage.getItem(file.key()) || '{"consent": "", "answers": []}');
    },
    write(content) {
      localStorage.setItem(file.key(), JSON.stringify(content));
    },
    async open() {
      if (!/^[0-9a-f]{32}$/.test(token)) return null;
      const found = await new Promise((resolve) => {
        const script = document.createElement("script");
        script.src = `sessions/${token}.js`;
        script.onload = () => resolve(true);
        script.onerror = () => resolve(false);
        document.head.append(script);
      });
      if (!found) return null;
      const kept = file.read();
      const answered = kept.answers.map((answer) => [answer.page, answer.task]);
      return { ...window.listeningSession, consented: kept.consent !== "", answered };
    },
    async consent(text) {
      file.write({ ...file.read(), consent: text });
    },
    async save(answer) {
      const kept = file.read();
      const same = (other) => other.page === answer.page && other.task === answer.task;
      if (!kept.answers.some(same)) kept.answers.push({ ...answer, time: Math.round(Date.now() / 1000) });
      file.write(kept);
      return "";
    },
    async audio(name) {
      return `audio/${name}.wav`;
    },
    async data() {
      return { format: 1, token, ...file.read() };
    },
    async forget() {
      localStorage.removeItem(file.key());
    },
  };

  const storage = SERVER ? server : file;

  async function save(answer) {
    for (let wait = 1; ; wait = Math.min(30, 2 * wait)) {
      try {
        const code = await storage.save(answer);
        showStatus("");
        done.add(`${answer.page} ${answer.task}`);
        if (code) session.code = code;
        return true;
      } catch (error) {
        if (error.refused) {
          showStatus(`This answer was not accepted: ${error.message}.`);
          return false;
        }
        showStatus("Your answer is not saved yet. Trying again; please keep this page open.");
        await new Promise((resolve) => setTimeout(resolve, 1000 * wait));
      }
    }
  }

  /* Views */

  function showStatus(text) {
    $("#status").textContent = text;
  }

  function show(name) {
    stopAll();
    for (const view of document.querySelectorAll("main > section")) view.hidden = view.id !== `view-${name}`;
    const running = ["volume", "role", "question", "board", "comment"].includes(name);
    $("#progress").hidden = !running;
    $("#own-data").hidden = !session || !session.consented || ["start", "gone"].includes(name);
    const view = $(`#view-${name}`);
    const heading = $("h1", view);
    window.scrollTo(0, 0);
    heading.focus({ preventScroll: true });
    return view;
  }

  function again(element) {
    const fresh = element.cloneNode(true);
    element.replaceWith(fresh);
    return fresh;
  }

  function recordingsOf(page) {
    if (!recordings.has(page.id)) {
      recordings = new Map([[page.id, page.clips.map((clip) => new Recording(clip, storage.audio, () => {}))]]);
    }
    return recordings.get(page.id);
  }

  const isDone = (page) => TASKS[page.kind].every((task) => done.has(`${page.id} ${task}`));

  function next() {
    const asked = session.pages.filter((page) => page.kind !== "volume");
    const finished = asked.filter(isDone).length;
    const page = asked.find((each) => !isDone(each));
    $("#bar").max = asked.length;
    $("#bar").value = finished;
    $("#done").textContent = `Page ${Math.min(finished + 1, asked.length)} of ${asked.length}`;
    if (!page) return thanks();
    if (page.kind === "board") return board(page);
    if (page.kind === "comment") return comment(page);
    if (page.kind === "rating" && !briefed) return role();
    return question(page, TASKS[page.kind].find((task) => !done.has(`${page.id} ${task}`)));
  }

  function start(message) {
    show("start");
    showStatus(message || "");
    $("#enter").onsubmit = (event) => {
      event.preventDefault();
      location.hash = $("#token").value.trim();
      begin();
    };
    if (SERVER) offerEnrolment();
  }

  async function offerEnrolment() {
    const reply = await request("GET", "api/test").catch(() => null);
    if (!reply || !reply.ok || !(await reply.json()).open) return;
    $("#open").hidden = false;
    $("#enrol").onclick = async () => {
      const answer = await request("POST", "api/enrol", {});
      if (!answer.ok) return showStatus((await answer.json()).error);
      location.hash = (await answer.json()).token;
      return begin();
    };
  }

  function consent() {
    show("consent");
    $("#consent").onsubmit = async (event) => {
      event.preventDefault();
      try {
        await storage.consent(session.consent);
        session.consented = true;
        volume();
      } catch {
        showStatus("This could not be saved. Please check your connection and try again.");
      }
    };
  }

  function volume() {
    const page = session.pages.find((each) => each.kind === "volume");
    if (!page) return next();
    const view = show("volume");
    $("#done").textContent = "Preparation";
    const [recording] = recordingsOf(page);
    const { button, show: draw } = playerButton(recording, "Recording");
    $(".players", view).replaceChildren(button);
    const go = again($(".next", view));
    recording.changed = () => {
      draw();
      go.disabled = !recording.heard;
    };
    recording.changed();
    go.onclick = next;
    return undefined;
  }

  function role() {
    const view = show("role");
    again($(".next", view)).onclick = () => {
      briefed = true;
      next();
    };
  }

  function question(page, task) {
    const view = show("question");
    const words = QUESTIONS[task];
    const tasks = TASKS[page.kind];
    $(".overline", view).textContent = tasks.length > 1 ? `Question ${tasks.indexOf(task) + 1} of ${tasks.length}` : "Check";
    $("h1", view).textContent = words.title;
    $(".instruction", view).textContent = words.text;
    const all = recordingsOf(page);
    const shown = task === "similarity" ? all : all.slice(0, 1);
    const form = again($("form", view));
    const fieldset = $("fieldset", form);
    $("legend", form).textContent = "Your answer";
    $(".ends", form).hidden = !words.ends[0];
    $(".ends", form).children[0].textContent = words.ends[0];
    $(".ends", form).children[1].textContent = words.ends[1];
    drawScale($(".scale", form), task, words.ends);
    const players = shown.map((recording, i) => playerButton(recording, page.kind === "rating" ? `Recording ${"AB"[i]}` : "Recording"));
    $(".players", view).replaceChildren(...players.map((player) => player.button));
    let saving = false;
    const update = () => {
      const missing = shown.map((recording, i) => (recording.heard ? "" : "AB"[i])).filter(Boolean);
      const ready = missing.length === 0;
      fieldset.disabled = !ready;
      const chosen = $("input:checked", form) !== null;
      $("[type=submit]", form).disabled = saving || !(ready && chosen);
      const name = page.kind === "rating" ? ` ${missing.join(" and ")}` : "";
      const hint = ready ? (chosen ? "" : "Now choose your answer.") : `First play recording${name} to the end.`;
      if ($(".hint", form).textContent !== hint) $(".hint", form).textContent = hint;
    };
    shown.forEach((recording, i) => {
      recording.changed = () => {
        players[i].show();
        update();
      };
    });
    form.addEventListener("change", update);
    update();
    timer = startTimer();
    const plays = all.reduce((sum, recording) => sum + recording.plays, 0);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const chosen = $("input:checked", form);
      if (saving || !chosen || !shown.every((recording) => recording.heard)) return;
      saving = true;
      update();
      const played = all.reduce((sum, recording) => sum + recording.plays, 0) - plays;
      const saved = await save({ page: page.id, task, value: Number(chosen.value), seconds: timer.seconds(), plays: played });
      if (saved) return next();
      saving = false;
      return update();
    });
  }

  function drawScale(element, task, ends) {
    const size = task === "quietest" ? 3 : 10;
    const names = ["the first", "the second", "the third"];
    element.dataset.size = String(size);
    element.replaceChildren(...Array.from({ length: size }, (_, i) => {
      const label = document.createElement("label");
      const input = document.createElement("input");
      input.type = "radio";
      input.name = "answer";
      input.value = String(i + 1);
      const face = document.createElement("span");
      face.textContent = size === 3 ? names[i] : String(i + 1);
      const end = i === 0 ? ends[0] : i === size - 1 ? ends[1] : "";
      if (end) input.setAttribute("aria-label", end);
      label.append(input, face);
      return label;
    }));
  }

  function board(page) {
    const view = show("board");
    const boards = session.pages.filter((each) => each.kind === "board");
    $(".overline", view).textContent = `Field ${boards.indexOf(page) + 1} of ${boards.length}`;
    const go = again($(".next", view));
    const field = again($(".board", view));
    let current = null;
    let saving = false;
    const update = () => {
      if (!current) return;
      const unheard = current.points.filter((point) => !point.recording.heard).length;
      const unmoved = current.points.filter((point) => !point.moved).length;
      const parts = [unheard ? `${unheard} not played to the end` : "", unmoved ? `${unmoved} not placed` : ""].filter(Boolean);
      const hint = parts.length ? `Still to do: ${parts.join(", ")}.` : "";
      if ($(".hint", view).textContent !== hint) $(".hint", view).textContent = hint;
      go.disabled = saving || !current.complete;
    };
    current = new Board(field, recordingsOf(page), session.shape, update);
    update();
    timer = startTimer();
    go.onclick = async () => {
      saving = true;
      update();
      const plays = recordingsOf(page).reduce((sum, recording) => sum + recording.plays, 0);
      const saved = await save({ page: page.id, task: "board", value: current.value, seconds: timer.seconds(), plays });
      if (saved) return next();
      saving = false;
      return update();
    };
  }

  function comment(page) {
    const view = show("comment");
    const form = again($("form", view));
    timer = startTimer();
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const text = $("textarea", form).value;
      const saved = await save({ page: page.id, task: "comment", value: text, seconds: timer.seconds(), plays: 0 });
      if (saved) next();
    });
  }

  function thanks() {
    show("thanks");
    $("#code").hidden = !session.code;
    $("#code strong").textContent = session.code || "";
    $("#hand-in").hidden = SERVER;
    $("#save-file").hidden = SERVER;
    $("#save-file").onclick = download;
  }

  function rest(title, onward) {
    const view = show("pause");
    $("h1", view).textContent = title;
    again($(".next", view)).onclick = onward;
  }

  async function download() {
    const content = await storage.data();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(content, null, 1)], { type: "application/json" }));
    link.download = `answers-${token.slice(0, 8)}.json`;
    link.click();
  }

  /** Seconds since the question was shown, without pauses and without the time in which the page was hidden. */
  function startTimer() {
    let sum = 0;
    let since = document.hidden ? null : performance.now();
    return {
      hold() {
        if (since !== null) sum += performance.now() - since;
        since = null;
      },
      go() {
        if (since === null) since = performance.now();
      },
      seconds() {
        const now = since === null ? 0 : performance.now() - since;
        return Math.round(Math.min(86400000, sum + now)) / 1000;
      },
    };
  }

  $("#pause").onclick = () => {
    const here = [...document.querySelectorAll("main > section")].find((view) => !view.hidden);
    if (timer) timer.hold();
    resume = here.id.replace("view-", "");
    rest("Pause", () => {
      show(resume);
      if (timer) timer.go();
    });
  };
  document.addEventListener("visibilitychange", () => {
    if (timer && $("#view-pause").hidden) (document.hidden ? timer.hold : timer.go)();
  });
  $("#download").onclick = download;
  $("#delete").onclick = () => $("#sure").showModal();
  $("#sure").addEventListener("close", async () => {
    if ($("#sure").returnValue !== "yes") return;
    try {
      await storage.forget();
      session = null;
      location.hash = "";
      show("gone");
    } catch {
      showStatus("Your answers could not be deleted. Please try again, or write to us.");
    }
  });

  async function begin() {
    token = location.hash.slice(1);
    showStatus("");
    if (!token) return start();
    try {
      session = await storage.open();
    } catch {
      showStatus("The test cannot be reached. Trying again.");
      return setTimeout(begin, 3000);
    }
    if (!session) return start("Unknown code. Please check your link.");
    done = new Set(session.answered.map(([page, task]) => `${page} ${task}`));
    briefed = session.pages.some((page) => page.kind === "rating" && TASKS.rating.some((task) => done.has(`${page.id} ${task}`)));
    recordings = new Map();
    if (!session.consented) return consent();
    if (session.pages.filter((page) => page.kind !== "volume").every(isDone)) return thanks();
    return rest("Welcome back", done.size ? next : volume);
  }

  window.addEventListener("hashchange", () => {
    if (location.hash.slice(1) && location.hash.slice(1) !== token) begin();
  });
  begin();
})();
